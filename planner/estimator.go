package planner

import (
	"math"
	"math/big"

	"dpproxy/estimate"
	"dpproxy/planner/pgtype"
)

// An estimator computes the value of an aggregate and its error from released statistics, and from nothing else.
type estimator interface {
	// statistics are the indices, in the grouping set, of the statistics from which the value is computed.
	statistics() []int
	// text writes the value as input for its type; nil is NULL.
	text(r observation) *string
	// number is the value, or NaN for NULL.
	number(r observation) float64
	// ends are the ends of the interval that contains the value with the confidence of the observation, or NaN if the value is NULL.
	ends(r observation) (low, high float64)
	// radius is the distance from the value to the farther end of its interval.
	radius(r observation) float64
	// standardError is the standard deviation of the noise in the value.
	standardError(r observation) float64
	// linear reports whether the value is a statistic times a factor, so that its error does not depend on the answer, and returns the
	// absolute value of the factor.
	linear() (factor float64, ok bool)
	// clamped are the arguments whose values are clamped.
	clamped() []term
}

// An observation is the released row of a partition, and a probability alpha with which an error may fail.
type observation struct {
	statistics []*statistic
	cache      *estimators
	integers
	alpha float64
}

// integer returns the first released integer of a statistic.
func (r observation) integer(statistic int) *big.Int {
	return r.ints[r.statistics[statistic].first]
}

// noise returns the distribution of the noise of a statistic: by its mechanism, by the noise reduction that ended in the row, or after
// totals were made to agree.
func (r observation) noise(statistic int) estimate.Noise {
	s := r.statistics[statistic]
	if r.margins != nil {
		return r.margins[s.first]
	}
	if r.agreed != nil && r.agreed[statistic] != nil {
		return r.agreed[statistic]
	}
	return s.noiseAt(0, r.clips)
}

// limit returns the level of the limit to which the measure of a statistic was cut.
func (r observation) limit(statistic int) int {
	if m := r.statistics[statistic].measure; m != nil {
		return r.clips[m.at].Levels[0]
	}
	return 0
}

// A quantity is a number that need not be linear in its statistics.
type quantity interface {
	statistics() []int
	// value is in the unit of the result; nil is NULL.
	value(r observation) *big.Rat
	// interval contains the value; it is false if nothing bounds the value.
	interval(r observation) (estimate.Interval, bool)
	clamped() []term
	// countedBy returns the statistic that counts the rows of the value, and the fewest rows for which there is a value.
	countedBy() (statistic int, fewest int64)
}

// An estimated is a quantity with its result type.
type estimated struct {
	quantity
	result pgtype.Type
	digits int // decimals of a numeric
}

func (estimated) linear() (float64, bool) { return 0, false }

func (e estimated) text(r observation) *string {
	v := e.value(r)
	if v == nil {
		return nil
	}
	s := e.written(v)
	return &s
}

func (e estimated) written(value *big.Rat) string { return numberText(value, e.result.OID, e.digits) }

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
	half := r.half(statistic)
	return rows - half, rows + half, float64(least)
}

// standardError is the standard deviation of a normal error with the same interval.
func (e estimated) standardError(r observation) float64 { return e.radius(r) / normal(r.alpha) }

// normal returns the number of standard deviations that a normal error exceeds in absolute value with probability alpha.
func normal(alpha float64) float64 { return estimate.NormalQuantile(alpha) }
