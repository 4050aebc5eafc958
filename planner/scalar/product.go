package scalar

import (
	"math/big"
	"slices"
)

// A Product is a whole number times linear functions of columns in steps: 10 · (100 − discount) · price.
type Product struct {
	by *big.Int
	of []linear
}

// A linear is times·column − less, with the column in steps; without a column it is −less.
type linear struct {
	column      *Ref
	times, less *big.Int
}

// A Factor is one factor of a product: Times·Column − Less, with the column in steps.
type Factor struct {
	Column      *Ref
	Times, Less int64
}

// mostTimes bounds the numbers of a factor, such that twice each fits an int64.
var mostTimes = big.NewInt(1 << 61)

// Factors returns the factors of a product; it returns false if there are none, or if their numbers are too large.
func (p *Product) Factors() ([]Factor, bool) {
	if p == nil || len(p.of) == 0 {
		return nil, false
	}
	out, by := make([]Factor, len(p.of)), p.by
	for i, f := range p.of {
		times, less := new(big.Int).Mul(f.times, by), new(big.Int).Mul(f.less, by)
		if times.CmpAbs(mostTimes) > 0 || less.CmpAbs(mostTimes) > 0 {
			return nil, false
		}
		out[i], by = Factor{f.column, times.Int64(), less.Int64()}, big.NewInt(1)
	}
	return out, true
}

func productOf(r *Ref) *Product {
	return &Product{big.NewInt(1), []linear{{r, big.NewInt(1), new(big.Int)}}}
}

// constantProduct returns a number in steps, of which it must be a multiple.
func constantProduct(n *big.Rat, digits int) *Product {
	return &Product{by: new(big.Int).Set(new(big.Rat).Mul(n, power10(digits)).Num())}
}

// computedProduct applies an operator to products; it returns nil if the result is not a product.
func computedProduct(operator *rule, args []steps) *Product {
	p := args[0].of
	switch {
	case len(args) == 1 && operator == plus:
		return p
	case len(args) == 1:
		return p.times(constantProduct(rat(-1), 0))
	case operator == times:
		return p.times(args[1].of)
	case operator == minus:
		return p.plus(args[1].of.times(constantProduct(rat(-1), 0)))
	}
	return p.plus(args[1].of)
}

func (p *Product) times(q *Product) *Product {
	if p == nil || q == nil {
		return nil
	}
	return &Product{new(big.Int).Mul(p.by, q.by), append(slices.Clip(p.of), q.of...)}
}

// plus returns a product if both are linear functions of the same column, or one of them is a constant. A column whose multiples cancel
// remains, since the sum is NULL if the column is.
func (p *Product) plus(q *Product) *Product {
	x, ok := p.linear()
	y, also := q.linear()
	if !ok || !also || x.column != nil && y.column != nil && !Equal(x.column, y.column) {
		return nil
	}
	if x.column == nil {
		x.column = y.column
	}
	x.times, x.less = new(big.Int).Add(x.times, y.times), new(big.Int).Add(x.less, y.less)
	if x.column == nil {
		return &Product{by: x.less.Neg(x.less)}
	}
	return &Product{big.NewInt(1), []linear{x}}
}

// linear returns the product as a linear function.
func (p *Product) linear() (linear, bool) {
	switch {
	case p == nil || len(p.of) > 1:
		return linear{}, false
	case len(p.of) == 0:
		return linear{nil, new(big.Int), new(big.Int).Neg(p.by)}, true
	}
	f := p.of[0]
	return linear{f.column, new(big.Int).Mul(f.times, p.by), new(big.Int).Mul(f.less, p.by)}, true
}
