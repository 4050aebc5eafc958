package scalar

import (
	"math/big"

	"dpproxy/planner/pgtype"
)

// mostCounted is how many groups by a count or a sum of a unit's rows are listed. Nothing declares how many rows a unit has, so that a longer
// list is mostly groups that no unit is in.
const mostCounted = 100

// accumulates reports whether the rows of a unit add up to the value.
func (e *aggregate) accumulates() bool {
	return e.over == nil && (e.name == "count" || e.name == "sum")
}

// counted bounds a count. A count of different values is clamped to how many the policy, types and public keys have.
func (e *aggregate) counted(env *Env) *big.Rat {
	rows := rat(e.rows)
	if !e.distinct {
		return rows
	}
	n, ok := env.different(e.x)
	if !ok {
		return rows
	}
	return smaller(rows, rat(n))
}

// different returns how many different values an expression has at most, without NULL. A row may have another value than declared ones.
func (env *Env) different(e Expr) (n int64, ok bool) {
	if e.Type().OID == pgtype.Bool {
		return 2, true
	}
	if ref, plain := e.(*Ref); plain {
		switch c := ref.Column.Base(); {
		case env.undeclared[c]:
		case c.Values != nil:
			return int64(len(c.Values)), true
		case c.Among != nil:
			return c.Among.Rows, true
		}
	}
	t, digits, known := e.Type(), 0, true
	if t.Decimal() {
		digits, known = env.Scale(e)
	}
	if in := env.interval(e); known && !in.empty && (t.Whole() || t.Decimal() || t.OID == pgtype.Date) {
		if line, ok := lineOf(t, in, digits); ok {
			return line.count(MostElements)
		}
	}
	return 0, false
}
