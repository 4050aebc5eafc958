// Package durable writes files that are there, whole, after a crash of the machine: a new text is written beside the file, flushed, and
// renamed, and the folder is flushed. A reader finds the old text or the new one.
package durable

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// unfinished ends the name of a file that is not complete.
const unfinished = ".new"

// A Folder has files. Tests of crashes put a faulty one in the place of a [Directory].
type Folder interface {
	// OpenFile opens a file of the folder with flags of package os, for its owner alone.
	OpenFile(name string, flag int) (File, error)
	Rename(from, to string) error
	// Sync makes creations, renames and deletions durable.
	Sync() error
}

// A File is written, and durable once Sync has returned.
type File interface {
	io.WriteCloser
	Sync() error
}

// Replace makes text the content of a file, whether it is there or not.
func Replace(f Folder, name string, text []byte) error {
	next, err := f.OpenFile(name+unfinished, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = next.Write(text)
	if err = errors.Join(err, next.Sync(), next.Close()); err != nil {
		return err
	}
	if err := f.Rename(name+unfinished, name); err != nil {
		return err
	}
	return f.Sync()
}

// A Directory is a folder of the operating system. No name leads out of it.
type Directory struct{ Root *os.Root }

// OpenFile implements [Folder].
func (d Directory) OpenFile(name string, flag int) (File, error) {
	return d.Root.OpenFile(name, flag, 0o600)
}

// Rename implements [Folder].
func (d Directory) Rename(from, to string) error { return d.Root.Rename(from, to) }

// Sync implements [Folder].
func (d Directory) Sync() error {
	f, err := d.Root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// ReplaceFile is [Replace] for a path.
func ReplaceFile(path string, text []byte) error {
	return inFolderOf(path, func(d Directory, name string) error { return Replace(d, name, text) })
}

// CreateFile writes a file that is not there yet. It wraps [fs.ErrExist] if it is.
func CreateFile(path string, text []byte) error {
	return inFolderOf(path, func(d Directory, name string) error {
		f, err := d.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
		if err != nil {
			return err
		}
		_, err = f.Write(text)
		return errors.Join(err, f.Sync(), f.Close(), d.Sync())
	})
}

func inFolderOf(path string, do func(d Directory, name string) error) error {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(do(Directory{root}, filepath.Base(path)), root.Close())
}

// MakeFolder makes a folder for its owner alone, in one that is there, unless it is there already.
func MakeFolder(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	parent, err := os.Open(filepath.Dir(filepath.Clean(path)))
	if err != nil {
		return err
	}
	return errors.Join(parent.Sync(), parent.Close())
}
