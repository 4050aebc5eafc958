package mechanisms

import (
	"fmt"
	"math"
	"math/big"

	"dpproxy/dp"
)

// choicePrecision is the precision, in bits, with which a choice begins. With
// fewer than 2²⁴ candidates and any weights it is too low with probability below
// 2⁻⁶⁴, and then doubled.
const choicePrecision = 192

// Exponential is the exponential mechanism, which chooses one of n candidates by
// their private scores:
//
//	P(i) ∝ wᵢ·exp(ε·sᵢ/(2Δ)), or wᵢ·exp(ε·sᵢ/Δ) where scores are monotone.
//
// The weights wᵢ are public integers, scores are integers of which one privacy
// unit changes each by at most Δ. They are monotone if a unit that is added
// changes all of them in the same direction (or not), as it does counts.
//
// The guarantee: ln(P(i)/P′(i)), for the laws P and P′ of two neighbours, lies for
// all i in an interval of width ε that holds 0. So the choice is ε-DP
// [McSherry-Talwar 2007], and by its bounded range ε²/8-zCDP
// [Dong-Durfee-Rogers 2020, Cesar-Rogers 2021].
//
// The caller must ensure that Δ holds for the exact scores, that the number of
// candidates, their meaning and their weights do not depend on protected rows,
// and that scores claimed to be monotone are. Scores and Δ that are rational are
// multiplied by a common denominator, and so are the weights.
//
// The sampler inverts the distribution function. It encloses the weights by
// integers rounded both ways, and compares the bits of one uniform number with
// their sums; where the enclosures are too wide to tell, it makes them narrower
// and draws more bits of the same number. No data makes it slow: the time grows
// with the number of candidates, with that of different scores, and with the
// digits of scores, and so it depends on the scores a little.
type Exponential struct {
	selection
	start  powers
	coarse func() *coarse
}

// A selection has the parts that the mechanisms that choose among scored candidates share.
type selection struct {
	epsilon  *big.Rat
	rate     *big.Rat // ε/(2Δ), or ε/Δ
	delta    int64
	monotone bool
}

func newSelection(delta int64, monotone bool, epsilonPico int64) (selection, error) {
	if delta < 1 {
		return selection{}, fmt.Errorf("%w: sensitivity %d of a score", ErrParameter, delta)
	}
	epsilon, err := pureEpsilon(epsilonPico)
	if err != nil {
		return selection{}, err
	}
	rate := new(big.Rat).Quo(epsilon, new(big.Rat).SetInt64(delta))
	if !monotone {
		rate.Mul(rate, big.NewRat(1, 2))
	}
	return selection{epsilon, rate, delta, monotone}, nil
}

// pureEpsilon returns epsilonPico·10⁻¹² if that is an ε that a ledger can hold.
func pureEpsilon(epsilonPico int64) (*big.Rat, error) {
	if epsilonPico < 1 || epsilonPico > dp.MaxPico {
		return nil, fmt.Errorf("%w: ε = %d·10⁻¹²", ErrParameter, epsilonPico)
	}
	return big.NewRat(epsilonPico, dp.PicoPerUnit), nil
}

// describe writes the parameters for plans.
func (s selection) describe(name string) string {
	epsilon, _ := s.epsilon.Float64()
	text := fmt.Sprintf("%s epsilon=%.6g sensitivity=%d", name, epsilon, s.delta)
	if s.monotone {
		text += " monotone"
	}
	return text
}

// NewExponential returns the mechanism for scores of sensitivity delta ≥ 1, at
// ε = epsilonPico·10⁻¹².
func NewExponential(delta int64, monotone bool, epsilonPico int64) (Exponential, error) {
	s, err := newSelection(delta, monotone, epsilonPico)
	if err != nil {
		return Exponential{}, err
	}
	p := newPowers(s.rate, choicePrecision)
	return Exponential{s, p, newCoarse(p)}, nil
}

// Event describes one choice, for a pricer.
func (e Exponential) Event() dp.Event {
	return dp.BoundedRangeEvent{Epsilon: new(big.Rat).Set(e.epsilon)}
}

// String writes the mechanism for plans.
func (e Exponential) String() string { return e.describe("exponential") }

// Select draws the index of a candidate, which a client may see. Weights are at
// least 1; nil means that all are 1. The caller must have charged Event, durably,
// before. An error says that the weights do not fit, and nothing about scores.
//
// The lengths of the intervals between private values are no public weights: for
// those there is SelectPoint.
func (e Exponential) Select(src Source, weights []uint64, scores []Private) (int, error) {
	if err := checkWeights(weights, len(scores)); err != nil {
		return 0, err
	}
	if weights == nil {
		weights = equalWeights(len(scores))
	}
	return e.choose(src, e.start, weights, distancesOf(scores)), nil
}

