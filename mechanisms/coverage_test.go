package mechanisms_test

import (
	"math"
	"slices"
	"testing"

	"dpproxy/dp"
	"dpproxy/internal/stattest"
	"dpproxy/mechanisms"
)

const (
	// covers is the number of partitions whose intervals are counted.
	covers        = 2000
	coverageFirst = 200_000_000 // ρ = 2·10⁻⁴, σ = 50
	coverageLast  = 8 * dp.PicoPerUnit
)

// goals to a relative error of 10 %, in few rounds or in many.
func goals(t testing.TB, within boundary) map[string]mechanisms.Goal {
	return map[string]mechanisms.Goal{
		"fine":   climb(t, coverageFirst, coverageLast, 1.19, within, within10),
		"coarse": climb(t, coverageFirst, coverageLast, 2, within, within10),
		"leap":   leap(within, within10),
	}
}

// coverage refines a count until the goal is met, many times at once, and returns
// the share of the intervals that hold the truth.
func coverage(t *testing.T, src mechanisms.Source, f int64, g mechanisms.Goal, within boundary) float64 {
	t.Helper()
	r := refinement(t, g, mechanisms.Pool{Pico: coverageLast, PilotPico: coverageFirst}, nil, one)
	finish(t, r, src, exactly(slices.Repeat([]int64{f}, covers)...))
	covered := 0
	for _, e := range r.Estimates()[0] {
		if !met(within, within10, e) && f > 20 { // a round adds no more precision than variance 1 has
			t.Fatalf("%d is not known to 10 %% at ρ = 8: %v ± %v", f, value(e), e.Sigma)
		}
		if math.Abs(value(e)-float64(f)) <= within.HalfWidth(e.Sigma) {
			covered++
		}
	}
	return float64(covered) / covers
}

// TestStoppedIntervalsCover checks the intervals at the stop, for small counts,
// where the stop depends most on the noise.
func TestStoppedIntervalsCover(t *testing.T) {
	t.Parallel()
	src := seeded(t)
	slack := stattest.MaxZ * math.Sqrt(beta*(1-beta)/covers)
	scales, err := mechanisms.NewScales(beta, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []int64{20, 50, 200} {
		for kind, within := range map[string]boundary{"scales": scales, "anytime": anytime(t, 10)} {
			for name, g := range goals(t, within) {
				got := coverage(t, src, f, g, within)
				if got < 1-beta-slack {
					t.Errorf("%s within %s at %d: %.4f of the intervals hold the truth", name, kind, f, got)
				}
				t.Logf("%s within %s at %d: coverage %.4f", name, kind, f, got)
			}
		}
	}
	if got := coverage(t, src, 200, goals(t, sigmas(1.5))["fine"], sigmas(1.5)); got > 1-beta-slack {
		t.Errorf("1.5 standard deviations hold the truth with %.4f", got)
	}
}

// TestOneLookDoesNotCover takes the interval of one look, 1.96 standard deviations,
// at the stop of many. With fresh noise in each look the truth is outside of nearly
// one in four, and the estimates are too large by the twelfth part. A chain, whose looks
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
	if covered/runs > 0.83 || bias < 0.05 {
		t.Errorf("coverage %.3f, bias %.3f", covered/runs, bias)
	}
	t.Logf("coverage %.3f, bias %+.3f; of a chain %.3f", covered/runs, bias, coverage(t, src, f, goals(t, sigmas(z))["fine"], sigmas(z)))
}
