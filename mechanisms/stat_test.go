package mechanisms_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"dpproxy/dp"
	"dpproxy/internal/stattest"
	"dpproxy/mechanisms"
)

var one = dp.Sensitivity{L0: 1, LInf: 1}

// sampler is Sample, or SampleBig.
type sampler func(*big.Int, mechanisms.Source) *big.Int

// seeded returns a test's source.
func seeded(t testing.TB) *rand.ChaCha8 {
	t.Helper()
	return stattest.Source(t)
}

// int64s turns a sampler into a function without parameters.
func int64s(t testing.TB, sample sampler, src mechanisms.Source) func() int64 {
	z := new(big.Int)
	return func() int64 {
		if !sample(z, src).IsInt64() {
			t.Fatalf("noise %v does not fit this test", z)
		}
		return z.Int64()
	}
}

func laplace(t testing.TB, num, den int64) mechanisms.Laplace {
	t.Helper()
	m, err := mechanisms.NewLaplace(one, big.NewRat(num, den))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func gaussian(t testing.TB, variance int64) mechanisms.Gaussian {
	t.Helper()
	m, err := mechanisms.NewGaussian(one, big.NewInt(variance))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// n is the number of draws of a chi-square test. At 2·10⁵ a scale wrong by 5 %
// is rejected with p below 10⁻³⁰, where Level is 10⁻⁸.
const n = 200_000

// wrong is the factor on the scale of a twin.
const wrong = 1.05

// check accepts a sampler against its law, and rejects it against the twin's.
func check(t *testing.T, draw func() int64, pmf, twin func(int64) float64) {
	t.Helper()
	p, ok := stattest.Accept(n, draw, pmf)
	if !ok {
		t.Errorf("rejected with p = %g", p)
	}
	q := stattest.Fit(stattest.Draw(n, draw), twin)
	if q >= stattest.Level {
		t.Errorf("accepted a law that is wrong by 5 %% with p = %g", q)
	}
	t.Logf("the law has p = %.2g, its twin %.2g", p, q)
}

func TestLaplaceHasItsLaw(t *testing.T) {
	for _, scale := range [][2]int64{{1, 2}, {1, 1}, {10, 3}, {10, 1}, {1000, 1}, {1 << 22, 1<<20 - 1}} {
		m := laplace(t, scale[0], scale[1])
		s := float64(scale[0]) / float64(scale[1])
		for path, sample := range map[string]sampler{"narrow": m.Sample, "big": m.SampleBig} {
			t.Run(fmt.Sprintf("%v/%s", s, path), func(t *testing.T) {
				t.Parallel()
				check(t, int64s(t, sample, seeded(t)), stattest.Laplace(s), stattest.Laplace(s*wrong))
			})
		}
	}
}

func TestGaussianHasItsLaw(t *testing.T) {
	for _, variance := range []int64{1, 2, 25, 10_000} {
		m := gaussian(t, variance)
		v := float64(variance)
		for path, sample := range map[string]sampler{"narrow": m.Sample, "big": m.SampleBig} {
			t.Run(fmt.Sprintf("%v/%s", v, path), func(t *testing.T) {
				t.Parallel()
				check(t, int64s(t, sample, seeded(t)), stattest.Gaussian(v), stattest.Gaussian(v*wrong*wrong))
			})
		}
	}
}

// TestHugeNoise holds noise of 60 to 120 bits to its continuous limit, from
// which it differs by less than 2⁻²⁸ in each cell.
func TestHugeNoise(t *testing.T) {
	normal := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	double := func(x float64) float64 {
		if x < 0 {
			return math.Exp(x) / 2
		}
		return 1 - math.Exp(-x)/2
	}
	full := new(big.Rat).SetInt(new(big.Int).SetUint64(math.MaxUint64 - 1))
	parted := new(big.Rat).Mul(full, big.NewRat(1, 3)) // which is in lowest terms
	wide := new(big.Rat).SetFrac(new(big.Int).Lsh(big.NewInt(1), 100), big.NewInt(1<<20+1))
	beyond := new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(3), 98))
	tests := []struct {
		name  string
		m     mechanisms.Mechanism
		scale float64
		cdf   func(float64) float64
	}{
		{"laplace 2^60", laplace(t, 1<<60, 1), math.Exp2(60), double},
		{"laplace beyond 64 bits", must(mechanisms.NewLaplace(one, full)), math.Exp2(64), double},
		{"laplace beyond 64 bits before division", must(mechanisms.NewLaplace(one, parted)), math.Exp2(64) / 3, double},
		{"laplace 2^100/(2^20+1)", must(mechanisms.NewLaplace(one, wide)), math.Exp2(80) / (1 + math.Exp2(-20)), double},
		{"laplace 3*2^98", must(mechanisms.NewLaplace(one, beyond)), 3 * math.Exp2(98), double},
		{"gaussian just narrow", gaussian(t, 1<<28), math.Exp2(14), normal},
		{"gaussian just wide", gaussian(t, 1<<28+1), math.Exp2(14), normal},
		{"gaussian 2^120", must(mechanisms.NewGaussian(one, new(big.Int).Lsh(big.NewInt(1), 120))), math.Exp2(60), normal},
	}
	const cells = 64
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			src, z, unit := seeded(t), new(big.Int), math.Exp2(math.Floor(math.Log2(tt.scale)))/cells
			width, _ := big.NewFloat(unit).Int(nil)
			draw := func() int64 { return z.Div(tt.m.Sample(z, src), width).Int64() }
			law := func(scale float64) func(int64) float64 {
				// Discrete noise stands half a lattice unit right of its cell.
				return stattest.Cells(func(x float64) float64 { return tt.cdf((x - 0.5) / scale) }, unit)
			}
			check(t, draw, law(tt.scale), law(tt.scale*wrong))
		})
	}
}

