package mechanisms_test

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"dpproxy/dp"
	"dpproxy/internal/stattest"
	"dpproxy/mechanisms"
)

const beta = 0.05

func looks(t testing.TB, k int) mechanisms.Looks {
	t.Helper()
	b, err := mechanisms.NewLooks(beta, k)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func anytime(t testing.TB, sigma float64) mechanisms.Anytime {
	t.Helper()
	b, err := mechanisms.NewAnytime(beta, sigma)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func estimateOf(y, sigma float64) mechanisms.Estimate {
	return mechanisms.Estimate{Value: new(big.Rat).SetFloat64(y), Sigma: sigma}
}

func TestLooksQuantile(t *testing.T) {
	for _, tt := range []struct {
		beta  float64
		looks int
		want  float64
	}{
		{0.05, 14, 2.913726318334338},
		{0.05, 1, 1.959963984540054},
		{0.01, 1, 2.575829303548901},
		{0.05, 45, 3.260511309366},
		{1e-12, 1, 7.130506},
	} {
		got, err := mechanisms.LooksQuantile(tt.beta, tt.looks)
		if err != nil || math.Abs(got/tt.want-1) > 1e-3 || tt.beta == 0.05 && tt.looks < 45 && math.Abs(got/tt.want-1) > 1e-9 {
			t.Errorf("beta %v over %d looks: %.16g, %v, want %v", tt.beta, tt.looks, got, err, tt.want)
		}
	}
}

// TestMeetsRelative is the rule at z = 2.6, σ = 12 and r = 10 %: 343.2 is the least.
func TestMeetsRelative(t *testing.T) {
	for y, want := range map[float64]bool{300: false, 343.1: false, 343.3: true, -400: true, 0: false, math.Inf(1): true} {
		if got := mechanisms.MeetsRelative(2.6*12, 0.1, y); got != want {
			t.Errorf("%v meets the target: %v, want %v", y, got, want)
		}
	}
	if mechanisms.MeetsRelative(math.NaN(), 0.1, 1) || mechanisms.MeetsRelative(1, 0.1, math.NaN()) ||
		mechanisms.MeetsRelative(math.Inf(1), 0.1, 1) {
		t.Error("what is not a number meets the target")
	}
}

// TestMetImpliesTheTarget tries every truth within the error's bound.
func TestMetImpliesTheTarget(t *testing.T) {
	rule, err := mechanisms.NewRelativeError(0.1, looks(t, 3))
	if err != nil {
		t.Fatal(err)
	}
	met := 0
	for y := -2000.0; y <= 2000; y++ {
		e := estimateOf(y, 7)
		if !rule.Met(1, e) {
			continue
		}
		met++
		c := rule.HalfWidth(1, e)
		for _, f := range []float64{y - c, y, y + c} {
			if math.Abs(y-f) > 0.1*math.Abs(f)*(1+1e-9) {
				t.Fatalf("%v meets the target, and %v is within %v of it", y, f, c)
			}
		}
	}
	if met < 1000 {
		t.Errorf("only %d estimates meet the target", met)
	}
}

// TestNeedMeets goes to the sigma that a rule asks for, and just beyond.
func TestNeedMeets(t *testing.T) {
	for _, within := range []mechanisms.Boundary{looks(t, 12), anytime(t, 30)} {
		relative, _ := mechanisms.NewRelativeError(0.1, within)
		absolute, _ := mechanisms.NewAbsoluteError(25, within)
		for _, rule := range []mechanisms.Rule{relative, absolute} {
			for _, y := range []float64{30, -1000, 1e6} {
				need := rule.Need(1, estimateOf(y, 1))
				if need <= 0 || !rule.Met(1, estimateOf(y, need*(1-1e-9))) || rule.Met(1, estimateOf(y, need*(1+1e-9))) {
					t.Errorf("%T within %T at %v needs %v", rule, within, y, need)
				}
			}
		}
		if need := relative.Need(1, estimateOf(0, 1)); need > 1e-50 {
			t.Errorf("an estimate of 0 needs %v", need)
		}
	}
}

func TestBoundaryEnds(t *testing.T) {
	l, a := looks(t, 3), anytime(t, 1)
	for name, c := range map[string]float64{
		"look 0": l.HalfWidth(0, 1), "look 4 of 3": l.HalfWidth(4, 1), "unknown": l.HalfWidth(1, math.NaN()),
		"nothing measured": l.HalfWidth(1, math.Inf(1)), "negative": l.HalfWidth(1, -1),
		"anytime unknown": a.HalfWidth(1, math.NaN()), "anytime infinite": a.HalfWidth(1, math.Inf(1)), "anytime zero": a.HalfWidth(1, 0),
	} {
		if !math.IsInf(c, 1) {
			t.Errorf("%s: %v, want no bound", name, c)
		}
	}
}

func TestRulesRefuse(t *testing.T) {
	var errs []error
	add := func(_ any, err error) { errs = append(errs, err) }
	for _, x := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		add(mechanisms.NewLooks(x, 1))
		add(mechanisms.NewAnytime(x, 1))
		add(mechanisms.NewAnytime(beta, x))
		add(mechanisms.NewRelativeError(x, looks(t, 1)))
		add(mechanisms.NewAbsoluteError(x, looks(t, 1)))
	}
	add(mechanisms.NewLooks(1, 1))
	add(mechanisms.NewLooks(1e-301, 1))
	add(mechanisms.NewLooks(beta, 0))
	add(mechanisms.NewLooks(beta, 1<<21))
	add(mechanisms.NewRelativeError(1.1, looks(t, 1)))
	add(mechanisms.NewRelativeError(0.1, nil))
	add(mechanisms.NewAbsoluteError(1, nil))
	for k, err := range errs {
		if !errors.Is(err, mechanisms.ErrParameter) {
			t.Errorf("case %d: %v", k, err)
		}
	}
}

// TestLooksCoverTheExactLaw sums the tails of exact laws beyond the bound: of one
// measurement, and of means of several. The normal quantile alone is too narrow.
func TestLooksCoverTheExactLaw(t *testing.T) {
	worst, naive := 0.0, 0.0
	for _, tt := range []struct {
		variances []float64
		weights   []int64
	}{
		{[]float64{1}, []int64{1}},
		{[]float64{2}, []int64{1}},
		{[]float64{7}, []int64{1}},
		{[]float64{50}, []int64{1}},
		{[]float64{1000}, []int64{1}},
		{[]float64{1, 1}, []int64{1, 1}},
		{[]float64{2, 1}, []int64{1, 2}},
		{[]float64{6, 3, 1}, []int64{1, 2, 6}},
		{[]float64{4, 4, 2, 1, 1}, []int64{1, 1, 2, 4, 4}},
		{[]float64{90, 30, 10}, []int64{1, 3, 9}},
	} {
		law, total, sum := meanLaw(tt.variances, tt.weights), 0.0, int64(0)
		for k, w := range tt.weights {
			total += 1 / tt.variances[k]
			sum += w
		}
		sigma := 1 / math.Sqrt(total)
		for _, k := range []int{1, 2, 5, 14, 45, 200} {
			allowed := beta / float64(k)
			z, _ := mechanisms.LooksQuantile(beta, k)
			worst = max(worst, tailBeyond(law, looks(t, k).HalfWidth(1, sigma)*float64(sum))/allowed)
			naive = max(naive, tailBeyond(law, z*sigma*float64(sum))/allowed)
		}
	}
	if worst > 1+1e-9 {
		t.Errorf("an error beyond the bound has %v times its probability", worst)
	}
	if naive < 1.5 {
		t.Errorf("the normal quantile alone would do: %v", naive)
	}
	t.Logf("worst probability: %.4f of the allowed; without the lattice's half: %.2f", worst, naive)
}

// tailBeyond returns P(|x| > c).
func tailBeyond(law map[int64]float64, c float64) float64 {
	tail := 0.0
	for x, p := range law {
		if math.Abs(float64(x)) > c {
			tail += p
		}
	}
	return tail
}

// covers is the number of chains whose intervals are counted.
const covers = 2000

// A scheduler returns the schedule of a chain.
type scheduler func(*mechanisms.Brownian) (mechanisms.Schedule, error)

// coverage refines a count until the rule stops, many times at once, and returns
// the share of the intervals that hold the truth.
func coverage(t *testing.T, src mechanisms.Source, f int64, schedule scheduler, within mechanisms.Boundary) float64 {
	t.Helper()
	values := make([]int64, covers)
	for i := range values {
		values[i] = f
	}
	b := chain(t, one, exactly(values...), 8*dp.PicoPerUnit)
	s, err := schedule(b)
	if err != nil {
		t.Fatal(err)
	}
	if within == nil {
		if within, err = s.Boundary(beta); err != nil {
			t.Fatal(err)
		}
	}
	rule, err := mechanisms.NewRelativeError(relative, within)
	if err != nil {
		t.Fatal(err)
	}
	covered := 0
	for _, a := range refine(t, b, s, rule, src) {
		if !a.Met && f > 20 { // a look adds no more precision than variance 1 has
			t.Fatalf("%d is not known to 10 %% at ρ = 8: %v ± %v", f, value(a.Estimate), a.HalfWidth)
		}
		if math.Abs(value(a.Estimate)-float64(f)) <= a.HalfWidth {
			covered++
		}
	}
	return float64(covered) / covers
}

// refine refines a chain to its end.
func refine(t testing.TB, b *mechanisms.Brownian, s mechanisms.Schedule, rule mechanisms.Rule, src mechanisms.Source) []mechanisms.Answer {
	t.Helper()
	r, err := mechanisms.NewRefinement(b, s, rule)
	if err != nil {
		t.Fatal(err)
	}
	for {
		step, err := r.Next()
		if errors.Is(err, mechanisms.ErrDone) {
			return r.Answers()
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := step.Measure(src); err != nil {
			t.Fatal(err)
		}
	}
}

const coverageFirst = 200_000_000 // ρ = 2·10⁻⁴, σ = 50

func fine(b *mechanisms.Brownian) (mechanisms.Schedule, error) {
	return mechanisms.NewGeometric(b, coverageFirst, 1.19)
}

func coarse(b *mechanisms.Brownian) (mechanisms.Schedule, error) {
	return mechanisms.NewGeometric(b, coverageFirst, 2)
}

func leap(b *mechanisms.Brownian) (mechanisms.Schedule, error) {
	return mechanisms.NewJump(b, coverageFirst)
}

// TestStoppedIntervalsCover checks the intervals at the stop, for small counts,
// where the stop depends most on the noise.
func TestStoppedIntervalsCover(t *testing.T) {
	t.Parallel()
	src := seeded(t)
	slack := stattest.MaxZ * math.Sqrt(beta*(1-beta)/covers)
	for _, f := range []int64{20, 50, 200} {
		for name, schedule := range map[string]scheduler{"fine": fine, "coarse": coarse, "jump": leap} {
			got := coverage(t, src, f, schedule, nil)
			if got < 1-beta-slack {
				t.Errorf("%s at %d: %.4f of the intervals hold the truth", name, f, got)
			}
			t.Logf("%s at %d: coverage %.4f", name, f, got)
		}
	}
	if got := coverage(t, src, 200, fine, sigmas(1.5)); got > 1-beta-slack {
		t.Errorf("1.5 standard deviations hold the truth with %.4f", got)
	}
}

// TestOneLookDoesNotCover takes the interval of one look, 1.96 standard deviations,
// at the stop of many. With fresh noise in each look the truth is outside of three
// in ten, and the estimates are too large by the twelfth part. A chain, whose looks
// are not independent, is much less wrong where its levels are fixed; an adversary
// finds its errors all the same, as TestAnytimeHolds shows.
func TestOneLookDoesNotCover(t *testing.T) {
	t.Parallel()
	const (
		runs = 2000
		f    = 50
		z    = 1.96
	)
	src := seeded(t)
	covered, bias := 0.0, 0.0
	for range runs {
		for rho := 0.002; ; rho *= 1.01 {
			m, err := mechanisms.GaussianFor(one, int64(rho*dp.PicoPerUnit))
			if err != nil {
				t.Fatal(err)
			}
			y := float64(mechanisms.Release(m, src, exactly(f)[0]).Int().Int64())
			if !mechanisms.MeetsRelative(z*m.StdDev(), relative, y) {
				continue
			}
			if math.Abs(y-f) <= z*m.StdDev() {
				covered++
			}
			bias += (y/f - 1) / runs
			break
		}
	}
	if covered/runs > 0.8 || bias < 0.05 {
		t.Errorf("coverage %.3f, bias %.3f", covered/runs, bias)
	}
	t.Logf("coverage %.3f, bias %+.3f; of a chain %.3f", covered/runs, bias, coverage(t, src, f, fine, sigmas(z)))
}

// TestAnytimeHolds lets an adversary look whenever it likes: the steps follow the
// error, short where it is large, and the boundary is left no more often than it
// may be. That of one look is left most of the time.
func TestAnytimeHolds(t *testing.T) {
	t.Parallel()
	const runs = 4000
	src := seeded(t)
	b := chain(t, one, exactly(make([]int64, runs)...), unlimited)
	within, single := anytime(t, 10), looks(t, 1)
	var left, leftSingle [runs]bool
	for range 60 {
		var draws []mechanisms.Draw
		for i, e := range b.Estimates() {
			v := int64(2000)
			if !math.IsInf(e.Sigma, 1) {
				excess := math.Abs(value(e)) / e.Sigma
				v = int64(math.Max(1, e.Sigma*e.Sigma*math.Pow(4, excess-1))) // far out: stay there
			}
			draws = append(draws, draw(i, v))
		}
		measure(t, b, src, draws...)
		for i, e := range b.Estimates() {
			left[i] = left[i] || math.Abs(value(e)) > within.HalfWidth(1, e.Sigma)
			leftSingle[i] = leftSingle[i] || math.Abs(value(e)) > single.HalfWidth(1, e.Sigma)
		}
	}
	slack := stattest.MaxZ * math.Sqrt(beta*(1-beta)/runs)
	if share(left[:]) > beta+slack {
		t.Errorf("left with probability %v", share(left[:]))
	}
	if share(leftSingle[:]) < beta+slack {
		t.Errorf("the boundary of one look is left with probability %v only", share(leftSingle[:]))
	}
	t.Logf("left: anytime %.4f, one look %.4f", share(left[:]), share(leftSingle[:]))
}

// TestAnytimeIsNarrowWhereItWasTuned holds the width to the one in the comment.
func TestAnytimeIsNarrowWhereItWasTuned(t *testing.T) {
	a := anytime(t, 10)
	width := func(sigma float64) float64 { return a.HalfWidth(1, sigma) / sigma }
	at := width(10)
	if at > 3.05 || at < 3 {
		t.Errorf("%v standard deviations where it is narrowest", at)
	}
	for _, sigma := range []float64{5, 9, 11, 20} {
		if width(sigma) < at {
			t.Errorf("narrower at %v: %v", sigma, width(sigma))
		}
	}
	if more, less := width(10/math.Sqrt(10))/at, width(10*math.Sqrt(10))/at; more > 1.1 || less > 1.3 {
		t.Errorf("tenfold precision widens it by %v, a tenth by %v", more, less)
	}
}

// TestAdversarialStop stops when the estimate falls below a guess of the truth,
// which sees as much as a stop can. Its gain, the total variation between the
// transcripts on two neighbours, stays below the most that the charge allows; and
// exceeds it where the sensitivity was declared too small by a factor of 1.5.
func TestAdversarialStop(t *testing.T) {
	const (
		runs     = 20_000
		variance = 10
		declared = 2
	)
	src := seeded(t)
	s := dp.Sensitivity{L0: 1, LInf: declared}
	// distance estimates the total variation by the best test, of the likelihoods.
	distance := func(shift int64) float64 {
		guilty := [2]float64{}
		for world, f := range []int64{1000, 1000 - shift} {
			for range runs {
				b := chain(t, s, exactly(f), 2*declared*declared*dp.PicoPerUnit/(2*variance))
				likelihood, steps := 0.0, int64(0)
				for steps < 2 && (steps == 0 || value(b.Estimates()[0]) >= 1000) {
					m, _ := measure(t, b, src, draw(0, variance))
					z := float64(m[0].Value.Int64())
					likelihood += ((z-1000+float64(shift))*(z-1000+float64(shift)) - (z-1000)*(z-1000)) / (2 * variance)
					steps++
				}
				if want := steps * declared * declared * dp.PicoPerUnit / (2 * variance); b.Paid() != want {
					t.Fatalf("stopped after %d steps having paid %d, want %d", steps, b.Paid(), want)
				}
				if likelihood > 0 {
					guilty[world]++
				}
			}
		}
		return (guilty[0] - guilty[1]) / runs
	}
	// Two measurements have the total variation of one with half the variance.
	claimed := math.Erf(declared / (2 * math.Sqrt(variance/2) * math.Sqrt2))
	slack := stattest.MaxZ * math.Sqrt(0.5/runs)
	right, wrongly := distance(declared), distance(declared*3/2)
	if right > claimed+slack || right < claimed/2 {
		t.Errorf("the transcripts are %.4f apart, claimed %.4f", right, claimed)
	}
	if wrongly < claimed+slack {
		t.Errorf("a sensitivity too small by 1.5 passes: %.4f apart, claimed %.4f", wrongly, claimed)
	}
	t.Logf("apart: %.4f, with a sensitivity too small by 1.5 %.4f; claimed %.4f, slack %.4f", right, wrongly, claimed, slack)
}
