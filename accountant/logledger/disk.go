package logledger

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"dpproxy/internal/durable"
)

// The files of a ledger in its directory.
const (
	logName      = "ledger.log"
	markName     = "ledger.mark"
	snapshotName = "ledger.snapshot"
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

// A folder is a disk whose files are replaced as a whole.
type folder struct{ disk }

// OpenFile implements [durable.Folder].
func (f folder) OpenFile(name string, flag int) (durable.File, error) { return f.open(name, flag) }

// Rename implements [durable.Folder].
func (f folder) Rename(from, to string) error { return f.rename(from, to) }

// Sync implements [durable.Folder].
func (f folder) Sync() error { return f.sync() }

// An osDisk is a directory of the operating system.
type osDisk struct {
	root *os.Root
	dir  *os.File // for flock and fsync
}

// openDir opens a directory. With create it makes the directory if there is
// none, and its entry in its parent durable.
func openDir(dir string, create bool) (disk, error) {
	if create {
		if err := durable.MakeFolder(dir); err != nil {
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
