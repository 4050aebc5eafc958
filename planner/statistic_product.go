package planner

import (
	"fmt"
	"math/big"

	"dpproxy/dp"
	"dpproxy/estimate"
)

// A productSum is the sum of the products of the distances of two values from the middles of their bounds, over the rows in which neither
// is NULL.
type productSum struct {
	single
	y, x term
	unit int64 // the unit of products, in half steps of y times half steps of x
}

// newProductSum chooses the unit such that the largest product is about 2³⁰ units: rounding to a unit is far below any noise.
func newProductSum(y, x term) productSum {
	y.wide, x.wide = true, true
	h := new(big.Int).SetUint64(y.halfSteps().Half())
	h.Mul(h, new(big.Int).SetUint64(x.halfSteps().Half())).Rsh(h, 30)
	unit := int64(1)
	if h.IsInt64() {
		unit = max(unit, h.Int64())
	}
	return productSum{y: y, x: x, unit: unit}
}

// String names the statistic.
func (f productSum) String() string {
	return fmt.Sprintf("sum of products of %s and %s from the middles of their bounds in %d half steps of %s times half steps of %s",
		describe(f.y.arg), describe(f.x.arg), f.unit, f.y.values.step.RatString(), f.x.values.step.RatString())
}

func (f productSum) terms() []term { return []term{f.y, f.x} }

func (f productSum) ofOneRow(unitBounds) (dp.Sensitivity, error) {
	return oneRow.CentredProducts(f.y.halfSteps(), f.x.halfSteps(), f.unit)
}

func (productSum) counts() bool   { return false }
func (productSum) additive() bool { return true }

// ofRows writes products in int8 if they are below 2⁶².
func (f productSum) ofRows(r rowColumns) (string, error) {
	y, err := distance(r, f.y)
	if err != nil {
		return "", err
	}
	x, err := distance(r, f.x)
	if err != nil {
		return "", err
	}
	if f.y.narrow() && f.x.narrow() {
		return sumSQL(fmt.Sprintf("(%s) * (%s) / %s", y, x, int8Literal(f.unit))), nil
	}
	return sumSQL(fmt.Sprintf("CAST(pg_catalog.div(CAST(%s AS pg_catalog.numeric) * (%s), %d) AS pg_catalog.int8)", y, x, f.unit)), nil
}

// public returns all that is public about the products, which are rounded toward zero.
func (f productSum) public() estimate.Products {
	unit := new(big.Rat).Mul(f.y.centred().Unit, f.x.centred().Unit)
	unit.Mul(unit, new(big.Rat).SetInt64(f.unit))
	p := estimate.Products{Unit: unit, Rounding: new(big.Rat)}
	if f.unit > 1 {
		p.Rounding.Set(unit)
	}
	return p
}
