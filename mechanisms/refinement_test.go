package mechanisms_test

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"dpproxy/dp"
	"dpproxy/mechanisms"
)

// TestOnlyOpenCoordinatesAreRefined refines partitions of which a unit touches one,
// so that the price is that of the most precise. The boundary is one that no run
// of the test leaves.
func TestOnlyOpenCoordinatesAreRefined(t *testing.T) {
	for name, schedule := range map[string]func(*mechanisms.Brownian) (mechanisms.Schedule, error){"geometric": fine, "jump": leap} {
		b, src := chain(t, one, exactly(100_000, 600, 3), dp.PicoPerUnit/10), seeded(t)
		s, err := schedule(b)
		if err != nil {
			t.Fatal(err)
		}
		within, err := s.Boundary(1e-9)
		if err != nil {
			t.Fatal(err)
		}
		rule, _ := mechanisms.NewRelativeError(relative, within)
		answers := refine(t, b, s, rule, src)
		if !answers[0].Met || !answers[1].Met || answers[2].Met {
			t.Errorf("%s: met %v, %v, %v; want all but the last", name, answers[0].Met, answers[1].Met, answers[2].Met)
		}
		if answers[0].Sigma < 4*answers[1].Sigma || answers[1].Sigma < 2*answers[2].Sigma {
			t.Errorf("%s: sigmas %v, %v, %v for 100000, 600 and 3", name, answers[0].Sigma, answers[1].Sigma, answers[2].Sigma)
		}
		if paid := b.Paid(); paid > dp.PicoPerUnit/10 || paid < dp.PicoPerUnit/11 {
			t.Errorf("%s: paid %d of a cap of 0.1 for what cannot be met", name, paid)
		}
		for i, f := range []float64{100_000, 600, 3} {
			if math.Abs(value(answers[i].Estimate)-f) > answers[i].HalfWidth {
				t.Errorf("%s: %v ± %v for %v", name, value(answers[i].Estimate), answers[i].HalfWidth, f)
			}
		}
	}
}

// TestGeometricUsesRoomOfOthers has units that touch eight of eight partitions. One
// of them is small: it may be known more precisely than an eighth of the cap.
func TestGeometricUsesRoomOfOthers(t *testing.T) {
	const capPico = 8 * dp.PicoPerUnit / 1000
	s := dp.Sensitivity{L0: 8, LInf: 1}
	const large = 1_000_000
	b, src := chain(t, s, exactly(large, large, large, large, large, large, large, 500), capPico), seeded(t)
	schedule, err := mechanisms.NewGeometric(b, 8_000_000, 2)
	if err != nil {
		t.Fatal(err)
	}
	within, _ := schedule.Boundary(beta)
	rule, _ := mechanisms.NewRelativeError(relative, within)
	answers := refine(t, b, schedule, rule, src)
	alone := math.Sqrt(1000.0 / 2) // an eighth of the cap
	if !answers[7].Met || answers[7].Sigma > alone*0.9 {
		t.Errorf("the small partition: met %v with sigma %v; an eighth of the cap gives %v", answers[7].Met, answers[7].Sigma, alone)
	}
	if b.Paid() > capPico {
		t.Errorf("paid %d of %d", b.Paid(), int64(capPico))
	}
}

