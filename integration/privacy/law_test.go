package privacy_test

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/sitetest"
	"dpproxy/internal/stattest"
)

// draws is how often each statement is asked: DPPROXY_DRAWS, or as often as rejects the laws that are wrong.
func draws(t *testing.T, enough int) int {
	t.Helper()
	text := os.Getenv("DPPROXY_DRAWS")
	if text == "" {
		return enough
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// byYear has an answer for each year of birth within the bounds: all of them have noise of their own, since a patient is in one group.
const (
	years  = 2010 - 1920 + 1
	byYear = " GROUP BY birth_year ORDER BY birth_year"
)

// TestLaw asks one COUNT and one SUM on the real path until there are thousands of answers, by year of birth or once a statement, and
// compares them with the exact law of the noise that the plan states,
// recomputed here from epsilon and the sensitivity: a count of patients changes by
// 1, a sum of birth years by 2010. A law for a sensitivity that is off by 1.5 must
// be rejected.
func TestLaw(t *testing.T) {
	pure := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy)
	zcdp := sitetest.New(t, sitetest.ClinicSchema, strings.Replace(sitetest.ClinicPolicy, "epsilon: 9000", "epsilon: 5000, delta: 1e-6", 1))
	laplace := func(sensitivity, epsilon float64) func(int64) float64 { return stattest.Laplace(sensitivity / epsilon) }
	gaussian := func(sensitivity, epsilon float64) func(int64) float64 {
		return stattest.Gaussian(math.Ceil(sensitivity * sensitivity / (epsilon * epsilon)))
	}
	for _, c := range []struct {
		name, aggregate, where, by string
		site                       *sitetest.Site
		law                        func(sensitivity, epsilon float64) func(int64) float64
		sensitivity, epsilon       float64
		enough                     int // answers
	}{
		{"laplace count", "count(id)", "sex = 'f'", byYear, pure, laplace, 1, 0.1, 40 * years},
		{"laplace sum", "sum(birth_year)", "region = 'north'", "", pure, laplace, 2010, 0.2, 1200},
		{"gaussian count", "count(id)", "sex = 'f'", byYear, zcdp, gaussian, 1, 0.1, 40 * years},
	} {
		t.Run(c.name, func(t *testing.T) {
			truth := trueNumbers(t, c.site, c.aggregate, c.where, c.by)
			sql := "SELECT " + c.aggregate + " FROM patients WHERE " + c.where + c.by
			noise := noiseOf(t, c.site.Run(t), fmt.Sprint("SET dp.epsilon = ", c.epsilon), sql, truth, c.enough)
			law := c.law(c.sensitivity, c.epsilon)
			if p := stattest.Fit(noise, law); p < stattest.Level {
				t.Errorf("the answers do not follow the law of the plan: p = %g", p)
			}
			for _, wrong := range []float64{1.5, 1 / 1.5} {
				if e := stattest.Evidence(noise, law, c.law(c.sensitivity*wrong, c.epsilon)); e < stattest.Decisive {
					t.Errorf("a sensitivity off by %.2f is not seen: %g", wrong, e)
				}
			}
		})
	}
}

// TestLawOfStaircase is TestLaw of a sum whose error is asked for, so narrow that a staircase is the cheapest: it is
// within ±600, where a patient changes it by 2010, in half of the answers.
func TestLawOfStaircase(t *testing.T) {
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy)
	const half, sensitivity = 600, 2010
	truth := trueNumbers(t, s, "sum(birth_year)", "region = 'north'", byYear)
	noise := noiseOf(t, s.Run(t), fmt.Sprintf("SET dp.error = %d; SET dp.confidence = 0.5; SET dp.max_epsilon = 2", half),
		"SELECT sum(birth_year) FROM patients WHERE region = 'north'"+byYear, truth, 55*years)
	// P(|n| ≤ 600) is half: 1201·(e^ε − 1) = 2·2010.
	epsilon := math.Log1p(2.0 * sensitivity / (2*half + 1))
	right := stattest.Staircase(sensitivity, half+1, epsilon)
	if p := stattest.Fit(noise, right); p < stattest.Level {
		t.Errorf("the answers do not follow the law of the plan: p = %g", p)
	}
	for _, wrong := range []func(int64) float64{
		stattest.Staircase(sensitivity, half+1, epsilon*1.2), stattest.Staircase(sensitivity, half+1, epsilon/1.2),
		stattest.Staircase(sensitivity*2, half+1, epsilon), stattest.Staircase(sensitivity, half+150, epsilon),
		stattest.Laplace(sensitivity / epsilon),
	} {
		if e := stattest.Evidence(noise, right, wrong); e < stattest.Decisive {
			t.Errorf("another law is not told apart: %g", e)
		}
	}
}

