package planner

import (
	"math/big"

	"dpproxy/estimate"
	"dpproxy/planner/pgtype"
)

// A spreadOf is a variance or standard deviation, of a population or a sample, of clamped values.
type spreadOf struct {
	overRow
	sample, root bool
}

func spreads(f spreadOf) function {
	return func(c *call) (form, error) {
		x, err := c.number()
		return spreadOf{overRow{x, c.filter, c.At}, f.sample, f.root}, err
	}
}

func (f spreadOf) resultType() (pgtype.Type, bool) {
	return pgtype.Mean(f.arg.Type()), false
}

func (spreadOf) reports() reports { return allReports }

// specialize reads the sum of squares, the centred sum and the count. A row changes moments least if they are about the middle of the
// bounds.
func (f spreadOf) specialize(c *collector) (estimator, error) {
	x, err := c.clampedTerm(f.arg)
	if err != nil {
		return nil, err
	}
	t, _ := f.resultType()
	d, ok, err := c.distance(x, 1)
	if err != nil {
		return nil, err
	}
	if ok && d.loose {
		out, err := f.aboutCentre(c, d)
		return movedEstimator{estimated{out, t, 2*x.values.digits + 6}, out}, err
	}
	x.centreOnLattice()
	squares := newSquareSum(x)
	out := dispersion{spreadOf: f, of: squares.terms(), values: squares.centred(), inSquares: squares.squares()}
	m, count, err := c.countedBy(f.arg, f.filter, f.at)
	if err != nil {
		return nil, err
	}
	out.count = count
	if out.squares, err = c.addTo(m, squares, f.filter, f.at); err != nil {
		return nil, err
	}
	if out.sum, err = c.addTo(m, centredSum{summation{term: x}}, f.filter, f.at); err != nil {
		return nil, err
	}
	return estimated{out, t, 2*x.values.digits + 6}, nil
}

// aboutCentre adds sums about a chosen centre, with a chosen limit of the squares.
func (f spreadOf) aboutCentre(c *collector, d distanceOf) (dispersion, error) {
	out := dispersion{spreadOf: f, of: []term{d.term}, values: d.public(), inSquares: d.squares(), from: d}
	m, count, err := c.moments(c.countOf(f.arg), f.filter, f.at, squared{d, f.filter})
	if err != nil {
		return out, err
	}
	out.count = count
	if out.squares, err = c.addTo(m, squareFrom{distanceOf: d}, f.filter, f.at); err != nil {
		return out, err
	}
	out.sum, err = c.addTo(m, distanceFrom{distanceOf: d}, f.filter, f.at)
	return out, err
}

// A dispersion is a spread as a quantity of its statistics.
type dispersion struct {
	spreadOf
	of                  []term
	values              estimate.Values
	inSquares           estimate.Squares
	from                distanceOf // if the limit of the squares is chosen
	squares, sum, count int
}

func (d dispersion) statistics() []int { return []int{d.squares, d.sum, d.count} }

func (d dispersion) countedBy() (statistic int, fewest int64) {
	if d.sample {
		return d.count, 2
	}
	return d.count, 1
}

func (d dispersion) clamped() []term { return d.of }

func (d dispersion) moments(r observation) estimate.Moments {
	return estimate.Moments{Squares: r.integer(d.squares), Sum: r.integer(d.sum), Count: r.integer(d.count)}
}

func (d dispersion) estimator(r observation) estimate.Variance {
	noise := estimate.MomentNoise{Squares: r.noise(d.squares), Sum: r.noise(d.sum), Count: r.noise(d.count)}
	return must(estimate.NewVariance(d.values, d.inSquares, noise, r.alpha))
}

func (d dispersion) value(r observation) *big.Rat {
	v, m := d.estimator(r), d.moments(r)
	x := v.Population(m)
	if d.sample {
		var ok bool
		if x, ok = v.Sample(m); !ok {
			return nil // of a single row
		}
	}
	if d.root {
		return estimate.Sqrt(x)
	}
	return x
}

func (d dispersion) interval(r observation) (estimate.Interval, bool) {
	return d.within(r, d.estimator(r)), true
}

// uncut implements cutQuantity.
func (d dispersion) uncut(r observation) (estimate.Interval, bool) {
	cut, ok := r.cutMoments(d.count, d.from)
	if !ok {
		return estimate.Interval{}, false
	}
	return d.within(r, cut.Of(d.estimator(r))), true
}

// within returns the interval that an estimator gives.
func (d dispersion) within(r observation, v estimate.Variance) estimate.Interval {
	m := d.moments(r)
	in := v.PopulationInterval(m)
	if d.sample {
		in = v.SampleInterval(m)
	}
	if d.root {
		return in.Sqrt()
	}
	return in
}
