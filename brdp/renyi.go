package brdp

import "math"

const (
	// rhoTolerance is how far above the supremum Rho may stop.
	rhoTolerance = 4e-4
	// rhoSlack is more than the relative error of a divergence that is not near 0
	// and of the few operations that make a bound of it; near 0 [Law.moment] adds
	// the error of its sum.
	rhoSlack = 1e-9
	// maxPoints bounds the work. A search that reaches it returns its interval
	// so far, which is a bound all the same. Flat rates need some 300 points.
	maxPoints = 3000
	// maxTilt bounds α − 1.
	maxTilt = 1 << 60
)

// Rho returns an upper bound of sup over α > 1 of D_α(f ‖ f(·−Δ))/α, by which one
// coordinate is ρ-zCDP. It exceeds the supremum by a relative 5·10⁻⁴ at most, and
// where that is below 10⁻⁴, and small orders decide, by some 6·10⁻⁶·√ρ + 2·10⁻¹¹.
//
// With a = α − 1, φ(a) = a·D_α = ln E[exp(a·loss)] is convex and φ(0) = 0. Between
// two values of a it lies below its chord k + m·a, and so D_α/α below the maximum of
// (k + m·a)/(a(1+a)), which is at an end or at a root of m·a² + 2k·a + k. Intervals
// are halved until the bound is within a tolerance of the largest value seen. Left of
// the first a, D_α is at most its value there, and 1/α at most 1. Right of the last,
//
//	D_α/α ≤ Δ²/(2v) + (𝓛 + ln c/a)/α,  𝓛 = −ln(1−q)
//
// for the Gaussian kernel, as f ≤ c·k and f ≥ c(1−q)·k, and the kernel's own D_α is
// at most α·Δ²/(2v) [CKS 2020, Theorem 4]; for the Laplace kernel it is ε/α.
func (l Law) Rho() float64 {
	rho := l.supremum()
	switch k := l.kernel.(type) {
	case laplace: // no ε-DP costs more [Harrison-Manurangsi 2026]
		epsilon := k.rate*l.shift - l.logKeep
		rho = min(rho, epsilon*math.Tanh(epsilon/2))
	case gaussian:
		if l.keep == 1 {
			rho = l.shift * l.shift / (2 * k.v)
		}
	}
	if l.recycled {
		rho += 0x1p-51 // the loss of 1 − q where its double is 1
	}
	return rho * (1 + rhoSlack)
}

// A point is an order α = 1 + a and φ(a).
type point struct{ a, phi float64 }

func (p point) rate() float64 { return p.phi / (p.a * (1 + p.a)) }

// supremum is the state of one search.
type supremum struct {
	law   Law
	best  float64 // the largest rate seen
	bound float64 // of all that is settled
	left  int     // points that may still be computed
}

// supremum returns a bound of D_α/α, as Rho says.
func (l Law) supremum() float64 {
	s := &supremum{law: l, left: maxPoints}
	points := []point{s.at(1.0 / 16)}
	for _, a := range []float64{1.0 / 2, 4, 32} {
		points = append(points, s.at(a))
	}
	points = s.begin(s.end(points))
	for i := range points[1:] {
		s.settle(points[i], points[i+1])
	}
	return s.bound
}

func (s *supremum) at(a float64) point {
	s.left--
	p := point{a, s.law.moment(a)}
	s.best = max(s.best, p.rate())
	return p
}

// settled accepts a bound that is near enough to the best rate.
func (s *supremum) settled(bound float64) bool {
	if bound > s.best*(1+rhoTolerance) {
		return false
	}
	s.bound = max(s.bound, bound)
	return true
}

// begin adds points before the first until D there is near the best rate, or
// until the computed φ/a is mostly the error of φ.
func (s *supremum) begin(points []point) []point {
	first := points[0]
	for !s.settled(first.phi / first.a) {
		next := s.at(first.a / 4)
		if next.phi/next.a >= first.phi/first.a || s.left < 0 {
			s.bound = max(s.bound, first.phi/first.a)
			break
		}
		points = append([]point{next}, points...)
		first = next
	}
	return points
}

