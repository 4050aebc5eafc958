package brdp

import (
	"fmt"
	"math"
	"math/big"

	"dpproxy/dp"
	"dpproxy/mechanisms"
)

// MostAcceptedApproximate returns the design with the largest acceptance that is
// (a.Epsilon, a.Delta)-DP: the best of the plain kernels, the recycled Laplace
// kernel at ε, and the recycled Gaussian kernel of the least privacy loss within
// the boundary. The last takes q such that the band |n| ≤ θ has a loss of at most ε,
//
//	q = 1 − exp(−(ε − z)),  z = Δ(Δ + 2θ)/(2·variance) < ε,
//
// so that δ comes only from where the kernel's own does, and searches the variance.
// Its δ is computed anew from the law that is drawn, [Law.Delta].
func (d *Designer) MostAcceptedApproximate(a ApproximateAllowance) (Design, error) {
	return d.approx.get(a, func() (Design, error) {
		p, err := newProblem(a.Sensitivity, a.Boundary, dp.PureDP)
		if err != nil {
			return Design{}, err
		}
		if !(a.Epsilon > 0 && a.Epsilon*dp.PicoPerUnit <= dp.MaxPico && a.Delta > 0 && a.Delta < 1) {
			return Design{}, fmt.Errorf("%w: ε = %v, δ = %v", ErrParameter, a.Epsilon, a.Delta)
		}
		pure, err := dp.NewLoss(dp.PureDP, int64(a.Epsilon*dp.PicoPerUnit), 0)
		if err != nil {
			return Design{}, err
		}
		found := p.spendApproximate(a.Epsilon/float64(p.s.L0), a.Delta/float64(p.s.L0))
		if pure.Pico() > 0 {
			found = append(found, p.spend(laplaceFamily{p}, pure)...)
		}
		best, err := choose(found, moreAccepted)
		best.Loss = dp.Loss{}
		return best, err
	})
}

// spendApproximate returns the plain Gaussian kernel and the best recycled one for a
// coordinate.
func (p problem) spendApproximate(epsilon, delta float64) []Design {
	p.measure = 0
	f := gaussianFamily{p}
	least, most := f.sizes()
	band := func(v float64) float64 { return p.shift() * (p.shift() + 2*p.theta()) / (2 * v) }
	var found []Design
	add := func(m mechanisms.Mechanism, keep *big.Rat) bool {
		d, ok := p.built(m, keep)
		if !ok {
			return false
		}
		l := newLaw(newGaussian(varianceOf(m), false), p.theta(), math.Log(ratFloat(keep)), p.shift())
		if l.Delta(epsilon) > delta {
			return false
		}
		found = append(found, d)
		return true
	}
	plain := threshold(least, most, func(v float64) bool {
		return p.law(f.kernel(v, false), 0).Delta(epsilon) <= delta
	})
	for _, m := range f.near(plain) {
		add(m, big.NewRat(1, 1))
	}
	// From the least variance at which the safe q exists.
	first := max(least, band(1)/epsilon*(1+1e-9))
	top := min(most, first*(1<<24))
	safe := func(v float64) Law { return p.law(f.kernel(v, true), band(v)-epsilon) }
	edge := threshold(first, top, func(v float64) bool {
		l := safe(v)
		return l.Draws() <= MaxDraws && l.Delta(epsilon) <= delta
	})
	size := math.Ceil(minimise(edge, top, func(v float64) float64 {
		l := safe(v)
		if l.Draws() > MaxDraws {
			return MaxDraws
		}
		return l.logTail(l.boundary) - math.Log(l.Acceptance())
	}))
	// At the edge, an integral in place of a sum may have been too small by a percent.
	for step := 1e-4; step < 1; step *= 2 {
		m := candidates(f, size)[0]
		if keep := math.Exp(band(varianceOf(m)) - epsilon); keep < 1 && add(m, keepUp(keep*(1+1e-12))) {
			break
		}
		size = math.Ceil(size*(1+step) + 1e-9)
	}
	return found
}

// varianceOf returns the variance of a Gaussian mechanism.
func varianceOf(m mechanisms.Mechanism) float64 {
	e, ok := m.Event().(dp.GaussianEvent)
	if !ok {
		return math.Inf(1)
	}
	v, _ := new(big.Float).SetInt(e.Variance).Float64()
	return v
}

func ratFloat(x *big.Rat) float64 {
	f, _ := x.Float64()
	return f
}