// SelectPoint draws one of the integers from lower to upper−1, all of weight 1,
// which are the candidates. Their scores are constant between the private cuts:
// scores[i] belongs to the points from cuts[i−1] to cuts[i]−1, so that there is
// one score more than there are cuts. Cuts ascend; one outside the public bounds,
// or below the cut before, is moved to the nearest place that is not. The caller
// must have charged Event, durably, before; the time depends on the number of cuts.
//
// With the data as cuts and −|i − q·n| as score i, it is the mechanism for the
// q-quantile of [Smith 2011].
func (e Exponential) SelectPoint(src Source, lower, upper int64, cuts, scores []Private) (Released, error) {
	switch {
	case lower >= upper:
		return Released{}, fmt.Errorf("%w: no point from %d to below %d", ErrParameter, lower, upper)
	case len(scores) != len(cuts)+1:
		return Released{}, fmt.Errorf("%w: cuts and scores do not fit each other", ErrParameter)
	}
	begin := big.NewInt(lower)
	var begins []*big.Int
	var lengths []uint64
	var held []Private // the scores of intervals that hold a point
	for i, score := range scores {
		end := big.NewInt(upper)
		if i < len(cuts) {
			end = within(cuts[i].reveal(), begin, end)
		}
		if length := new(big.Int).Sub(end, begin).Uint64(); length > 0 {
			begins, lengths, held = append(begins, begin), append(lengths, length), append(held, score)
		}
		begin = end
	}
	i := e.choose(src, e.start, lengths, distancesOf(held))
	offset := new(big.Int).SetUint64(uniform(src, lengths[i]))
	return Released{offset.Add(offset, begins[i])}, nil
}

// within returns v, or the bound that it is beyond.
func within(v, low, high *big.Int) *big.Int {
	switch {
	case v.Cmp(low) < 0:
		return low
	case v.Cmp(high) > 0:
		return high
	}
	return v
}

// checkWeights refuses weights that n candidates cannot have.
func checkWeights(weights []uint64, n int) error {
	switch {
	case n == 0:
		return fmt.Errorf("%w: no candidates to choose from", ErrParameter)
	case weights != nil && len(weights) != n:
		return fmt.Errorf("%w: %d weights for %d candidates", ErrParameter, len(weights), n)
	}
	for i, w := range weights {
		if w == 0 {
			return fmt.Errorf("%w: the weight of candidate %d is 0", ErrParameter, i)
		}
	}
	return nil
}

// equalWeights returns n weights of 1.
func equalWeights(n int) []uint64 {
	weights := make([]uint64, n)
	for i := range weights {
		weights[i] = 1
	}
	return weights
}

// choose draws i with P(i) ∝ weights[i]·exp(−rate·below[i]), where some below is
// 0. It begins at the precision of p.
func (e Exponential) choose(src Source, p powers, weights []uint64, below distances) int {
	u := uniformBits{src: src}
	if coarsely(weights) {
		if c := e.coarse(); c != nil {
			u.extend(64)
			if i, ok := c.locate(u.bits.Uint64(), weights, below.words); ok {
				return i
			}
		}
	}
	exact := below.all()
	for {
		u.extend(p.precision)
		if i, ok := locate(u, p, weights, exact); ok {
			return i
		}
		p = newPowers(e.rate, 2*p.precision)
	}
}

// locate returns the i for which U·total lies between the sums of the weights
// before i and up to i, if the enclosures tell.
func locate(u uniformBits, p powers, weights []uint64, below []*big.Int) (int, bool) {
	cells := enclosures(p, weights, below)
	total := enclosure{new(big.Int), new(big.Int)}
	for _, c := range cells {
		total.lo.Add(total.lo, c.lo)
		total.hi.Add(total.hi, c.hi)
	}
	// U·total, by 2ⁿ finer than the cells, is at least low and below high.
	low := new(big.Int).Mul(total.lo, u.bits)
	high := new(big.Int).Add(u.bits, big.NewInt(1))
	high.Mul(high, total.hi)

	before, after := new(big.Int), new(big.Int) // above the sum before i, below that up to i
	for i, c := range cells {
		after.Add(after, c.lo)
		if high.Cmp(new(big.Int).Lsh(after, u.n)) <= 0 {
			return i, before.Lsh(before, u.n).Cmp(low) <= 0
		}
		before.Add(before, c.hi)
	}
	return 0, false
}

// enclosures returns those of weights[i]·exp(−rate·below[i]). Candidates with the
// same distance share the work.
func enclosures(p powers, weights []uint64, below []*big.Int) []enclosure {
	known := make(map[string]enclosure)
	cells := make([]enclosure, len(weights))
	for i, d := range below {
		key := string(d.Bytes())
		e, ok := known[key]
		if !ok {
			e = p.at(d)
			known[key] = e
		}
		w := new(big.Int).SetUint64(weights[i])
		cells[i] = enclosure{new(big.Int).Mul(w, e.lo), w.Mul(w, e.hi)}
	}
	return cells
}

// Law returns the probability of each candidate, for plans: the scores are public
// ones, such as an expectation. It is the exact law but for the rounding of
// doubles, relatively 10⁻¹².
func (e Exponential) Law(weights []uint64, scores []int64) ([]float64, error) {
	if err := checkWeights(weights, len(scores)); err != nil {
		return nil, err
	}
	best := scores[0]
	for _, s := range scores {
		best = max(best, s)
	}
	rate, _ := e.rate.Float64()
	law := make([]float64, len(scores))
	total := 0.0
	for i, s := range scores {
		law[i] = math.Exp(-rate * float64(uint64(best)-uint64(s)))
		if weights != nil {
			law[i] *= float64(weights[i])
		}
		total += law[i]
	}
	for i := range law {
		law[i] /= total
	}
	return law, nil
}

// BoundedRangeFor returns the largest ε, in 10⁻¹², with ε²/8 ≤ ρ = rhoPico·10⁻¹²: that of a choice which costs
// ρ by its bounded range.
func BoundedRangeFor(rhoPico int64) int64 {
	square := new(big.Int).Mul(big.NewInt(rhoPico), big.NewInt(8*dp.PicoPerUnit))
	return square.Sqrt(square).Int64()
}
