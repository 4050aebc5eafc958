package scalar

import (
	"fmt"
	"math/big"

	"dpproxy/planner/pgtype"
)

// steps is the SQL of a number in whole steps of 10^-digits, as int8, and the number as a product, or nil.
type steps struct {
	sql    string
	digits int
	of     *Product
}

// An inSteps writes numbers in steps; column writes the steps of a column.
type inSteps struct {
	*Writer
	column func(*Ref) string
}

// mostSteps bounds all intermediate numbers of steps, so that int8 cannot overflow; 10^mostDigits is smaller.
var mostSteps = new(big.Rat).SetInt64(1 << 62)

const mostDigits = 18

// Steps writes a number that is computed with +, - and * from columns of tables and constants, as an int8 in steps of 10^-digits. It is the
// same number, since no intermediate operation rounds, or NULL if the number is. column writes the steps of a column in its own scale, as
// an int8 within its declared bounds. ok is false if an operand has no known scale, or no bounds that are whole steps, or if int8 might
// overflow. The product is the same number, or nil if it is not a product of linear functions of columns.
func Steps(w *Writer, e Expr, digits int, column func(*Ref) string) (sql string, of *Product, ok bool) {
	if c, computed := e.(*call); !computed || !c.typ.Decimal() {
		return "", nil, false
	}
	in := &inSteps{w, column}
	s, ok := in.steps(e)
	if !ok || s.digits > digits {
		return "", nil, false
	}
	s, ok = in.finer(e, s, digits)
	return s.sql, s.of, ok
}

// OwnSteps returns the scale of a column of a table whose declared bounds are whole steps of that scale.
func OwnSteps(env *Env, r *Ref) (digits int, ok bool) {
	c, in := r.Column, env.declared(r.Column.Base())
	if c.derived() || !c.Type.Whole() && !c.Type.Decimal() || !in.Bounded() {
		return 0, false
	}
	digits, ok = env.Scale(r)
	return digits, ok && wholeSteps(in, digits) && fewSteps(in, digits)
}

func wholeSteps(in Interval, digits int) bool {
	scale := power10(digits)
	return new(big.Rat).Mul(in.Low, scale).IsInt() && new(big.Rat).Mul(in.High, scale).IsInt()
}

func fewSteps(in Interval, digits int) bool {
	return in.Bounded() && digits <= mostDigits && new(big.Rat).Mul(in.magnitude(), power10(digits)).Cmp(mostSteps) <= 0
}

func (w *inSteps) steps(e Expr) (steps, bool) {
	switch e := e.(type) { //nolint:gochecksumtype // the others are not arithmetic
	case *Ref:
		digits, ok := OwnSteps(w.Env, e)
		if !ok {
			return steps{}, false
		}
		return steps{w.column(e), digits, productOf(e)}, true
	case *constant:
		return w.constantSteps(e)
	case *cast:
		if e.typ.OID == pgtype.Numeric && e.typ.Mod < 0 && (e.x.Type().Whole() || e.x.Type().Decimal()) {
			return w.steps(e.x)
		}
	case *call:
		return w.callSteps(e)
	}
	return steps{}, false
}

func (w *inSteps) constantSteps(e *constant) (steps, bool) {
	if !e.typ.Whole() && !e.typ.Decimal() {
		return steps{}, false
	}
	digits, known := w.Env.scale(e)
	in := w.Env.interval(e)
	if !known || in.empty || !in.Bounded() || !fewSteps(in, digits) {
		return steps{}, false
	}
	f, err := w.constant(e, clamped)
	if err != nil {
		return steps{}, false
	}
	if digits > 0 {
		f.sql += " * " + power10(digits).Num().String()
	}
	return steps{castSQL(f.sql, pgtype.Of(pgtype.Int8)), digits, constantProduct(in.Low, digits)}, true
}

func (w *inSteps) callSteps(c *call) (steps, bool) {
	if c.fn.over != plus && c.fn.over != minus && c.fn.over != times {
		return steps{}, false
	}
	args, most := make([]steps, len(c.args)), 0
	for i, a := range c.args {
		var ok bool
		if args[i], ok = w.steps(a); !ok {
			return steps{}, false
		}
		most = max(most, args[i].digits)
	}
	if c.fn.over == times {
		most = args[0].digits + args[1].digits
	} else {
		for i, a := range c.args {
			var ok bool
			if args[i], ok = w.finer(a, args[i], most); !ok {
				return steps{}, false
			}
		}
	}
	if !fewSteps(w.Env.interval(c), most) {
		return steps{}, false
	}
	x := make([]string, len(args))
	for i, a := range args {
		x[i] = a.sql
	}
	return steps{c.fn.sql(x...), most, computedProduct(c.fn.over, args)}, true
}

// finer writes steps in a finer scale.
func (w *inSteps) finer(e Expr, s steps, digits int) (steps, bool) {
	if s.digits == digits {
		return s, true
	}
	if !fewSteps(w.Env.interval(e), digits) {
		return steps{}, false
	}
	by := power10(digits - s.digits)
	return steps{fmt.Sprintf("(%s * %s)", s.sql, intLiteral(by)), digits, s.of.times(constantProduct(by, 0))}, true
}

// Operations counts the calls in an expression.
func Operations(e Expr) int {
	n := 0
	if _, ok := e.(*call); ok {
		n = 1
	}
	for _, x := range operands(e) {
		n += Operations(x)
	}
	return n
}
