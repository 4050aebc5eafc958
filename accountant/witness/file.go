package witness

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// A File keeps the mark of one ledger, in a folder that is there. A mark of another ledger in it is an error.
type File string

// Name implements [Place].
func (f File) Name() string { return "the file " + string(f) }

// Read implements [Place].
func (f File) Read(_ context.Context, ledger string) ([]byte, error) {
	if _, err := os.Stat(filepath.Dir(string(f))); err != nil {
		return nil, err // a disk that is not there
	}
	text, err := os.ReadFile(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	sealed, ours := bytes.CutPrefix(text, []byte(ledger+"\n"))
	if !ours {
		return nil, errors.New("it has the mark of another ledger: give this one a file of its own")
	}
	return sealed, nil
}

// Write implements [Place].
func (f File) Write(ctx context.Context, ledger string, old, sealed []byte) (done bool, err error) {
	kept, err := f.Read(ctx, ledger)
	if err != nil || !bytes.Equal(kept, old) {
		return false, err
	}
	next, err := os.OpenFile(string(f)+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return false, err
	}
	_, err = next.Write(append([]byte(ledger+"\n"), sealed...))
	if err = errors.Join(err, next.Sync(), next.Close()); err != nil {
		return false, err
	}
	if err := os.Rename(next.Name(), string(f)); err != nil {
		return false, err
	}
	folder, err := os.Open(filepath.Dir(string(f)))
	if err != nil {
		return false, err
	}
	return true, errors.Join(folder.Sync(), folder.Close())
}
