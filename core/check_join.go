package core

import (
	"math/bits"
	"slices"
)

// join: rows of two protected relations meet only if their units are equal, so that all joined rows are of the unit of the left row, and
// depend on the rows of that unit. If one side is public, it is the same whoever is removed.
//
// Rows of a left side without a match stay, and whether there is a match is a matter of the unit's own rows. The left side must be
// protected then if the right one is: whether a public row has a match would say whether any unit has such a row. So it is with the
// rows that EXISTS, and its negation, keep.
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
		for _, loose := range l.Loose { // it is looked up further up, if at all
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

// Meet returns the facts and dependencies of rows of two relations that meet conditions, whosever they are.
func (t Type) Meet(right Type, on []Condition) Type {
	return Type{
		Cols: t.Cols.Or(right.Cols), Row: t.Row.Or(right.Row), Spelled: t.Spelled.Or(right.Spelled),
		closed: t.and(right.Facts, saying(on)), Deps: slices.Concat(t.Deps, right.Deps),
	}
}

// saying are the facts of conditions.
func saying(list []Condition) (f Facts) {
	for _, c := range list {
		f = f.with(c.Says)
	}
	return f
}

// apart refuses rows of two relations that need not be of one unit where they meet.
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

// lookUp takes away loose rows that rows of the join refer to.
func (t *Type) lookUp() {
	for again := true; again; {
		again = false
		for i, loose := range t.Loose {
			if t.refersTo(loose) {
				t.Loose = slices.Delete(slices.Clone(t.Loose), i, i+1)
				t.Refers = slices.Concat(t.Refers, loose.Refers)
				again = true
				break
			}
		}
	}
}

// refersTo reports whether a row of a unit refers to a row of a reference table.
func (c *closed) refersTo(loose Loose) bool {
	return slices.ContainsFunc(loose.Keys, func(k Key) bool {
		return slices.ContainsFunc(c.Refers, func(by Key) bool { return c.sameRow(k, by) })
	})
}

// extended has the facts of a left join. Facts of a match hold of rows on which any column of the right side has a value. A
// dependency of the right side holds of the rows without a match as well if it is from a column that always has a value
// there; otherwise only if the same is known of whether there is a match, which is a function of the left columns that the conditions
// are about.
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
	for _, d := range said.deps() {
		deps = append(deps, Dep{d.From.Or(needs), d.To})
	}
	out.Deps = slices.Concat(l.Deps, deps)
	return out
}

// joined bounds the rows of a unit.
func joined(kind Kind, l, right, matched Type) int64 {
	switch {
	case l.Unit != 0 && right.Row.In(matched.Closure(l.Row)):
		return l.Rows
	case kind == Inner && right.Unit != 0 && l.Row.In(matched.Closure(right.Row)): // of an outer join rows of l without a match stay
		return right.Rows
	case l.Unit == 0 || right.Unit == 0:
		return 0
	}
	return times(l.Rows, right.Rows)
}

// times multiplies numbers of rows. More than an int64 can hold are not known.
func times(a, b int64) int64 {
	high, n := bits.Mul64(uint64(a), uint64(b))
	if high > 0 || n >= 1<<63 {
		return 0
	}
	return int64(n)
}
