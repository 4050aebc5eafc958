package mirror

import (
	"strings"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
)

// ident quotes an identifier.
func ident(name string) string { return pgx.Identifier{name}.Sanitize() }

// qualified quotes a schema-qualified name.
func qualified(n catalog.Name) string { return pgx.Identifier{n.Schema, n.Name}.Sanitize() }

// literal quotes a string. Sync keeps standard_conforming_strings on.
func literal(s string) string {
	s = strings.ReplaceAll(s, "\x00", "")
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

// idents quotes a list of identifiers.
func idents(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = ident(n)
	}
	return strings.Join(quoted, ", ")
}
