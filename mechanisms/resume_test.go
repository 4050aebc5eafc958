package mechanisms_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"dpproxy/dp"
	"dpproxy/internal/stattest"
	"dpproxy/mechanisms"
)

// TestChainHoldsItsValues changes what the chain was made from: it still measures
// the values of its beginning, to which variance 1 comes close.
func TestChainHoldsItsValues(t *testing.T) {
	exact := exactly(secret, 7)
	b := chain(t, one, exact, unlimited)
	copy(exact, exactly(0, 0))
	src := seeded(t)
	for range 2 {
		m, _ := measure(t, b, src, draw(0, 1))
		if d := m[0].Value.Int64() - secret; d < -20 || d > 20 {
			t.Errorf("measured %v of %d", m[0].Value, int64(secret))
		}
	}
}

// TestChainHidesItsValues prints, logs and encodes a chain of which nothing was
// measured, and what holds it.
func TestChainHidesItsValues(t *testing.T) {
	b := chain(t, one, exactly(secret, secret), unlimited)
	r, err := mechanisms.NewRefinement(b, schedule(t, b, leap), absolute(t, anytime(t, 10)))
	if err != nil {
		t.Fatal(err)
	}
	step, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range verbs {
		for _, v := range []any{b, []*mechanisms.Brownian{b}, step, *step, r, *r, struct{ b *mechanisms.Brownian }{b}} {
			if text := fmt.Sprintf("%+"+string(verb), v); leaks(text) {
				t.Errorf("%%%c of %T: %q", verb, v, text)
			}
		}
	}
	var text bytes.Buffer
	for _, h := range []slog.Handler{slog.NewTextHandler(&text, nil), slog.NewJSONHandler(&text, nil)} {
		slog.New(h).Info("chain", "chain", b, "step", step, "refinement", r)
	}
	if leaks(text.String()) {
		t.Errorf("logged %q", text.String())
	}
	if encoded, err := json.Marshal(b); !errors.Is(err, mechanisms.ErrPrivate) {
		t.Errorf("encoded as %s, %v", encoded, err)
	}
	for _, v := range []any{step, r} {
		if encoded, err := json.Marshal(v); err != nil || string(encoded) != "{}" {
			t.Errorf("encoded %T as %s, %v", v, encoded, err)
		}
	}
}

