package scalar

import (
	"math/big"

	"dpproxy/planner/pgtype"
)

// A narrowing has the intervals of columns in rows that meet conditions.
type narrowing struct {
	constants *Env
	columns   map[*Column]Interval
	// listing says that intervals of other expressions are collected too.
	listing bool
	given   []given
}

// given is the interval of an expression in rows that meet conditions.
type given struct {
	x  Expr
	in Interval
}

// Narrowed returns bounds of the values of e in rows for which all conditions are true. They may bound a sensitivity, but never prove that
// an operator cannot raise: Postgres evaluates conditions in any order.
func (env *Env) Narrowed(e Expr, where []Expr) Interval {
	return env.narrowedBy(e, where, false)
}

// maxGiven bounds the number of intervals of expressions: each is looked up at every node of an expression.
const maxGiven = 64

// narrowedToList is Narrowed for lists of values only: it also uses bounds that conditions give to expressions, and the fact that no group
// is without rows.
func (env *Env) narrowedToList(e Expr, where []Expr) Interval { return env.narrowedBy(e, where, true) }

func (env *Env) narrowedBy(e Expr, where []Expr, listing bool) Interval {
	i := env.inner(env.narrowing(where, listing)).Bounds(e)
	i.Null = i.Null && !NeverNull(where, e)
	return i
}

// narrowing returns the intervals that conditions imply.
func (env *Env) narrowing(where []Expr, listing bool) *narrowing {
	n := &narrowing{constants: env, columns: map[*Column]Interval{}, listing: listing}
	for _, cond := range where {
		for _, c := range Conjuncts(cond) {
			if c, ok := c.(*call); ok && c.fn.over.narrow != nil && !env.Unsettled(c) {
				c.fn.over.narrow(n, c)
			}
		}
	}
	for c, i := range n.columns {
		i.Null = !NeverNull(where, &Ref{Column: c})
		n.columns[c] = i
	}
	for k, g := range n.given {
		n.given[k].in.Null = !NeverNull(where, g.x)
	}
	return n
}

// inner returns an environment with the narrowed intervals.
func (env *Env) inner(n *narrowing) *Env {
	return &Env{
		Values: env.Values, TimeZones: env.TimeZones, UTF8: env.UTF8, Before14: env.Before14, Extents: env.Extents, Work: env.Work,
		narrowed: n.columns, given: n.given, listing: n.listing, undeclared: env.undeclared, locations: env.locations,
	}
}

// limit narrows a column, also within a cast that does not change numbers.
func (n *narrowing) limit(x Expr, i Interval) {
	if c, ok := x.(*cast); ok && c.x.Type().Number() && c.typ.Number() && c.typ.Family() >= c.x.Type().Family() && c.typ.Mod < 0 {
		x = c.x
	}
	if i.empty || !x.Type().Number() && !x.Type().Dated() {
		return
	}
	i.Null, i.Least = true, nil
	ref, ok := x.(*Ref)
	if !ok {
		if n.listing && len(n.given) < maxGiven && !x.Type().Zoned() && !isConstant(x) {
			n.given = append(n.given, given{x, i})
		}
		return
	}
	n.columns[ref.Column] = i.intersect(n.columns[ref.Column])
}

// inUnits converts ends of timestamps to days or back, outward.
func inUnits(i Interval, from, to pgtype.Type) Interval {
	if !from.Dated() || !to.Dated() || (from.OID == pgtype.Date) == (to.OID == pgtype.Date) {
		return i
	}
	day := rat(pgtype.MicrosPerDay)
	each := func(r *big.Rat, f func(*big.Rat) *big.Rat) *big.Rat {
		switch {
		case r == nil:
			return nil
		case from.OID == pgtype.Date:
			return new(big.Rat).Mul(r, day)
		}
		return f(new(big.Rat).Quo(r, day))
	}
	i.Low, i.High = each(i.Low, floor), each(i.High, ceil)
	return i
}

// elements returns bounds of the elements of a constant array, which it caches; there are none if the elements are too many, too long, or
// not finite.
func (n *narrowing) elements(c *constant) Interval {
	in, known := n.constants.hulls[c.fold]
	if !known {
		in = n.constants.hull(c)
		if n.constants.hulls == nil {
			n.constants.hulls = map[int]Interval{}
		}
		n.constants.hulls[c.fold] = in
	}
	return in
}
