package mechanisms

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"sync"

	"dpproxy/dp"
	"dpproxy/internal/gausssum"
)

const (
	// maxVarianceBits bounds a variance such that ⌊√variance⌋+1 fits 64 bits.
	maxVarianceBits = 127
	// narrowVariance is the largest variance whose acceptance probability is
	// computed in 64 bits: its denominator 2vt² is below 2⁵⁸, and the proposal
	// has a numerator of more bits with probability exp(−16).
	narrowVariance = 1 << 28
	// gaussSlack is more than the relative error of a probability that is computed
	// from the sums of package gausssum, each of which is right to 10⁻¹¹.
	gaussSlack = 1e-10
)

// Gaussian is the discrete Gaussian mechanism with P(n) ∝ exp(−n²/(2·variance)),
// independent on each coordinate.
//
// The guarantee: for neighbours x ~ x′ with ‖f(x) − f(x′)‖₂² ≤ L2Squared, the
// Rényi divergence of the two releases is, for every α > 1,
//
//	D_α(f(x)+noise ‖ f(x′)+noise) ≤ α·L2Squared/(2·variance),
//
// that is ρ-zCDP with ρ = L2Squared/(2·variance) [CKS 2020, Theorem 4]. It is
// ε-DP for no ε.
//
// The caller must ensure that the sensitivity holds for the exact integers that
// are released, and that each coordinate has its own draw.
//
// The sampler is [CKS 2020] Algorithm 3. Quantile sums the exact law; it may be
// one more than the smallest where P(|n| > c) is within 10⁻¹⁰ of alpha,
// relatively, and relatively 10⁻¹¹ more above 2³⁸.
type Gaussian struct {
	sensitivity dp.Sensitivity
	variance    *big.Int
	t           uint64 // ⌊√variance⌋ + 1, the scale of the proposal
	narrow      uint64 // the variance if it is at most narrowVariance, else 0
	// thresholds has those that were searched for, by alpha: they are the same for all groups of a statement.
	thresholds *sync.Map
}

var _ Mechanism = Gaussian{}

// NewGaussian returns the mechanism with the given variance ≥ 1, in lattice
// units squared, for answers of sensitivity s.
func NewGaussian(s dp.Sensitivity, variance *big.Int) (Gaussian, error) {
	switch {
	case !s.Valid():
		return Gaussian{}, fmt.Errorf("%w: sensitivity %+v", ErrParameter, s)
	case variance == nil || variance.Sign() <= 0:
		return Gaussian{}, fmt.Errorf("%w: the variance of Gaussian noise must be at least 1", ErrParameter)
	case variance.BitLen() > maxVarianceBits:
		return Gaussian{}, fmt.Errorf("%w: the variance of Gaussian noise has more than %d bits", ErrParameter, maxVarianceBits)
	}
	g := Gaussian{sensitivity: s, variance: new(big.Int).Set(variance), thresholds: &sync.Map{}}
	g.t = new(big.Int).Sqrt(variance).Uint64() + 1
	if variance.Cmp(big.NewInt(narrowVariance)) <= 0 {
		g.narrow = variance.Uint64()
	}
	return g, nil
}

// GaussianFor returns the Gaussian mechanism with the least noise whose price is
// at most rhoPico·10⁻¹²: its variance is L2Squared/(2ρ), rounded up to an integer.
func GaussianFor(s dp.Sensitivity, rhoPico int64) (Gaussian, error) {
	if !s.Valid() || rhoPico <= 0 {
		return Gaussian{}, fmt.Errorf("%w: sensitivity %+v at ρ = %d·10⁻¹²", ErrParameter, s, rhoPico)
	}
	num := new(big.Int).Mul(s.L2Squared(), big.NewInt(dp.PicoPerUnit/2))
	return NewGaussian(s, ceilDiv(num, big.NewInt(rhoPico)))
}