// session measures a first look within a boundary, or by hand within none.
func session(t testing.TB, within mechanisms.Boundary) []mechanisms.Measurement {
	t.Helper()
	b := chain(t, one, exactly(5), dp.PicoPerUnit/1000)
	if within == nil {
		m, _ := measure(t, b, seeded(t), draw(0, 10_000))
		return m
	}
	r, err := mechanisms.NewRefinement(b, schedule(t, b, fine), absolute(t, within))
	if err != nil {
		t.Fatal(err)
	}
	step, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	m, err := step.Measure(seeded(t))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// stored returns what is left of measurements after they were stored.
func stored(t testing.TB, m []mechanisms.Measurement) []mechanisms.Measurement {
	t.Helper()
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var loaded []mechanisms.Measurement
	if err := json.Unmarshal(text, &loaded); err != nil {
		t.Fatal(err)
	}
	return loaded
}

// TestBoundaryIsChosenOnce takes measurements up again within the boundary that
// they were made in, and refuses every other one.
func TestBoundaryIsChosenOnce(t *testing.T) {
	first := anytime(t, 30)
	other := anytime(t, 15)
	surer, err := mechanisms.NewAnytime(beta/5, 30)
	if err != nil {
		t.Fatal(err)
	}
	const many = 1000
	for _, tt := range []struct {
		name   string
		kept   []mechanisms.Measurement
		within mechanisms.Boundary
		ok     bool
	}{
		{"the first boundary", session(t, first), first, true},
		{"one of another precision", session(t, first), other, false},
		{"one of another confidence", session(t, first), surer, false},
		{"one of fixed looks", session(t, first), looks(t, many), false},
		{"one of an unknown kind", session(t, first), sigmas(3), false},
		{"after fixed looks", session(t, looks(t, many)), first, false},
		{"after no boundary", session(t, nil), first, false},
		{"after two boundaries", append(session(t, first), session(t, other)...), first, false},
		{"after two boundaries, the last", append(session(t, first), session(t, other)...), other, false},
		{"after one and none", append(session(t, first), session(t, nil)...), first, false},
	} {
		b := chain(t, one, exactly(5), dp.PicoPerUnit)
		for _, m := range stored(t, tt.kept) {
			if err := b.Remember(0, m); err != nil {
				t.Fatal(err)
			}
		}
		for name, of := range map[string]func(*mechanisms.Brownian) (mechanisms.Schedule, error){"geometric": fine, "jump": leap} {
			s := schedule(t, b, of)
			derived, err := s.Boundary(beta)
			if unique := tt.name != "after fixed looks" && len(tt.kept) == 1 && tt.kept[0].Within != nil; unique != (err == nil) || unique && derived != first {
				t.Errorf("%s, %s: the schedule derives %+v, %v", tt.name, name, derived, err)
			}
			if _, err := s.Boundary(beta / 5); !errors.Is(err, mechanisms.ErrParameter) {
				t.Errorf("%s, %s: the schedule derives another confidence, %v", tt.name, name, err)
			}
			if _, err := mechanisms.NewRefinement(b, s, absolute(t, tt.within)); tt.ok != (err == nil) || !tt.ok && !errors.Is(err, mechanisms.ErrParameter) {
				t.Errorf("%s, %s: %v", tt.name, name, err)
			}
		}
	}
}

// TestBoundaryOfAChain refines one chain again, within its boundary only.
func TestBoundaryOfAChain(t *testing.T) {
	b := chain(t, one, exactly(5), dp.PicoPerUnit)
	s := schedule(t, b, leap)
	r, err := mechanisms.NewRefinement(b, s, absolute(t, anytime(t, 30)))
	if err != nil {
		t.Fatal(err)
	}
	refuse := func(when string) {
		t.Helper()
		if _, err := mechanisms.NewRefinement(b, s, absolute(t, anytime(t, 15))); !errors.Is(err, mechanisms.ErrParameter) {
			t.Errorf("another boundary %s: %v", when, err)
		}
	}
	refuse("before the first look")
	step, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := step.Measure(seeded(t)); err != nil {
		t.Fatal(err)
	}
	refuse("after the first look")
	m, _ := measure(t, b, seeded(t), draw(0, 100)) // at any time
	refuse("after a look by hand")
	if m[0].Within == nil || *m[0].Within != anytime(t, 30) {
		t.Errorf("measured within %+v", m[0].Within)
	}
	if err := b.Remember(0, m[0]); !errors.Is(err, mechanisms.ErrRefined) {
		t.Errorf("remembered during a refinement: %v", err)
	}
	again, err := mechanisms.NewRefinement(b, s, absolute(t, anytime(t, 30)))
	if err != nil {
		t.Fatal(err)
	}
	if a := again.Answers()[0]; a.Met || math.IsInf(a.HalfWidth, 1) {
		t.Errorf("a chain that knows something begins with %+v", a)
	}
}

// TestAnytimeIsStored refuses to read what could not have been written.
func TestAnytimeIsStored(t *testing.T) {
	text, err := json.Marshal(anytime(t, 0.1))
	if err != nil || string(text) != `{"beta":0.05,"sigma":0.1}` {
		t.Errorf("%s, %v", text, err)
	}
	var read mechanisms.Anytime
	if err := json.Unmarshal(text, &read); err != nil || read != anytime(t, 0.1) {
		t.Errorf("read %+v, %v", read, err)
	}
	for _, bad := range []string{`{}`, `{"beta":0.05}`, `{"beta":1,"sigma":1}`, `{"beta":0.1,"sigma":-1}`} {
		if err := json.Unmarshal([]byte(bad), &read); !errors.Is(err, mechanisms.ErrParameter) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if err := json.Unmarshal([]byte(`{"beta":"x"}`), &read); err == nil {
		t.Error("read a boundary of a word")
	}
}

// The sessions in which a count is taken up again and again, each time to four times
// the precision.
const (
	resumptions = 16
	growth      = 4
	firstCap    = 100 // ρ = 10⁻¹⁰
)

// TestResumedIntervalsCover remembers in each session all that was measured before.
// The boundary that the session would have had without a past is refused; within
// that of the first session, no more estimates than it allows ever leave it.
func TestResumedIntervalsCover(t *testing.T) {
	t.Parallel()
	const runs = 250
	src, exact := seeded(t), exactly(make([]int64, runs)...)
	remembered := make([][]mechanisms.Measurement, runs)
	var left [runs]bool
	var first mechanisms.Boundary
	for k, capPico := 0, int64(firstCap); k <= resumptions; k, capPico = k+1, capPico*growth {
		b := chain(t, one, exact, capPico)
		tuned := boundaryOf(t, b, capPico)
		for i, known := range remembered {
			for _, m := range known {
				if err := b.Remember(i, m); err != nil {
					t.Fatal(err)
				}
			}
		}
		within := boundaryOf(t, b, capPico)
		if k == 0 {
			first = within
		}
		if within != first || (k > 0) != (tuned != first) {
			t.Fatalf("session %d has the boundary %+v, and %+v without a past; the first had %+v", k+1, within, tuned, first)
		}
		levels, err := mechanisms.NewGeometric(b, max(capPico/16, 1), 2)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := mechanisms.NewRefinement(b, levels, unreachable(t, tuned)); (k > 0) != errors.Is(err, mechanisms.ErrParameter) {
			t.Fatalf("session %d within a new boundary: %v", k+1, err)
		}
		r, err := mechanisms.NewRefinement(b, levels, unreachable(t, within))
		if err != nil {
			t.Fatal(err)
		}
		for {
			step, err := r.Next()
			if errors.Is(err, mechanisms.ErrDone) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			m, err := step.Measure(src)
			if err != nil {
				t.Fatal(err)
			}
			for j, i := range step.Coordinates() {
				remembered[i] = append(remembered[i], m[j])
			}
			for i, a := range r.Answers() {
				left[i] = left[i] || math.Abs(value(a.Estimate)) > a.HalfWidth
			}
		}
	}
	if looks := len(remembered[0]); looks < 4*resumptions {
		t.Errorf("%d looks only", looks)
	}
	slack := stattest.MaxZ * math.Sqrt(beta*(1-beta)/runs)
	if share(left[:]) > beta+slack {
		t.Errorf("left with probability %v", share(left[:]))
	}
	t.Logf("left: %.4f of %d, after %d looks", share(left[:]), runs, len(remembered[0]))
}

// boundaryOf returns the boundary of a jump, after a pilot at a sixteenth of the cap.
func boundaryOf(t testing.TB, b *mechanisms.Brownian, capPico int64) mechanisms.Boundary {
	t.Helper()
	jump, err := mechanisms.NewJump(b, max(capPico/16, 1))
	if err != nil {
		t.Fatal(err)
	}
	within, err := jump.Boundary(beta)
	if err != nil {
		t.Fatal(err)
	}
	return within
}

// unreachable is a rule that no estimate meets.
func unreachable(t testing.TB, within mechanisms.Boundary) mechanisms.Rule {
	t.Helper()
	rule, err := mechanisms.NewAbsoluteError(1e-6, within)
	if err != nil {
		t.Fatal(err)
	}
	return rule
}

// TestTuningAnewDoesNotCover shows what is refused, with normal errors and looks
// closer to each other: if each session has a boundary of its own, about one estimate
// in ten leaves it, not one in twenty. That of the first session holds.
func TestTuningAnewDoesNotCover(t *testing.T) {
	t.Parallel()
	const (
		runs    = 10_000
		looks   = 16
		quantum = 2e-12 // precision per 10⁻¹² of ρ
	)
	within := make([]mechanisms.Boundary, resumptions+1)
	for k, capPico := 0, int64(firstCap); k <= resumptions; k, capPico = k+1, capPico*growth {
		within[k] = boundaryOf(t, chain(t, one, exactly(0), capPico), capPico)
	}
	r := rand.New(stattest.Source(t))
	var left, leftTuned [runs]bool
	for i := range runs {
		sum, precision, capPico := 0.0, 0.0, float64(firstCap)
		for k := range within {
			end := precision + quantum*capPico
			ratio := math.Pow(end/math.Max(precision, end/growth), 1.0/looks)
			for precision < end*(1-1e-9) {
				next := math.Min(math.Max(precision, end/growth)*ratio, end)
				sum += math.Sqrt(next-precision) * r.NormFloat64()
				precision = next
				mistake, sigma := math.Abs(sum)/precision, 1/math.Sqrt(precision)
				left[i] = left[i] || mistake > within[0].HalfWidth(1, sigma)
				leftTuned[i] = leftTuned[i] || mistake > within[k].HalfWidth(1, sigma)
			}
			capPico *= growth
		}
	}
	slack := stattest.MaxZ * math.Sqrt(beta*(1-beta)/runs)
	if share(left[:]) > beta+slack {
		t.Errorf("left with probability %v", share(left[:]))
	}
	if share(leftTuned[:]) < beta+slack {
		t.Errorf("boundaries that are tuned anew are left with probability %v only", share(leftTuned[:]))
	}
	t.Logf("left: the first boundary %.4f, tuned anew %.4f", share(left[:]), share(leftTuned[:]))
}

// share returns the part of those that hold.
func share(of []bool) float64 {
	n := 0.0
	for _, holds := range of {
		if holds {
			n++
		}
	}
	return n / float64(len(of))
}

// TestMemoryIsTheCallersToTie shows what the documentation warns of: values that
// were measured of other data drag the estimate away, and Sigma does not tell.
func TestMemoryIsTheCallersToTie(t *testing.T) {
	b := chain(t, one, exactly(1000), unlimited)
	if err := b.Remember(0, mechanisms.Measurement{Variance: big.NewInt(4), Value: big.NewInt(0)}); err != nil {
		t.Fatal(err)
	}
	measure(t, b, seeded(t), draw(0, 4))
	if e := b.Estimates()[0]; math.Abs(value(e)-500) > 20 || e.Sigma > 2 {
		t.Errorf("a mean of 0 and 1000: %v ± %v", value(e), e.Sigma)
	}
}
