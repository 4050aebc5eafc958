package scalar

import (
	"math/big"

	"dpproxy/planner/pgtype"
)

// mostCounted is how many groups by a count or a sum of a unit's rows are listed. Nothing declares how many rows a unit has, so that a
// longer list is mostly groups that no unit is in.
const mostCounted = 100

// accumulates reports whether the rows of a unit add up to the value.
func accumulates(e *aggregate) bool {
	return e.over == nil && (e.name == "count" || e.name == "sum")
}

// AddedRows bounds how many rows of a unit are added up by a count or a sum inside an expression; it is 1 if there is none.
func AddedRows(e Expr) int64 {
	seen, most := map[*Column]bool{}, int64(1) // each column once: derived tables can double an expression at each level
	var look func(list []Expr)
	look = func(list []Expr) {
		for _, e := range list {
			below := operands(e)
			switch e := e.(type) { //nolint:gochecksumtype // operands decide about the others
			case *aggregate:
				if accumulates(e) {
					most = max(most, e.rows)
				}
			case *Ref:
				if seen[e.Column] {
					continue
				}
				seen[e.Column], below = true, e.Column.Of
			}
			look(below)
		}
	}
	look([]Expr{e})
	return most
}

// mostCount bounds a count. A count of different values is clamped to how many the policy, types and public keys have.
func mostCount(env *Env, e *aggregate) *big.Rat {
	rows := rat(e.rows)
	if !e.distinct {
		return rows
	}
	n, ok := different(env, e.x)
	if !ok {
		return rows
	}
	return smaller(rows, rat(n))
}

// different returns how many different values an expression has at most, without NULL. A row may have another value than declared ones.
func different(env *Env, e Expr) (n int64, ok bool) {
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
	t, in := e.Type(), env.interval(e)
	if in.empty || !in.Bounded() || !t.Whole() && t.OID != pgtype.Date && t.Scale() < 0 {
		return 0, false
	}
	steps := new(big.Rat).Sub(in.High, in.Low)
	if t.Decimal() {
		steps.Mul(steps, power10(t.Scale()))
	}
	span := floor(steps).Num()
	return span.Int64() + 1, span.IsInt64() && span.Int64() < MostElements
}