// Event implements Mechanism.
func (g Gaussian) Event() dp.Event {
	return dp.GaussianEvent{Sensitivity: g.sensitivity, Variance: new(big.Int).Set(g.variance)}
}

// Sample implements Mechanism: it proposes discrete Laplace noise of scale t and
// accepts it with the ratio of the two laws.
func (g Gaussian) Sample(z *big.Int, src Source) *big.Int {
	own := borrow(src)
	defer giveBack(src, own)
	for {
		y := drawLaplace(own, g.t, 1)
		if g.accept(own, y) {
			return y.set(z)
		}
	}
}

// accept is true with probability exp(−(|y|·t − v)²/(2·v·t²)), computed in
// 64 bits where every intermediate fits.
func (g Gaussian) accept(src Source, y wide) bool {
	hi, yt := bits.Mul64(y.lo, g.t)
	distance := max(yt, g.narrow) - min(yt, g.narrow)
	if g.narrow == 0 || y.hi|hi != 0 || distance >= 1<<32 {
		return g.acceptBig(src, y)
	}
	return bernoulliExp(src, distance*distance, 2*g.narrow*g.t*g.t)
}

// acceptBig is accept for any y.
func (g Gaussian) acceptBig(src Source, y wide) bool {
	t := new(big.Int).SetUint64(g.t)
	num := y.setAbs(new(big.Int))
	num.Sub(num.Mul(num, t), g.variance)
	den := t.Mul(t, t)
	den.Mul(den, g.variance)
	return bernoulliExpBig(src, num.Mul(num, num), den.Lsh(den, 1))
}

// Quantile implements Mechanism.
func (g Gaussian) Quantile(alpha float64) float64 {
	if c, ok := trivialQuantile(alpha); ok {
		return c
	}
	if c, ok := g.thresholds.Load(alpha); ok {
		return c.(float64)
	}
	c := gaussianThreshold(g.varianceDouble(), alpha/2) - 1
	g.thresholds.Store(alpha, c)
	return c
}

// gaussianTail returns P(noise ≥ m) for an integer m, to less than gaussSlack.
func gaussianTail(variance, m float64) float64 {
	return gausssum.Upper(variance, 0, m) / gausssum.Total(variance, 0)
}

// gaussianThreshold returns the least integer m ≥ 0 with P(noise ≥ m) ≤ p, or one
// more where that probability is within gaussSlack of p. It begins at one which
// is surely enough, and at most two too many: Σ over n ≥ m of exp(−n²/2v) is at
// most the integral from m−1, and the normaliser at least √(2πv) (Poisson
// summation). Above exactGaussian it ends there.
func gaussianThreshold(variance, p float64) float64 {
	limit := p * (1 - gaussSlack)
	low, high := 0.0, 40.0
	for range 64 {
		mid := (low + high) / 2
		if math.Erfc(mid/math.Sqrt2)/2 <= limit {
			high = mid
		} else {
			low = mid
		}
	}
	m := math.Ceil(high*math.Sqrt(variance)*(1+1e-12)) + 1
	for m > 0 && m <= exactGaussian && gaussianTail(variance, m-1) <= limit {
		m--
	}
	return m
}

// exactGaussian is the largest threshold that is searched for integer by integer:
// above, one lattice unit changes a tail by about gaussSlack, and is no loss.
const exactGaussian = 1 << 38

// StdDev implements Mechanism. It returns √variance, which is never below the
// discrete law's own and, as the variance is at least 1, within 10⁻⁷ of it.
func (g Gaussian) StdDev() float64 {
	return math.Sqrt(g.varianceDouble())
}

// String implements Mechanism.
func (g Gaussian) String() string {
	return fmt.Sprintf("gaussian variance=%.6g", g.varianceDouble())
}

// varianceDouble returns the variance, rounded to a double.
func (g Gaussian) varianceDouble() float64 {
	variance, _ := new(big.Float).SetInt(g.variance).Float64()
	return variance
}
