package marks

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
)

// expr is the mark of an expression, Label for none.
func (l *level) expr(n *pg.Node) Mark {
	switch x := n.GetNode().(type) {
	case *pg.Node_ColumnRef:
		return l.reference(x.ColumnRef).shown()
	case *pg.Node_SubLink:
		return l.subLink(x.SubLink)
	case *pg.Node_FuncCall:
		return l.call(x.FuncCall, n)
	case *pg.Node_SelectStmt:
		return l.query(x.SelectStmt, l.inside()).any()
	case *pg.Node_TypeCast:
		return l.expr(x.TypeCast.Arg)
	case *pg.Node_AExpr:
		if m, ok := l.arithmetic(x.AExpr); ok {
			return m
		}
	case *pg.Node_CoalesceExpr:
		return l.rising(x.CoalesceExpr.Args)
	}
	m := Label
	pgtree.Children(n, func(of *pg.Node) { m = max(m, l.expr(of).computed()) })
	return m
}

func (l *level) exprs(list []*pg.Node) Mark {
	m := Label
	for _, n := range list {
		m = max(m, l.expr(n).computed())
	}
	return m
}

func (l *level) subLink(s *pg.SubLink) Mark {
	if r := l.query(s.Subselect.GetSelectStmt(), l.inside()); s.SubLinkType == pg.SubLinkType_EXPR_SUBLINK && len(r.columns) == 1 {
		return max(r.columns[0].mark.shown(), r.rows)
	}
	return max(l.query(s.Subselect.GetSelectStmt(), l.inside()).any(), l.expr(s.Testexpr))
}

// call is the mark of a call. An aggregate and a window function also have the noise that decides which rows there are. A function that
// returns another value each time has unknown noise, since rows cannot be told apart by it.
func (l *level) call(f *pg.FuncCall, n *pg.Node) Mark {
	m := max(l.exprs(f.Args), l.exprs(f.AggOrder), l.expr(f.AggFilter))
	if _, name := pgtree.Callee(f); volatile[name] {
		return Unknown
	}
	if f.Over != nil {
		w := l.window(f.Over)
		m = max(m, l.groups, l.exprs(w.PartitionClause), l.exprs(w.OrderClause), l.expr(w.StartOffset), l.expr(w.EndOffset))
		return extreme(f, m)
	}
	if pgtree.IsAggregate(n) {
		return extreme(f, max(m, l.rows))
	}
	if _, name := pgtree.Callee(f); rounds[name] && len(f.Args) > 0 {
		return l.rising(f.Args)
	}
	return m
}

// extreme is the mark of an aggregate of a mark.
func extreme(f *pg.FuncCall, m Mark) Mark {
	switch _, name := pgtree.Callee(f); {
	case m == Noisy && name == "max":
		return Most
	case m == Noisy && name == "min":
		return Least
	}
	return m
}

// volatile are functions of Postgres that return another value each time, and change nothing.
var volatile = map[string]bool{"random": true, "random_normal": true, "clock_timestamp": true, "timeofday": true, "gen_random_uuid": true}

// window returns the window of an OVER clause, with all that the one has that it names.
func (l *level) window(w *pg.WindowDef) *pg.WindowDef {
	name := w.Name
	if name == "" {
		name = w.Refname
	}
	for _, n := range l.windows {
		if of := n.GetWindowDef(); name != "" && of.GetName() == name {
			base := l.window(&pg.WindowDef{
				Refname: of.Refname, PartitionClause: of.PartitionClause, OrderClause: of.OrderClause,
				StartOffset: of.StartOffset, EndOffset: of.EndOffset,
			})
			return &pg.WindowDef{
				PartitionClause: append(append([]*pg.Node(nil), base.PartitionClause...), w.PartitionClause...),
				OrderClause:     append(append([]*pg.Node(nil), base.OrderClause...), w.OrderClause...),
				StartOffset:     either(w.StartOffset, base.StartOffset), EndOffset: either(w.EndOffset, base.EndOffset),
			}
		}
	}
	return w
}

func either(a, b *pg.Node) *pg.Node {
	if a.GetNode() != nil {
		return a
	}
	return b
}

// reference is the mark, as it is, of a column, a whole row or a star, of the nearest level that has it.
func (l *level) reference(ref *pg.ColumnRef) Mark {
	names, plain := pgtree.Strings(ref.Fields)
	for _, at := range l.inside() {
		if m, ok := at.own(names, plain); ok {
			return m
		}
	}
	return Label // of a table whose columns are not known, without noise
}

// own is the mark of a reference to an item of this level.
func (l *level) own(names []string, plain bool) (m Mark, ok bool) {
	switch {
	case len(names) == 0: // a star, as of count(*)
		for _, it := range l.items {
			m = max(m, it.any())
		}
		return m, true
	case plain && len(names) == 1:
		for _, it := range l.items {
			for _, c := range it.columns {
				if c.name == names[0] {
					m, ok = max(m, c.mark), true
				}
			}
		}
		if ok {
			return m, true
		}
	}
	of := names[0]
	if plain && len(names) > 1 {
		of = names[len(names)-2]
	}
	for _, it := range l.items {
		if it.name != of {
			continue
		}
		if plain && len(names) > 1 {
			return columnOf([]item{it}, names[len(names)-1]), true
		}
		return it.any(), true // a whole row
	}
	return Label, false
}
