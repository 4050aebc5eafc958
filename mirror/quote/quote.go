// Package quote writes names and strings into SQL for the mirror and for the catalogues of the
// real database.
//
// Strings are written for standard_conforming_strings, which every session of package mirror
// has on: a backslash stands for itself.
package quote

import (
	"strings"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
)

// Ident quotes an identifier.
func Ident(name string) string { return pgx.Identifier{name}.Sanitize() }

// Idents quotes a list of identifiers.
func Idents(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = Ident(n)
	}
	return strings.Join(quoted, ", ")
}

// Name quotes a schema-qualified name.
func Name(n catalog.Name) string { return pgx.Identifier{n.Schema, n.Name}.Sanitize() }

// Literal quotes a string.
func Literal(s string) string {
	s = strings.ReplaceAll(s, "\x00", "")
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}
