package mechanisms

import (
	"fmt"
	"slices"

	"dpproxy/dp"
)

// A Top chooses k of n candidates that have about the largest private scores, one after the other, each among
// those that are left:
//
//	P(i) ∝ exp(ε·sᵢ/Δ),
//
// or, in pure budgets, by permute and flip ([NoisyMax]). Scores are monotone: one privacy unit that is added
// raises each by 0 to Δ, and may raise all of them.
//
// The guarantee: whatever was chosen before, the candidates that are left and their rate are functions of what was
// released, so that each choice is one of [Exponential] of range ε: ε²/8-zCDP, or ε-DP. By adaptive
// composition all k cost k·ε²/8, or k·ε. In how many candidates a unit counts does not enter.
//
// The caller must ensure that Δ holds for every exact score, and that the number of candidates, their
// meaning and k do not depend on protected rows. A measurement of the chosen ones is another release, with a
// price of its own.
type Top struct {
	k  int
	of Mode
}

// NewTop returns the choice of k candidates where a unit raises a score by at most limit, each at
// ε = epsilonPico·10⁻¹²; pure says that prices are of ε.
func NewTop(k int, limit, epsilonPico int64, pure bool) (Top, error) {
	if k < 1 {
		return Top{}, fmt.Errorf("%w: the top %d", ErrParameter, k)
	}
	of, err := NewMode(limit, epsilonPico, pure)
	return Top{k, of}, err
}

// Event describes all choices together, for a pricer.
func (t Top) Event() dp.ComposedEvent { return slices.Repeat(dp.ComposedEvent{t.of.Event()}, t.k) }

// String writes the mechanism for plans.
func (t Top) String() string { return fmt.Sprintf("%d times %v", t.k, t.of) }

// Choose draws the indices of k candidates, in the order in which they are chosen, which a client may see. The
// caller must have charged Event, durably, before. An error says that there are fewer than k.
func (t Top) Choose(src Source, scores []Private) ([]int, error) {
	if len(scores) < t.k {
		return nil, fmt.Errorf("%w: the top %d of %d", ErrParameter, t.k, len(scores))
	}
	left, at := slices.Clone(scores), make([]int, len(scores))
	for i := range at {
		at[i] = i
	}
	var chosen []int
	for range t.k {
		i, err := t.of.Choose(src, left)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, at[i])
		left, at = slices.Delete(left, i, i+1), slices.Delete(at, i, i+1)
	}
	return chosen, nil
}
