package core

import (
	"errors"
	"slices"
)

// The errors of [Judge.Check].
var (
	ErrUnits = errors.New("rows of different units would be joined")
	ErrGroup = errors.New("a group can hold rows of several units")
	ErrScope = errors.New("a column of no input")
	ErrFresh = errors.New("a column that two operators make, or none where rows need one")
	ErrLoose = errors.New("a row of a reference table that nothing looks up")
	ErrSpell = errors.New("rows are grouped by values that can be equal and look different")
)

var errUnknown = errors.New("an unknown operator")

// A Judge derives the type of each relation once.
type Judge struct {
	// Spend counts the steps of all that is derived, and of what its types are asked; nil: nobody counts. If it returns an error it must
	// do so from then on: [Judge.Check] returns that error, and types no longer say all that follows.
	Spend func(steps int) error

	types map[Rel]*judged
}

type judged struct {
	Type
	err error
}

// Check derives the type of a relation, or refuses the relation. A relation with loose rows is not refused: a join above it can look them
// up. If the error is ErrUnits or ErrLoose and the relation a join, the type is returned all the same; its facts and dependencies hold of
// the joined rows, whatever their units.
func (j *Judge) Check(r Rel) (Type, error) {
	if known, ok := j.types[r]; ok {
		return known.Type, known.err
	}
	t, err := j.derive(r)
	if err == nil && len(t.Row) == 0 {
		err = ErrFresh
	}
	if j.Spend != nil {
		if spent := j.Spend(1); spent != nil {
			err = spent
		}
	}
	if j.types == nil {
		j.types = map[Rel]*judged{}
	}
	j.types[r] = &judged{t, err}
	return t, err
}

// derive is the induction.
func (j *Judge) derive(r Rel) (Type, error) {
	switch r := r.(type) {
	case *Scan:
		return j.scan(r), Of(r.Unit).But(Of(r.Cols...)).makes(r.Cols, r.Row)
	case *Values:
		return Type{
			Cols: Of(r.Cols...), Row: Of(r.Row), Spelled: r.Spelled, closed: j.knowing(Facts{Valued: r.Valued.Or(Of(r.Row))}),
			Deps: []Dep{{Of(r.Row), Of(r.Cols...)}},
		}, Set(nil).makes(r.Cols, r.Row)
	case *Filter: // loose rows may be filtered: the same of them remain in D, D⁻ and Dₓ
		return above(r.If, filter)(j.Check(r.In))
	case *Map:
		return above(r, mapped)(j.tight(r.In))
	case *Join:
		return j.join(r)
	case *Group:
		return above(r, group)(j.tight(r.In))
	case *Rank:
		return above(r, ranked)(j.tight(r.In))
	case *Union:
		return j.union(r)
	case *Unnest:
		return above(r, unnest)(j.tight(r.In))
	case *Cap:
		return above(r, capped)(j.tight(r.In))
	}
	return Type{}, errUnknown
}

// above derives the type of an operator over one relation.
func above[R any](r R, derive func(Type, R) (Type, error)) func(Type, error) (Type, error) {
	return func(in Type, err error) (Type, error) {
		out, also := derive(in, r)
		if err == nil {
			err = also
		}
		return out, err
	}
}

// tight checks a relation, and refuses loose rows.
func (j *Judge) tight(r Rel) (Type, error) {
	t, err := j.Check(r)
	if err == nil && len(t.Loose) > 0 {
		err = ErrLoose
	}
	return t, err
}

// scan: the catalogue proves that each row of a protected table belongs to one unit. The Scan says what it proves of the path to the unit,
// of keys and of references. Rows of a reference table are the same in D, D⁻ and Dₓ.
func (j *Judge) scan(r *Scan) Type {
	t := Type{closed: closed{spend: j.Spend}, Cols: Of(r.Cols...).Or(Of(r.Unit, r.Row)), Row: Of(r.Row), Unit: r.Unit, Spelled: r.Spelled}
	says := r.Says.with(Facts{Valued: Of(r.Unit, r.Row)})
	t.Deps = slices.Concat(r.Deps, []Dep{{Of(r.Row), t.Cols}})
	for _, k := range r.Keys {
		t.Deps = append(t.Deps, Dep{k, t.Cols})
	}
	switch {
	case r.Reference:
		loose := Loose{Refers: says.Refers}
		for _, l := range says.Looks {
			if Of(l.Cols...).isOneOf(r.Keys) {
				loose.Keys = append(loose.Keys, l.Key)
			}
		}
		says.Refers, t.Loose = nil, []Loose{loose}
	case r.Unit == 0: // only rows of a unit can look rows up
		says.Refers = nil
	}
	return t.Where(says).counted()
}

// counted sets Rows to 1 if no unit can have two rows.
func (t Type) counted() Type {
	if t.Unique(nil) {
		t.Rows = 1
	}
	return t
}

