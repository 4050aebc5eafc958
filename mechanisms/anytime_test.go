package mechanisms_test

import (
	"errors"
	"math"
	"testing"

	"dpproxy/internal/stattest"
	"dpproxy/mechanisms"
)

const beta = 0.05

func anytime(t testing.TB, sigma float64) mechanisms.Anytime {
	t.Helper()
	b, err := mechanisms.NewAnytime(beta, sigma)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBoundaryEnds(t *testing.T) {
	a := anytime(t, 1)
	for name, c := range map[string]float64{
		"unknown": a.HalfWidth(math.NaN()), "infinite": a.HalfWidth(math.Inf(1)), "zero": a.HalfWidth(0), "negative": a.HalfWidth(-1),
	} {
		if !math.IsInf(c, 1) {
			t.Errorf("%s: %v, want no bound", name, c)
		}
	}
}

func TestAnytimeRefuses(t *testing.T) {
	var errs []error
	add := func(_ any, err error) { errs = append(errs, err) }
	for _, x := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		add(mechanisms.NewAnytime(x, 1))
		add(mechanisms.NewAnytime(beta, x))
	}
	add(mechanisms.NewAnytime(1, 1))
	add(mechanisms.NewAnytime(1e-301, 1))
	for k, err := range errs {
		if !errors.Is(err, mechanisms.ErrParameter) {
			t.Errorf("case %d: %v", k, err)
		}
	}
}

// TestAnytimeHolds lets an adversary look whenever it likes: the steps follow the
// error, short where it is large, and the boundary is left no more often than it
// may be. That of one look is left most of the time.
func TestAnytimeHolds(t *testing.T) {
	t.Parallel()
	const runs = 4000
	src := seeded(t)
	b := chain(t, one, exactly(make([]int64, runs)...), unlimited)
	within, single := anytime(t, 10), sigmas(1.96)
	var left, leftSingle [runs]bool
	for range 60 {
		var draws []mechanisms.Draw
		for i, e := range b.Estimates() {
			v := int64(2000)
			if !math.IsInf(e.Sigma, 1) {
				excess := math.Abs(value(e)) / e.Sigma
				v = int64(math.Max(1, e.Sigma*e.Sigma*math.Pow(4, excess-1))) // far out: stay there
			}
			draws = append(draws, draw(i, v))
		}
		measure(t, b, src, draws...)
		for i, e := range b.Estimates() {
			left[i] = left[i] || math.Abs(value(e)) > within.HalfWidth(e.Sigma)
			leftSingle[i] = leftSingle[i] || math.Abs(value(e)) > single.HalfWidth(e.Sigma)
		}
	}
	slack := stattest.MaxZ * math.Sqrt(beta*(1-beta)/runs)
	if share(left[:]) > beta+slack {
		t.Errorf("left with probability %v", share(left[:]))
	}
	if share(leftSingle[:]) < beta+slack {
		t.Errorf("the boundary of one look is left with probability %v only", share(leftSingle[:]))
	}
	t.Logf("left: anytime %.4f, one look %.4f", share(left[:]), share(leftSingle[:]))
}

// TestAnytimeIsNarrowWhereItWasTuned holds the width to the one in the comment.
func TestAnytimeIsNarrowWhereItWasTuned(t *testing.T) {
	a := anytime(t, 10)
	width := func(sigma float64) float64 { return a.HalfWidth(sigma) / sigma }
	at := width(10)
	if at > 3.05 || at < 3 {
		t.Errorf("%v standard deviations where it is narrowest", at)
	}
	for _, sigma := range []float64{5, 9, 11, 20} {
		if width(sigma) < at {
			t.Errorf("narrower at %v: %v", sigma, width(sigma))
		}
	}
	if more, less := width(10/math.Sqrt(10))/at, width(10*math.Sqrt(10))/at; more > 1.1 || less > 1.3 {
		t.Errorf("tenfold precision widens it by %v, a tenth by %v", more, less)
	}
}
