package contribution

import (
	"fmt"
	"math"
	"math/big"

	"dpproxy/dp"
	"dpproxy/mechanisms"
)

// A Tail releases how many units a limit C cuts, how many are just below it, and how many others have anything:
//
//	b = (#{0 < N ≤ C/4}, #{C/4 < N ≤ C/2}, #{C/2 < N ≤ C}, #{N > C}) + noise.
//
// The guarantee is that of its noise for a vector of sensitivity 1: a unit is in one of the
// four at most, so that ℓ₁ = ℓ₂ = 1. A unit that has nothing is in none.
type Tail struct{ noise mechanisms.Mechanism }

// TailNumbers is how many numbers a [Tail] releases.
const TailNumbers = 4

// Places of the numbers of a tail.
const (
	farBelow = iota // has something, and at most C/4
	below           // at most C/2
	near            // at most C
	cut             // more than C
)

// NewTail returns the statement at the price of s.Tail.
func NewTail(m dp.Measure, s Shares) (Tail, error) {
	one := dp.Sensitivity{L0: 1, LInf: 1}
	if m == dp.PureDP {
		noise, err := mechanisms.LaplaceFor(one, s.Tail)
		return Tail{noise}, err
	}
	noise, err := mechanisms.GaussianFor(one, s.Tail)
	return Tail{noise}, err
}

// Event describes the statement, for a pricer.
func (t Tail) Event() dp.Event { return t.noise.Event() }

// String writes the statement for plans.
func (t Tail) String() string { return fmt.Sprintf("%d numbers, %v", TailNumbers, t.noise) }

// Numbers is how many a statement releases that may be nil, which is none.
func (t *Tail) Numbers() int {
	if t == nil {
		return 0
	}
	return TailNumbers
}

// Release draws the numbers. The caller must have charged Event, durably, before.
func (t Tail) Release(src mechanisms.Source, units [TailNumbers]mechanisms.Private) (b [TailNumbers]*big.Int) {
	for i, n := range units {
		b[i] = mechanisms.Release(t.noise, src, n).Int()
	}
	return b
}

// An Excess says what a limit C leaves out, by released numbers alone.
type Excess struct {
	// Units is about how many units are above the limit, AtMost how many at most: with
	// the asked confidence, without any assumption.
	Units, AtMost float64
	// About is about how much these units have beyond the limit, in the norm; UpTo is an
	// upper bound if numbers of units go on falling above C as they fall below it. Both are infinite
	// where too many units are above the limit, and where Few.
	About, UpTo float64
	// Few says that hardly any units are near a limit that was chosen: nothing is seen to fall.
	Few bool
}

// Bounds of the mean excess of a cut unit, in C. That of a Pareto tail of the exponent α is
// 1/(α−1); one below 2 has hardly a mean, and one above 3 is no tail.
const (
	leastTail = 0.5
	mostTail  = 2
)

// Excess reads b, of the limit C, at a confidence from 0.5 to below 1. The local
// exponent of the tail is α = log₂((b₂ + m)/m), b₂ the units between C/2 and C, of pessimistic numbers for the upper bound, and
// of the likeliest for the estimate. A limit that was chosen is where many units are, or else the least
// one, whatever units have: one that no units are seen to be near says nothing of those above.
func (t Tail) Excess(limit float64, b [TailNumbers]*big.Int, confidence float64, chosen bool) Excess {
	just, over := positive(b[near]), positive(b[cut])
	most := over + t.oneSided(confidence)
	e := Excess{Units: over, AtMost: most, About: math.Inf(1), UpTo: math.Inf(1)}
	e.Few = chosen && t.few(b)
	if e.Few || over > surely*t.noise.StdDev() && (just < falling*over || over > many*sum(b)) {
		return e
	}
	e.About = over * limit * meanExcess(just, math.Max(over, 1))
	e.UpTo = most * limit * meanExcess(just, most)
	if most > many*sum(b) {
		e.UpTo = most * limit * mostTail
	}
	return e
}

