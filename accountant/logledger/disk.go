package logledger

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// The files of a ledger in its directory.
const (
	logName      = "ledger.log"
	markName     = "ledger.mark"
	snapshotName = "ledger.snapshot"
	newSuffix    = ".new" // until a file is complete
)

// ErrNoLedger is wrapped where a directory holds no ledger.
var ErrNoLedger = errors.New("logledger: there is no ledger")

// ErrLocked is wrapped where another process has the ledger open.
var ErrLocked = errors.New("logledger: another process has the ledger open")

// A disk has the operations that a ledger needs of its directory. Tests put a faulty one here.
type disk interface {
	// lock takes the directory for this process until close.
	lock() error
	// open opens a file of the directory with os flags.
	open(name string, flag int) (file, error)
	rename(from, to string) error
	// sync makes creations and renames durable.
	sync() error
	close() error
}

// A file has the operations that a ledger needs of a file.
type file interface {
	io.ReaderAt
	io.Writer
	io.WriterAt
	io.Closer
	Sync() error
	Truncate(size int64) error
	size() (int64, error)
}

// An osDisk is a directory of the operating system.
type osDisk struct {
	root *os.Root
	dir  *os.File // for flock and fsync
}

// openDir opens a directory. With create it makes the directory if there is
// none, and its entry in its parent durable.
func openDir(dir string, create bool) (disk, error) {
	if create {
		if err := makeDir(dir); err != nil {
			return nil, err
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	self, err := root.Open(".")
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &osDisk{root, self}, nil
}

func makeDir(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	parent, err := os.Open(filepath.Dir(filepath.Clean(dir)))
	if err != nil {
		return err
	}
	return errors.Join(parent.Sync(), parent.Close())
}

func (d *osDisk) lock() error {
	err := syscall.Flock(int(d.dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("%w: %s", ErrLocked, d.root.Name())
	}
	return err
}

func (d *osDisk) open(name string, flag int) (file, error) {
	f, err := d.root.OpenFile(name, flag, 0o600)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (d *osDisk) rename(from, to string) error { return d.root.Rename(from, to) }

func (d *osDisk) sync() error { return d.dir.Sync() }

func (d *osDisk) close() error { return errors.Join(d.dir.Close(), d.root.Close()) }

// An osFile is a file of the operating system.
type osFile struct{ *os.File }

func (f osFile) size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
