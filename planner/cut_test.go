package planner_test

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"dpproxy/planner"
)

// falls ends what is said of a limit that most are within.
const falls = "if their number goes on falling above the limit as steeply as just below it."

// A cut is a statement with its tail, and what is said of it.
type cut struct {
	sql, contribution, mechanism string
	tail                         [4]int64
	want                         string
}

// clips cut units at limit 6 where it is chosen.
func (c cut) clips(set *planner.GroupingSet) (clips []planner.Clip) {
	for _, m := range set.Measures {
		clip := planner.Clip{}
		for _, n := range c.tail {
			clip.Tail = append(clip.Tail, big.NewInt(n))
		}
		for _, n := range m.Norms {
			level := n.Fixed
			if n.Choice != nil {
				level = 6
			}
			clip.Levels = append(clip.Levels, level)
		}
		clips = append(clips, clip)
	}
	return clips
}

var cuts = []cut{
	{
		"SELECT count(*) FROM visits", "auto", "gaussian",
		[4]int64{20_000, 4000, 900, 243},
		"For count(*), one patient counts with at most 12 rows (chosen for this statement). About 240 have more, at most 250 (95 %). " +
			"What they have beyond that is left out: about 2,400 rows, at most 2,459 " + falls,
	},
	{
		"SELECT count(*) FROM visits", "fixed", "gaussian",
		[4]int64{20_000, 900, 30, -3},
		"For count(*), one patient counts with at most 20 rows (by the policy or the session). " +
			"Perhaps none has more; at most 5 have (95 %). " +
			"What they have beyond that is left out: at most 56 rows " + falls,
	},
	{
		"SELECT sum(cost) FROM visits", "fixed", "gaussian",
		[4]int64{20_000, 900, 30, 1},
		"For sum(cost), one patient counts with at most 400,000 (by the policy or the session). About 1 has more, at most 6 (95 %). " +
			"What they have beyond that is left out: about 200,000, at most 1,514,231 " + falls,
	},
	{
		"SELECT diagnosis, count(*) FROM visits GROUP BY 1", "auto", "gaussian",
		[4]int64{20_000, 900, 300, 24},
		"For count(*), one patient counts with at most 12 rows in one group, or 6.928 in each of 3 (chosen for this statement). " +
			"About 24 have more, at most 29 (95 %). What they have beyond that is left out: at most 174 rows of each group " +
			falls,
	},
	{
		"SELECT diagnosis, date_part('year', day), count(*) FROM visits GROUP BY ROLLUP (1, 2)", "auto", "gaussian",
		[4]int64{20_000, 900, 300, 24},
		"In all grouping sets: For count(*), one patient counts with at most 12 rows in one group, or 3.098 in each of 15 " +
			"(chosen for this statement), and with 2.449 times that in (), 1.732 times that in (diagnosis). " +
			"About 24 have more, at most 29 (95 %). What they have beyond that is left out: at most 174 rows of each group " +
			"if their number goes on falling above the limit as steeply as just below it, of totals as many times that.",
	},
	{
		"SELECT diagnosis, date_part('year', day), count(*) FROM visits GROUP BY ROLLUP (1, 2)", "fixed", "laplace",
		[4]int64{20_000, 900, 300, 24},
		"In all grouping sets: For count(*), one patient counts with at most 40 rows in one group, or 2.667 in each of 15 " +
			"(by the policy or the session). About 24 have more, at most 47 (95 %). " +
			"What they have beyond that is left out: about 480 rows, at most 998 " + falls,
	},
	{
		"SELECT avg(cost) FROM visits", "auto", "gaussian",
		[4]int64{20_000, 900, 300, 24},
		"For avg(cost), one patient counts with at most 12 rows, and at most 163.8 of the sum of cost from 0 " +
			"(chosen for this statement). About 24 have more, at most 29 (95 %). " +
			"They count less. Their values may be smaller or larger than those of others, which moves avg(cost) either way, " +
			"by no more than is stated " + falls,
	},
	{
		"SELECT avg(cost) FROM visits", "auto", "gaussian",
		[4]int64{20_000, 0, 3, 24},
		"For avg(cost), one patient counts with at most 12 rows, and at most 163.8 of the sum of cost from 0 " +
			"(chosen for this statement). About 24 have more, at most 29 (95 %). " +
			"So few are near that limit, as where few rows meet the conditions or none, that nothing bounds what it does to avg(cost). " +
			"SET dp.contribution = fixed; SET dp.max_rows = 10 (or as many rows as matter of one), " +
			"or ask the administrator to state units and max_rows.",
	},
	{
		"SELECT avg(cost), stddev(cost) FROM visits", "fixed", "gaussian",
		[4]int64{20_000, 900, 300, 24},
		"For avg(cost), stddev(cost), one patient counts with at most 20 rows (by the policy or the session). " +
			"About 24 have more, at most 29 (95 %). " +
			"They count less. Their values may be smaller or larger than those of others, which moves avg(cost) either way, " +
			"by no more than is stated " + falls +
			" What that does to stddev(cost) is not in the error.",
	},
	{
		"SELECT count(*) FROM visits", "auto", "laplace",
		[4]int64{20_000, 100, 10, 5000},
		"For count(*), one patient counts with at most 12 rows (chosen for this statement). " +
			"About 5,000 have more, at most 5,100 (95 %). " +
			"So many have more than that limit that nothing bounds what it leaves out. " +
			"SET dp.contribution = fixed; SET dp.max_rows = 10 (or as many rows as matter of one), " +
			"or ask the administrator to state max_rows.",
	},
	{
		"SELECT count(*) FROM visits", "auto", "gaussian",
		[4]int64{20_000, 2, 3, 0},
		"For count(*), one patient counts with at most 12 rows (chosen for this statement). " +
			"Perhaps none has more; at most 5 have (95 %). " +
			"So few are near that limit, as where few rows meet the conditions or none, that nothing bounds what it leaves out. " +
			"SET dp.contribution = fixed; SET dp.max_rows = 10 (or as many rows as matter of one), " +
			"or ask the administrator to state units and max_rows.",
	},
	{
		"SELECT diagnosis, sum(cost) FROM visits GROUP BY 1", "fixed", "laplace",
		[4]int64{20_000, 900, 300, 24},
		"For sum(cost), one patient counts with at most 800,000 in one group, or 266,667 in each of 3 (by the policy or the session). " +
			"About 24 have more, at most 47 (95 %). What they have beyond that is left out: about 9,600,000, at most 19,955,387 " +
			falls,
	},
	{
		"SELECT avg(n) FROM (SELECT patient_id, count(*) AS n FROM visits GROUP BY 1) t", "auto", "gaussian",
		[4]int64{20_000, 900, 300, 24},
		"For avg(n), one patient counts with at most 12 (chosen for this statement). About 24 have more, at most 31 (95 %). " +
			"What they have beyond that is left out: about 140, at most 186 " + falls,
	},
	{"SELECT count(*) FROM patients", "auto", "gaussian", [4]int64{20_000}, ""},
	{"SELECT sex, count(*), sum(birth_year) FROM patients GROUP BY 1", "fixed", "gaussian", [4]int64{20_000}, ""},
}

