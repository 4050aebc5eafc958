package marks

import (
	"slices"
	"strconv"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
)

func numbered(name string, i int) string { return name + strconv.Itoa(i+1) }

// A level is one SELECT with its FROM items.
type level struct {
	*marker
	outer   []*level
	items   []item
	rows    Mark // of the rows that are aggregated
	groups  Mark // of the rows behind GROUP BY and HAVING
	windows []*pg.Node
}

// An item of FROM has a name and columns.
type item struct {
	name string
	*relation
}

func (l *level) inside() []*level { return append([]*level{l}, l.outer...) }

// plain marks a SELECT that is no set operation.
func (q *marker) plain(sel *pg.SelectStmt, outer []*level) *relation {
	l := &level{marker: q, outer: outer, windows: sel.WindowClause}
	for _, n := range sel.FromClause {
		l.rows = max(l.rows, l.from(n))
	}
	l.rows = max(l.rows, l.expr(sel.WhereClause))
	out := l.targets(sel)
	for _, n := range sel.GroupClause {
		l.rows = max(l.rows, l.grouped(n, out))
	}
	l.groups = max(l.rows, l.expr(sel.HavingClause))
	out = l.targets(sel)
	out.rows = l.cut(sel, out)
	one := pgtree.IsAggregated(sel) && len(sel.GroupClause) == 0 && sel.HavingClause == nil // whatever is aggregated
	if !one {
		out.rows = max(out.rows, l.groups)
	}
	return out
}

// targets marks the SELECT list.
func (l *level) targets(sel *pg.SelectStmt) *relation {
	out := &relation{whole: true}
	for _, n := range sel.TargetList {
		l.target(n.GetResTarget(), out)
	}
	return out
}

// cut is the mark of the rows that DISTINCT, ORDER BY and LIMIT choose.
func (l *level) cut(sel *pg.SelectStmt, out *relation) Mark {
	m := Label
	if pgtree.IsDistinct(sel) {
		m = out.any()
	}
	order := Label
	for _, n := range sel.SortClause {
		order = max(order, l.ordered(n.GetSortBy().GetNode(), out))
	}
	for _, n := range sel.DistinctClause {
		m = max(m, l.ordered(n, out))
	}
	if sel.LimitCount != nil || sel.LimitOffset != nil || pgtree.IsDistinctOn(sel) {
		m = max(m, order, l.expr(sel.LimitCount).computed(), l.expr(sel.LimitOffset).computed())
		if len(sel.SortClause) == 0 {
			m = max(m, l.groups)
		}
	}
	return m
}

// ordered is the mark of an item of ORDER BY or GROUP BY: a position, the name of an output column, or an expression.
func (l *level) ordered(n *pg.Node, out *relation) Mark {
	if i, ok := pgtree.Position(n); ok && i >= 1 && i <= len(out.columns) {
		return out.columns[i-1].mark.computed()
	}
	if name, bare := pgtree.ColumnName(n); bare {
		if i := slices.IndexFunc(out.columns, func(c marked) bool { return c.name == name }); i >= 0 {
			return out.columns[i].mark.computed()
		}
	}
	return l.expr(n)
}

// grouped is the mark of an item of GROUP BY.
func (l *level) grouped(n *pg.Node, out *relation) Mark {
	set := n.GetGroupingSet()
	if set == nil {
		return l.ordered(n, out)
	}
	m := Label
	for _, of := range set.Content {
		m = max(m, l.grouped(of, out))
	}
	return m
}

// target adds the columns of an item of the SELECT list.
func (l *level) target(t *pg.ResTarget, out *relation) {
	ref := t.GetVal().GetColumnRef()
	if !pgtree.IsStar(t.GetVal()) {
		name, _ := pgtree.OutputName(t)
		m := l.expr(t.GetVal())
		if ref != nil {
			m = l.reference(ref)
		}
		out.columns = append(out.columns, marked{name, m})
		return
	}
	if ref == nil { // the columns of a composite value
		*l.known = false
		return
	}
	names, _ := pgtree.Strings(ref.Fields[:len(ref.Fields)-1])
	for _, it := range l.items {
		if len(names) > 0 && it.name != names[len(names)-1] {
			continue
		}
		out.columns = append(out.columns, it.columns...)
		out.whole = out.whole && it.whole
	}
}