// filter: a condition is a function of the row, so it keeps the same rows of x in D and in Dₓ, and the same other rows in D and in D⁻. All
// rows that are kept meet it.
func filter(t Type, conds []Condition) (Type, error) {
	for _, c := range conds {
		if !c.Cols.In(t.Cols) {
			return t, ErrScope
		}
	}
	t.Deps = slices.Concat(t.Deps, telling(conds))
	return t.Where(saying(conds)).counted(), nil
}

// with returns the facts of both.
func (f Facts) with(g Facts) Facts {
	return Facts{
		Equal: slices.Concat(f.Equal, g.Equal), Fixed: f.Fixed.Or(g.Fixed), Valued: f.Valued.Or(g.Valued),
		Looks: slices.Concat(f.Looks, g.Looks), Refers: slices.Concat(f.Refers, g.Refers), Given: slices.Concat(f.Given, g.Given),
	}
}

// makes refuses columns and a row that an operator makes over the columns s, if one of them is in s or is made twice.
func (s Set) makes(cols []Col, row Col) error {
	made := Of(cols...)
	if made.size() < len(cols) || made.Has(row) || made.Meets(s) || s.Has(row) {
		return ErrFresh
	}
	return nil
}

// mapped: a computed column is a function of its row and of windows. All rows of a window belong to one unit, so the value is the same
// without the other units.
func mapped(t Type, r *Map) (Type, error) {
	t.spent(len(t.Deps) / few)
	t.Deps = slices.Clip(t.Deps)
	for _, d := range r.Defs {
		if err := t.defines(d); err != nil {
			return t, err
		}
		for _, by := range d.Over {
			if t.Unit != 0 && !t.oneUnit(by) {
				return t, ErrGroup
			}
		}
		t = t.computed(d)
	}
	return t, nil
}

// defines refuses a column that already exists, and an expression that uses a column that does not.
func (t Type) defines(d Def) error {
	switch all := t.Cols.Or(t.Row); {
	case d.Out == 0 || all.Has(d.Out):
		return ErrFresh
	case !d.Cols.In(all) || d.Same != 0 && !all.Has(d.Same):
		return ErrScope
	}
	for _, by := range d.Over {
		if !by.In(t.Cols) {
			return ErrScope
		}
	}
	return nil
}

// computed adds a column. It appends to the dependencies in their place.
func (t Type) computed(d Def) Type {
	out, says := Of(d.Out), Facts{}
	t.spent(len(t.Cols) / few)
	t.Cols, t.Deps = t.Cols.Or(out), append(t.Deps, Dep{t.Row, out})
	if d.Spelled || t.Spelled.Has(d.Same) {
		t.Spelled = t.Spelled.Or(out)
	}
	if d.Valued {
		says.Valued = out
	}
	if !d.Free {
		t.Deps = append(t.Deps, Dep{d.Cols, out})
	}
	if d.Same != 0 {
		same := Facts{Equal: []Pair{{d.Out, d.Same, true}}}
		says.Given = []Given{{Of(d.Out, d.Same), same}}
		t.Deps = append(t.Deps, Dep{out, Of(d.Same)})
	}
	return t.Where(says)
}

// group: the rows of a group belong to one unit, since the keys determine the unit or rows are grouped by it. So the groups of a unit
// depend on its rows alone. The values of the keys and the unit in a group are the values in each of its rows, as spelled columns are
// refused. So the facts that hold of every row hold of every group.
func group(t Type, r *Group) (Type, error) {
	if !r.Keys.In(t.Cols) {
		return t, ErrScope
	}
	if err := t.Cols.Or(t.Row).makes(nil, r.Row); err != nil {
		return t, err
	}
	if r.Keys.Or(Of(t.Unit)).Meets(t.Spelled) {
		return t, ErrSpell
	}
	if t.Unit != 0 && !r.ByUnit && !t.oneUnit(r.Keys) {
		return t, ErrGroup
	}
	out := Type{Unit: t.Unit, Rows: t.Rows, Row: Of(r.Row), Cols: r.Keys.Or(Of(t.Unit, r.Row)), Spelled: t.Spelled}
	out.closed = t.and(Facts{Valued: Of(r.Row)})
	out.Deps = slices.Clone(t.Deps)
	by := r.Keys
	if r.ByUnit {
		by = by.Or(Of(t.Unit))
	}
	out.Deps = append(out.Deps, Dep{by, Of(r.Row)}, Dep{Of(r.Row), t.Cols.Or(t.Row)})
	for _, a := range r.Aggs {
		if a.Same = 0; t.defines(a) != nil || out.defines(Def{Out: a.Out}) != nil {
			return out, ErrScope
		}
		a.Free = true
		out = out.computed(a)
	}
	return out.counted(), nil
}

// oneUnit reports whether rows that agree in columns belong to one unit: the unit is equal to one of the columns, or follows from them.
func (t Type) oneUnit(by Set) bool {
	for c := range by.All() {
		if t.Equal(c, t.Unit) {
			return true
		}
	}
	return !by.empty() && t.Closure(by).Has(t.Unit)
}

