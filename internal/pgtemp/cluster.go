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
	path    string
	folder  bool
	content []byte
}

// makeCluster makes the files of a database cluster if there are none.
func (s *Server) makeCluster(ctx context.Context, bin string, attr *syscall.SysProcAttr) error {
	if _, err := os.Stat(filepath.Join(s.data(), "PG_VERSION")); err == nil {
		return nil
	}
	pristine.Lock()
	defer pristine.Unlock()
	if files := pristine.files[bin]; files != nil {
		return s.copyCluster(ctx, bin, files, attr)
	}
	err := s.command(ctx, attr, filepath.Join(bin, "initdb"), "-D", s.data(), "-U", Superuser,
		"-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
	if _, absent := os.Stat(filepath.Join(bin, "pg_resetwal")); err != nil || absent != nil {
		return err
	}
	pristine.files[bin], err = filesOf(os.DirFS(s.data()))
	return err
}

func (s *Server) command(ctx context.Context, attr *syscall.SysProcAttr, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.SysProcAttr = s.dir, attr
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("pgtemp: %s: %w\n%s", filepath.Base(name), err, out)
	}
	return nil
}

// filesOf reads a cluster's files, but for the segments of its write-ahead log.
func filesOf(cluster fs.FS) ([]file, error) {
	var files []file
	err := fs.WalkDir(cluster, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		f := file{path: filepath.FromSlash(path), folder: d.IsDir()}
		if !f.folder {
			if filepath.Dir(f.path) == "pg_wal" {
				return nil
			}
			if f.content, err = fs.ReadFile(cluster, path); err != nil {
				return err
			}
		}
		files = append(files, f)
		return nil
	})
	return files, err
}

// copyCluster makes a cluster like the first one, with an identity of its own.
func (s *Server) copyCluster(ctx context.Context, bin string, files []file, attr *syscall.SysProcAttr) error {
	for _, f := range files {
		if err := f.write(s.data(), attr.Credential); err != nil {
			return err
		}
	}
	if err := identify(filepath.Join(s.data(), "global", "pg_control")); err != nil {
		return err
	}
	return s.command(ctx, attr, filepath.Join(bin, "pg_resetwal"), "-D", s.data())
}

func (f file) write(dir string, owner *syscall.Credential) error {
	path := filepath.Join(dir, f.path)
	var err error
	if f.folder {
		err = os.Mkdir(path, 0o700)
	} else {
		err = os.WriteFile(path, f.content, 0o600)
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
