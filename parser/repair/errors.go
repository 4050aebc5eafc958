package repair

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
)

// withoutErrors removes the columns that dp.columns = errors has added to a statement, and to the tables that it reads. The statement that
// is found gets its own error columns.
func withoutErrors(sel *pg.SelectStmt) {
	everyNodeOf(sel, func(n *pg.Node) {
		if s := n.GetSelectStmt(); s != nil {
			s.TargetList = slices.DeleteFunc(s.TargetList, func(target *pg.Node) bool { return isErrorColumn(target.GetResTarget()) })
		}
	})
}

// isErrorColumn reports whether an item of a SELECT list is the error of a column, or passes such an error on.
func isErrorColumn(r *pg.ResTarget) bool {
	if !strings.Contains(r.GetName(), pgtree.ErrorSuffix) {
		return false
	}
	found := false
	pgtree.Every(r.Val, func(n *pg.Node) {
		fields := n.GetColumnRef().GetFields()
		found = found || nameOf(n) == "error" ||
			len(fields) > 0 && strings.Contains(fields[len(fields)-1].GetString_().GetSval(), pgtree.ErrorSuffix)
	})
	return found
}
