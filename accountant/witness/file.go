package witness

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"dpproxy/internal/durable"
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
	of, sealed, err := f.content()
	if err == nil && sealed != nil && of != ledger {
		return nil, errors.New("it has the mark of another ledger: give this one a file of its own")
	}
	return sealed, err
}

// content returns the mark in the file, nil if there is no file, and the ledger that it is of.
func (f File) content() (ledger string, sealed []byte, err error) {
	text, err := os.ReadFile(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	of, sealed, _ := bytes.Cut(text, []byte("\n"))
	return string(of), append([]byte{}, sealed...), nil
}

// Others implements [Place].
func (f File) Others(_ context.Context, ledger string) (map[string][]byte, error) {
	of, sealed, err := f.content()
	if err != nil || sealed == nil || of == ledger {
		return nil, err
	}
	return map[string][]byte{of: sealed}, nil
}

// Remove implements [Place].
func (f File) Remove(_ context.Context, ledger string) error {
	if of, sealed, err := f.content(); err != nil || sealed == nil || of != ledger {
		return err
	}
	return os.Remove(string(f))
}

// Write implements [Place].
func (f File) Write(ctx context.Context, ledger string, old, sealed []byte) (done bool, err error) {
	kept, err := f.Read(ctx, ledger)
	if err != nil || !bytes.Equal(kept, old) {
		return false, err
	}
	err = durable.ReplaceFile(string(f), append([]byte(ledger+"\n"), sealed...))
	return err == nil, err
}
