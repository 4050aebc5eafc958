package pld_test

import (
	"errors"
	"math"
	"math/big"
	"testing"
	"time"

	"dpproxy/accountant"
	"dpproxy/accountant/papertest"
	"dpproxy/accountant/pld"
	"dpproxy/dp"
	"dpproxy/internal/stattest"
	"dpproxy/mechanisms"
)

func repeat(n int, e dp.Event) []dp.Event {
	all := make([]dp.Event, n)
	for i := range all {
		all[i] = e
	}
	return all
}

func report(t *testing.T, delta float64, events ...dp.Event) float64 {
	t.Helper()
	epsilon, err := pld.Report(events, delta)
	if err != nil {
		t.Fatal(err)
	}
	return epsilon
}

// TestThousandfold compares with the accountants of Google and of Microsoft, and
// with the exact formula for Gaussian noise, and holds the time to a second: the
// shortest of a few, since a load that comes and goes slows some of them.
func TestThousandfold(t *testing.T) {
	const lattice = 1_000_000 // so fine that the noise is as good as continuous
	sigma, err := papertest.GaussianSigma(1, 0.1, 1e-5)
	if err != nil {
		t.Fatal(err)
	}
	variance, _ := new(big.Float).SetFloat64(math.Ceil(sigma * lattice * sigma * lattice)).Int(nil)
	tests := []struct {
		name                   string
		event                  dp.Event
		delta, want, tolerance float64
	}{
		{"laplace", laplace(1, lattice, 10*lattice, 1), 1e-5, 17.421, 6e-4},
		{"laplace, small delta", laplace(1, lattice, 10*lattice, 1), 1e-10, 23.944, 1e-4},
		{"gaussian", dp.GaussianEvent{Sensitivity: dp.Sensitivity{L0: 1, LInf: lattice}, Variance: variance}, 1e-5, 4.52155328581, 1e-8},
		{
			"gaussian, small delta",
			dp.GaussianEvent{Sensitivity: dp.Sensitivity{L0: 1, LInf: lattice}, Variance: variance},
			1e-10, 6.752, 1e-4,
		},
	}
	for _, tt := range tests {
		var got float64
		took := time.Duration(math.MaxInt64)
		for tries := 0; tries < 9 && took > time.Second; tries++ {
			start := time.Now()
			got = report(t, tt.delta, repeat(1000, tt.event)...)
			took = min(took, time.Since(start))
		}
		if math.Abs(got-tt.want) > tt.tolerance*tt.want {
			t.Errorf("%s: ε = %.9g, want %.9g", tt.name, got, tt.want)
		}
		t.Logf("%s: ε = %.9g in %v", tt.name, got, took)
		if took > time.Second {
			t.Errorf("%s took %v", tt.name, took)
		}
	}
	if got := report(t, 1e-5, repeat(1000, laplace(1, lattice, 105*lattice/10, 1))...); math.Abs(got-17.421) <= 6e-4*17.421 {
		t.Errorf("noise that is 5 %% too large has the same ε, %g", got)
	}
}

// binomialDelta is the exact δ(ε) of n randomised responses.
func binomialDelta(n int, each, epsilon float64) float64 {
	truth := 1 / (1 + math.Exp(-each))
	sum := 0.0
	all, _ := math.Lgamma(float64(n + 1))
	for k := n; 2*k > n && each*float64(2*k-n) > epsilon; k-- {
		a, _ := math.Lgamma(float64(k + 1))
		b, _ := math.Lgamma(float64(n - k + 1))
		log := all - a - b + float64(k)*math.Log(truth) + float64(n-k)*math.Log1p(-truth)
		sum += math.Exp(log) * -math.Expm1(epsilon-each*float64(2*k-n))
	}
	return sum
}

