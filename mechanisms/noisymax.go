package mechanisms

import (
	"fmt"
	"math/big"

	"dpproxy/dp"
)

// NoisyMax reports which of n candidates has about the largest private score, by
// permute-and-flip: it visits the candidates in a uniformly random order, and
// returns the first whose coin of probability
//
//	exp(−ε·(max s − sᵢ)/(2Δ)), or exp(−ε·(max s − sᵢ)/Δ) where scores are monotone,
//
// shows heads, as that of the best does. One privacy unit changes each score by
// at most Δ; scores are monotone if a unit that is added changes all of them in
// the same direction (or not), as it does counts.
//
// The guarantee: P(i) ≤ exp(ε)·P′(i) for the laws P and P′ of two neighbours, that
// is ε-DP [McKenna-Sheldon 2020]. It is the law of reporting the largest score with
// one-sided exponential noise [Ding et al. 2021]. Its shortfall from the best score
// is on average never more than that of [Exponential] at the same ε; but its range
// is not bounded by ε, and so under zCDP it costs up to four times as much.
//
// The caller must ensure that Δ holds for the exact scores, that the number of
// candidates and their meaning do not depend on protected rows, and that scores
// claimed to be monotone are.
//
// The time grows with the number of candidates, and depends on how many are
// visited, and so on the scores.
type NoisyMax struct{ selection }

// NewNoisyMax returns the mechanism for scores of sensitivity delta ≥ 1, at
// ε = epsilonPico·10⁻¹².
func NewNoisyMax(delta int64, monotone bool, epsilonPico int64) (NoisyMax, error) {
	s, err := newSelection(delta, monotone, epsilonPico)
	return NoisyMax{s}, err
}

// Event describes one choice, for a pricer.
func (m NoisyMax) Event() dp.Event {
	return dp.PureEvent{Epsilon: new(big.Rat).Set(m.epsilon)}
}

// String writes the mechanism for plans.
func (m NoisyMax) String() string { return m.describe("noisy max") }

// Select draws the index of a candidate, which a client may see. The caller must
// have charged Event, durably, before. An error says that there are no candidates.
func (m NoisyMax) Select(src Source, scores []Private) (int, error) {
	if len(scores) == 0 {
		return 0, fmt.Errorf("%w: no candidates to choose from", ErrParameter)
	}
	below := distancesOf(scores).all()
	order := make([]int, len(below))
	for i := range order {
		order[i] = i
	}
	exponent := new(big.Int)
	for {
		k := uniform(src, uint64(len(order)))
		i := order[k]
		exponent.Mul(below[i], m.rate.Num())
		if bernoulliExpBig(src, exponent, m.rate.Denom()) {
			return i, nil
		}
		last := len(order) - 1
		order[k] = order[last]
		order = order[:last]
	}
}
