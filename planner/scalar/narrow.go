package scalar

import "math/big"

// Narrowed returns where the values of e lie in rows on which all conditions are
// true. It may bound a sensitivity, but proves nothing about what can raise:
// Postgres evaluates conditions in any order.
func (env *Env) Narrowed(e Expr, where []Expr) Interval {
	inner := &Env{Values: env.Values, TimeZones: env.TimeZones, UTF8: env.UTF8, Before14: env.Before14, narrowed: map[*Column]Interval{}}
	for _, cond := range where {
		for _, c := range Conjuncts(cond) {
			inner.narrow(env, c)
		}
	}
	for c, i := range inner.narrowed {
		i.Null = !NeverNull(where, &Ref{Column: c})
		inner.narrowed[c] = i
	}
	i := inner.Bounds(e)
	i.Null = i.Null && !NeverNull(where, e)
	return i
}

// narrow notes what a condition says about a column.
func (env *Env) narrow(constants *Env, cond Expr) {
	switch c := cond.(type) { //nolint:gochecksumtype // the others say nothing about values
	case *comparison:
		x, to, op := c.left, c.right, c.op
		if _, ok := c.left.(*constant); ok {
			x, to, op = c.right, c.left, mirrored[op]
		}
		if _, ok := to.(*constant); !ok {
			return
		}
		i := inUnits(constants.interval(to), to.Type(), x.Type())
		switch op {
		case "<", "<=":
			i.Low = nil
		case ">", ">=":
			i.High = nil
		case "<>":
			return
		}
		env.limit(x, i.strictly(op, x.Type()))
	case *between:
		low, okLow := c.low.(*constant)
		high, okHigh := c.high.(*constant)
		if okLow && okHigh && !c.not && !c.symmetric {
			l, h := constants.interval(low), constants.interval(high)
			l.High, h.Low = nil, nil
			env.limit(c.x, inUnits(l, low.typ, c.x.Type()))
			env.limit(c.x, inUnits(h, high.typ, c.x.Type()))
		}
	case *anyOf:
		array, ok := c.array.(*constant)
		if !ok || c.op != "=" || c.all {
			return
		}
		env.limit(c.x, inUnits(constants.elementHull(array), array.typ.element(), c.x.Type()))
	case *among:
		if c.not {
			return
		}
		var list []Interval
		for _, item := range c.list {
			k, ok := item.(*constant)
			if !ok {
				return
			}
			list = append(list, inUnits(constants.interval(k), k.typ, c.x.Type()))
		}
		env.limit(c.x, hull(list...))
	}
}

// strictly leaves out the end that < or > excludes, of values that are whole: numbers, days,
// microseconds.
func (i Interval) strictly(op string, t Type) Interval {
	if !t.whole() && !moment(t) {
		return i
	}
	if op == "<" && i.High != nil {
		i.High = new(big.Rat).Sub(ceil(i.High), rat(1))
	}
	if op == ">" && i.Low != nil {
		i.Low = new(big.Rat).Add(floor(i.Low), rat(1))
	}
	return i
}

// mirrored turns a comparison around.
var mirrored = map[string]string{"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

// limit narrows a column, also below a cast that keeps numbers as they are.
func (env *Env) limit(x Expr, i Interval) {
	if c, ok := x.(*cast); ok && c.x.Type().number() && c.typ.number() && c.typ.Family() >= c.x.Type().Family() && c.typ.Mod < 0 {
		x = c.x
	}
	ref, ok := x.(*Ref)
	if !ok || i.empty || !ref.Column.Type.number() && !moment(ref.Column.Type) {
		return
	}
	i.Null, i.Least = true, nil
	env.narrowed[ref.Column] = i.intersect(env.narrowed[ref.Column])
}

// inUnits turns ends of timestamps into days and back, outward.
func inUnits(i Interval, from, to Type) Interval {
	if !moment(from) || !moment(to) || (from.OID == oidDate) == (to.OID == oidDate) {
		return i
	}
	day := rat(microsPerDay)
	each := func(r *big.Rat, f func(*big.Rat) *big.Rat) *big.Rat {
		switch {
		case r == nil:
			return nil
		case from.OID == oidDate:
			return new(big.Rat).Mul(r, day)
		}
		return f(new(big.Rat).Quo(r, day))
	}
	i.Low, i.High = each(i.Low, floor), each(i.High, ceil)
	return i
}
