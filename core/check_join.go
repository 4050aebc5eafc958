package core

import (
	"math/bits"
	"slices"
)

// join: if both sides are protected, rows meet only if their units are equal. So a joined row belongs to the unit of its left row, and
// depends on rows of that unit alone. If one side is public, it is the same in D, D⁻ and Dₓ.
//
// A left join keeps left rows without a match, and semi- and anti-joins keep or drop left rows by their matches. If both sides are
// protected, whether a row has a match depends on rows of its own unit. If the left side is public the right side must be too: otherwise a
// public row would reveal whether any unit has a row that matches.
func (j *Judge) join(r *Join) (Type, error) {
	l, err := j.Check(r.L)
	right, also := j.Check(r.R)
	if err == nil {
		err = also
	}
	switch {
	case err != nil:
	case r.Kind < Inner || r.Kind > Anti:
		err = errUnknown
	case l.Cols.Or(l.Row).Meets(right.Cols.Or(right.Row)):
		err = ErrFresh
	}
	matched := l.Meet(right, r.On)
	for _, c := range r.On {
		if err == nil && !c.Cols.In(matched.Cols) {
			err = ErrScope
		}
	}
	if matched.Loose = slices.Concat(l.Loose, right.Loose); r.Kind != Inner {
		matched.Loose = right.Loose
		for _, loose := range l.Loose { // a join above may look it up
			matched.Refers = slices.Concat(matched.Refers, loose.Refers)
		}
	}
	matched.lookUp()
	if err == nil {
		err = matched.apart(r.Kind, l, right)
	}
	if r.Kind == Semi || r.Kind == Anti {
		return l, err
	}
	out := matched
	if r.Kind == Left {
		if len(l.Loose) > 0 {
			matched.Refers = l.Refers
		}
		out = extended(l, right, matched, r.On)
	}
	if out.Unit = l.Unit; out.Unit == 0 {
		out.Unit = right.Unit
	}
	out.Rows = joined(r.Kind, l, right, matched)
	return out.counted(), err
}

// Meet returns the facts and dependencies of rows of two relations that meet conditions. It compares no units.
func (t Type) Meet(right Type, on []Condition) Type {
	return Type{
		Cols: t.Cols.Or(right.Cols), Row: t.Row.Or(right.Row), Spelled: t.Spelled.Or(right.Spelled),
		closed: t.and(right.Facts, saying(on)), Deps: slices.Concat(t.Deps, right.Deps, telling(on)),
	}
}

// saying returns the facts of conditions.
func saying(list []Condition) (f Facts) {
	for _, c := range list {
		f = f.with(c.Says)
	}
	return f
}

// telling returns the dependencies of conditions.
func telling(list []Condition) (deps []Dep) {
	for _, c := range list {
		deps = append(deps, c.Deps...)
	}
	return deps
}

// apart refuses a join of rows that can be of different units, and a join of another kind than inner if nothing looks up the loose rows of
// its right side.
func (t *Type) apart(kind Kind, l, right Type) error {
	switch {
	case kind != Inner && len(t.Loose) > 0:
		return ErrLoose
	case l.Unit != 0 && right.Unit != 0 && !t.Equal(l.Unit, right.Unit):
		return ErrUnits
	case l.Unit == 0 && right.Unit != 0 && kind != Inner:
		return ErrUnits
	}
	return nil
}

// lookUp removes the loose rows that rows of the join refer to. The rows to which a looked-up row refers can be looked up in turn.
func (t *Type) lookUp() {
	for again := true; again; {
		again = false
		for i, loose := range t.Loose {
			if !t.spent(len(loose.Keys)*len(t.Refers)) && t.refersTo(loose) {
				t.Loose = slices.Delete(slices.Clone(t.Loose), i, i+1)
				t.Refers = slices.Concat(t.Refers, loose.Refers)
				again = true
				break
			}
		}
	}
}

// refersTo reports whether rows of units refer to the loose row by one of its keys.
func (c *closed) refersTo(loose Loose) bool {
	return slices.ContainsFunc(loose.Keys, func(k Key) bool {
		return slices.ContainsFunc(c.Refers, func(by Key) bool { return c.sameRow(k, by) })
	})
}

// extended derives the facts and dependencies of a left join. Facts of the right side and of the conditions hold of each row on which some
// column of the right side is not NULL, since only a match sets it. A dependency From → To of the right side holds of the rows without a
// match too if From has a column that is never NULL on the right side: two rows that agree in it both have a match or both have none.
// Otherwise the left columns of the conditions are added to From, as they determine whether there is a match.
func extended(l, right, matched Type, conds []Condition) Type {
	out := Type{Cols: matched.Cols, Row: matched.Row, Spelled: matched.Spelled, Loose: l.Loose}
	on := saying(conds)
	match := Given{right.Cols.Or(right.Row), right.with(on)}
	out.closed = l.and(Facts{Given: []Given{match}, Looks: right.Looks})
	out.Refers = matched.Refers
	needs := Set{}
	for _, c := range conds {
		needs = needs.Or(c.Cols.But(right.Cols))
	}
	var deps []Dep
	for _, d := range slices.Concat(right.deps(), right.Deps) {
		if d.From.Meets(right.Facts.Valued) {
			deps = append(deps, d)
			continue
		}
		deps = append(deps, Dep{d.From.Or(needs), d.To})
	}
	said := on.close()
	for _, d := range slices.Concat(said.deps(), telling(conds)) {
		deps = append(deps, Dep{d.From.Or(needs), d.To})
	}
	out.Deps = slices.Concat(l.Deps, deps)
	return out
}

// joined bounds the rows of one unit; 0 is no bound.
func joined(kind Kind, l, right, matched Type) int64 {
	switch {
	case l.Unit != 0 && right.Row.In(matched.Closure(l.Row)):
		return l.Rows
	case kind == Inner && right.Unit != 0 && l.Row.In(matched.Closure(right.Row)): // a left join keeps rows of l without a match
		return right.Rows
	case l.Unit == 0 || right.Unit == 0:
		return 0
	}
	return times(l.Rows, right.Rows)
}

// times multiplies bounds of rows. It returns 0, which is no bound, if the product exceeds an int64.
func times(a, b int64) int64 {
	high, n := bits.Mul64(uint64(a), uint64(b))
	if high > 0 || n >= 1<<63 {
		return 0
	}
	return int64(n)
}
