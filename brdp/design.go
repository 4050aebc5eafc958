package brdp

import (
	"fmt"
	"math"
	"math/big"

	"dpproxy/dp"
	"dpproxy/mechanisms"
)

// A Goal is an accuracy: P(|noise| ≤ Boundary) ≥ Acceptance on each coordinate, to
// be had at the least loss under Measure.
type Goal struct {
	Sensitivity dp.Sensitivity
	Boundary    int64 // in lattice units
	Acceptance  float64
	Measure     dp.Measure
}

// An Allowance is a loss, for which to have the largest P(|noise| ≤ Boundary).
type Allowance struct {
	Sensitivity dp.Sensitivity
	Boundary    int64
	Loss        dp.Loss // without δ
}

// An ApproximateAllowance is an (ε, δ)-DP, for which to have the largest
// P(|noise| ≤ Boundary). Vectors compose in the simplest way: each of the L0
// coordinates has ε/L0 and δ/L0.
type ApproximateAllowance struct {
	Sensitivity    dp.Sensitivity
	Boundary       int64
	Epsilon, Delta float64
}

// A Design is the noise for a goal or an allowance. Mechanism is a [Noise] if
// Recycled, else a plain kernel, since recycling would not gain anything.
type Design struct {
	Mechanism mechanisms.Mechanism
	Recycled  bool
	// Acceptance is P(|noise| ≤ boundary), rounded down.
	Acceptance float64
	// Loss covers one vector under the measure that was asked for. It is the
	// price of the event, but for a plain Laplace kernel under zCDP, where it may
	// be relatively 10⁻⁹ above. It is the zero Loss for an ApproximateAllowance.
	Loss dp.Loss
}

// Designer finds designs and remembers them. It is safe for concurrent use; the
// zero Designer is ready.
type Designer struct {
	goals      cache[Goal, Design]
	allowances cache[Allowance, Design]
	approx     cache[ApproximateAllowance, Design]
	options    cache[wish, []Option]
}

// acceptanceSlack is more than the relative errors of an acceptance and of its
// complement.
const acceptanceSlack = 1e-11

// acceptanceDown returns P(|N| ≤ boundary), never more.
func (l Law) acceptanceDown() float64 {
	return max(l.Acceptance()*(1-acceptanceSlack), 1-math.Exp(l.logTail(l.boundary))*(1+acceptanceSlack))
}

// Cheapest returns the design that meets g at the least loss: the best of the plain
// kernels and of both with recycling, Gaussian ones under dp.ZCDP only. Its acceptance
// and its loss are computed from the law that is drawn, after all rounding.
func (d *Designer) Cheapest(g Goal) (Design, error) {
	return d.goals.get(g, func() (Design, error) {
		p, err := g.problem()
		if err != nil {
			return Design{}, err
		}
		found := []Design{}
		for _, f := range p.families() {
			found = append(found, p.reach(f, g.Acceptance, true)...)
		}
		return choose(found, cheaper)
	})
}

func cheaper(x, y Design) bool { return x.Loss.Pico() < y.Loss.Pico() }

// MostAccepted returns the design with the largest acceptance that costs at most
// a.Loss, chosen as Cheapest does.
func (d *Designer) MostAccepted(a Allowance) (Design, error) {
	return d.allowances.get(a, func() (Design, error) {
		p, err := newProblem(a.Sensitivity, a.Boundary, a.Loss.Measure())
		if err != nil {
			return Design{}, err
		}
		if a.Loss.Pico() <= 0 || a.Loss.Atto() != 0 {
			return Design{}, fmt.Errorf("%w: an allowance of %v", ErrParameter, a.Loss)
		}
		found := []Design{}
		for _, f := range p.families() {
			found = append(found, p.spend(f, a.Loss)...)
		}
		return choose(found, moreAccepted)
	})
}

func moreAccepted(x, y Design) bool { return x.Acceptance > y.Acceptance }

