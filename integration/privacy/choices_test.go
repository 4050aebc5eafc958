package privacy_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/sitetest"
	"dpproxy/internal/stattest"
)

// perYear is how many patients have each year of birth of a range.
const perYear = "SELECT count(id) FROM generate_series(%d, %d) y LEFT JOIN patients ON birth_year = y GROUP BY y ORDER BY y"

const (
	middle = "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY birth_year) - 1920 FROM patients"
	least  = "SELECT min(birth_year) - 1920 FROM patients"
	common = "SELECT mode() WITHIN GROUP (ORDER BY birth_year) - 1928 FROM patients WHERE birth_year BETWEEN 1928 AND 1932"
)

// TestLawOfChoices asks for a percentile and a mode thousands of times on the real path, and compares what is
// chosen with the exact law, computed here from the rows: nine tenths of the budget are of the choices, of which a percentile has
// three, itself and the ends of its interval; and a patient has one row. A law for half the sensitivity must be rejected.
func TestLawOfChoices(t *testing.T) {
	pure := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy)
	zcdp := sitetest.New(t, sitetest.ClinicSchema, strings.Replace(sitetest.ClinicPolicy, "epsilon: 9000", "epsilon: 5000, delta: 1e-6", 1))
	const epsilon = 0.1
	for _, c := range []struct {
		name, sql, counts string
		site              *sitetest.Site
		epsilon           float64 // of the choice
		law               func(counts []float64, epsilon float64) []float64
		enough            int // draws
	}{
		{"percentile", middle, fmt.Sprintf(perYear, 1920, 2010), zcdp, math.Sqrt(8 * 0.3 * epsilon * epsilon / 2), medianLaw, 800},
		{"percentile in a pure budget", middle, fmt.Sprintf(perYear, 1920, 2010), pure, 0.3 * epsilon, medianLaw, 600},
		{"MIN", least, fmt.Sprintf(perYear, 1920, 2010), zcdp, math.Sqrt(8 * 0.9 * epsilon * epsilon / 2), leastLaw, 200},
		{"mode", common, fmt.Sprintf(perYear, 1928, 1932), zcdp, math.Sqrt(8 * 0.9 * epsilon * epsilon / 2), modeLaw, 1600},
		{"mode in a pure budget", common, fmt.Sprintf(perYear, 1928, 1932), pure, 0.9 * epsilon, flipLaw, 2000},
	} {
		t.Run(c.name, func(t *testing.T) {
			counts := trueCounts(t, c.site, c.counts)
			chosen := make([]int64, draws(t, c.enough))
			const set = "SET dp.epsilon = %v; SET dp.small_groups = show; SET dp.mechanism = exponential"
			repeat(t, c.site.Run(t), fmt.Sprintf(set, epsilon), c.sql, len(chosen),
				func(k int, row pgx.Row) error { return row.Scan(&chosen[k]) })
			right := lawOf(c.law(counts, c.epsilon))
			if p := stattest.Fit(chosen, right); p < stattest.Level {
				t.Errorf("of %v what is chosen does not follow its law: p = %g", counts, p)
			}
			for _, off := range []float64{0.5, 2} {
				if e := stattest.Evidence(chosen, right, lawOf(c.law(counts, c.epsilon*off))); e < stattest.Decisive {
					t.Errorf("a sensitivity off by %v is not seen: %g", off, e)
				}
			}
		})
	}
}

func lawOf(law []float64) func(int64) float64 {
	return func(i int64) float64 {
		if i < 0 || int(i) >= len(law) {
			return 0
		}
		return law[i]
	}
}

// medianLaw is that of the bucket of the median: with D before each boundary its score is −max(0, D, −D after it), of
// which one row changes each by 1.
func medianLaw(counts []float64, epsilon float64) []float64 {
	total, below := 0.0, 0.0
	for _, n := range counts {
		total += n
	}
	scores := make([]float64, len(counts))
	for j, n := range counts {
		before := 2*below - total
		below += n
		scores[j] = -max(0, before, -(2*below - total))
	}
	return softmax(scores, epsilon/2)
}

