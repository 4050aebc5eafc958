package demo

import "github.com/alecthomas/kong"

// A folder is the path of a folder, as an option.
type folder string

// Decode implements kong.MapperValue. The error for an option without a value says that it needs a folder.
func (f *folder) Decode(ctx *kong.DecodeContext) error {
	var path string
	if err := ctx.Scan.PopValueInto("folder", &path); err != nil {
		return err
	}
	*f = folder(kong.ExpandPath(path))
	return nil
}
