package estimate_test

import (
	"math/big"
	"sort"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"dpproxy/dp"
	"dpproxy/estimate"
	"dpproxy/mechanisms"
)

// pico is ε or ρ = 1.
const pico = dp.PicoPerUnit

// wrong is by how much a twin's noise is understated.
const wrong = 1.5

// understated is noise that is told to be less than is drawn.
type understated struct{ mechanisms.Mechanism }

func (u understated) Quantile(alpha float64) float64 { return u.Mechanism.Quantile(alpha) / wrong }
func (u understated) StdDev() float64                { return u.Mechanism.StdDev() / wrong }

// silent is no noise.
type silent struct{}

func (silent) Quantile(float64) float64 { return 0 }
func (silent) StdDev() float64          { return 0 }

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

// laplace is the noise for one group of sensitivity linf at ε.
func laplace(linf int64, epsilon float64) mechanisms.Mechanism {
	return must(mechanisms.LaplaceFor(dp.Sensitivity{L0: 1, LInf: linf}, int64(epsilon*pico)))
}

// gaussian is the noise for one group of sensitivity linf at ρ.
func gaussian(linf int64, rho float64) mechanisms.Mechanism {
	return must(mechanisms.GaussianFor(dp.Sensitivity{L0: 1, LInf: linf}, int64(rho*pico)))
}

// released is an exact number with the mechanism's noise.
func released(m mechanisms.Mechanism, src mechanisms.Source, exact int64) *big.Int {
	return mechanisms.Release(m, src, mechanisms.Protect(big.NewInt(exact))).Int()
}

// failures counts the runs in which ok is false.
func failures(runs int, ok func() bool) int {
	n := 0
	for range runs {
		if !ok() {
			n++
		}
	}
	return n
}

// tolerated is how many failures of probability alpha a right estimator has at most, but for one test in a
// thousand million.
func tolerated(runs int, alpha float64) int {
	failures := distuv.Binomial{N: float64(runs), P: alpha}
	return sort.Search(runs, func(k int) bool { return failures.Survival(float64(k)) < 1e-9 })
}

// checkCoverage holds the failures of an interval to alpha, and finds the twin's
// to be too many.
func checkCoverage(t *testing.T, right, twin func() bool) {
	t.Helper()
	runs := 5000
	if twin != nil {
		runs = 20_000
	}
	limit := tolerated(runs, alpha)
	n := failures(runs, right)
	t.Logf("failures: %d of %d, limit %d", n, runs, limit)
	if n > limit {
		t.Errorf("%d of %d intervals fail, at most %d may", n, runs, limit)
	}
	if twin == nil {
		return
	}
	m := failures(runs, twin)
	t.Logf("failures of the twin: %d", m)
	if m <= limit {
		t.Errorf("%d of %d intervals of the twin fail, too few to notice: %d", m, runs, limit)
	}
}

func rat(a, b int64) *big.Rat { return big.NewRat(a, b) }

func between(low, high int64) estimate.Interval {
	return estimate.Interval{Lower: rat(low, 1), Upper: rat(high, 1)}
}
