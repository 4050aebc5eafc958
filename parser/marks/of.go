package marks

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
)

// Of marks a SELECT, of which each FROM item that has the name of a block is its relation. ok is false if the text is not a SELECT, or one
// whose columns the parse tree does not tell, as SELECT * of a table.
func Of(sql string, blocks []Block) (r Result, ok bool) {
	tree, err := pg.Parse(sql)
	if err != nil || len(tree.Stmts) != 1 || tree.Stmts[0].Stmt.GetSelectStmt() == nil {
		return r, false
	}
	sel := tree.Stmts[0].Stmt.GetSelectStmt()
	q := &marker{named: map[string]*relation{}, known: new(true)}
	for _, b := range blocks {
		q.named[b.Name] = relationOf(b)
	}
	top := q.query(sel, nil)
	for _, c := range top.columns {
		r.Columns = append(r.Columns, Column{c.name, c.mark})
	}
	r.Rows, r.Ordered = top.rows, len(sel.SortClause) > 0
	pgtree.Every(tree.Stmts[0].Stmt, func(n *pg.Node) {
		if f := n.GetFuncCall(); f != nil {
			_, name := pgtree.Callee(f)
			r.Calls = append(r.Calls, name)
		}
	})
	return r, *q.known && top.whole
}
