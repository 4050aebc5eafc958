package brdp_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"dpproxy/brdp"
	"dpproxy/brdp/papertest"
	"dpproxy/dp"
	"dpproxy/mechanisms"
)

func sensitivity(linf int64) dp.Sensitivity { return dp.Sensitivity{L0: 1, LInf: linf} }

func goal(s dp.Sensitivity, boundary int64, acceptance float64, m dp.Measure) brdp.Goal {
	return brdp.Goal{Sensitivity: s, Boundary: boundary, Acceptance: acceptance, Measure: m}
}

func allowance(s dp.Sensitivity, boundary int64, loss dp.Loss) brdp.Allowance {
	return brdp.Allowance{Sensitivity: s, Boundary: boundary, Loss: loss}
}

func approximate(s dp.Sensitivity, boundary int64, epsilon, delta float64) brdp.ApproximateAllowance {
	return brdp.ApproximateAllowance{Sensitivity: s, Boundary: boundary, Epsilon: epsilon, Delta: delta}
}

func pureLoss(t testing.TB, epsilon float64) dp.Loss {
	t.Helper()
	loss, err := dp.NewLoss(dp.PureDP, int64(math.Round(epsilon*dp.PicoPerUnit)), 0)
	if err != nil {
		t.Fatal(err)
	}
	return loss
}

// exact returns the acceptance and the loss of a mechanism, from its event alone.
func exact(d brdp.Design, boundary int64, m dp.Measure) (acceptance float64, loss dp.Loss, err error) {
	if n, ok := d.Mechanism.(brdp.Noise); ok {
		loss, err = n.Law().Loss(m)
		return n.Acceptance(), loss, err
	}
	n, err := brdp.New(d.Mechanism, boundary, new(big.Rat))
	if err != nil {
		return 0, dp.Loss{}, err
	}
	loss, err = n.Law().Loss(m) // q = 0
	return n.Acceptance(), loss, err
}

// TestDesignsKeepTheirWord checks for any goal that the design meets it at the
// loss it says, that spending this loss gives back the acceptance, and that
// recycling is chosen only where it costs less than every plain kernel.
func TestDesignsKeepTheirWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := brdp.Goal{
			Sensitivity: dp.Sensitivity{
				L0:   rapid.Int64Range(1, 5).Draw(t, "l0"),
				LInf: rapid.Int64Range(1, 1<<rapid.IntRange(0, 30).Draw(t, "linf bits")).Draw(t, "linf"),
			},
			Boundary:   rapid.Int64Range(0, 1<<rapid.IntRange(0, 32).Draw(t, "boundary bits")).Draw(t, "boundary"),
			Acceptance: rapid.Float64Range(0.05, 0.999).Draw(t, "acceptance"),
			Measure:    rapid.SampledFrom([]dp.Measure{dp.PureDP, dp.ZCDP}).Draw(t, "measure"),
		}
		var designer brdp.Designer
		d, err := designer.Cheapest(g)
		if errors.Is(err, brdp.ErrParameter) && g.Boundary > 1000*g.Sensitivity.LInf || errors.Is(err, dp.ErrOverflow) {
			return
		}
		if err != nil {
			for _, other := range brdp.Reached(g) {
				t.Fatalf("%+v: %v, but %v would do", g, err, other.Mechanism)
			}
			if float64(g.Boundary+1)*8000 > float64(g.Sensitivity.LInf) {
				t.Fatalf("%+v: %v", g, err)
			}
			return // beyond the amounts of a ledger
		}
		acceptance, loss, err := exact(d, g.Boundary, g.Measure)
		if err != nil || acceptance < g.Acceptance*(1-1e-12) || d.Acceptance > acceptance {
			t.Fatalf("%+v: %v accepts %v (%v)", g, d.Mechanism, acceptance, err)
		}
		if slack := int64(float64(loss.Pico())*1e-3) + 2; d.Loss.Pico() > loss.Pico()+slack || d.Recycled && d.Loss != loss {
			t.Fatalf("%+v: %v costs %v, not %v", g, d.Mechanism, loss, d.Loss)
		}
		for _, other := range brdp.Reached(g) {
			if other.Loss.Pico() < d.Loss.Pico() || other.Acceptance < g.Acceptance {
				t.Fatalf("%+v: %+v, chosen %+v", g, other, d)
			}
		}
		if d.Loss.Pico() < 1000 || d.Loss.Pico() > 8*dp.PicoPerUnit {
			return // too small to be rounded, or too large to be tight
		}
		back, err := designer.MostAccepted(brdp.Allowance{Sensitivity: g.Sensitivity, Boundary: g.Boundary, Loss: d.Loss})
		// A search that leaves a share of ρ leaves ρ times that share of the odds: one of 4·10⁻³ each, for the size and for the recycler.
		short := 0.02 + 8e-3*float64(d.Loss.Pico())/dp.PicoPerUnit/float64(g.Sensitivity.L0)
		if n, ok := d.Mechanism.(brdp.Noise); ok && n.Law().Draws() > 0.8*brdp.MaxDraws {
			short = 0.8 // the best size is the least that needs no more draws, and a search stops beside it
		}
		if err != nil || !back.Loss.Fits(d.Loss) || back.Acceptance < d.Acceptance*(1-short) {
			t.Fatalf("%+v: %v for %v; spent, %v for %v (%v)", g, d.Mechanism, d.Acceptance, back.Mechanism, back.Acceptance, err)
		}
	})
}

