package parser

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
)

// keyParts are columns of keys that determine the privacy unit. That they are of one row is not looked at: the planner proves that.
type keyParts map[ast.KeyPart]bool

func (k keyParts) add(parts []ast.KeyPart) {
	for _, part := range parts {
		k[part] = true
	}
}

// whole reports whether all columns of a key are there.
func (k keyParts) whole() bool {
	for part := range k {
		n := 0
		for part.At = range part.Of {
			if k[part] {
				n++
			}
		}
		if n == part.Of {
			return true
		}
	}
	return false
}

// hasKey reports whether a key that determines the privacy unit is among expressions.
func (s *scope) hasKey(list []*pg.Node) bool {
	parts := keyParts{}
	for _, n := range list {
		parts.add(s.keysOf(n))
	}
	return parts.whole()
}

// inBoth are the columns of keys that are in two lists.
func inBoth(parts, others []ast.KeyPart) []ast.KeyPart {
	return slices.DeleteFunc(slices.Clone(parts), func(p ast.KeyPart) bool { return !slices.Contains(others, p) })
}
