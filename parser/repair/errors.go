package repair

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
)

// withoutErrors removes the columns that dp.columns has added to a statement, and to the tables that it reads: a statement that
// is found gets its own error columns. It returns where the refused thing then is.
func withoutErrors(t *statement, at int) (rest string, newAt int, shorter bool) {
	var edits []edit
	pgtree.Every(t.stmt, func(n *pg.Node) {
		q := t.located(n.GetSelectStmt())
		if q == nil || !slices.ContainsFunc(q.TargetList, isErrorColumn) {
			return
		}
		for i, s := range q.items() {
			if isErrorColumn(q.TargetList[i]) && i > 0 {
				from, _ := t.tokens(s)
				edits = append(edits, edit{pgtree.Span{Start: t.toks[from-1].Start, End: s.End}, ""}) // with the comma
			}
		}
	})
	for _, e := range edits {
		if e.End <= at {
			newAt -= e.End - e.Start
		}
	}
	return t.edited(t.all(), edits...), at + newAt, len(edits) > 0 && !t.lost
}

// isErrorColumn reports whether an item of a SELECT list is the error of a column, or passes such an error on.
func isErrorColumn(target *pg.Node) bool {
	if _, _, kept := pgtree.Kept(valueOf(target)); kept {
		return true
	}
	return slices.ContainsFunc(pgtree.ErrorSides, func(side string) bool {
		return strings.Contains(target.GetResTarget().GetName(), "_"+side) && len(find(func(n *pg.Node) bool {
			if call := n.GetFuncCall(); call != nil {
				schema, name := pgtree.Callee(call)
				return schema == "dp" && name == side
			}
			return strings.Contains(columnOf(n), "_"+side)
		}, valueOf(target))) > 0
	})
}
