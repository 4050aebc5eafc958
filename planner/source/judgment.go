package source

import (
	"slices"

	"dpproxy/core"
	"dpproxy/pgerr"
	"dpproxy/planner/scalar"
)

// Package core judges the rows of a level: whether they are protected, how many rows a unit has, and which columns follow from which.
// The term of a level is made of its final tree. Of a sub-select it has the rows that count for IN, and may have rows of reference tables
// that the level around it looks up.

// judge derives the type of the rows of a level.
func (p *proof) judge(t *terms) (refused error) {
	p.outer = map[*joined]*core.Join{}
	p.term = (&levelTerm{terms: t, level: p.resolved, outer: p.outer}).of()
	p.alone, _ = t.judge.Check(p.term)
	if p.match != nil && !p.unmatched {
		p.term = &core.Filter{In: p.term, If: conditionsOn(p.resolved, []condition{{x: p.match}})}
	}
	p.typ, refused = t.judge.Check(p.term)
	return refused
}

// matched are the facts of rows of both sides of an outer join that have a match.
func (t *terms) matched(j *core.Join) facts {
	left, _ := t.judge.Check(j.L)
	right, _ := t.judge.Check(j.R)
	return facts{left.Meet(right, j.On)}
}

// counting are the conditions on which a row of a sub-select counts for one of the level around.
func (r *resolved) counting() []core.Condition {
	on := conditionsAsTheyAre(r, r.where)
	if r.match != nil && !r.unmatched {
		on = append(on, conditionOf(r, r.match))
	}
	return on
}

// errLoose refuses a level that has rows of a reference table which nothing looks up, if it is in no condition of another.
func (p *proof) errLoose() error {
	if r := p.follows.unlooked(p.relations); r != nil {
		return errUnlooked(p.resolved, r)
	}
	if len(p.typ.Loose) > 0 {
		return p.errUnproved()
	}
	return nil
}

// meets judges the rows of a sub-select that count for a row of the level.
func (p *proof) meets(t *terms, j *semijoin) error {
	if !t.fits(&core.Join{Kind: core.Semi, L: p.term, R: j.inner.read, On: j.inner.counting()}) {
		return p.errUnproved()
	}
	return nil
}

// errUnproved refuses a level whose rows need not be of one unit each.
func (p *proof) errUnproved() error {
	return pgerr.New(pgerr.Ownership, "rows that are joined need not belong to the same %s", p.model.Unit()).At(relationsOf(p.root)[0].at)
}

// perUnit returns all that is identical in the rows of a unit that agree in columns and in rows of relations.
func (p *proof) perUnit(columns []*scalar.Column, rows ...*relation) core.Set {
	return p.typ.PerUnit(agreeing(columns, rows))
}

func agreeing(columns []*scalar.Column, rows []*relation) core.Set {
	s := cols(columns)
	for _, r := range rows {
		s = s.Or(r.apart)
	}
	return s
}

// Unique reports whether a unit has at most one row, and is a person.
func (p *proof) Unique() bool { return !p.Tagged() && p.typ.Unique(nil) }

// Fixes reports whether a unit has at most one row with the same values of the keys.
func (p *proof) Fixes(keys []scalar.Expr) bool { return p.typ.Unique(cols(identifiable(keys))) }

// identifiable returns the columns among expressions whose equal values are identical.
func identifiable(keys []scalar.Expr) []*scalar.Column {
	var list []*scalar.Column
	for _, e := range keys {
		if c, ok := scalar.PlainColumn(e); ok && scalar.OneSpelling(e) {
			list = append(list, c)
		}
	}
	return list
}

// OneUnit reports whether rows with the same values of the keys are of one unit, and that because of the keys.
func (p *proof) OneUnit(keys []scalar.Expr) bool {
	follows := func(s core.Set) bool { return p.typ.Closure(s).Has(p.typ.Unit) }
	return p.typ.Unit != 0 && follows(cols(identifiable(keys))) && !follows(nil)
}

// tells reports whether rows with the same values of the keys are of one unit: one of the keys identifies it, or they determine it.
func (p *proof) tells(keys []scalar.Expr) bool {
	return slices.ContainsFunc(keys, p.IsUnit) || p.OneUnit(keys)
}

// PerUnit reports whether the expression has one value in all rows of a unit.
func (p *proof) PerUnit(e scalar.Expr) bool {
	return p.typ.Unit != 0 && cols(e.Columns()).In(p.perUnit(nil))
}

// rowKeys returns columns that tell all rows of a unit apart: a key of each table.
func rowKeys(p *proof) (columns []*scalar.Column, ok bool) {
	for _, r := range p.relations {
		if r.rows != nil {
			continue
		}
		if keys := r.keys(); len(keys) > 0 {
			for _, i := range keys[0] {
				columns = append(columns, r.columns[i])
			}
		}
	}
	return columns, p.typ.Unique(cols(columns))
}
