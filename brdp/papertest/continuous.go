package papertest

import (
	"fmt"
	"math"
	"slices"

	"dpproxy/brdp"
	"dpproxy/internal/gausssum"
)

// GaussianLimit is recycled Gaussian noise on the real line, to which the law on a
// fine lattice tends. It serves comparisons and reports; noise is never drawn
// from it, and no price comes from it.
type GaussianLimit struct {
	Sigma   float64 // > 0, the kernel's standard deviation
	Theta   float64 // ≥ 0, the boundary
	Recycle float64 // q, from 0 to below 1
}

// Outside returns p̄ = P(|kernel| > Theta).
func (g GaussianLimit) Outside() float64 { return math.Erfc(g.Theta / (g.Sigma * math.Sqrt2)) }

// normaliser returns c = 1/(1 − q·p̄).
func (g GaussianLimit) normaliser() float64 { return 1 / (1 - g.Recycle*g.Outside()) }

// Acceptance returns P(|N| ≤ Theta).
func (g GaussianLimit) Acceptance() float64 {
	return math.Erf(g.Theta/(g.Sigma*math.Sqrt2)) * g.normaliser()
}

// PDF returns the density at y.
func (g GaussianLimit) PDF(y float64) float64 {
	density := math.Exp(-y*y/(2*g.Sigma*g.Sigma)) / (g.Sigma * math.Sqrt(2*math.Pi))
	return density * g.normaliser() * g.weight(y)
}

// weight returns w(y).
func (g GaussianLimit) weight(y float64) float64 {
	if math.Abs(y) > g.Theta {
		return 1 - g.Recycle
	}
	return 1
}

// Delta returns the exact δ of (epsilon, δ)-DP against a change by shift > 0, for
// epsilon ≥ 0, rounded up by 10⁻¹³ of the masses whose difference it is. With
// y*(r) = shift/2 − σ²(ε − ln r)/shift it is the sum over the intervals between
// −θ, θ, shift−θ and shift+θ, each with r = w(y)/w(y−shift), of
//
//	c·(w·P(a < σZ < b′) − e^ε·w′·P(a−shift < σZ < b′−shift)),  b′ = min(b, y*(r)).
func (g GaussianLimit) Delta(epsilon, shift float64) float64 {
	ends := []float64{math.Inf(-1), -g.Theta, g.Theta, shift - g.Theta, shift + g.Theta, math.Inf(1)}
	slices.Sort(ends)
	unit := g.Sigma * math.Sqrt2
	delta := 0.0
	for i, b := range ends[1:] {
		a := ends[i]
		inner := (max(a, -g.Theta-1) + min(b, shift+g.Theta+1)) / 2
		w, before := g.weight(inner), g.weight(inner-shift)
		b = min(b, shift/2-g.Sigma*g.Sigma*(epsilon-math.Log(w/before))/shift)
		if !(a < b) {
			continue
		}
		mass := w * gausssum.NormalBetween(a/unit, b/unit)
		moved := math.Exp(epsilon) * before * gausssum.NormalBetween((a-shift)/unit, (b-shift)/unit)
		delta += max(0, mass-moved+1e-13*(mass+moved))
	}
	return min(1, g.normaliser()*delta)
}

// SafeGaussian returns the limit with the largest q of which the band |y| ≤ θ has a
// privacy loss of at most epsilon against a change by shift:
//
//	q = 1 − exp(−(ε − z)),  z = shift·(shift + 2θ)/(2σ²) < ε,
//
// and its δ. The loss exceeds ε only where both y and y − shift lie beyond the
// boundary, as the kernel's does, so that δ is δ_G(ε)·(1−q)/(1−q·p̄) exactly, where
// δ_G(ε) = Φ(shift/2σ − εσ/shift) − e^ε·Φ(−shift/2σ − εσ/shift) is the kernel's own
// [Balle-Wang 2018, Theorem 8].
func SafeGaussian(sigma, theta, shift, epsilon float64) (g GaussianLimit, delta float64, err error) {
	z := shift * (shift + 2*theta) / (2 * sigma * sigma)
	if !(sigma > 0 && theta >= 0 && shift > 0 && z < epsilon) {
		return g, 0, fmt.Errorf("%w: no q is safe for σ = %v, θ = %v, Δ = %v at ε = %v",
			brdp.ErrParameter, sigma, theta, shift, epsilon)
	}
	g = GaussianLimit{Sigma: sigma, Theta: theta, Recycle: -math.Expm1(z - epsilon)}
	kernel := GaussianLimit{Sigma: sigma, Theta: theta}.Delta(epsilon, shift)
	return g, kernel * math.Exp(z-epsilon) * g.normaliser(), nil
}

// LaplaceLimit is recycled Laplace noise on the real line: see [GaussianLimit].
type LaplaceLimit struct {
	Scale   float64 // > 0, the kernel's
	Theta   float64 // ≥ 0, the boundary
	Recycle float64 // q, from 0 to below 1
}

// Outside returns p̄ = P(|kernel| > Theta).
func (l LaplaceLimit) Outside() float64 { return math.Exp(-l.Theta / l.Scale) }

// Acceptance returns P(|N| ≤ Theta), whose odds are (e^{θ/scale} − 1)/(1 − q).
func (l LaplaceLimit) Acceptance() float64 {
	return -math.Expm1(-l.Theta/l.Scale) / (1 - l.Recycle*l.Outside())
}

// PDF returns the density at y.
func (l LaplaceLimit) PDF(y float64) float64 {
	density := math.Exp(-math.Abs(y)/l.Scale) / (2 * l.Scale) / (1 - l.Recycle*l.Outside())
	if math.Abs(y) > l.Theta {
		density *= 1 - l.Recycle
	}
	return density
}

// Epsilon returns the ε of pure DP against a change by shift, attained at y = −θ.
func (l LaplaceLimit) Epsilon(shift float64) float64 {
	return shift/l.Scale - math.Log1p(-l.Recycle)
}

// LaplaceShare returns how much of epsilon the Laplace kernel should have, and the
// recycler the rest, for the largest acceptance within theta against a change by
// shift. The odds of acceptance are (e^{aε′} − 1)·e^{ε−ε′}, a = theta/shift, which
// are largest at ε′ = −ln(1−a)/a if that is below epsilon, and else, as for every
// a ≥ 1, without recycling.
func LaplaceShare(theta, shift, epsilon float64) float64 {
	a := theta / shift
	if a >= 1 {
		return epsilon
	}
	best := 1.0
	if a > 0 {
		best = -math.Log1p(-a) / a
	}
	return min(epsilon, best)
}