// TestPureDesignIsTheBest tries every other scale under pure DP.
func TestPureDesignIsTheBest(t *testing.T) {
	var designer brdp.Designer
	for _, g := range []brdp.Goal{
		goal(sensitivity(5), 1, 0.9, dp.PureDP),
		goal(sensitivity(100), 20, 0.5, dp.PureDP),
		goal(sensitivity(100), 20, 0.2, dp.PureDP),
		goal(sensitivity(7), 6, 0.9, dp.PureDP),
		goal(sensitivity(1), 0, 0.9, dp.PureDP),
		goal(sensitivity(1), 3, 0.9, dp.PureDP),
	} {
		d, err := designer.Cheapest(g)
		if err != nil {
			t.Fatal(err)
		}
		if useless := g.Boundary+1 >= g.Sensitivity.LInf; useless && d.Recycled {
			t.Errorf("%+v: %v, where recycling cannot help", g, d.Mechanism)
		}
		best := math.Inf(1)
		odds := g.Acceptance / (1 - g.Acceptance)
		for e := 1e-4; e < 20; e *= 1.0005 {
			theta := float64(g.Boundary)
			kernel := (math.Exp(e*(theta+1))+math.Exp(e*theta))/2 - 1
			if kernel <= odds {
				best = min(best, float64(g.Sensitivity.LInf)*e+math.Log(odds/kernel))
			}
		}
		if got := float64(d.Loss.Pico()) / dp.PicoPerUnit; got > best*(1+1e-9) && got > best+1e-6 || got < best*(1-2e-3) {
			t.Errorf("%+v: ε = %v, the best is %v", g, got, best)
		}
	}
}

// TestZCDPDesignIsTheBest tries other variances, with the q that each needs.
func TestZCDPDesignIsTheBest(t *testing.T) {
	var designer brdp.Designer
	for _, g := range []brdp.Goal{
		goal(sensitivity(5), 1, 0.5, dp.ZCDP),
		goal(sensitivity(5), 5, 0.9, dp.ZCDP),
		goal(sensitivity(100), 20, 0.9, dp.ZCDP),
		goal(sensitivity(1000), 1000, 0.345, dp.ZCDP),
	} {
		d, err := designer.Cheapest(g)
		if err != nil || !d.Recycled {
			t.Fatal(d, err)
		}
		odds := g.Acceptance / (1 - g.Acceptance)
		for v := 1.0; v < 1e9; v = math.Ceil(v * 1.07) {
			kernel := gaussian(t, g.Sensitivity.LInf, int64(v))
			inside := recycled(t, kernel, g.Boundary, new(big.Rat)).Acceptance()
			keep := inside / (1 - inside) / odds
			if keep >= 1 || inside < g.Acceptance/900 {
				continue
			}
			rho := recycled(t, kernel, g.Boundary, new(big.Rat).SetFrac64(int64((1-keep)*1e9), 1e9)).Law().Rho()
			if got := float64(d.Loss.Pico()) / dp.PicoPerUnit; got > rho*1.003 {
				t.Errorf("%+v: %v costs %v, variance %v only %v", g, d.Mechanism, got, v, rho)
			}
		}
	}
}

