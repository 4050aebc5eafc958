package scalar

import (
	"math/big"
	"slices"
)

// A Product is a whole number times linear numbers of columns: 10 · (100 − discount) · price, in steps.
type Product struct {
	by *big.Int
	of []linear
}

// A linear number is so many times the steps of a column, less a whole number. Of no column it is one of these numbers alone.
type linear struct {
	column      *Ref
	times, less *big.Int
}

// A Factor is one of a product: Times steps of a column, less a number.
type Factor struct {
	Column      *Ref
	Times, Less int64
}

// mostTimes bounds the numbers of a factor, such that twice as many are an int64.
var mostTimes = big.NewInt(1 << 61)

// Factors lists those of a product; false where there are none, or their numbers are too large.
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

// constantProduct is a number in steps, which are whole.
func constantProduct(n *big.Rat, digits int) *Product {
	return &Product{by: new(big.Int).Set(new(big.Rat).Mul(n, power10(digits)).Num())}
}

// computedProduct is what an operator makes of products, or nil.
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

// plus is a product where both are linear numbers of one column, or one of them of none. A column that is taken from itself stays there,
// since the number is NULL where that is.
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

// linear returns the product as a linear number.
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
