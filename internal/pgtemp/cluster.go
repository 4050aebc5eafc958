package pgtemp

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
)

// pristine has the first cluster of this process as initdb left it, for each folder of
// programs. Later clusters are copies: initdb takes many times as long.
var pristine = struct {
	sync.Mutex
	files map[string][]file
}{files: map[string][]file{}}

// file is a file of a cluster, or a folder: then it has no content.
type file struct {
	Path    string
	Folder  bool
	Content []byte
}

// segment is the size of a file of the write-ahead log, the smallest that there is: each copy has one.
const segment = 1 << 20

// A cluster is the folder of a database cluster, with the programs that make it and how they run.
type cluster struct {
	data, bin string
	attr      *syscall.SysProcAttr
	brief     bool // it ends with this process, and may be like those of others
}

// make makes the files of the cluster, whose superuser has a name, if there are none: those that were saved, unless there are none.
func (c cluster) make(ctx context.Context, superuser string, from *Saved) error {
	if _, err := os.Stat(filepath.Join(c.data, "PG_VERSION")); err == nil {
		return nil
	}
	if from != nil {
		return c.copy(from.files)
	}
	pristine.Lock()
	defer pristine.Unlock()
	if files := pristine.files[c.bin]; files != nil {
		return c.copy(files)
	}
	kept, none := templateFor(c.bin, superuser)
	if c.brief && none == nil {
		if pristine.files[c.bin] = kept.files(); pristine.files[c.bin] != nil {
			return c.copy(pristine.files[c.bin])
		}
	}
	err := c.command(ctx, "initdb", "-D", c.data, "-U", superuser,
		"-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", fmt.Sprintf("--wal-segsize=%d", segment>>20))
	if err != nil {
		return err
	}
	if pristine.files[c.bin], err = filesOf(os.DirFS(c.data)); err == nil && c.brief && none == nil {
		_ = kept.write(pristine.files[c.bin]) // others make their own, then
	}
	return err
}

func (c cluster) command(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, name), args...)
	cmd.Dir, cmd.SysProcAttr = filepath.Dir(c.data), c.attr
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("pgtemp: %s: %w\n%s", name, err, out)
	}
	return nil
}

// filesOf reads the files of a cluster that was shut down in order, and of its write-ahead log only where its last checkpoint is: the
// server begins there.
func filesOf(folder fs.FS) ([]file, error) {
	control, err := fs.ReadFile(folder, controlFile)
	if err != nil {
		return nil, err
	}
	var files []file
	err = fs.WalkDir(folder, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		f := file{Path: filepath.FromSlash(path), Folder: d.IsDir()}
		if !f.Folder {
			if f.ofLog() && !slices.Contains(checkpointed(control), d.Name()) {
				return nil
			}
			if f.Content, err = fs.ReadFile(folder, path); err != nil {
				return err
			}
		}
		files = append(files, f)
		return nil
	})
	return files, err
}

const controlFile = "global/pg_control"

// ofLog reports whether the file is a segment of the write-ahead log.
func (f file) ofLog() bool { return !f.Folder && filepath.Dir(f.Path) == "pg_wal" }

// checkpointed names the segment of the write-ahead log with the last checkpoint of a control file (pg_control.h), and the one behind it,
// where the checkpoint ends on the next page (XLogFileName in xlog_internal.h).
func checkpointed(control []byte) []string {
	const location, timeline, page = 32, 48, 8192
	at := binary.NativeEndian.Uint64(control[location:])
	name := func(at uint64) string {
		return fmt.Sprintf("%08X%08X%08X", binary.NativeEndian.Uint32(control[timeline:]), at>>32, at&math.MaxUint32/segment)
	}
	return []string{name(at), name(at + page)}
}

// copy makes a cluster like another, with an identity of its own.
func (c cluster) copy(files []file) error {
	identity := make([]byte, 8) //nolint:mnd // a system identifier
	if _, err := rand.Read(identity); err != nil {
		return err
	}
	for _, f := range files {
		f, err := f.identified(identity)
		if err != nil {
			return err
		}
		if err := f.write(c.data, c.attr.Credential); err != nil {
			return err
		}
	}
	return nil
}

// identified is the file in a cluster with that system identifier: the first bytes of the control file, and behind the short part of a
// segment's header (xlog_internal.h). The control file has a checksum behind its fields, whose length depends on the version.
func (f file) identified(identity []byte) (file, error) {
	const shortHeader = 24
	switch {
	case f.ofLog():
		f.Content = slices.Clone(f.Content)
		copy(f.Content[shortHeader:], identity)
	case filepath.ToSlash(f.Path) == controlFile:
		b, castagnoli, end := slices.Clone(f.Content), crc32.MakeTable(crc32.Castagnoli), 8
		for crc32.Checksum(b[:end], castagnoli) != binary.NativeEndian.Uint32(b[end:]) {
			if end += 4; end+4 > len(b) {
				return f, errors.New("pgtemp: pg_control has no checksum")
			}
		}
		copy(b, identity)
		binary.NativeEndian.PutUint32(b[end:], crc32.Checksum(b[:end], castagnoli))
		f.Content = b
	}
	return f, nil
}

func (f file) write(dir string, owner *syscall.Credential) error {
	path := filepath.Join(dir, f.Path)
	var err error
	if f.Folder {
		err = os.Mkdir(path, 0o700)
	} else {
		err = os.WriteFile(path, f.Content, 0o600)
	}
	if err != nil || owner == nil {
		return err
	}
	return os.Chown(path, int(owner.Uid), int(owner.Gid))
}