// TestCuts reads what is said of units above a limit: of about how many there are, of none, of one, of norms over
// groups and of sums; nothing where keys bound rows.
func TestCuts(t *testing.T) {
	for _, c := range cuts {
		p := planWith(t, connect(t), clinic(t), c.sql, func(s *planner.Settings) {
			s.Mechanism, s.Contribution = c.mechanism, c.contribution
		})
		b := p.Blocks[0]
		var released []*planner.Released
		for _, set := range b.Sets {
			released = append(released, &planner.Released{Clips: c.clips(set)})
		}
		if got := strings.Join(b.Cuts(released, "patient"), "\n"); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.sql, got, c.want)
		}
	}
}

// TestIntervalsOfTotals holds that as many patients are above the limit in totals as in groups, which is one limit, and
// that what they may have beyond it is √2 times as much in the total of three groups, since the norm may be: 2 is the
// cube root of 9, rounded. A group has a third of the square.
func TestIntervalsOfTotals(t *testing.T) {
	p := planWith(t, connect(t), clinic(t), "SELECT diagnosis, count(*), dp.cut(count(*)), dp.upper(count(*)), dp.stderr(count(*)) "+
		"FROM visits GROUP BY ROLLUP (1)", func(s *planner.Settings) {
		s.Mechanism, s.Contribution = "gaussian", planner.ChosenContribution
		s.ShowSmallGroups = true
	})
	b := p.Blocks[0]
	c := cut{tail: [4]int64{20_000, 900, 300, 24}}
	var released []*planner.Released
	for _, set := range b.Sets {
		r := &planner.Released{Clips: c.clips(set)}
		for range set.Size() {
			r.Rows = append(r.Rows, []*big.Int{big.NewInt(int64(3000 / set.Size()))})
		}
		released = append(released, r)
	}
	columns := b.Columns(released)
	column := func(i int) []float64 {
		var out []float64
		for text := range strings.SplitSeq(strings.Trim(columns[i], "{}"), ",") {
			f, err := strconv.ParseFloat(strings.Trim(text, `"`), 64)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, f)
		}
		return out
	}
	counts, cuts, upper, sigma := column(1), column(2), column(3), column(4)
	beyond := map[float64]float64{} // of the total and of a group
	for i, n := range counts {
		if cuts[i] != 24 {
			t.Errorf("row %d has %g units above the limit", i, cuts[i])
		}
		beyond[n] = upper[i] - n - 1.959964*sigma[i]
	}
	if ratio := beyond[3000] / beyond[1000]; math.Abs(ratio/math.Sqrt(2*3)-1) > 0.02 {
		t.Errorf("the total may be %g above, each of three groups %g", beyond[3000], beyond[1000])
	}
}

