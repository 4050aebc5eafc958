package pgtemp

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
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
		return c.copy(ctx, from.files)
	}
	pristine.Lock()
	defer pristine.Unlock()
	if files := pristine.files[c.bin]; files != nil {
		return c.copy(ctx, files)
	}
	kept, none := templateFor(c.bin, superuser)
	if c.brief && none == nil {
		if pristine.files[c.bin] = kept.files(); pristine.files[c.bin] != nil {
			return c.copy(ctx, pristine.files[c.bin])
		}
	}
	// segments of 1 MB, since each server begins by writing one
	err := c.command(ctx, "initdb", "-D", c.data, "-U", superuser,
		"-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "--wal-segsize=1")
	if _, absent := os.Stat(filepath.Join(c.bin, "pg_resetwal")); err != nil || absent != nil {
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

// filesOf reads a cluster's files, but for the segments of its write-ahead log.
func filesOf(folder fs.FS) ([]file, error) {
	var files []file
	err := fs.WalkDir(folder, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		f := file{Path: filepath.FromSlash(path), Folder: d.IsDir()}
		if !f.Folder {
			if filepath.Dir(f.Path) == "pg_wal" {
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

// copy makes a cluster like another, with an identity of its own.
func (c cluster) copy(ctx context.Context, files []file) error {
	for _, f := range files {
		if err := f.write(c.data, c.attr.Credential); err != nil {
			return err
		}
	}
	if err := identify(filepath.Join(c.data, "global", "pg_control")); err != nil {
		return err
	}
	return c.command(ctx, "pg_resetwal", "-D", c.data)
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

// identify changes the system identifier, the first eight bytes of a control file, and
// the checksum behind the file's fields, whose length depends on the version.
func identify(control string) error {
	b, err := os.ReadFile(control)
	if err != nil {
		return err
	}
	castagnoli, end := crc32.MakeTable(crc32.Castagnoli), 8
	for crc32.Checksum(b[:end], castagnoli) != binary.NativeEndian.Uint32(b[end:]) {
		if end += 4; end+4 > len(b) {
			return errors.New("pgtemp: pg_control has no checksum")
		}
	}
	if _, err := rand.Read(b[:8]); err != nil {
		return err
	}
	binary.NativeEndian.PutUint32(b[end:], crc32.Checksum(b[:end], castagnoli))
	return os.WriteFile(control, b, 0o600)
}