// TestScale is the test on one moment, which sees a wrong scale with fewer draws.
func TestScale(t *testing.T) {
	abs := func(x int64) float64 { return math.Abs(float64(x)) }
	square := func(x int64) float64 { return float64(x) * float64(x) }
	tests := []struct {
		name      string
		m         mechanisms.Mechanism
		n         int
		f         func(int64) float64
		pmf, twin func(int64) float64
	}{
		{"laplace 1", laplace(t, 1, 1), 100_000, abs, stattest.Laplace(1), stattest.Laplace(wrong)},
		{"laplace 100", laplace(t, 100, 1), 100_000, abs, stattest.Laplace(100), stattest.Laplace(100 * wrong)},
		{"gaussian 25", gaussian(t, 25), 50_000, square, stattest.Gaussian(25), stattest.Gaussian(25 * wrong * wrong)},
		{"gaussian 10^6", gaussian(t, 1_000_000), 50_000, square, stattest.Gaussian(1e6), stattest.Gaussian(1e6 * wrong * wrong)},
	}
	for _, tt := range tests {
		samples := stattest.Draw(tt.n, int64s(t, tt.m.Sample, seeded(t)))
		if z := stattest.MeanZ(samples, tt.f, tt.pmf); math.Abs(z) > stattest.MaxZ {
			t.Errorf("%s: z = %.1f", tt.name, z)
		}
		if z := stattest.MeanZ(samples, tt.f, tt.twin); z > -stattest.MaxZ {
			t.Errorf("%s: z = %.1f against a scale wrong by 5 %%", tt.name, z)
		}
	}
}

// TestProductionSource runs one law on the source that ships, whose words are
// not seeded: its false alarms have probability 10⁻¹⁶.
func TestProductionSource(t *testing.T) {
	draw := int64s(t, gaussian(t, 25).Sample, mechanisms.NewSource())
	check(t, draw, stattest.Gaussian(25), stattest.Gaussian(25*wrong*wrong))
}

