package parser

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/lex"
	"dpproxy/parser/pgtree"
	"dpproxy/pgerr"
)

// An aggregate of a group that may have no rows is NULL, and NULLs are the largest values of an
// order: the first of ORDER BY avg(grade) DESC would be the groups of which nothing is known. So
// where a released value may be NULL for that reason, and the client has not said where its NULLs
// stand, they are made to stand last in descending orders too.

// A sorting is a list of ORDER BY, of which some items are to have their NULLs last. Its anchor is a
// place in the text from which the list is found.
type sorting struct {
	by   []*pg.Node
	last []int // the items
	// from returns the tokens in which ORDER BY stands: the first of them, and their depth.
	from func(l sortLocator) (i, depth int, ok bool)
}

// A sorter notes what an analysis sorts by.
type sorter struct{ *analysis }

// A sortLocator finds where a sorting stands in the text.
type sortLocator struct{ *locator }

// lacks reports whether an expression is computed from an aggregate that a small group has no value
// of: in a block from a call, and above from a column of a block. Window functions are left out.
func (s *scope) lacks(n *pg.Node) bool {
	found := false
	var visit func(*pg.Node)
	visit = func(n *pg.Node) {
		f := n.GetFuncCall()
		switch {
		case found || f.GetOver() != nil:
		case s.block && pgtree.IsAggregate(n):
			found = f != nil && lacking(f)
		case n.GetColumnRef() != nil:
			found = !s.block && s.columnIs(n, func(c column) bool { return c.lacking })
		default:
			if enter := opaque(n); enter != nil {
				enter(visit)
				return
			}
			pgtree.Children(n, visit)
		}
	}
	pgtree.Visit(n, visit)
	return found
}

// columnIs reports whether a reference is of a column that is such. A name that a USING clause merges is in several items.
func (s *scope) columnIs(n *pg.Node, such func(column) bool) bool {
	if _, c, ok := s.own(n.GetColumnRef()); ok {
		return such(c)
	}
	name, bare := pgtree.ColumnName(n)
	return bare && slices.ContainsFunc(s.items, func(it *item) bool { return such(it.columnNamed(name)) })
}

// noteSort notes a list of ORDER BY if some of its items are to have their NULLs last.
func (a sorter) noteSort(by []*pg.Node, lacks func(*pg.Node) bool, from func(l sortLocator) (int, int, bool)) {
	if a.inside > 0 {
		return // it leaves the statement
	}
	var last []int
	for i, n := range by {
		b := n.GetSortBy()
		if b.GetSortbyDir() == pg.SortByDir_SORTBY_DESC && b.SortbyNulls == pg.SortByNulls_SORTBY_NULLS_DEFAULT && lacks(b.Node) {
			last = append(last, i)
		}
	}
	if last != nil {
		a.sorts = append(a.sorts, sorting{by, last, from})
	}
}

// noteOrder notes ORDER BY of a SELECT with these columns. Names and positions are of columns first;
// those of a set operation are nothing else.
func (a sorter) noteOrder(sel *pg.SelectStmt, s *scope, columns []column, known bool) {
	a.noteSort(sel.SortClause, func(n *pg.Node) bool {
		if i, ok := pgtree.Position(n); ok {
			return known && i >= 1 && i <= len(columns) && columns[i-1].lacking
		}
		if name, bare := pgtree.ColumnName(n); bare {
			if i := slices.IndexFunc(columns, func(c column) bool { return c.name == name }); i >= 0 {
				return columns[i].lacking
			}
		}
		return sel.Op == pg.SetOperation_SETOP_NONE && s.lacks(n)
	}, func(l sortLocator) (int, int, bool) { return l.beforeOrder(sel) })
}

// noteOrders notes ORDER BY of the node of an expression.
func (a sorter) noteOrders(n *pg.Node, s *scope) {
	switch x := n.Node.(type) {
	case *pg.Node_FuncCall:
		a.noteCall(x.FuncCall, s)
	case *pg.Node_WindowDef:
		a.noteWindow(x.WindowDef, s)
	}
}

// noteWindow notes ORDER BY of a window.
func (a sorter) noteWindow(w *pg.WindowDef, s *scope) {
	a.noteSort(w.OrderClause, s.lacks, func(l sortLocator) (int, int, bool) { return l.opened(l.toks.IndexAt(int(w.Location) - l.base)) })
}

