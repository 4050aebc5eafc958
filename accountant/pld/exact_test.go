package pld_test

import (
	"math"
	"math/big"
	"testing"

	"dpproxy/accountant/pld"
	"dpproxy/dp"
	"dpproxy/internal/stattest"
)

// A pair is one outcome's probability under P and under Q.
type pair struct{ p, q float64 }

// shifted returns the outcomes of noise with a symmetric law, without shift and with.
func shifted(law func(int64) float64, reach, shift int64) []pair {
	var all []pair
	for y := -reach; y <= reach; y++ {
		all = append(all, pair{law(y), law(y - shift)})
	}
	return all
}

// product returns the outcomes of independent releases.
func product(factors ...[]pair) []pair {
	all := []pair{{1, 1}}
	for _, f := range factors {
		var next []pair
		for _, a := range all {
			for _, b := range f {
				next = append(next, pair{a.p * b.p, a.q * b.q})
			}
		}
		all = next
	}
	return all
}

// hockeyStick returns Σ max(0, p − exp(ε)·q).
func hockeyStick(all []pair, epsilon float64) float64 {
	sum := 0.0
	for _, o := range all {
		sum += math.Max(0, o.p-math.Exp(epsilon)*o.q)
	}
	return sum
}

func swapped(all []pair) []pair {
	var other []pair
	for _, o := range all {
		other = append(other, pair{o.q, o.p})
	}
	return other
}

// shortfall returns by how much, relatively, the exact δ(ε) exceeds that of d where
// it does so the most, and by how much d exceeds the exact δ; both at a range of ε.
func shortfall(t *testing.T, d pld.Distribution, exact func(epsilon float64) float64, epsilons ...float64) (below, above float64) {
	t.Helper()
	below, above = math.Inf(-1), math.Inf(-1)
	for _, e := range epsilons {
		got, err := d.Delta(e)
		if err != nil {
			t.Fatal(err)
		}
		want := exact(e)
		below = math.Max(below, (want-got)/want)
		above = math.Max(above, (got-want)/want)
	}
	return below, above
}

// enumerated is the relative error of the sums that tests make.
const enumerated = 1e-11

func recycledLaw(kernel func(int64) float64, boundary int64, recycle float64) func(int64) float64 {
	inside := 0.0
	for n := -boundary; n <= boundary; n++ {
		inside += kernel(n)
	}
	norm := 1 - recycle*(1-inside)
	return func(n int64) float64 {
		if max(n, -n) > boundary {
			return kernel(n) * (1 - recycle) / norm
		}
		return kernel(n) / norm
	}
}

func laplace(l0, linf, num, den int64) dp.LaplaceEvent {
	return dp.LaplaceEvent{Sensitivity: dp.Sensitivity{L0: l0, LInf: linf}, Scale: big.NewRat(num, den)}
}

func gaussian(l0, linf, variance int64) dp.GaussianEvent {
	return dp.GaussianEvent{Sensitivity: dp.Sensitivity{L0: l0, LInf: linf}, Variance: big.NewInt(variance)}
}

func recycled(kernel dp.Event, boundary, num, den int64) dp.RecycledEvent {
	return dp.RecycledEvent{Kernel: kernel, Boundary: boundary, Recycle: big.NewRat(num, den)}
}

