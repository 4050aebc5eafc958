package planner

import (
	"math"
	"math/big"

	"dpproxy/estimate"
	"dpproxy/planner/pgtype"
)

// An estimator computes the value of an aggregate and its error from statistics that were
// released. It sees nothing else.
type estimator interface {
	// statistics are the indices of those that the value is computed from, in the grouping set.
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

// An observation is the released row of one partition, and how sure an error is to be: it fails
// with probability alpha.
type observation struct {
	statistics []*statistic
	cache      *estimators
	integers
	alpha float64
}

// integer returns the statistic of that index.
func (r observation) integer(statistic int) *big.Int {
	return r.ints[r.statistics[statistic].first]
}

// noise returns the distribution of the noise of a statistic, as far as it is known: by the
// mechanism, or by the noise reduction that ended in the row.
func (r observation) noise(statistic int) estimate.Noise {
	s := r.statistics[statistic]
	if r.margins != nil {
		return r.margins[s.first]
	}
	return s.noiseAt(0, r.clips)
}

// limit returns the level of the limit that the measure of a statistic was cut to.
func (r observation) limit(statistic int) int {
	if m := r.statistics[statistic].measure; m != nil {
		return r.clips[m.at].Levels[0]
	}
	return 0
}

// A quantity is a number that is not linear in its statistics.
type quantity interface {
	statistics() []int
	// value is in the units of the result; nil is NULL.
	value(r observation) *big.Rat
	// interval holds the value; false where nothing bounds it.
	interval(r observation) (estimate.Interval, bool)
	clamped() []term
	// countedBy returns the statistic that counts the rows of the value, and the fewest rows that have
	// one.
	countedBy() (statistic int, fewest int64)
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

// rows implements rowed.
func (e estimated) rows(r observation) (low, high, fewest float64) {
	statistic, least := e.countedBy()
	rows, _ := new(big.Float).SetInt(r.integer(statistic)).Float64()
	half := r.noise(statistic).Quantile(r.alpha)
	return rows - half, rows + half, float64(least)
}

// standardError is that of a normal error with the same interval.
func (e estimated) standardError(r observation) float64 { return e.radius(r) / normal(r.alpha) }

// normal is how many standard deviations a normal error exceeds with probability alpha.
func normal(alpha float64) float64 { return math.Sqrt2 * math.Erfinv(1-alpha) }