// noteCall notes ORDER BY of an aggregate over released values, and of the window of a call.
func (a sorter) noteCall(f *pg.FuncCall, s *scope) {
	if f.Over != nil {
		a.noteWindow(f.Over, s)
	}
	if s.block || f.AggWithinGroup {
		return
	}
	a.noteSort(f.AggOrder, s.lacks, func(l sortLocator) (int, int, bool) {
		i := l.toks.IndexAt(int(f.Location) - l.base)
		if i < 0 {
			return 0, 0, false
		}
		return l.opened(l.toks.Dotted(i))
	})
}

// opened returns the first token behind an opening bracket.
func (l sortLocator) opened(i int) (first, depth int, ok bool) {
	if l.toks.Kind(i) != lex.OpenParen {
		return 0, 0, false
	}
	return i + 1, l.toks[i].Depth + 1, true
}

// beforeOrder returns a token of a SELECT behind which the first ORDER BY at its depth, or at that of a
// bracket around it, is its own.
func (l sortLocator) beforeOrder(sel *pg.SelectStmt) (i, depth int, ok bool) {
	if sel.Op > pg.SetOperation_SETOP_NONE {
		i, depth, ok = l.beforeOrder(sel.Rarg)
		if ok && len(sel.Rarg.SortClause) > 0 {
			i, depth, ok = l.order(i, depth)
		}
		return i, depth, ok
	}
	switch {
	case len(sel.TargetList) > 0:
		i = l.toks.IndexAt(int(sel.TargetList[0].GetResTarget().GetLocation()) - l.base)
	case len(sel.ValuesLists) > 0:
		i = l.toks.IndexAt(int(pgtree.FirstLocation(sel.ValuesLists[0])) - l.base)
		for l.toks.Kind(i) != pg.Token_VALUES && i >= 0 {
			i--
		}
	default:
		i = -1
	}
	if i < 0 {
		return 0, 0, false
	}
	return i, l.toks[i].Depth, true
}

// order returns the first token behind the next ORDER BY from a token on, and its depth, which is less
// behind closing brackets.
func (l sortLocator) order(i, depth int) (first, at int, ok bool) {
	for {
		end := l.toks.EndOfSelect(i, depth)
		if found := l.toks.Keyword(pg.Token_ORDER, i, end, depth); found >= 0 {
			return found + 2, depth, true
		}
		if l.toks.Kind(end) != lex.CloseParen || l.toks[end].Depth != depth-1 {
			return 0, 0, false
		}
		i, depth = end+1, depth-1
	}
}

// nullsLast returns the edits that give the items of a sorting their NULLs last, behind DESC; ok is false
// where they were not found.
func (l sortLocator) nullsLast(s sorting) (out []edit, ok bool) {
	i, depth, ok := s.from(l)
	if ok {
		i, depth, ok = l.order(i, depth)
	}
	if !ok {
		return nil, false
	}
	for item := range s.by {
		next := l.toks.Keyword(lex.Comma, i, l.toks.EndOfSelect(i, depth), depth)
		if next < 0 {
			next = l.toks.EndOfSelect(i, depth)
		}
		if slices.Contains(s.last, item) {
			desc := l.toks.Keyword(pg.Token_DESC, i, next, depth)
			if desc < 0 {
				return nil, false
			}
			end := l.toks[desc].End
			out = append(out, edit{Span: Span{end, end}, before: " NULLS LAST", block: -1})
		}
		i = next + 1
	}
	return out, true
}

// edits returns the edits of all sortings, none in text that is replaced, and the items that they
// change, each once. Where one is not found, the statement is refused at a place.
func (a sorter) edits(replaced []edit, at int) (out []edit, items []*pg.SortBy, err *pgerr.Error) {
	for _, s := range a.sorts {
		edits, ok := sortLocator{a.l}.nullsLast(s)
		if !ok {
			return nil, nil, a.l.internal(at)
		}
		for k, e := range edits {
			by := s.by[s.last[k]].GetSortBy()
			if covered(replaced, e.Start-1) || slices.Contains(items, by) {
				continue
			}
			out, items = append(out, e), append(items, by)
		}
	}
	return out, items, nil
}
