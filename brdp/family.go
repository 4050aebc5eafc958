package brdp

import (
	"math"
	"math/big"

	"dpproxy/dp"
	"dpproxy/mechanisms"
)

// A family is a set of kernels that grow with one size, the variance or the scale.
type family interface {
	// sizes returns the range of sizes.
	sizes() (least, most float64)
	// kernel returns the kernel of a size, or a smooth one that is cheap to sum.
	kernel(size float64, smooth bool) kernel
	// near returns the mechanisms with the sizes next to this one.
	near(size float64) []mechanisms.Mechanism
	// cost returns, for searches, the cost of a coordinate under the measure.
	cost(size, logKeep float64) float64
	// bestSize returns the size that is best with recycling, wherever a closed form
	// tells it for every goal; found is false where there is none.
	bestSize() (size float64, found bool)
}

// gaussianFamily is sized by its variance.
type gaussianFamily struct{ problem }

func (gaussianFamily) sizes() (least, most float64) { return 1, 1 << 103 }

func (gaussianFamily) kernel(size float64, smooth bool) kernel { return newGaussian(size, smooth) }

func (f gaussianFamily) near(size float64) []mechanisms.Mechanism {
	var all []mechanisms.Mechanism
	for _, v := range []float64{max(1, math.Floor(size)), math.Ceil(size)} {
		i, _ := big.NewFloat(v).Int(nil)
		if m, err := mechanisms.NewGaussian(f.s, i); err == nil {
			all = append(all, m)
		}
	}
	return all
}

func (f gaussianFamily) cost(size, logKeep float64) float64 {
	if logKeep >= 0 {
		return f.shift() * f.shift() / (2 * size)
	}
	return f.law(f.kernel(size, true), logKeep).roughRho()
}

func (gaussianFamily) bestSize() (size float64, found bool) { return 0, false }

// laplaceFamily is sized by its scale.
type laplaceFamily struct{ problem }

func (laplaceFamily) sizes() (least, most float64) { return minScale, maxSize }

func (laplaceFamily) kernel(size float64, _ bool) kernel { return laplace{1 / size} }

func (f laplaceFamily) near(size float64) []mechanisms.Mechanism {
	var all []mechanisms.Mechanism
	for _, round := range []func(float64) float64{math.Floor, math.Ceil} {
		if m, err := mechanisms.NewLaplace(f.s, scaleRat(size, round)); err == nil {
			all = append(all, m)
		}
	}
	return all
}

func (f laplaceFamily) cost(size, logKeep float64) float64 {
	k := laplace{1 / size}
	switch {
	case f.measure == dp.PureDP:
		return k.rate*f.shift() - logKeep
	case logKeep >= 0:
		return k.divergence(f.shift())
	}
	return f.law(k, logKeep).roughRho()
}

// bestSize is the scale that is best under pure DP, whatever ε or the acceptance.
// With e = 1/scale the odds of the kernel's noise being within θ are exp(g(e)),
//
//	g(e) = ln((e^{e(θ+1)} + e^{eθ})/2 − 1),
//
// recycling divides them by 1 − q, and so costs Δ·e + ln odds − g(e). As g′ falls
// from infinity to θ+1, that has its least where g′(e) = Δ, if θ+1 < Δ; else it
// falls with e, and the best is not to recycle: a scale of 0.
func (f laplaceFamily) bestSize() (size float64, found bool) {
	if f.measure != dp.PureDP {
		return 0, false
	}
	if f.theta()+1 >= f.shift() {
		return 0, true
	}
	slope := func(e float64) float64 { // g′, with both sides divided by e^{e(θ+1)}
		theta, p := f.theta(), math.Exp(-e)
		return -(theta + 1 + theta*p) / (math.Expm1(-e*(theta+1)) + p*math.Expm1(-e*theta))
	}
	least, most := f.sizes()
	rate := threshold(1/most, 1/least, func(e float64) bool { return slope(e) <= f.shift() })
	return 1 / rate, true
}