// leastLaw is that of the bucket of a row near the least: as many rows are passed over as the choice is off by with a probability of 5 %,
// and one more. The last bucket has no end.
func leastLaw(counts []float64, epsilon float64) []float64 {
	target := math.Ceil(2*math.Log(float64(len(counts))/0.05)/epsilon+1) + 1
	below, scores := 0.0, make([]float64, len(counts))
	for j, n := range counts {
		if j > 0 {
			scores[j] = -max(0, below-target)
		}
		below += n
		if j+1 < len(counts) {
			scores[j] = min(scores[j], below-target)
		}
	}
	return softmax(scores, epsilon/2)
}

// modeLaw is that of the exponential mechanism for counts.
func modeLaw(counts []float64, epsilon float64) []float64 { return softmax(counts, epsilon) }

func softmax(scores []float64, rate float64) []float64 {
	best, total := math.Inf(-1), 0.0
	for _, s := range scores {
		best = max(best, s)
	}
	law := make([]float64, len(scores))
	for i, s := range scores {
		law[i] = math.Exp(rate * (s - best))
		total += law[i]
	}
	for i := range law {
		law[i] /= total
	}
	return law
}

// flipLaw is that of permute and flip: over all orders, the first whose coin shows heads.
func flipLaw(counts []float64, epsilon float64) []float64 {
	best := 0.0
	for _, n := range counts {
		best = max(best, n)
	}
	law := make([]float64, len(counts))
	var visit func(left []int, p float64)
	visit = func(left []int, p float64) {
		for k, i := range left {
			heads := math.Exp(epsilon * (counts[i] - best))
			mine := p / float64(len(left))
			law[i] += mine * heads
			rest := append(append([]int(nil), left[:k]...), left[k+1:]...)
			if heads < 1 && len(rest) > 0 {
				visit(rest, mine*(1-heads))
			}
		}
	}
	all := make([]int, len(counts))
	for i := range all {
		all[i] = i
	}
	visit(all, 1)
	return law
}

const (
	// topTwo are two years of five, of which a patient is in one.
	topTwo = "SELECT min(y) * 5 + max(y) FROM (SELECT birth_year - 1928 AS y, count(*) FROM patients " +
		"WHERE birth_year BETWEEN 1928 AND 1932 GROUP BY birth_year ORDER BY 2 DESC LIMIT 2) t"
	// topOne is one diagnosis of three, each of which patients have up to five times. How it is chosen depends on how far their
	// counts are apart, some 17 and 33, and not on the number of patients.
	fewer  = "WHERE patient_id <= 200 AND (diagnosis <> 'flu' OR patient_id > 20) AND (diagnosis <> 'cold' OR patient_id > 10)"
	topOne = "SELECT CASE d WHEN 'asthma' THEN 0 WHEN 'cold' THEN 1 ELSE 2 END FROM (SELECT diagnosis AS d, count(*) FROM visits " +
		fewer + " GROUP BY 1 ORDER BY 2 DESC LIMIT 1) t"
)