// TestResponses compares with binomial sums, to tails of 10⁻¹⁵, to a million
// responses, and on grids that had to become coarser.
func TestResponses(t *testing.T) {
	tests := []struct {
		n        int
		num, den int64
		epsilons []float64
		slack    float64
	}{
		{1, 1, 1, []float64{0, 0.5, 0.9}, 1e-8},
		{2, 1, 3, []float64{0, 0.2, 0.5}, 1e-3},
		{10, 3, 1, []float64{0, 5, 20, 28}, 1e-3},
		{100, 1, 4, []float64{0, 1, 5, 10, 20}, 0.02},
		{1000, 1, 10, []float64{0, 1, 10, 20, 30}, 0.01},
		{100_000, 1, 300, []float64{0, 1, 5, 8}, 1e-2},
		{1_000_000, 1, 1000, []float64{0, 1, 5, 8}, 1e-2},
	}
	for _, tt := range tests {
		each := float64(tt.num) / float64(tt.den)
		once := distribution(t, dp.PureEvent{Epsilon: big.NewRat(tt.num, tt.den)})
		d, err := once.Repeat(int64(tt.n))
		if err != nil {
			t.Fatal(err)
		}
		exact := func(e float64) float64 { return binomialDelta(tt.n, each, e) }
		below, above := shortfall(t, d, exact, tt.epsilons...)
		if below > 1e-8 || above > tt.slack {
			t.Errorf("%d responses with ε = %g: off by parts of %g and %g", tt.n, each, below, above)
		}
	}
}

// TestEpsilonInverts checks that ε and δ are inverse, and that δ falls.
func TestEpsilonInverts(t *testing.T) {
	for name, tt := range cases() {
		d := distribution(t, tt.events...)
		last := math.Inf(1)
		for _, delta := range []float64{1e-12, 1e-9, 1e-5, 0.01, 0.2, 0.9} {
			epsilon, err := d.Epsilon(delta)
			if err != nil || epsilon > last {
				t.Errorf("%s: ε(%g) = %g after %g (%v)", name, delta, epsilon, last, err)
			}
			last = epsilon
			if exact := hockeyStick(tt.outcomes, epsilon); exact > delta*(1+enumerated) {
				t.Errorf("%s: at ε = %g the exact δ is %g, above %g", name, epsilon, exact, delta)
			}
			if exact := hockeyStick(tt.outcomes, epsilon*0.995-1e-3); epsilon > 0.01 && exact < delta {
				t.Errorf("%s: ε(%g) = %g, but the exact one is half a percent lower", name, delta, epsilon)
			}
		}
	}
}

// TestSmoothNoise compares Gaussian noise of the least variance that is taken for
// continuous with its exact discrete law.
func TestSmoothNoise(t *testing.T) {
	const variance = 1 << 16
	for _, shift := range []int64{1, 40, 500} {
		g, err := mechanisms.NewGaussian(dp.Sensitivity{L0: 1, LInf: shift}, big.NewInt(variance))
		if err != nil {
			t.Fatal(err)
		}
		mu := float64(shift) / math.Sqrt(variance)
		d := distribution(t, g.Event())
		below, above := shortfall(t, d, g.Delta, 0, 0.3*mu, mu, 2*mu, mu*mu/2+3*mu)
		if below > 1e-8 || above > 1e-3 {
			t.Errorf("shift %d: δ is off by parts of %g and %g", shift, below, above)
		}
	}
}

// TestImages holds an image, which changes in any direction, to Gaussian noise on one coordinate that changes as much, and one whose
// variance is too small for that to zCDP.
func TestImages(t *testing.T) {
	for _, of := range []struct{ shift, variance, most int64 }{{500, 1 << 20, 1001}, {40, 1 << 14, 1300}} {
		image := dp.ImageEvent{Coordinates: 40, L2Squared: big.NewInt(of.shift * of.shift), Variance: big.NewInt(of.variance)}
		one := gaussian(1, of.shift, of.variance)
		got, want := report(t, 1e-6, image), report(t, 1e-6, one)
		if got < want*(1-1e-9) || got > want*float64(of.most)/1000 {
			t.Errorf("ε = %v, and %v of one coordinate", got, want)
		}
	}
}

