package parser

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/pgtree"
)

// A windowClause is where window functions of a SELECT find the windows that have a name.
type windowClause struct{ sel *pg.SelectStmt }

// named returns the window of that name, nil if there is none.
func (c *windowClause) named(name string) *pg.WindowDef {
	for _, n := range c.sel.WindowClause {
		if w := n.GetWindowDef(); w.GetName() == name {
			return w
		}
	}
	return nil
}

// Bits of a frame (src/include/nodes/parsenodes.h).
const (
	frameRange       = 0x2
	frameRows        = 0x4
	frameGroups      = 0x8
	fromFirstRow     = 0x20
	toLastRow        = 0x100
	fromCurrentRow   = 0x200
	toCurrentRow     = 0x400
	fromRowsBefore   = 0x800
	toRowsBefore     = 0x1000
	fromRowsBehind   = 0x2000
	toRowsBehind     = 0x4000
	frameExclusion   = 0x8000 | 0x10000 | 0x20000
	frameOfStandard  = fromFirstRow | toCurrentRow
	frameOfPartition = fromFirstRow | toLastRow
)

// window converts a window function in the SELECT list of a query below the block.
func (v exprConverter) window(n *pg.Node, f *pg.FuncCall) ast.Expr {
	clause := v.windows
	schema, name := pgtree.Callee(f)
	switch {
	case clause == nil:
		return v.notAllowed(f.Location, "a window function below the aggregate")
	case v.grouped:
		v.forbid(f.Location, "a window function over groups below the aggregate",
			"Group in a sub-select of its own, and use the window function on its rows.")
		return nil
	case schema != "" && schema != "pg_catalog":
		return v.notAllowed(f.Location, "a window function of schema "+schema)
	case f.AggDistinct, len(f.AggOrder) > 0, f.AggWithinGroup, f.FuncVariadic:
		return v.notAllowed(f.Location, "this clause of a window function")
	case v.level != nil && !v.level.owns(n):
		v.forbid(f.Location, "a window function with a sub-select or with columns of the query around it",
			"Compute it in the query whose columns it needs, from columns alone.")
		return nil
	}
	v.windows = nil // none stands in another
	defer func() { v.windows = clause }()
	out := &ast.Window{Func: name, Star: f.AggStar, Args: v.exprs(f.Args), At: v.a.pos(f.Location)}
	if f.AggFilter != nil {
		out.Filter = v.expr(f.AggFilter)
	}
	return v.over(out, clause, f.Over)
}

// over converts what stands after OVER, or what a name there means.
func (v exprConverter) over(out *ast.Window, clause *windowClause, w *pg.WindowDef) ast.Expr {
	at := w.Location
	if w.Name != "" { // OVER name has all of it, the frame as well
		w = clause.named(w.Name)
	}
	partition, order := w.GetPartitionClause(), w.GetOrderClause()
	base := w
	for n := 0; base.GetRefname() != ""; n++ { // each window has another one below it
		if base = clause.named(base.Refname); base == nil || n > len(clause.sel.WindowClause) {
			return v.notAllowed(at, "this window")
		}
		partition = append(slices.Clip(partition), base.PartitionClause...)
		order = append(slices.Clip(order), base.OrderClause...)
	}
	if w == nil {
		return v.notAllowed(at, "a window that is not in the WINDOW clause")
	}
	out.Partition, out.Order = v.exprs(partition), v.sorts(order)
	frame, ok := frameOf(w)
	if !ok && int(w.FrameOptions)&(frameRange|frameExclusion) == frameRange {
		frame, ok = distances(v, out, w), true
	}
	if groups := int(w.FrameOptions)&frameGroups != 0; !ok || groups && len(order) == 0 {
		v.forbid(at, "this frame of a window function",
			"Leave it out, or write ROWS BETWEEN with numbers of rows, UNBOUNDED PRECEDING and CURRENT ROW, "+
				"or RANGE BETWEEN with distances.")
		return nil
	}
	out.Frame = frame
	if len(out.Args) == 3 && (out.Func == "lag" || out.Func == "lead") {
		return withDefault(out)
	}
	return out
}

// distances converts a frame by the distance of values. CURRENT ROW is no distance.
func distances(v exprConverter, out *ast.Window, w *pg.WindowDef) *ast.Frame {
	frame, bits := &ast.Frame{}, int(w.FrameOptions)
	end := func(offset *pg.Node, behind int) {
		d := ast.Distance{X: &ast.Const{Kind: ast.String, Text: "0", At: out.At}, After: bits&behind != 0}
		if offset != nil {
			d.X = v.expr(offset)
		}
		out.Ends = append(out.Ends, d)
	}
	if bits&fromFirstRow != 0 {
		frame.From = ast.FirstRow
	} else {
		end(w.StartOffset, fromRowsBehind)
	}
	if bits&toLastRow != 0 {
		frame.To = ast.LastRow
	} else {
		end(w.EndOffset, toRowsBehind)
	}
	return frame
}

// withDefault writes lag or lead with a default as a condition: whether there is another row so many rows away, whose value may
// be NULL, is told by that of a constant.
func withDefault(out *ast.Window) ast.Expr {
	there, other := *out, out.Args[2]
	out.Args = out.Args[:2]
	there.Args = []ast.Expr{&ast.Const{Kind: ast.Integer, Text: "1", At: out.At}, out.Args[1]}
	none := &ast.IsNull{X: &there, At: out.At}
	return &ast.Case{Whens: []ast.When{{If: none, Then: other}}, Else: out, At: out.At}
}

