package privacy_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/sitetest"
	"dpproxy/internal/stattest"
)

// TestLawOfSuggestedBounds asks for bounds of a column without bounds thousands of times on the real path, and compares the
// lower ones with their exact law: each is the lesser of two choices among the 64 steps of an integer, of which all thousand
// patients are in that from 1024 on. A law for half the sensitivity must be rejected, and one for twice of it.
func TestLawOfSuggestedBounds(t *testing.T) {
	const (
		epsilon  = 2
		each     = epsilon * 0.9 / 2 // a tenth is for the number of rows, and nothing for ends that are not shown
		patients = 1000
	)
	s := sitetest.New(t, sitetest.ClinicSchema, strings.Replace(sitetest.ClinicPolicy, ", birth_year: {bounds: [1920, 2010]}", "", 1))
	place := map[string]int64{"-2147483648": 0, "0": 32}
	for k := range 31 {
		place[strconv.Itoa(-(1<<k))], place[strconv.Itoa(1<<k)] = int64(31-k), int64(33+k)
	}
	lower := make([]int64, draws(t, 1000))
	repeat(t, s.Run(t), "SET dp.small_groups = show", "SELECT lower FROM dp.suggest_bounds('patients.birth_year', epsilon => 2)",
		len(lower), func(k int, row pgx.Row) error {
			var text string
			err := row.Scan(&text)
			lower[k] = place[text]
			return err
		})
	counts := make([]float64, 64)
	counts[place["1024"]] = patients
	law := func(epsilon float64) func(int64) float64 {
		return lawOf(lesser(fractionLaw(counts, 1, 200, epsilon), fractionLaw(counts, 199, 200, epsilon)))
	}
	if p := stattest.Fit(lower, law(each)); p < stattest.Level {
		t.Errorf("what is chosen does not follow its law: p = %g", p)
	}
	for _, off := range []float64{0.5, 2} {
		if e := stattest.Evidence(lower, law(each), law(each*off)); e < stattest.Decisive {
			t.Errorf("a sensitivity off by %v is not seen: %g", off, e)
		}
	}
}

// fractionLaw is that of the step of the quantile a/c: with D = (c−a)·below − a·above before each boundary the score
// of a step is −max(0, D, −D after it), of which one row changes each by at most the larger of a and c−a.
func fractionLaw(counts []float64, a, c, epsilon float64) []float64 {
	total, below := 0.0, 0.0
	for _, n := range counts {
		total += n
	}
	scores := make([]float64, len(counts))
	for j, n := range counts {
		before := c*below - a*total
		below += n
		scores[j] = -max(0, before, a*total-c*below)
	}
	return softmax(scores, epsilon/2/max(a, c-a))
}

// lesser is the law of the lesser of two independent choices.
func lesser(p, q []float64) []float64 {
	out := make([]float64, len(p))
	restP, restQ := 0.0, 0.0 // above
	for i := len(p) - 1; i >= 0; i-- {
		out[i] = p[i]*(q[i]+restQ) + q[i]*restP
		restP, restQ = restP+p[i], restQ+q[i]
	}
	return out
}
