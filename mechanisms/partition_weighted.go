package mechanisms

import (
	"fmt"
	"math"
	"math/big"

	"dpproxy/dp"
)

// WeightUnit is the weight of a unit that is in one partition alone: weights are integers on
// the lattice of 2⁻²⁰.
const WeightUnit = 1 << weightBits

const weightBits = 20

// PartitionWeight returns the weight ⌊2²⁰/√k⌋ with which a unit in k ≥ 1 partitions counts in each
// of them: the largest integer w with k·w² ≤ 4²⁰, so that its weights have an ℓ₂ norm of
// at most 1 whatever k is.
func PartitionWeight(k int64) int64 {
	square := big.NewInt(1 << (2 * weightBits) / k)
	return square.Sqrt(square).Int64()
}

// WeightedSelection decides which partitions a release may name by the sum of the weights
// of their units, of which each counts 1/√k in each of its k partitions: with discrete
// Gaussian noise, a partition is kept if the sum reaches the threshold T. No limit of partitions is to
// be chosen: for a unit in k of them a weight of 1/√k is at least what any limit l leaves
// of it, min(1/√l, √l/k), for the same noise [Gopi et al. 2020].
//
// The guarantee: adding or removing a unit moves the weights of all partitions by at most 1 in ℓ₂
// ([PartitionWeight]). All of its partitions but those where it is alone are kept by
// post-processing of Gaussian noise, and where it is alone, one is kept with probability
// P(noise ≥ T − w(k)) ≤ 1 − (1−δ)^(1/k), and so any of them with probability δ at most.
// The step is δ-approximately ρ-zCDP, ρ = 4²⁰/(2·variance), and
//
//	T = max over k = 1…K of w(k) + min{m : P(noise ≥ m) ≤ 1 − (1−δ)^(1/k)},
//
// K the public number of partitions of a unit that count.
//
// The caller must ensure what that of a [GaussianSelection] must, with weights in place of
// numbers of units, and that every unit was bounded to K partitions by its own rows alone.
// The noisy weight is not a number of units.
type WeightedSelection struct {
	noise     Gaussian
	threshold int64 // on the lattice of 2⁻²⁰
	delta     *big.Rat
}

// WeightedSelectionFor returns the selection with the least noise whose price is at most
// ρ = rhoPico·10⁻¹² and δ = deltaAtto·10⁻¹⁸, for units in at most maxPartitions partitions.
func WeightedSelectionFor(maxPartitions, rhoPico, deltaAtto int64) (WeightedSelection, error) {
	noise, err := GaussianFor(dp.Sensitivity{L0: 1, LInf: WeightUnit}, rhoPico)
	if err != nil {
		return WeightedSelection{}, err
	}
	delta, err := deltaOf(deltaAtto)
	if err != nil {
		return WeightedSelection{}, err
	}
	if maxPartitions < 1 || maxPartitions > WeightUnit {
		return WeightedSelection{}, fmt.Errorf("%w: a unit in %d partitions", ErrParameter, maxPartitions)
	}
	t := weightedThreshold{variance: noise.varianceDouble(), delta: delta}
	t.raise(1)
	t.raise(maxPartitions)
	t.search(1, maxPartitions)
	if t.best >= maxThreshold {
		return WeightedSelection{}, fmt.Errorf("%w: the threshold of a partition selection is above 2⁶²", ErrParameter)
	}
	return WeightedSelection{noise, int64(t.best), delta}, nil
}

// A weightedThreshold is the search for the largest threshold that some k needs.
type weightedThreshold struct {
	variance float64
	delta    *big.Rat
	best     float64
}

// noiseAbove returns the least m with P(noise ≥ m) ≤ 1 − (1−δ)^(1/k); it grows with k.
func (t *weightedThreshold) noiseAbove(k int64) float64 {
	return gaussianThreshold(t.variance, aloneLimit(t.delta, k))
}

// raise raises the threshold to what units in k partitions need.
func (t *weightedThreshold) raise(k int64) {
	t.best = math.Max(t.best, float64(PartitionWeight(k))+t.noiseAbove(k))
}

// search raises the threshold to what any k between low and high needs. Weights fall and noise
// grows with k, so that no k between needs more than the weight after low with the noise before
// high.
func (t *weightedThreshold) search(low, high int64) {
	if high-low < 2 || float64(PartitionWeight(low+1))+t.noiseAbove(high-1) <= t.best {
		return
	}
	middle := low + (high-low)/2
	t.raise(middle)
	t.search(low, middle)
	t.search(middle, high)
}

// Event describes the selection of all partitions, and the release of the noisy weights of those
// that are kept.
func (s WeightedSelection) Event() dp.Event {
	return dp.ApproximateEvent{Of: s.noise.Event(), Delta: new(big.Rat).Set(s.delta)}
}

// Threshold returns T, in units that are in one partition alone.
func (s WeightedSelection) Threshold() float64 { return float64(s.threshold) / WeightUnit }

// Keep returns the probability that a partition with the given weight, on the lattice of 2⁻²⁰, is
// kept, to a relative 10⁻¹⁰. It is 0 for weight ≤ 0, as no such partition may be tried.
func (s WeightedSelection) Keep(weight int64) float64 {
	if weight <= 0 {
		return 0
	}
	return math.Min(1, gaussianTail(s.noise.varianceDouble(), float64(s.threshold)-float64(weight)))
}

// Select tries one partition with the weights of its units, on the lattice of 2⁻²⁰. If it is kept,
// noisy is their sum with noise; else the zero Released, which says nothing.
func (s WeightedSelection) Select(src Source, weights Private) (noisy Released, kept bool) {
	return selectAbove(s.noise, src, weights, s.threshold)
}

// String writes the selection for plans.
func (s WeightedSelection) String() string {
	return fmt.Sprintf("weighted selection threshold=%.6g noise=(%v)", s.Threshold(), s.noise)
}
