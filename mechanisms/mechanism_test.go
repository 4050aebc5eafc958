package mechanisms_test

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"dpproxy/dp"
	"dpproxy/internal/stattest"
	"dpproxy/mechanisms"
)

// TestQuantileIsTheSmallest holds quantiles to tails summed from the exact law.
func TestQuantileIsTheSmallest(t *testing.T) {
	tests := []struct {
		m   mechanisms.Mechanism
		pmf func(int64) float64
	}{
		{laplace(t, 1, 7), stattest.Laplace(1.0 / 7)},
		{laplace(t, 1, 1), stattest.Laplace(1)},
		{laplace(t, 10, 3), stattest.Laplace(10.0 / 3)},
		{laplace(t, 1000, 1), stattest.Laplace(1000)},
		{gaussian(t, 1), stattest.Gaussian(1)},
		{gaussian(t, 2), stattest.Gaussian(2)},
		{gaussian(t, 90), stattest.Gaussian(90)},
		{gaussian(t, 1<<16), stattest.Gaussian(1 << 16)},
		{gaussian(t, 1<<18), stattest.Gaussian(1 << 18)},
		{gaussian(t, 1<<18+1), stattest.Gaussian(1<<18 + 1)},
		{gaussian(t, 1_000_000), stattest.Gaussian(1e6)},
	}
	for _, tt := range tests {
		for _, alpha := range []float64{0.999, 0.5, 0.05, 0.01, 1e-6} {
			if want, got := smallest(tt.pmf, alpha), tt.m.Quantile(alpha); got != want {
				t.Errorf("%v at %v: %v, want %v", tt.m, alpha, got, want)
			}
		}
	}
}

// TestWideQuantiles holds quantiles of wide noise to the normal law, of which
// ½ lattice unit is missing on either side.
func TestWideQuantiles(t *testing.T) {
	for _, bits := range []uint{20, 30, 40, 60, 62} {
		m, sigma := gaussian(t, 1<<bits), math.Exp2(float64(bits)/2)
		for _, alpha := range []float64{0.5, 0.05, 1e-6, 1e-12} {
			z := distuv.UnitNormal.Quantile(1 - alpha/2)
			if alpha < 1e-9 {
				z = 7.130506848171324 // Φ⁻¹(1 − 5·10⁻¹³)
			}
			want := math.Ceil(z*sigma - 0.5)
			if got := m.Quantile(alpha); got < want || got > want*(1+1e-9) {
				t.Errorf("%v at %v: %v, want %v", m, alpha, got, want)
			}
		}
	}
}

// smallest returns the smallest c with 1 − P(|n| ≤ c) ≤ alpha.
func smallest(pmf func(int64) float64, alpha float64) float64 {
	inside := pmf(0)
	c := int64(0)
	for ; 1-inside > alpha; inside += 2 * pmf(c) {
		c++
	}
	return float64(c)
}

func TestQuantileAtItsEnds(t *testing.T) {
	for _, m := range []mechanisms.Mechanism{laplace(t, 10, 1), laplace(t, 1<<60, 1), gaussian(t, 100), gaussian(t, 1<<60)} {
		for alpha, want := range map[float64]float64{1: 0, 2: 0, 0: math.Inf(1), -1: math.Inf(1), 1e-301: math.Inf(1)} {
			if c := m.Quantile(alpha); c != want {
				t.Errorf("%v at %v: %v, want %v", m, alpha, c, want)
			}
		}
		if c := m.Quantile(math.NaN()); !math.IsInf(c, 1) {
			t.Errorf("%v at NaN: %v", m, c)
		}
		if c := m.Quantile(1e-300); math.IsInf(c, 0) || c < 30*m.StdDev() {
			t.Errorf("%v at 1e-300: %v", m, c)
		}
	}
	if c, want := laplace(t, 1<<60, 1).Quantile(0.05), math.Exp2(60)*math.Log(20); c < want || c > want*(1+2e-9) {
		t.Errorf("scale 2^60: %v, want just above %v", c, want)
	}
}

