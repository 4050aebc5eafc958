package core

import "slices"

// A Type is derived of a relation by [Check].
type Type struct {
	// Cols are the columns that can be named. Facts and dependencies may be of others, which rows had below a Group: they are those of
	// one of the rows of the group.
	Cols Set
	// Row are the columns that tell all rows apart.
	Row     Set
	Spelled Set
	Facts   Facts
	Deps    []Dep
	// Unit identifies the unit of each row; 0 if the rows are public.
	Unit Col
	// Rows are at most so many of a unit; 0 if that is not known.
	Rows int64
	// Loose are the rows of reference tables that nothing looks up yet.
	Loose []Loose
}

// A Loose is a row of a reference table, with its keys and the rows that it refers to itself.
type Loose struct{ Keys, Refers []Key }

// classes are columns that are equal on every row. The parents are roots, or lead to one.
type classes map[Col]Col

func (c classes) find(x Col) Col {
	for c[x] != 0 {
		x = c[x]
	}
	return x
}

func (c classes) same(a, b Col) bool { return c.find(a) == c.find(b) }

// merge reports whether it made a difference.
func (c classes) merge(a, b Col) bool {
	a, b = c.find(a), c.find(b)
	if a != b {
		c[a] = b
	}
	return a != b
}

// closed are facts with all that follows from them.
type closed struct {
	classes classes
	Facts
}

// close adds all consequences: facts of rows that have a value where one is proved, and that two looks at one row see the same.
func (f Facts) close() closed {
	c := closed{classes{}, Facts{Fixed: f.Fixed, Valued: f.Valued}}
	c.take(f)
	for again := true; again; {
		again = false
		for i, g := range c.Given {
			if g.If.Meets(c.Valued) {
				c.Given = slices.Delete(slices.Clone(c.Given), i, i+1)
				c.take(g.Says)
				again = true
				break
			}
		}
		for i, l := range c.Looks {
			for _, r := range c.Looks[:i] {
				again = c.looked(l, r) || again
			}
		}
	}
	return c
}

// take adds facts.
func (c *closed) take(f Facts) {
	c.Fixed, c.Valued = c.Fixed.Or(f.Fixed), c.Valued.Or(f.Valued)
	c.Looks, c.Given = append(slices.Clip(c.Looks), f.Looks...), append(slices.Clip(c.Given), f.Given...)
	c.Refers = append(slices.Clip(c.Refers), f.Refers...)
	for _, p := range f.Equal {
		c.equate(p)
	}
}

// equate adds a pair, and reports whether it made a difference.
func (c *closed) equate(p Pair) bool {
	if slices.Contains(c.Equal, p) {
		return false
	}
	c.Equal = append(slices.Clip(c.Equal), p)
	c.Valued = c.Valued.Or(Of(p.A, p.B))
	c.classes.merge(p.A, p.B)
	return true
}

// looked makes identical what two looks see at one row, and reports whether it made a difference.
func (c *closed) looked(l, r Look) (more bool) {
	if !c.sameRow(l.Key, r.Key) {
		return false
	}
	for name, a := range l.Gives {
		if b := r.Gives[name]; b != 0 && a != b && (c.Valued.Has(a) || c.Valued.Has(b)) {
			more = c.equate(Pair{min(a, b), max(a, b), true}) || more
		}
	}
	return more
}

// sameRow reports whether two keys are of one row.
func (c *closed) sameRow(a, b Key) bool {
	if a.Of != b.Of {
		return false
	}
	for i := range a.Cols {
		if !c.classes.same(a.Cols[i], b.Cols[i]) || !c.Valued.Has(a.Cols[i]) {
			return false
		}
	}
	return true
}

// deps are the dependencies that facts are.
func (c *closed) deps() (list []Dep) {
	for _, p := range c.Equal {
		if p.Identical {
			list = append(list, Dep{Of(p.A), Of(p.B)}, Dep{Of(p.B), Of(p.A)})
		}
	}
	return append(list, Dep{nil, c.Fixed})
}

// Equal reports whether two columns are equal on every row.
func (t Type) Equal(a, b Col) bool {
	c := t.Facts.close()
	return c.classes.same(a, b)
}

// Closure returns all columns that the set determines.
func (t Type) Closure(s Set) Set {
	c := t.Facts.close()
	all := append(c.deps(), t.Deps...)
	for again := true; again; {
		again = false
		for _, d := range all {
			if d.From.In(s) && !d.To.In(s) {
				s, again = s.Or(d.To), true
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
