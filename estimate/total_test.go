package estimate_test

import (
	"math"
	"testing"

	"dpproxy/estimate"
	"dpproxy/internal/stattest"
)

// TestTotalError adds up the noise of a tree of two levels, the first of which has 16 counts.
func TestTotalError(t *testing.T) {
	const runs = 40_000
	for name, law := range laws {
		t.Run(name, func(t *testing.T) {
			s := stage(t, 256, 16, law.noise, law.of, nil)
			e := must(must(estimate.NewTree(s.shape, s.noise(truth), nil)).TotalError(rare))
			wrong := must(must(estimate.NewTree(s.shape, s.noise(twin), nil)).TotalError(rare))
			src := stattest.Source(t)
			failed, twinFailed, square := 0, 0, 0.0
			for range runs {
				off := 0.0
				for range s.shape.Nodes(0) {
					off += draw(s.m[0], src)
				}
				square += off * off
				if math.Abs(off) > e {
					failed++
				}
				if math.Abs(off) > wrong {
					twinFailed++
				}
			}
			limit, sigma := tolerated(runs, rare), math.Sqrt(square/runs)
			t.Logf("error %.1f = %.2f standard deviations, %d failures, limit %d, twin %d", e, e/sigma, failed, limit, twinFailed)
			if failed > limit {
				t.Errorf("%d of %d totals are further off than %.1f, at most %d may", failed, runs, e, limit)
			}
			if e > 5*sigma {
				t.Errorf("the error %.1f is %.1f standard deviations", e, e/sigma)
			}
			if twinFailed <= limit {
				t.Errorf("%d failures of the twin are too few to notice", twinFailed)
			}
			if want := 4 * s.m[0].StdDev(); math.Abs(sigma/want-1) > 0.05 {
				t.Errorf("the total of 16 counts is off by %.1f, want %.1f", sigma, want)
			}
		})
	}
}
