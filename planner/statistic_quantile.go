package planner

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"dpproxy/dp"
	"dpproxy/estimate"
	"dpproxy/mechanisms"
)

// A fraction is a/c in lowest terms, 0 ≤ a ≤ c.
type fraction struct{ a, c int64 }

// leastFraction is the denominator of fractions without a short decimal form.
const leastFraction = 1_000_000

// fractionOf returns the fraction of a number from 0 to 1: its decimals, or, if they have too many digits, the nearest millionth strictly
// between 0 and 1.
func fractionOf(q float64) fraction {
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(q, 'g', -1, 64))
	if !ok || r.Denom().Cmp(big.NewInt(leastFraction)) > 0 {
		millionths := min(max(math.Round(q*leastFraction), 1), leastFraction-1)
		r = big.NewRat(int64(millionths), leastFraction)
	}
	return fraction{r.Num().Int64(), r.Denom().Int64()}
}

// String writes the fraction exactly.
func (f fraction) String() string { return fmt.Sprintf("%d/%d", f.a, f.c) }

func (f fraction) compare(other fraction) int { return cmp.Compare(f.a*other.c, other.a*f.c) }

// worst is the largest change of a score by one unit, per unit of its weight.
func (f fraction) worst() int64 { return max(f.a, f.c-f.a) }

// An aim is the row that one choice looks for: the row of a percentile, or a row so far from it by rank that the chosen bucket is an end of
// an interval that contains the percentile.
type aim struct {
	fraction
	// end is 0 for the percentile itself, −1 for the lower end and 1 for the upper end.
	end int
}

// extreme reports whether the fraction is 0 or 1. For these, only a row within the minimum and the maximum can be found; the outer end of
// the interval is the bound of the values.
func (f fraction) extreme() bool { return f.a == 0 || f.a == f.c }

// aims returns the choices for a percentile of the fraction, without ends if its error is not asked for.
func (f fraction) aims(ends bool) []aim {
	switch {
	case f.a == 0:
		return []aim{{f, 1}}
	case f.a == f.c:
		return []aim{{f, -1}}
	case !ends:
		return []aim{{f, 0}}
	}
	return []aim{{f, -1}, {f, 0}, {f, 1}}
}

// String names the row.
func (a aim) String() string {
	of := a.fraction.String()
	switch a.a {
	case 0:
		of = "the least"
	case a.c:
		of = "the greatest"
	}
	switch a.end {
	case -1:
		return "below " + of
	case 1:
		return "above " + of
	}
	return of
}

// quantiles are buckets of an argument that contain its quantiles, and ends of intervals around these.
type quantiles struct {
	histogram
	aims []aim
	// alpha is the probability with which an interval with both ends may miss.
	alpha float64
}

// maxChosen and minChosen bound the buckets of a partition, maxAllChosen the buckets of all partitions, and privateChosen those of a
// private group. Four times as many buckets add ln 4 to the logarithm in the error.
const (
	maxChosen     = 1 << 14
	minChosen     = 1 << 8
	maxAllChosen  = 1 << 16
	privateChosen = 1 << 12
)

// bucketsOf returns the buckets for a number of public groups; 0 stands for private groups.
func bucketsOf(t term, groups int) (estimate.Shape, error) {
	buckets := privateChosen
	if groups > 0 {
		buckets = min(maxChosen, max(minChosen, maxAllChosen/groups))
	}
	return t.cut(buckets, max(buckets, 2))
}

// String names the statistic.
func (f quantiles) String() string {
	parts := make([]string, len(f.aims))
	for i, a := range f.aims {
		parts[i] = a.String()
	}
	return fmt.Sprintf("choice of a bucket of %s for %s, of %s", describe(f.arg), strings.Join(parts, ", "), f.grid())
}

func (f quantiles) choices() int { return len(f.aims) }

func (f quantiles) question() string {
	at := ""
	if slices.ContainsFunc(f.aims, func(a aim) bool { return a.end != 0 }) { // the confidence determines where ends are looked for
		at = fmt.Sprintf(" at %v", f.alpha)
	}
	if of := f.tree.Doubling(); of != nil {
		return fmt.Sprintf("of %d buckets from %d, %d of each doubling from %d up to %d: %v%s",
			f.tree.Buckets(), f.values.low, of.Buckets, of.Pivot, f.tree.Width(), f.aims, at)
	}
	return fmt.Sprintf("of %d buckets of %d from %d: %v%s", f.tree.Buckets(), f.tree.Width(), f.values.low, f.aims, at)
}

func (f quantiles) chooser(i int, limit, epsilonPico int64, _ bool) (Chooser, error) {
	a := f.aims[i]
	if a.end == 0 {
		return mechanisms.NewQuantile(limit, a.a, a.c, epsilonPico)
	}
	target := math.Ceil(f.margin(i, float64(epsilonPico)/dp.PicoPerUnit)*float64(a.c)*float64(limit)) + 1
	if !(target < mostTarget) {
		return nil, mechanisms.ErrParameter
	}
	return mechanisms.NewQuantileBeside(limit, a.a, a.c, int64(a.end)*int64(target), epsilonPico)
}

// mostTarget bounds the distance of an end from the percentile, in units of the score.
const mostTarget = 1 << 61

// margin is the distance from the percentile at which an end is looked for, in units of the limit: the error of its choice, which it
// exceeds with the error probability of an end, plus one row. Then no row of the percentile is beyond the chosen bucket: a row in bucket k
// has D(k) ≤ c−a rows and D(k+1) ≥ −a rows ([estimate.RankError]).
func (f quantiles) margin(i int, epsilon float64) float64 {
	a := f.aims[i]
	return f.missed(i, epsilon, f.alpha) + float64(a.worst())/float64(a.c)
}

// missed is 2·max(a, c−a)·ln(B/α)/ε in scores, with c scores per row: the distance of a choice from the row that it looks for. Each of two
// ends of an interval has half of α.
func (f quantiles) missed(i int, epsilon, alpha float64) float64 {
	a := f.aims[i]
	if a.end != 0 && !a.extreme() {
		alpha /= 2
	}
	return 2 * float64(a.worst()) / float64(a.c) * math.Log(float64(f.tree.Buckets())/alpha) / epsilon
}

func (f quantiles) weight() (most int64) {
	for _, a := range f.aims {
		most = max(most, a.worst())
	}
	return most
}

// Weights of noise: for a median, and the largest for any percentile.
const (
	medianWeight = 20
	tailWeight   = 200
)

// noiseWeight grows with the odds of a row being on the longer side: the error of a choice is proportional to that side, and no row of the
// shorter side must be missed. The percentiles of an argument share one limit, with the geometric mean of their weights.
func (f quantiles) noiseWeight() float64 {
	sum := 0.0
	for _, a := range f.aims {
		odds := float64(a.worst()) / float64(a.c-a.worst())
		sum += math.Log(math.Min(medianWeight*math.Sqrt(odds), tailWeight))
	}
	return math.Exp(sum / float64(len(f.aims)))
}

// unlikely is the error of a choice, and for an end the margin in addition.
func (f quantiles) unlikely(i int, epsilon, alpha float64) float64 {
	if f.aims[i].end == 0 {
		return f.missed(i, epsilon, alpha)
	}
	return f.margin(i, epsilon) + f.missed(i, epsilon, alpha)
}
