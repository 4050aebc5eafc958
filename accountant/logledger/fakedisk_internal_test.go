package logledger

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
)

var errInjected = errors.New("injected fault")

// A fakeDisk is a directory in memory that forgets, at a crash, all that was
// not synced. It is shared by the disks that mount returns.
type fakeDisk struct {
	mu      sync.Mutex
	names   map[string]*inode // as the running system sees them
	durable map[string]*inode // as they survive a crash
	locked  bool
	// fault is asked before each operation that changes something.
	fault func(op, name string) error
	epoch int // counts crashes: files opened before one are dead
}

// An inode is a file's bytes. Names in stable survive a crash.
type inode struct{ data, stable []byte }

func newFakeDisk() *fakeDisk {
	return &fakeDisk{names: map[string]*inode{}, durable: map[string]*inode{}}
}

// crash ends the machine. Without tear no unsynced byte survives. With it, a
// random part of the appended bytes does, perhaps with an end of zeros, and an
// overwritten file is old or new.
func (d *fakeDisk) crash(tear *rand.Rand) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.epoch++
	d.locked = false
	d.names = maps.Clone(d.durable)
	for _, n := range d.names {
		switch {
		case tear == nil:
			n.data = slices.Clone(n.stable)
		case len(n.data) > len(n.stable):
			n.data = tearTail(n.data, len(n.stable), tear)
		case tear.IntN(2) == 0:
			n.data = slices.Clone(n.stable)
		}
		n.stable = slices.Clone(n.data)
	}
}

// tearTail keeps a part of the bytes from synced on.
func tearTail(data []byte, synced int, tear *rand.Rand) []byte {
	torn := slices.Clone(data[:synced+tear.IntN(len(data)-synced+1)])
	if tear.IntN(3) == 0 {
		clear(torn[synced+tear.IntN(len(torn)-synced+1):])
	}
	return torn
}

// diskWith returns a disk with the given files, durably.
func diskWith(files map[string][]byte) *fakeDisk {
	d := newFakeDisk()
	for name, data := range files {
		n := &inode{slices.Clone(data), slices.Clone(data)}
		d.names[name], d.durable[name] = n, n
	}
	return d
}

// files returns a copy of the files as the running system sees them.
func (d *fakeDisk) files() map[string][]byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	files := map[string][]byte{}
	for name, n := range d.names {
		files[name] = slices.Clone(n.data)
	}
	return files
}

// mount returns the directory to a new process.
func (d *fakeDisk) mount() disk { return &fakeMount{d: d, epoch: d.epoch} }

func (d *fakeDisk) inject(op, name string) error {
	if d.fault == nil {
		return nil
	}
	return d.fault(op, name)
}

// A fakeMount is a fakeDisk as one process sees it.
type fakeMount struct {
	d     *fakeDisk
	epoch int
	held  bool
}

func (m *fakeMount) enter() (leave func(), err error) {
	m.d.mu.Lock()
	if m.epoch != m.d.epoch {
		m.d.mu.Unlock()
		return nil, errors.New("the machine is gone")
	}
	return m.d.mu.Unlock, nil
}

func (m *fakeMount) lock() error {
	leave, err := m.enter()
	if err != nil {
		return err
	}
	defer leave()
	if m.d.locked {
		return ErrLocked
	}
	m.d.locked, m.held = true, true
	return nil
}

func (m *fakeMount) open(name string, flag int) (file, error) {
	leave, err := m.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	n := m.d.names[name]
	if n == nil && flag&os.O_CREATE == 0 {
		return nil, fs.ErrNotExist
	}
	if n == nil || flag&os.O_TRUNC != 0 {
		if err := m.d.inject("create", name); err != nil {
			return nil, err
		}
		n = &inode{}
		m.d.names[name] = n
	}
	return &fakeFile{m, name, n}, nil
}

func (m *fakeMount) rename(from, to string) error {
	leave, err := m.enter()
	if err != nil {
		return err
	}
	defer leave()
	if err := m.d.inject("rename", from); err != nil {
		return err
	}
	m.d.names[to] = m.d.names[from]
	delete(m.d.names, from)
	return nil
}

func (m *fakeMount) sync() error {
	leave, err := m.enter()
	if err != nil {
		return err
	}
	defer leave()
	if err := m.d.inject("syncdir", ""); err != nil {
		return err
	}
	m.d.durable = maps.Clone(m.d.names)
	return nil
}

func (m *fakeMount) close() error {
	leave, err := m.enter()
	if err != nil {
		return nil // a dead process needs no goodbye
	}
	defer leave()
	if m.held {
		m.d.locked, m.held = false, false
	}
	return nil
}

// A fakeFile is an open file.
type fakeFile struct {
	m    *fakeMount
	name string
	n    *inode
}

func (f *fakeFile) ReadAt(p []byte, at int64) (int, error) {
	leave, err := f.m.enter()
	if err != nil {
		return 0, err
	}
	defer leave()
	if at >= int64(len(f.n.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.n.data[at:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *fakeFile) Write(p []byte) (int, error) {
	leave, err := f.m.enter()
	if err != nil {
		return 0, err
	}
	defer leave()
	if err := f.m.d.inject("write", f.name); err != nil {
		f.n.data = append(f.n.data, p[:len(p)/2]...)
		return len(p) / 2, err
	}
	f.n.data = append(f.n.data, p...)
	return len(p), nil
}

func (f *fakeFile) WriteAt(p []byte, at int64) (int, error) {
	leave, err := f.m.enter()
	if err != nil {
		return 0, err
	}
	defer leave()
	if err := f.m.d.inject("write", f.name); err != nil {
		return copy(f.n.data[min(int(at), len(f.n.data)):], p[:len(p)/2]), err
	}
	if missing := int(at) + len(p) - len(f.n.data); missing > 0 {
		f.n.data = append(f.n.data, make([]byte, missing)...)
	}
	return copy(f.n.data[at:], p), nil
}

func (f *fakeFile) Sync() error {
	leave, err := f.m.enter()
	if err != nil {
		return err
	}
	defer leave()
	if err := f.m.d.inject("sync", f.name); err != nil {
		return err
	}
	f.n.stable = slices.Clone(f.n.data)
	return nil
}

func (f *fakeFile) Truncate(size int64) error {
	leave, err := f.m.enter()
	if err != nil {
		return err
	}
	defer leave()
	if err := f.m.d.inject("truncate", f.name); err != nil {
		return err
	}
	f.n.data = slices.Clone(f.n.data[:size])
	return nil
}

func (f *fakeFile) size() (int64, error) {
	leave, err := f.m.enter()
	if err != nil {
		return 0, err
	}
	defer leave()
	return int64(len(f.n.data)), nil
}

func (f *fakeFile) Close() error { return nil }
