package planner

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"dpproxy/dp"
	"dpproxy/estimate"
	"dpproxy/fold"
	"dpproxy/planner/scalar"
)

// This file has second moments of values with loose bounds, which result from arithmetic or from bounds of counts and sums. A second moment
// is computed from sums of distances from a public centre, of squares of distances, and of products of two distances. The squares of each
// argument are sums with a chosen limit, as the number of rows has one; a unit has one weight by all of these norms. By the inequality of
// Cauchy and Schwarz the limits bound every other sum: for a unit in a group
//
//	|Σ d·e| ≤ √(Σ d² · Σ e²),  |Σ d| ≤ √(n · Σ d²),
//
// and for vectors over groups, with a weight λ,
//
//	λ·‖Σ d·e‖ ≤ √(λ‖Σ d²‖ · λ‖Σ e²‖),
//
// in ℓ₂ and in ℓ₁. Squares are rounded up, so that the inequality holds for them as they are counted. A unit whose count or squares
// saturate is above all limits of its grid, and does not count.

// squareBits are the bits of the square of the largest distance, in the unit of squares.
const squareBits = 40

// A distanceOf is the distance of values from a public centre, in steps.
type distanceOf struct {
	term
	centre int64
	norm   int   // the index of the norm of its squares in the measure
	unit   int64 // the unit of squares, in squared steps
	loose  bool  // the bounds say little about the values
}

// farBits bounds the bits of distances, such that their squares can be counted.
const farBits = 50

// newDistance takes zero as the centre if it is within the bounds, and the middle of the bounds otherwise. It returns false if values can
// be too far from the centre.
func newDistance(t term, norm int, loose bool) (distanceOf, bool) {
	t.wide = true
	d := distanceOf{term: t, norm: norm, unit: 1, loose: loose}
	if t.values.low > 0 || t.values.high < 0 {
		d.centre = t.values.low + (t.values.high-t.values.low)/2
	}
	most := d.furthest()
	if most.BitLen() > farBits {
		return d, false
	}
	square := most.Mul(most, most)
	if over := square.BitLen() - squareBits; over > 0 {
		d.unit = 1 << over
	}
	return d, true
}

// furthest is the largest distance.
func (d distanceOf) furthest() *big.Int {
	return big.NewInt(max(d.values.high-d.centre, d.centre-d.values.low))
}

// square bounds the square of a row, in units of squares.
func (d distanceOf) square() *big.Int {
	square := d.furthest()
	square.Mul(square, square).Quo(square, big.NewInt(d.unit))
	return square.Sub(square, big.NewInt(d.offset()))
}

// offset is subtracted from each square to round it up.
func (d distanceOf) offset() int64 {
	if d.unit > 1 {
		return -1
	}
	return 0
}

// sql writes the distance.
func (d distanceOf) sql(r rowColumns) (string, error) {
	x, err := r.integer(d.term)
	return fmt.Sprintf("(%s - (%s))", x, literalOf(d.centre, d.whole())), err
}

// narrow reports whether a product of two such distances is below 2⁶².
func (d distanceOf) narrow() bool { return d.furthest().BitLen() <= 31 }

// from names the centre.
func (d distanceOf) from() string { return " from " + d.limitText(d.centre) }

// public returns all that is public about the distances.
func (d distanceOf) public() estimate.Values {
	return estimate.Values{
		Low: d.values.value(d.values.low), High: d.values.value(d.values.high),
		Centre: d.values.value(d.centre), Unit: new(big.Rat).Set(d.values.step),
	}
}

// squares returns all that is public about the squares.
func (d distanceOf) squares() estimate.Squares {
	s := estimate.Squares{Unit: new(big.Rat).Mul(d.values.step, d.values.step), Rounding: new(big.Rat), Whole: true}
	s.Unit.Mul(s.Unit, new(big.Rat).SetInt64(d.unit))
	if d.unit > 1 {
		s.Rounding.Set(s.Unit)
	}
	return s
}

// A momentForm is a sum whose absolute value is at most the root of the product of two norms.
type momentForm interface {
	summedForm
	// within returns the indices of these norms, and the square of the bound of the statistic if both norms are 1.
	within() (norms [2]int, square *big.Rat)
}

// mostBetween bounds what a unit adds to a moment in one group if neither of its two norms is saturated.
func mostBetween(m *Measure, f momentForm) *big.Int {
	of, square := f.within()
	most := new(big.Int).Mul(big.NewInt(m.Norms[of[0]].saturation), big.NewInt(m.Norms[of[1]].saturation))
	most.Mul(most, square.Num()).Quo(most, square.Denom()).Sqrt(most)
	return most.Add(most, big.NewInt(1))
}

// A momentSum is the common part of sums of distances, squares and products.
type momentSum struct{ single }

func (momentSum) counts() bool   { return false }
func (momentSum) additive() bool { return true }

// A squareFrom is the sum of the squares of distances.
type squareFrom struct {
	momentSum
	distanceOf
}