// TestGainAtEqualRho shows how much recycling adds to the acceptance of a plain
// Gaussian kernel at one price, where θ = Δ and where θ = Δ/5.
func TestGainAtEqualRho(t *testing.T) {
	const unit = 1 << 14
	for _, tt := range []struct {
		theta        int64
		rho          float64
		plain, gains float64
	}{
		{unit, 0.1, 0.345, 0.378},
		{unit, 0.5, 0.683, 0.730},
		{unit / 5, 0.1, 0.071, 0.107},
		{unit / 5, 1, 0.223, 0.452},
	} {
		loss, err := dp.NewLoss(dp.ZCDP, int64(tt.rho*dp.PicoPerUnit), 0)
		if err != nil {
			t.Fatal(err)
		}
		plain, best := 0.0, 0.0
		for _, d := range brdp.Spent(sensitivity(unit), tt.theta, loss) {
			_, isGaussian := d.Mechanism.(mechanisms.Gaussian)
			switch n, ok := d.Mechanism.(brdp.Noise); {
			case isGaussian:
				plain = max(plain, d.Acceptance)
			case ok:
				if _, ok := n.Event().(dp.RecycledEvent).Kernel.(dp.GaussianEvent); ok {
					best = max(best, d.Acceptance)
				}
			}
		}
		t.Logf("θ = %v·Δ, ρ = %v: %.4f → %.4f", float64(tt.theta)/unit, tt.rho, plain, best)
		if math.Abs(plain-tt.plain) > 6e-4 || best < tt.gains-6e-4 || best > tt.gains+0.01 {
			t.Errorf("θ = %v, ρ = %v: %.4f → %.4f, want %.3f → %.3f", tt.theta, tt.rho, plain, best, tt.plain, tt.gains)
		}
	}
}