// TestLawOfWeights asks for a count and a sum in one statement, of which the count weighs nine times as much: of ρ = 0.005
// it has 0.0045, and the sum 0.0005. Neither has the noise of an equal part.
func TestLawOfWeights(t *testing.T) {
	s := sitetest.New(t, sitetest.ClinicSchema, strings.Replace(sitetest.ClinicPolicy, "epsilon: 9000", "epsilon: 5000, delta: 1e-6", 1))
	const where = "sex = 'f'"
	count, sum := trueNumbers(t, s, "count(id)", where, byYear), trueNumbers(t, s, "sum(birth_year)", where, byYear)
	asked := draws(t, 28*years) / years
	counts, sums := make([]int64, asked*years), make([]int64, asked*years)
	repeatRows(t, s.Run(t), "SET dp.epsilon = 0.1", "SELECT dp.weight(count(*), 9), sum(birth_year) FROM patients WHERE "+where+byYear,
		asked, func(k, i int, row pgx.Row) error {
			at := k*years + i
			err := row.Scan(&counts[at], &sums[at])
			counts[at], sums[at] = counts[at]-count[i], sums[at]-sum[i]
			return err
		})
	const year = 2010
	for what, c := range map[string]struct {
		noise             []int64
		sensitivity, part float64
	}{"counts": {counts, 1, 0.9}, "sums": {sums, year, 0.1}} {
		law := func(part float64) func(int64) float64 {
			return stattest.Gaussian(math.Ceil(c.sensitivity * c.sensitivity / (2 * rho * part)))
		}
		if p := stattest.Fit(c.noise, law(c.part)); p < stattest.Level {
			t.Errorf("%s do not follow the law of their weight: p = %g", what, p)
		}
		for _, wrong := range []float64{1.0 / 2, 1 - c.part, c.part * 2, c.part / 2} {
			if e := stattest.Evidence(c.noise, law(c.part), law(wrong)); e < stattest.Decisive {
				t.Errorf("%s follow the law of %.2f of the budget: %g", what, wrong, e)
			}
		}
	}
}

// trueNumbers are the numbers that the protected database itself has, for each year of birth if the statement is by year.
func trueNumbers(t *testing.T, s *sitetest.Site, aggregate, where, by string) []int64 {
	t.Helper()
	sql := "SELECT " + aggregate + " FROM patients WHERE " + where
	if by != "" {
		sql = "SELECT coalesce(" + aggregate + ", 0) FROM generate_series(1920, 2010) y LEFT JOIN patients ON birth_year = y AND " + where +
			" GROUP BY y ORDER BY y"
	}
	rows, err := sitetest.Dial(t, s.Data.URL("postgres", "postgres")).Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	numbers, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		t.Fatal(err)
	}
	return numbers
}

// noiseOf collects the noise of many numbers, of which each answer has as many as there are true ones.
func noiseOf(t *testing.T, r *sitetest.Running, settings, sql string, truth []int64, enough int) []int64 {
	t.Helper()
	asked := (draws(t, enough) + len(truth) - 1) / len(truth)
	noise := make([]int64, asked*len(truth))
	repeatRows(t, r, settings, sql, asked, func(k, i int, row pgx.Row) error {
		at := k*len(truth) + i
		err := row.Scan(&noise[at])
		noise[at] -= truth[i]
		return err
	})
	return noise
}

// repeat asks n times, over a few connections, for answers of one row.
func repeat(t *testing.T, r *sitetest.Running, settings, sql string, n int, scan func(k int, row pgx.Row) error) {
	t.Helper()
	repeatRows(t, r, settings, sql, n, func(k, _ int, row pgx.Row) error { return scan(k, row) })
}

// repeatRows asks n times, over a few connections, and scans each row i of answer k.
func repeatRows(t *testing.T, r *sitetest.Running, settings, sql string, n int, scan func(k, i int, row pgx.Row) error) {
	t.Helper()
	const clients = 4
	var all sync.WaitGroup
	for client := range clients {
		conn := sitetest.Dial(t, r.URL("ana"))
		sitetest.Exec(t, conn, "SET dp.notice = off; "+settings) // nobody reads how far each answer may be off
		all.Go(func() {
			for k := client; k < n; k += clients {
				rows, err := conn.Query(t.Context(), sql)
				for i := 0; err == nil && rows.Next(); i++ {
					err = scan(k, i, rows)
				}
				rows.Close()
				if err = cmp.Or(err, rows.Err()); err != nil {
					t.Errorf("answer %d: %v", k, err)
					return
				}
			}
		})
	}
	all.Wait()
}

// The budget of each answer of TestLawOfLimits, in ρ, with the parts that docs/guarantee.md states, and what it asks.
const (
	rho          = 0.005
	choice, tail = rho / 10, rho / 10
	release      = rho - choice - tail
	// Of a thousand patients all have four visits, and some have five.
	patients, five = 1000, 30
	limited        = "SELECT count(*), dp.noise_scale(count(*)), dp.cut(count(*)) FROM visits WHERE id <= 4030"
)

// within is all that an answer releases: the place of its limit, the count within, and the number of units above.
type within struct{ level, count, cut int64 }

