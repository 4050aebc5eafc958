package planner

import (
	"math"
	"math/big"

	"dpproxy/estimate"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// Sizes of histograms: the buckets of a partition, and of all partitions. Each bucket is a number to draw and to keep, and refines ranks
// only down to the noise.
const (
	maxBuckets   = 4096
	minBuckets   = 64
	branching    = 16
	maxAllLeaves = 1 << 18
)

// histogramOf returns the statistic from which percentiles, MIN and MAX are read: a tree of counts over the bounds of an argument.
func (c *collector) histogramOf(x, filter scalar.Expr, at int) (ranked, error) {
	t, err := c.clampedTerm(x) // values are counted, not summed
	if err != nil {
		return ranked{}, err
	}
	buckets := maxBuckets
	if c.size > 0 {
		buckets = min(maxBuckets, max(minBuckets, maxAllLeaves/c.size))
	}
	shape, err := t.cut(buckets, branching)
	if err != nil {
		return ranked{}, tooWide(at)
	}
	i, err := c.add(histogram{t, shape}, filter, at)
	return ranked{of: t, shape: shape, histogram: i}, err
}

// A ranked is the common part of estimators that read values from a histogram.
type ranked struct {
	of        term
	shape     estimate.Shape
	histogram int
	result    pgtype.Type
}

func (k ranked) statistics() []int { return []int{k.histogram} }

func (k ranked) clamped() []term { return []term{k.of} }

func (ranked) linear() (float64, bool) { return 0, false }

// number is NaN: the value may be a date.
func (ranked) number(observation) float64 { return math.NaN() }

// standardError is NaN: the noise is in ranks.
func (ranked) standardError(observation) float64 { return math.NaN() }

// tree returns the estimator of quantiles.
func (k ranked) tree(r observation) *estimate.Tree {
	s := r.statistics[k.histogram]
	noise := make([]estimate.Noise, len(s.shape()))
	for i := range noise {
		noise[i] = s.noiseAt(i, r.clips)
	}
	return must(estimate.NewTree(k.shape, noise, nil))
}

// rows implements rowed: it adds up the first level of the tree.
func (k ranked) rows(r observation) (low, high, fewest float64) {
	of := estimatorOf{statistic: k.histogram, limit: r.limit(k.histogram), alpha: r.alpha}
	half := r.cache.totals.get(of, func() float64 { return must(k.tree(r).TotalError(r.alpha)) })
	total, at := new(big.Int), r.statistics[k.histogram].first
	for _, n := range r.ints[at : at+k.shape.Nodes(0)] {
		total.Add(total, n)
	}
	rows, _ := new(big.Float).SetInt(total).Float64()
	return rows - half, rows + half, 1
}

// distribution fits a distribution to the counts of a partition.
func (k ranked) distribution(r observation) *estimate.Distribution {
	var counts [][]*big.Int
	at := r.statistics[k.histogram].first
	for level := range k.shape.Levels() {
		n := k.shape.Nodes(level)
		counts = append(counts, r.ints[at:at+n])
		at += n
	}
	return must(k.tree(r).Fit(counts, nil))
}

// valueText writes a value given in steps of the lattice.
func (k ranked) valueText(x *big.Rat) *string {
	var s string
	switch k.result.Family() { //nolint:exhaustive // numbers follow
	case pgtype.DateFamily, pgtype.InstantFamily:
		n, _ := toInt64(pgtype.Floor(x))
		s = k.result.DateText(n)
	case pgtype.IntFamily:
		s = pgtype.Floor(x).String()
	default:
		s = numberText(new(big.Rat).Mul(x, k.of.values.step), k.result.OID, k.of.values.digits)
	}
	return &s
}

// distance returns the distance from x, or from low if ok is false, to the farther end of an interval, in the unit of errors.
func (k ranked) distance(x int64, ok bool, low, high int64) float64 {
	if !ok {
		x = low
	}
	return (max(float64(high)-float64(x), float64(x)-float64(low)) + k.rounded()) * k.stepOfErrors()
}

// stepOfErrors returns one step of the lattice in the unit of errors.
func (k ranked) stepOfErrors() float64 {
	if k.result.Dated() && k.result.OID != pgtype.Date {
		return 1e-6 // in seconds
	}
	return float(k.of.values.step)
}

// inUnits converts an interval of lattice integers to the unit of the values.
func (k ranked) inUnits(low, high int64) (float64, float64) {
	step := float(k.of.values.step)
	return (float64(low) - k.rounded()) * step, (float64(high) + k.rounded()) * step
}

// rounded is how far a value may be from its integer, in steps.
func (k ranked) rounded() float64 {
	if k.of.values.rounds {
		return 0.5
	}
	return 0
}

// An extremeOf is MIN or MAX.
type extremeOf struct {
	overRow
	least bool
}

// extremes resolves MIN or MAX. DISTINCT makes no difference to them.
func extremes(least bool) function {
	return func(c *call) (form, error) {
		x, err := c.argument()
		if err != nil {
			return nil, err
		}
		return extremeOf{overRow{x, c.filter, c.At}, least}, c.check(x, ordered)
	}
}

func (f extremeOf) resultType() (pgtype.Type, bool) { return f.arg.Type().Unmodified(), false }

func (extremeOf) reports() reports { return endsOnly }

func (f extremeOf) specialize(c *collector) (estimator, error) {
	k, err := c.histogramOf(f.arg, f.filter, f.at)
	k.result, _ = f.resultType()
	return extremeEstimator{k, f.least}, err
}

type extremeEstimator struct {
	ranked
	least bool
}

// estimator is computed once for all partitions.
func (e extremeEstimator) estimator(r observation) *estimate.Extreme {
	of := estimatorOf{statistic: e.histogram, limit: r.limit(e.histogram), least: e.least, alpha: r.alpha}
	return r.cache.extremes.get(of, func() *estimate.Extreme { return e.estimatorOf(r) })
}

func (e extremeEstimator) estimatorOf(r observation) *estimate.Extreme {
	if e.least {
		return must(e.tree(r).Min(r.alpha))
	}
	return must(e.tree(r).Max(r.alpha))
}

func (e extremeEstimator) text(r observation) *string {
	x, ok := e.estimator(r).Value(e.distribution(r))
	if !ok {
		return nil
	}
	return e.valueText(new(big.Rat).SetInt64(x))
}

func (e extremeEstimator) radius(r observation) float64 {
	d := e.distribution(r)
	x, ok := e.estimator(r).Value(d)
	low, high := e.estimator(r).Interval(d)
	return e.distance(x, ok, low, high)
}

func (e extremeEstimator) ends(r observation) (low, high float64) {
	d := e.distribution(r)
	if _, ok := e.estimator(r).Value(d); !ok {
		return math.NaN(), math.NaN()
	}
	return e.inUnits(e.estimator(r).Interval(d))
}

// wholeDomain refuses a domain with a type modifier.
func wholeDomain(c *call, t pgtype.Type) error {
	if t.Domain.Name == "" || t.Mod < 0 {
		return nil
	}
	return pgerr.New(pgerr.NotAllowed, "%s over a domain is not supported on protected data", c.Func).At(c.At).
		WithHint("Cast the value to the type below the domain, as in CAST(x AS numeric).")
}
