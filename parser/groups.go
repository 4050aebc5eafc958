package parser

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/pgerr"
)

// A grouping is how a SELECT groups its rows.
type grouping struct {
	by    bool       // the SELECT is grouped or aggregated
	exprs []*pg.Node // grouping expressions, resolved
	// sets are the grouping sets; nil if there is one, of all expressions.
	sets     []groupingSet
	distinct bool // it is SELECT DISTINCT that groups, by the targets
}

// A groupingSet is the expressions that one set groups by.
type groupingSet []*pg.Node

// maxSets bounds the grouping sets of one GROUP BY.
const maxSets = 128

// grouping returns how a SELECT groups. An integer in GROUP BY is the target at that
// position; a bare name is an input column first, an output column second; anything
// else is itself.
func (a *analysis) grouping(sel *pg.SelectStmt, s *scope) (grouping, *pgerr.Error) {
	switch {
	case aggregates(sel):
		return a.groupBy(sel, s)
	case isDistinct(sel) && !holds(isWindowCall, slices.Concat(sel.TargetList, sel.SortClause)...):
		g := grouping{by: true, distinct: true}
		for _, n := range sel.TargetList {
			if val := n.GetResTarget().GetVal(); val != nil && !isStar(val) {
				g.exprs = append(g.exprs, val)
			}
		}
		return g, nil
	}
	return grouping{}, nil
}

// aggregates reports whether the SELECT is aggregated.
func aggregates(sel *pg.SelectStmt) bool {
	return len(sel.GroupClause) > 0 || sel.HavingClause != nil || holds(isAggregate, sel.TargetList...) ||
		holds(isAggregate, sel.SortClause...) || holds(isAggregate, sel.DistinctClause...) || holds(isAggregate, sel.WindowClause...)
}

// isDistinct reports SELECT DISTINCT without ON.
func isDistinct(sel *pg.SelectStmt) bool {
	return len(sel.DistinctClause) == 1 && sel.DistinctClause[0].GetNode() == nil
}

func isWindowCall(n *pg.Node) bool { return n.GetFuncCall().GetOver() != nil }

func (a *analysis) groupBy(sel *pg.SelectStmt, s *scope) (grouping, *pgerr.Error) {
	g := grouping{by: true}
	if len(sel.GroupClause) > maxColumns {
		return g, a.tooManySets(sel.GroupClause[0])
	}
	var err *pgerr.Error
	if slices.ContainsFunc(sel.GroupClause, isGroupingSet) {
		g.sets, err = a.groupingSets(sel, s)
		g.exprs = union(g.sets)
	} else {
		g.exprs, err = a.plainGroups(sel, s)
	}
	if err == nil && len(g.exprs) > maxColumns {
		err = a.tooManySets(sel.GroupClause[0])
	}
	return g, err
}

func isGroupingSet(n *pg.Node) bool { return n.GetGroupingSet() != nil }

func (a *analysis) plainGroups(sel *pg.SelectStmt, s *scope) (groupingSet, *pgerr.Error) {
	var out groupingSet
	for _, n := range sel.GroupClause {
		set, err := a.simpleSet(n, sel, s)
		if err != nil {
			return nil, err
		}
		out = append(out, set...)
	}
	return out, nil
}

func (a *analysis) groupingSets(sel *pg.SelectStmt, s *scope) ([]groupingSet, *pgerr.Error) {
	sets := []groupingSet{nil}
	for _, n := range sel.GroupClause {
		item, err := a.setsOf(n, sel, s)
		if err != nil {
			return nil, err
		}
		if len(sets)*len(item) > maxSets {
			return nil, a.tooManySets(n)
		}
		sets = product(sets, item)
	}
	return sets, nil
}

func (a *analysis) tooManySets(n *pg.Node) *pgerr.Error {
	return pgerr.New(pgerr.StatementTooComplex, "GROUP BY has more than %d grouping sets or %d expressions", maxSets, maxColumns).
		At(a.pos(firstLocation(n))).WithHint("Split the statement.")
}

// union returns the expressions of all sets, each once.
func union(sets []groupingSet) []*pg.Node {
	var out []*pg.Node
	seen := map[*pg.Node]bool{}
	for _, set := range sets {
		for _, n := range set {
			if !seen[n] {
				seen[n] = true
				out = append(out, n)
			}
		}
	}
	return out
}