// TestAcceptanceTable computes P(|noise| ≤ θ) at (ε, 10⁻⁵)-DP for a change by Δ, on
// a lattice of 2¹⁴ units: the plain Gaussian kernel, the paper's claim for
// recycling and the true δ of that, the exact recycled Gaussian kernel with its
// variance at least the plain one's, the same with only its own δ bounded, plain
// Laplace noise, and the recycled Laplace kernel.
func TestAcceptanceTable(t *testing.T) {
	const unit, delta = 1 << 14, 1e-5
	t.Log("  Δ  θ   ε  Gaussian  paper (true δ)        exact   best  Laplace  recycled")
	for _, row := range []struct {
		shift, theta, epsilon           float64
		gaussian, paper, exact, laplace float64
		digits                          float64
	}{
		{1, 1, 1, .211, .232, .3954, .632, 3},
		{1, 1, 2, .384, .466, .7595, .865, 3},
		{1, 1, 4.5, .694, .914, .9791, .989, 3},
		{1, 5, 1, .820, .833, .8928, .993, 3},
		{1, 5, 3, .9997, .9999, .9997, 1, 4},
		{5, 1, 2, .080, .133, .3498, .330, 3},
		{5, 1, 4.5, .162, .651, .8948, .593, 3},
	} {
		a := brdp.ApproximateAllowance{
			Sensitivity: sensitivity(int64(row.shift * unit)), Boundary: int64(row.theta * unit), Epsilon: row.epsilon, Delta: delta,
		}
		_, paper := papertest.Budget(row.theta, row.shift, row.epsilon, delta)
		plain, best, laplace, laplaceBest := 0.0, 0.0, 0.0, 0.0
		for _, d := range brdp.Gaussians(a) {
			if d.Recycled {
				best = max(best, d.Acceptance)
				if got := d.Mechanism.(brdp.Noise).Law().Delta(row.epsilon); got > delta {
					t.Errorf("%v: δ = %v", d.Mechanism, got)
				}
			} else {
				plain = max(plain, d.Acceptance)
			}
		}
		for _, d := range brdp.Spent(a.Sensitivity, a.Boundary, pureLoss(t, row.epsilon)) {
			if d.Recycled {
				laplaceBest = max(laplaceBest, d.Acceptance)
			} else {
				laplace = max(laplace, d.Acceptance)
			}
		}
		exact := safeAbovePlain(row.shift, row.theta, row.epsilon, delta)
		t.Logf("%3v %2v %3v  %.4f    %.4f (%.2e)     %.4f  %.4f  %.4f  %.4f",
			row.shift, row.theta, row.epsilon, plain, paper.Acceptance(), paper.Delta(row.epsilon, row.shift),
			exact, best, laplace, laplaceBest)
		tolerance := 0.6 * math.Pow(10, -row.digits)
		for name, pair := range map[string][2]float64{
			"Gaussian": {plain, row.gaussian}, "paper": {paper.Acceptance(), row.paper},
			"exact": {exact, row.exact}, "Laplace": {laplace, row.laplace},
		} {
			if math.Abs(pair[0]-pair[1]) > tolerance {
				t.Errorf("Δ=%v θ=%v ε=%v: %s %.5f, want %v", row.shift, row.theta, row.epsilon, name, pair[0], pair[1])
			}
		}
		if best < exact-1e-3 {
			t.Errorf("Δ=%v θ=%v ε=%v: designed %v, but %v is safe", row.shift, row.theta, row.epsilon, best, exact)
		}
		var designer brdp.Designer
		chosen, err := designer.MostAcceptedApproximate(a)
		if err != nil || chosen.Acceptance < max(plain, best, laplace, laplaceBest) {
			t.Errorf("chosen %+v, %v", chosen, err)
		}
	}
}

// safeAbovePlain returns the best acceptance of the safe rule on the real line, over
// σ at least that of the plain Gaussian mechanism.
func safeAbovePlain(shift, theta, epsilon, delta float64) float64 {
	low, high := 0.01*shift, 100*shift
	for range 100 {
		mid := (low + high) / 2
		if (papertest.GaussianLimit{Sigma: mid, Theta: theta}).Delta(epsilon, shift) <= delta {
			high = mid
		} else {
			low = mid
		}
	}
	best := 0.0
	for sigma := high; sigma < 20*high; sigma *= 1.0005 {
		if g, own, err := papertest.SafeGaussian(sigma, theta, shift, epsilon); err == nil && own <= delta {
			best = max(best, g.Acceptance())
		}
	}
	return best
}

