package repair

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
)

// A spot is the place of the refused thing in the text; there is none if it is negative.
type spot int32

// levelsAt lists the SELECTs around the refused thing, the innermost first.
func (at spot) levelsAt(sel *pg.SelectStmt) []*pg.SelectStmt {
	var out []*pg.SelectStmt
	for _, n := range nodesOf(sel, func(n *pg.Node) bool { return n.GetSelectStmt() != nil }) {
		if at.nodeAt(n.GetSelectStmt()) != nil {
			out = append(out, n.GetSelectStmt())
		}
	}
	slices.Reverse(out)
	return out
}

// nodeAt returns the refused expression of a SELECT, nil if it is an aggregate.
func (at spot) nodeAt(sel *pg.SelectStmt) *pg.Node {
	found := nodesOf(sel, func(n *pg.Node) bool { return at.is(n) && !pgtree.IsAggregate(n) && !pgtree.IsWindowCall(n) })
	if len(found) == 0 {
		return nil
	}
	return found[0]
}

// is reports whether the refused thing is an expression: the place is its beginning, or its operator.
func (at spot) is(n *pg.Node) bool {
	location := int32(-1)
	switch x := n.GetNode().(type) {
	case *pg.Node_ColumnRef:
		location = x.ColumnRef.Location
	case *pg.Node_FuncCall:
		location = x.FuncCall.Location
	case *pg.Node_AExpr:
		location = x.AExpr.Location
	case *pg.Node_CoalesceExpr:
		location = x.CoalesceExpr.Location
	case *pg.Node_MinMaxExpr:
		location = x.MinMaxExpr.Location
	case *pg.Node_CaseExpr:
		location = x.CaseExpr.Location
	case *pg.Node_TypeCast:
		location = x.TypeCast.Location
	}
	return location >= 0 && spot(location) == at
}

// isIn reports whether the refused thing is in an expression.
func (at spot) isIn(n *pg.Node) bool { return len(find(at.is, n)) > 0 }