// product joins each set of the one list with each of the other.
func product(l, r []groupingSet) []groupingSet {
	out := make([]groupingSet, 0, len(l)*len(r))
	for _, x := range l {
		for _, y := range r {
			out = append(out, slices.Concat(x, y))
		}
	}
	return out
}

// setsOf returns the grouping sets of one item of GROUP BY.
func (a *analysis) setsOf(n *pg.Node, sel *pg.SelectStmt, s *scope) ([]groupingSet, *pgerr.Error) {
	clause := n.GetGroupingSet()
	if clause == nil {
		set, err := a.simpleSet(n, sel, s)
		return []groupingSet{set}, err
	}
	if clause.Kind == pg.GroupingSetKind_GROUPING_SET_EMPTY {
		return []groupingSet{nil}, nil
	}
	var items [][]groupingSet
	for _, c := range clause.Content {
		item, err := a.setsOf(c, sel, s)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	var out []groupingSet
	switch clause.Kind {
	case pg.GroupingSetKind_GROUPING_SET_ROLLUP:
		out = rollup(items)
	case pg.GroupingSetKind_GROUPING_SET_CUBE:
		out = cube(items)
	default:
		out = slices.Concat(items...)
	}
	if out == nil || len(out) > maxSets {
		return nil, a.tooManySets(n)
	}
	return out, nil
}

// rollup returns the prefixes of the items, the longest first; nil if they are too many.
// Its items are one set each.
func rollup(items [][]groupingSet) []groupingSet {
	if len(items) >= maxSets {
		return nil
	}
	out := []groupingSet{nil}
	var prefix groupingSet
	for _, item := range items {
		prefix = slices.Concat(prefix, item[0])
		out = append(out, prefix)
	}
	slices.Reverse(out)
	return out
}

// cube returns all subsets of the items; nil if they are too many.
func cube(items [][]groupingSet) []groupingSet {
	out := []groupingSet{nil}
	for _, item := range items {
		if 2*len(out) > maxSets {
			return nil
		}
		for _, set := range out {
			out = append(out, slices.Concat(set, item[0]))
		}
	}
	return out
}

// simpleSet opens (a, b) in GROUP BY, which is the same as a, b.
func (a *analysis) simpleSet(n *pg.Node, sel *pg.SelectStmt, s *scope) (groupingSet, *pgerr.Error) {
	row := n.GetRowExpr()
	if row == nil || row.RowFormat != pg.CoercionForm_COERCE_IMPLICIT_CAST {
		x, err := a.group(n, sel, s)
		return groupingSet{x}, err
	}
	var out groupingSet
	for _, arg := range row.Args {
		inner, err := a.simpleSet(arg, sel, s)
		if err != nil {
			return nil, err
		}
		out = append(out, inner...)
	}
	return out, nil
}

func (a *analysis) group(n *pg.Node, sel *pg.SelectStmt, s *scope) (*pg.Node, *pgerr.Error) {
	if i, ok := position(n); ok {
		if i >= 1 && i <= len(sel.TargetList) {
			return sel.TargetList[i-1].GetResTarget().GetVal(), nil
		}
		return n, pgerr.New(pgerr.Syntax, "GROUP BY position %d is not in select list", i).At(a.pos(n.GetAConst().Location))
	}
	name, bare := columnName(n)
	if !bare {
		return n, nil
	}
	has := s.has(name)
	if has == present {
		return n, nil
	}
	target := targetNamed(sel, name)
	switch {
	case target == nil:
		return n, nil
	case has == unsure:
		return n, pgerr.New(pgerr.FeatureNotSupported, "%q in GROUP BY may be an input or an output column", name).
			At(a.pos(n.GetColumnRef().Location)).WithHint("Write the expression itself, or its position.")
	}
	return target.Val, nil
}

func targetNamed(sel *pg.SelectStmt, name string) *pg.ResTarget {
	for _, n := range sel.TargetList {
		t := n.GetResTarget()
		if t == nil || isStar(t.Val) {
			continue
		}
		if output, known := outputName(t); known && output == name {
			return t
		}
	}
	return nil
}

// groupExprs walks GROUP BY of a SELECT without protected rows.
func (a *analysis) groupExprs(sel *pg.SelectStmt, s *scope, outputs []string) {
	for _, n := range sel.GroupClause {
		if isOutput(n, outputs) {
			if name, _ := columnName(n); s.has(name) == absent {
				continue
			}
		}
		a.exprs([]*pg.Node{n}, s)
	}
}
