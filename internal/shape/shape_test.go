package shape_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dpproxy/internal/shape"
)

// TestMeasure measures a module in which a and b use each other through a method and a field,
// c uses both, and d stands alone.
func TestMeasure(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example\n\ngo 1.26\n",
		"p/a.go": "// Package p says what it does, and what not: b.go, a.go.\npackage p\n\n" +
			"type A struct{ x int }\n\nfunc (a *A) Get() int { return helper(a) }\n",
		"p/b.go":      "package p\n\nfunc helper(a *A) int {\n\treturn a.x\n}\n",
		"p/c.go":      "package p\n\nimport \"fmt\"\n\nfunc (a A) String() string { return fmt.Sprint(a.Get(), helper(&a)) }\n",
		"p/d.go":      "package p\n\ntype list[T any] []T\n\nfunc (l list[T]) len() int { return len(l) }\n\nvar _ = list[int].len\n",
		"p/p_test.go": "package p_test\n//" + strings.Repeat("é", 138) + "\n\t//" + strings.Repeat("-", 135) + "\n",
		"q/q.go":      "package q\n\nimport \"example/p\"\n\nvar V p.A\n",
		"r/r.go":      "package r\n\nimport \"example/q\"\n\nvar V = q.V\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := shape.Measure(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []shape.Package{
		{
			Path: "p", Files: []string{"a.go", "b.go", "c.go", "d.go"}, Circle: []string{"a.go", "b.go"},
			Order: []string{"b.go", "a.go"}, Uses: 4, Against: 1,
			Types: []shape.Type{{Name: "A", Methods: 2, Files: 2}, {Name: "list", Methods: 1, Files: 1}},
			Functions: []shape.Function{
				{Name: "helper", File: "b.go", Lines: 3},
				{Name: "A.Get", File: "a.go", Lines: 1},
				{Name: "A.String", File: "c.go", Lines: 1},
				{Name: "list.len", File: "d.go", Lines: 1},
			},
			Words: 13, Whats: 2, CodeLines: 23, TestLines: 3, LongLines: 1, Reaches: []string{"p"},
		},
		{Path: "q", Files: []string{"q.go"}, CodeLines: 5, Imports: []string{"p"}, Reaches: []string{"p", "q"}},
		{Path: "r", Files: []string{"r.go"}, CodeLines: 5, Imports: []string{"q"}, Reaches: []string{"p", "q", "r"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if share := got[0].AgainstShare(); share != 25 {
		t.Errorf("of four uses one is against the order: %d %%", share)
	}
	if diff := cmp.Diff([]string{"c.go", "d.go"}, got[0].Unordered()); diff != "" {
		t.Errorf("files without a place (-want +got):\n%s", diff)
	}
	if share := got[0].CircleShare(); share != 50 {
		t.Errorf("the circle of two files in four is %d %%", share)
	}
}

func TestCircles(t *testing.T) {
	got := shape.Circles(map[string][]string{
		"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, // a circle of three
		"d": {"e"}, "e": {"d", "f"}, "f": nil, // one of two behind it, and its end
		"g": {"a", "g"}, // a node is no circle
	})
	if diff := cmp.Diff([][]string{{"a", "b", "c"}, {"d", "e"}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMeasureRefusesAModuleThatDoesNotCompile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example\n\ngo 1.26\n", "a.go": "package p\n\nvar x int = \"\"\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := shape.Measure(t.Context(), dir); err == nil {
		t.Error("no error")
	}
}
