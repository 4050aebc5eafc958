package demo

import "github.com/alecthomas/kong"

// A folder is the path of one, as an option.
type folder string

// Decode implements kong.MapperValue. An option without a value is said to need a folder.
func (f *folder) Decode(ctx *kong.DecodeContext) error {
	var path string
	if err := ctx.Scan.PopValueInto("folder", &path); err != nil {
		return err
	}
	*f = folder(kong.ExpandPath(path))
	return nil
}
