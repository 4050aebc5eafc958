package mechanisms

import (
	"fmt"
	"math"
	"math/big"

	"dpproxy/dp"
)

// Staircase is the discrete staircase mechanism: with Δ = LInf, a step r from 1 to Δ and b = e^−ε,
//
//	P(n) ∝ b^⌊|n|/Δ⌋ · (b if |n| mod Δ ≥ r, else 1),
//
// independent on each coordinate. Its steps have the width Δ, the first one, which is that of 0 and the
// values below r, aside.
//
// The guarantee: the exponent of b changes by at most one between n and n+d for |d| ≤ Δ. So a coordinate that
// changes by at most Δ is ε-DP, and a vector of which L0 do is L0·ε-DP; under zCDP each costs ε·tanh(ε/2), as
// all that is ε-DP does. With the step r = θ+1 < Δ more of it is within ±θ than of any other noise that is ε-DP.
//
// The caller must ensure that the sensitivity holds for the exact integers that are released: that no unit changes more
// than L0 coordinates, however little. Of a vector within an ℓ₁ norm that is not so: a unit that has a part of the
// norm in each of k coordinates loses up to ε in each. And each coordinate has its own draw.
//
// Reference: [Geng-Viswanath 2014]. Quantile may be relatively 10⁻⁹ more than the smallest above 2⁴⁰.
type Staircase struct {
	sensitivity dp.Sensitivity
	epsilonPico int64
	epsilon     *big.Rat
	step        int64
	side        Exponential // whether |n| mod Δ is below the step
	scale       *big.Rat    // of the number of whole Δ in |n|
}

var _ Mechanism = Staircase{}

// NewStaircase returns the mechanism at ε = epsilonPico·10⁻¹² of each coordinate, for answers of sensitivity s,
// with 1 ≤ step ≤ s.LInf.
func NewStaircase(s dp.Sensitivity, step, epsilonPico int64) (Staircase, error) {
	if !s.Valid() || step < 1 || step > s.LInf {
		return Staircase{}, fmt.Errorf("%w: a staircase of step %d for the sensitivity %+v", ErrParameter, step, s)
	}
	side, err := NewExponential(1, true, epsilonPico)
	if err != nil {
		return Staircase{}, err
	}
	epsilon := big.NewRat(epsilonPico, dp.PicoPerUnit)
	return Staircase{s, epsilonPico, epsilon, step, side, new(big.Rat).Inv(epsilon)}, nil
}

