package planner

import (
	"math/big"

	"dpproxy/dp"
	"dpproxy/estimate"
	"dpproxy/pgerr"
	"dpproxy/planner/scalar"
)

// A term is an argument of statistics with the lattice that its values are brought onto, or
// without one where they are only counted.
type term struct {
	arg    scalar.Expr
	values lattice
	wide   bool // what is computed of the integers needs int8
}

// equal reports whether two terms are the same values within the same bounds.
func (t term) equal(o term) bool {
	return sameExpr(t.arg, o.arg) && t.values.low == o.values.low && t.values.high == o.values.high
}

// sameInteger reports whether the integers of two terms are the same, in the same type.
func (t term) sameInteger(o term) bool {
	return t.values.step != nil && o.values.step != nil && t.equal(o) && t.whole() == o.whole()
}

// whole is the type that the integers are computed in: int4 where that is surely enough,
// since Postgres sums it much faster.
func (t term) whole() string {
	const enough = 1 << 29
	v := &t.values
	if t.wide || v.low < -enough || v.high > enough || v.high-v.low > enough {
		return "pg_catalog.int8"
	}
	return "pg_catalog.int4"
}

// halfSteps are the bounds in half steps, of which the middle is a whole number.
func (t term) halfSteps() dp.Range {
	return dp.Range{Lower: 2 * t.values.low, Upper: 2 * t.values.high}
}

// centred says what is public about the distances of the values from the middle of their
// bounds, in half steps.
func (t term) centred() estimate.Values {
	return estimate.Values{
		Low: t.values.value(t.values.low), High: t.values.value(t.values.high),
		Unit: new(big.Rat).Mul(t.values.step, big.NewRat(1, 2)),
	}
}

// even widens the range by a step, if need be, so that its middle is on the lattice: then no
// square or product of distances from it is rounded.
func (t *term) even() { t.values.high += (t.values.high - t.values.low) % 2 }

// interval returns the bounds of an argument.
func (sp *specializer) interval(x scalar.Expr) (scalar.Interval, error) {
	in := sp.env.Narrowed(x, sp.b.source.Conjuncts())
	if in.Low == nil {
		return in, noBounds(x)
	}
	return in, nil
}

// latticeTerm puts an argument on a lattice, of whose values a unit adds up some rows.
func (sp *specializer) latticeTerm(x scalar.Expr, in scalar.Interval, rows int64) (term, error) {
	digits, known := sp.env.Scale(x)
	l, err := latticeOf(x, digits, known, in, rows)
	if err != nil {
		return term{}, tooWide(x.Pos())
	}
	return term{arg: x, values: l}, nil
}

// clampedTerm is term with the bounds of the argument.
func (sp *specializer) clampedTerm(x scalar.Expr, rows int64) (term, error) {
	in, err := sp.interval(x)
	if err != nil {
		return term{}, err
	}
	return sp.latticeTerm(x, in, rows)
}

// nullable reports whether an argument can be NULL in a row that counts.
func (sp *specializer) nullable(x scalar.Expr) bool {
	return sp.env.Narrowed(x, sp.b.source.Conjuncts()).Null
}

func noBounds(x scalar.Expr) error {
	e := pgerr.New(pgerr.NoBounds, "the values have no bounds").At(x.Pos())
	if c, ok := scalar.PlainColumn(x); ok {
		return pgerr.New(pgerr.NoBounds, "column %q has no bounds", c.Shown()).At(x.Pos()).
			WithHint("Write least(greatest(%s, low), high), or ask the administrator to declare bounds in the policy.", c.Shown())
	}
	return e.WithHint("Write least(greatest(x, low), high) with constants, or ask the administrator to declare bounds of the columns.")
}

// describe names an expression for people.
func describe(e scalar.Expr) string {
	if c, ok := scalar.PlainColumn(e); ok {
		return c.Shown()
	}
	return "an expression"
}
