package planner

import (
	"math"
	"math/big"

	"dpproxy/estimate"
	"dpproxy/parser/ast"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// An averageOf is AVG of clamped values: a noisy sum of distances from the middle of their bounds, over a noisy count. A row changes the
// sum of distances by at most half the range, and a sum of values by up to the larger bound.
type averageOf struct {
	overRow
	result pgtype.Type
}

func newAverage(c *call) (form, error) {
	if seconds, ok, err := c.length(); ok || err != nil {
		return averageOf{overRow{seconds, c.filter, c.At}, pgtype.Of(pgtype.Interval)}, err
	}
	x, err := c.number()
	if err != nil {
		return nil, err
	}
	return averageOf{overRow{x, c.filter, c.At}, pgtype.Mean(x.Type())}, nil
}

// length resolves the seconds of the only argument, if that is an interval without months and with days of 24 hours: a difference of two
// timestamps.
func (c *call) length() (seconds scalar.Expr, ok bool, err error) {
	if len(c.Args) != 1 || c.Within != nil || c.Distinct {
		return nil, false, nil
	}
	if x, err := c.resolver.Expr(c.Args[0]); err != nil || x.Type().OID != pgtype.Interval || !scalar.Lasting(x) {
		return nil, false, nil //nolint:nilerr // the call is resolved in the usual way, which refuses the argument
	}
	at := c.Args[0].Pos()
	epoch := &ast.Const{Kind: ast.String, Text: "epoch", At: at}
	seconds, err = c.resolver.Expr(&ast.Func{Name: "extract", Args: []ast.Expr{epoch, c.Args[0]}, At: at})
	if err != nil {
		return nil, false, err
	}
	c.shown = []scalar.Expr{seconds}
	return seconds, true, c.onNullRows(seconds)
}

func (f averageOf) resultType() (pgtype.Type, bool) { return f.result, false }

func (averageOf) reports() reports { return allReports }

func (f averageOf) specialize(c *collector) (estimator, error) {
	x, err := c.summedTerm(f.arg, false)
	if err == nil && !c.bounds.unique {
		x, err = c.coarse(x)
	}
	if err != nil {
		return nil, err
	}
	t, _ := f.resultType()
	out := averaged{of: x}
	switch {
	case c.bounds.single && x.values.low <= 0 && 0 <= x.values.high:
		err = out.ofUnits(c, f.overRow)
	case c.bounds.unique || !x.values.technical && (c.bounds.limit.fixed || x.values.high-x.values.low > maxOffset):
		err = out.aboutMiddle(c, f.overRow)
	default:
		err = out.aboutCentres(c, f.overRow)
	}
	return averageEstimator{estimated{out, t, x.values.digits + 6}, out}, err
}

// ofUnits sums the values themselves, within a limit of their own, if each unit has one row. No unit is left out of the count then, so the
// part that the limit leaves out of the sum bounds what it leaves out of the average.
func (a *averaged) ofUnits(c *collector, f overRow) error {
	a.alone = true
	var err error
	if a.sum, err = c.add(valueSum{summation{term: a.of}}, f.filter, f.at); err != nil {
		return err
	}
	a.count, err = c.valueCount(f.arg, f.filter, f.at)
	return err
}

// aboutMiddle sums distances from the middle of the bounds, which one row changes least.
func (a *averaged) aboutMiddle(c *collector, f overRow) error {
	m, count, err := c.countedBy(f.arg, f.filter, f.at)
	if err != nil {
		return err
	}
	a.count = count
	a.sum, err = c.addTo(m, centredSum{summation{term: a.of}}, f.filter, f.at)
	return err
}

// aboutCentres sums distances from one of several centres, which is chosen together with the limit of the sum. A unit needs only as much of
// the limit as its values are far from the centre. Each unit has the same weight in sum and count, so the quotient is a weighted mean.
func (a *averaged) aboutCentres(c *collector, f overRow) error {
	sum := newOffsetSum(a.of, c.Private())
	m := c.weighted(byCountAndSum{severalNorms{ofValues{f.arg, f.filter}}})
	m.Vectors = len(sum.centres)
	a.chosen = true
	var err error
	if a.count, err = c.addTo(m, c.countOf(f.arg), f.filter, f.at); err != nil {
		return err
	}
	a.sum, err = c.addTo(m, sum, f.filter, f.at)
	return err
}

// An averaged is an average as a quantity of its statistics.
type averaged struct {
	of         term
	sum, count int
	chosen     bool // the sum is about a centre that was chosen with the limit; otherwise about the middle of the bounds
	alone      bool // the sum is about zero, in whole steps, and has a limit of its own
}

func (a averaged) statistics() []int { return []int{a.sum, a.count} }

func (a averaged) countedBy() (statistic int, fewest int64) { return a.count, 1 }

func (a averaged) clamped() []term { return []term{a.of} }

// values returns all that is public about the sum, except a chosen centre.
func (a averaged) values() estimate.Values {
	v := a.of.centred()
	if a.alone {
		v.Centre, v.Unit = new(big.Rat), a.of.values.step
	}
	return v
}

// centre returns the chosen centre, in half steps.
func (a averaged) centre(r observation) int64 {
	s := r.statistics[a.sum]
	return s.statisticForm.(offsetSum).centres[r.clips[s.measure.at].Vector]
}

func (a averaged) estimator(r observation) estimate.Average {
	compute := func() estimate.Average {
		values := a.values()
		if a.chosen {
			values.Centre = new(big.Rat).Mul(new(big.Rat).SetInt64(a.centre(r)), values.Unit)
		}
		return must(estimate.NewAverage(values, r.noise(a.sum), r.noise(a.count), r.alpha))
	}
	if of, ok := r.noises(a.sum, a.count); ok {
		return r.cache.averages.get(of, compute)
	}
	return compute()
}

// leftOut bounds the parts of sum and count that limits leave out, if norms above a limit are distributed as they are below it. For a sum
// about the middle of the bounds nothing but the bounds is known.
func (a averaged) leftOut(r observation) (out estimate.LeftOut) {
	if a.alone {
		out.Less, out.More = r.beyond(a.sum)
		return out
	}
	if out.Rows = r.upTo(a.count); out.Rows == 0 {
		return out
	}
	if !a.chosen {
		out.Less, out.More = math.Inf(1), math.Inf(1)
		return out
	}
	centre, part := a.centre(r), r.upTo(a.sum)
	if 2*a.of.values.low < centre {
		out.Less = part
	}
	if centre < 2*a.of.values.high {
		out.More = part
	}
	return out
}

func (a averaged) value(r observation) *big.Rat {
	return a.estimator(r).Value(r.integer(a.sum), r.integer(a.count))
}

func (a averaged) interval(r observation) (estimate.Interval, bool) {
	return a.estimator(r).Interval(r.integer(a.sum), r.integer(a.count))
}

type averageEstimator struct {
	estimated
	averaged averaged
}

// ends widens the interval of the noise by the part that limits leave out, within the bounds of the values.
func (e averageEstimator) ends(r observation) (low, high float64) {
	low, high = e.estimated.ends(r)
	below, above := e.beyond(r)
	return e.averaged.estimator(r).Within(low-below, high+above)
}

// beyond implements limited.
func (e averageEstimator) beyond(r observation) (below, above float64) {
	a := e.averaged
	return a.estimator(r).Beyond(r.integer(a.sum), r.integer(a.count), a.leftOut(r))
}

// standardError is exact to first order in the noise: a quotient of two noisy numbers has no moments.
func (e averageEstimator) standardError(r observation) float64 {
	a := e.averaged
	sum, _ := new(big.Float).SetInt(r.integer(a.sum)).Float64()
	count, _ := new(big.Float).SetInt(r.integer(a.count)).Float64()
	count = math.Max(count, 1)
	unit := float(a.values().Unit)
	return unit * math.Hypot(r.noise(a.sum).StdDev(), sum/count*r.noise(a.count).StdDev()) / count
}
