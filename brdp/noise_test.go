package brdp_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"testing"

	"dpproxy/brdp"
	"dpproxy/brdp/papertest"
	"dpproxy/dp"
	"dpproxy/internal/stattest"
	"dpproxy/mechanisms"
)

func laplace(t testing.TB, linf int64, scale *big.Rat) mechanisms.Laplace {
	t.Helper()
	m, err := mechanisms.NewLaplace(dp.Sensitivity{L0: 1, LInf: linf}, scale)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func gaussian(t testing.TB, linf, variance int64) mechanisms.Gaussian {
	t.Helper()
	m, err := mechanisms.NewGaussian(dp.Sensitivity{L0: 1, LInf: linf}, big.NewInt(variance))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func recycled(t testing.TB, kernel mechanisms.Mechanism, boundary int64, q *big.Rat) brdp.Noise {
	t.Helper()
	n, err := brdp.New(kernel, boundary, q)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// law is the law of recycled noise, straight from its definition.
func law(kernel func(int64) float64, boundary int64, q float64) func(int64) float64 {
	inside := 0.0
	for n := -boundary; n <= boundary; n++ {
		inside += kernel(n)
	}
	c := 1 / (1 - q*(1-inside))
	return func(n int64) float64 {
		if n < -boundary || n > boundary {
			return c * (1 - q) * kernel(n)
		}
		return c * kernel(n)
	}
}

// settings are kernels with their laws, and the laws of twins with a scale that is
// wrong by 5 %.
func settings(t testing.TB) []struct {
	name        string
	kernel      mechanisms.Mechanism
	right, twin func(int64) float64
	boundary    int64
} {
	t.Helper()
	const wrong = 1.05
	return []struct {
		name        string
		kernel      mechanisms.Mechanism
		right, twin func(int64) float64
		boundary    int64
	}{
		{"laplace 2", laplace(t, 1, big.NewRat(2, 1)), stattest.Laplace(2), stattest.Laplace(2 * wrong), 2},
		{"laplace 5", laplace(t, 5, big.NewRat(5, 1)), stattest.Laplace(5), stattest.Laplace(5 * wrong), 1},
		{"laplace 10/3", laplace(t, 1, big.NewRat(10, 3)), stattest.Laplace(10. / 3), stattest.Laplace(10. / 3 * wrong), 0},
		{"gaussian 16", gaussian(t, 1, 16), stattest.Gaussian(16), stattest.Gaussian(16 * wrong * wrong), 3},
		{"gaussian 400", gaussian(t, 30, 400), stattest.Gaussian(400), stattest.Gaussian(400 * wrong * wrong), 15},
	}
}

// draws is how often a law is drawn from to test it.
const draws = 200_000

func TestNoiseHasItsLaw(t *testing.T) {
	for _, s := range settings(t) {
		for _, percent := range []int64{0, 40, 75} {
			t.Run(fmt.Sprintf("%s/q=%d%%", s.name, percent), func(t *testing.T) {
				t.Parallel()
				q := float64(percent) / 100
				n := recycled(t, s.kernel, s.boundary, big.NewRat(percent, 100))
				src, z := stattest.Source(t), new(big.Int)
				draw := func() int64 { return n.Sample(z, src).Int64() }
				if p, ok := stattest.Accept(draws, draw, law(s.right, s.boundary, q)); !ok {
					t.Errorf("rejected with p = %g", p)
				}
				if p, ok := stattest.Accept(draws, draw, n.Law().PMF); !ok {
					t.Errorf("its own law is rejected with p = %g", p)
				}
				// A missing q of 5 points shows least where nothing is recycled.
				samples := stattest.Draw(5*draws, draw)
				scale := stattest.Fit(samples, law(s.twin, s.boundary, q))
				coin := stattest.Fit(samples, law(s.right, s.boundary, q+0.05))
				t.Logf("twins: a scale 5 %% off has p = %.1e, a q 5 points off %.1e", scale, coin)
				if scale >= stattest.Level || coin >= stattest.Level {
					t.Errorf("a twin passes: scale p = %g, q p = %g", scale, coin)
				}
			})
		}
	}
}

// TestLawIsExact compares every number of a law with sums of its definition.
func TestLawIsExact(t *testing.T) {
	for _, s := range settings(t) {
		n := recycled(t, s.kernel, s.boundary, big.NewRat(3, 5))
		f := law(s.right, s.boundary, 0.6)
		inside, square := 0.0, 0.0
		for x := int64(-2000); x <= 2000; x++ {
			if got, want := n.Law().PMF(x), f(x); !near(got, want, 1e-10) && want > 1e-290 {
				t.Fatalf("%s: PMF(%d) = %v, want %v", s.name, x, got, want)
			}
			if x >= -s.boundary && x <= s.boundary {
				inside += f(x)
			}
			square += f(x) * float64(x) * float64(x)
		}
		if got := n.Acceptance(); !near(got, inside, 1e-11) {
			t.Errorf("%s: acceptance %v, want %v", s.name, got, inside)
		}
		if got := n.StdDev(); !near(got, math.Sqrt(square), 1e-8) {
			t.Errorf("%s: standard deviation %v, want %v", s.name, got, math.Sqrt(square))
		}
		if got, want := n.Law().Draws(), f(0)/s.right(0); !near(got, want, 1e-11) {
			t.Errorf("%s: %v draws, want %v", s.name, got, want)
		}
		for _, alpha := range []float64{0.9, 0.5, 0.1, 0.05, 1e-3, 1e-6} {
			c, rest := int64(0), 1-f(0)
			for ; rest > alpha; rest -= 2 * f(c) {
				c++
			}
			if got := n.Quantile(alpha); got != float64(c) {
				t.Errorf("%s: quantile of %v is %v, want %v", s.name, alpha, got, c)
			}
		}
	}
}

// TestWideLaw holds wide kernels to their limits on the real line.
func TestWideLaw(t *testing.T) {
	const unit = 1 << 30
	q := big.NewRat(3, 5)
	g := recycled(t, gaussian(t, unit, 4*unit*unit), 3*unit, q)
	l := recycled(t, laplace(t, unit, big.NewRat(2*unit, 1)), 3*unit, q)
	gLimit := papertest.GaussianLimit{Sigma: 2, Theta: 3, Recycle: 0.6}
	lLimit := papertest.LaplaceLimit{Scale: 2, Theta: 3, Recycle: 0.6}
	for _, tt := range []struct {
		n          brdp.Noise
		pdf        func(float64) float64
		acceptance float64
	}{{g, gLimit.PDF, gLimit.Acceptance()}, {l, lLimit.PDF, lLimit.Acceptance()}} {
		if !near(tt.n.Acceptance(), tt.acceptance, 1e-8) {
			t.Errorf("%v: acceptance %v, want %v", tt.n, tt.n.Acceptance(), tt.acceptance)
		}
		square, outside := 0.0, 0.0
		const step = 1e-3
		for y := step / 2; y < 80; y += step {
			square += 2 * step * y * y * tt.pdf(y)
			if y > 7 {
				outside += 2 * step * tt.pdf(y)
			}
		}
		if got := tt.n.StdDev() / unit; !near(got, math.Sqrt(square), 1e-5) {
			t.Errorf("%v: standard deviation %v, want %v", tt.n, got, math.Sqrt(square))
		}
		if got := tt.n.Quantile(outside) / unit; !near(got, 7, 1e-4) {
			t.Errorf("%v: quantile %v, want 7", tt.n, got)
		}
	}
}

func TestQuantileAtItsEnds(t *testing.T) {
	for _, s := range settings(t) {
		n := recycled(t, s.kernel, s.boundary, big.NewRat(1, 2))
		for alpha, want := range map[float64]float64{1: 0, 2: 0, 0: math.Inf(1), -1: math.Inf(1), 1e-301: math.Inf(1)} {
			if c := n.Quantile(alpha); c != want {
				t.Errorf("%s at %v: %v, want %v", s.name, alpha, c, want)
			}
		}
		if c := n.Quantile(math.NaN()); !math.IsInf(c, 1) {
			t.Errorf("%s at NaN: %v", s.name, c)
		}
		if c := n.Quantile(1e-300); math.IsInf(c, 0) || c < 30*n.StdDev() {
			t.Errorf("%s at 1e-300: %v", s.name, c)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	half := big.NewRat(1, 2)
	kernel := gaussian(t, 1, 16)
	long := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Lsh(big.NewInt(1), 64))
	inner := recycled(t, kernel, 3, half)
	tests := map[string]struct {
		kernel   mechanisms.Mechanism
		boundary int64
		q        *big.Rat
	}{
		"no kernel":             {nil, 3, half},
		"a zero kernel":         {mechanisms.Laplace{}, 3, half},
		"another zero kernel":   {mechanisms.Gaussian{}, 3, half},
		"itself as kernel":      {inner, 3, half},
		"negative boundary":     {kernel, -1, half},
		"huge boundary":         {kernel, 1 << 53, half},
		"no q":                  {kernel, 3, nil},
		"negative q":            {kernel, 3, big.NewRat(-1, 2)},
		"q of one":              {kernel, 3, big.NewRat(1, 1)},
		"long q":                {kernel, 3, long},
		"draws without end":     {gaussian(t, 1, 1<<40), 0, big.NewRat(999_999, 1_000_000)},
		"a kernel of no noise":  {laplace(t, 1, big.NewRat(1, 1<<21)), 3, half},
		"a kernel of all noise": {laplace(t, 1, big.NewRat(1<<53, 1)), 3, half},
		"a huge sensitivity":    {gaussian(t, 1<<53, 16), 3, half},
	}
	for name, tt := range tests {
		if n, err := brdp.New(tt.kernel, tt.boundary, tt.q); !errors.Is(err, brdp.ErrParameter) {
			t.Errorf("%s: %v, %v", name, n, err)
		}
	}
}

func TestZeroNoiseReleasesNothing(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a zero Noise released a value")
		}
	}()
	mechanisms.Release(brdp.Noise{}, stattest.Source(t), mechanisms.Protect(big.NewInt(42)))
}

func TestEventsAreCopies(t *testing.T) {
	q := big.NewRat(1, 2)
	n := recycled(t, gaussian(t, 2, 16), 3, q)
	q.SetInt64(0)
	n.Event().(dp.RecycledEvent).Recycle.SetInt64(0)
	n.Event().(dp.RecycledEvent).Kernel.(dp.GaussianEvent).Variance.SetInt64(1)
	e := n.Event().(dp.RecycledEvent)
	if e.Recycle.Cmp(big.NewRat(1, 2)) != 0 || e.Boundary != 3 || e.Kernel.(dp.GaussianEvent).Variance.Int64() != 16 {
		t.Errorf("event %v", e)
	}
	if got := n.String(); got != "recycled boundary=3 recycle=0.5 kernel=(gaussian variance=16)" {
		t.Error(got)
	}
}

func FuzzNew(f *testing.F) {
	f.Add(false, int64(1), int64(1), int64(1), int64(3), int64(1), int64(2))
	f.Add(true, int64(5), int64(400), int64(7), int64(0), int64(99), int64(100))
	f.Add(true, int64(1)<<40, int64(1)<<60, int64(1), int64(1)<<52, int64(0), int64(1))
	f.Add(false, int64(1)<<52, int64(1), int64(1)<<19, int64(1)<<52, int64(1)<<61, int64(1)<<62)
	f.Add(false, int64(1), int64(1)<<51, int64(3), int64(1), int64(1), int64(1)<<62)
	f.Fuzz(func(t *testing.T, wide bool, linf, num, den, boundary, qn, qd int64) {
		s := dp.Sensitivity{L0: 1, LInf: linf}
		var kernel mechanisms.Mechanism
		var err error
		if wide {
			kernel, err = mechanisms.NewGaussian(s, big.NewInt(num))
		} else if den != 0 {
			kernel, err = mechanisms.NewLaplace(s, big.NewRat(num, den))
		}
		if err != nil || kernel == nil || qd == 0 {
			return
		}
		n, err := brdp.New(kernel, boundary, big.NewRat(qn, qd))
		if err != nil {
			if !errors.Is(err, brdp.ErrParameter) {
				t.Fatal(err)
			}
			return
		}
		src, z := stattest.Source(t), new(big.Int)
		for range 3 {
			n.Sample(z, src)
		}
		l := n.Law()
		if a := l.Acceptance(); !(a > 0 && a <= 1+1e-11) || !(l.Draws() >= 1-1e-11 && l.Draws() <= brdp.MaxDraws) {
			t.Fatalf("%v: acceptance %v, %v draws", n, a, l.Draws())
		}
		if d := l.Delta(1); !(d >= 0 && d <= 1) {
			t.Fatalf("%v: δ(1) = %v", n, d)
		}
		if sd, c := n.StdDev(), n.Quantile(0.05); !(sd >= 0) || math.IsInf(sd, 0) || !(c >= 0) || math.IsInf(c, 0) {
			t.Fatalf("%v: standard deviation %v, quantile %v", n, sd, c)
		}
		if loss, err := l.Loss(dp.ZCDP); err == nil && loss.Pico() <= 0 || err != nil && !errors.Is(err, dp.ErrOverflow) {
			t.Fatalf("%v: %v, %v", n, loss, err)
		}
	})
}

func near(got, want, tolerance float64) bool {
	return math.Abs(got-want) <= tolerance*math.Abs(want)
}
