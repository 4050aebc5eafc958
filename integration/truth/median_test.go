package truth_test

import (
	"math"
	"slices"
	"testing"
)

// TestMedianOfCosts asks the small demonstration for the median of a cost, each time anew: so many in a hundred answers
// are near it.
func TestMedianOfCosts(t *testing.T) {
	if *draws == 0 {
		return // asked for by -draws
	}
	const (
		sql  = "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY cost) FROM visits"
		near = 25 // of the truth, which is below 200, within bounds of 0 and 20,000
	)
	s := clinic(t, 2000)
	var truth float64
	if err := s.truth.QueryRow(t.Context(), sql).Scan(&truth); err != nil {
		t.Fatal(err)
	}
	var off []float64
	for range *draws {
		var x float64
		if err := s.ours[0].QueryRow(t.Context(), sql).Scan(&x); err != nil {
			t.Fatal(err)
		}
		off = append(off, math.Abs(x-truth))
	}
	slices.Sort(off)
	within := float64(slices.IndexFunc(append(off, math.Inf(1)), func(d float64) bool { return d > near })) / float64(len(off))
	t.Logf("of %d answers %.1f %% are within %v of %v; half within %.4g, 95 %% within %.4g",
		len(off), 100*within, near, truth, off[len(off)/2], off[len(off)*95/100])
	if within < 0.95 {
		t.Errorf("%.1f %% of the answers are near", 100*within)
	}
}
