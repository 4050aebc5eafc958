package realized

import (
	"fmt"
	"math"
	"math/big"

	"dpproxy/accountant"
	"dpproxy/dp"
)

// A Limit is the most that each object may lose: (ε, δ), in 10⁻¹² and 10⁻¹⁸. δ may be 0.
type Limit struct{ EpsilonPico, DeltaAtto int64 }

// Spent is the loss of an object: in epochs that are closed, or with the open one too. The zero Spent
// is nothing.
type Spent struct {
	// LossPico is the sum over epochs of the loss, in 10⁻¹².
	LossPico int64
	// RhoPico is the sum of the zCDP of all that the object was asked, in 10⁻¹².
	RhoPico int64
}

// A Filter decides which objects are asked. With the answers of an object to all that it was asked,
// t, with its losses L in each epoch, and with ρ(ε) = ε·tanh(ε/2), it asks iff
//
//	for every answer y, the sum of L over epochs with y ≤ ε_g,    or
//	the sum of ρ(ε) over all that was asked, with this one, ≤ ρ_g = accountant.RhoMax(ε_g, δ_g).
//
// The guarantee: for any two values x and x′ of the object (in each epoch), and all sets S of
// transcripts, P(S) ≤ exp(ε_g)·P′(S) + δ_g, whoever chooses questions from all answers so far.
// Without a δ there is only the first condition, which is the filter of [Pan 2023, Algorithm 2], and
// the second term is 0.
//
// Proof. Whether a question is asked is a function of answers, and of nothing else, so that it cancels in
// the ratio of P(t) and P′(t). Let t be the transcript in the end. If its last question was asked by the
// first condition, |ln P(t)/P′(t)| ≤ ε_g: each answer there could have been was looked at. Else the sum
// of ρ in t is at most ρ_g. Let T be all transcripts of this second kind. With z = P(t)/P′(t), and any α > 1,
//
//	z − exp(ε) ≤ z^α·exp(−(α−1)ε)·(1−1/α)^α/(α−1),
//
// so that P(S) − exp(ε_g)·P′(S) ≤ Σ over t in S∩T of P′(t)·z^α·exp(−(α−1)ε_g)·(1−1/α)^α/(α−1). Each answer
// has a Rényi divergence of order α of at most α·ρ(ε), after any answers. So z^α·exp(−(α−1)α·Σρ) after each
// answer is a supermartingale under P′, as long as questions are asked, by either condition: its
// mean is at most 1. Over T, Σρ ≤ ρ_g, and the sum is at most exp((α−1)(αρ_g−ε_g))·(1−1/α)^α/(α−1), which is at
// most δ_g for the α that RhoMax found. [Feldman-Zrnic 2021, Whitehouse et al. 2023: filters of sums;
// CKS 2020, Proposition 12: the conversion; Harrison-Manurangsi 2026: ρ(ε) of all that is ε-DP.]
//
// This accepts all that [Pan 2023, Algorithm 4] accepts with a filter of sums of ρ: that begins with
// the second condition, and has only the first from where the second has once failed.
//
// The caller must decide, then draw, then store the answer durably, then show it, and must never
// draw an answer again.
type Filter struct {
	limit Limit
	rho   int64
	rhos  map[int64]int64 // of each ε
}

// NewFilter returns the filter of a limit.
func NewFilter(l Limit) (*Filter, error) {
	if l.EpsilonPico < 1 || l.EpsilonPico > dp.MaxPico || l.DeltaAtto < 0 || l.DeltaAtto >= dp.AttoPerUnit {
		return nil, fmt.Errorf("%w: a limit of ε = %d·10⁻¹² and δ = %d·10⁻¹⁸", ErrParameter, l.EpsilonPico, l.DeltaAtto)
	}
	f := &Filter{limit: l, rhos: map[int64]int64{}}
	if l.DeltaAtto > 0 {
		f.rho = accountant.RhoMax(l.EpsilonPico, l.DeltaAtto)
	}
	return f, nil
}

// Spent adds the loss of the answers t in the open epoch to base, that of closed ones.
func (f *Filter) Spent(a *Account, base Spent, t []Answer) (Spent, error) {
	loss, err := a.Loss(t)
	if err != nil {
		return Spent{}, err
	}
	for i, answer := range t {
		if answer.Value != Unasked {
			rho, err := f.rhoOf(a.questions[i].epsilon)
			if err != nil {
				return Spent{}, err
			}
			base.RhoPico += rho
		}
	}
	base.LossPico += loss
	return base, nil
}

// Admits reports whether an object that has lost base in closed epochs, and has the answers t to the
// first questions of a, is asked the next one. Of a question with two answers both are looked at; of any
// other, ε bounds the loss that an answer adds, and answers about one category attain it.
func (f *Filter) Admits(a *Account, base Spent, t []Answer) (bool, error) {
	if len(t) >= len(a.questions) {
		return false, fmt.Errorf("%w: no question after %d answers", ErrParameter, len(t))
	}
	q := a.questions[len(t)]
	if err := a.check(t); err != nil || base.LossPico+a.sum(t)+q.epsilon <= f.limit.EpsilonPico {
		return err == nil, err
	}
	now, err := f.Spent(a, base, t)
	if err != nil {
		return false, err
	}
	rho, err := f.rhoOf(q.epsilon)
	if err != nil {
		return false, err
	}
	if now.LossPico+q.epsilon <= f.limit.EpsilonPico || f.limit.DeltaAtto > 0 && now.RhoPico+rho <= f.rho {
		return true, nil
	}
	if a.mode == Sum || a.answersOf(q) != 2 {
		return false, nil
	}
	for y := range 2 {
		a.next = append(append(a.next[:0], t...), Answer{Value: y})
		loss, err := a.Loss(a.next)
		if err != nil || base.LossPico+loss > f.limit.EpsilonPico {
			return false, err
		}
	}
	return true, nil
}

// answersOf returns how many answers a question has, where they are few.
func (a *Account) answersOf(q Question) int {
	switch q.kind {
	case Score:
		return 2
	case Response:
		return a.domain.columns[q.columns[0]].Values
	case Unary:
	}
	return math.MaxInt
}

// Remaining returns the largest ε, in 10⁻¹², of a question that an object is certainly asked.
func (f *Filter) Remaining(s Spent) (pico int64) {
	pico = max(0, f.limit.EpsilonPico-s.LossPico)
	if f.limit.DeltaAtto == 0 {
		return pico
	}
	low, high := 0.0, float64(f.limit.EpsilonPico)/picoPerUnit
	room := float64(f.rho-s.RhoPico)/picoPerUnit*(1-1e-9) - 2.0/picoPerUnit
	for range 64 {
		if mid := (low + high) / 2; mid*math.Tanh(mid/2) <= room {
			low = mid
		} else {
			high = mid
		}
	}
	return max(pico, int64(low*picoPerUnit))
}

// rhoOf returns [Rho], which it remembers.
func (f *Filter) rhoOf(epsilonPico int64) (int64, error) {
	if rho, ok := f.rhos[epsilonPico]; ok {
		return rho, nil
	}
	rho, err := Rho(epsilonPico)
	if err == nil {
		f.rhos[epsilonPico] = rho
	}
	return rho, err
}

// Rho returns the zCDP of a question, ε·tanh(ε/2), in 10⁻¹², rounded up.
func Rho(epsilonPico int64) (pico int64, err error) {
	price, err := accountant.Price(dp.PureEvent{Epsilon: big.NewRat(epsilonPico, picoPerUnit)}, dp.ZCDP)
	return price.Pico(), err
}
