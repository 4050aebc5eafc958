package mechanisms

import (
	"errors"
	"fmt"
	"math/big"
	"sync"

	"dpproxy/dp"
)

// ErrHalted is returned for a question to a search that has found its answer.
var ErrHalted = errors.New("mechanisms: the search has halted")

// thresholdShare and queryShare split ε = ε₁ + ε₂ between the noise of the
// threshold and that of the queries, as 1:2^⅔ but for a part in 1900: the split at
// which the difference of both has the least variance.
var (
	thresholdShare = big.NewRat(17, 44)
	queryShare     = big.NewRat(27, 44)
)

// AboveThreshold finds the first of a sequence of private integers that is about at
// or above a public threshold: the sparse vector technique. It adds discrete
// Laplace noise, P(n) ∝ exp(−|n|/scale), once to the threshold and afresh to each
// query, says whether the one is at or above the other, and halts at the first that
// is. With ε = ε₁ + ε₂ and Δ the most by which one privacy unit changes a query,
//
//	scale of the threshold Δ/ε₁, of a query 2Δ/ε₂, at ε₁:ε₂ = 17:27 (near 1:2^⅔);
//	scale of the threshold Δ/ε₁, of a query Δ/ε₂, at ε₁:ε₂ = 1:1, if monotone.
//
// Queries are monotone if a unit that is added changes all of them in the same
// direction (or not), as it does counts.
//
// The guarantee: P(a) ≤ exp(ε)·P′(a) for every sequence a of answers up to the halt
// and the laws P and P′ of two neighbours, however many queries there are and
// however they were chosen from the answers before: ε-DP. A shift of the threshold
// noise by Δ makes up for every answer below, at exp(ε₁), and one of a single query's
// noise for the answer above, at exp(ε₂) [Dwork-Roth 2014, Algorithm 1; the split
// and monotone queries are from Lyu-Su-Li 2017]. Without the halt it fails.
//
// The caller must ensure that Δ holds for the exact queries, and that queries
// claimed to be monotone are. To go on after the halt is a new search, and a new
// event.
type AboveThreshold struct {
	epsilon        *big.Rat
	delta          int64
	monotone       bool
	onBar, onQuery Laplace
}

// NewAboveThreshold returns the mechanism for queries of sensitivity delta ≥ 1, at
// ε = epsilonPico·10⁻¹².
func NewAboveThreshold(delta int64, monotone bool, epsilonPico int64) (AboveThreshold, error) {
	if delta < 1 {
		return AboveThreshold{}, fmt.Errorf("%w: sensitivity %d of a query", ErrParameter, delta)
	}
	epsilon, err := pureEpsilon(epsilonPico)
	if err != nil {
		return AboveThreshold{}, err
	}
	barShare, share, shift := thresholdShare, queryShare, int64(2)
	if monotone {
		barShare, share, shift = big.NewRat(1, 2), big.NewRat(1, 2), 1
	}
	bar, err := laplaceAgainst(delta, 1, new(big.Rat).Mul(epsilon, barShare))
	if err != nil {
		return AboveThreshold{}, err
	}
	query, err := laplaceAgainst(delta, shift, new(big.Rat).Mul(epsilon, share))
	return AboveThreshold{epsilon, delta, monotone, bar, query}, err
}

// laplaceAgainst returns noise of scale shift·delta/epsilon.
func laplaceAgainst(delta, shift int64, epsilon *big.Rat) (Laplace, error) {
	distance := new(big.Rat).Mul(new(big.Rat).SetInt64(delta), new(big.Rat).SetInt64(shift))
	return NewLaplace(dp.Sensitivity{L0: 1, LInf: delta}, distance.Quo(distance, epsilon))
}

// Event describes one search up to its halt, for a pricer.
func (a AboveThreshold) Event() dp.Event {
	return dp.PureEvent{Epsilon: new(big.Rat).Set(a.epsilon)}
}

// String writes the mechanism for plans.
func (a AboveThreshold) String() string {
	s := selection{epsilon: a.epsilon, delta: a.delta, monotone: a.monotone}
	return s.describe("above threshold")
}

// Begin starts a search. The caller must have charged Event, durably, before;
// the questions of the search then cost nothing more.
func (a AboveThreshold) Begin(src Source, threshold *big.Int) (*Search, error) {
	if threshold == nil {
		return nil, fmt.Errorf("%w: a search without a threshold", ErrParameter)
	}
	bar := a.onBar.Sample(new(big.Int), src)
	return &Search{src: src, noise: a.onQuery, bar: Protect(bar.Add(bar, threshold)), running: true}, nil
}

// A Search asks queries until one is found above the threshold. It is safe for
// concurrent use, if its source is: it answers one question at a time. The zero
// Search has halted.
type Search struct {
	mu      sync.Mutex
	src     Source
	noise   Laplace
	bar     Private // the threshold with its noise
	running bool
}

// Above reports whether the query with its noise is at or above the threshold with
// its own. After it did it returns [ErrHalted], whatever the query.
func (s *Search) Above(query Private) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running {
		return false, ErrHalted
	}
	noisy := s.noise.Sample(new(big.Int), s.src)
	above := noisy.Add(noisy, query.reveal()).Cmp(s.bar.reveal()) >= 0
	s.running = !above
	return above, nil
}

// Halted reports whether the search has found its answer.
func (s *Search) Halted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.running
}