// sorts converts ORDER BY.
func (v exprConverter) sorts(list []*pg.Node) (out []ast.Sort) {
	for _, n := range list {
		by := n.GetSortBy()
		if by.GetSortbyDir() == pg.SortByDir_SORTBY_USING {
			v.forbid(by.GetLocation(), "ORDER BY USING", "Write ASC or DESC.")
			return nil
		}
		s := ast.Sort{X: v.expr(by.GetNode()), Descending: by.GetSortbyDir() == pg.SortByDir_SORTBY_DESC}
		s.NullsFirst = s.Descending
		switch by.GetSortbyNulls() {
		case pg.SortByNulls_SORTBY_NULLS_FIRST:
			s.NullsFirst = true
		case pg.SortByNulls_SORTBY_NULLS_LAST:
			s.NullsFirst = false
		}
		out = append(out, s)
	}
	return out
}

// frameOf returns the frame of a window, nil for that of the standard; ok is false for frames that do not count rows.
func frameOf(w *pg.WindowDef) (f *ast.Frame, ok bool) {
	bits := int(w.FrameOptions)
	switch {
	case bits&frameExclusion != 0:
		return nil, false
	case bits&frameOfPartition == frameOfPartition:
		return &ast.Frame{From: ast.FirstRow, To: ast.LastRow}, true
	case bits&(frameRange|frameGroups) != 0 && bits&frameOfStandard == frameOfStandard:
		return nil, true
	case bits&frameRows == 0:
		return nil, false
	}
	from, to := ast.FirstRow, ast.LastRow
	known, also := bits&fromFirstRow != 0, bits&toLastRow != 0
	if !known {
		from, known = edge(w.StartOffset, bits, fromCurrentRow, fromRowsBefore, fromRowsBehind)
	}
	if !also {
		to, also = edge(w.EndOffset, bits, toCurrentRow, toRowsBefore, toRowsBehind)
	}
	return &ast.Frame{From: from, To: to}, known && also
}

// edge returns the row that a frame begins or ends with.
func edge(offset *pg.Node, bits, current, before, behind int) (row int, ok bool) {
	if bits&current != 0 {
		return 0, true
	}
	n, ok := pgtree.Position(offset)
	if bits&before != 0 {
		n = -n
	}
	return n, ok && n >= -maxFrame && n <= maxFrame && bits&(before|behind) != 0
}

// maxFrame bounds how far from the current row a frame begins or ends: the work for a row goes with it.
const maxFrame = 100

// first converts DISTINCT ON, and the ORDER BY that says which rows are first.
func (v *queryConverter) first(out *ast.Select, sel *pg.SelectStmt, location int32) {
	if pgtree.IsAggregated(sel) {
		v.forbid(location, "DISTINCT ON of groups below an aggregate", "Group in a sub-select of its own.")
		return
	}
	row := exprConverter{v, false}
	for _, n := range sel.DistinctClause {
		out.First = append(out.First, row.expr(v.sorted(sel, n)))
	}
	out.Order = v.order(sel)
}

// order converts ORDER BY of rows, or of groups.
func (v *queryConverter) order(sel *pg.SelectStmt) []ast.Sort {
	var order []*pg.Node
	for _, n := range sel.SortClause {
		by := n.GetSortBy()
		order = append(order, &pg.Node{Node: &pg.Node_SortBy{SortBy: &pg.SortBy{
			Node: v.sorted(sel, by.GetNode()), SortbyDir: by.GetSortbyDir(), SortbyNulls: by.GetSortbyNulls(), Location: by.GetLocation(),
		}}})
	}
	return exprConverter{v, pgtree.IsAggregated(sel)}.sorts(order)
}

// sorted returns the expression that an item of ORDER BY or DISTINCT ON means: that of a target by its position or name, or
// itself (findTargetlistEntrySQL92 in src/backend/parser/parse_clause.c).
func (v *queryConverter) sorted(sel *pg.SelectStmt, n *pg.Node) *pg.Node {
	if i, ok := pgtree.Position(n); ok {
		before := sel.TargetList[:min(max(i, 0), len(sel.TargetList))]
		star := func(t *pg.Node) bool { return pgtree.IsStar(t.GetResTarget().GetVal()) }
		if i < 1 || i > len(sel.TargetList) || slices.ContainsFunc(before, star) {
			v.notAllowed(n.GetAConst().GetLocation(), "a position beyond or behind a star")
			return n
		}
		return sel.TargetList[i-1].GetResTarget().GetVal()
	}
	name, bare := pgtree.ColumnName(n)
	if !bare {
		return n
	}
	var found *pg.Node
	for _, t := range sel.TargetList {
		r := t.GetResTarget()
		output, known := pgtree.OutputName(r)
		if pgtree.IsStar(r.GetVal()) || !known || output != name {
			continue
		}
		if found != nil {
			v.notAllowed(n.GetColumnRef().GetLocation(), "a name of two columns in DISTINCT ON or ORDER BY")
			return n
		}
		found = r.GetVal()
	}
	if found == nil {
		return n
	}
	return found
}