// choose returns the best design, and of equals the first.
func choose(found []Design, better func(x, y Design) bool) (Design, error) {
	if len(found) == 0 {
		return Design{}, fmt.Errorf("%w: no noise meets it", ErrParameter)
	}
	best := found[0]
	for _, d := range found[1:] {
		if better(d, best) {
			best = d
		}
	}
	return best, nil
}

// problem checks the goal.
func (g Goal) problem() (problem, error) {
	p, err := newProblem(g.Sensitivity, g.Boundary, g.Measure)
	if err == nil && !(g.Acceptance >= 1e-3 && g.Acceptance <= 1-1e-9) {
		err = fmt.Errorf("%w: an acceptance of %v", ErrParameter, g.Acceptance)
	}
	return p, err
}

// A problem has the parts that all designs for one answer share.
type problem struct {
	s        dp.Sensitivity
	boundary int64
	measure  dp.Measure
}

func newProblem(s dp.Sensitivity, boundary int64, m dp.Measure) (problem, error) {
	switch {
	case !s.Valid() || s.LInf > maxSize || boundary < 0 || boundary > maxSize:
		return problem{}, fmt.Errorf("%w: sensitivity %+v with a boundary of %d", ErrParameter, s, boundary)
	case m != dp.PureDP && m != dp.ZCDP:
		return problem{}, dp.ErrMeasure
	}
	return problem{s, boundary, m}, nil
}

func (p problem) shift() float64 { return float64(p.s.LInf) }
func (p problem) theta() float64 { return float64(p.boundary) }

// law returns the law of a kernel for this problem, without coordinates.
func (p problem) law(k kernel, logKeep float64) Law { return newLaw(k, p.theta(), logKeep, p.shift()) }

// families returns the kernels that the measure admits.
func (p problem) families() []family {
	if p.measure == dp.PureDP {
		return []family{laplaceFamily{p}}
	}
	return []family{gaussianFamily{p}, laplaceFamily{p}}
}

// built returns the design of a kernel with recycling, or without for keep = 1, and
// whether there is such a mechanism. Its loss is left out where no measure is asked.
func (p problem) built(kernel mechanisms.Mechanism, keep *big.Rat) (Design, bool) {
	q := new(big.Rat).Sub(big.NewRat(1, 1), keep)
	noise, err := New(kernel, p.boundary, q)
	if err != nil {
		return Design{}, false
	}
	d := Design{Mechanism: noise, Recycled: q.Sign() != 0, Acceptance: noise.law.acceptanceDown()}
	if !d.Recycled {
		d.Mechanism = kernel
	}
	switch {
	case p.measure == 0:
	case d.Recycled:
		d.Loss, err = noise.law.Loss(p.measure)
	default:
		d.Loss, err = p.plainLoss(noise.law, kernel.Event())
	}
	return d, err == nil
}

// plainLoss returns the loss of a kernel without recycling.
func (p problem) plainLoss(l Law, e dp.Event) (dp.Loss, error) {
	g, isGaussian := e.(dp.GaussianEvent)
	switch {
	case p.measure == dp.PureDP:
		return l.Loss(p.measure)
	case isGaussian:
		return lossUp(p.measure, new(big.Rat).SetFrac(p.s.L2Squared(), new(big.Int).Lsh(g.Variance, 1)))
	}
	rho := l.kernel.(laplace).divergence(l.shift)
	if math.IsInf(rho, 0) || math.IsNaN(rho) {
		return dp.Loss{}, dp.ErrOverflow
	}
	r := new(big.Rat).SetFloat64(rho)
	return lossUp(p.measure, r.Mul(r, l.coordinates))
}

// divergence returns e·Δ − (e/sinh e)·(1 − exp(−e·Δ)), e = rate, the exact zCDP loss
// of the kernel [Harrison-Manurangsi 2026], rounded up, and at most ½(e·Δ)².
func (k laplace) divergence(shift float64) float64 {
	e, x := k.rate, k.rate*shift
	saved := -math.Expm1(-x)
	if e > 1e-9 { // below, e/sinh e is 1 to the last digit
		saved *= e / math.Sinh(e)
	}
	return min((x-saved)*(1+1e-9)+1e-15*x, x*x/2*(1+1e-9))
}
