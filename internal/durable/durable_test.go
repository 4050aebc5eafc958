package durable_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"dpproxy/internal/durable"
)

// A recorder notes the steps of a folder, and fails at one.
type recorder struct {
	steps  []string
	failAt int // the index of a step, -1 for none
}

var errFull = errors.New("full")

func (r *recorder) step(name string) error {
	r.steps = append(r.steps, name)
	if len(r.steps)-1 == r.failAt {
		return errFull
	}
	return nil
}

func (r *recorder) OpenFile(name string, _ int) (durable.File, error) {
	return recordedFile{r}, r.step("open " + name)
}
func (r *recorder) Rename(from, to string) error { return r.step("rename " + from + " " + to) }
func (r *recorder) Sync() error                  { return r.step("sync folder") }

type recordedFile struct{ *recorder }

func (f recordedFile) Write(p []byte) (int, error) { return len(p), f.step("write " + string(p)) }
func (f recordedFile) Sync() error                 { return f.step("sync file") }
func (f recordedFile) Close() error                { return f.step("close") }

// TestReplaceOrder holds the order of steps, and that no file is renamed whose text may be incomplete.
func TestReplaceOrder(t *testing.T) {
	want := []string{"open a.new", "write x", "sync file", "close", "rename a.new a", "sync folder"}
	whole := &recorder{failAt: -1}
	if err := durable.Replace(whole, "a", []byte("x")); err != nil || !slices.Equal(whole.steps, want) {
		t.Fatalf("%v, %q", err, whole.steps)
	}
	for i := range want {
		r := &recorder{failAt: i}
		if err := durable.Replace(r, "a", []byte("x")); !errors.Is(err, errFull) {
			t.Errorf("step %d fails, and the error is %v", i, err)
		}
		if i < 4 && slices.Contains(r.steps, want[4]) {
			t.Errorf("step %d fails, and the file is renamed: %q", i, r.steps)
		}
	}
}

func TestFiles(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "folder")
	for range 2 {
		if err := durable.MakeFolder(folder); err != nil {
			t.Fatal(err)
		}
	}
	name := filepath.Join(folder, "a")
	for _, text := range []string{"first", "second"} {
		if err := durable.ReplaceFile(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != text {
			t.Errorf("%q %v", got, err)
		}
	}
	if err := durable.CreateFile(name, []byte("third")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file that is there is written: %v", err)
	}
	other := filepath.Join(folder, "b")
	if err := durable.CreateFile(other, []byte("x")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(other)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if err := durable.ReplaceFile(filepath.Join(folder, "none", "a"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a folder that is not there: %v", err)
	}
	if names, _ := filepath.Glob(filepath.Join(folder, "*")); len(names) != 2 {
		t.Errorf("%q are left", names)
	}
}