func TestDesignerRefuses(t *testing.T) {
	var designer brdp.Designer
	good := goal(sensitivity(5), 1, 0.9, dp.ZCDP)
	for name, change := range map[string]func(*brdp.Goal){
		"no sensitivity":         func(g *brdp.Goal) { g.Sensitivity.LInf = 0 },
		"a huge sensitivity":     func(g *brdp.Goal) { g.Sensitivity.LInf = 1 << 60 },
		"a negative boundary":    func(g *brdp.Goal) { g.Boundary = -1 },
		"a huge boundary":        func(g *brdp.Goal) { g.Boundary = 1 << 60 },
		"certainty":              func(g *brdp.Goal) { g.Acceptance = 1 },
		"nothing":                func(g *brdp.Goal) { g.Acceptance = 0 },
		"no number":              func(g *brdp.Goal) { g.Acceptance = math.NaN() },
		"more than a ledger has": func(g *brdp.Goal) { g.Sensitivity.LInf, g.Boundary = 1<<50, 0 },
	} {
		g := good
		change(&g)
		if d, err := designer.Cheapest(g); !errors.Is(err, brdp.ErrParameter) {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
	if _, err := designer.Cheapest(goal(sensitivity(5), 1, 0.9, 0)); !errors.Is(err, dp.ErrMeasure) {
		t.Errorf("no measure: %v", err)
	}
	if _, err := designer.MostAccepted(allowance(sensitivity(5), 1, dp.Zero(dp.ZCDP))); !errors.Is(err, brdp.ErrParameter) {
		t.Errorf("no loss: %v", err)
	}
	for _, a := range []brdp.ApproximateAllowance{
		approximate(sensitivity(5), 1, 0, 1e-5), approximate(sensitivity(5), 1, math.NaN(), 1e-5),
		approximate(sensitivity(5), 1, 1, 0), approximate(sensitivity(5), 1, math.Inf(1), 1e-5),
	} {
		if d, err := designer.MostAcceptedApproximate(a); !errors.Is(err, brdp.ErrParameter) {
			t.Errorf("%+v: %+v, %v", a, d, err)
		}
	}
}

// TestDesignerRemembers asks from many goroutines, and for more goals than are kept.
func TestDesignerRemembers(t *testing.T) {
	var designer brdp.Designer
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range 400 {
				g := goal(sensitivity(5), int64(i), 0.5+float64(worker)/10, dp.PureDP)
				first, err := designer.Cheapest(g)
				again, _ := designer.Cheapest(g)
				if err != nil || first.Loss != again.Loss || first.Mechanism.String() != again.Mechanism.String() {
					t.Errorf("%+v: %v, then %v (%v)", g, first, again, err)
				}
			}
		})
	}
	all.Wait()
}

func TestSumGaussian(t *testing.T) {
	inf := math.Inf(1)
	for _, v := range []float64{5, 48 * 48, 49 * 49, 100 * 100, 511 * 511, 513 * 513} {
		sigma := math.Sqrt(v)
		for _, h := range []float64{0, 0.37, 12.5} {
			for _, ends := range [][2]float64{
				{-inf, inf}, {-2, 1}, {-0.5, inf}, {3, inf}, {6, inf}, {20, 31}, {-inf, -1}, {-9, -8}, {4.9, inf}, {5.1, inf},
			} {
				a, b := math.Round(ends[0]*sigma), math.Round(ends[1]*sigma)
				want := new(big.Float).SetPrec(200)
				for n := max(a, -40*sigma); n <= min(b, 40*sigma); n++ {
					n := math.Round(n)
					want.Add(want, big.NewFloat(math.Exp(-(n-h)*(n-h)/(2*v))))
				}
				exact, _ := want.Float64()
				if got := brdp.SumGaussian(v, h, a, b); !near(got, exact, 3e-13) {
					t.Errorf("v=%v h=%v from %v to %v: %v, want %v (%.1e)", v, h, a, b, got, exact, got/exact-1)
				}
			}
		}
	}
}

func FuzzDesigner(f *testing.F) {
	f.Add(int64(1), int64(5), int64(1), 0.9, uint8(2), 1.0, 1e-5)
	f.Add(int64(3), int64(1)<<40, int64(1)<<30, 0.5, uint8(1), 0.1, 1e-9)
	f.Add(int64(1), int64(1), int64(1)<<52, 0.999999, uint8(2), 30.0, 1e-300)
	f.Add(int64(1), int64(1)<<52, int64(0), 0.001, uint8(2), 1e-9, 0.5)
	f.Fuzz(func(t *testing.T, l0, linf, boundary int64, acceptance float64, measure uint8, epsilon, delta float64) {
		var designer brdp.Designer
		s := dp.Sensitivity{L0: l0, LInf: linf}
		known := func(err error) bool {
			return errors.Is(err, brdp.ErrParameter) || errors.Is(err, dp.ErrMeasure) || errors.Is(err, dp.ErrOverflow)
		}
		d, err := designer.Cheapest(goal(s, boundary, acceptance, dp.Measure(measure)))
		if err != nil && !known(err) || err == nil && d.Acceptance < acceptance {
			t.Fatal(d, err)
		}
		if err == nil {
			d, err = designer.MostAccepted(allowance(s, boundary, d.Loss))
			if err != nil && !known(err) {
				t.Fatal(d, err)
			}
		}
		d, err = designer.MostAcceptedApproximate(approximate(s, boundary, epsilon, delta))
		if err != nil && !known(err) {
			t.Fatal(d, err)
		}
	})
}

