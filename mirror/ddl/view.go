package ddl

import (
	"fmt"
	"strings"

	"dpproxy/catalog"
	"dpproxy/mirror/quote"
)

// View is a view with the columns of t. It has its definition if that is shown and whole, which it
// is where no column is hidden. Either way it runs with the rights of whoever reads it, so that the
// row security of the tables that it reads holds for them too.
func View(t *catalog.Table, s *catalog.Schema, whole bool) Object {
	name := quote.Name(t.Name)
	o := Object{Key: ViewKey(t.Name), Needs: []Key{protectedKey}}
	var columns, shape []string
	for _, c := range t.Columns {
		columns, shape = append(columns, c.Name), append(shape, c.Name+" "+c.Type.Display)
		o.Needs = append(o.Needs, columnNeeds(c, s)...)
	}
	query := stubSQL(t)
	if t.ViewShown && whole {
		query = t.View
		for _, n := range t.Reads {
			o.Needs = append(o.Needs, RelationKey(n, s))
		}
	}
	as := func(query string) string {
		return fmt.Sprintf("CREATE VIEW %s (%s) WITH (security_invoker = true) AS\n%s;\nALTER VIEW %s OWNER TO %s;\n",
			name, quote.Idents(columns), query, name, Owner)
	}
	o.Create = as(query)
	if t.ViewShown {
		o.Otherwise, o.Loss = as(stubSQL(t)), "its definition is not shown"
	}
	o.Drop = fmt.Sprintf("DROP VIEW %s CASCADE", name)
	o.State = fmt.Sprintf(`SELECT c.relowner::regrole::text, c.reloptions @> '{security_invoker=true}'
			AND %[2]s = coalesce((SELECT string_agg(format('%%s %%s', attname, format_type(atttypid, atttypmod)), E'\n' ORDER BY attnum)
				FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped), '')
		FROM pg_class c WHERE c.oid = to_regclass(%[1]s) AND c.relkind = 'v'`,
		quote.Literal(name), quote.Literal(strings.Join(shape, "\n")))
	return o
}

// stubSQL is a query with the columns of a view that tells nothing of the view's own query, which
// may hold constants, and names of tables and columns, that no analyst shall see.
// Its condition is that of the row security of a protected table: the planner
// evaluates it, so that the query can be described and not read.
func stubSQL(t *catalog.Table) string {
	columns := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		columns[i] = "CAST(NULL AS " + c.Type.Display + ")"
		if c.Collation != (catalog.Name{}) {
			columns[i] += " COLLATE " + quote.Name(c.Collation)
		}
	}
	return fmt.Sprintf("SELECT %s\nWHERE dp.protected(%s)", strings.Join(columns, ", "), quote.Literal(t.Name.String()))
}
