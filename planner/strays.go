package planner

import (
	"fmt"
	"slices"

	"dpproxy/planner/scalar"
)

// A stray says which rows an answer does not have as they are, since a column that a key or a condition is computed of has another value
// there than the policy declares. It follows from the statement, the policy and the schema: nothing tells whether there are such rows.
type stray struct {
	use scalar.Use
	as  strayAs
}

// strayAs is the place of such rows in an answer.
type strayAs int

const (
	inNoGroup strayAs = iota
	perhapsInNone
	inNoMode
	perhapsInNoMode
	atTheEnd // they count as if the nearer bound were their value
)

// which names the rows.
func (s stray) which() string {
	c := s.use.Column
	switch {
	case c == nil:
		b := s.use.Bounded
		return fmt.Sprintf("rows whose %s is outside [%s, %s]", b.Name, b.Bounds.LowText, b.Bounds.HighText)
	case c.Untold:
		return "rows whose " + c.Shown() + " is none that the policy declares"
	case c.Values != nil && !s.use.Brought:
		return fmt.Sprintf("rows whose %s is none of the %d values that the policy declares", c.Shown(), len(c.Values))
	}
	return fmt.Sprintf("rows whose %s is outside [%s, %s]", c.Shown(), c.Bounds.LowText, c.Bounds.HighText)
}

// beyond names values of the rows as those of a column are named that are clamped.
func (s stray) beyond() string {
	c := s.use.Column
	if c == nil || c.Bounds == nil || c.Values != nil && !s.use.Brought {
		return ""
	}
	return fmt.Sprintf("%s beyond [%s, %s]", c.Shown(), c.Bounds.LowText, c.Bounds.HighText)
}

// String says where they are.
func (s stray) String() string {
	switch s.as {
	case inNoGroup:
		return s.which() + " are in no group"
	case perhapsInNone:
		return s.which() + " can be in no group"
	case inNoMode:
		return s.which() + " do not count for mode()"
	case perhapsInNoMode:
		return s.which() + " can be missing from mode()"
	case atTheEnd:
	}
	if s.use.Column != nil && s.use.Column.Untold {
		return s.which() + " count as if it were the nearest one declared"
	}
	return s.which() + " count as if it were the nearer end of that"
}

// straysOf returns those of a block, each column once.
func straysOf(b *BlockPlan) (all []stray) {
	for _, g := range b.Sets {
		all = withStrays(all, g.strays)
	}
	return withStrays(all, b.strays)
}

// withStrays adds strays. Of the same rows the first place in an answer counts: rows that are in no group by one key are in none by any.
func withStrays(all, more []stray) []stray {
	for _, s := range more {
		i := slices.IndexFunc(all, func(o stray) bool { return o.which() == s.which() })
		if i < 0 {
			all = append(all, s)
			continue
		}
		all[i].as = min(all[i].as, s.as)
	}
	return all
}

// strays returns those of the keys of a grouping set, each column once. Lists are the public values of the keys; nil if they are private.
func (sp *specializer) strays(set []int, lists []*list) (all []stray) {
	for _, i := range set {
		e := sp.b.keys[i].expr
		if every(e.Columns(), sp.b.source.ShowsPublic) {
			continue
		}
		key := replacement{expr: e, where: sp.b.source.AllConjuncts(), private: lists == nil, none: inNoGroup, perhaps: perhapsInNone}
		key.values, key.null = valuesOf(lists, i)
		all = withStrays(all, sp.replaced(key))
	}
	return all
}

// ofModes returns those of the values that modes are chosen among. NULL is none of them in Postgres either.
func (sp *specializer) ofModes(outputs []output) (all []stray) {
	for _, o := range outputs {
		mode, ok := o.form.(modeOf)
		if !ok {
			continue
		}
		where := sp.conjuncts
		if mode.filter != nil {
			where = slices.Concat(where, scalar.Conjuncts(mode.filter))
		}
		all = withStrays(all, sp.replaced(replacement{
			expr: mode.arg, where: where, values: o.estimator.(modeEstimator).values, null: true, none: inNoMode, perhaps: perhapsInNoMode,
		}))
	}
	return all
}

