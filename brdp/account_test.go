package brdp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"dpproxy/brdp"
	"dpproxy/brdp/papertest"
	"dpproxy/dp"
	"dpproxy/internal/stattest"
)

// An oracle is a result computed elsewhere, with fifty digits.
type oracle struct {
	Name             string
	Inputs, Expected json.RawMessage
	Tolerance        float64
}

// eachOracle calls check for those whose name begins with prefix; there must be some.
func eachOracle[In, Out any](t *testing.T, prefix string, check func(o oracle, in In, want Out)) {
	t.Helper()
	text, err := os.ReadFile("../accountant/testdata/oracles.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []oracle
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, o := range all {
		if !strings.HasPrefix(o.Name, prefix+" ") {
			continue
		}
		found = true
		var in In
		var want Out
		if err := errors.Join(json.Unmarshal(o.Inputs, &in), json.Unmarshal(o.Expected, &want)); err != nil {
			t.Fatal(err)
		}
		check(o, in, want)
	}
	if !found {
		t.Fatalf("no oracle %q", prefix)
	}
}

func all(got, want []float64, tolerance float64) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		if !near(got[i], want[i], tolerance) {
			return false
		}
	}
	return true
}

// lattice are the inputs of oracles on the integers.
type lattice struct {
	Kernel    string
	Parameter float64 `json:"per_unit_eps_or_sigma2"`
	Theta     int64
	Q         float64
	Delta     int64 `json:"delta_int"`
	Eps       float64
}