// TestRefinement holds rounds of measurements to the one Gaussian release that
// they amount to, if it is smooth, and else to zCDP, which covers the exact law.
func TestRefinement(t *testing.T) {
	s := dp.Sensitivity{L0: 2, LInf: 10}
	rounds := func(precisions ...*big.Rat) []dp.Event {
		before, all := new(big.Rat), []dp.Event{}
		for _, after := range precisions {
			all = append(all, dp.RefinementEvent{Sensitivity: s, Before: before, After: after})
			before = after
		}
		return all
	}
	smooth := report(t, 1e-6, rounds(big.NewRat(1, 500_000), big.NewRat(1, 400_000), big.NewRat(1, 100_000))...)
	whole, err := mechanisms.NewGaussian(dp.Sensitivity{L0: 1, LInf: 10}, big.NewInt(100_000))
	if err != nil {
		t.Fatal(err)
	}
	if at, less := whole.Delta(smooth), whole.Delta(smooth*0.999); at > 1e-6 || less < 1e-6 {
		t.Errorf("smooth rounds have ε = %g, where one release has δ = %g, and %g a little below", smooth, at, less)
	}
	rough := report(t, 1e-6, rounds(big.NewRat(1, 1000), big.NewRat(1, 50), big.NewRat(1, 20))...)
	exact := report(t, 1e-6, gaussian(1, 10, 20))
	zcdp := accountant.Epsilon(100.0/20/2, 1e-6)
	if rough < exact || rough > zcdp*1.001 {
		t.Errorf("rough rounds have ε = %g, one release %g, by zCDP %g", rough, exact, zcdp)
	}
}

// TestConcentrated holds the pair for zCDP to its own bound, and to composition.
func TestConcentrated(t *testing.T) {
	of := func(num, den int64) dp.Event {
		return dp.RefinementEvent{
			Sensitivity: dp.Sensitivity{L0: 1, LInf: 1}, Before: big.NewRat(1, 1), After: big.NewRat(den+2*num, den),
		}
	}
	for _, rho := range []int64{1, 100, 3000} {
		d := distribution(t, of(rho, 1000))
		for _, delta := range []float64{1e-3, 1e-6, 1e-10} {
			got, err := d.Epsilon(delta)
			want := accountant.Epsilon(float64(rho)/1000, delta)
			if err != nil || math.Abs(got-want) > 1e-3*want {
				t.Errorf("ρ = %d/1000, δ = %g: ε = %g, want %g (%v)", rho, delta, got, want, err)
			}
		}
	}
	// Together with Gaussian noise of its own kind it must cover their sum.
	mixed := distribution(t, of(1, 8), gaussian(1, 1, 4))
	outcomes := product(shifted(stattest.Gaussian(4), 30, 1), shifted(stattest.Gaussian(4), 30, 1))
	if below, _ := shortfall(t, mixed, func(e float64) float64 { return hockeyStick(outcomes, e) }, grid...); below > 0 {
		t.Errorf("the exact δ is larger by a part of %g", below)
	}
}

func TestReduction(t *testing.T) {
	s := dp.Sensitivity{L0: 1, LInf: 2}
	levels := []dp.Event{
		dp.ReductionEvent{Sensitivity: s, Before: new(big.Rat), After: big.NewRat(1, 8), Cap: big.NewRat(1, 2)},
		dp.ReductionEvent{Sensitivity: s, Before: big.NewRat(1, 8), After: big.NewRat(1, 4), Cap: big.NewRat(1, 2)},
	}
	got, want := report(t, 1e-6, levels...), report(t, 1e-6, laplace(1, 2, 2, 1))
	if got != want {
		t.Errorf("two levels have ε = %g, Laplace noise at the cap %g", got, want)
	}
}

