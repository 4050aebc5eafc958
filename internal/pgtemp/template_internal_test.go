package pgtemp

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
)

// TestTemplate holds that a template is read as it was written, by several at a time too, and that one that is not whole, that is of
// other programs, or that others could have written is none.
func TestTemplate(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	bin := t.TempDir()
	find := func() template {
		t.Helper()
		p, err := templateFor(bin, Superuser)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p, want := find(), []file{{Path: "base", Folder: true}, {Path: "base/1", Content: []byte("rows")}}
	if got := p.files(); got != nil {
		t.Errorf("before it is written it has %v", got)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := p.write(want); err != nil {
				t.Error(err)
			}
			if got := p.files(); !reflect.DeepEqual(got, want) {
				t.Errorf("it has %v, want %v", got, want)
			}
		})
	}
	all.Wait()
	if left, err := os.ReadDir(filepath.Dir(p.path)); err != nil || len(left) != 1 {
		t.Errorf("beside it there are %v, %v", left, err)
	}
	text, err := os.ReadFile(p.path)
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Replace(text, []byte("rows"), []byte("rats"), 1)
	for what, broken := range map[string][]byte{"cut": text[:len(text)-1], "empty": nil, "changed": changed} {
		if err := os.WriteFile(p.path, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := p.files(); got != nil {
			t.Errorf("one that is %s has %v", what, got)
		}
	}
	if err := os.WriteFile(filepath.Join(bin, "postgres"), []byte("another version"), 0o600); err != nil {
		t.Fatal(err)
	}
	if other := find(); other == p {
		t.Error("other programs have the same template")
	}
	if err := os.Chmod(filepath.Dir(p.path), 0o777); err != nil {
		t.Fatal(err)
	}
	if p, err := templateFor(bin, Superuser); err == nil {
		t.Errorf("a folder that others write to has %v", p)
	}
}
