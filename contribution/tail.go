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
// The guarantee is the guarantee of its noise for a vector of sensitivity 1: a unit counts in at most one of the four numbers, so that ℓ₁ =
// ℓ₂ = 1. A unit that has nothing counts in none.
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

// NewTail returns a Tail that costs s.Tail.
func NewTail(m dp.Measure, s Shares) (Tail, error) {
	one := dp.Sensitivity{L0: 1, LInf: 1}
	if m == dp.PureDP {
		noise, err := mechanisms.LaplaceFor(one, s.Tail)
		return Tail{noise}, err
	}
	noise, err := mechanisms.GaussianFor(one, s.Tail)
	return Tail{noise}, err
}

// Event describes the Tail, for a pricer.
func (t Tail) Event() dp.Event { return t.noise.Event() }

// String writes the Tail for plans.
func (t Tail) String() string { return fmt.Sprintf("%d numbers, %v", TailNumbers, t.noise) }

// Numbers is how many numbers a Tail releases; a nil Tail releases none.
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

// An Excess says what a limit C leaves out, according to released numbers alone.
type Excess struct {
	// Units is about how many units are above the limit. AtMost is how many there are at most, with the asked confidence and without any
	// assumption.
	Units, AtMost float64
	// About is about how much these units have beyond the limit, in the norm. UpTo is an upper bound, if the numbers of units go on falling
	// above C as they fall below it. Both are infinite if too many units are above the limit, or if Few is set.
	About, UpTo float64
	// Few says that hardly any units are near a limit that was chosen, so that no fall of their numbers is seen.
	Few bool
}

// Bounds of the mean excess of a cut unit, in C. A Pareto tail of the exponent α has the mean excess 1/(α−1). A tail with an exponent below
// 1.5 hardly has a mean, and with an exponent above 3 it is no tail.
const (
	leastTail = 0.5
	mostTail  = 2
)

// Excess reads the numbers b of the limit C, at a confidence from 0.5 to below 1. The local exponent of the tail is α = log₂((b₂ + m)/m),
// with b₂ the units between C/2 and C, and m the units above C. The upper bound uses pessimistic numbers, and the estimate the likeliest
// ones. A chosen limit is near many units, or it is the smallest limit, whatever units have. So if no units are seen near it, it says
// nothing about the units above it.
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

// few reports whether the units that are seen near a limit may be chance. If few units have something, that takes more deviations.
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

// oneSided is the most by which a number is below its exact number, at a confidence.
func (t Tail) oneSided(confidence float64) float64 { return t.noise.Quantile(2 * (1 - confidence)) }

// seen is by how many standard deviations a number of units must exceed 0 to be more than chance. For few people who all have more than a
// limit, fewer than one interval in four thousand then has an end. For many people, whose number is seen anyway, so many deviations would
// leave one interval in eight without an end.
const seen = 3.5

// Units are surely there if their number is at least surely standard deviations. Let this hold of the units above the limit. If the units
// just below it are fewer than the part falling of them, most units are above the limit, and nothing bounds the part that it leaves out.
// Nothing bounds it either if the units above are more than the part many of all units that have something. They are not the end of a tail,
// and a lump below the limit, such as units with one row, says nothing about them. If they may only be so many, they are taken to have as
// much as a tail can.
const (
	surely  = 2
	falling = 0.2
	many    = 0.05
)

// mostCut is the largest part that a chosen limit may leave out of an answer: of the units that have anything, and of their sum.
const mostCut = 0.1

// Loses reports whether b shows, at a confidence, that a limit leaves out too much: more than a tenth of the units that have something, and
// more than a tenth of their sum, as far as the numbers bound it. The sum of the rest would be no answer.
//
// With s = 1/10, it tests whether b₃ − s·Σb is above 0 by more than its noise, of the variance ((1−s)² + 3s²)·σ². The units of the first
// three numbers have at most C/4, C/2 and C, and each unit of the last number counts with C. Beyond C these units have at least as much as
// meanExcess says, for the lower end of their number and the steepest tail that b allows.
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

// meanExcess returns μ, the mean of (N−C)/C over units above C. It assumes that the tail has the local exponent α that follows from the
// numbers of units between C/2 and C and above C.
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

// Spread divides an upper bound of an excess among groups, in proportion to their answers: U·p_g/‖p‖₂, with p_g = max(0, answer_g). It
// assumes that the cut units are spread over groups as all units are.
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