func distribution(t *testing.T, events ...dp.Event) pld.Distribution {
	t.Helper()
	d, err := pld.New(events)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// cases are lists of events and the exact laws of their outcomes.
func cases() map[string]struct {
	events   []dp.Event
	outcomes []pair
	slack    float64 // how far above the exact δ the report may be
} {
	lap, gau := stattest.Laplace(1.5), stattest.Gaussian(4)
	wide := stattest.Gaussian(100)
	return map[string]struct {
		events   []dp.Event
		outcomes []pair
		slack    float64
	}{
		"laplace":          {[]dp.Event{laplace(1, 3, 3, 2)}, shifted(lap, 60, 3), 1e-3},
		"laplace l0=3":     {[]dp.Event{laplace(3, 1, 3, 2)}, product(shifted(lap, 30, 1), shifted(lap, 30, 1), shifted(lap, 30, 1)), 1e-3},
		"gaussian":         {[]dp.Event{gaussian(1, 1, 4)}, shifted(gau, 30, 1), 1e-3},
		"gaussian linf=10": {[]dp.Event{gaussian(1, 10, 100)}, shifted(wide, 120, 10), 1e-3},
		"gaussian l0=2":    {[]dp.Event{gaussian(2, 2, 4)}, product(shifted(gau, 30, 2), shifted(gau, 30, 2)), 1e-3},
		"mixed": {
			[]dp.Event{dp.ComposedEvent{laplace(1, 1, 3, 2), gaussian(1, 2, 4)}, dp.PureEvent{Epsilon: big.NewRat(1, 2)}},
			product(shifted(lap, 40, 1), shifted(gau, 30, 2), response(0.5)), 1e-3,
		},
		"recycled laplace":  {[]dp.Event{recycled(laplace(1, 4, 3, 2), 2, 1, 3)}, shifted(recycledLaw(lap, 2, 1.0/3), 60, 4), 1e-3},
		"recycled at zero":  {[]dp.Event{recycled(laplace(1, 1, 3, 2), 0, 9, 10)}, shifted(recycledLaw(lap, 0, 0.9), 60, 1), 1e-3},
		"recycled gaussian": {[]dp.Event{recycled(gaussian(1, 5, 100), 20, 1, 2)}, shifted(recycledLaw(wide, 20, 0.5), 120, 5), 1e-3},
		"recycled twice": {
			[]dp.Event{recycled(gaussian(2, 1, 4), 3, 3, 5)},
			product(shifted(recycledLaw(gau, 3, 0.6), 30, 1), shifted(recycledLaw(gau, 3, 0.6), 30, 1)), 1e-3,
		},
	}
}

// response returns the outcomes of randomised response.
func response(epsilon float64) []pair {
	p := 1 / (1 + math.Exp(-epsilon))
	return []pair{{p, 1 - p}, {1 - p, p}}
}

var grid = []float64{0, 0.01, 0.1, 0.3, 0.5, 0.77, 1, 1.2}

// TestCoversExactEnumerations holds the report to sums over all outcomes, in both
// orders of the two neighbours.
func TestCoversExactEnumerations(t *testing.T) {
	for name, tt := range cases() {
		d := distribution(t, tt.events...)
		for order, outcomes := range map[string][]pair{"removed": tt.outcomes, "added": swapped(tt.outcomes)} {
			below, above := shortfall(t, d, func(e float64) float64 { return hockeyStick(outcomes, e) }, grid...)
			if below > enumerated {
				t.Errorf("%s, a unit is %s: the exact δ is larger by a part of %g", name, order, below)
			}
			if above > tt.slack {
				t.Errorf("%s, a unit is %s: the report is larger by a part of %g", name, order, above)
			}
		}
	}
}

// TestSeesWhatIsNotCovered shows that the comparison above fails for events that
// claim 5 % more noise than there is, and for a sensitivity that is too small.
func TestSeesWhatIsNotCovered(t *testing.T) {
	tests := map[string]struct {
		claimed  dp.Event
		outcomes []pair
	}{
		"laplace scale":     {laplace(1, 3, 3*105, 200), shifted(stattest.Laplace(1.5), 60, 3)},
		"gaussian variance": {gaussian(1, 10, 110), shifted(stattest.Gaussian(100), 120, 10)},
		"sensitivity":       {laplace(1, 2, 3, 2), shifted(stattest.Laplace(1.5), 60, 3)},
		"coordinates":       {laplace(1, 1, 3, 2), product(shifted(stattest.Laplace(1.5), 30, 1), shifted(stattest.Laplace(1.5), 30, 1))},
		"recycling":         {laplace(1, 1, 3, 2), shifted(recycledLaw(stattest.Laplace(1.5), 0, 0.3), 60, 1)},
	}
	for name, tt := range tests {
		d := distribution(t, tt.claimed)
		below, _ := shortfall(t, d, func(e float64) float64 { return hockeyStick(tt.outcomes, e) }, grid[:5]...)
		t.Logf("%s: the exact δ is larger by a part of %.3g", name, below)
		if below < 0.01 {
			t.Errorf("%s: a false claim is covered", name)
		}
	}
}

// TestCoversSmallerAndOtherChanges has neighbours that differ by less than the
// sensitivity, and by the other sign.
func TestCoversSmallerAndOtherChanges(t *testing.T) {
	laws := map[string]struct {
		law   func(int64) float64
		event dp.Event
	}{
		"laplace":  {stattest.Laplace(1.5), laplace(1, 4, 3, 2)},
		"gaussian": {stattest.Gaussian(4), gaussian(1, 4, 4)},
		"recycled": {recycledLaw(stattest.Gaussian(4), 2, 0.5), recycled(gaussian(1, 4, 4), 2, 1, 2)},
	}
	for name, tt := range laws {
		d := distribution(t, tt.event)
		for shift := int64(-4); shift <= 4; shift++ {
			outcomes := shifted(tt.law, 60, shift)
			for _, e := range grid {
				got, err := d.Delta(e)
				if want := hockeyStick(outcomes, e); err != nil || got < want*(1-enumerated) {
					t.Errorf("%s, change %d: δ(%g) = %g, below the exact %g (%v)", name, shift, e, got, want, err)
				}
			}
		}
	}
}

// TestBoundedRange compares the pair of bounded range with all pairs of two losses
// (t, t−ε), alone and two of them, and with its own formula.
func TestBoundedRange(t *testing.T) {
	const epsilon = 0.8
	two := func(t float64) []pair {
		p := (math.Exp(epsilon) - math.Exp(t)) / math.Expm1(epsilon)
		return []pair{{p, p * math.Exp(-t)}, {1 - p, (1 - p) * math.Exp(epsilon-t)}}
	}
	event := dp.BoundedRangeEvent{Epsilon: big.NewRat(4, 5)}
	once, twice := distribution(t, event), distribution(t, event, event)
	below, above := shortfall(t, once, func(x float64) float64 {
		d := math.Exp(epsilon/2) - math.Exp(x/2)
		return d * d / math.Expm1(epsilon)
	}, 0, 0.1, 0.4, 0.6)
	if below > enumerated || above > 1e-4 {
		t.Errorf("δ is off by parts of %g and %g", below, above)
	}
	largest := 0.0
	for _, x := range []float64{0, 0.1, 0.3, 0.7} {
		got1, _ := once.Delta(x)
		got2, _ := twice.Delta(x)
		for a := 0.0; a <= epsilon; a += epsilon / 40 {
			for b := a; b <= epsilon; b += epsilon / 40 {
				if want := hockeyStick(two(a), x); want > got1*(1+enumerated) {
					t.Errorf("t = %g: δ(%g) = %g, reported %g", a, x, want, got1)
				}
				want := hockeyStick(product(two(a), two(b)), x)
				largest = math.Max(largest, want/got2)
			}
		}
	}
	if largest > 1 || largest < 0.75 {
		t.Errorf("two answers reach %g of the reported δ", largest)
	}
	generic, _ := distribution(t, dp.PureEvent{Epsilon: big.NewRat(4, 5)}).Delta(0)
	if got, _ := once.Delta(0); got > generic/1.9 {
		t.Errorf("a bounded range has δ(0) = %g, hardly below the %g of a pure ε", got, generic)
	}
}
