package parser

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/pgtree"
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

// A groupClause is the GROUP BY of a SELECT, or its DISTINCT.
type groupClause struct {
	*analysis
	sel   *pg.SelectStmt
	scope *scope
}

// grouping returns how a SELECT groups. An integer in GROUP BY is the target at that
// position; a bare name is an input column first, an output column second; anything
// else is itself.
func (g groupClause) grouping() (grouping, *pgerr.Error) {
	switch {
	case pgtree.IsAggregated(g.sel):
		return g.groupBy()
	case pgtree.IsDistinct(g.sel) && !pgtree.Holds(pgtree.IsWindowCall, slices.Concat(g.sel.TargetList, g.sel.SortClause)...):
		out := grouping{by: true, distinct: true}
		for _, n := range g.sel.TargetList {
			if val := n.GetResTarget().GetVal(); val != nil && !pgtree.IsStar(val) {
				out.exprs = append(out.exprs, val)
			}
		}
		return out, nil
	}
	return grouping{}, nil
}

func (g groupClause) groupBy() (out grouping, err *pgerr.Error) {
	out.by = true
	if len(g.sel.GroupClause) > maxColumns {
		return out, g.tooManySets(g.sel.GroupClause[0])
	}
	if slices.ContainsFunc(g.sel.GroupClause, isGroupingSet) {
		out.sets, err = g.groupingSets()
		out.exprs = union(out.sets)
	} else {
		out.exprs, err = g.plainGroups()
	}
	if err == nil && len(out.exprs) > maxColumns {
		err = g.tooManySets(g.sel.GroupClause[0])
	}
	return out, err
}

func isGroupingSet(n *pg.Node) bool { return n.GetGroupingSet() != nil }

func (g groupClause) plainGroups() (groupingSet, *pgerr.Error) {
	var out groupingSet
	for _, n := range g.sel.GroupClause {
		set, err := g.simpleSet(n)
		if err != nil {
			return nil, err
		}
		out = append(out, set...)
	}
	return out, nil
}

func (g groupClause) groupingSets() ([]groupingSet, *pgerr.Error) {
	sets := []groupingSet{nil}
	for _, n := range g.sel.GroupClause {
		item, err := g.setsOf(n)
		if err != nil {
			return nil, err
		}
		if len(sets)*len(item) > maxSets {
			return nil, g.tooManySets(n)
		}
		sets = product(sets, item)
	}
	return sets, nil
}

func (g groupClause) tooManySets(n *pg.Node) *pgerr.Error {
	return pgerr.New(pgerr.StatementTooComplex, "GROUP BY has more than %d grouping sets or %d expressions", maxSets, maxColumns).
		At(g.pos(pgtree.FirstLocation(n))).WithHint("Split the statement.")
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
func (g groupClause) setsOf(n *pg.Node) ([]groupingSet, *pgerr.Error) {
	clause := n.GetGroupingSet()
	if clause == nil {
		set, err := g.simpleSet(n)
		return []groupingSet{set}, err
	}
	if clause.Kind == pg.GroupingSetKind_GROUPING_SET_EMPTY {
		return []groupingSet{nil}, nil
	}
	var items [][]groupingSet
	for _, c := range clause.Content {
		item, err := g.setsOf(c)
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
		return nil, g.tooManySets(n)
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
func (g groupClause) simpleSet(n *pg.Node) (groupingSet, *pgerr.Error) {
	row := n.GetRowExpr()
	if row == nil || row.RowFormat != pg.CoercionForm_COERCE_IMPLICIT_CAST {
		x, err := g.group(n)
		return groupingSet{x}, err
	}
	var out groupingSet
	for _, arg := range row.Args {
		inner, err := g.simpleSet(arg)
		if err != nil {
			return nil, err
		}
		out = append(out, inner...)
	}
	return out, nil
}

func (g groupClause) group(n *pg.Node) (*pg.Node, *pgerr.Error) {
	if i, ok := pgtree.Position(n); ok {
		if i >= 1 && i <= len(g.sel.TargetList) {
			return g.sel.TargetList[i-1].GetResTarget().GetVal(), nil
		}
		return n, pgerr.New(pgerr.Syntax, "GROUP BY position %d is not in select list", i).At(g.pos(n.GetAConst().Location))
	}
	name, bare := pgtree.ColumnName(n)
	if !bare {
		return n, nil
	}
	has := g.scope.has(name)
	if has == present {
		return n, nil
	}
	target := pgtree.TargetNamed(g.sel, name)
	switch {
	case target == nil:
		return n, nil
	case has == unsure:
		return n, pgerr.New(pgerr.FeatureNotSupported, "%q in GROUP BY may be an input or an output column", name).
			At(g.pos(n.GetColumnRef().Location)).WithHint("Write the expression itself, or its position.")
	}
	return target.Val, nil
}

// together reports whether the rows of each group belong together, so that the groups are rows that a block around them can read. In the
// outermost query that is so only if something names to whom they belong: otherwise the groups may be shown, and are a block.
func (g groupClause) together(of grouping) bool {
	by := g.scope.originsOf(of.exprs)
	if of.distinct {
		columns, _ := g.columns(g.sel, g.scope)
		by = originsOf(columns)
	}
	bond := g.cat.Grouped(by)
	return bond == ast.Named || bond == ast.Together && g.scope.parent != nil
}

// named reports whether values name to whom their rows belong.
func named(bonds ast.Bonds, by []ast.Origin) bool {
	return len(by) > 0 && bonds.Grouped(by) == ast.Named
}

// analyse walks GROUP BY of a SELECT without protected rows.
func (g groupClause) analyse(outputs []string) {
	for _, n := range g.sel.GroupClause {
		if isOutput(n, outputs) {
			if name, _ := pgtree.ColumnName(n); g.scope.has(name) == absent {
				continue
			}
		}
		g.exprs([]*pg.Node{n}, g.scope)
	}
}
