package scalar

import (
	"slices"

	"dpproxy/planner/pgtype"
)

// The smallest and the largest value of a column of a public table are public, and can serve as bounds. The mirror evaluates them with the
// constants. They are not a fact about the protected database, whose table may have changed since it was copied: values are moved into them
// there, as into declared bounds.

// AddExtent makes the mirror evaluate the smallest and the largest value of a column of a public table, which from
// writes and value reads.
func (c *Constants) AddExtent(col *Column, value, from string, at int) {
	t := col.Type.Unmodified()
	t.Array = true
	sql := "(SELECT ARRAY[pg_catalog.min(" + value + "), pg_catalog.max(" + value + ")] FROM " + from + ")"
	col.Extent = &constant{node{typ: t, at: at}, c.Add(Fold{SQL: sql, Type: t, At: at})}
}

// HasExtent reports whether the smallest and the largest value of a column of a type can be bounds.
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

// NewBoundsSearch returns a search that calls found for each column, perhaps more than once.
func NewBoundsSearch(found func(c *Column, at int)) *BoundsSearch {
	return &BoundsSearch{found, map[searched]bool{}}
}

// Of searches an expression. needed says that its own values need bounds, as most arguments of operators do, and values that are only
// compared or counted do not.
func (s *BoundsSearch) Of(e Expr, needed bool) { s.search(e, needed, "") }

// search is Of below a choice of a kind that has a constant operand: GREATEST within LEAST, each with a constant, bounds everything in it.
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
			s.all(e.over.exprs(), false)
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

// column searches the expressions that define a column of a derived table.
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

// tests reports whether a call compares its arguments or tests them for NULL, so that they need no bounds.
func (f *function) tests() bool {
	switch f.over {
	case comparison, distinctness, inList, inRange, ofArray, nullTest, truthTest:
		return true
	}
	return false
}
