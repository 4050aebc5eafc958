package brdp

import (
	"math"
	"math/big"

	"dpproxy/dp"
	"dpproxy/mechanisms"
)

const (
	// searchTolerance is how much of a limit a search may leave.
	searchTolerance = 4e-3
	// useless is how many changes wide a boundary is beyond which recycling is not
	// tried: it would save less than a thousandth of the loss.
	useless = 50
)

// reach returns designs of a family that meet an acceptance: plain ones, and, with
// recycle, those of the recycled kernel that costs least.
func (p problem) reach(f family, acceptance float64, recycle bool) []Design {
	odds := acceptance / (1 - acceptance)
	least, most := f.sizes()
	plain := threshold(least, most, func(size float64) bool {
		return p.odds(f.kernel(size, false)) < odds
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
	if !recycle {
		return found
	}
	last := threshold(least, most, func(size float64) bool {
		inside, _ := p.masses(f.kernel(size, true))
		return inside < acceptance/MaxDraws*(1+4*searchTolerance)
	})
	size, known := f.bestSize()
	if !known && p.theta() > useless*p.shift() {
		size, known = 0, true
	}
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
	margin := 1.0
	if p.measure == dp.ZCDP { // more than the rounding of a cost
		margin -= 1e-9
	}
	plain := threshold(least, most, func(size float64) bool { return f.cost(size, 0) <= limit*margin })
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
		cost := func(logKeep float64) float64 { return f.cost(size, logKeep) }
		guess = affordable(budget{inside, outside, limit, searchTolerance}, guess, cost)
		return guess
	}
	size, known := f.bestSize()
	if !known && p.theta() > useless*p.shift() {
		size, known = 0, true
	}
	if !known {
		size = minimise(plain, last, func(size float64) float64 {
			inside, outside := p.masses(f.kernel(size, true))
			return math.Log(outside/inside) - search(size, inside, outside)
		})
	}
	if known && size > plain {
		size = threshold(plain, size, func(size float64) bool { return p.draws(f, size, limit) > MaxDraws*(1-searchTolerance) })
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
			cost := func(logKeep float64) float64 { return p.law(k, logKeep).Rho() }
			recycler = affordable(budget{inside, outside, limit, min(2*rhoTolerance, 1e-3/limit)}, guess, cost)
		case isLaplace:
			recycler = limit - l.rate*p.shift()
		}
		if recycler > 0 {
			add(m, keepUp(math.Exp(-recycler)*(1+1e-9)))
		}
	}
	return found
}

// draws returns the expected number of draws of a kernel under pure DP whose recycler
// has the rest that the kernel leaves of a limit.
func (p problem) draws(f family, size, limit float64) float64 {
	inside, outside := p.masses(f.kernel(size, true))
	return 1 / (inside + math.Exp(f.cost(size, 0)-limit)*outside)
}

// A budget is the most that a recycler of a kernel may cost.
type budget struct {
	inside, outside float64 // the kernel's masses
	limit           float64 // of the whole
	tolerance       float64 // how much of the limit may be left
}

// affordable returns −ln(1−q) with a cost of at most the limit, and at least
// limit·(1−tolerance) unless more would need too many draws. The cost grows with
// it. It is false position on the logarithm of the cost, from a guess if there is
// one, with the weight of an end halved when it stays twice [Dowell-Jarratt 1971].
func affordable(b budget, guess float64, cost func(logKeep float64) float64) float64 {
	most := 40.0
	// inside + keep·outside ≥ 1/MaxDraws
	if least := ((1+searchTolerance)/MaxDraws - b.inside) / b.outside; least > 0 {
		most = max(0, min(most, -math.Log(least)))
	}
	over := func(x float64) float64 { return math.Log(cost(-x) / b.limit) }
	low, atLow := 0.0, over(0)
	high, atHigh := most, math.Inf(1)
	if atLow >= -b.tolerance {
		return 0
	}
	next := guess
	if next <= 0 || next >= most {
		next = min(most, 2)
	}
	above, below := false, false // which end has moved last
	for range 40 {
		at := over(next)
		switch {
		case at > 0:
			if above {
				atLow /= 2
			}
			high, atHigh, above, below = next, at, true, false
		case at >= -b.tolerance || next >= most:
			return next
		default:
			if below && !math.IsInf(atHigh, 1) {
				atHigh /= 2
			}
			low, atLow, above, below = next, at, false, true
		}
		switch {
		case math.IsInf(atHigh, 1):
			next = min(most, low+1)
		case high-low < 1e-7:
			return low
		default: // aims a little below the limit
			goal := -b.tolerance / 2
			next = low + (high-low)*(goal-atLow)/(atHigh-atLow)
			next = min(max(next, low+(high-low)/100), high-(high-low)/100)
		}
	}
	return low
}
