package scalar

import (
	"math/big"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
)

// The rules of numbers. Whole numbers are computed in int8, or in numeric if their bounds exceed int8, so that they cannot overflow. A
// quotient by zero is NULL.

var (
	plus = &rule{
		bounds: arithmetic(func(c *call, i ...Interval) Interval {
			if len(i) == 1 {
				return i[0]
			}
			return Interval{
				Low: new(big.Rat).Add(i[0].Low, i[1].Low), High: new(big.Rat).Add(i[0].High, i[1].High),
				Least: leastOfSum(c, i),
			}
		}),
		write: computed(func(_ *Writer, c *call, _ pgtype.Type, x []string) string { return c.fn.sql(x...) }),
	}
	minus = &rule{
		bounds: arithmetic(func(c *call, i ...Interval) Interval {
			if len(i) == 1 {
				return i[0].negative()
			}
			b := i[1].negative()
			return Interval{Low: new(big.Rat).Add(i[0].Low, b.Low), High: new(big.Rat).Add(i[0].High, b.High), Least: leastOfSum(c, i)}
		}),
		write: plus.write,
	}
	times = &rule{
		bounds: arithmetic(func(_ *call, i ...Interval) Interval {
			out := corners(i[0], i[1], func(a, b *big.Rat) *big.Rat { return new(big.Rat).Mul(a, b) })
			out.Least = new(big.Rat).Mul(i[0].Least, i[1].Least)
			return out
		}),
		write: plus.write,
	}
	divided = &rule{
		bounds: arithmetic(func(c *call, i ...Interval) Interval { return quotientBounds(c, i[0], i[1]) }),
		write: computed(func(w *Writer, c *call, t pgtype.Type, x []string) string {
			divisor := nonZero(w, c.args[1], x[1])
			if c.typ.Whole() && t.OID == pgtype.Numeric {
				return "pg_catalog.div(" + x[0] + ", " + divisor + ")"
			}
			return operatorSQL("/", x[0], divisor, t).sql
		}),
	}
	// quotient is div(): a quotient without its fractional part.
	quotient = &rule{
		bounds: arithmetic(func(c *call, i ...Interval) Interval {
			out := quotientBounds(c, i[0], i[1])
			out.Low, out.High, out.Least = towardZero(out.Low), towardZero(out.High), rat(1)
			return out
		}),
		write: computed(func(w *Writer, c *call, _ pgtype.Type, x []string) string {
			return "pg_catalog.div(" + x[0] + ", " + nonZero(w, c.args[1], x[1]) + ")"
		}),
	}
	modulo = &rule{
		bounds: arithmetic(func(_ *call, i ...Interval) Interval {
			m := smaller(i[0].magnitude(), i[1].magnitude())
			out := Interval{Low: new(big.Rat), High: m, Null: i[1].holdsZero(), Least: smaller(i[0].Least, i[1].Least)}
			if i[0].Low.Sign() < 0 {
				out.Low = new(big.Rat).Neg(m)
			}
			if i[0].High.Sign() <= 0 {
				out.High = new(big.Rat)
			}
			return out
		}),
		write: computed(func(w *Writer, c *call, t pgtype.Type, x []string) string {
			return operatorSQL("%", x[0], nonZero(w, c.args[1], x[1]), t).sql
		}),
	}
	absolute = &rule{
		bounds: arithmetic(func(_ *call, i ...Interval) Interval {
			out := Interval{Low: new(big.Rat), High: i[0].magnitude(), Least: i[0].Least}
			if !i[0].holdsZero() {
				out.Low = smaller(new(big.Rat).Abs(i[0].Low), new(big.Rat).Abs(i[0].High))
			}
			return out
		}),
		write: plus.write,
	}
	signum = &rule{
		bounds: arithmetic(func(_ *call, i ...Interval) Interval {
			return Interval{Low: rat(int64(i[0].Low.Sign())), High: rat(int64(i[0].High.Sign())), Least: rat(1)}
		}),
		write: plus.write,
	}
	rounding = &rule{
		bounds: arithmetic(func(c *call, i ...Interval) Interval {
			out := Interval{Least: rat(1)}
			switch c.fn.name {
			case "floor":
				out.Low, out.High = floor(i[0].Low), floor(i[0].High)
			case "ceil", "ceiling":
				out.Low, out.High = ceil(i[0].Low), ceil(i[0].High)
			case "trunc":
				out.Low, out.High = towardZero(i[0].Low), towardZero(i[0].High)
			default:
				out.Low, out.High = halfDown(i[0].Low), halfUp(i[0].High)
			}
			return out
		}),
		write: plus.write,
	}
	roundingTo = &rule{
		constants: []int{1},
		bounds: func(env *Env, c *call) Interval {
			i := env.interval(c.args[0])
			digits, ok, err := env.integer(c.args[1])
			if !ok || err != nil || digits < -keptDigits || digits > keptDigits {
				return Interval{Null: true, empty: err == nil && !ok}
			}
			if c.fn.name == "trunc" && i.Bounded() {
				i.Low, i.High = scaled(i.Low, int(digits), towardZero), scaled(i.High, int(digits), towardZero)
				i.Least = larger(i.Least, power10(-int(max(digits, 0))))
				return i
			}
			return roundedTo(i, int(digits))
		},
		write: roundTo,
	}
)

