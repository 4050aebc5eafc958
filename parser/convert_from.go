package parser

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/pgtree"
)

// from converts FROM of the level.
func (v *queryConverter) from(sel *pg.SelectStmt) ast.From {
	out := v.fromItems(sel.FromClause)
	v.each.open = true
	return out
}

func (v *queryConverter) fromItems(list []*pg.Node) ast.From {
	var out ast.From
	for i, n := range list {
		if i > 0 {
			if j := v.each.lateral(v, out, &pg.JoinExpr{Jointype: pg.JoinType_JOIN_INNER, Rarg: n}); j != nil {
				out = j
				continue
			}
		}
		next := v.fromItem(n)
		if i == 0 {
			out = next
			continue
		}
		out = &ast.Join{Kind: ast.Cross, Left: out, Right: next, At: fromPosition(next)}
	}
	return out
}

func fromPosition(f ast.From) int {
	switch x := f.(type) {
	case *ast.Table:
		return x.Ref.At
	case *ast.Join:
		return x.At
	case *ast.Derived:
		return x.At
	case *ast.Lateral:
		return x.At
	case *ast.Row:
		return x.At
	case *ast.Listed:
		return x.At
	case *ast.Elements:
		return x.At
	}
	return 0
}

func (v *queryConverter) fromItem(n *pg.Node) ast.From {
	if v.a.tables++; v.a.tables > maxTables {
		v.tooLarge(pgtree.FirstLocation(n))
		return nil
	}
	const rewrite = "Write tables and sub-selects in FROM of the aggregate."
	switch x := n.GetNode().(type) {
	case *pg.Node_RangeVar:
		return v.tableItem(x.RangeVar)
	case *pg.Node_JoinExpr:
		return v.join(x.JoinExpr)
	case *pg.Node_RangeSubselect:
		return v.derived(x.RangeSubselect)
	case *pg.Node_RangeFunction:
		return v.series(x.RangeFunction)
	case *pg.Node_RangeTableSample:
		v.forbid(x.RangeTableSample.Location, "TABLESAMPLE", "Leave it out: the answer is for all rows.")
	default:
		v.forbid(pgtree.FirstLocation(n), "this item of FROM", rewrite)
	}
	return nil
}

// derived converts a sub-select in FROM.
func (v *queryConverter) derived(s *pg.RangeSubselect) ast.From {
	at := selectLocation(s.Subquery.GetSelectStmt())
	sel, alias, names := s.Subquery.GetSelectStmt(), s.Alias.GetAliasname(), columnNames(s.Alias.GetColnames())
	if level := v.a.levels[sel]; s.Lateral && (level == nil || level.scope.escape >= 0) {
		v.forbid(at, "LATERAL", withoutNeighbours)
		return nil
	}
	if row := oneRow(v, sel, at); row != nil {
		return &ast.Row{Targets: row, Alias: alias, Columns: names, At: v.a.pos(at)}
	}
	if values, own := constantRows(sel); values != nil {
		return v.listedValues(values, alias, namedAnew(own, names), at)
	}
	out := &ast.Derived{Alias: alias, Columns: names, At: v.a.pos(at), Concealed: v.a.l.concealed(v.a.offsetOf(at))}
	out.Query = v.rows(sel, at)
	return out
}

// namedAnew returns names of columns of which the first have others.
func namedAnew(names, own []string) []string {
	return append(slices.Clip(own), names[min(len(own), len(names)):]...)
}

// columnNames returns a list of column aliases, nil if there is none.
func columnNames(list []*pg.Node) []string {
	names, _ := pgtree.Strings(list)
	if len(names) == 0 {
		return nil
	}
	return names
}

func (v *queryConverter) tableItem(r *pg.RangeVar) ast.From {
	if c := v.a.cteRefs[r]; c != nil {
		return v.reference(r, c)
	}
	t := &ast.Table{Ref: v.tableRef(r), Alias: r.Relname, Columns: columnNames(r.Alias.GetColnames()), Only: !r.Inh}
	if r.Alias != nil {
		t.Alias = r.Alias.Aliasname
	}
	return t
}

