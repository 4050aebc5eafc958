package parser

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/pgtree"
)

// Where sums of a block's values over all of its groups up to each one are what a statement shows, the block may be measured
// such that these totals are precise, and its groups are less so.

// A running is a window function that adds up aggregates of a block in an order of groups.
type running struct {
	of []*pg.Node // the aggregates
	// partition and order are expressions that the groups are by.
	partition  []*pg.Node
	order      *pg.Node // nil if all groups of a partition are added up
	descending bool
}

// A runner notes, at one level of a query, where aggregates of blocks are added up in an order, and where they are used in another way.
type runner struct {
	valuer

	// whole says that the level has all groups of its FROM, each once.
	whole bool
}

// note notes the uses at a level. A value that is a column as it is may be used above.
func (r runner) note(sel *pg.SelectStmt) {
	if !r.s.block && !slices.ContainsFunc(r.s.items, func(it *item) bool { return slices.ContainsFunc(it.columns, column.measured) }) {
		return
	}
	r.whole = sel.HavingClause == nil && len(sel.DistinctClause) == 0 &&
		(r.s.block || len(r.s.items) == 1 && sel.WhereClause == nil && !pgtree.IsAggregated(sel))
	for _, n := range sel.TargetList {
		if v := r.of(n.GetResTarget().GetVal()); v.further || v.of == nil {
			r.visit(n.GetResTarget().GetVal())
		}
	}
	others := slices.Concat(sel.GroupClause, sel.DistinctClause, sel.WindowClause, []*pg.Node{sel.HavingClause})
	if !r.s.block {
		others = append(others, sel.WhereClause)
	}
	names := outputNames(sel)
	for _, n := range sel.SortClause {
		if !isOutput(n, names) {
			others = append(others, n)
		}
	}
	pgtree.VisitAll(others, r.visit)
}

// visit notes the uses in an expression.
func (r runner) visit(n *pg.Node) {
	if n == nil || n.Node == nil {
		return
	}
	if w, ok := r.window(n.GetFuncCall()); ok {
		r.runs = append(r.runs, w)
		return
	}
	switch {
	case n.GetColumnRef() != nil:
		r.otherwise(r.s.aggregatesOf(n.GetColumnRef()))
	case n.GetSubLink() != nil:
		r.otherwise(r.of(n).of)
		pgtree.Visit(n.GetSubLink().Testexpr, r.visit)
	case n.GetSelectStmt() != nil:
	case r.s.block && pgtree.IsAggregate(n):
		r.otherwise([]*pg.Node{n})
	default:
		pgtree.Children(n, r.visit)
	}
}

// otherwise notes aggregates that are used in another way.
func (r runner) otherwise(list []*pg.Node) {
	for _, n := range list {
		r.apart[n] = true
	}
}

// aggregatesOf returns the aggregates whose values a reference has, or may have.
func (s *scope) aggregatesOf(ref *pg.ColumnRef) []*pg.Node {
	v := s.valueOf(ref)
	if v.further {
		for _, it := range s.items {
			for _, c := range it.columns {
				v = v.or(c.value)
			}
		}
	}
	return v.of
}

// window reads a window function; ok is false if it adds up no aggregates in an order of groups.
func (r runner) window(f *pg.FuncCall) (w running, ok bool) {
	if f.GetOver() == nil || !r.whole {
		return w, false
	}
	schema, name := pgtree.Callee(f)
	def := f.Over
	if def.Name != "" {
		def = windowNamed(r.s.windows, def.Name)
	}
	if schema != "" && schema != "pg_catalog" || name != "sum" || len(f.Args) != 1 || f.AggFilter != nil || f.AggDistinct ||
		len(f.AggOrder) > 0 || def == nil || def.Refname != "" || len(def.OrderClause) > 1 {
		return w, false
	}
	v := r.of(f.Args[0])
	if v.further || len(v.of) == 0 {
		return w, false
	}
	w.of = v.of
	for _, n := range def.PartitionClause {
		w.partition = append(w.partition, r.s.keyOf(n))
	}
	frame, known := frameOf(def)
	switch {
	case !known:
		return w, false
	case len(def.OrderClause) == 0 || frame != nil && frame.From == ast.FirstRow && frame.To == ast.LastRow:
		return w, frame == nil || frame.To == ast.LastRow
	case frame != nil && (frame.From != ast.FirstRow || frame.To != 0):
		return w, false
	}
	by := def.OrderClause[0].GetSortBy()
	w.order, w.descending = r.s.keyOf(by.GetNode()), by.GetSortbyDir() == pg.SortByDir_SORTBY_DESC
	first := by.GetSortbyNulls() == pg.SortByNulls_SORTBY_NULLS_FIRST
	last := by.GetSortbyNulls() == pg.SortByNulls_SORTBY_NULLS_LAST
	return w, by.GetSortbyDir() != pg.SortByDir_SORTBY_USING && !(w.descending && last) && !(!w.descending && first)
}

// windowNamed returns the window of that name, nil if there is none.
func windowNamed(windows []*pg.Node, name string) *pg.WindowDef {
	for _, n := range windows {
		if n.GetWindowDef().GetName() == name {
			return n.GetWindowDef()
		}
	}
	return nil
}

// keyOf returns the expression of a block that an expression has the values of: itself in the block.
func (s *scope) keyOf(n *pg.Node) *pg.Node {
	if s.block {
		return n
	}
	if ref := n.GetColumnRef(); ref != nil {
		if _, c, ok := s.own(ref); ok {
			return c.of
		}
	}
	return nil
}

// runningOf returns how a statement adds up the groups of a block; nil if it does not.
func runningOf(a *analysis, m *matcher) (out *ast.Running) {
	if m.sets != nil || len(m.groupNodes) == 0 {
		return nil
	}
	own := func(n *pg.Node) bool { _, ok := m.columnOf("a", n); return ok }
	alone := !slices.ContainsFunc(a.outputs, func(c column) bool { return slices.ContainsFunc(c.value.of, own) })
	for n := range a.apart {
		alone = alone && !own(n)
	}
	whole := true // each window is of all groups, or all of a partition
	for _, w := range a.runs {
		if !slices.ContainsFunc(w.of, own) {
			continue
		}
		keys := map[int]bool{}
		for _, n := range w.partition {
			if g, ok := m.columnOf("g", n); ok {
				keys[g] = true
			}
		}
		g, ordered := m.columnOf("g", w.order)
		each := ordered && !keys[g] && len(keys) == len(m.groupNodes)-1 && len(keys) == len(w.partition)
		if each && out == nil {
			out = &ast.Running{Key: g, Descending: w.descending}
		}
		if w.order != nil {
			whole = whole && each && g == out.Key && w.descending == out.Descending
		}
	}
	if out != nil {
		out.Alone = alone && whole
	}
	return out
}
