package ast_test

import (
	"slices"
	"testing"

	"dpproxy/parser/ast"
)

// TestFieldPaths holds that keys are read as they are written, and that nothing else is read.
func TestFieldPaths(t *testing.T) {
	for path, keys := range map[string][]string{
		"a": {"a"}, "a.b": {"a", "b"}, `"a.b".c`: {"a.b", "c"}, `"a ""b"""`: {`a "b"`}, "1.größe": {"1", "größe"}, `""`: {""},
	} {
		got, ok := ast.KeysOf(path)
		if !ok || !slices.Equal(got, keys) || ast.FieldPath(keys) != path {
			t.Errorf("%s is %q, %v, and written %s", path, got, ok, ast.FieldPath(keys))
		}
	}
	for _, path := range []string{"", ".", "a.", ".a", "a..b", `"a`, `a"b"`, `"a"b`, "a b", `"a".`, `"a"".b`} {
		if keys, ok := ast.KeysOf(path); ok {
			t.Errorf("%s is %q", path, keys)
		}
	}
}