// TestStdDev compares with the exact laws' own.
func TestStdDev(t *testing.T) {
	identity := func(n int64) float64 { return float64(n) }
	for _, scale := range []int64{1, 2, 100} {
		_, variance := stattest.Moments(identity, stattest.Laplace(float64(scale)))
		if got, want := laplace(t, scale, 1).StdDev(), math.Sqrt(variance); math.Abs(got-want) > 1e-11*want {
			t.Errorf("laplace %d: %v, want %v", scale, got, want)
		}
	}
	for _, v := range []int64{1, 100, 10_000} {
		_, variance := stattest.Moments(identity, stattest.Gaussian(float64(v)))
		got, want := gaussian(t, v).StdDev(), math.Sqrt(variance)
		if got < want*(1-1e-12) || got > want*(1+1e-6) {
			t.Errorf("gaussian %d: %v, want just above %v", v, got, want)
		}
	}
}

func TestString(t *testing.T) {
	if got := laplace(t, 10, 3).String(); got != "laplace scale=3.33333" {
		t.Error(got)
	}
	if got := gaussian(t, 1<<40).String(); got != "gaussian variance=1.09951e+12" {
		t.Error(got)
	}
}

func TestConstructorsRefuse(t *testing.T) {
	huge := new(big.Int).Lsh(big.NewInt(1), 300)
	none := dp.Sensitivity{L0: 0, LInf: 1}
	refused := map[string]func() (mechanisms.Mechanism, error){
		"no sensitivity":          func() (mechanisms.Mechanism, error) { return mechanisms.NewLaplace(none, big.NewRat(1, 1)) },
		"no scale":                func() (mechanisms.Mechanism, error) { return mechanisms.NewLaplace(one, nil) },
		"scale zero":              func() (mechanisms.Mechanism, error) { return mechanisms.NewLaplace(one, new(big.Rat)) },
		"scale negative":          func() (mechanisms.Mechanism, error) { return mechanisms.NewLaplace(one, big.NewRat(-1, 2)) },
		"scale huge":              func() (mechanisms.Mechanism, error) { return mechanisms.NewLaplace(one, new(big.Rat).SetInt(huge)) },
		"gaussian no sensitivity": func() (mechanisms.Mechanism, error) { return mechanisms.NewGaussian(none, big.NewInt(1)) },
		"no variance":             func() (mechanisms.Mechanism, error) { return mechanisms.NewGaussian(one, nil) },
		"variance zero":           func() (mechanisms.Mechanism, error) { return mechanisms.NewGaussian(one, new(big.Int)) },
		"variance huge":           func() (mechanisms.Mechanism, error) { return mechanisms.NewGaussian(one, huge) },
		"no epsilon":              func() (mechanisms.Mechanism, error) { return mechanisms.LaplaceFor(one, 0) },
		"negative rho":            func() (mechanisms.Mechanism, error) { return mechanisms.GaussianFor(one, -1) },
		"for no sensitivity":      func() (mechanisms.Mechanism, error) { return mechanisms.LaplaceFor(none, 1) },
		"gaussian for none":       func() (mechanisms.Mechanism, error) { return mechanisms.GaussianFor(none, 1) },
	}
	for name, build := range refused {
		if _, err := build(); !errors.Is(err, mechanisms.ErrParameter) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestZeroMechanismReleasesNothing makes sure that a mechanism nobody built
// cannot pass a value through without noise.
func TestZeroMechanismReleasesNothing(t *testing.T) {
	for _, m := range []mechanisms.Mechanism{mechanisms.Laplace{}, mechanisms.Gaussian{}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a zero %T released a value", m)
				}
			}()
			mechanisms.Release(m, seeded(t), mechanisms.Protect(big.NewInt(42)))
		}()
	}
}