// String names the statistic.
func (f squareFrom) String() string {
	return fmt.Sprintf("sum of squares of %s%s in %d squared steps of %s", describe(f.arg), f.from(), f.unit, f.values.step.RatString())
}

func (f squareFrom) terms() []term { return []term{f.term} }

func (f squareFrom) adds(rows int64) *big.Int { return new(big.Int).Mul(f.square(), big.NewInt(rows)) }

func (f squareFrom) ofOneRow(unitBounds) (dp.Sensitivity, error) { return ofOneRow(f.square()) }

func (f squareFrom) ofRows(r rowColumns) (string, error) {
	d, err := f.sql(r)
	return productSQL(d, d, f.unit, f.narrow(), f.offset()), err
}

// apart implements apartForm.
func (f squareFrom) apart(int) string {
	return " of the sum of squares of " + describe(f.arg) + f.from()
}

// plausible is the contribution of a row from which on limits are chosen: the bound of a row, or 0 if the bounds are loose.
func (f squareFrom) plausible() int64 {
	if f.loose {
		return 0
	}
	return f.square().Int64()
}

func (f squareFrom) addition(c *addedColumns) (fold.Addition, error) {
	a, err := c.multiplied(f.distanceOf, f.distanceOf, f.unit)
	a.Offset = f.offset()
	return a, err
}

// A distanceFrom is the sum of distances.
type distanceFrom struct {
	momentSum
	distanceOf
}

// String names the statistic.
func (f distanceFrom) String() string {
	return "sum of " + describe(f.arg) + f.from() + " in steps of " + f.values.step.RatString()
}

func (f distanceFrom) terms() []term { return []term{f.term} }

func (f distanceFrom) within() (norms [2]int, square *big.Rat) {
	return [2]int{0, f.norm}, new(big.Rat).SetInt64(f.unit)
}

func (f distanceFrom) ofOneRow(unitBounds) (dp.Sensitivity, error) { return ofOneRow(f.furthest()) }

func (f distanceFrom) ofRows(r rowColumns) (string, error) {
	d, err := f.sql(r)
	return sumSQL(d), err
}

func (f distanceFrom) addition(c *addedColumns) (fold.Addition, error) {
	return c.sum(f.term, 1, f.centre)
}

// A productFrom is the sum of the products of two distances, over the rows in which neither is NULL.
type productFrom struct {
	momentSum
	y, x distanceOf
	unit int64 // the unit of products, in steps of y times steps of x
}

// newProduct takes a unit in which products are about as large as squares.
func newProduct(y, x distanceOf) productFrom {
	unit := new(big.Int).Mul(big.NewInt(y.unit), big.NewInt(x.unit))
	return productFrom{y: y, x: x, unit: max(1, unit.Sqrt(unit).Int64())}
}

// String names the statistic.
func (f productFrom) String() string {
	return fmt.Sprintf("sum of products of %s%s and %s%s in %d steps of %s times steps of %s", describe(f.y.arg), f.y.from(),
		describe(f.x.arg), f.x.from(), f.unit, f.y.values.step.RatString(), f.x.values.step.RatString())
}

func (f productFrom) terms() []term { return []term{f.y.term, f.x.term} }

func (f productFrom) most() *big.Int {
	most := new(big.Int).Mul(f.y.furthest(), f.x.furthest())
	return most.Quo(most, big.NewInt(f.unit))
}

func (f productFrom) within() (norms [2]int, square *big.Rat) {
	units := new(big.Int).Mul(big.NewInt(f.y.unit), big.NewInt(f.x.unit))
	unit := big.NewInt(f.unit)
	return [2]int{f.y.norm, f.x.norm}, new(big.Rat).SetFrac(units, unit.Mul(unit, unit))
}

func (f productFrom) ofOneRow(unitBounds) (dp.Sensitivity, error) { return ofOneRow(f.most()) }

func (f productFrom) ofRows(r rowColumns) (string, error) {
	y, err := f.y.sql(r)
	if err != nil {
		return "", err
	}
	x, err := f.x.sql(r)
	return productSQL(y, x, f.unit, f.y.narrow() && f.x.narrow(), 0), err
}

func (f productFrom) addition(c *addedColumns) (fold.Addition, error) {
	return c.multiplied(f.y, f.x, f.unit)
}

// multiplied adds up products of two distances in a unit.
func (c *addedColumns) multiplied(y, x distanceOf, unit int64) (fold.Addition, error) {
	first, err := c.factor(y.term, 1, y.centre)
	if err != nil {
		return fold.Addition{}, err
	}
	second, err := c.factor(x.term, 1, x.centre)
	return fold.Addition{Factors: []fold.Factor{first, second}, Unit: unit}, err
}

