package mechanisms

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"sync"

	"dpproxy/dp"
)

// ErrLevel is returned where a path has no further level.
var ErrLevel = errors.New("mechanisms: every level of the path was revealed")

const (
	// maxLevels bounds the levels of a reduction.
	maxLevels = 256
	// leastRatio and mostRatio bound the ratio of two levels: a round should be
	// worth its part of the error probability, and not overshoot by much.
	leastRatio = 1.19
	mostRatio  = 4
)

// LaplaceReduction is gradual release by discrete Laplace noise: the vector is
// revealed at the rates e₁ < … < e_K, each time with noise P(n) ∝ exp(−eₖ·|n|), and
// only the last level that was revealed is paid for.
//
// The noise V₁, …, V_K of a coordinate is one path, drawn at once, from the finest
// level backwards: V_K is discrete Laplace of rate e_K, and with p = exp(−e)
//
//	Vₖ = Vₖ₊₁ + Wₖ, where Wₖ is 0 with probability (pₖ₊₁/pₖ)·((1 − pₖ)/(1 − pₖ₊₁))²,
//	and else discrete Laplace of rate eₖ,
//
// which gives Vₖ its law, as the generating functions show: the lattice's form of
// [Koufogiannis-Han-Pappas 2015], whose probability is the limit (eₖ/eₖ₊₁)².
//
// The guarantee: given Vₖ, the levels before it do not depend on the data any more,
// so that the likelihood ratio of V₁, …, Vₖ is that of Vₖ. For neighbours with
// ‖f(x) − f(x′)‖₁ ≤ L1 a path revealed up to level k is (eₖ·L1)-DP, whatever the
// reason to stop there [Ligett et al. 2017]. Under zCDP the price of stopping is
// that of the last level, because that of the levels between depends on the levels
// seen: the event carries it as its cap.
//
// The caller must ensure the conditions of [Laplace], and that each level is
// charged, durably, before it is revealed. An abandoned path is never taken up
// again: there is no independent noise in its next level.
type LaplaceReduction struct {
	sensitivity dp.Sensitivity
	levels      []Laplace
	stays       []stay // stays[k] decides whether level k keeps the noise of level k+1
}

// NewLaplaceReduction returns the reduction through strictly increasing rates, in
// 1/lattice units, for answers of sensitivity s.
func NewLaplaceReduction(s dp.Sensitivity, rates []*big.Rat) (LaplaceReduction, error) {
	if len(rates) < 1 || len(rates) > maxLevels {
		return LaplaceReduction{}, fmt.Errorf("%w: a reduction of %d levels", ErrParameter, len(rates))
	}
	r := LaplaceReduction{sensitivity: s}
	for k, rate := range rates {
		if rate == nil || rate.Sign() <= 0 || k > 0 && rates[k-1].Cmp(rate) >= 0 {
			return LaplaceReduction{}, fmt.Errorf("%w: rates that do not increase from above 0", ErrParameter)
		}
		level, err := NewLaplace(s, new(big.Rat).Inv(rate))
		if err != nil {
			return LaplaceReduction{}, err
		}
		r.levels = append(r.levels, level)
		if k > 0 {
			r.stays = append(r.stays, newStay(rates[k-1], rate))
		}
	}
	return r, nil
}

// LaplaceReductionFor returns the reduction whose levels cost at most the given
// ε·10⁻¹², strictly increasing, as those of [LaplaceFor] do.
func LaplaceReductionFor(s dp.Sensitivity, epsilonPicos []int64) (LaplaceReduction, error) {
	rates := make([]*big.Rat, len(epsilonPicos))
	for k, pico := range epsilonPicos {
		level, err := LaplaceFor(s, pico)
		if err != nil {
			return LaplaceReduction{}, err
		}
		rates[k] = new(big.Rat).Inv(level.scale)
	}
	return NewLaplaceReduction(s, rates)
}

// GeometricLevels returns the levels first, first·factor, … and last, rounded down to
// integers. One that would be less than √factor below last is left out.
func GeometricLevels(first, last int64, factor float64) ([]int64, error) {
	switch {
	case !(factor >= leastRatio && factor <= mostRatio):
		return nil, fmt.Errorf("%w: levels of ratio %v", ErrParameter, factor)
	case first < 1 || last < first || last > dp.MaxPico:
		return nil, fmt.Errorf("%w: levels from %d to %d", ErrParameter, first, last)
	}
	var levels []int64
	for x := float64(first); x < float64(last)/math.Sqrt(factor); x = math.Max(x*factor, x+1) {
		levels = append(levels, int64(x))
	}
	return append(levels, last), nil
}

// Levels returns the number of levels.
func (r LaplaceReduction) Levels() int { return len(r.levels) }

// Level returns the mechanism whose noise level k has by itself, counted from 0:
// for its quantiles, not for its event or samples.
func (r LaplaceReduction) Level(k int) (Laplace, error) {
	if k < 0 || k >= len(r.levels) {
		return Laplace{}, fmt.Errorf("%w: level %d of %d", ErrParameter, k, len(r.levels))
	}
	return r.levels[k], nil
}

// Event describes the reveal of level k, counted from 0, after that of level k−1, for a pricer.
func (r LaplaceReduction) Event(k int) dp.Event {
	rate := func(k int) *big.Rat { return new(big.Rat).Inv(r.levels[k].scale) }
	e := dp.ReductionEvent{Sensitivity: r.sensitivity, Before: new(big.Rat), After: rate(k), Cap: rate(len(r.levels) - 1)}
	if k > 0 {
		e.Before = rate(k - 1)
	}
	return e
}

