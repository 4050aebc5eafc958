package brdp

import (
	"math"
	"math/big"

	"dpproxy/dp"
	"dpproxy/mechanisms"
)

// searchTolerance is how much of a limit a search may leave.
const searchTolerance = 4e-3

// reach returns designs of a family that meet an acceptance: plain ones, and those
// of the recycled kernel that costs least.
func (p problem) reach(f family, acceptance float64) []Design {
	odds := acceptance / (1 - acceptance)
	least, most := f.sizes()
	plain := threshold(least, most, func(size float64) bool {
		return p.odds(f.kernel(size, false)) < odds
	})
	last := threshold(least, most, func(size float64) bool {
		inside, _ := p.masses(f.kernel(size, true))
		return inside < acceptance/MaxDraws*(1+4*searchTolerance)
	})
	var found []Design
	add := func(m mechanisms.Mechanism, keep *big.Rat) {
		if d, ok := p.built(m, keep); ok && d.Acceptance >= acceptance {
			found = append(found, d)
		}
	}
	for _, m := range f.near(plain * (1 - 1e-9)) {
		add(m, big.NewRat(1, 1))
	}
	size, known := f.bestSize()
	if !known {
		size = minimise(plain, max(plain, last), func(size float64) float64 {
			return f.cost(size, min(0, math.Log(p.odds(f.kernel(size, true))/odds)))
		})
	}
	if size = min(size, last); size <= plain && p.odds(f.kernel(least, false)) >= odds {
		return found
	}
	for _, m := range candidates(f, size) {
		k, _, err := kernelOf(m.Event())
		if err != nil {
			continue
		}
		// The margin covers the rounding of both acceptances.
		if keep := p.odds(k) / odds * (1 - 10*acceptanceSlack); keep < 1 {
			add(m, keepDown(keep))
		}
	}
	return found
}

// candidates returns the kernels next to a size: both neighbours of a small one, of
// which the larger may be far better, and one of a large.
func candidates(f family, size float64) []mechanisms.Mechanism {
	near := f.near(size)
	if size > 1000 && len(near) > 1 {
		return near[1:]
	}
	return near
}

// masses returns a kernel's masses within the boundary and beyond.
func (p problem) masses(k kernel) (inside, outside float64) { return odds(k, p.theta()) }

// odds returns the odds that a kernel's noise is within the boundary.
func (p problem) odds(k kernel) float64 {
	inside, outside := p.masses(k)
	return inside / outside
}

// spend returns designs of a family that cost at most loss: plain ones, and those of
// the recycled kernel with the largest acceptance.
func (p problem) spend(f family, loss dp.Loss) []Design {
	limit := float64(loss.Pico()) / dp.PicoPerUnit / float64(p.s.L0)
	least, most := f.sizes()
	plain := threshold(least, most, func(size float64) bool { return f.cost(size, 0) <= limit })
	var found []Design
	add := func(m mechanisms.Mechanism, keep *big.Rat) {
		if d, ok := p.built(m, keep); ok && d.Loss.Fits(loss) {
			found = append(found, d)
		}
	}
	for _, m := range f.near(plain) {
		add(m, big.NewRat(1, 1))
	}
	// Noise 4096 times as wide as the plain kernel's is no answer any more.
	last := min(most, plain*(1<<24))
	guess := 0.0
	search := func(size, inside, outside float64) float64 {
		guess = affordable(budget{inside, outside, limit, searchTolerance}, guess, func(logKeep float64) float64 { return f.cost(size, logKeep) })
		return guess
	}
	size, known := f.bestSize()
	if !known {
		size = minimise(plain, last, func(size float64) float64 {
			inside, outside := p.masses(f.kernel(size, true))
			return math.Log(outside/inside) - search(size, inside, outside)
		})
	}
	if size <= plain {
		return found
	}
	for _, m := range candidates(f, size) {
		k, _, err := kernelOf(m.Event())
		if err != nil {
			continue
		}
		inside, outside := p.masses(k)
		recycler := 0.0
		switch l, isLaplace := k.(laplace); {
		case p.measure == dp.ZCDP:
			guess = search(size, inside, outside)
			recycler = affordable(budget{inside, outside, limit, 2 * rhoTolerance}, guess, func(logKeep float64) float64 { return p.law(k, logKeep).Rho() })
		case isLaplace:
			recycler = limit - l.rate*p.shift()
		}
		if recycler > 0 {
			add(m, keepUp(math.Exp(-recycler)*(1+1e-9)))
		}
	}
	return found
}

// A budget is what a recycler of a kernel may cost.
type budget struct {
	inside, outside float64 // the kernel's masses
	limit           float64 // of the whole
	tolerance       float64 // how much of the limit may be left
}

// affordable returns −ln(1−q) with a cost of at most the limit, and at least
// limit·(1−tolerance) unless more would need too many draws. The cost grows with
// it, from what is below the limit at 0. It is false position, from a guess if
// there is one.
func affordable(b budget, guess float64, cost func(logKeep float64) float64) float64 {
	most := 40.0
	// inside + keep·outside ≥ 1/MaxDraws
	if least := ((1+searchTolerance)/MaxDraws - b.inside) / b.outside; least > 0 {
		most = max(0, min(most, -math.Log(least)))
	}
	low, high := 0.0, most
	atLow, atHigh := -b.limit, math.Inf(1) // of cost less limit
	next := guess
	if next <= 0 || next >= most {
		next = min(most, math.Sqrt(b.limit))
	}
	for range 40 {
		excess := cost(-next) - b.limit
		switch {
		case excess > 0:
			high, atHigh, atLow = next, excess, atLow/2
		case excess >= -b.tolerance*b.limit || next >= most:
			return next
		default:
			low, atLow, atHigh = next, excess, atHigh/2
		}
		switch {
		case math.IsInf(atHigh, 1):
			next = min(most, 1.5*low+1e-9)
		case high-low < 1e-12*high:
			return low
		default: // aims a little below the limit
			next = low - (high-low)*(b.tolerance*b.limit/2+atLow)/(atHigh-atLow)
			next = min(max(next, low+(high-low)/50), high-(high-low)/50)
		}
	}
	return low
}
