package ddl

import (
	"fmt"
	"strings"

	"dpproxy/catalog"
	"dpproxy/mirror/quote"
)

// TableComments are the comments on a table and on each of its columns, by name, where \d+ prints
// them.
func TableComments(t *catalog.Table, comment string, columns map[string]string) Object {
	name := quote.Name(t.Name)
	var set strings.Builder
	fmt.Fprintf(&set, "COMMENT ON TABLE %s IS %s;\n", name, quote.Literal(comment))
	for _, c := range t.Columns {
		fmt.Fprintf(&set, "COMMENT ON COLUMN %s.%s IS %s;\n", name, quote.Ident(c.Name), quote.Literal(columns[c.Name]))
	}
	return comments(t.Name, comment, set.String(), tableKey(t.Name))
}

// ViewComment is the comment on a view.
func ViewComment(n catalog.Name, comment string) Object {
	return comments(n, comment, fmt.Sprintf("COMMENT ON VIEW %s IS %s;\n", quote.Name(n), quote.Literal(comment)), ViewKey(n))
}

func comments(n catalog.Name, comment, script string, on Key) Object {
	return Object{
		Key: Key{KindComments, n.String()}, Create: script, Needs: []Key{on},
		State: fmt.Sprintf(`SELECT relowner::regrole::text, coalesce(obj_description(oid, 'pg_class'), '') = %s
			FROM pg_class WHERE oid = to_regclass(%s)`, quote.Literal(comment), quote.Literal(quote.Name(n))),
	}
}