// ReductionOf returns the reveal of level k, counted from 0, of a reduction whose levels cost at most the given
// ε·10⁻¹², as those of [LaplaceReductionFor] do: of no sensitivity in particular. Its noise of rate ε about a
// sensitivity of 1 has the likelihood ratios e^ε and e^−ε alone, and costs as much as any that is ε-DP
// [Kairouz-Oh-Viswanath 2017], under zCDP too.
func ReductionOf(epsilonPicos []int64, k int) dp.Event {
	rate := func(k int) *big.Rat { return big.NewRat(epsilonPicos[k], dp.PicoPerUnit) }
	e := dp.ReductionEvent{
		Sensitivity: dp.Sensitivity{L0: 1, LInf: 1}, Before: new(big.Rat), After: rate(k), Cap: rate(len(epsilonPicos) - 1),
	}
	if k > 0 {
		e.Before = rate(k - 1)
	}
	return e
}

// A Path is one vector with the noise of all levels, of which the first ones were
// revealed. Like a [Private], it prints and logs nothing of them, and cannot be
// encoded. It is safe for concurrent use.
type Path struct {
	reduction LaplaceReduction

	mu       sync.Mutex
	revealed int
	hidden   [][]Private // noisy values, level by level
}

// Begin draws the path of the exact values. Nothing is revealed, and nothing has
// to be charged, yet.
func (r LaplaceReduction) Begin(src Source, exact []Private) (*Path, error) {
	if len(r.levels) == 0 || slices.ContainsFunc(exact, Private.isEmpty) {
		return nil, fmt.Errorf("%w: a path of no levels, or of an empty value", ErrParameter)
	}
	last := len(r.levels) - 1
	p := &Path{reduction: r, hidden: make([][]Private, len(r.levels))}
	for k := range p.hidden {
		p.hidden[k] = make([]Private, len(exact))
	}
	noise := new(big.Int)
	for i, value := range exact {
		noisy := new(big.Int).Add(value.reveal(), r.levels[last].Sample(noise, src))
		p.hidden[last][i] = Protect(noisy)
		for k := last - 1; k >= 0; k-- {
			if !r.stays[k].draw(src) {
				noisy.Add(noisy, r.levels[k].Sample(noise, src))
			}
			p.hidden[k][i] = Protect(noisy)
		}
	}
	return p, nil
}

// MarshalJSON implements json.Marshaler. It refuses.
func (*Path) MarshalJSON() ([]byte, error) { return nil, ErrPrivate }

// Next returns the next level of the path, which may be charged and then revealed.
// It is ErrLevel after the last.
func (p *Path) Next() (*Level, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.revealed == len(p.hidden) {
		return nil, ErrLevel
	}
	return &Level{p, p.revealed}, nil
}

// A Level is one level of a path, which may be charged and then revealed, once. One
// that is not revealed costs nothing.
type Level struct {
	path   *Path
	number int // counted from 0
}

// Event describes the reveal of the level after that of the one before, for a
// pricer.
func (l *Level) Event() dp.Event { return l.path.reduction.Event(l.number) }

// Reveal returns the vector with the noise of the level. The caller must have
// charged l.Event(), durably, before; the guarantee is that of [LaplaceReduction].
// It wraps ErrStep the second time, and where the level was revealed by another
// call of [Path.Next].
func (l *Level) Reveal() ([]Released, error) {
	p := l.path
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.number != p.revealed {
		return nil, fmt.Errorf("%w: level %d, where %d were revealed", ErrStep, l.number+1, p.revealed)
	}
	level := p.hidden[p.revealed]
	p.hidden[p.revealed] = nil
	p.revealed++
	released := make([]Released, len(level))
	for i, v := range level {
		released[i] = Released{v.reveal()}
	}
	return released, nil
}

// A stay is the coin that keeps the noise of the finer of two levels, exactly. With
// the rates low/unit < high/unit,
//
//	(p_high/p_low)·((1 − p_low)/(1 − p_high))² = exp(−(high − low)/unit)·r²,
//
// where r is P(X < low | X < high) for an integer X ≥ 0 with P(X = x) ∝ exp(−x/unit).
type stay struct{ low, high, unit *big.Int }

func newStay(low, high *big.Rat) stay {
	a := new(big.Int).Mul(low.Num(), high.Denom())
	b := new(big.Int).Mul(high.Num(), low.Denom())
	return stay{a, b, new(big.Int).Mul(low.Denom(), high.Denom())}
}

// draw tosses the coin.
func (s stay) draw(src Source) bool {
	return bernoulliExpBig(src, new(big.Int).Sub(s.high, s.low), s.unit) && s.below(src) && s.below(src)
}

// below is true with probability P(X < low | X < high). It draws X below high: if
// that is at most unit, uniformly, accepted with exp(−X/unit) > 1/e; else as a
// multiple of unit and a rest, each of its own law, of which both are below high
// with probability above 1 − 1/e.
func (s stay) below(src Source) bool {
	narrow := s.high.Cmp(s.unit) <= 0
	span := s.unit
	if narrow {
		span = s.high
	}
	whole := new(big.Int)
	for {
		x := uniformBig(src, span)
		if !bernoulliExpBig(src, x, s.unit) {
			continue
		}
		if !narrow {
			x.Add(x, whole.Mul(whole.SetUint64(geometric(src)), s.unit))
		}
		if x.Cmp(s.high) < 0 {
			return x.Cmp(s.low) < 0
		}
	}
}
