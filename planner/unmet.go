package planner

import (
	"fmt"
	"slices"
	"strings"

	"dpproxy/planner/scalar"
	"dpproxy/planner/sqltext"
)

// Conditions that no declared value meets are met by no row of these values: the mirror tries all of them, as it lists the values of keys
// (lists.go). If constraints prove that there are no others, the block has no rows. Otherwise a row may have an undeclared value that the
// statement names, such as a label that is misspelled: the answer is that over declared values, and says which rows it leaves out.
// Conditions that other values can meet too, such as NOT IN of all that are declared, ask for undeclared values, and are read.

// neverAnswers reports whether the answer of the block is that over no rows, as far as unmet says so of conditions: no row can meet those
// of a level without whose rows the block has none, or, without groups, those of any aggregate.
func neverAnswers(b *block, unmet func(at any, where []scalar.Expr) bool) bool {
	if b.source.Never(unmet) {
		return true
	}
	none := len(b.aggregates) > 0 && !slices.ContainsFunc(b.sets, func(set []int) bool { return len(set) > 0 })
	for _, a := range b.aggregates {
		if a.filter == nil {
			return false
		}
		none = unmet(a, append(b.source.AllConjuncts(), a.filter)) && none // unmet is asked of each aggregate
	}
	return none
}

// askConditions asks about all conditions of which the block has to have rows.
func askConditions(q *Query, b *block) {
	b.conditions = map[any][]*asked{}
	if b.source.Concealing() {
		return
	}
	neverAnswers(b, func(at any, where []scalar.Expr) bool {
		for _, e := range scalar.Decided(where) {
			a := &asked{b: b, condition: e, at: len(q.lists)}
			b.conditions[at], q.lists = append(b.conditions[at], a), append(q.lists, a)
		}
		return false
	})
}

// met is the answer of the mirror about a condition that some declared value meets.
const met = "true"

// meeting is listing for a condition. A condition that is plainly met is not asked about.
func (a *asked) meeting(env *scalar.Env) Listing {
	if scalar.Meets(env, a.condition) {
		return Listing{}
	}
	l, ok := a.lister(env).List([]scalar.Expr{a.condition}, nil)
	if !ok {
		return Listing{}
	}
	rows := &sqltext.Select{From: &sqltext.Table{SQL: fromSQL(l.From)}, Where: append(slices.Clip(l.Where), l.Keys...)}
	return Listing{SQL: "CAST(EXISTS (" + rows.SQL() + ") AS pg_catalog.text)"}
}

// noRows reports whether no row can meet the conditions of the block, apart from strays. unmet says which values
// there are, if declared values decide it, and columned whether conditions on columns do.
func noRows(sp *specializer) (none bool, unmet []string, columned bool, strays []stray) {
	none = neverAnswers(sp.b, func(at any, where []scalar.Expr) bool {
		if scalar.Impossible(sp.env, where) {
			columned = columned || slices.ContainsFunc(where, func(e scalar.Expr) bool { return len(e.Columns()) > 0 })
			return true
		}
		for _, a := range sp.b.conditions[at] {
			if left, ok := misses(sp, a); ok {
				unmet, strays = append(unmet, unmetBy(sp.env, a.condition)...), withStrays(strays, left)
				columned = true
				return true
			}
		}
		return false
	})
	return none, unmet, columned, strays
}

// misses reports whether no declared value meets a condition, and no other value unless the condition names it; strays are the rows that
// have such a value.
func misses(sp *specializer, a *asked) (strays []stray, ok bool) {
	i := sp.b.folds() + a.at
	if i >= len(sp.env.Values) || sp.env.Values[i].Bytes == nil || string(sp.env.Values[i].Bytes) == met {
		return nil, false
	}
	no := "false"
	strays = sp.replaced(replacement{expr: a.condition, values: []*string{&no}, null: true, none: notCounted, perhaps: notCounted})
	return strays, !slices.ContainsFunc(strays, func(s stray) bool {
		return s.use.Column == nil || s.as != notCounted || scalar.MetByOthers(sp.env, a.condition, s.use.Column)
	})
}

// unmetBy says which values a condition that no declared value meets could name, the nearest to those that it names first.
func unmetBy(env *scalar.Env, e scalar.Expr) (said []string) {
	for _, c := range scalar.Declaring(e) {
		if c.Untold {
			continue
		}
		values, more := nearest(c.Values, scalar.Named(env, c, e)), ""
		if n := len(values) - mostNamed; n > 1 {
			values, more = values[:mostNamed], fmt.Sprintf(" and %d others", n)
		}
		list := strings.Join(values, ", ") + more
		said = append(said, fmt.Sprintf("no value of %s meets the conditions; the values are %s", c.Shown(), list))
	}
	return said
}

// mostNamed is how many values are named at most.
const mostNamed = 6

// Unmet says of conditions on columns that no row can meet that this is so, or, if declared values decide it, which values there are.
func Unmet(p *Plan) []string {
	return p.eachOnce(func(b *BlockPlan, _ string) []string {
		if len(b.unmet) == 0 && b.columned {
			return []string{"no row can meet the conditions: the answer is exact and cost nothing"}
		}
		return b.unmet
	})
}