// public returns all that is public about the products, which are rounded toward zero.
func (f productFrom) public() estimate.Products {
	unit := new(big.Rat).Mul(f.y.values.step, f.x.values.step)
	p := estimate.Products{Unit: unit.Mul(unit, new(big.Rat).SetInt64(f.unit)), Rounding: new(big.Rat)}
	if f.unit > 1 {
		p.Rounding.Set(unit)
	}
	return p
}

// ofOneRow is the sensitivity of a sum to which one row adds at most most.
func ofOneRow(most *big.Int) (dp.Sensitivity, error) {
	if !most.IsInt64() {
		return dp.Sensitivity{}, dp.ErrContribution
	}
	return dp.Sensitivity{L0: 1, LInf: max(most.Int64(), 1)}, nil
}

// productSQL writes the sum of products, each divided by a unit toward zero, minus an offset; in int8 if the distances are narrow.
func productSQL(y, x string, unit int64, narrow bool, offset int64) string {
	product := fmt.Sprintf("CAST(pg_catalog.div(CAST(%s AS pg_catalog.numeric) * %s, %d) AS pg_catalog.int8)", y, x, unit)
	if narrow {
		product = fmt.Sprintf("%s * %s / %s", y, x, int8Literal(unit))
	}
	if offset != 0 {
		product += " - " + int8Literal(offset)
	}
	return sumSQL(product)
}

// loose reports whether only arithmetic with several columns, or a number of rows, bounds an argument, so that its values may be much
// closer together than its bounds. Limits of their second moments are then chosen, unless limits are fixed.
func (c *collector) loose(x scalar.Expr) bool {
	return !c.bounds.unique && !c.bounds.limit.fixed && (c.bounds.counted || scalar.Combined(x))
}

// distance returns the distance of an argument, whose squares have a norm; it returns false if values can be too far apart.
func (c *collector) distance(t term, norm int) (distanceOf, bool, error) {
	t, err := c.coarse(t)
	if err != nil {
		return distanceOf{}, false, err
	}
	d, ok := newDistance(t, norm, c.loose(t.arg))
	return d, ok, nil
}

// A squared is a distance whose squares are added up over the rows that a filter keeps.
type squared struct {
	distanceOf
	filter scalar.Expr
}

// moments returns the measure with the norms of a number of rows and of squares of distances, and the index of that number.
func (c *collector) moments(form statisticForm, filter scalar.Expr, at int, of ...squared) (m *Measure, count int, err error) {
	m = c.weighted(byMoments{severalNorms{ofValues{of[0].arg, filter}}, of[len(of)-1].arg, len(of)})
	count, err = c.addTo(m, form, filter, at)
	for _, s := range of {
		(&statistic{statisticForm: squareFrom{distanceOf: s.distanceOf}, filter: s.filter, measure: m, each: 1}).bounding()
	}
	return m, count, err
}

// A cutQuantity is a quantity that limits may have moved.
type cutQuantity interface {
	// uncut contains the value without limits, if norms above the limits are distributed as they are below them; it returns false if
	// nothing is known of it.
	uncut(r observation) (estimate.Interval, bool)
}

// cutMoments bounds what limits have cut off the number of rows, and off the squares and the sum of their distances from a centre. If the
// squares are not released, they are assumed to be spread over groups as the rows are.
func (r observation) cutMoments(count int, d distanceOf) (estimate.Cut, bool) {
	m := r.statistics[count].measure
	spread := count
	if i := slices.Index(r.statistics, m.bounding[d.norm]); i >= 0 {
		spread = i
	}
	rows, of := new(big.Rat).SetFloat64(r.upTo(count)), new(big.Rat).SetFloat64(r.upToOf(m, d.norm, spread))
	if rows == nil || of == nil { // infinite
		return estimate.Cut{}, false
	}
	return estimate.Cut{Count: rows, Sum: between(new(big.Rat).SetInt64(d.unit), rows, of), Squares: of}, true
}

// between returns √(square·x·y), rounded up, which bounds what is missing from a sum if x and y are missing from its two norms.
func between(square, x, y *big.Rat) *big.Rat {
	most := new(big.Rat).Mul(square, x)
	most.Mul(most, y)
	root := new(big.Int).Quo(most.Num(), most.Denom())
	root.Sqrt(root).Add(root, big.NewInt(1))
	return new(big.Rat).SetInt(root)
}

// A movedEstimator bounds how far limits may have moved a value.
type movedEstimator struct {
	estimated
	of cutQuantity
}

// beyond implements limited.
func (e movedEstimator) beyond(r observation) (below, above float64) {
	in, bounded := e.interval(r)
	if !bounded {
		return 0, 0
	}
	all, known := e.of.uncut(r)
	if !known {
		return math.Inf(1), math.Inf(1)
	}
	return max(0, float(in.Lower)-float(all.Lower)), max(0, float(all.Upper)-float(in.Upper))
}

func (e movedEstimator) ends(r observation) (low, high float64) {
	low, high = e.estimated.ends(r)
	below, above := e.beyond(r)
	return low - below, high + above
}