// TestCutsAgree: the figure of an error, and of all groups the largest, stands among those of what is said of units above a limit.
func TestCutsAgree(t *testing.T) {
	for _, c := range []struct{ sql, contribution, mechanism string }{
		{"SELECT count(*) FROM visits", "auto", "gaussian"},
		{"SELECT diagnosis, count(*) FROM visits GROUP BY 1", "auto", "gaussian"},
		{"SELECT diagnosis, count(*) FROM visits GROUP BY 1", "fixed", "gaussian"},
		{"SELECT diagnosis, count(*) FROM visits GROUP BY 1", "fixed", "laplace"},
		{"SELECT diagnosis, sum(cost) FROM visits GROUP BY 1", "auto", "gaussian"},
		{"SELECT diagnosis, date_part('year', day), count(*) FROM visits GROUP BY ROLLUP (1, 2)", "auto", "gaussian"},
		{"SELECT diagnosis, date_part('year', day), count(*) FROM visits GROUP BY ROLLUP (1, 2)", "fixed", "laplace"},
	} {
		p := planWith(t, connect(t), clinic(t), c.sql, func(s *planner.Settings) {
			s.Mechanism, s.Contribution = c.mechanism, c.contribution
		})
		b := p.Blocks[0]
		var released []*planner.Released
		for _, set := range b.Sets {
			r := &planner.Released{Clips: cut{tail: [4]int64{20_000, 900, 300, 24}}.clips(set)}
			for row := range set.Size() {
				r.Rows = append(r.Rows, []*big.Int{big.NewInt(int64(500 * (row + 1)))})
			}
			released = append(released, r)
		}
		bar, said := b.Errors(released)[0], strings.Join(b.Cuts(released, "patient"), "\n")
		_, figure, _ := strings.Cut(bar.Sentence("95 %"), "up to ")
		figure, _, _ = strings.Cut(figure, " more")
		if figure == "" || !strings.Contains(said, "at most "+figure+" ") {
			t.Errorf("%s (%s): the error leaves out up to %q: %s", c.sql, c.mechanism, figure, said)
		}
		t.Logf("%s: %s", figure, said)
	}
}