// TestLawOfTop asks for the top of groups thousands of times on the real path, and compares which groups are chosen with the
// exact law. A half of the budget is for the choices, of which each has an equal part; where patients can be above a limit
// the tail has a tenth before. Laws of half and of twice the sensitivity must be rejected.
func TestLawOfTop(t *testing.T) {
	pure := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy)
	zcdp := sitetest.New(t, sitetest.ClinicSchema, strings.Replace(sitetest.ClinicPolicy, "epsilon: 9000", "epsilon: 5000, delta: 1e-6", 1))
	const epsilon, rho, more = 0.2, 0.02, 0.3
	diagnoses := "SELECT count(*) FROM visits " + fewer + " GROUP BY diagnosis ORDER BY diagnosis"
	for _, c := range []struct {
		name, sql, counts string
		site              *sitetest.Site
		epsilon           float64 // of one choice, for one row
		choice            func(counts []float64, epsilon float64) []float64
		pairs             bool
		spent             float64 // ε of a statement
		enough            int     // draws
	}{
		{"two years", topTwo, fmt.Sprintf(perYear, 1928, 1932), zcdp, math.Sqrt(8 * rho / 4), modeLaw, true, epsilon, 700},
		{"two years in a pure budget", topTwo, fmt.Sprintf(perYear, 1928, 1932), pure, epsilon / 4, flipLaw, true, epsilon, 2000},
		{"a diagnosis", topOne, diagnoses, zcdp, math.Sqrt(8*0.9*rho/2) / 5, modeLaw, false, epsilon, 1400},
		{"a diagnosis in a pure budget", topOne, diagnoses, pure, 0.9 * more / 2 / 5, flipLaw, false, more, 2000},
	} {
		t.Run(c.name, func(t *testing.T) {
			counts := trueCounts(t, c.site, c.counts)
			law := c.choice
			if c.pairs {
				law = func(counts []float64, epsilon float64) []float64 { return pairLaw(counts, epsilon, c.choice) }
			}
			chosen := make([]int64, draws(t, c.enough))
			repeat(t, c.site.Run(t), fmt.Sprintf("SET dp.epsilon = %v; SET dp.top = on", c.spent), c.sql, len(chosen),
				func(k int, row pgx.Row) error { return row.Scan(&chosen[k]) })
			right := lawOf(law(counts, c.epsilon))
			if p := stattest.Fit(chosen, right); p < stattest.Level {
				t.Errorf("of %v what is chosen does not follow its law: p = %g", counts, p)
			}
			for _, off := range []float64{0.5, 2} {
				if e := stattest.Evidence(chosen, right, lawOf(law(counts, c.epsilon*off))); e < stattest.Decisive {
					t.Errorf("a sensitivity off by %v is not seen: %g", off, e)
				}
			}
		})
	}
}

// pairLaw is that of two groups of five, in either order, of which the smaller index comes first.
func pairLaw(counts []float64, epsilon float64, choice func([]float64, float64) []float64) []float64 {
	law := make([]float64, len(counts)*len(counts))
	for i, p := range choice(counts, epsilon) {
		rest := append(append([]float64(nil), counts[:i]...), counts[i+1:]...)
		for at, q := range choice(rest, epsilon) {
			j := at
			if at >= i {
				j++
			}
			law[min(i, j)*len(counts)+max(i, j)] += p * q
		}
	}
	return law
}

// TestTopWithoutNoise asks with so large a budget that nothing is hidden: the answer is Postgres's own.
func TestTopWithoutNoise(t *testing.T) {
	s := sitetest.New(t, sitetest.ClinicSchema, strings.Replace(sitetest.ClinicPolicy, "max_rows: 5\n    max_partitions: 3",
		"max_rows: 5\n    max_partitions: 60", 1))
	conn, truth := sitetest.Dial(t, s.Run(t).URL("ana")), sitetest.Dial(t, s.Data.URL("postgres", "postgres"))
	sitetest.Exec(t, conn, "SET dp.epsilon = 900")
	for _, sql := range []string{
		"SELECT extract(month FROM day), count(*) FROM visits WHERE cost < 8 * extract(month FROM day)" +
			" GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 4",
		"SELECT extract(month FROM day) AS m, round(sum(cost), -4), count(*) FROM visits WHERE cost < 6 * extract(month FROM day)" +
			" GROUP BY m ORDER BY sum(cost) DESC LIMIT 3",
		"SELECT extract(year FROM day), round(count(DISTINCT patient_id), -1) FROM visits" +
			" GROUP BY 1 ORDER BY count(DISTINCT patient_id) DESC LIMIT 1",
		"SELECT birth_year, count(*) FROM patients WHERE birth_year < 1940 OR id < 950" +
			" GROUP BY 1 ORDER BY 2 DESC, birth_year LIMIT 0",
	} {
		var got, want []string
		for to, c := range map[*[]string]*pgx.Conn{&got: conn, &want: truth} {
			rows, err := c.Query(t.Context(), sql)
			if err != nil {
				t.Fatal(err)
			}
			if *to, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
				values, err := row.Values()
				return fmt.Sprint(values...), err
			}); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s:\n%q\nPostgres says\n%q", sql, got, want)
		}
	}
}

// trueCounts asks the protected database itself.
func trueCounts(t *testing.T, s *sitetest.Site, sql string) []float64 {
	t.Helper()
	rows, err := sitetest.Dial(t, s.Data.URL("postgres", "postgres")).Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	counts, err := pgx.CollectRows(rows, pgx.RowTo[float64])
	if err != nil {
		t.Fatal(err)
	}
	return counts
}
