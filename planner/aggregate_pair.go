package planner

import (
	"math/big"

	"dpproxy/estimate"
	"dpproxy/parser/ast"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// A pairForm is the common part of the aggregates of two arguments, over the rows in which neither is NULL.
type pairForm struct {
	y, x scalar.Expr
	// filter is the filter of the call. ofY adds the condition that x is not NULL, and ofX that y is not NULL.
	filter, ofY, ofX scalar.Expr
	at               int
}

func (f pairForm) overRows() []scalar.Expr { return []scalar.Expr{f.y, f.x, f.ofY, f.ofX} }

// pair resolves the two arguments.
func (c *call) pair() (f pairForm, err error) {
	if c.Star || len(c.Args) != 2 || c.Within != nil {
		return f, c.wrongArguments()
	}
	if err := c.plain(); err != nil {
		return f, err
	}
	f.filter, f.at = c.filter, c.At
	if f.y, err = c.resolver.Expr(c.Args[0]); err != nil {
		return f, err
	}
	if f.x, err = c.resolver.Expr(c.Args[1]); err != nil {
		return f, err
	}
	for _, x := range []scalar.Expr{f.y, f.x} {
		if err := c.check(x, numbers); err != nil {
			return f, err
		}
	}
	c.shown = []scalar.Expr{f.y, f.x}
	if f.ofY, err = c.where(c.Args[1]); err != nil {
		return f, err
	}
	f.ofX, err = c.where(c.Args[0])
	return f, err
}

// where resolves the filter together with the condition that an argument is not NULL.
func (c *call) where(arg ast.Expr) (scalar.Expr, error) {
	var cond ast.Expr = &ast.IsNull{X: arg, Not: true, At: arg.Pos()}
	if c.Filter != nil {
		cond = &ast.Bool{Kind: ast.And, Args: []ast.Expr{c.Filter, cond}, At: arg.Pos()}
	}
	return c.resolver.Boolean(cond)
}

// filters returns ofY and ofX, or the filter of the call if the other argument is never NULL: then more statistics are equal.
func (f pairForm) filters(c *collector) (ofY, ofX scalar.Expr) {
	ofY, ofX = f.filter, f.filter
	if c.nullable(f.x) {
		ofY = f.ofY
	}
	if c.nullable(f.y) {
		ofX = f.ofX
	}
	return ofY, ofX
}

// A pairCountOf is REGR_COUNT.
type pairCountOf struct{ pairForm }

func newPairCount(c *call) (form, error) {
	f, err := c.pair()
	return pairCountOf{f}, err
}

func (pairCountOf) resultType() (pgtype.Type, bool) { return pgtype.Of(pgtype.Int8), false }

func (pairCountOf) reports() reports { return allReports }

func (f pairCountOf) specialize(c *collector) (estimator, error) {
	ofY, _ := f.filters(c)
	return countOf{overRow: overRow{f.y, ofY, f.at}}.specialize(c)
}

// A pairAverageOf is REGR_AVGY or REGR_AVGX.
type pairAverageOf struct {
	pairForm
	overX bool
}

func pairAverages(overX bool) function {
	return func(c *call) (form, error) {
		f, err := c.pair()
		return pairAverageOf{f, overX}, err
	}
}

func (pairAverageOf) resultType() (pgtype.Type, bool) { return pgtype.Of(pgtype.Float8), false }

func (pairAverageOf) reports() reports { return allReports }

func (f pairAverageOf) specialize(c *collector) (estimator, error) {
	ofY, ofX := f.filters(c)
	if f.overX {
		return averageOf{overRow{f.x, ofX, f.at}, pgtype.Of(pgtype.Float8)}.specialize(c)
	}
	return averageOf{overRow{f.y, ofY, f.at}, pgtype.Of(pgtype.Float8)}.specialize(c)
}

// A pairOf is a function of the moments of pairs.
type pairOf struct {
	pairForm
	of pairFunction
}

// A pairFunction is COVAR_POP or one of its kin: which squares it needs, the fewest pairs for which it has a value, and its estimators.
// Value returns false for NULL; interval returns false if nothing bounds the value.
type pairFunction struct {
	squaresX, squaresY bool
	fewest             int64
	value              func(estimate.Pairs, estimate.PairMoments) (*big.Rat, bool)
	interval           func(estimate.Pairs, estimate.PairMoments) (estimate.Interval, bool)
}

var (
	covarPop = pairFunction{
		fewest: 1,
		value:  func(p estimate.Pairs, m estimate.PairMoments) (*big.Rat, bool) { return p.Covariance(m), true },
		interval: func(p estimate.Pairs, m estimate.PairMoments) (estimate.Interval, bool) {
			return p.CovarianceInterval(m), true
		},
	}
	covarSamp = pairFunction{
		fewest: 2,
		value:  estimate.Pairs.Sample,
		interval: func(p estimate.Pairs, m estimate.PairMoments) (estimate.Interval, bool) {
			return p.SampleInterval(m), true
		},
	}
	regrSlope     = pairFunction{squaresX: true, fewest: 2, value: estimate.Pairs.Slope, interval: estimate.Pairs.SlopeInterval}
	regrIntercept = pairFunction{squaresX: true, fewest: 2, value: estimate.Pairs.Intercept, interval: estimate.Pairs.InterceptInterval}
	corr          = pairFunction{
		squaresX: true, squaresY: true, fewest: 2, value: estimate.Pairs.Correlation,
		interval: func(p estimate.Pairs, m estimate.PairMoments) (estimate.Interval, bool) {
			return p.CorrelationInterval(m), true
		},
	}
	regrR2 = pairFunction{
		squaresX: true, squaresY: true, fewest: 2, value: estimate.Pairs.Determination,
		interval: func(p estimate.Pairs, m estimate.PairMoments) (estimate.Interval, bool) {
			return p.DeterminationInterval(m), true
		},
	}
)

func pairs(of pairFunction) function {
	return func(c *call) (form, error) {
		f, err := c.pair()
		return pairOf{f, of}, err
	}
}

func (pairOf) resultType() (pgtype.Type, bool) { return pgtype.Of(pgtype.Float8), false }

func (pairOf) reports() reports { return allReports }

// specialize reads the number of pairs, both centred sums, the sum of products, and the sums of squares that the function needs.
func (f pairOf) specialize(c *collector) (estimator, error) {
	y, err := c.clampedTerm(f.y)
	if err != nil {
		return nil, err
	}
	x, err := c.clampedTerm(f.x)
	if err != nil {
		return nil, err
	}
	t, _ := f.resultType()
	if out, ok, err := f.aboutCentres(c, y, x); ok || err != nil {
		return movedEstimator{estimated{out, t, 0}, out}, err
	}
	y.centreOnLattice()
	x.centreOnLattice()
	products := newProductSum(y, x)
	out := f.associated(products.terms(), estimate.PairValues{X: x.centred(), Y: y.centred(), Products: products.public()},
		newSquareSum(x).squares(), newSquareSum(y).squares())
	ofY, _ := f.filters(c)
	m, count, err := c.countedBy(f.y, ofY, f.at)
	if err != nil {
		return nil, err
	}
	err = f.addTo(c, m, count, &out, pairSums{
		products: products, squaresX: newSquareSum(x), squaresY: newSquareSum(y),
		x: centredSum{summation{term: x}}, y: centredSum{summation{term: y}},
	})
	return estimated{out, t, 0}, err
}

// pairSums are the sums over pairs, without their number.
type pairSums struct{ products, squaresX, squaresY, x, y statisticForm }

// addTo adds the sums that the function needs to the measure of the number of pairs.
func (f pairOf) addTo(c *collector, m *Measure, count int, to *association, of pairSums) (err error) {
	ofY, ofX := f.filters(c)
	to.count, to.all = count, []int{count}
	add := func(at *int, form statisticForm, filter scalar.Expr) {
		if err == nil {
			*at, err = c.addTo(m, form, filter, f.at)
			to.all = append(to.all, *at)
		}
	}
	add(&to.products, of.products, f.filter)
	if f.of.squaresX {
		add(&to.squaresX, of.squaresX, ofX)
	}
	if f.of.squaresY {
		add(&to.squaresY, of.squaresY, ofY)
	}
	add(&to.sumX, of.x, ofX)
	add(&to.sumY, of.y, ofY)
	return err
}

// aboutCentres adds sums about chosen centres, with chosen limits of the squares, if the bounds of at least one argument are loose.
func (f pairOf) aboutCentres(c *collector, y, x term) (out association, ok bool, err error) {
	dy, okY, err := c.distance(y, 1)
	if err != nil {
		return out, false, err
	}
	dx, okX, err := c.distance(x, 2)
	if ok = okY && okX && (dy.loose || dx.loose); !ok || err != nil {
		return out, false, err
	}
	ofY, ofX := f.filters(c)
	of := []squared{{dy, ofY}, {dx, ofX}}
	if dy.equal(dx.term) {
		dx.norm, of = 1, of[:1]
	}
	m, count, err := c.moments(c.countOf(f.y), ofY, f.at, of...)
	if err != nil {
		return out, true, err
	}
	products := newProduct(dy, dx)
	out = f.associated(products.terms(), estimate.PairValues{X: dx.public(), Y: dy.public(), Products: products.public()},
		dx.squares(), dy.squares())
	out.from = [2]distanceOf{dy, dx}
	err = f.addTo(c, m, count, &out, pairSums{
		products: products, squaresX: squareFrom{distanceOf: dx}, squaresY: squareFrom{distanceOf: dy},
		x: distanceFrom{distanceOf: dx}, y: distanceFrom{distanceOf: dy},
	})
	return out, true, err
}

// associated returns the quantity of two terms, with the squares that its function needs.
func (f pairOf) associated(of []term, v estimate.PairValues, squaresX, squaresY estimate.Squares) association {
	if f.of.squaresX {
		v.SquaresX = &squaresX
	}
	if f.of.squaresY {
		v.SquaresY = &squaresY
	}
	return association{function: f.of, of: of, values: v}
}

// An association is the quantity of a pairOf.
type association struct {
	of                                              []term
	values                                          estimate.PairValues
	function                                        pairFunction
	count, sumX, sumY, products, squaresX, squaresY int
	all                                             []int
	from                                            [2]distanceOf // of y and x, if the limits of their squares are chosen
}

func (a association) statistics() []int { return a.all }

func (a association) countedBy() (statistic int, fewest int64) { return a.count, a.function.fewest }

func (a association) clamped() []term { return a.of }

func (a association) moments(r observation) estimate.PairMoments {
	m := estimate.PairMoments{Count: r.integer(a.count), SumX: r.integer(a.sumX), SumY: r.integer(a.sumY), Products: r.integer(a.products)}
	if a.function.squaresX {
		m.SquaresX = r.integer(a.squaresX)
	}
	if a.function.squaresY {
		m.SquaresY = r.integer(a.squaresY)
	}
	return m
}

func (a association) estimator(r observation) estimate.Pairs {
	noise := estimate.PairNoise{Count: r.noise(a.count), SumX: r.noise(a.sumX), SumY: r.noise(a.sumY), Products: r.noise(a.products)}
	if a.function.squaresX {
		noise.SquaresX = r.noise(a.squaresX)
	}
	if a.function.squaresY {
		noise.SquaresY = r.noise(a.squaresY)
	}
	return must(estimate.NewPairs(a.values, noise, r.alpha))
}

func (a association) value(r observation) *big.Rat {
	if v, ok := a.function.value(a.estimator(r), a.moments(r)); ok {
		return v
	}
	return nil
}

func (a association) interval(r observation) (estimate.Interval, bool) {
	return a.function.interval(a.estimator(r), a.moments(r))
}

// uncut implements cutQuantity.
func (a association) uncut(r observation) (estimate.Interval, bool) {
	y, okY := r.cutMoments(a.count, a.from[0])
	x, okX := r.cutMoments(a.count, a.from[1])
	if !okX || !okY {
		return estimate.Interval{}, false
	}
	form := r.statistics[a.products].statisticForm.(productFrom) //nolint:forcetypeassert // units are cut by the norms of this form alone
	_, square := form.within()
	cut := estimate.PairCut{X: x, Y: y, Products: between(square, x.Squares, y.Squares)}
	return a.function.interval(cut.Of(a.estimator(r)), a.moments(r))
}