// arithmetic bounds a function of numbers by the intervals of its arguments, which must have bounds.
func arithmetic(f func(c *call, i ...Interval) Interval) func(*Env, *call) Interval {
	return ofArguments(Interval.finite, func(c *call, null bool, list []Interval) Interval {
		out := f(c, list...)
		out.Null = out.Null || null
		if c.typ.Float() {
			return out.outward(c.typ)
		}
		return out
	})
}

// ofArguments bounds a function by the intervals of its arguments, all of which must be known.
func ofArguments(known func(Interval) bool, f func(c *call, null bool, list []Interval) Interval) func(*Env, *call) Interval {
	return func(env *Env, c *call) Interval {
		list := make([]Interval, len(c.args))
		null, empty, all := false, false, true
		for k, a := range c.args {
			list[k] = env.interval(a)
			null, empty, all = null || list[k].Null, empty || list[k].empty, all && known(list[k])
		}
		switch {
		case empty:
			return Interval{Null: true, empty: true}
		case !all:
			return Interval{Null: null}
		}
		return f(c, null, list)
	}
}

// leastOfSum returns the smallest non-zero absolute value of a sum. Whole numbers and decimals are multiples of the finer unit; doubles are
// multiples of the last bit of the smaller one.
func leastOfSum(c *call, i []Interval) *big.Rat {
	least := smaller(i[0].Least, i[1].Least)
	if c.typ.Float() {
		return lowestBit(least)
	}
	return least
}

// corners bounds a function that is monotone in each argument by its values at the ends.
func corners(a, b Interval, f func(a, b *big.Rat) *big.Rat) Interval {
	var out Interval
	for _, x := range []*big.Rat{a.Low, a.High} {
		for _, y := range []*big.Rat{b.Low, b.High} {
			v := f(x, y)
			if out.Low == nil {
				out.Low, out.High = v, v
			}
			out.Low, out.High = smaller(out.Low, v), larger(out.High, v)
		}
	}
	return out
}

// quotientBounds bounds a/b, where the absolute value of a non-zero divisor is at least b.Least.
func quotientBounds(c *call, a, b Interval) Interval {
	divide := func(a, b *big.Rat) *big.Rat { return new(big.Rat).Quo(a, b) }
	var out Interval
	if !b.holdsZero() {
		out = corners(a, b, divide)
	} else {
		parts := []Interval{}
		if b.High.Sign() > 0 {
			parts = append(parts, corners(a, Interval{Low: smaller(b.Least, b.High), High: b.High}, divide))
		}
		if b.Low.Sign() < 0 {
			parts = append(parts, corners(a, Interval{Low: b.Low, High: larger(new(big.Rat).Neg(b.Least), b.Low)}, divide))
		}
		if len(parts) == 0 { // the divisor is zero
			return Interval{Low: new(big.Rat), High: new(big.Rat), Null: true, Least: rat(1)}
		}
		out = hull(parts...)
		out.Null = true
	}
	switch {
	case c.typ.Whole():
		out.Low, out.High, out.Least = towardZero(out.Low), towardZero(out.High), rat(1)
	case c.typ.OID == pgtype.Numeric:
		out = roundedQuotient(out, a, b)
	default:
		out.Least = divide(a.Least, b.magnitude())
	}
	return out
}