func (in lattice) law(t *testing.T) brdp.Law {
	t.Helper()
	q, _ := new(big.Rat).SetString(fmt.Sprint(in.Q))
	e := dp.RecycledEvent{Boundary: in.Theta, Recycle: q}
	s := dp.Sensitivity{L0: 1, LInf: in.Delta}
	if in.Kernel == "dlap" {
		e.Kernel = dp.LaplaceEvent{Sensitivity: s, Scale: new(big.Rat).Inv(new(big.Rat).SetFloat64(in.Parameter))}
	} else {
		e.Kernel = dp.GaussianEvent{Sensitivity: s, Variance: big.NewInt(int64(in.Parameter))}
	}
	l, err := brdp.NewLaw(e)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLatticeOracles(t *testing.T) {
	eachOracle(t, "brdp_lattice", func(o oracle, in lattice, want []float64) {
		l := in.law(t)
		got := []float64{l.PMF(0), l.PMF(in.Theta), l.PMF(in.Theta + 1), l.Acceptance(), l.Delta(in.Eps)}
		if e, ok := l.Epsilon(); ok {
			epsilon, _ := e.Float64()
			got = append(got, epsilon)
		}
		if !all(got, want, o.Tolerance) {
			t.Errorf("%s: %v, want %v", o.Name, got, want)
		}
	})
	eachOracle(t, "brdp_lattice_rho", func(o oracle, in lattice, want float64) {
		if got := in.law(t).Rho(); got < want*(1-1e-9) || got > want*1.01 { // TestRhoAtItsPeak has the upper end
			t.Errorf("%s: %v, want %v", o.Name, got, want)
		}
	})
}

func TestGaussianOracles(t *testing.T) {
	type inputs struct{ Sigma, Theta, Q, Eps, Shift, L float64 }
	eachOracle(t, "brdp_gauss_exact_delta", func(o oracle, in inputs, want []float64) {
		g := papertest.GaussianLimit{Sigma: in.Sigma, Theta: in.Theta, Recycle: in.Q}
		got := []float64{g.Delta(in.Eps, in.Shift), papertest.Delta(g, in.Eps, in.Shift)}
		if !all(got, want, o.Tolerance) {
			t.Errorf("%s: %v, want %v", o.Name, got, want)
		}
		if got[0] < want[0]*(1-1e-12) {
			t.Errorf("%s: %v is below the true δ %v", o.Name, got[0], want[0])
		}
	})
	eachOracle(t, "brdp_gauss_safe_design", func(o oracle, in inputs, want []float64) {
		g, delta, err := papertest.SafeGaussian(in.Sigma, in.Theta, in.L, in.Eps)
		if got := []float64{g.Recycle, delta, g.Acceptance()}; err != nil || !all(got, want, o.Tolerance) {
			t.Errorf("%s: %v, %v; want %v", o.Name, got, err, want)
		}
		if exact := g.Delta(in.Eps, in.L); !near(exact, delta, 1e-9) {
			t.Errorf("%s: the closed form is %v, the exact δ %v", o.Name, delta, exact)
		}
	})
	type points struct {
		Sigma, Theta, Q, B float64
		Y                  []float64
	}
	eachOracle(t, "brdp_gauss_pdf", func(o oracle, in points, want []float64) {
		g := papertest.GaussianLimit{Sigma: in.Sigma, Theta: in.Theta, Recycle: in.Q}
		got := []float64{}
		for _, y := range in.Y {
			got = append(got, g.PDF(y))
		}
		if got = append(got, g.Outside(), g.Acceptance()); !all(got, want, o.Tolerance) {
			t.Errorf("%s: %v, want %v", o.Name, got, want)
		}
	})
	eachOracle(t, "brdp_laplace_pdf", func(o oracle, in points, want []float64) {
		l := papertest.LaplaceLimit{Scale: in.B, Theta: in.Theta, Recycle: in.Q}
		got := []float64{}
		for _, y := range in.Y {
			got = append(got, l.PDF(y))
		}
		if got = append(got, l.Outside(), l.Acceptance()); !all(got, want, o.Tolerance) {
			t.Errorf("%s: %v, want %v", o.Name, got, want)
		}
	})
}

func TestLaplaceOracles(t *testing.T) {
	type inputs struct {
		A    float64 `json:"theta_over_delta"`
		EpsY float64 `json:"eps_y"`
		Eps  float64
		Q    float64
	}
	eachOracle(t, "brdp_laplace_acceptance", func(o oracle, in inputs, want []float64) {
		l := papertest.LaplaceLimit{Scale: 1 / in.EpsY, Theta: in.A, Recycle: -math.Expm1(in.EpsY - in.Eps)}
		plain := papertest.LaplaceLimit{Scale: 1 / in.Eps, Theta: in.A}
		if got := []float64{l.Acceptance(), l.Recycle, plain.Acceptance()}; !all(got, want, o.Tolerance) {
			t.Errorf("%s: %v, want %v", o.Name, got, want)
		}
	})
	eachOracle(t, "brdp_laplace_opt_eps_y", func(o oracle, in inputs, want float64) {
		if got := papertest.LaplaceShare(in.A, 1, 100); !near(got, want, o.Tolerance) {
			t.Errorf("%s: %v, want %v", o.Name, got, want)
		}
	})
	eachOracle(t, "brdp_laplace_pure_eps", func(o oracle, in inputs, want float64) {
		if got := (papertest.LaplaceLimit{Scale: 1 / in.EpsY, Theta: 1, Recycle: in.Q}).Epsilon(1); !near(got, want, o.Tolerance) {
			t.Errorf("%s: %v, want %v", o.Name, got, want)
		}
	})
	for a, want := range map[float64]float64{1: 3, 7: 3, 0: 1, 0.5: 2 * math.Ln2} {
		if got := papertest.LaplaceShare(a, 1, 3); !near(got, want, 1e-12) {
			t.Errorf("share at %v: %v, want %v", a, got, want)
		}
	}
}

// random returns a law with the mass function of its definition.
func random(t *testing.T, r *rand.Rand, gaussianOnly bool) (brdp.Law, func(int64) float64, string) {
	t.Helper()
	shift, boundary, percent := 1+r.Int64N(12), r.Int64N(20), r.Int64N(99)
	q := big.NewRat(percent, 100)
	var n brdp.Noise
	var kernel func(int64) float64
	if gaussianOnly || r.IntN(2) == 0 {
		v := 1 + r.Int64N(200)
		n, kernel = recycled(t, gaussian(t, shift, v), boundary, q), stattest.Gaussian(float64(v))
	} else {
		num := 1 + r.Int64N(60)
		n, kernel = recycled(t, laplace(t, shift, big.NewRat(num, 4)), boundary, q), stattest.Laplace(float64(num)/4)
	}
	return n.Law(), law(kernel, boundary, float64(percent)/100), fmt.Sprintf("%v shift=%d", n, shift)
}

// hockeyStick sums (f(n) − γ·f(n−shift))₊.
func hockeyStick(f func(int64) float64, gamma float64, shift int64) float64 {
	sum := 0.0
	for n := int64(-1200); n <= 1200; n++ {
		sum += max(0, f(n)-gamma*f(n-shift))
	}
	return sum
}

func shiftOf(t *testing.T, name string) int64 {
	t.Helper()
	var shift int64
	if _, err := fmt.Sscan(name[strings.LastIndex(name, "=")+1:], &shift); err != nil {
		t.Fatal(err)
	}
	return shift
}

// TestDeltaIsTheHockeyStick compares Delta with the sum of its definition, for any ε,
// and checks that smaller changes have a smaller δ.
func TestDeltaIsTheHockeyStick(t *testing.T) {
	r := rand.New(stattest.Source(t))
	for range 150 {
		l, f, name := random(t, r, false)
		shift := shiftOf(t, name)
		for _, epsilon := range []float64{-1, 0, 0.1, 0.5, 1, 2, 4} {
			want := hockeyStick(f, math.Exp(epsilon), shift)
			if got := l.Delta(epsilon); got < want*(1-1e-9)-1e-14 || got > want*(1+1e-7)+1e-11 {
				t.Fatalf("%s: δ(%v) = %v, want %v", name, epsilon, got, want)
			}
			before := 0.0
			for s := int64(0); s <= shift; s++ {
				at := hockeyStick(f, math.Exp(epsilon), s)
				if epsilon >= 0 && at < before-1e-13 {
					t.Fatalf("%s: δ(%v) falls from %v to %v at a change of %d", name, epsilon, before, at, s)
				}
				before = at
			}
		}
	}
}

// TestEpsilonIsAttained checks that no ratio of the exact laws exceeds ε, and that
// one reaches it.
func TestEpsilonIsAttained(t *testing.T) {
	for _, boundary := range []int64{0, 1, 2, 7} {
		for _, shift := range []int64{1, 2, 5} {
			n := recycled(t, laplace(t, shift, big.NewRat(7, 2)), boundary, big.NewRat(7, 10))
			e, ok := n.Law().Epsilon()
			epsilon, _ := e.Float64()
			worst := 0.0
			for y := int64(-100); y <= 100; y++ {
				worst = max(worst, math.Log(n.Law().PMF(y)/n.Law().PMF(y-shift)))
			}
			if !ok || !near(worst, epsilon, 1e-12) {
				t.Errorf("boundary %d, change %d: ε = %v, but the worst ratio is %v", boundary, shift, epsilon, worst)
			}
		}
	}
	l := recycled(t, gaussian(t, 1, 16), 3, big.NewRat(1, 2)).Law()
	if e, ok := l.Epsilon(); ok {
		t.Errorf("a Gaussian kernel has ε = %v", e)
	}
	if loss, err := l.Loss(dp.PureDP); !errors.Is(err, dp.ErrMeasure) {
		t.Errorf("a Gaussian kernel costs %v, %v", loss, err)
	}
}

// rate returns D_α/α at a change of shift, from the definition.
func rate(f func(int64) float64, alpha float64, shift int64) float64 {
	sum := 0.0
	for n := int64(-1500); n <= 1500; n++ {
		// Pairs of a gain and a loss, so that small orders keep their digits.
		if p, q := f(n), f(n-shift); p > 0 && q > 0 {
			l := math.Log(p / q)
			sum += p * (math.Expm1((alpha-1)*l) - (alpha-1)*(1-math.Exp(-l)))
		}
	}
	return math.Log1p(sum) / (alpha - 1) / alpha
}

// TestRhoCoversEveryOrder compares Rho with the divergences themselves, at many
// orders and at smaller changes; it has to be tight as well.
func TestRhoCoversEveryOrder(t *testing.T) {
	r := rand.New(stattest.Source(t))
	for range 60 {
		l, f, name := random(t, r, false)
		shift := shiftOf(t, name)
		rho, sup := l.Rho(), 0.0
		for a := 1e-3; a < 60; a *= 1.08 {
			at := rate(f, 1+a, shift)
			if math.IsNaN(at) || math.IsInf(at, 0) || a*float64(shift) > 500 {
				break
			}
			sup = max(sup, at)
			if shift > 1 {
				if less := rate(f, 1+a, shift-1); less > at*(1+1e-9) {
					t.Fatalf("%s: a smaller change has the rate %v > %v at α = %v", name, less, at, 1+a)
				}
			}
		}
		if rho < sup*(1-1e-9) || rho > sup*1.005 {
			t.Errorf("%s: ρ = %v, the largest rate is %v", name, rho, sup)
		}
	}
}

// TestRhoAtItsPeak has the largest rate between integer orders, computed with fifty
// digits: 0.117435462723319 at α = 5, 0.117821503992073 at α = 4.62.
func TestRhoAtItsPeak(t *testing.T) {
	l := recycled(t, gaussian(t, 1, 16), 3, big.NewRat(3, 5)).Law()
	const peak = 0.117821503992073
	if got := l.Rho(); got < peak || got > peak*1.001 {
		t.Errorf("ρ = %v, want just above %v", got, peak)
	}
}

// TestRhoOfSmallLosses has nearly nothing recycled, where the kernel decides.
func TestRhoOfSmallLosses(t *testing.T) {
	for variance, tolerance := range map[int64]float64{100: 5e-4, 10_000: 6e-4} {
		boundary := int64(math.Sqrt(float64(variance)))
		l := recycled(t, gaussian(t, 1, variance), boundary, big.NewRat(1, 1000)).Law()
		sup := rate(law(stattest.Gaussian(float64(variance)), boundary, 1e-3), 1.001, 1)
		if got := l.Rho(); got < sup || got > sup*(1+tolerance) {
			t.Errorf("variance %d: ρ = %v, want just above %v", variance, got, sup)
		}
	}
}

// TestRhoOfWideNoise has kernels on both sides of where sums become integrals: the
// rate depends on the shape alone, but for the lattice.
func TestRhoOfWideNoise(t *testing.T) {
	rhos := []float64{}
	for _, unit := range []int64{40, 60, 500, 600, 1 << 20, 1 << 40} {
		q := big.NewRat(4, 5)
		variance := new(big.Int).Mul(big.NewInt(unit), big.NewInt(unit))
		l, err := brdp.NewLaw(dp.RecycledEvent{
			Kernel: dp.GaussianEvent{Sensitivity: dp.Sensitivity{L0: 1, LInf: unit}, Variance: variance},
			// The boundary of the density is half a unit beyond.
			Boundary: unit, Recycle: q,
		})
		if err != nil {
			t.Fatal(err)
		}
		rhos = append(rhos, l.Rho())
	}
	for i, rho := range rhos {
		if !near(rho, rhos[len(rhos)-1], 0.02) || i > 1 && !near(rho, rhos[len(rhos)-1], 3e-3) {
			t.Errorf("ρ of one shape: %v", rhos)
			break
		}
	}
}

func TestLossIsRoundedUp(t *testing.T) {
	n := recycled(t, laplace(t, 1, big.NewRat(3, 1)), 1, big.NewRat(1, 2))
	loss, err := n.Law().Loss(dp.PureDP)
	// 1/3 + ln 2 = 1.026480513893278...
	if err != nil || loss.Pico() < 1_026_480_513_894 || loss.Pico() > 1_026_480_513_895 {
		t.Errorf("%v, %v", loss, err)
	}
	if loss, err := n.Law().Loss(0); !errors.Is(err, dp.ErrMeasure) {
		t.Errorf("no measure: %v, %v", loss, err)
	}
	quiet := recycled(t, laplace(t, 1<<50, big.NewRat(1, 1)), 1, big.NewRat(1, 2))
	for _, m := range []dp.Measure{dp.PureDP, dp.ZCDP} {
		if loss, err := quiet.Law().Loss(m); !errors.Is(err, dp.ErrOverflow) {
			t.Errorf("hardly any noise under %v: %v, %v", m, loss, err)
		}
	}
}

// TestRepairedTheorem checks (ε_y − ln(1−q), δ_y)-DP for Gaussian kernels with
// ε_y ≥ Δ²/2σ², and δ_y/(1 − q·p̄) for any ε_y. One kernel shows that the condition is needed.
func TestRepairedTheorem(t *testing.T) {
	ratio := func(g papertest.GaussianLimit, epsilon float64) (ratio float64, ok bool) {
		kernel := papertest.GaussianLimit{Sigma: g.Sigma, Theta: g.Theta}
		delta := kernel.Delta(epsilon, 1)
		if delta < 1e-10 {
			return 0, false // of which doubles leave too few digits
		}
		ratio = g.Delta(epsilon-math.Log1p(-g.Recycle), 1) / delta
		if limit := 1 / (1 - g.Recycle*g.Outside()); ratio > limit*(1+1e-6) {
			t.Errorf("%+v at %v: %v times δ_y, at most %v", g, epsilon, ratio, limit)
		}
		return ratio, true
	}
	least := func(sigma float64) float64 { return 1 / (2 * sigma * sigma) }
	r := rand.New(stattest.Source(t))
	for range 4000 {
		g := papertest.GaussianLimit{Sigma: math.Exp(4*r.Float64() - 2), Theta: 5 * r.Float64(), Recycle: 0.99 * r.Float64()}
		epsilon := 8 * r.Float64() * math.Sqrt(2*least(g.Sigma))
		if times, ok := ratio(g, epsilon); ok && epsilon >= least(g.Sigma) && times > 1+1e-6 {
			t.Errorf("%+v at %v: %v times δ_y", g, epsilon, times)
		}
	}
	below := papertest.GaussianLimit{Sigma: 0.22, Theta: 0.19, Recycle: 0.94}
	if times, ok := ratio(below, least(below.Sigma)/3); !ok || times < 1.05 {
		t.Errorf("%+v below the condition on ε_y: only %v times δ_y", below, times)
	}
}

// TestTinyRecycling prices a q that 1 − q loses in doubles.
func TestTinyRecycling(t *testing.T) {
	s := dp.Sensitivity{L0: 1_000_000, LInf: 1}
	e := dp.RecycledEvent{
		Kernel:  dp.LaplaceEvent{Sensitivity: s, Scale: big.NewRat(1_000_000, 1)},
		Recycle: big.NewRat(1, 1<<54),
	}
	law, err := brdp.NewLaw(e)
	if err != nil {
		t.Fatal(err)
	}
	epsilon, _ := law.Epsilon()
	// −ln(1−q) > q, on each of L0 coordinates.
	least := new(big.Rat).Add(big.NewRat(1, 1), new(big.Rat).Mul(big.NewRat(s.L0, 1), e.Recycle))
	if epsilon.Cmp(least) < 0 {
		t.Errorf("ε = %s, want more than %s", epsilon.FloatString(20), least.FloatString(20))
	}
}

// TestWideLawsArePriced ends where neighbouring doubles are more than 1 apart.
func TestWideLawsArePriced(t *testing.T) {
	wide := func(linf int64, bits uint) dp.Event {
		return dp.GaussianEvent{Sensitivity: dp.Sensitivity{L0: 1, LInf: linf}, Variance: new(big.Int).Lsh(big.NewInt(1), bits)}
	}
	for _, e := range []dp.RecycledEvent{
		{Kernel: wide(1<<48, 97), Recycle: big.NewRat(1, 2)},
		{Kernel: wide(1<<51, 100), Recycle: big.NewRat(1, 20_000)},
	} {
		law, err := brdp.NewLaw(e)
		if err != nil {
			t.Fatal(err)
		}
		if rho := law.Rho(); rho < 0.25 || rho > 10 {
			t.Errorf("%v: ρ = %v", e, rho)
		}
	}
}