// few reports whether it may be chance that units are seen near a limit. Of few units who have something that takes more.
func (t Tail) few(b [TailNumbers]*big.Int) bool {
	all, beside := new(big.Int), new(big.Int).Add(b[below], b[near])
	for _, n := range b {
		all.Add(all, n)
	}
	deviations := float64(surely)
	if units, _ := new(big.Float).SetInt(all).Float64(); units < seen*math.Sqrt(TailNumbers)*t.noise.StdDev() {
		deviations = seen
	}
	n, _ := new(big.Float).SetInt(beside).Float64()
	return n < deviations*math.Sqrt2*t.noise.StdDev()
}

// sum is about how many units have something.
func sum(b [TailNumbers]*big.Int) (all float64) {
	for _, n := range b {
		all += positive(n)
	}
	return all
}

// oneSided is the most that a number is below its exact one, at a confidence.
func (t Tail) oneSided(confidence float64) float64 { return t.noise.Quantile(2 * (1 - confidence)) }

// seen is how many standard deviations of a number of units are more than chance. Of few people who all have more than a limit,
// fewer than one interval in four thousand has an end. Of many people, who are seen, so much would leave one interval in eight
// without an end.
const seen = 3.5

// Units are surely there from so many standard deviations of their number on. Where that holds of those above
// the limit, and those just below it are fewer than such a part of them, most units are above the limit: nothing
// bounds the part that it leaves out. Nor does anything if they are more than many of all that have something: they are not the end of
// a tail, and from a lump below the limit, such as of units with one row, nothing follows for them. If they only may be so many, they are
// taken to have as much as a tail can.
const (
	surely  = 2
	falling = 0.2
	many    = 0.05
)

// mostCut is the largest part that a chosen limit may leave out of an answer: of the units that have anything, and of their sum.
const mostCut = 0.1

// Loses reports whether b tells, at a confidence, that a limit leaves out more than a tenth: of the units that have
// something, and of their sum, as far as the numbers bound it. A sum of the rest is no answer.
//
// With s = 1/10, b₃ − s·Σb is above 0 by more than its noise, of the variance ((1−s)² + 3s²)·σ². Units have at most C/4, C/2
// and C in the first places, and C of the last one counts. Beyond it these have at least as much as meanExcess says, at the lower end
// of their number and of the steepest tail that b allows.
func (t Tail) Loses(b [TailNumbers]*big.Int, confidence float64) bool {
	all, n := 0.0, [TailNumbers]float64{}
	for i := range b {
		n[i], _ = new(big.Float).SetInt(b[i]).Float64()
		all += n[i]
	}
	const s = mostCut
	half := t.oneSided(confidence)
	if n[cut]-s*all <= half*math.Sqrt((1-s)*(1-s)+(TailNumbers-1)*s*s) {
		return false
	}
	for i := range n {
		n[i] = math.Max(n[i], 0)
	}
	over := n[cut] - half
	lost := over * meanExcess(n[near]+half, over)
	counted := n[farBelow]/4 + n[below]/2 + n[near] + n[cut]
	return lost > s*(counted+lost)
}

// Surely returns how many units are above the limit almost surely.
func (t Tail) Surely(b [TailNumbers]*big.Int) int64 {
	return int64(math.Max(positive(b[cut])-surely*t.noise.StdDev(), 0))
}

// meanExcess returns μ, the mean of (N−C)/C over units above C, if the tail has the local
// exponent α that the numbers of units between C/2 and C and above C give.
func meanExcess(near, above float64) float64 {
	if above <= 0 {
		return 1 / float64(mostTail)
	}
	alpha := math.Log2((near + above) / above)
	return 1 / math.Min(math.Max(alpha-1, leastTail), mostTail)
}

// positive returns a released number, or 0 if it is negative.
func positive(n *big.Int) float64 {
	f, _ := new(big.Float).SetInt(n).Float64()
	return math.Max(f, 0)
}

// Spread divides an upper bound of an excess among groups, in proportion to their answers: U·p_g/‖p‖₂,
// p_g = max(0, answer_g). It assumes that the cut units are spread over groups as all are.
func Spread(upTo float64, answers []float64) []float64 {
	square := 0.0
	for _, a := range answers {
		square += math.Max(a, 0) * math.Max(a, 0)
	}
	parts := make([]float64, len(answers))
	for i, a := range answers {
		if square > 0 {
			parts[i] = upTo * math.Max(a, 0) / math.Sqrt(square)
		}
	}
	return parts
}
