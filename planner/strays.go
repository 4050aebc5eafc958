package planner

import (
	"fmt"
	"slices"

	"dpproxy/planner/scalar"
)

// A stray is rows that an answer does not have as they are: a column from which a key or a condition is computed has a value there that the
// policy does not declare. Strays follow from the statement, the policy and the schema; whether such rows exist is not known.
type stray struct {
	use scalar.Use
	as  strayAs
}

// strayAs is what happens to such rows in an answer.
type strayAs int

const (
	inNoGroup strayAs = iota
	perhapsInNone
	inNoMode
	perhapsInNoMode
	notCounted
	atTheEnd // they count with the nearer bound as their value
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

// beyond names the values of the rows, in the words for clamped values of a column.
func (s stray) beyond() string {
	c := s.use.Column
	if c == nil || c.Bounds == nil || c.Values != nil && !s.use.Brought {
		return ""
	}
	return fmt.Sprintf("%s beyond [%s, %s]", c.Shown(), c.Bounds.LowText, c.Bounds.HighText)
}

// String says what happens to the rows.
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
	case notCounted:
		return s.which() + " do not count"
	case atTheEnd:
	}
	if s.use.Column != nil && s.use.Column.Untold {
		return s.which() + " count as if it were the nearest one declared"
	}
	return s.which() + " count as if it were the nearer end of that"
}

// straysOf returns the strays of a block, each column once.
func straysOf(b *BlockPlan) (all []stray) {
	for _, g := range b.Sets {
		all = withStrays(all, g.strays)
	}
	return withStrays(all, b.strays)
}

// withStrays adds strays. For the same rows the smaller strayAs counts: rows that are in no group by a key are in no group at all.
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

// strays returns the strays of the keys of a grouping set, each column once. lists are the public values of the keys, or nil if they are
// private.
func (sp *specializer) strays(set []int, lists []*list) (all []stray) {
	for _, f := range sp.b.factors {
		if !slices.ContainsFunc(f.keys, func(k int) bool { return slices.Contains(set, k) }) {
			continue
		}
		for _, c := range f.declared {
			all = withStrays(all, sp.replaced(replacement{
				expr: &scalar.Ref{Column: c}, where: sp.b.source.AllConjuncts(), private: lists == nil,
				none: inNoGroup, perhaps: perhapsInNone,
			}))
		}
	}
	for _, c := range sp.sharedDeclared(set) {
		all = withStrays(all, sp.replaced(replacement{
			expr: &scalar.Ref{Column: c}, where: sp.b.source.AllConjuncts(), private: lists == nil, none: inNoGroup, perhaps: perhapsInNone,
		}))
	}
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

// sharedDeclared returns the columns whose declared values are conditions on public rows that keys share with other columns.
func (sp *specializer) sharedDeclared(set []int) (declared []*scalar.Column) {
	for _, i := range set {
		cols := slices.DeleteFunc(sp.b.keys[i].expr.Columns(), func(c *scalar.Column) bool { return !sp.b.source.ShowsPublic(c) })
		if sp.b.inFactor(i) || len(cols) == 0 {
			continue
		}
		w := &scalar.Writer{Env: sp.env, Fold: parameter}
		if part, ok, err := sp.b.source.PublicPart(w, sp.b.constants.Inlined(true), cols); ok && err == nil {
			declared = append(declared, part.Declared...)
		}
	}
	return declared
}

// ofModes returns the strays of the values among which modes are chosen. Postgres ignores NULL in modes too.
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

// ofConditions returns the strays of all conditions of the block, including joins and filters, and of everything else that decides which
// rows count.
func (sp *specializer) ofConditions() (all []stray) {
	where := sp.b.source.AllConjuncts()
	look := func(list ...scalar.Expr) {
		for _, e := range list {
			if e == nil {
				continue
			}
			for _, u := range scalar.Uses(sp.env, e) {
				if u.Brought && !proved(u) && !sp.confined(u, where) {
					all = withStrays(all, []stray{{use: u, as: atTheEnd}})
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

// A replacement is an expression whose values are replaced by public values, or, if it is private, by values within bounds.
type replacement struct {
	expr    scalar.Expr
	where   []scalar.Expr // conditions on its rows
	values  []*string
	null    bool // NULL is one of the values
	private bool
	// none and perhaps are what happens to rows that surely have none of the values, and to rows that can have none of them.
	none, perhaps strayAs
}

// replaced returns the strays of a replacement. Without any values no row counts.
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
			all = append(all, stray{use: u, as: atEnd})
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
		all = append(all, stray{use: u, as: as})
	}
	return all
}

// escaping returns the uses whose strays can have a value of the expression that is not among the values of the replacement.
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

// confined reports whether the statement itself excludes the strays of a use.
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

// proved reports whether constraints of the database prove that a use has no strays.
func proved(u scalar.Use) bool {
	switch {
	case u.Column == nil:
		return false
	case u.Column.Values != nil && !u.Brought:
		return u.Column.Only
	}
	return u.Column.Within
}

// valuesOf returns the public values of a key, and whether NULL is one of them.
func valuesOf(lists []*list, key int) (values []*string, null bool) {
	for _, l := range lists {
		if i := slices.Index(l.keys, key); i >= 0 {
			return l.elements[i], l.null[i]
		}
	}
	return nil, false
}
