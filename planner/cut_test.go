package planner_test

import (
	"math/big"
	"strings"
	"testing"

	"dpproxy/planner"
)

// falls ends what is said of a limit that most are within.
const falls = "if the number of those with more falls above the limit as it does below."

// cuts are statements with their tails, and what is said of them.
var cuts = []struct {
	sql, contribution, mechanism string
	tail                         [3]int64
	want                         string
}{
	{
		"SELECT count(*) FROM visits", "auto", "gaussian",
		[3]int64{4000, 900, 243},
		"For count(*), one patient counts with at most 12 rows (chosen for this statement). About 240 have more, at most 250 (95 %). " +
			"What they have beyond that is left out: about 2400 rows, at most 2500 " + falls,
	},
	{
		"SELECT count(*) FROM visits", "fixed", "gaussian",
		[3]int64{900, 30, -3},
		"For count(*), one patient counts with at most 20 rows (by the policy or the session). " +
			"Perhaps none has more; at most 5 have (95 %). " +
			"What they have beyond that is left out: at most 56 rows " + falls,
	},
	{
		"SELECT sum(cost) FROM visits", "fixed", "gaussian",
		[3]int64{900, 30, 1},
		"For sum(cost), one patient counts with at most 400000 (by the policy or the session). About 1 has more, at most 6 (95 %). " +
			"What they have beyond that is left out: about 200000, at most 1600000 " + falls,
	},
	{
		"SELECT diagnosis, count(*) FROM visits GROUP BY 1", "auto", "gaussian",
		[3]int64{900, 300, 24},
		"For count(*), one patient counts with at most 12 rows in one group, or 6.928 in each of 3 (chosen for this statement). " +
			"About 24 have more, at most 29 (95 %). What they have beyond that is left out: at most 180 rows of each group " +
			falls,
	},
	{
		"SELECT avg(cost) FROM visits", "auto", "gaussian",
		[3]int64{900, 300, 24},
		"For avg(cost), one patient counts up to a limit (chosen for this statement). About 24 have more, at most 29 (95 %). " +
			"What they have beyond that counts less, and moves avg(cost) by no more than is stated " + falls,
	},
	{
		"SELECT avg(cost) FROM visits", "auto", "gaussian",
		[3]int64{0, 3, 24},
		"For avg(cost), one patient counts up to a limit (chosen for this statement). About 24 have more, at most 29 (95 %). " +
			"So few are near that limit that nothing bounds what it does to avg(cost). " +
			"SET dp.contribution = fixed and dp.max_rows, or ask the administrator to state units and max_rows.",
	},
	{
		"SELECT avg(cost), stddev(cost) FROM visits", "fixed", "gaussian",
		[3]int64{900, 300, 24},
		"For avg(cost), stddev(cost), one patient counts up to a limit (by the policy or the session). " +
			"About 24 have more, at most 29 (95 %). " +
			"What they have beyond that counts less, and moves avg(cost) by no more than is stated " + falls +
			" What that does to stddev(cost) is not in the error.",
	},
	{
		"SELECT count(*) FROM visits", "auto", "laplace",
		[3]int64{100, 10, 5000},
		"For count(*), one patient counts with at most 12 rows (chosen for this statement). " +
			"About 5000 have more, at most 5100 (95 %). " +
			"That limit is below what most have, so that nothing bounds what it leaves out. " +
			"SET dp.contribution = fixed and dp.max_rows, or ask the administrator to state max_rows.",
	},
	{
		"SELECT count(*) FROM visits", "auto", "gaussian",
		[3]int64{2, 3, 0},
		"For count(*), one patient counts with at most 12 rows (chosen for this statement). " +
			"Perhaps none has more; at most 5 have (95 %). " +
			"So few are near that limit that nothing bounds what it leaves out. " +
			"SET dp.contribution = fixed and dp.max_rows, or ask the administrator to state units and max_rows.",
	},
	{
		"SELECT diagnosis, sum(cost) FROM visits GROUP BY 1", "fixed", "laplace",
		[3]int64{900, 300, 24},
		"For sum(cost), one patient counts with at most 800000 in one group, or 266667 in each of 3 (by the policy or the session). " +
			"About 24 have more, at most 47 (95 %). What they have beyond that is left out: about 9600000, at most 20000000 " +
			falls,
	},
	{
		"SELECT avg(n) FROM (SELECT patient_id, count(*) AS n FROM visits GROUP BY 1) t", "auto", "gaussian",
		[3]int64{900, 300, 24},
		"For avg(n), one patient counts with at most 12 (chosen for this statement). About 24 have more, at most 31 (95 %). " +
			"What they have beyond that is left out: about 140, at most 190 " + falls,
	},
	{"SELECT count(*) FROM patients", "auto", "gaussian", [3]int64{}, ""},
	{"SELECT sex, count(*), sum(birth_year) FROM patients GROUP BY 1", "fixed", "gaussian", [3]int64{}, ""},
}

// TestCuts reads what is said of units above a limit: of about how many there are, of none, of one, of norms over
// groups and of sums; nothing where keys bound rows.
func TestCuts(t *testing.T) {
	for _, c := range cuts {
		p := planWith(t, connect(t), clinic(t), c.sql, func(s *planner.Settings) {
			s.Mechanism, s.Contribution = c.mechanism, c.contribution
		})
		b := p.Blocks[0]
		r := &planner.Released{}
		for _, m := range b.Sets[0].Measures {
			clip := planner.Clip{Tail: []*big.Int{big.NewInt(c.tail[0]), big.NewInt(c.tail[1]), big.NewInt(c.tail[2])}}
			for _, n := range m.Norms {
				level := n.Fixed
				if n.Choice != nil {
					level = 6
				}
				clip.Levels = append(clip.Levels, level)
			}
			r.Clips = append(r.Clips, clip)
		}
		if got := strings.Join(b.Cuts([]*planner.Released{r}, "patient"), "\n"); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.sql, got, c.want)
		}
	}
}
