package ddl

import (
	"fmt"
	"strings"

	"dpproxy/catalog"
	"dpproxy/mirror/quote"
)

// Collation is a collation of the same name, whatever the server can make of it. One
// of pg_catalog is the server's own, unless its system lacks the locale: it then gets it,
// and keeps it.
func Collation(l *catalog.Collation) Object {
	name, exists, drop := quote.Name(l.Name), "", "DROP COLLATION "+quote.Name(l.Name)+" CASCADE"
	own := fmt.Sprintf(";\nALTER COLLATION %s OWNER TO %s", name, Owner)
	if l.Name.Schema == "pg_catalog" {
		exists, drop, own = "IF NOT EXISTS ", "SELECT", ""
	}
	return Object{
		Key:    collationKey(l.Name),
		Create: fmt.Sprintf("CREATE COLLATION %s%s (%s)%s", exists, name, collationSQL(l), own),
		Otherwise: fmt.Sprintf("DO %s%s", quote.Literal(fmt.Sprintf(
			"BEGIN EXECUTE (SELECT format('CREATE COLLATION %%s (LC_COLLATE = %%L, LC_CTYPE = %%L)', %s, datcollate, datctype) "+
				"FROM pg_database WHERE datname = current_database()); END",
			quote.Literal(name))), own),
		Loss: "it sorts and compares as the mirror's database does",
		Drop: drop,
		State: fmt.Sprintf(`SELECT CASE WHEN n.nspname = 'pg_catalog' THEN %s ELSE l.collowner::regrole::text END, true
			FROM pg_collation l JOIN pg_namespace n ON n.oid = l.collnamespace WHERE n.nspname = %s AND l.collname = %s
				AND l.collencoding IN (-1, (SELECT encoding FROM pg_database WHERE datname = current_database()))`,
			quote.Literal(Owner), quote.Literal(l.Name.Schema), quote.Literal(l.Name.Name)),
	}
}

// collationSQL writes the options of CREATE COLLATION.
func collationSQL(l *catalog.Collation) string {
	parts := []string{"PROVIDER = " + provider(l.Provider)}
	if l.Provider == 'c' {
		parts = append(parts, "LC_COLLATE = "+quote.Literal(l.Collate), "LC_CTYPE = "+quote.Literal(l.Ctype))
	} else {
		parts = append(parts, "LOCALE = "+quote.Literal(l.Locale))
	}
	if !l.Deterministic {
		parts = append(parts, "DETERMINISTIC = false")
	}
	if l.Rules != "" {
		parts = append(parts, "RULES = "+quote.Literal(l.Rules))
	}
	return strings.Join(parts, ", ")
}

func provider(code byte) string {
	switch code {
	case 'i':
		return "icu"
	case 'b':
		return "builtin"
	}
	return "libc"
}
