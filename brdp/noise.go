package brdp

import (
	"fmt"
	"math/big"
	"math/bits"

	"dpproxy/dp"
	"dpproxy/mechanisms"
)

// Noise is the mechanism of the package: the kernel's noise on each coordinate,
// drawn anew with probability Recycle where its absolute value exceeds Boundary.
//
// The guarantee, for neighbours x ~ x′ of which at most L0 coordinates differ, each
// by at most Δ = LInf, and with a Laplace kernel of the given scale:
//
//	P(f(x)+N = y) ≤ exp(L0·(Δ/scale − ln(1−q)))·P(f(x′)+N = y) for every y;
//
// with either kernel D_α(f(x)+N ‖ f(x′)+N) ≤ α·L0·ρ for every α > 1, ρ = [Law.Rho].
//
// The caller must ensure that the sensitivity of the kernel holds for the exact
// integers that are released, that each coordinate has its own draw, and that
// kernel, boundary and q are constants which do not depend on protected rows.
//
// Source: [Jiang-Du-Sharma-Yan 2024], Proposition 1 for the law. The sampler is
// exact: it compares integers and flips a coin of rational probability.
type Noise struct {
	kernel   mechanisms.Mechanism
	boundary *big.Int
	event    dp.RecycledEvent
	num, den uint64 // q
	law      Law
}

var _ mechanisms.Mechanism = Noise{}

// New returns the mechanism around a kernel, a [mechanisms.Laplace] or a
// [mechanisms.Gaussian], with a boundary in lattice units and the probability q of
// drawing anew. [NewLaw] says which it refuses.
func New(kernel mechanisms.Mechanism, boundary int64, q *big.Rat) (Noise, error) {
	built := false
	switch k := kernel.(type) {
	case mechanisms.Laplace:
		built = k != mechanisms.Laplace{}
	case mechanisms.Gaussian:
		built = k != mechanisms.Gaussian{}
	}
	if !built || q == nil {
		return Noise{}, fmt.Errorf("%w: %T is no kernel, or there is no recycling probability", ErrParameter, kernel)
	}
	e := dp.RecycledEvent{Kernel: kernel.Event(), Boundary: boundary, Recycle: new(big.Rat).Set(q)}
	law, err := NewLaw(e)
	if err != nil {
		return Noise{}, err
	}
	return Noise{
		kernel:   kernel,
		boundary: big.NewInt(boundary),
		event:    e,
		num:      q.Num().Uint64(),
		den:      q.Denom().Uint64(),
		law:      law,
	}, nil
}

// Event implements mechanisms.Mechanism.
func (n Noise) Event() dp.Event {
	return dp.RecycledEvent{
		Kernel:   n.kernel.Event(),
		Boundary: n.event.Boundary,
		Recycle:  new(big.Rat).Set(n.event.Recycle),
	}
}

// Law returns the exact law of one coordinate.
func (n Noise) Law() Law { return n.law }

// Sample implements mechanisms.Mechanism.
func (n Noise) Sample(z *big.Int, src mechanisms.Source) *big.Int {
	for {
		n.kernel.Sample(z, src)
		if z.CmpAbs(n.boundary) <= 0 || !bernoulli(src, n.num, n.den) {
			return z
		}
	}
}

// bernoulli is true with probability num/den, exactly: it compares num with a
// uniform integer below den, by the multiplication and rejection of [Lemire 2019].
func bernoulli(src mechanisms.Source, num, den uint64) bool {
	hi, lo := bits.Mul64(src.Uint64(), den)
	for least := -den % den; lo < least; {
		hi, lo = bits.Mul64(src.Uint64(), den)
	}
	return hi < num
}

// Quantile implements mechanisms.Mechanism: see [Law.Quantile].
func (n Noise) Quantile(alpha float64) float64 { return n.law.Quantile(alpha) }

// StdDev implements mechanisms.Mechanism.
func (n Noise) StdDev() float64 { return n.law.StdDev() }

// Acceptance returns P(|noise| ≤ boundary).
func (n Noise) Acceptance() float64 { return n.law.Acceptance() }

// String implements mechanisms.Mechanism.
func (n Noise) String() string {
	q, _ := n.event.Recycle.Float64()
	return fmt.Sprintf("recycled boundary=%d recycle=%.9g kernel=(%v)", n.event.Boundary, q, n.kernel)
}