// nonZero writes a divisor, with NULL in place of zero.
func nonZero(w *Writer, e Expr, sql string) string {
	if i := w.Env.interval(e); i.Bounded() && !i.holdsZero() {
		return sql
	}
	return "NULLIF(" + sql + ", 0)"
}

// computed writes arithmetic: arguments within their bounds, in a type that the result fits.
func computed(sql func(w *Writer, c *call, t pgtype.Type, x []string) string) func(*Writer, *call) (fragment, error) {
	return func(w *Writer, c *call) (fragment, error) {
		if err := fits(w, c); err != nil {
			return fragment{}, err
		}
		parts := make([]fragment, len(c.args))
		t := w.Env.physical(c)
		in := t
		for i, a := range c.args {
			f, err := w.operand(a)
			if err != nil {
				return fragment{}, err
			}
			if f.typ.OID == pgtype.Numeric && t.OID == pgtype.Int8 {
				in = pgtype.Of(pgtype.Numeric)
			}
			parts[i] = f
		}
		x := make([]string, len(parts))
		for i, f := range parts {
			var err error
			if x[i], err = w.convertTo(f, in, c.at); err != nil {
				return fragment{}, err
			}
		}
		out := sql(w, c, in, x)
		switch {
		case !in.Same(t):
			out = castSQL(out, t)
		case c.typ.OID == pgtype.Float4:
			out = castSQL(castSQL(out, c.typ), t)
		}
		return fragment{sql: out, typ: t}, nil
	}
}

// fits refuses arithmetic if an argument has no bounds, or if the result could be too large, too small or too long.
func fits(w *Writer, c *call) error {
	for _, a := range c.args {
		if i := w.Env.interval(a); !i.finite() && !i.empty {
			return w.noBounds(a)
		}
	}
	i := w.Env.interval(c)
	if i.empty {
		return nil
	}
	limit, least := largestExact, leastExact
	switch c.typ.OID {
	case pgtype.Float8:
		limit, least = largestFloat, leastFloat
	case pgtype.Float4:
		limit, least = largest4, least4
	}
	if !i.finite() || i.magnitude().Cmp(limit) > 0 || i.Least.Cmp(least) < 0 {
		return tooLarge(c)
	}
	return nil
}

func tooLarge(c *call) error {
	return pgerr.New(pgerr.NotAllowed, "the result of %s can be too large or too precise on protected data", c.fn.title()).At(c.at).
		WithHint("Bound or round the operands: %s, round(x, 2).", ast.Clamp("x", "low", "high"))
}

// roundTo writes round(x, digits) and trunc(x, digits).
func roundTo(w *Writer, c *call) (fragment, error) {
	digits, ok, err := w.Env.integer(c.args[1])
	if err != nil {
		return fragment{}, err
	}
	if ok && (digits < -keptDigits || digits > keptDigits) {
		return fragment{}, pgerr.New(pgerr.NotAllowed, "%s to %d digits is not allowed on protected data", c.fn.title(), digits).At(c.at).
			WithHint("Use at most %d digits.", keptDigits)
	}
	switch i := w.Env.interval(c.args[0]); {
	case i.empty:
	case !i.Bounded():
		return fragment{}, w.noBounds(c.args[0])
	case i.magnitude().Cmp(largestExact) > 0: // a number with the most digits has no room for a carry
		return fragment{}, tooLarge(c)
	}
	x, err := w.operand(c.args[0])
	if err != nil {
		return fragment{}, err
	}
	n, err := w.write(c.args[1], asIs)
	return fragment{sql: c.fn.sql(x.sql, n.sql), typ: pgtype.Of(pgtype.Numeric)}, err
}