// end adds points after the last until all that follows is below the best rate.
func (s *supremum) end(points []point) []point {
	last := points[len(points)-1]
	for !s.settled(s.law.rateBeyond(last.a)) {
		if last.a >= maxTilt {
			s.bound = max(s.bound, s.law.rateBeyond(last.a))
			break
		}
		last = s.at(4 * last.a)
		points = append(points, last)
	}
	return points
}

// settle halves the interval between p and q until each part is settled.
func (s *supremum) settle(p, q point) {
	bound := chord(p, q)
	if s.settled(bound) {
		return
	}
	middle := math.Sqrt(p.a * q.a)
	if s.left <= 0 || middle <= p.a || middle >= q.a {
		s.bound = max(s.bound, bound)
		return
	}
	r := s.at(middle)
	s.settle(p, r)
	s.settle(r, q)
}

// roughRho returns the supremum of D_α/α, wrong by less than a percent: the largest
// rate on a geometric grid, and that of a parabola through it. It is for searches.
func (l Law) roughRho() float64 {
	rate := func(a float64) float64 { return point{a, l.moment(a)}.rate() }
	// Beyond last, the kernel moved by α−1 changes has left the boundary behind.
	last := 64 + 8*(l.boundary+10*math.Sqrt(l.kernel.variance()))/l.shift
	before, best, after, peak := 0.0, 0.0, 0.0, 0.0
	for a, previous := 1.0/16, 0.0; a < last; a *= 2 {
		y := rate(a)
		switch {
		case y > best:
			before, best, after, peak = previous, y, 0, a
		case previous == best:
			after = y
		}
		if y < 0.7*best {
			break
		}
		previous = y
	}
	if bend := 2*best - before - after; before > 0 && after > 0 && bend > 0 {
		best = max(best, rate(peak*math.Exp2((after-before)/(2*bend))))
	}
	return best
}

// chord returns the maximum of (k + m·a)/(a(1+a)) between p and q.
func chord(p, q point) float64 {
	m := (q.phi - p.phi) / (q.a - p.a)
	k := p.phi - m*p.a
	top := max(p.rate(), q.rate())
	if root := k*k - m*k; m > 0 && root > 0 {
		if a := (math.Sqrt(root) - k) / m; a > p.a && a < q.a {
			top = max(top, (k+m*a)/(a*(1+a)))
		}
	}
	return top
}

// rateBeyond bounds D_α/α for all α > 1 + a.
func (l Law) rateBeyond(a float64) float64 {
	switch k := l.kernel.(type) {
	case laplace:
		return (k.rate*l.shift - l.logKeep) / (1 + a)
	case gaussian:
		return l.shift*l.shift/(2*k.v) + (l.logC/a-l.logKeep)/(1+a)
	}
	return math.Inf(1)
}

// moment returns φ(a) = ln Σ f(n)^α·f(n−Δ)^(1−α), α = 1 + a, never too small by
// more than rhoSlack allows. Where φ is near 0 it is log1p of a sum that is near 1,
// less 1; the slack of the sum then is an error of φ.
func (l Law) moment(a float64) float64 {
	var logs, slacks [8]float64
	most := math.Inf(-1)
	for i, r := range l.ranges {
		// f(n)^α·f(n−Δ)^(1−α) has the weight w·(w/w′)^a.
		weight := l.logWeight(r.inside)
		if r.inside != r.before {
			weight += a * (l.logWeight(r.inside) - l.logWeight(r.before))
		}
		logs[i] = l.logC + weight + l.kernel.logTilted(1+a, l.shift, r.a, r.b)
		slacks[i] = l.kernel.slack(r.a, r.b)
		most = max(most, logs[i])
	}
	if most < 1 {
		most = 0
	}
	excess := 0.0
	for i := range l.ranges {
		excess += math.Exp(logs[i]-most) * (1 + slacks[i])
	}
	if most == 0 {
		return math.Log1p(max(0, excess-1))
	}
	return most + math.Log(excess)
}