func ExampleDesigner() {
	var designer brdp.Designer
	// A sum that one person changes by up to 100, wanted within 20.
	d, err := designer.Cheapest(brdp.Goal{
		Sensitivity: dp.Sensitivity{L0: 1, LInf: 100}, Boundary: 20, Acceptance: 0.9, Measure: dp.PureDP,
	})
	fmt.Printf("%v %.3f %v\n", d.Recycled, d.Acceptance, err)
	// A count never gains.
	d, err = designer.Cheapest(brdp.Goal{
		Sensitivity: dp.Sensitivity{L0: 1, LInf: 1}, Boundary: 2, Acceptance: 0.9, Measure: dp.PureDP,
	})
	fmt.Printf("%v %.3f %v\n", d.Recycled, d.Acceptance, err)
	// Output:
	// true 0.900 <nil>
	// false 0.900 <nil>
}

func BenchmarkCheapest(b *testing.B) {
	for _, g := range []brdp.Goal{
		goal(sensitivity(100), 20, 0.9, dp.PureDP),
		goal(sensitivity(1), 1, 0.9, dp.ZCDP),
		goal(sensitivity(100), 20, 0.9, dp.ZCDP),
		goal(sensitivity(30), 300, 0.5, dp.ZCDP),
		goal(sensitivity(100_000), 20_000, 0.9, dp.ZCDP),
	} {
		b.Run(fmt.Sprintf("cold/%v/%d/%d", g.Measure, g.Sensitivity.LInf, g.Boundary), func(b *testing.B) {
			for b.Loop() {
				var designer brdp.Designer
				if _, err := designer.Cheapest(g); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("cached", func(b *testing.B) {
		var designer brdp.Designer
		for b.Loop() {
			if _, err := designer.Cheapest(goal(sensitivity(100), 20, 0.9, dp.ZCDP)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkMostAccepted(b *testing.B) {
	for _, a := range []brdp.Allowance{
		allowance(sensitivity(1), 1, mustLoss(dp.ZCDP, 1e11)),
		allowance(sensitivity(100), 20, mustLoss(dp.ZCDP, 1e12)),
		allowance(sensitivity(5), 20, mustLoss(dp.ZCDP, 2e11)),
		allowance(sensitivity(100_000), 20_000, mustLoss(dp.ZCDP, 1e12)),
		allowance(sensitivity(100), 20, mustLoss(dp.PureDP, 1e12)),
	} {
		b.Run(fmt.Sprintf("%v/%d/%d", a.Loss, a.Sensitivity.LInf, a.Boundary), func(b *testing.B) {
			for b.Loop() {
				var designer brdp.Designer
				if _, err := designer.MostAccepted(a); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRho(b *testing.B) {
	for _, sigma := range []int64{4, 40, 300, 1 << 20} {
		n := recycled(b, gaussian(b, sigma, sigma*sigma), sigma, big.NewRat(3, 5))
		b.Run(fmt.Sprint(sigma), func(b *testing.B) {
			for b.Loop() {
				n.Law().Rho()
			}
		})
	}
}

func BenchmarkSample(b *testing.B) {
	n := recycled(b, gaussian(b, 100, 9456), 20, big.NewRat(977, 1000))
	src, z := mechanisms.NewSource(), new(big.Int)
	for b.Loop() {
		n.Sample(z, src)
	}
}

func mustLoss(m dp.Measure, pico int64) dp.Loss {
	loss, err := dp.NewLoss(m, pico, 0)
	if err != nil {
		panic(err)
	}
	return loss
}
