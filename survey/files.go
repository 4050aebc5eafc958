package survey

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"dpproxy/internal/durable"
)

// The files of a table in its directory.
const (
	keysName   = "keys"
	publicName = "public"
)

// surveyName is the name of the file of a survey.
func surveyName(number int64) string { return strconv.FormatInt(number, 10) + ".survey" }

var ofSurvey = regexp.MustCompile(`^([0-9]{1,18})\.survey(\.new)?$`)

// A directory has the files of one table.
type directory struct{ root *os.Root }

// openDirectory opens the directory. Unless it is only to be read, it is made durably if it is not there.
func openDirectory(dir string, only bool) (directory, error) {
	if only {
		root, err := os.OpenRoot(dir)
		return directory{root}, err
	}
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := durable.MakeFolder(d); err != nil {
			return directory{}, err
		}
	}
	root, err := os.OpenRoot(dir)
	return directory{root}, err
}

// sync makes creations and deletions durable.
func (d directory) sync() error { return durable.Directory{Root: d.root}.Sync() }

// read reads a file, nil if there is none.
func (d directory) read(name string) ([]byte, error) {
	f, err := d.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(f)
	return text, errors.Join(err, f.Close())
}

// write makes a file durable as a whole.
func (d directory) write(name string, text []byte) error {
	return durable.Replace(durable.Directory{Root: d.root}, name, text)
}

// extend writes text into a file from an offset on, cuts off the rest behind it, and makes it durable.
func (d directory) extend(name string, from int64, text []byte) error {
	f, err := d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(text, from)
	err = errors.Join(err, f.Truncate(from+int64(len(text))), f.Sync(), f.Close())
	return errors.Join(err, d.sync())
}

// deleteAfter deletes the files of surveys that come behind a number, and those that were not complete.
func (d directory) deleteAfter(number int64) error {
	self, err := d.root.Open(".")
	if err != nil {
		return err
	}
	names, err := self.Readdirnames(-1)
	if err = errors.Join(err, self.Close()); err != nil {
		return err
	}
	for _, name := range names {
		m := ofSurvey.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		n, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil || n <= number && m[2] == "" {
			continue
		}
		if err := d.root.Remove(name); err != nil {
			return fmt.Errorf("survey: deleting answers that nobody has seen: %w", err)
		}
	}
	return d.sync()
}

func digest(file []byte) string {
	sum := sha256.Sum256(file)
	return hex.EncodeToString(sum[:])
}
