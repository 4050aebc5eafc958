package scalar

import (
	"slices"

	"dpproxy/planner/pgtype"
)

// A column of a public table has public values: the least and the greatest of them are bounds. The mirror tells them
// beside the constants. They are no fact about the protected database, whose table may have changed since it was
// copied: values are brought into them there, as into bounds of the policy.

// AddExtent has the mirror tell the least and the greatest value of a column of a public table, which from writes.
func (c *Constants) AddExtent(col *Column, from string, at int) {
	t := col.Type.Unmodified()
	t.Array = true
	sql := "(SELECT ARRAY[pg_catalog.min(" + col.SQL + "), pg_catalog.max(" + col.SQL + ")] FROM " + from + ")"
	col.Extent = &constant{node{typ: t, at: at}, c.Add(Fold{SQL: sql, Type: t, At: at})}
}

// HasExtent reports whether a type has values of which there is a least and a greatest one that can be bounds.
func HasExtent(t pgtype.Type) bool { return !t.Array && !t.Named() && (t.Number() || t.Dated()) }

// A BoundsSearch finds the columns of tables whose bounds an expression may need.
type BoundsSearch struct {
	found func(c *Column, at int)
	seen  map[searched]bool
}

type searched struct {
	column *Column
	needed bool
}

// NewBoundsSearch tells of each column that is found, perhaps more than once.
func NewBoundsSearch(found func(c *Column, at int)) *BoundsSearch {
	return &BoundsSearch{found, map[searched]bool{}}
}

// Of searches an expression. needed says that its own values need bounds, as arguments of most operators do, and others than
// those that are compared or counted.
func (s *BoundsSearch) Of(e Expr, needed bool) { s.search(e, needed, "") }

// search is Of below a choice of that kind with a constant beside: GREATEST in LEAST bounds all by itself.
func (s *BoundsSearch) search(e Expr, needed bool, below choiceKind) {
	switch e := e.(type) {
	case nil, *Query, *term, *constant:
	case *Ref:
		s.column(e, needed)
	case *call:
		s.all(e.args, !e.fn.tests())
	case *cast:
		widens := e.typ.Number() && e.x.Type().Number() && e.typ.Family() >= e.x.Type().Family()
		if widens && e.typ.Mod < 0 {
			s.search(e.x, needed, below)
			return
		}
		s.search(e.x, true, "")
	case *logic:
		s.all(e.args, false)
	case *choice:
		s.choice(e, needed, below)
	case *bounded:
		s.search(e.x, false, "")
	case *aggregate:
		s.search(e.x, e.name != "count", "")
		s.search(e.filter, false, "")
		if e.over != nil {
			s.all(e.over.told(), false)
		}
	}
}

func (s *BoundsSearch) all(list []Expr, needed bool) {
	for _, e := range list {
		s.search(e, needed, "")
	}
}

func (s *BoundsSearch) choice(e *choice, needed bool, below choiceKind) {
	s.all(present(e.x), false)
	s.all(e.tests, false)
	kind := choiceKind("")
	if (e.kind == greatest || e.kind == least) && withConstant(e.results) {
		kind = e.kind
	}
	if kind != "" && below != "" && kind != below {
		needed = false
	}
	for _, x := range e.results {
		s.search(x, needed, kind)
	}
}

func withConstant(list []Expr) bool {
	return slices.ContainsFunc(list, isConstant)
}

// column searches what a column of a derived table stands for.
func (s *BoundsSearch) column(e *Ref, needed bool) {
	c, key := e.Column, searched{e.Column, needed}
	if s.seen[key] {
		return
	}
	s.seen[key] = true
	for _, x := range c.Of {
		s.search(x, needed, "")
	}
	if needed && len(c.Of) == 0 && c.Bounds == nil && c.List == nil {
		s.found(c, e.At)
	}
}

// tests reports whether a call compares its arguments, or asks whether they are NULL: they need no bounds.
func (f *function) tests() bool {
	switch f.over {
	case comparison, distinctness, inList, inRange, ofArray, nullTest, truthTest:
		return true
	}
	return false
}