// from adds an item of FROM, and returns the mark of its rows.
func (l *level) from(n *pg.Node) Mark {
	switch x := n.Node.(type) {
	case *pg.Node_RangeVar:
		return l.table(x.RangeVar)
	case *pg.Node_RangeSubselect:
		outer := l.outer
		if x.RangeSubselect.Lateral {
			outer = l.inside()
		}
		return l.named(x.RangeSubselect.Alias, l.query(x.RangeSubselect.Subquery.GetSelectStmt(), outer))
	case *pg.Node_RangeFunction:
		return l.function(x.RangeFunction)
	case *pg.Node_JoinExpr:
		return l.join(x.JoinExpr)
	}
	*l.known = false
	return Unknown
}

// table adds a block, a WITH query, or a table without noise, whose columns are not known.
func (l *level) table(r *pg.RangeVar) Mark {
	of, ok := l.marker.named[r.Relname]
	if !ok || r.Schemaname != "" {
		of = &relation{}
	}
	alias := r.Alias
	if alias == nil {
		alias = &pg.Alias{Aliasname: r.Relname}
	}
	return l.named(alias, of)
}

// named adds an item under its alias.
func (l *level) named(alias *pg.Alias, r *relation) Mark {
	names, _ := pgtree.Strings(alias.GetColnames())
	l.items = append(l.items, item{alias.GetAliasname(), r.renamed(names)})
	return r.rows
}

// function adds a function in FROM: its columns and rows have the noise of its arguments.
func (l *level) function(f *pg.RangeFunction) Mark {
	m := Label
	for _, n := range f.Functions {
		m = max(m, l.lateral().expr(n))
	}
	r := &relation{rows: m}
	names, _ := pgtree.Strings(f.Alias.GetColnames())
	for range max(len(names), 1) {
		r.columns = append(r.columns, marked{name: f.Alias.GetAliasname(), mark: m})
	}
	l.named(f.Alias, r)
	return m
}

// lateral is a level whose expressions see the items so far.
func (l *level) lateral() *level { return &level{marker: l.marker, outer: l.inside()} }

// join adds both sides. Which rows there are follows from the condition, and from the columns that USING and NATURAL compare.
func (l *level) join(j *pg.JoinExpr) Mark {
	first := len(l.items)
	m := l.from(j.Larg)
	middle := len(l.items)
	m = max(m, l.from(j.Rarg), l.expr(j.Quals))
	names, _ := pgtree.Strings(j.UsingClause)
	for _, name := range names {
		m = max(m, columnOf(l.items[first:], name).computed())
	}
	if j.IsNatural {
		for _, it := range slices.Concat(l.items[first:middle], l.items[middle:]) {
			m = max(m, it.any())
		}
	}
	if len(names) > 0 || j.IsNatural || j.Alias != nil {
		l.merge(first, names, j)
	}
	return m
}

// merge makes one item of those of a join, with a column for both of each name that USING compares.
func (l *level) merge(first int, names []string, j *pg.JoinExpr) {
	if j.IsNatural {
		*l.known = false
	}
	all := &relation{whole: true}
	for _, name := range names {
		all.columns = append(all.columns, marked{name, columnOf(l.items[first:], name)})
	}
	for _, it := range l.items[first:] {
		all.whole = all.whole && it.whole
		for _, c := range it.columns {
			if !slices.Contains(names, c.name) {
				all.columns = append(all.columns, c)
			}
		}
	}
	if j.Alias != nil {
		l.items = l.items[:first]
		l.named(j.Alias, all)
		return
	}
	*l.known = *l.known && all.whole
	for i, it := range l.items[first:] {
		own := it.relation.renamed(nil)
		own.columns = slices.DeleteFunc(own.columns, func(c marked) bool { return i > 0 && slices.Contains(names, c.name) })
		for k, c := range own.columns {
			if slices.Contains(names, c.name) {
				own.columns[k].mark = columnOf(l.items[first:], c.name)
			}
		}
		l.items[first+i].relation = own
	}
}

// columnOf is the largest mark of the columns of a name.
func columnOf(items []item, name string) Mark {
	m := Label
	for _, it := range items {
		for _, c := range it.columns {
			if c.name == name {
				m = max(m, c.mark)
			}
		}
	}
	return m
}