// ranked: rows are numbered within one unit, so the numbers are the same without the other units.
func ranked(t Type, r *Rank) (Type, error) {
	number := Def{Out: r.Out, Cols: r.By, Free: true, Valued: true}
	if err := t.defines(number); err != nil {
		return t, err
	}
	t.Deps = slices.Clip(t.Deps)
	t = t.computed(number)
	t.Deps = append(t.Deps, Dep{r.By.Or(Of(t.Unit, r.Out)), t.Row})
	return t, nil
}

// union: the rows of a unit are its rows on both sides.
func (j *Judge) union(r *Union) (Type, error) {
	l, err := j.tight(r.L)
	if err != nil {
		return l, err
	}
	also, err := j.tight(r.R)
	if err != nil {
		return also, err
	}
	switch {
	case (l.Unit == 0) != (also.Unit == 0):
		return l, ErrUnits
	case len(r.Left) != len(r.Out) || len(r.Also) != len(r.Out), !Of(r.Left...).In(l.Cols), !Of(r.Also...).In(also.Cols):
		return l, ErrScope
	}
	for _, side := range []Type{l, also} {
		if err := side.Cols.Or(side.Row).makes(r.Out, r.Row); err != nil {
			return l, err
		}
	}
	out := Type{Cols: Of(r.Out...).Or(Of(r.Row)), Row: Of(r.Row), Deps: []Dep{{Of(r.Row), Of(r.Out...)}}}
	says := Facts{Valued: Of(r.Row)}
	for i, c := range r.Out {
		a, b := r.Left[i], r.Also[i]
		if l.Valued(a) && also.Valued(b) {
			says.Valued = says.Valued.Or(Of(c))
		}
		if l.Spelled.Has(a) || also.Spelled.Has(b) {
			out.Spelled = out.Spelled.Or(Of(c))
		}
		switch {
		case l.Unit == 0 || !l.Equal(a, l.Unit) || !also.Equal(b, also.Unit):
		case out.Unit == 0:
			out.Unit = c
		default:
			says.Equal = append(says.Equal, Pair{c, out.Unit, !out.Spelled.Meets(Of(c, out.Unit))})
		}
	}
	for i, c := range r.Out {
		if out.Unit != 0 && l.Identifies(r.Left[i]) && also.Identifies(r.Also[i]) {
			says.Given = append(says.Given, Given{Of(c), Facts{Equal: []Pair{{c, out.Unit, false}}}})
		}
	}
	for _, look := range r.looks(l, also) {
		says.Looks = append(says.Looks, look)
		if key := Of(look.Cols...); key.In(says.Valued) {
			out.Deps = append(out.Deps, Dep{key, look.gives()})
		}
	}
	out.closed = j.knowing(says)
	if l.Unit != 0 && out.Unit == 0 {
		return out, ErrUnits
	}
	if n := l.Rows + also.Rows; l.Rows > 0 && also.Rows > 0 && n > 0 {
		out.Rows = n
	}
	return out, nil
}

// looks returns the looks of the union: both sides look up a row of the same table, with keys and values in the same columns of Out.
func (r *Union) looks(l, also Type) (list []Look) {
	for _, a := range l.Looks {
		for _, b := range also.Looks {
			if a.Of != b.Of || l.spent(len(r.Out)*(len(a.Cols)+len(a.Gives))/few) {
				continue
			}
			both := Look{Key: Key{Of: a.Of}, Gives: map[string]Col{}}
			for i := range a.Cols {
				both.Cols = append(both.Cols, r.column(func(x, y Col) bool {
					return l.Equal(x, a.Cols[i]) && also.Equal(y, b.Cols[i])
				}))
			}
			for name := range a.Gives {
				if c := r.column(func(x, y Col) bool { return x == a.Gives[name] && y == b.Gives[name] }); c != 0 {
					both.Gives[name] = c
				}
			}
			if !slices.Contains(both.Cols, 0) && len(both.Gives) > 0 {
				list = append(list, both)
			}
		}
	}
	return list
}

// column returns the first column of Out for whose left and right columns a predicate holds, or 0.
func (r *Union) column(holds func(l, also Col) bool) Col {
	for i, c := range r.Out {
		if holds(r.Left[i], r.Also[i]) {
			return c
		}
	}
	return 0
}

// unnest: the elements of a row belong to the unit of the row.
func unnest(t Type, r *Unnest) (Type, error) {
	array := r.Array
	array.Free, array.Same, array.Valued = true, 0, array.Valued && !r.Outer
	if err := t.defines(array); err != nil {
		return t, err
	}
	if err := t.Cols.Or(t.Row).makes([]Col{array.Out, r.Row}, 0); err != nil {
		return t, err
	}
	t.Rows = times(t.Rows, r.Most)
	t.Row, t.Cols, t.Deps = t.Row.Or(Of(r.Row)), t.Cols.Or(Of(r.Row)), slices.Clip(t.Deps)
	return t.computed(array), nil
}

// capped: the choice of rows depends on the rows of their unit alone.
func capped(t Type, r *Cap) (Type, error) {
	if t.Unit != 0 && (t.Rows == 0 || t.Rows > r.Rows) {
		t.Rows = r.Rows
	}
	return t, nil
}