// TestLawOfLimits asks for a count of rows many times on the real path, and compares all that is released
// with its exact law: the limit with that of the exponential mechanism, and what is released within a limit with
// that of its noise. Laws that are slightly wrong must be rejected.
func TestLawOfLimits(t *testing.T) {
	s := sitetest.New(t, sitetest.ClinicSchema,
		strings.NewReplacer("epsilon: 9000", "epsilon: 5000, delta: 1e-6", "max_rows: 5\n    max_partitions: 3", "max_rows: auto").
			Replace(sitetest.ClinicPolicy))
	answers, levels := make([]within, draws(t, 5000)/2), []int64(nil)
	repeat(t, s.Run(t), fmt.Sprintf("SET dp.epsilon = %v", math.Sqrt(2*rho)), limited, len(answers), func(k int, row pgx.Row) error {
		var scale, cut float64
		err := row.Scan(&answers[k].count, &scale, &cut)
		answers[k].level, answers[k].cut = levelOf(scale*math.Sqrt(2*release)), int64(cut)
		return err
	})
	byLevel := map[int64][]within{}
	for _, a := range answers {
		levels, byLevel[a.level] = append(levels, a.level), append(byLevel[a.level], a)
	}

	epsilon := math.Sqrt(8 * choice)
	penalty := math.Ceil(3*math.Ln2/2/epsilon + 0.6/math.Sqrt(2*release))
	right := choiceLaw(epsilon, penalty, five)
	if p := stattest.Fit(levels, right); p < stattest.Level {
		t.Errorf("limits do not follow their law: p = %g", p)
	}
	for name, wrong := range map[string]func(int64) float64{
		"twice the budget":       choiceLaw(epsilon*math.Sqrt2, penalty, five),
		"half the budget":        choiceLaw(epsilon/math.Sqrt2, penalty, five),
		"no penalty":             choiceLaw(epsilon, 0, five),
		"ten patients with five": choiceLaw(epsilon, penalty, 10),
	} {
		if e := stattest.Evidence(levels, right, wrong); e < stattest.Decisive {
			t.Errorf("limits follow a law of %s: %g", name, e)
		}
	}
	for _, limit := range []float64{4, 6} {
		checkWithin(t, limit, byLevel[levelOf(limit)])
	}
}

// above is how many patients have more visits than a limit, if some have five.
func above(limit float64, five int64) int64 {
	switch {
	case limit < 4:
		return patients
	case limit < 5:
		return five
	}
	return 0
}

// choiceLaw is the law of the exponential mechanism at a rate over the limits of the grid.
func choiceLaw(epsilon, penalty float64, five int64) func(level int64) float64 {
	const limits = 40
	weight := func(level int64) float64 {
		return math.Exp(-epsilon * (float64(above(limitOf(level), five)) + penalty*float64(level)))
	}
	all := 0.0
	for level := range int64(limits) {
		all += weight(level)
	}
	return func(level int64) float64 {
		if level < 0 || level >= limits {
			return 0
		}
		return weight(level) / all
	}
}

// checkWithin holds that what is released within a limit has the noise of the limit.
func checkWithin(t *testing.T, limit float64, answers []within) {
	t.Helper()
	more := above(limit, five)
	var counts, cuts []int64
	for _, a := range answers {
		counts, cuts = append(counts, a.count-(4*patients+five-more)), append(cuts, a.cut-more)
	}
	laws := func(off float64) (count, cut func(int64) float64) {
		return stattest.Gaussian(math.Ceil(off * off * limit * limit / (2 * release))),
			notBelow(-more, stattest.Gaussian(math.Ceil(off*off/(2*tail))))
	}
	count, cut := laws(1)
	for what, p := range map[string]float64{"counts": stattest.Fit(counts, count), "units above": stattest.Fit(cuts, cut)} {
		if p < stattest.Level {
			t.Errorf("%d %s within %v do not follow their law: p = %g", len(answers), what, limit, p)
		}
	}
	for _, off := range []float64{1.5, 1 / 1.5} {
		otherCount, otherCut := laws(off)
		for what, e := range map[string]float64{
			"counts": stattest.Evidence(counts, count, otherCount), "units above": stattest.Evidence(cuts, cut, otherCut),
		} {
			if e < stattest.Decisive {
				t.Errorf("%d %s within %v, of a noise off by %.2f: %g", len(answers), what, limit, off, e)
			}
		}
	}
}

// notBelow is the law of a number that is raised to the least.
func notBelow(least int64, law func(int64) float64) func(int64) float64 {
	const far = 1000
	rest := 0.0
	for n := least - far; n < least; n++ {
		rest += law(n)
	}
	return func(n int64) float64 {
		switch {
		case n < least:
			return 0
		case n == least:
			return law(n) + rest
		}
		return law(n)
	}
}

// limitOf returns a limit of the grid 1, 2, 3, 4, 6, 8, 12, ….
func limitOf(level int64) float64 {
	if level == 0 {
		return 1
	}
	return math.Ldexp(float64(2+(level+1)%2), int(level-1)/2)
}

// levelOf returns the place of a limit in the grid, the nearest.
func levelOf(limit float64) int64 {
	for level := range int64(60) {
		if limit < limitOf(level)*1.1 {
			return level
		}
	}
	return 60
}