func (v *queryConverter) tableRef(r *pg.RangeVar) ast.TableRef {
	ref := ast.TableRef{Schema: r.Schemaname, Name: r.Relname, At: v.a.pos(r.Location), Within: v.a.l.within(v.a.offsetOf(r.Location))}
	if resolved, known := v.a.cat.Relation(r.Schemaname, r.Relname); known {
		ref.Resolved = resolved
	}
	return ref
}

// reference converts a reference to a WITH query, which stands where it is referred to.
func (v *queryConverter) reference(r *pg.RangeVar, with *cte) ast.From {
	c := with.node
	sel := c.Ctequery.GetSelectStmt()
	alias, names := r.Relname, columnNames(c.Aliascolnames)
	if r.Alias != nil {
		alias = r.Alias.Aliasname
		names = namedAnew(names, columnNames(r.Alias.Colnames))
	}
	switch {
	case with.selfRead && c.SearchClause == nil && c.CycleClause == nil && sel != nil:
		return v.recursion(with, alias, names, r.Location)
	case c.SearchClause != nil || c.CycleClause != nil:
		v.forbid(r.Location, "a recursive WITH query", "Join with tables and sub-selects that are not recursive.")
		return nil
	case sel == nil:
		v.forbid(r.Location, "a WITH query that changes data", "Write a SELECT in WITH.")
		return nil
	case with.escape >= 0:
		// Where it is referred to its columns could mean others.
		v.forbid(r.Location, "a WITH query that refers to the query around it", "Write its query in place of the name.")
		return nil
	}
	if row := oneRow(v, sel, r.Location); row != nil {
		return &ast.Row{Targets: row, Alias: alias, Columns: names, At: v.a.pos(r.Location)}
	}
	if values, inner := constantRows(sel); values != nil {
		return v.listedValues(values, alias, namedAnew(inner, names), r.Location)
	}
	return &ast.Derived{Alias: alias, Columns: names, At: v.a.pos(r.Location), Query: v.rows(sel, r.Location)}
}

// itemLocation is where an item of FROM begins.
func itemLocation(n *pg.Node) int32 {
	switch x := n.GetNode().(type) {
	case *pg.Node_RangeVar:
		return x.RangeVar.Location
	case *pg.Node_RangeSubselect:
		return selectLocation(x.RangeSubselect.Subquery.GetSelectStmt())
	case *pg.Node_JoinExpr:
		return itemLocation(x.JoinExpr.Larg)
	}
	return pgtree.FirstLocation(n)
}

func (v *queryConverter) join(j *pg.JoinExpr) ast.From {
	at := itemLocation(j.Rarg)
	left := v.fromItem(j.Larg)
	if out := v.each.lateral(v, left, j); out != nil {
		return out
	}
	out := &ast.Join{Left: left, Right: v.fromItem(j.Rarg), Natural: j.IsNatural, Using: columnNames(j.UsingClause)}
	out.At = v.a.pos(at)
	switch j.Jointype {
	case pg.JoinType_JOIN_INNER:
		out.Kind = ast.Inner
		if j.Quals == nil && len(j.UsingClause) == 0 && !j.IsNatural {
			out.Kind = ast.Cross
		}
	case pg.JoinType_JOIN_LEFT:
		out.Kind = ast.Left
	case pg.JoinType_JOIN_RIGHT:
		out.Kind = ast.Right
	case pg.JoinType_JOIN_FULL:
		out.Kind = ast.Full
	default:
		v.notAllowed(at, "this join")
	}
	if j.Alias != nil || j.JoinUsingAlias != nil {
		v.notYet(at, "an alias of a join", "Give the tables aliases instead.")
	}
	if j.Quals != nil {
		out.On = exprConverter{v, false}.expr(j.Quals)
	}
	return out
}