// StaircaseWithin returns the staircase of least ε with P(|n| > boundary) ≤ alpha, for 0 < alpha < 1. It fails if no
// ε that a ledger can hold reaches that.
func StaircaseWithin(s dp.Sensitivity, boundary int64, alpha float64) (Staircase, error) {
	if !s.Valid() || boundary < 0 || boundary == math.MaxInt64 || !(alpha >= leastAlpha && alpha < 1) {
		return Staircase{}, fmt.Errorf("%w: a staircase within ±%d at %v for the sensitivity %+v", ErrParameter, boundary, alpha, s)
	}
	step := (boundary + 1) % s.LInf
	if step == 0 {
		step = s.LInf
	}
	beyond := func(epsilonPico int64) bool {
		m := Staircase{sensitivity: s, epsilonPico: epsilonPico, step: step}
		return m.logTail(float64(boundary))+tailSlack > math.Log(alpha)
	}
	low, high := int64(0), int64(1)
	for beyond(high) {
		if high > dp.MaxPico/2 {
			return Staircase{}, fmt.Errorf("%w: no staircase is within ±%d", ErrParameter, boundary)
		}
		low, high = high, 2*high
	}
	for high-low > 1 {
		if mid := low + (high-low)/2; beyond(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return NewStaircase(s, step, high)
}

// Event implements Mechanism.
func (m Staircase) Event() dp.Event {
	return dp.StaircaseEvent{Sensitivity: m.sensitivity, Epsilon: new(big.Rat).Set(m.epsilon), Step: m.step}
}

// Sample implements Mechanism. The number of whole Δ is geometric, as that of Laplace noise is; the rest is below the
// step with a probability that is drawn exactly, and uniform on its side. A random sign and the rejection of −0 give
// zero its weight.
func (m Staircase) Sample(z *big.Int, src Source) *big.Int {
	own := borrow(src)
	defer giveBack(src, own)
	delta, rest := big.NewInt(m.sensitivity.LInf), new(big.Int)
	num, den := m.scale.Num().Uint64(), m.scale.Denom().Uint64() // both below 2⁶³
	for {
		drawGeometric(own, num, den).setAbs(z)
		z.Mul(z, delta)
		z.Add(z, rest.SetUint64(m.drawRest(own)))
		negative := own.Uint64()>>63 == 1
		switch {
		case !negative:
			return z
		case z.Sign() != 0:
			return z.Neg(z)
		}
	}
}

// drawRest draws |n| mod Δ.
func (m Staircase) drawRest(src Source) uint64 {
	low, high := uint64(m.step), uint64(m.sensitivity.LInf-m.step)
	if high == 0 || m.side.choose(src, m.side.start, []uint64{low, high}, distances{words: []uint64{0, 1}}) == 0 {
		return uniform(src, low)
	}
	return low + uniform(src, high)
}

// logTail returns ln P(|n| > c) for an integer c ≥ 0. With c+1 = KΔ + s the weight beyond it, on one side, is
// b^K·(max(r−s, 0) + b·(Δ−max(r, s)) + b·T), of T = (r + b·(Δ−r))/(1−b) in all.
func (m Staircase) logTail(c float64) float64 {
	epsilon := float64(m.epsilonPico) / dp.PicoPerUnit
	delta, r := float64(m.sensitivity.LInf), float64(m.step)
	b, most := math.Exp(-epsilon), -math.Expm1(-epsilon)
	total := (r + b*(delta-r)) / most
	whole := math.Floor((c + 1) / delta)
	s := math.Max(0, c+1-whole*delta)
	beyond := math.Max(r-s, 0) + b*(delta-math.Max(r, s)) + b*total
	return math.Ln2 - whole*epsilon + math.Log(beyond) - math.Log(2*total-1)
}

// Quantile implements Mechanism.
func (m Staircase) Quantile(alpha float64) float64 {
	if c, ok := trivialQuantile(alpha); ok {
		return c
	}
	beyond := func(c float64) bool { return m.logTail(c)+tailSlack > math.Log(alpha) }
	low, high := -1.0, 0.0
	for beyond(high) {
		low, high = high, 2*high+1
	}
	for high-low > 1 && high-low > high*1e-12 {
		if mid := math.Floor(low + (high-low)/2); beyond(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	if high > exactDouble {
		return math.Ceil(high * (1 + 1e-9))
	}
	return high
}

// StdDev implements Mechanism: with both signs of every |n| = GΔ + X drawn alike, the square is right but for the
// weight of 0, which is drawn once.
func (m Staircase) StdDev() float64 {
	epsilon := float64(m.epsilonPico) / dp.PicoPerUnit
	delta, r := float64(m.sensitivity.LInf), float64(m.step)
	b, most := math.Exp(-epsilon), -math.Expm1(-epsilon)
	weight := r + b*(delta-r)
	sum := func(n float64) float64 { return n * (n - 1) / 2 }
	squares := func(n float64) float64 { return n * (n - 1) * (2*n - 1) / 6 }
	x := (sum(r) + b*(sum(delta)-sum(r))) / weight
	xx := (squares(r) + b*(squares(delta)-squares(r))) / weight
	g, gg := b/most, b*(1+b)/(most*most)
	both := 2 * weight / most
	return math.Sqrt((delta*delta*gg + 2*delta*g*x + xx) * both / (both - 1))
}

// String implements Mechanism.
func (m Staircase) String() string {
	epsilon, _ := m.epsilon.Float64()
	return fmt.Sprintf("staircase epsilon=%.6g step=%d of %d", epsilon, m.step, m.sensitivity.LInf)
}
