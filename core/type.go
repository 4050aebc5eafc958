package core

import "slices"

// A Type is derived of a relation by [Judge.Check].
type Type struct {
	// Cols are the columns that can be named. Facts and dependencies may be of others, which rows had below a Group: they are those of
	// one of the rows of the group.
	Cols Set
	// Row are the columns that tell all rows apart.
	Row     Set
	Spelled Set
	// The facts are those of each row, with all that follows from them.
	closed
	Deps []Dep
	// Unit identifies the unit of each row; 0 if the rows are public.
	Unit Col
	// Rows are at most so many of a unit; 0 if that is not known.
	Rows int64
	// Loose are the rows of reference tables that nothing looks up yet.
	Loose []Loose
}

// Where returns the type of the rows of which facts hold.
func (t Type) Where(f Facts) Type {
	t.closed = t.and(f)
	return t
}

// A Loose is a row of a reference table, with its keys and the rows that it refers to itself.
type Loose struct{ Keys, Refers []Key }

// Equal reports whether two columns are equal on every row.
func (t Type) Equal(a, b Col) bool { return t.classes.same(a, b) }

// Valued reports whether a column is not NULL on any row.
func (t Type) Valued(c Col) bool { return t.Facts.Valued.Has(c) }

// Identifies reports whether a column is equal to the unit on each row on which it is not NULL.
func (t Type) Identifies(c Col) bool {
	return t.Unit != 0 && (t.Equal(c, t.Unit) || t.and(Facts{Valued: Of(c)}).classes.same(c, t.Unit))
}

// Closure returns all columns that the set determines.
func (t Type) Closure(s Set) Set {
	s = slices.Clone(s).add(t.Fixed)
	for again := true; again; {
		again = false
		for _, d := range t.Deps {
			if d.From.In(s) && !d.To.In(s) {
				s, again = s.add(d.To), true
			}
		}
		for _, p := range t.Facts.Equal {
			if p.Identical && s.Has(p.A) != s.Has(p.B) {
				s, again = s.with(p.A).with(p.B), true
			}
		}
	}
	return s
}

// PerUnit returns the columns that are identical in all rows of a unit that are identical in the columns given.
func (t Type) PerUnit(s Set) Set {
	if t.Unit != 0 && !t.Spelled.Has(t.Unit) {
		s = s.Or(Of(t.Unit))
	}
	return t.Closure(s)
}

// Unique reports whether a unit has at most one row which has the same values in the columns given.
func (t Type) Unique(s Set) bool { return t.Unit != 0 && t.Row.In(t.PerUnit(s)) }
