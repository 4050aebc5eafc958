package mechanisms

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"

	"dpproxy/dp"
)

const (
	// maxScaleBits bounds a scale's numerator and denominator, and so the work
	// of a draw.
	maxScaleBits = 256
	// scaleBits is the lattice, 2⁻²⁰, to which LaplaceFor rounds scales below 2²⁰.
	scaleBits = 20
)

// Laplace is the discrete Laplace mechanism with P(n) ∝ exp(−|n|/scale),
// independent on each coordinate.
//
// The guarantee: for neighbours x ~ x′ with ‖f(x) − f(x′)‖₁ ≤ L1,
//
//	P(f(x)+noise = y) ≤ exp(L1/scale)·P(f(x′)+noise = y) for every y,
//
// that is ε-DP with ε = L1/scale. Under zCDP a coordinate that changes by at
// most Δ, with e = 1/scale, costs e·Δ − (e/sinh e)·(1 − exp(−e·Δ)), the exact
// Kullback-Leibler divergence [Harrison-Manurangsi 2026].
//
// The caller must ensure that the sensitivity holds for the exact integers that
// are released, and that each coordinate has its own draw.
//
// References: [Ghosh-Roughgarden-Sundararajan 2009]; the sampler is [CKS 2020]
// Algorithm 2. Quantile uses P(|n| > c) = 2p^(c+1)/(1+p), p = exp(−1/scale); it
// may be one more than the smallest where that probability is within 10⁻¹¹ of
// alpha, relatively, and relatively 10⁻⁹ more above 2⁴⁰.
type Laplace struct {
	sensitivity dp.Sensitivity
	scale       *big.Rat
	num, den    uint64 // the scale, if it is narrow
	narrow      bool
}

var _ Mechanism = Laplace{}

// NewLaplace returns the mechanism with the given scale > 0, in lattice units,
// for answers of sensitivity s.
func NewLaplace(s dp.Sensitivity, scale *big.Rat) (Laplace, error) {
	switch {
	case !s.Valid():
		return Laplace{}, fmt.Errorf("%w: sensitivity %+v", ErrParameter, s)
	case scale == nil || scale.Sign() <= 0:
		return Laplace{}, fmt.Errorf("%w: the scale of Laplace noise must be positive", ErrParameter)
	case scale.Num().BitLen() > maxScaleBits || scale.Denom().BitLen() > maxScaleBits:
		return Laplace{}, fmt.Errorf("%w: the scale of Laplace noise has more than %d bits", ErrParameter, maxScaleBits)
	}
	l := Laplace{sensitivity: s, scale: new(big.Rat).Set(scale)}
	if scale.Num().IsUint64() && scale.Denom().IsUint64() {
		l.num, l.den, l.narrow = scale.Num().Uint64(), scale.Denom().Uint64(), true
	}
	return l, nil
}

// LaplaceFor returns the Laplace mechanism with the least noise whose price is
// at most epsilonPico·10⁻¹²: its scale is L1/ε if that has a denominator of at
// most 2²⁰, else L1/ε rounded up to a multiple of 2⁻²⁰ (below 2²⁰) or to an
// integer. Rounding only adds noise.
func LaplaceFor(s dp.Sensitivity, epsilonPico int64) (Laplace, error) {
	if !s.Valid() || epsilonPico <= 0 {
		return Laplace{}, fmt.Errorf("%w: sensitivity %+v at ε = %d·10⁻¹²", ErrParameter, s, epsilonPico)
	}
	least := new(big.Rat).SetFrac(
		new(big.Int).Mul(s.L1(), big.NewInt(dp.PicoPerUnit)),
		big.NewInt(epsilonPico),
	)
	return NewLaplace(s, roundScaleUp(least))
}

// roundScaleUp returns the scale that LaplaceFor promises for a least one.
func roundScaleUp(least *big.Rat) *big.Rat {
	if least.Denom().BitLen() <= scaleBits {
		return least
	}
	num, shift := new(big.Int).Set(least.Num()), uint(0)
	if least.Cmp(big.NewRat(1<<scaleBits, 1)) < 0 {
		shift = scaleBits
	}
	num.Lsh(num, shift)
	return new(big.Rat).SetFrac(ceilDiv(num, least.Denom()), new(big.Int).Lsh(big.NewInt(1), shift))
}

// Event implements Mechanism.
func (l Laplace) Event() dp.Event {
	return dp.LaplaceEvent{Sensitivity: l.sensitivity, Scale: new(big.Rat).Set(l.scale)}
}

