package planner

import (
	"cmp"
	"fmt"
	"slices"

	"dpproxy/catalog"
	"dpproxy/parser/ast"
	"dpproxy/planner/source"
)

// A Count is a number of public rows by which a plan was made (source.Meeting), as a statement for the protected database. It has one row,
// and ends in an error of [dpproxy/mirror/introspect.NotUnchanged] if there are more of them by now.
type Count struct {
	Table catalog.Name
	SQL   string
}

// countsOf are the statements of such numbers, of each table and column the least.
func countsOf(meetings []source.Meeting) (all []Count) {
	slices.SortFunc(meetings, func(x, y source.Meeting) int {
		return cmp.Or(cmp.Compare(x.SQL, y.SQL), cmp.Compare(x.Column, y.Column), cmp.Compare(x.Most, y.Most))
	})
	meetings = slices.CompactFunc(meetings, func(x, y source.Meeting) bool { return x.SQL == y.SQL && x.Column == y.Column })
	for _, m := range meetings {
		all = append(all, Count{m.Table.Name, countSQL(m)})
	}
	return all
}

func countSQL(m source.Meeting) string {
	most := "SELECT pg_catalog.count(*) FROM " + m.SQL
	if m.Column != "" {
		most = "SELECT COALESCE(pg_catalog.max(r.n), 0) FROM (SELECT pg_catalog.count(*) AS n FROM " + m.SQL +
			" GROUP BY " + ast.QuoteIdent(m.Column) + ") AS r"
	}
	return fmt.Sprintf("SELECT CAST(CASE WHEN (%s) OPERATOR(pg_catalog.<=) %d THEN '0' ELSE 'more' END AS pg_catalog.int4)", most, m.Most)
}
