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
	pgtree.Every(tree.Stmts[0].Stmt, r.mention)
	return r, *q.known && top.whole
}

// mention notes the names at a node behind which functions may stand.
func (r *Result) mention(n *pg.Node) {
	last := func(names []*pg.Node) {
		if all, ok := pgtree.Strings(names); ok && len(all) > 0 {
			r.Names = append(r.Names, all[len(all)-1])
		}
	}
	switch x := n.GetNode().(type) {
	case *pg.Node_FuncCall:
		_, name := pgtree.Callee(x.FuncCall)
		r.Calls = append(r.Calls, name)
	case *pg.Node_AExpr:
		last(x.AExpr.Name)
	case *pg.Node_SubLink:
		last(x.SubLink.OperName)
	case *pg.Node_SortBy:
		last(x.SortBy.UseOp)
	case *pg.Node_RangeVar:
		r.Names = append(r.Names, x.RangeVar.Relname)
	case *pg.Node_TypeName:
		last(x.TypeName.Names)
	case *pg.Node_TypeCast:
		last(x.TypeCast.TypeName.GetNames())
	case *pg.Node_ColumnDef:
		last(x.ColumnDef.TypeName.GetNames())
	}
}