func TestApproximate(t *testing.T) {
	event := dp.ApproximateEvent{Of: laplace(1, 1, 2, 1), Delta: big.NewRat(1, 1_000_000)}
	if got := report(t, 5e-7, event); !math.IsInf(got, 1) {
		t.Errorf("ε = %g below the event's own δ", got)
	}
	got, want := report(t, 3e-6, event, event), report(t, 1e-6, laplace(2, 1, 2, 1))
	if got < want || got > want*(1+1e-6) {
		t.Errorf("ε = %g, want that at the rest of δ, %g", got, want)
	}
	if got, err := distribution(t, event).Delta(10); err != nil || math.Abs(got-1e-6) > 1e-12 {
		t.Errorf("δ(10) = %g, %v", got, err)
	}
}

// TestBoundedLosses checks that no report exceeds the sum of pure ε.
func TestBoundedLosses(t *testing.T) {
	events := []dp.Event{
		laplace(2, 1, 2, 1),
		dp.PureEvent{Epsilon: big.NewRat(1, 4)},
		recycled(laplace(1, 1, 1, 1), 0, 1, 2),
		dp.StaircaseEvent{Sensitivity: dp.Sensitivity{L0: 2, LInf: 5}, Epsilon: big.NewRat(1, 8), Step: 2},
	}
	sum := 1 + 0.25 + 1 + math.Ln2 + 0.25
	if got := report(t, 1e-300, events...); got < sum || got > sum*(1+1e-9) {
		t.Errorf("ε = %.15g without δ, want %.15g", got, sum)
	}
	if got, err := distribution(t, events...).Delta(sum * (1 + 1e-9)); got != 0 || err != nil {
		t.Errorf("δ = %g at the sum of ε (%v)", got, err)
	}
}

func TestHopelessEvents(t *testing.T) {
	for name, e := range map[string]dp.Event{
		"pure":     dp.PureEvent{Epsilon: big.NewRat(1e9, 1)},
		"laplace":  laplace(1, 1e9, 1, 1000),
		"gaussian": gaussian(1, 1e9, 1),
		"smooth":   gaussian(1, 1e15, 1<<20),
		"range":    dp.BoundedRangeEvent{Epsilon: big.NewRat(1e9, 1)},
		"recycled": recycled(gaussian(1, 1e9, 3), 1e9, 1, 2),
		"refined":  dp.RefinementEvent{Sensitivity: dp.Sensitivity{L0: 1, LInf: 1e6}, Before: new(big.Rat), After: big.NewRat(1, 1)},
	} {
		if got := report(t, 1e-5, e, laplace(1, 1, 1, 1)); got < 500 {
			t.Errorf("%s: ε = %g", name, got)
		}
	}
}

// TestCertainLosses has so many losses, or so certain ones, that δ is almost 1 far
// above 0.
func TestCertainLosses(t *testing.T) {
	for _, tt := range []struct {
		n       int64
		epsilon int64
	}{{1000, 1}, {1000, 50}, {10_000, 3}} {
		d, err := distribution(t, dp.PureEvent{Epsilon: big.NewRat(tt.epsilon, 1)}).Repeat(tt.n)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := d.Delta(0); err != nil || got < 1-1e-12 {
			t.Errorf("%+v: δ(0) = %g, %v", tt, got, err)
		}
		got, err := d.Epsilon(0.9)
		if err != nil {
			t.Fatal(err)
		}
		at := func(e float64) float64 { return binomialDelta(int(tt.n), float64(tt.epsilon), e) }
		if at(got) > 0.9+1e-9 || at(got*0.999) < 0.9 {
			t.Errorf("%+v: ε(0.9) = %g, where the exact δ is %g, and %g a little below", tt, got, at(got), at(got*0.999))
		}
	}
}

