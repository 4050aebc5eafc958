package planner

import (
	"math"
	"math/big"

	"dpproxy/estimate"
	"dpproxy/planner/pgtype"
)

// An averageOf is AVG of clamped values: a noisy sum of distances from the middle of their
// bounds over a noisy count. A row changes a sum of distances by half the range at most, and a sum
// of the values by the larger bound.
type averageOf struct {
	overRow
	result pgtype.Type
}

func newAverage(c *call) (form, error) {
	x, err := c.number()
	if err != nil {
		return nil, err
	}
	return averageOf{overRow{x, c.filter, c.At}, pgtype.Mean(x.Type())}, nil
}

func (f averageOf) resultType() (pgtype.Type, bool) { return f.result, false }

func (averageOf) reports() reports { return allReports }

func (f averageOf) specialize(c *collector) (estimator, error) {
	x, err := c.clampedTerm(f.arg, c.contribution.Rows)
	if err != nil {
		return nil, err
	}
	out := averaged{of: x}
	if out.sum, err = c.add(centredSum{summation{term: x}}, f.filter, f.at); err != nil {
		return nil, err
	}
	if out.count, err = c.valueCount(f.arg, f.filter, f.at); err != nil {
		return nil, err
	}
	t, _ := f.resultType()
	return averageEstimator{estimated{out, t, x.values.digits + 6}, out}, nil
}

// An averaged is the quantity of an average.
type averaged struct {
	of         term
	sum, count int
}

func (a averaged) statistics() []int { return []int{a.sum, a.count} }

func (a averaged) countedBy() (statistic int, fewest int64) { return a.count, 1 }

func (a averaged) clamped() []term { return []term{a.of} }

func (a averaged) estimator(r observation) estimate.Average {
	return must(estimate.NewAverage(a.of.centred(), r.noise(a.sum), r.noise(a.count), r.alpha))
}

func (a averaged) value(r observation) *big.Rat {
	return a.estimator(r).Value(r.integer(a.sum), r.integer(a.count))
}

func (a averaged) interval(r observation) (estimate.Interval, bool) {
	return a.estimator(r).Interval(r.integer(a.sum), r.integer(a.count))
}

// An averageEstimator knows the standard error of an average.
type averageEstimator struct {
	estimated
	averaged averaged
}

// standardError is to first order in the noise: a quotient of two noisy numbers has no moments.
func (e averageEstimator) standardError(r observation) float64 {
	a := e.averaged
	sum, _ := new(big.Float).SetInt(r.integer(a.sum)).Float64()
	count, _ := new(big.Float).SetInt(r.integer(a.count)).Float64()
	count = math.Max(count, 1)
	unit := float(a.of.centred().Unit)
	return unit * math.Hypot(r.noise(a.sum).StdDev(), sum/count*r.noise(a.count).StdDev()) / count
}
