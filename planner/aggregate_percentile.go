package planner

import (
	"math"
	"math/big"

	"dpproxy/estimate"
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// A percentileOf is percentile_cont or percentile_disc (fraction) WITHIN GROUP (ORDER BY x).
type percentileOf struct {
	overRow
	// fraction is the direct argument, a constant; array says that it is an array.
	fraction   scalar.Expr
	array      bool
	descending bool
	discrete   bool
}

func percentiles(discrete bool) function {
	return func(c *call) (form, error) {
		f := percentileOf{overRow: overRow{filter: c.filter, at: c.At}, descending: c.Descending, discrete: discrete}
		if c.Within == nil || len(c.Args) != 1 || !ast.ColumnFree(c.Args[0]) {
			return nil, pgerr.New(pgerr.NotAllowed, "%s needs constant fractions and WITHIN GROUP (ORDER BY ...) of one expression",
				c.Func).At(c.At)
		}
		var err error
		if f.arg, err = c.resolver.Expr(c.Within); err != nil {
			return nil, err
		}
		if f.fraction, f.array, err = c.resolver.Fractions(c.Args[0]); err != nil {
			return nil, err
		}
		c.shown = []scalar.Expr{f.arg}
		if err := c.plain(); err != nil {
			return nil, err
		}
		if !discrete {
			return f, c.check(f.arg, numbers)
		}
		if err := c.check(f.arg, ordered); err != nil {
			return nil, err
		}
		return f, wholeDomain(c, f.arg.Type()) // the result is of the domain, with its modifier
	}
}

func (f percentileOf) resultType() (pgtype.Type, bool) {
	if f.discrete {
		return f.arg.Type().Unmodified(), f.array
	}
	return pgtype.Of(pgtype.Float8), f.array
}

func (percentileOf) reports() reports { return endsOnly }

func (f percentileOf) specialize(c *collector) (estimator, error) {
	out := percentileEstimator{percentileOf: f}
	k, err := c.histogramOf(f.arg, f.filter, f.at)
	if err != nil {
		return nil, err
	}
	k.result, _ = f.resultType()
	out.ranked = k
	out.fractions, err = fractions(c.env, f.fraction)
	return out, err
}

// fractions reads the constants of a percentile.
func fractions(env *scalar.Env, x scalar.Expr) ([]*float64, error) {
	out, err := env.Floats(x)
	if err != nil {
		return nil, err
	}
	for _, f := range out {
		if f != nil && !(*f >= 0 && *f <= 1) {
			return nil, pgerr.New(pgerr.InvalidParameterValue, "percentile value %g is not between 0 and 1", *f).At(x.Pos())
		}
	}
	return out, nil
}

type percentileEstimator struct {
	percentileOf
	ranked
	fractions []*float64 // nil elements are NULL
}

// upwards returns the fraction in ascending order of the values.
func (e percentileEstimator) upwards(fraction float64) float64 {
	if e.descending {
		return 1 - fraction
	}
	return fraction
}

// rankError is computed once for all partitions.
func (e percentileEstimator) rankError(r observation, fraction float64) *estimate.RankError {
	q := e.upwards(fraction)
	of := estimatorOf{statistic: e.histogram, limit: r.limit(e.histogram), fraction: q, alpha: r.alpha}
	return r.cache.ranks.get(of, func() *estimate.RankError { return must(e.tree(r).RankError(q, r.alpha)) })
}

func (e percentileEstimator) text(r observation) *string {
	d := e.distribution(r)
	cells := make([]*string, len(e.fractions))
	for i, f := range e.fractions {
		if f != nil {
			cells[i] = e.quantile(d, e.upwards(*f))
		}
	}
	if !e.array {
		return cells[0]
	}
	s := ArrayText(cells)
	return &s
}

func (e percentileEstimator) quantile(d *estimate.Distribution, q float64) *string {
	if e.discrete {
		if x, ok := d.QuantileDisc(q); ok {
			return e.valueText(new(big.Rat).SetInt64(x))
		}
		return nil
	}
	if x, ok := d.Quantile(q); ok {
		return e.valueText(x)
	}
	return nil
}

// radius is the largest error of the values.
func (e percentileEstimator) radius(r observation) float64 {
	d, widest := e.distribution(r), 0.0
	for _, f := range e.fractions {
		if f == nil {
			continue
		}
		low, high := e.rankError(r, *f).Interval(d)
		x, ok := d.QuantileDisc(e.upwards(*f))
		widest = max(widest, e.distance(x, ok, low, high))
	}
	return widest
}

func (e percentileEstimator) ends(r observation) (low, high float64) {
	d := e.distribution(r)
	if _, ok := d.QuantileDisc(0.5); !ok || e.fractions[0] == nil {
		return math.NaN(), math.NaN()
	}
	return e.inUnits(e.rankError(r, *e.fractions[0]).Interval(d))
}