func TestNothing(t *testing.T) {
	if got := report(t, 1e-9); got != 0 {
		t.Errorf("nothing has ε = %g", got)
	}
	if got, err := (pld.Distribution{}).Delta(0); got != 0 || err != nil {
		t.Errorf("nothing has δ = %g (%v)", got, err)
	}
}

func TestNewRefuses(t *testing.T) {
	one := dp.Sensitivity{L0: 1, LInf: 1}
	for name, e := range map[string]dp.Event{
		"nil":                    nil,
		"no scale":               dp.LaplaceEvent{Sensitivity: one},
		"no sensitivity":         dp.LaplaceEvent{Scale: big.NewRat(1, 1)},
		"no variance":            dp.GaussianEvent{Sensitivity: one},
		"variance 0":             gaussian(1, 1, 0),
		"image of nothing":       dp.ImageEvent{Coordinates: 1},
		"no epsilon":             dp.PureEvent{},
		"staircase no epsilon":   dp.StaircaseEvent{Sensitivity: one, Step: 1},
		"staircase sensitivity":  dp.StaircaseEvent{Epsilon: big.NewRat(1, 1), Step: 1},
		"range 0":                dp.BoundedRangeEvent{Epsilon: new(big.Rat)},
		"no delta":               dp.ApproximateEvent{Of: laplace(1, 1, 1, 1)},
		"approximate of nothing": dp.ApproximateEvent{Delta: big.NewRat(1, 2)},
		"no kernel":              dp.RecycledEvent{Recycle: big.NewRat(1, 2)},
		"always drawn anew":      recycled(laplace(1, 1, 1, 1), 1, 1, 1),
		"huge boundary":          recycled(laplace(1, 1, 1, 1), math.MaxInt64, 1, 2),
		"recycled no variance":   recycled(dp.GaussianEvent{Sensitivity: one}, 1, 1, 2),
		"recycled no scale":      recycled(dp.LaplaceEvent{Sensitivity: one}, 1, 1, 2),
		"recycled sensitivity":   recycled(laplace(0, 1, 1, 1), 1, 1, 2),
		"refinement backwards":   dp.RefinementEvent{Sensitivity: one, Before: big.NewRat(2, 1), After: big.NewRat(1, 1)},
		"reduction without":      dp.ReductionEvent{Sensitivity: one},
		"reduction of nothing":   dp.ReductionEvent{Sensitivity: one, Before: new(big.Rat), After: new(big.Rat), Cap: big.NewRat(1, 1)},
		"too many coordinates":   laplace(math.MaxInt64, 1, 1, 1),
		"inside a list":          dp.ComposedEvent{dp.PureEvent{}},
	} {
		if _, err := pld.New([]dp.Event{e}); !errors.Is(err, pld.ErrEvent) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, delta := range []float64{0, 1, -1, math.NaN()} {
		if _, err := pld.Report(nil, delta); !errors.Is(err, pld.ErrParameter) {
			t.Errorf("δ = %g: %v", delta, err)
		}
	}
	if _, err := (pld.Distribution{}).Delta(math.NaN()); !errors.Is(err, pld.ErrParameter) {
		t.Errorf("ε that is no number: %v", err)
	}
}

// TestFromPair builds the same losses from laws that are given as functions.
func TestFromPair(t *testing.T) {
	lap, gau := stattest.Laplace(1.5), stattest.Gaussian(4)
	tail := 2 * math.Exp(-61/1.5)
	a, err := pld.FromPair(lap, 60, tail, 3, 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	b, err := pld.FromPair(gau, 30, 1e-40, 2, 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	both, err := pld.Compose(a, b)
	if err != nil {
		t.Fatal(err)
	}
	outcomes := product(shifted(lap, 60, 3), shifted(gau, 30, 2))
	below, above := shortfall(t, both, func(e float64) float64 { return hockeyStick(outcomes, e) }, grid...)
	if below > enumerated || above > 1e-4 {
		t.Errorf("δ is off by parts of %g and %g", below, above)
	}
	withSmooth, err := pld.Compose(a, distribution(t, gaussian(1, 512, 1<<18)))
	if err != nil {
		t.Fatal(err)
	}
	got, _ := withSmooth.Epsilon(1e-6)
	if want := report(t, 1e-6, laplace(1, 3, 3, 2), gaussian(1, 512, 1<<18)); math.Abs(got-want) > 1e-3*want {
		t.Errorf("ε = %g with a smooth part, want %g", got, want)
	}
}

func TestFromPairRefuses(t *testing.T) {
	lap := stattest.Laplace(1.5)
	rising := func(n int64) float64 { return 0.1 + 0.01*float64(n) }
	for name, f := range map[string]func() (pld.Distribution, error){
		"reach":       func() (pld.Distribution, error) { return pld.FromPair(lap, -1, 0, 1, 0.1) },
		"shift":       func() (pld.Distribution, error) { return pld.FromPair(lap, 60, 0, 0, 0.1) },
		"tail":        func() (pld.Distribution, error) { return pld.FromPair(lap, 60, math.NaN(), 1, 0.1) },
		"step":        func() (pld.Distribution, error) { return pld.FromPair(lap, 60, 0, 1, 0) },
		"tiny step":   func() (pld.Distribution, error) { return pld.FromPair(lap, 60, 0, 1, 1e-300) },
		"short of 1":  func() (pld.Distribution, error) { return pld.FromPair(lap, 5, 0, 1, 0.1) },
		"rising":      func() (pld.Distribution, error) { return pld.FromPair(rising, 3, 0, 1, 0.1) },
		"repetitions": func() (pld.Distribution, error) { return pld.Distribution{}.Repeat(-1) },
		"two grids": func() (pld.Distribution, error) {
			a, _ := pld.FromPair(lap, 60, 0, 1, 0.1)
			b, _ := pld.FromPair(lap, 60, 0, 1, 0.2)
			return pld.Compose(a, b)
		},
	} {
		if _, err := f(); !errors.Is(err, pld.ErrParameter) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzReport looks for events that make a report fail in any but the stated ways,
// or be negative, and for lists that lose less than a part of theirs.
func FuzzReport(f *testing.F) {
	f.Add(int64(1), int64(1), int64(3), int64(2), int64(2), int64(1), int64(3), 1e-6)
	f.Add(int64(1000), int64(1e18), int64(1), int64(1e9), int64(0), int64(99), int64(100), 1e-300)
	f.Add(int64(1), int64(1e15), int64(1e18), int64(7), int64(1e15), int64(1), int64(2), 0.5)
	f.Fuzz(func(t *testing.T, l0, linf, num, den, boundary, recNum, recDen int64, delta float64) {
		if den == 0 || recDen == 0 {
			return
		}
		kernels := []dp.Event{laplace(l0, linf, num, den), gaussian(l0, linf, num)}
		var events []dp.Event
		for _, k := range kernels {
			events = append(events, k, recycled(k, boundary, recNum, recDen))
		}
		events = append(events, dp.PureEvent{Epsilon: big.NewRat(num, den)}, dp.BoundedRangeEvent{Epsilon: big.NewRat(num, den)})
		for _, e := range events {
			one, err := pld.Report([]dp.Event{e}, delta)
			if err != nil {
				if !errors.Is(err, pld.ErrEvent) && !errors.Is(err, pld.ErrParameter) {
					t.Fatal(err)
				}
				continue
			}
			two, err := pld.Report([]dp.Event{e, e}, delta)
			if err != nil && !errors.Is(err, pld.ErrEvent) {
				t.Fatal(err)
			}
			if err == nil && (!(one >= 0) || two < one*(1-1e-2)) {
				t.Errorf("%v: ε = %g once, %g twice", e, one, two)
			}
		}
	})
}
