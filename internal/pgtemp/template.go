package pgtemp

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// A template is a file with a cluster as initdb has left it, for the other processes of an account: of a run of all tests
// each package is one. It is never wrong: its name has all that initdb looks at, and what is kept, it appears whole or not at all, and its
// content has its digest before it. Where something fails there is no template, and initdb makes each cluster.
type template struct{ path string }

// templateFor names the template of clusters that some programs make for a superuser.
func templateFor(bin, superuser string) (template, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("dpproxy-clusters-%d", os.Geteuid()))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return template{}, err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return template{}, err
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; !info.IsDir() || info.Mode().Perm() != 0o700 || int(owner) != os.Geteuid() {
		return template{}, fmt.Errorf("pgtemp: %s is not ours alone", dir)
	}
	of := []string{"with a checkpoint", superuser, os.Getenv("TZ")}
	for _, read := range []string{filepath.Join(bin, "initdb"), filepath.Join(bin, "postgres"), "/usr/lib/locale", "/etc/localtime"} {
		if info, err := os.Stat(read); err == nil {
			of = append(of, fmt.Sprint(read, info.Size(), info.ModTime().UnixNano()))
		}
	}
	return template{filepath.Join(dir, fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(of, "\n")))))}, nil
}

// files returns what the template has; nil if it is not there, or not whole.
func (p template) files() (files []file) {
	text, err := os.ReadFile(p.path)
	if err != nil || len(text) < sha256.Size {
		return nil
	}
	if digest := sha256.Sum256(text[sha256.Size:]); !bytes.Equal(digest[:], text[:sha256.Size]) {
		return nil
	}
	if gob.NewDecoder(bytes.NewReader(text[sha256.Size:])).Decode(&files) != nil {
		return nil
	}
	return files
}

// write makes the template, or replaces it by the same.
func (p template) write(files []file) (err error) {
	var content bytes.Buffer
	if err := gob.NewEncoder(&content).Encode(files); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(p.path), "part-")
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err == nil {
			err = os.Rename(f.Name(), p.path)
		}
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	digest := sha256.Sum256(content.Bytes())
	_, err = f.Write(slices.Concat(digest[:], content.Bytes()))
	return err
}