func TestBernoulliExp(t *testing.T) {
	for _, r := range [][2]int64{{0, 1}, {1, 1000}, {1, 2}, {1, 1}, {7, 3}, {5, 1}, {3 << 55, 1 << 56}} {
		p := math.Exp(-float64(r[0]) / float64(r[1]))
		narrow := func(src mechanisms.Source) bool {
			return mechanisms.BernoulliExp(src, uint64(r[0]), uint64(r[1]))
		}
		wide := func(src mechanisms.Source) bool {
			return mechanisms.BernoulliExpBig(src, big.NewInt(r[0]), big.NewInt(r[1]))
		}
		for name, coin := range map[string]func(mechanisms.Source) bool{"narrow": narrow, "big": wide} {
			if z := coinZ(seeded(t), coin, p); math.Abs(z) > stattest.MaxZ {
				t.Errorf("%s exp(-%d/%d): z = %.1f", name, r[0], r[1], z)
			}
			off := 0.8
			if p < 0.05 { // of few heads
				off = 0.5
			}
			if z := coinZ(seeded(t), coin, p*off); p < 1 && z < stattest.MaxZ {
				t.Errorf("%s exp(-%d/%d): a probability wrong by a factor of %v passes: z = %.1f", name, r[0], r[1], off, z)
			}
		}
	}
}

// coinZ returns how many standard errors the rate of coin is above p. A coin
// that must be true (p = 1) has no error: one false is infinitely many.
func coinZ(src mechanisms.Source, coin func(mechanisms.Source) bool, p float64) float64 {
	heads := 0.0
	for range n {
		if coin(src) {
			heads++
		}
	}
	if heads == n*p {
		return 0
	}
	return (heads - n*p) / math.Sqrt(n*p*(1-p))
}

// TestFarProposalsAreRejected tries proposals whose acceptance has a probability
// below exp(−90), and an exponent of more than 64 bits.
func TestFarProposalsAreRejected(t *testing.T) {
	src := seeded(t)
	for _, variance := range []int64{1, 100, 1 << 20, 1 << 28} {
		m := gaussian(t, variance)
		sigma := uint64(math.Sqrt(float64(variance)))
		for y := 20 * sigma; y < 1<<63; y += y/7 + 1 {
			near := (1<<32 + uint64(variance)) / (sigma + 1) // where the square wraps around
			if m.Accepts(src, y) || m.Accepts(src, max(y, near)) {
				t.Fatalf("%v accepts %d", m, y)
			}
		}
	}
}

// TestUniformHasNoResidue sees the bias of a multiplication without rejection.
func TestUniformHasNoResidue(t *testing.T) {
	src := seeded(t)
	third := func(x int64) float64 {
		if x < 0 || x > 2 {
			return 0
		}
		return 1.0 / 3
	}
	for name, draw := range map[string]func() int64{
		"narrow": func() int64 { return int64(mechanisms.Uniform(src, 3<<62) % 3) },
		"big":    func() int64 { return int64(mechanisms.UniformBig(src, new(big.Int).SetUint64(3<<62)).Uint64() % 3) },
	} {
		if p, ok := stattest.Accept(n, draw, third); !ok {
			t.Errorf("%s: p = %g", name, p)
		}
	}
}

func TestUniform(t *testing.T) {
	src := seeded(t)
	for _, size := range []uint64{1, 2, 3, 6, 1000, 3 << 62} {
		cell := max(1, size/1000)
		count := size / cell
		law := func(x int64) float64 {
			if x < 0 || uint64(x) >= count {
				return 0
			}
			return 1 / float64(count)
		}
		samplers := map[string]func() int64{
			"narrow": func() int64 { return int64(mechanisms.Uniform(src, size) / cell) },
			"big":    func() int64 { return int64(mechanisms.UniformBig(src, new(big.Int).SetUint64(size)).Uint64() / cell) },
		}
		for name, draw := range samplers {
			if size == 1 {
				if x := draw(); x != 0 {
					t.Errorf("%s below 1: %d", name, x)
				}
				continue
			}
			if p, ok := stattest.Accept(n, draw, law); !ok {
				t.Errorf("%s below %d: p = %g", name, size, p)
			}
		}
	}
}

func must[M mechanisms.Mechanism](m M, err error) M {
	if err != nil {
		panic(err)
	}
	return m
}
