package planner

import (
	"math"
	"math/big"
	"strconv"

	"dpproxy/estimate"
	"dpproxy/planner/pgtype"
)

// An estimator computes the value of an aggregate and its error from statistics that were
// released. It sees nothing else.
type estimator interface {
	// statistics are the indices of what the value is computed from, among those of the grouping set.
	statistics() []int
	// text writes the value as the input of its type takes it; nil is NULL.
	text(r observation) *string
	// number is the value, NaN for NULL.
	number(r observation) float64
	// ends are those of the interval that holds the value with the confidence of the release,
	// NaN where the value is NULL.
	ends(r observation) (low, high float64)
	// radius is the largest distance of the value from the ends of its interval.
	radius(r observation) float64
	// standardError is the standard deviation of the noise in the value.
	standardError(r observation) float64
	// linear says that the value is one statistic times a factor, so that its error does not
	// depend on the answer, and returns the absolute value of the factor.
	linear() (factor float64, ok bool)
	// clamped are the arguments whose values are clamped.
	clamped() []term
}

// An observation is what was released of one partition, and how sure an error is to be: it fails
// with probability alpha.
type observation struct {
	set *GroupingSet
	integers
	alpha float64
}

// observed is one partition of the grouping set as it was released.
func (p *GroupingSet) observed(row integers) observation { return observation{p, row, p.alpha} }

// integer returns the statistic of that index.
func (r observation) integer(statistic int) *big.Int {
	return r.ints[r.set.statistics[statistic].first]
}

// noise returns what is known of the noise of a statistic: by the mechanism, or by the chain
// that ended in the row.
func (r observation) noise(statistic int) estimate.Noise {
	s := r.set.statistics[statistic]
	if r.margins != nil {
		return r.margins[s.first]
	}
	return s.levels[0]
}

// A quantity is a number that is not linear in its statistics.
type quantity interface {
	statistics() []int
	// value is in the units of the result; nil is NULL.
	value(r observation) *big.Rat
	// interval holds the value; false where nothing bounds it.
	interval(r observation) (estimate.Interval, bool)
	clamped() []term
}

// An estimated is a quantity with the form in which it is shown.
type estimated struct {
	quantity
	result pgtype.Type
	digits int // of a numeric
}

func (estimated) linear() (float64, bool) { return 0, false }

func (e estimated) text(r observation) *string {
	v := e.value(r)
	if v == nil {
		return nil
	}
	s := numberText(v, e.result.OID, e.digits)
	return &s
}

func (e estimated) number(r observation) float64 { return float(e.value(r)) }

func (e estimated) radius(r observation) float64 {
	in, bounded := e.interval(r)
	if !bounded {
		return math.Inf(1)
	}
	v := e.value(r)
	if v == nil {
		v = in.Lower
	}
	return in.Radius(v)
}

func (e estimated) ends(r observation) (low, high float64) {
	value, radius := e.number(r), e.radius(r)
	return value - radius, value + radius
}

// standardError is what it would be if the interval were of a normal error.
func (e estimated) standardError(r observation) float64 { return e.radius(r) / normal(r.alpha) }

// normal is how many standard deviations a normal error exceeds with probability alpha.
func normal(alpha float64) float64 { return math.Sqrt2 * math.Erfinv(1-alpha) }

// float returns a number as a double, NaN for nil.
func float(v *big.Rat) float64 {
	if v == nil {
		return math.NaN()
	}
	f, _ := v.Float64()
	return f
}

// must returns an estimator: what the planner describes always has one.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err) //nolint:forbidigo // what is wrong was decided before the charge
	}
	return v
}

// numberText writes a number as a type's input takes it.
func numberText(v *big.Rat, oid uint32, digits int) string {
	switch oid {
	case pgtype.Int8:
		return clampInt64(pgtype.Floor(new(big.Rat).Add(v, big.NewRat(1, 2)))).String()
	case pgtype.Float4:
		f, _ := v.Float32()
		f = min(max(f, -math.MaxFloat32), math.MaxFloat32)
		return strconv.FormatFloat(float64(f), 'g', -1, 32)
	case pgtype.Float8:
		f, _ := v.Float64()
		f = min(max(f, -math.MaxFloat64), math.MaxFloat64)
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return v.FloatString(digits)
}

func clampInt64(n *big.Int) *big.Int {
	if n.IsInt64() {
		return n
	}
	if n.Sign() < 0 {
		return big.NewInt(math.MinInt64)
	}
	return big.NewInt(math.MaxInt64)
}