// ofConditions returns those of all conditions of the block, of joins and filters too, and of all else that decides which rows count.
func (sp *specializer) ofConditions() (all []stray) {
	where := sp.b.source.AllConjuncts()
	look := func(list ...scalar.Expr) {
		for _, e := range list {
			if e == nil {
				continue
			}
			for _, u := range scalar.Uses(sp.env, e) {
				if u.Brought && !proved(u) && !sp.confined(u, where) {
					all = withStrays(all, []stray{{u, atTheEnd}})
				}
			}
		}
	}
	sp.b.source.Computed(look, func(*scalar.Column) {})
	for _, a := range sp.b.aggregates {
		for _, e := range a.form.overRows() {
			look(scalar.Conditions(e)...)
		}
	}
	return all
}

// A replacement is an expression that has public values in the place of those of its rows, or, where it is private, values within bounds.
type replacement struct {
	expr    scalar.Expr
	where   []scalar.Expr // conditions that its rows meet
	values  []*string
	null    bool // NULL is one of them too
	private bool
	// none and perhaps are the places of rows that surely have, and that can have, none of the values.
	none, perhaps strayAs
}

// replaced returns the strays of a replacement. Where it has no values no row counts as any.
func (sp *specializer) replaced(r replacement) (all []stray) {
	atEnd := atTheEnd
	if !r.private && len(r.values) == 0 && !r.null {
		atEnd = r.perhaps
	}
	var asIs []scalar.Use
	for _, u := range scalar.Uses(sp.env, r.expr) {
		switch {
		case proved(u) || sp.confined(u, r.where):
		case u.Brought:
			all = append(all, stray{u, atEnd})
		default:
			asIs = append(asIs, u)
		}
	}
	if r.private {
		return all
	}
	as := r.none
	if c, plain := scalar.PlainColumn(r.expr); (!plain || len(c.Base().Of) > 0) && scalar.PlainBounded(r.expr) == nil {
		as, asIs = r.perhaps, sp.escaping(r, asIs)
	}
	for _, u := range asIs {
		all = append(all, stray{u, as})
	}
	return all
}

// escaping returns those of some uses by which a row that is astray can have another value than those of the replacement.
func (sp *specializer) escaping(r replacement, uses []scalar.Use) []scalar.Use {
	among := func(uses ...scalar.Use) bool {
		var astray []*scalar.Column
		for _, u := range uses {
			astray = append(astray, u.Column)
		}
		return scalar.Among(sp.env, r.expr, r.where, astray, r.values, r.null)
	}
	if len(uses) == 0 || among(uses...) {
		return nil
	}
	if alone := slices.DeleteFunc(slices.Clone(uses), func(u scalar.Use) bool { return among(u) }); len(alone) > 0 {
		return alone
	}
	return uses
}

// confined reports whether the statement itself leaves out the rows that are astray for a use.
func (sp *specializer) confined(u scalar.Use, where []scalar.Expr) bool {
	if u.Column == nil {
		return false
	}
	if scalar.Confined(sp.env, u, where) {
		return true
	}
	among := func(list scalar.Expr) bool { return scalar.Lists(sp.env, list, u.Column.Values) }
	return u.Column.Values != nil && !u.Brought && slices.ContainsFunc(sp.b.source.ListsOf(u.Column), among)
}

// proved reports whether the database's constraints prove that no row is astray.
func proved(u scalar.Use) bool {
	switch {
	case u.Column == nil:
		return false
	case u.Column.Values != nil && !u.Brought:
		return u.Column.Only
	}
	return u.Column.Within
}

// valuesOf returns the public values of a key, and whether NULL is one.
func valuesOf(lists []*list, key int) (values []*string, null bool) {
	for _, l := range lists {
		if i := slices.Index(l.keys, key); i >= 0 {
			return l.elements[i], l.null[i]
		}
	}
	return nil, false
}
