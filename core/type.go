package core

import "slices"

// A Type is the type of a relation, derived by [Judge.Check].
type Type struct {
	// Cols are the columns that can be named. Facts and dependencies can mention others: columns of the rows below a Group, with the values
	// of one row of the group.
	Cols Set
	// No two rows agree in all columns of Row.
	Row     Set
	Spelled Set
	// The embedded facts hold of each row.
	closed
	Deps []Dep
	// Unit identifies the unit of each row; it is 0 if the relation is public.
	Unit Col
	// A unit has at most Rows rows; 0 is no bound.
	Rows int64
	// Loose are the rows of reference tables that no join has looked up yet.
	Loose []Loose
}

// Where returns the type of the rows for which facts hold.
func (t Type) Where(f Facts) Type {
	t.closed = t.and(f)
	return t
}

// A Loose is a row of a reference table: its keys, and the keys by which it refers to other rows.
type Loose struct{ Keys, Refers []Key }

// Equal reports whether two columns are equal on every row.
func (t Type) Equal(a, b Col) bool { return t.classes.same(a, b) }

// Valued reports whether a column is never NULL.
func (t Type) Valued(c Col) bool { return t.Facts.Valued.Has(c) }

// Identifies reports whether a column equals the unit on each row on which it is not NULL.
func (t Type) Identifies(c Col) bool {
	return t.Unit != 0 && (t.Equal(c, t.Unit) || t.and(Facts{Valued: Of(c)}).classes.same(c, t.Unit))
}

// Closure returns all columns that s determines.
func (t Type) Closure(s Set) Set {
	s = slices.Clone(s).add(t.Fixed)
	for again := true; again; {
		if again = false; t.spent((len(t.Deps) + len(t.Facts.Equal)) * (1 + len(s)/few)) {
			break
		}
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

// PerUnit returns the columns that s determines among the rows of one unit.
func (t Type) PerUnit(s Set) Set {
	if t.Unit != 0 && !t.Spelled.Has(t.Unit) {
		s = s.Or(Of(t.Unit))
	}
	return t.Closure(s)
}

// Unique reports whether a unit has at most one row for each combination of values of s. It is false of public relations.
func (t Type) Unique(s Set) bool { return t.Unit != 0 && t.Row.In(t.PerUnit(s)) }