// Sample implements Mechanism.
func (l Laplace) Sample(z *big.Int, src Source) *big.Int {
	own := borrow(src)
	defer giveBack(src, own)
	if l.narrow {
		return drawLaplace(own, l.num, l.den).set(z)
	}
	return drawLaplaceBig(z, own, l.scale.Num(), l.scale.Denom())
}

// Quantile implements Mechanism.
func (l Laplace) Quantile(alpha float64) float64 {
	if c, ok := trivialQuantile(alpha); ok {
		return c
	}
	scale, _ := l.scale.Float64()
	logTail := func(c float64) float64 { // ln P(|n| > c)
		return math.Ln2 - math.Log1p(math.Exp(-1/scale)) - (c+1)/scale
	}
	c := math.Max(0, math.Floor(scale*(logTail(-1)-math.Log(alpha)))-2)
	if c > exactDouble {
		return math.Ceil(c * (1 + 1e-9))
	}
	for logTail(c)+tailSlack > math.Log(alpha) {
		c++
	}
	return c
}

// StdDev implements Mechanism: √(2p)/(1−p), p = exp(−1/scale).
func (l Laplace) StdDev() float64 {
	scale, _ := l.scale.Float64()
	return 1 / (math.Sqrt2 * math.Sinh(1/(2*scale)))
}

// String implements Mechanism.
func (l Laplace) String() string {
	scale, _ := l.scale.Float64()
	return fmt.Sprintf("laplace scale=%.6g", scale)
}

// A wide is a signed integer with a magnitude of 128 bits.
type wide struct {
	hi, lo   uint64
	negative bool
}

// set sets z to w and returns z.
func (w wide) set(z *big.Int) *big.Int {
	w.setAbs(z)
	if w.negative {
		z.Neg(z)
	}
	return z
}

// setAbs sets z to |w| and returns z. It allocates only for more than 64 bits.
func (w wide) setAbs(z *big.Int) *big.Int {
	if w.hi == 0 {
		return z.SetUint64(w.lo)
	}
	return z.Or(z.Lsh(z.SetUint64(w.hi), 64), new(big.Int).SetUint64(w.lo))
}

// drawLaplace draws n with P(n) ∝ exp(−|n|·den/num), for num, den ≥ 1.
//
// X = v·num + u has P(X) ∝ exp(−X/num) on the integers from 0, so that ⌊X/den⌋
// has the law of |n| but for the weight of 0, which a random sign and the
// rejection of −0 put right. X < 2⁶⁴·num ≤ 2¹²⁸ whatever v is.
func drawLaplace(src Source, num, den uint64) wide {
	for {
		u, negative := uniformSigned(src, num)
		for !bernoulliExpFraction(src, u, num) {
			u, negative = uniformSigned(src, num)
		}
		w := steps(src, u, num, den)
		w.negative = negative
		if !w.negative || w.hi|w.lo != 0 {
			return w
		}
	}
}

// drawGeometric draws n ≥ 0 with P(n) ∝ exp(−n·den/num), for num, den ≥ 1: it is |n| of [drawLaplace] with its
// weight of 0.
func drawGeometric(src Source, num, den uint64) wide {
	u := uniform(src, num)
	for !bernoulliExpFraction(src, u, num) {
		u = uniform(src, num)
	}
	return steps(src, u, num, den)
}

// steps returns ⌊(v·num + u)/den⌋ for a v ≥ 0 of probability (1 − 1/e)·e⁻ᵛ.
func steps(src Source, u, num, den uint64) wide {
	hi, lo := bits.Mul64(geometric(src), num)
	lo, carry := bits.Add64(lo, u, 0)
	hi += carry
	w := wide{hi: hi / den}
	w.lo, _ = bits.Div64(hi%den, lo, den)
	return w
}

// uniformSigned is uniform beside a fair coin, from one word where 2n fits it.
func uniformSigned(src Source, n uint64) (u uint64, negative bool) {
	if n>>63 == 0 {
		u = uniform(src, 2*n)
		return u >> 1, u&1 == 1
	}
	return uniform(src, n), src.Uint64()>>63 == 1
}

// drawLaplaceBig is drawLaplace for any num, den ≥ 1.
func drawLaplaceBig(z *big.Int, src Source, num, den *big.Int) *big.Int {
	for {
		u := uniformBig(src, num)
		for !bernoulliExpBig(src, u, num) {
			u = uniformBig(src, num)
		}
		z.SetUint64(geometric(src))
		z.Quo(z.Add(z.Mul(z, num), u), den)
		negative := src.Uint64()>>63 == 1
		switch {
		case !negative:
			return z
		case z.Sign() != 0:
			return z.Neg(z)
		}
	}
}
