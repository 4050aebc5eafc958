package source

import (
	"dpproxy/core"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
)

// A pair is two columns that are equal by their types' own equality.
type pair struct{ a, b *scalar.Column }

// equalities returns the pairs of plain columns that the conditions make equal.
func equalities(conds []condition) []pair {
	var all []pair
	for _, c := range conds {
		for _, x := range scalar.Conjuncts(c.x) {
			if a, b, ok := scalar.Equality(x); ok {
				all = append(all, pair{a, b})
			}
		}
	}
	return all
}

// facts are all that package core knows of some rows.
type facts struct{ core.Type }

// same reports whether two columns are equal on every row.
func (f facts) same(a, b *scalar.Column) bool {
	return a == b || a.Number != 0 && b.Number != 0 && f.Equal(col(a), col(b))
}

// follows reports whether a row is joined with the row that the step leads to: all columns of the key are equal.
func (f facts) follows(r, to *relation, st policy.Step) bool {
	for i := range st.From {
		if !f.same(r.column(st.From[i]), to.column(st.Key[i])) {
			return false
		}
	}
	return true
}
