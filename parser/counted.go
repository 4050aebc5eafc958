package parser

import (
	"slices"
	"strconv"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
)

// How many people are in a private group decides whether it is shown. So a number that follows from the rows of a block alone is about
// the groups that are shown, not about all groups. A statistic of released values says so: its notice begins with the groups that are not
// shown, and its error is unknown. But a count, a list or a numbering of rows, or a maximum of keys, would be read as an answer about all
// groups. It is refused, unless a condition leaves only large groups.

// A tallier notes where rows of blocks are counted.
type tallier struct {
	valuer

	blocks []*candidate // of whose rows those of the level are made
}

// uncounted notes the expressions of a SELECT that follow from the rows of blocks below it, or of its own groups, and from no released
// value, and the statistics of values that were released. It returns the blocks whose rows are also its own rows.
func (t tallier) uncounted(sel *pg.SelectStmt) []*candidate {
	t.blocks = t.with(sel.WhereClause)
	if large(t.valuer, sel.WhereClause) || t.s.block && large(t.valuer, sel.HavingClause) {
		return nil
	}
	pgtree.Holds(func(n *pg.Node) bool {
		switch {
		case t.tallies(n):
			for _, c := range t.with(n) {
				c.counts, c.present = append(c.counts, t.pos(pgtree.FirstLocation(n))), true
			}
		case t.sums(n):
			with := t.with(n)
			for _, c := range with {
				c.summed, c.present = true, c.present || len(with) > 1 || !t.adds(n.GetFuncCall())
			}
		case n.GetFuncCall().GetOver() != nil: // an order of released values
			for _, c := range t.with(n) {
				c.present = true
			}
		}
		return false
	}, slices.Concat(sel.TargetList, sel.SortClause, []*pg.Node{sel.HavingClause})...)
	if !t.s.block && pgtree.IsAggregated(sel) && len(sel.GroupClause) == 0 {
		return nil // one row
	}
	return t.blocks
}

// with adds the blocks on whose rows an expression depends: by columns, and by sub-selects of several rows.
func (t tallier) with(n *pg.Node) []*candidate {
	out := t.blocks
	add := func(list []*candidate) { out = either(out, list) }
	pgtree.Holds(func(n *pg.Node) bool {
		if ref := n.GetColumnRef(); ref != nil {
			if i, _, ok := t.s.own(ref); ok {
				add(t.s.items[i].rows)
			}
		}
		if l := n.GetSubLink(); l != nil && l.SubLinkType != pg.SubLinkType_EXPR_SUBLINK {
			if level := t.levels[l.Subselect.GetSelectStmt()]; level != nil {
				add(level.result.blocks)
			}
		}
		return false
	}, n)
	return out
}

// tallies reports whether an expression is computed of the rows of a level, and of no released value: an aggregate or a window function.
func (t tallier) tallies(n *pg.Node) bool {
	if l := n.GetSubLink(); l != nil {
		return l.SubLinkType == pg.SubLinkType_ARRAY_SUBLINK
	}
	f := n.GetFuncCall()
	switch {
	case f.GetOver() != nil:
		named := slices.ContainsFunc(t.s.windows, func(n *pg.Node) bool { return t.computed(n).further })
		return !named && !t.any(f.Over.PartitionClause...) && !t.any(f.Over.OrderClause...) && !t.measures(f)
	case !pgtree.IsAggregate(n), t.s.block:
		return false
	}
	return f == nil || !t.measures(f)
}

// sums reports whether an expression is a statistic of released values in several rows: an aggregate above the block, or a window function.
func (t tallier) sums(n *pg.Node) bool {
	f := n.GetFuncCall()
	return f != nil && (f.Over != nil || pgtree.IsAggregate(n) && !t.s.block) && t.any(f.Args...)
}

// adds reports whether a call is the sum of a value that is 0 where all released values are.
func (t tallier) adds(f *pg.FuncCall) bool {
	_, name := pgtree.Callee(f)
	return name == "sum" && len(f.Args) == 1 && t.homogeneous(f.Args[0])
}

// homogeneous reports whether an expression is 0 where all released values in it are: a sum, a difference or a multiple of such.
func (t tallier) homogeneous(n *pg.Node) bool {
	switch {
	case !t.any(n):
		return false
	case n.GetColumnRef() != nil, n.GetFuncCall() != nil && pgtree.IsAggregate(n):
		return true
	case n.GetTypeCast() != nil:
		return t.homogeneous(n.GetTypeCast().Arg)
	case n.GetCoalesceExpr() != nil:
		return t.homogeneous(n.GetCoalesceExpr().Args[0])
	case n.GetAExpr().GetKind() != pg.A_Expr_Kind_AEXPR_OP || len(n.GetAExpr().GetName()) != 1:
		return false
	}
	x := n.GetAExpr()
	switch x.Name[0].GetString_().GetSval() {
	case "+", "-":
		return (x.Lexpr == nil || t.homogeneous(x.Lexpr)) && t.homogeneous(x.Rexpr)
	case "*":
		return t.homogeneous(x.Lexpr) || t.homogeneous(x.Rexpr)
	case "/":
		return t.homogeneous(x.Lexpr)
	}
	return false
}

// measures reports whether a call is a statistic of released values, or counts large groups alone.
func (t tallier) measures(f *pg.FuncCall) bool {
	if large(t.valuer, f.AggFilter) {
		return true
	}
	switch _, name := pgtree.Callee(f); name {
	case "count", "regr_count", "array_agg", "string_agg", "xmlagg", "range_agg",
		"json_agg", "jsonb_agg", "json_object_agg", "jsonb_object_agg":
		return false
	}
	return t.any(f.Args...) || t.any(f.AggOrder...)
}

// large reports whether a condition leaves only groups that are large: whether it compares a released value with more than 1, from below.
func large(v valuer, condition *pg.Node) bool {
	return slices.ContainsFunc(pgtree.Conjuncts(condition), func(n *pg.Node) bool {
		x := n.GetAExpr()
		if x == nil || len(x.Name) != 1 {
			return false
		}
		low, high := x.Rexpr, x.Lexpr
		switch name := x.Name[0].GetString_().GetSval(); {
		case x.Kind == pg.A_Expr_Kind_AEXPR_BETWEEN:
			low = x.Rexpr.GetList().GetItems()[0]
		case x.Kind != pg.A_Expr_Kind_AEXPR_OP:
			return false
		case name == "<" || name == "<=":
			low, high = high, low
		case name != ">" && name != ">=":
			return false
		}
		return v.any(high) && aboveOne(v, low)
	})
}

// aboveOne reports whether a value is a number above 1, a parameter, or one that was released.
func aboveOne(v valuer, n *pg.Node) bool {
	c := n.GetAConst()
	if c == nil {
		return n.GetParamRef() != nil || v.any(n)
	}
	if c.GetIval() != nil {
		return c.GetIval().GetIval() > 1
	}
	f, err := strconv.ParseFloat(c.GetFval().GetFval(), 64)
	return err == nil && f > 1
}
