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
	gaps    []gap
}

// given is the interval of an expression in rows that meet conditions.
type given struct {
	x  Expr
	in Interval
}

// A gap is the interval of how much an expression is above another one in such rows.
type gap struct {
	x, of Expr
	in    Interval
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
	if listing {
		n.known(where)
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

// known has an interval for each column that conditions are about, be it without ends: it may be known not to be NULL.
func (n *narrowing) known(where []Expr) {
	for _, cond := range where {
		for _, c := range cond.Columns() {
			if _, have := n.columns[c]; !have {
				n.columns[c] = Interval{}
			}
		}
	}
}

// inner returns an environment with the narrowed intervals.
func (env *Env) inner(n *narrowing) *Env {
	return &Env{
		Values: env.Values, TimeZones: env.TimeZones, UTF8: env.UTF8, Before14: env.Before14, Extents: env.Extents, Work: env.Work,
		narrowed: n.columns, given: n.given, gaps: n.gaps, listing: n.listing, undeclared: env.undeclared, locations: env.locations,
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

// compareTwo notes how far apart expressions are that a comparison is about: days of dates, numbers that are exact, and times.
func (n *narrowing) compareTwo(x Expr, op string, to Expr) {
	s, t := x.Type(), to.Type()
	exact := func(t pgtype.Type) bool { return t.Whole() || t.Decimal() }
	if !n.listing || len(n.gaps) >= maxGiven || !(exact(s) && exact(t) || s.OID == t.OID && s.Dated()) {
		return
	}
	in, some := oneSided(span(0, 0), op)
	if !some {
		return
	}
	x, less := n.shifted(x)
	to, more := n.shifted(to)
	if in = in.movedBy(new(big.Rat).Sub(more, less)); !s.Decimal() && !t.Decimal() {
		in = in.strictly(op, pgtype.Of(pgtype.Int8))
	}
	n.gaps = append(n.gaps, gap{x, to, in})
}

// shifted takes a constant number off a sum or a difference.
func (n *narrowing) shifted(e Expr) (of Expr, by *big.Rat) {
	c, ok := e.(*call)
	if !ok || len(c.args) != 2 || c.fn.name != "+" && c.fn.name != "-" {
		return e, new(big.Rat)
	}
	x, k := c.args[0], c.args[1]
	if isConstant(x) && c.fn.name == "+" {
		x, k = k, x
	}
	i := n.constants.interval(k)
	if !isConstant(k) || !i.Constant() || !k.Type().Whole() && !k.Type().Decimal() || x.Type().Float() {
		return e, new(big.Rat)
	}
	if c.fn.name == "-" {
		return x, new(big.Rat).Neg(i.Low)
	}
	return x, i.Low
}

// movedBy adds a number to both ends.
func (i Interval) movedBy(by *big.Rat) Interval {
	if i.Low != nil {
		i.Low = new(big.Rat).Add(i.Low, by)
	}
	if i.High != nil {
		i.High = new(big.Rat).Add(i.High, by)
	}
	return i
}

// opposite negates an end, if it is known.
func opposite(r *big.Rat) *big.Rat {
	if r == nil {
		return nil
	}
	return new(big.Rat).Neg(r)
}

// between narrows the interval of a difference by what is known of how far apart its sides are.
func (env *Env) between(e Expr, i Interval) Interval {
	c, ok := e.(*call)
	if !ok || len(c.args) != 2 || c.fn.name != "-" {
		return i
	}
	for _, a := range env.gaps {
		in := a.in
		switch {
		case Equal(a.x, c.args[0]) && Equal(a.of, c.args[1]):
		case Equal(a.x, c.args[1]) && Equal(a.of, c.args[0]):
			in.Low, in.High = opposite(in.High), opposite(in.Low)
		default:
			continue
		}
		i = i.intersect(Interval{Low: in.Low, High: in.High})
	}
	return i
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
