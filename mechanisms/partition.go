package mechanisms

import (
	"fmt"
	"math"
	"math/big"

	"dpproxy/dp"
)

// maxThreshold bounds a threshold, so that its arithmetic fits 64 bits.
const maxThreshold = 1 << 62

// GaussianSelection decides which partitions (groups) a release may name, where
// that they exist tells of their units: it adds discrete Gaussian noise to the
// number of units of a partition, and keeps the partition if the sum reaches the
// threshold T. The noisy number is released with it, at no further cost. It is
// the selection to choose unless a unit touches few partitions and nobody wants
// the number, where that of [Desfontaines-Voss-Gipson-Mandayam 2022] keeps more.
//
// The guarantee: for a unit in at most k partitions, all of its partitions but
// those where it is alone are kept by post-processing of Gaussian noise; where it
// is alone, one is kept with probability P(noise ≥ T−1) ≤ 1 − (1−δ)^(1/k), and so
// any of them with probability δ at most. The step is δ-approximately ρ-zCDP,
// ρ = k/(2·variance), and T the least threshold that is at least 1 for which that
// holds, or one more where the probability is within a relative 10⁻¹⁰ of its
// limit [Gopi et al. 2020].
//
// The caller must ensure that units are counted once each, after every unit was
// bounded to k partitions; that Select is called once for every partition that
// has units, and for no other one, which could be kept although it is empty; and
// that the whole step is charged at once and its result shown at once: its δ is
// of all partitions together, and approximate losses compose one after another.
type GaussianSelection struct {
	noise     Gaussian
	threshold int64
	delta     *big.Rat
}

// NewGaussianSelection returns the selection with the given variance ≥ 1 for units
// in at most maxPartitions partitions, at δ = deltaAtto·10⁻¹⁸.
func NewGaussianSelection(maxPartitions int64, variance *big.Int, deltaAtto int64) (GaussianSelection, error) {
	noise, err := NewGaussian(dp.Sensitivity{L0: maxPartitions, LInf: 1}, variance)
	if err != nil {
		return GaussianSelection{}, err
	}
	delta, err := deltaOf(deltaAtto)
	if err != nil {
		return GaussianSelection{}, err
	}
	threshold, err := thresholdAbove(gaussianThreshold(noise.varianceDouble(), aloneLimit(delta, maxPartitions)))
	if err != nil {
		return GaussianSelection{}, err
	}
	return GaussianSelection{noise, threshold, delta}, nil
}

// GaussianSelectionFor returns the selection with the least noise for units that are in one
// partition each, whose price is at most ρ = rhoPico·10⁻¹² and δ = deltaAtto·10⁻¹⁸: its variance is
// 1/(2ρ), rounded up to an integer. Of units in several [WeightedSelectionFor] keeps more.
func GaussianSelectionFor(rhoPico, deltaAtto int64) (GaussianSelection, error) {
	noise, err := GaussianFor(dp.Sensitivity{L0: 1, LInf: 1}, rhoPico)
	if err != nil {
		return GaussianSelection{}, err
	}
	return NewGaussianSelection(1, noise.variance, deltaAtto)
}

// Event describes the selection of all partitions, and the release of the noisy
// numbers of those that are kept.
func (s GaussianSelection) Event() dp.Event {
	return dp.ApproximateEvent{Of: s.noise.Event(), Delta: new(big.Rat).Set(s.delta)}
}

// Threshold returns T.
func (s GaussianSelection) Threshold() int64 { return s.threshold }

// Keep returns the probability that a partition of n units is kept, to a relative
// 10⁻¹⁰: P(noise ≥ T−n). It is 0 for n ≤ 0, as no such partition may be tried.
func (s GaussianSelection) Keep(n int64) float64 {
	if n <= 0 {
		return 0
	}
	return math.Min(1, gaussianTail(s.noise.varianceDouble(), float64(s.threshold-n)))
}

// Select tries one partition with its number of units. If it is kept, noisy is
// that number with noise; else the zero Released, which says nothing.
func (s GaussianSelection) Select(src Source, units Private) (noisy Released, kept bool) {
	return selectAbove(s.noise, src, units, s.threshold)
}

// String writes the selection for plans.
func (s GaussianSelection) String() string {
	return fmt.Sprintf("selection threshold=%d noise=(%v)", s.threshold, s.noise)
}

// selectAbove releases a number of units if with m's noise it reaches threshold.
func selectAbove(m Mechanism, src Source, units Private, threshold int64) (Released, bool) {
	noisy := Release(m, src, units)
	if noisy.v.Cmp(big.NewInt(threshold)) < 0 {
		return Released{}, false
	}
	return noisy, true
}

// deltaOf returns δ = atto·10⁻¹⁸, which must be above 0 and below 1.
func deltaOf(atto int64) (*big.Rat, error) {
	if atto <= 0 || atto >= dp.AttoPerUnit {
		return nil, fmt.Errorf("%w: partition selection at δ = %d·10⁻¹⁸", ErrParameter, atto)
	}
	return big.NewRat(atto, dp.AttoPerUnit), nil
}

// aloneLimit returns 1 − (1−δ)^(1/k), the probability with which a partition of
// one unit may be kept, to a relative 10⁻¹⁵.
func aloneLimit(delta *big.Rat, k int64) float64 {
	d, _ := delta.Float64()
	return -math.Expm1(math.Log1p(-d) / float64(k))
}

// thresholdAbove returns the threshold T = m+1 with which a partition of one unit
// needs noise of at least m.
func thresholdAbove(m float64) (int64, error) {
	if m >= maxThreshold {
		return 0, fmt.Errorf("%w: the threshold of a partition selection is above 2⁶²", ErrParameter)
	}
	return int64(m) + 1, nil
}