func TestEventsAreCopies(t *testing.T) {
	scale, variance := big.NewRat(3, 1), big.NewInt(9)
	l, g := must(mechanisms.NewLaplace(one, scale)), must(mechanisms.NewGaussian(one, variance))
	scale.SetInt64(1)
	variance.SetInt64(1)
	l.Event().(dp.LaplaceEvent).Scale.SetInt64(1)
	g.Event().(dp.GaussianEvent).Variance.SetInt64(1)
	if e := l.Event().(dp.LaplaceEvent); e.Scale.Cmp(big.NewRat(3, 1)) != 0 || e.Sensitivity != one {
		t.Errorf("event %v", e)
	}
	if e := g.Event().(dp.GaussianEvent); e.Variance.Cmp(big.NewInt(9)) != 0 || e.Sensitivity != one {
		t.Errorf("event %v", e)
	}
}

func TestLaplaceForExamples(t *testing.T) {
	tests := []struct {
		s       dp.Sensitivity
		epsilon int64
		want    *big.Rat
	}{
		{one, dp.PicoPerUnit, big.NewRat(1, 1)},
		{dp.Sensitivity{L0: 3, LInf: 5}, dp.PicoPerUnit / 2, big.NewRat(30, 1)},
		{one, 3 * dp.PicoPerUnit / 10, big.NewRat(10, 3)},
		{one, dp.PicoPerUnit - 1, big.NewRat(1<<20+1, 1<<20)},
		{dp.Sensitivity{L0: 1, LInf: 3 << 20}, dp.PicoPerUnit - 1, big.NewRat(3<<20+1, 1)},
	}
	for _, tt := range tests {
		m := must(mechanisms.LaplaceFor(tt.s, tt.epsilon))
		got := m.Event().(dp.LaplaceEvent).Scale
		if got.Cmp(tt.want) != 0 {
			t.Errorf("%v at %d: %v, want %v", tt.s, tt.epsilon, got, tt.want)
		}
	}
}

// TestBudgetedNoise checks for any budget that the noise costs no more, and that
// noise less by one step of its lattice would.
func TestBudgetedNoise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := dp.Sensitivity{
			L0:   rapid.Int64Range(1, 1<<rapid.IntRange(0, 40).Draw(t, "l0 bits")).Draw(t, "l0"),
			LInf: rapid.Int64Range(1, 1<<rapid.IntRange(0, 30).Draw(t, "linf bits")).Draw(t, "linf"),
		}
		pico := rapid.Int64Range(1, 1<<rapid.IntRange(0, 53).Draw(t, "pico bits")).Draw(t, "pico")
		budget := big.NewRat(pico, dp.PicoPerUnit)

		l, err := mechanisms.LaplaceFor(s, pico)
		if err != nil {
			t.Fatal(err)
		}
		scale := l.Event().(dp.LaplaceEvent).Scale
		cost := new(big.Rat).Quo(new(big.Rat).SetInt(s.L1()), scale)
		step := big.NewRat(1, 1)
		if scale.Cmp(big.NewRat(1<<20, 1)) <= 0 {
			step = big.NewRat(1, 1<<20)
		}
		least := new(big.Rat).Quo(new(big.Rat).SetInt(s.L1()), budget)
		if cost.Cmp(budget) > 0 || new(big.Rat).Sub(scale, step).Cmp(least) >= 0 {
			t.Fatalf("%v at %v: scale %v", s, budget, scale)
		}

		g, err := mechanisms.GaussianFor(s, pico)
		if err != nil {
			return // the variance has too many bits
		}
		variance := g.Event().(dp.GaussianEvent).Variance
		if gaussianCost(s, variance).Cmp(budget) > 0 {
			t.Fatalf("%v at %v: variance %v", s, budget, variance)
		}
		less := new(big.Int).Sub(variance, big.NewInt(1))
		if less.Sign() > 0 && gaussianCost(s, less).Cmp(budget) <= 0 {
			t.Fatalf("%v at %v: variance %v, but %v would do", s, budget, variance, less)
		}
	})
}

func gaussianCost(s dp.Sensitivity, variance *big.Int) *big.Rat {
	return new(big.Rat).SetFrac(s.L2Squared(), new(big.Int).Lsh(variance, 1))
}