// TestRefinementChecksItsBoundary refuses pairs that would not be honest.
func TestRefinementChecksItsBoundary(t *testing.T) {
	fresh := func() *mechanisms.Brownian { return chain(t, one, exactly(5), dp.PicoPerUnit) }
	geometricly := schedule(t, fresh(), fine)
	jumping := schedule(t, fresh(), leap)
	k := geometricly.(mechanisms.Geometric).Looks()
	for _, tt := range []struct {
		name     string
		schedule mechanisms.Schedule
		within   mechanisms.Boundary
		ok       bool
	}{
		{"all looks", geometricly, looks(t, k), true},
		{"more looks", geometricly, looks(t, k+5), true},
		{"fewer looks", geometricly, looks(t, k-1), false},
		{"any time", geometricly, anytime(t, 10), true},
		{"looks of a jump", jumping, looks(t, 100), false},
		{"a jump at any time", jumping, anytime(t, 10), true},
		{"an empty boundary", jumping, mechanisms.Anytime{}, false},
	} {
		if _, err := mechanisms.NewRefinement(fresh(), tt.schedule, absolute(t, tt.within)); tt.ok != (err == nil) || !tt.ok && !errors.Is(err, mechanisms.ErrParameter) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestFixedLooksStayFixed lets nothing but the looks of its refinement into a chain
// whose looks were fixed in advance.
func TestFixedLooksStayFixed(t *testing.T) {
	b := chain(t, one, exactly(5), dp.PicoPerUnit)
	s := schedule(t, b, fine)
	within := looks(t, s.(mechanisms.Geometric).Looks())
	early, err := b.Plan([]mechanisms.Draw{draw(0, 100)})
	if err != nil {
		t.Fatal(err)
	}
	r, err := mechanisms.NewRefinement(b, s, absolute(t, within))
	if err != nil {
		t.Fatal(err)
	}
	late, err := b.Plan([]mechanisms.Draw{draw(0, 100)})
	if err != nil {
		t.Fatal(err)
	}
	for name, step := range map[string]*mechanisms.Step{"planned before": early, "planned after": late} {
		if _, err := step.Measure(seeded(t)); !errors.Is(err, mechanisms.ErrRefined) {
			t.Errorf("a step that was %s the refinement: %v", name, err)
		}
	}
	if err := b.Remember(0, mechanisms.Measurement{Variance: big.NewInt(4), Value: big.NewInt(90)}); !errors.Is(err, mechanisms.ErrRefined) {
		t.Errorf("remembered during a refinement: %v", err)
	}
	if _, err := mechanisms.NewRefinement(b, s, absolute(t, within)); !errors.Is(err, mechanisms.ErrParameter) {
		t.Errorf("a second refinement at the same looks: %v", err)
	}
	step, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	m, err := step.Measure(seeded(t))
	if err != nil || r.Looks() != 1 {
		t.Errorf("the first look: %v, %d looks", err, r.Looks())
	}
	if m[0].Within != nil {
		t.Errorf("a look that was fixed may be taken up again: %+v", m[0])
	}
}

// schedule makes a schedule for a chain.
func schedule(t testing.TB, b *mechanisms.Brownian, of func(*mechanisms.Brownian) (mechanisms.Schedule, error)) mechanisms.Schedule {
	t.Helper()
	s, err := of(b)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// absolute is the rule of an error of 10.
func absolute(t testing.TB, within mechanisms.Boundary) mechanisms.Rule {
	t.Helper()
	r, err := mechanisms.NewAbsoluteError(10, within)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestAbsoluteErrorStopsWhereItShould needs no more than its sigma says.
func TestAbsoluteErrorStopsWhereItShould(t *testing.T) {
	b, src := chain(t, one, exactly(7, -1_000_000), dp.PicoPerUnit), seeded(t)
	s, err := leap(b)
	if err != nil {
		t.Fatal(err)
	}
	within, _ := s.Boundary(beta)
	rule, _ := mechanisms.NewAbsoluteError(40, within)
	for _, a := range refine(t, b, s, rule, src) {
		if !a.Met || a.HalfWidth > 40 || a.HalfWidth < 35 {
			t.Errorf("an error of 40 was asked for: %+v", a)
		}
	}
}

// TestRaiseFillsTheLevel raises coordinates together, and spends what there is.
func TestRaiseFillsTheLevel(t *testing.T) {
	s, src := dp.Sensitivity{L0: 2, LInf: 1}, seeded(t)
	b := chain(t, s, exactly(0, 0, 0, 0), unlimited)
	raise := func(level int64, targets ...mechanisms.Target) {
		t.Helper()
		step, err := b.Raise(targets, level)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := step.Measure(src); err != nil {
			t.Fatal(err)
		}
		if paid := b.Paid(); paid > level {
			t.Fatalf("paid %d of %d", paid, level)
		}
	}
	sigma := func(i int) float64 { return b.Estimates()[i].Sigma }
	// ρ = 0.001 over the two largest of four: 2·(1/v)/2 = 0.001.
	raise(dp.PicoPerUnit/1000, mechanisms.Target{Coordinate: 0}, mechanisms.Target{Coordinate: 1}, mechanisms.Target{Coordinate: 2}, mechanisms.Target{Coordinate: 3})
	for i := range 4 {
		if got := sigma(i); math.Abs(got-math.Sqrt(1000)) > 1e-9 {
			t.Errorf("coordinate %d at ρ = 0.001: sigma %v", i, got)
		}
	}
	// One alone gets all that ρ = 0.01 has beside the other's 0.0005.
	raise(dp.PicoPerUnit/100, mechanisms.Target{Coordinate: 2})
	if got, want := sigma(2), math.Sqrt(1/0.019); math.Abs(got/want-1) > 0.01 {
		t.Errorf("one alone at ρ = 0.01: sigma %v, want %v", got, want)
	}
	// Others are raised to the second largest for nothing, or as far as they need.
	raise(dp.PicoPerUnit/50, mechanisms.Target{Coordinate: 0, Variance: 500})
	before := b.Paid()
	raise(before, mechanisms.Target{Coordinate: 1, Variance: 1e-6}, mechanisms.Target{Coordinate: 3, Variance: 800})
	if b.Paid() != before {
		t.Errorf("paid %d more", b.Paid()-before)
	}
	for i, want := range []float64{500, 500, 1 / 0.019, 800} {
		if got := sigma(i); math.Abs(got*got/want-1) > 0.01 {
			t.Errorf("coordinate %d has variance %v, want %v", i, got*got, want)
		}
	}
	if _, err := b.Raise([]mechanisms.Target{{Coordinate: 1}}, before); !errors.Is(err, mechanisms.ErrCap) {
		t.Errorf("nothing is left for it, but: %v", err)
	}
}
