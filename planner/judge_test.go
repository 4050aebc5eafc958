package planner_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"dpproxy/accountant"
	"dpproxy/dp"
	"dpproxy/internal/plantest"
	"dpproxy/internal/stattest"
	"dpproxy/planner"
	"dpproxy/planner/policy"
)

// judgedBy has groups of fewer people than n withheld, at a confidence.
func judgedBy(n int64, confidence float64, empty string) planner.Settings {
	s := laplaceSettings()
	s.DeltaAtto, s.MinimumPeople, s.Judgment, s.EmptyGroups = 1e8, n, confidence, empty
	return s
}

// TestVerdictsFollowTheRule releases random integers, and holds that a group is shown exactly if its count, less what its noise exceeds
// with the probability of the rule, is at least the minimum: as it is shown without a rule. All else is left out, or NULL in every column.
// The confidence of errors decides nothing, nor do small groups.
func TestVerdictsFollowTheRule(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, tt := range []struct {
		sql, count, empty string
		least             int64
		keys              int
		judged            bool
		private           bool
	}{
		{
			"SELECT sex, count(*), avg(height), dp.error(avg(height)), dp.upper(count(*)) FROM people GROUP BY 1", "count of rows", "",
			10, 1, true, false,
		},
		{"SELECT sex, count(*), sum(height), dp.cut(sum(height)) FROM people GROUP BY 1", "count of rows", "hide", 10, 1, true, false},
		{"SELECT ward, count(*), count(DISTINCT person), sum(cost) FROM visits GROUP BY 1", "count of units", "null", 3, 1, true, false},
		{"SELECT ward, sum(cost) FROM visits GROUP BY 1", "count of units", "show", 25, 1, true, false},
		{"SELECT ward, sum(cost) FROM visits GROUP BY 1", "count of units", "hide", 0, 1, true, false},
		{"SELECT ward, count(*), sum(cost) FROM visits GROUP BY 1", "count of rows", "null", 0, 1, true, false},
		{"SELECT ward, count(*) FROM visits GROUP BY 1", "count of rows", "show", 0, 1, false, false},
		{"SELECT count(*), sum(cost) FROM visits", "count of units", "hide", 40, 0, true, false},
		{"SELECT count(*), sum(cost) FROM visits", "count of rows", "hide", 0, 0, false, false},
		{"SELECT cost, count(*), max(cost) FROM visits GROUP BY 1", "count of units", "show", 8, 1, true, true},
	} {
		for _, confidence := range []float64{0, 0.8, 0.99} {
			s := judgedBy(tt.least, confidence, tt.empty)
			if !tt.private {
				s.DeltaAtto = 0
			}
			b := plantest.Block(t, tt.sql, s)
			s.Alpha = 0.3
			other := plantest.Block(t, tt.sql, s)
			s.MinimumPeople, s.EmptyGroups = 0, ""
			free := plantest.Block(t, tt.sql, s)
			set := b.Sets[0]
			for range 20 {
				released, row := nearNone(set, r, tt.private), 0
				shown := rowsOfColumns(b.Columns([]*planner.Released{released}))
				if got := rowsOfColumns(other.Columns([]*planner.Released{released})); !sameVerdicts(shown, got, tt.keys) {
					t.Errorf("%s: another confidence of errors shows %v, not %v", tt.sql, got, shown)
				}
				verdict := b.Withheld([]*planner.Released{released})
				for at, want := range rowsOfColumns(free.Columns([]*planner.Released{asWithout(released, free.Sets[0])})) {
					pass := !tt.judged || passes(set, released, at, tt.count, max(tt.least, 1), confidence)
					gone := tt.private || tt.empty == "hide" && tt.keys > 0
					if !pass {
						verdict.Withheld--
					}
					switch {
					case !pass && gone:
						continue
					case !pass:
						for i := tt.keys; i < len(want); i++ {
							want[i] = "NULL"
						}
					}
					if row == len(shown) || !agree(shown[row], want, tt.sql) {
						t.Fatalf("%s at %v: row %d is %v, want %v", tt.sql, confidence, row, shown[min(row, len(shown)-1)], want)
					}
					row++
				}
				if row != len(shown) || verdict.Withheld != 0 {
					t.Errorf("%s: %d rows are shown, want %d; %d more are counted as withheld", tt.sql, len(shown), row, verdict.Withheld)
				}
			}
		}
	}
}

// nearNone draws integers of groups, most of them near no people and few.
func nearNone(set *planner.GroupingSet, r *rand.Rand, private bool) *planner.Released {
	out := &planner.Released{Clips: plantest.NewExact(set).Uncut()}
	for _, c := range out.Clips {
		for range cap(c.Tail) {
			c.Tail[0] = new(big.Int)
		}
	}
	n := set.Size()
	if private {
		n, out.Keys = 3, [][]*string{{new("1")}, {new("2")}, {new("3")}}
	}
	for range n {
		out.Rows = append(out.Rows, rowed(set, int64(r.IntN(120))-20))
	}
	return out
}

// asWithout is what was released, for a plan of the same statement without a rule.
func asWithout(of *planner.Released, set *planner.GroupingSet) *planner.Released {
	out := &planner.Released{Keys: of.Keys, Clips: of.Clips[:min(len(of.Clips), len(set.Measures))]}
	for _, row := range of.Rows {
		out.Rows = append(out.Rows, row[:set.Integers()])
	}
	return out
}

// passes is the rule, of the first statistic of a name.
func passes(set *planner.GroupingSet, of *planner.Released, row int, count string, least int64, confidence float64) bool {
	if confidence == 0 {
		confidence = 0.95
	}
	i := slices.IndexFunc(set.Statistics(), func(s planner.Statistic) bool { return s.Name == count })
	at := set.Statistics()[i].First
	noise := set.Noise(at, of.Clips).Quantile(2 * (1 - confidence))
	return float64(of.Rows[row][at].Int64())-noise >= float64(least)
}

// rowsOfColumns turns arrays of columns into rows.
func rowsOfColumns(columns []string) (rows [][]string) {
	for i, c := range columns {
		c = strings.Trim(c, "{}")
		if c == "" {
			return nil
		}
		for row, cell := range strings.Split(c, ",") {
			if i == 0 {
				rows = append(rows, nil)
			}
			rows[row] = append(rows[row], cell)
		}
	}
	return rows
}

// sameVerdicts reports whether the same rows are shown, and the same are NULL in their first value.
func sameVerdicts(a, b [][]string, keys int) bool {
	return slices.EqualFunc(a, b, func(x, y []string) bool {
		return slices.Equal(x[:keys], y[:keys]) && (x[keys] == "NULL") == (y[keys] == "NULL")
	})
}

// agree compares rows; the noise of a plan with a further release is larger, and so are the errors that it states and averages it hides.
func agree(got, want []string, sql string) bool {
	if !strings.Contains(sql, "dp.") && !strings.Contains(sql, "max(") {
		return slices.Equal(got, want)
	}
	if got[0] != want[0] || got[1] != want[1] {
		return false
	}
	return got[1] != "NULL" || !slices.ContainsFunc(got[1:], func(s string) bool { return s != "NULL" })
}

// TestJudgmentChangesNothingElse: without a rule, or with one whose count the answer has, a statement reads, draws and costs the same.
func TestJudgmentChangesNothingElse(t *testing.T) {
	conn := connect(t)
	for _, tt := range []struct {
		sql, empty string
		least      int64
		same       bool
	}{
		{"SELECT sex, count(*) FROM patients GROUP BY 1", "", 10, true},
		{"SELECT sex, count(*), avg(birth_year) FROM patients GROUP BY 1", "hide", 10, true},
		{"SELECT diagnosis, sum(cost), count(DISTINCT patient_id) FROM visits GROUP BY 1", "null", 5, true},
		{"SELECT diagnosis, count(*) FROM visits GROUP BY 1", "hide", 0, true},
		{"SELECT hospital_id, sum(cost) FROM visits GROUP BY 1", "hide", 0, true},
		{"SELECT sum(cost) FROM visits", "hide", 0, true},
		{"SELECT DISTINCT diagnosis FROM visits", "hide", 10, true},
		{"SELECT diagnosis, sum(cost) FROM visits GROUP BY 1", "show", 0, true},
		{"SELECT diagnosis, sum(cost) FROM visits GROUP BY 1", "hide", 0, false},
		{"SELECT diagnosis, count(*) FROM visits GROUP BY 1", "show", 5, false},
		{"SELECT diagnosis, count(*), count(DISTINCT patient_id) FILTER (WHERE cost > 1) FROM visits GROUP BY 1", "", 5, false},
		{"SELECT sum(cost) FROM visits", "", 5, false},
		{"SELECT DISTINCT hospital_id FROM visits", "", 5, false},
	} {
		with := planWith(t, conn, clinic(t), tt.sql, func(s *planner.Settings) { s.MinimumPeople, s.EmptyGroups = tt.least, tt.empty })
		without := plan(t, conn, clinic(t), tt.sql)
		same := slices.EqualFunc(with.Blocks[0].Question(), without.Blocks[0].Question(), slices.Equal)
		if same != tt.same {
			t.Errorf("%s, of %d people, %s: the question is the same: %t", tt.sql, tt.least, tt.empty, same)
		}
		if !tt.same && len(with.Event) <= len(without.Event) {
			t.Errorf("%s: the count is not charged: %v", tt.sql, with.Event)
		}
	}
}

// TestPriceOfJudgment: the count has a share of what the statement spends, and no more is charged than that.
func TestPriceOfJudgment(t *testing.T) {
	conn := connect(t)
	for _, mechanism := range []string{"laplace", "gaussian"} {
		const sql = "SELECT sex, sum(birth_year) FROM patients GROUP BY sex"
		p := planWith(t, conn, clinic(t), sql, func(s *planner.Settings) { s.MinimumPeople, s.Mechanism = 10, mechanism })
		if len(p.Event) != 2 {
			t.Fatal(p.Event)
		}
		for _, e := range p.Event {
			half, err := accountant.Price(e, dp.ZCDP)
			if err != nil {
				t.Fatal(err)
			}
			if rho := float64(half.Pico()) / dp.PicoPerUnit; rho > 0.25 || rho < 0.1 { // of ε = 1
				t.Errorf("%s: %v costs ρ = %v", mechanism, e, rho)
			}
		}
		said := strings.Join(p.ExplainVerbose(nil), "\n")
		if !strings.Contains(said, "people: measure 2, released for this, 50 % of the budget") {
			t.Error(said)
		}
	}
}

// TestPeopleOfNobody: of a table whose rows without a patient count the number of people is that of Postgres's COUNT(DISTINCT patient).
func TestPeopleOfNobody(t *testing.T) {
	conn := connect(t)
	for _, of := range []policy.Nobody{policy.NobodyRows, policy.NobodyPublic} {
		for _, from := range []string{"visits", "labs l JOIN visits v ON v.id = l.visit_id", "(SELECT * FROM visits WHERE cost > 20) v"} {
			sql := "SELECT sum(v.cost) FROM " + strings.Replace(from, "visits", "visits v", 1)
			if strings.Contains(from, " v") {
				sql = "SELECT sum(v.cost) FROM " + from
			}
			res, err := conn.Exec(t.Context(), strings.Replace(sql, "sum(v.cost)", "count(DISTINCT v.patient_id)", 1)).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			p := planWith(t, conn, countingClinic(t, of), sql, func(s *planner.Settings) { s.MinimumPeople = 10 })
			statistics := p.Blocks[0].Sets[0].Statistics()
			e := p.read(t, conn)[0]
			for _, n := range e.Integer(statistics[len(statistics)-1].Place, e.Uncut()) {
				if want := string(res[0].Rows[0][0]); n.String() != want {
					t.Errorf("%s, nobody %s: %v people, want %s", sql, of, n, want)
				}
			}
		}
	}
}

// TestSensitivityOfPeople removes patients and visits of nobody: each changes the number of people by what a unit may.
func TestSensitivityOfPeople(t *testing.T) {
	conn := connect(t)
	cat := countingClinic(t, policy.NobodyRows)
	plan := func(sql string) specialized {
		return planWith(t, conn, cat, sql, func(s *planner.Settings) { s.Mechanism, s.MinimumPeople = "gaussian", 3 })
	}
	reached := map[string]float64{}
	for _, sql := range []string{
		"SELECT diagnosis, count(*) FROM visits GROUP BY 1", "SELECT hospital_id, sum(cost) FROM visits GROUP BY 1",
		"SELECT sum(cost) FROM visits", "SELECT test, sum(value) FROM labs GROUP BY ROLLUP (test)",
		"SELECT DISTINCT hospital_id FROM visits",
	} {
		whole := plan(sql).read(t, conn)
		for _, removal := range []string{
			"DELETE FROM labs WHERE visit_id IN (SELECT id FROM visits WHERE patient_id = 1); DELETE FROM visits WHERE patient_id = 1; " +
				"DELETE FROM patients WHERE id = 1",
			"DELETE FROM labs WHERE visit_id = 10; DELETE FROM visits WHERE id = 10",
		} {
			run(t, conn, "BEGIN; "+removal)
			p := plan(sql)
			p.withinSensitivity(t, sql+" without some", whole, p.read(t, conn), reached)
			run(t, conn, "ROLLBACK")
		}
	}
}

// TestJudgmentOfReduction: with an error to reach the count of people gets as precise as a statement of the typical price would make it,
// and a group that is withheld is not measured further.
func TestJudgmentOfReduction(t *testing.T) {
	for _, mechanism := range []string{"brownian", "laplace_reduction"} {
		s := judgedBy(10, 0, "")
		s.Mechanism, s.Target, s.TypicalPico, s.DeltaAtto = mechanism, planner.Target{Relative: 0.01}, dp.PicoPerUnit/10, 0
		s.Pure = mechanism == "laplace_reduction"
		set := plantest.GroupingSet(t, "SELECT sum(height) FROM people", s)
		open := func(people int64, sigma float64) []float64 {
			r := &planner.Released{Rows: [][]*big.Int{rowed(set, people)}}
			r.Margins = [][]planner.Margin{{{Half: 1e6, Sigma: 1e6}, {Half: 2 * sigma, Sigma: sigma}}}
			w := set.Reduction.Open(r)
			if len(w) == 0 {
				return nil
			}
			return w[0].Factors
		}
		enough := 10 * math.Sqrt2 // 1/√(2ρ) of half of ρ = ε²/2
		if mechanism == "laplace_reduction" {
			enough = 20 * math.Sqrt2 // √2/ε of half of ε
		}
		if f := open(1000, 2*enough); len(f) != 2 || f[0] != 1 || math.Abs(f[1]-0.5) > 1e-9 {
			t.Errorf("%s: a rough count wants %v", mechanism, f)
		}
		if f := open(1000, enough); len(f) != 2 || f[0] >= 1 || f[1] != 1 {
			t.Errorf("%s: a group that is shown wants %v", mechanism, f)
		}
		if f := open(15, enough); f != nil {
			t.Errorf("%s: a group that is withheld wants %v", mechanism, f)
		}
	}
}

// TestJudgmentOfKnownErrors: with an error that is known before the answer the count has noise of its own, whatever the error is.
func TestJudgmentOfKnownErrors(t *testing.T) {
	widths := map[float64]float64{}
	for _, most := range []float64{100, 10_000} {
		s := judgedBy(10, 0, "")
		s.Mechanism, s.Target, s.TypicalPico, s.DeltaAtto = "gaussian", planner.Target{Error: most}, dp.PicoPerUnit/10, 0
		s.EpsilonPico = 1000 * dp.PicoPerUnit
		set := plantest.GroupingSet(t, "SELECT sum(height) FROM people", s)
		widths[most] = noiseOf(set, "count of rows").Quantile(0.05)
	}
	if widths[100] != widths[10_000] || widths[100] < 20 || widths[100] > 30 { // 1.96 of σ = 10·√2
		t.Error(widths)
	}
}

// TestWithheldIsSaid: a count says how many groups are withheld, and errors are of the others.
func TestWithheldIsSaid(t *testing.T) {
	s := judgedBy(10, 0, "")
	s.DeltaAtto = 0
	b := plantest.Block(t, "SELECT sex, count(*), avg(height) FROM people GROUP BY sex", s)
	set := b.Sets[0]
	one := []*planner.Released{{Rows: [][]*big.Int{rowed(set, 11), rowed(set, 100_000)}}}
	none := groupsOf(set, 9)
	for released, want := range map[*[]*planner.Released]string{
		&one:  "1 group withheld: fewer than 10 people by the released counts (values are NULL).",
		&none: "2 groups withheld: fewer than 10 people by the released counts (values are NULL).",
	} {
		if got := b.Withheld(*released).String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if hidden, all := b.SmallGroups(one); hidden != 0 || all != 1 {
		t.Errorf("%d of %d values are small", hidden, all)
	}
	large := []*planner.Released{{Rows: [][]*big.Int{rowed(set, 100_000), rowed(set, 100_000)}}}
	if got, want := b.Errors(one), b.Errors(large); !slices.Equal(got, want) {
		t.Errorf("beside a withheld group errors are %v, else %v", got, want)
	}
	if got := b.Errors(none)[0].String(); got != "count(*) withheld" {
		t.Error(got)
	}
	if said := b.ErrorGroups(one); said != nil {
		t.Errorf("errors of withheld groups: %v", said)
	}
	s.MinimumPeople, s.EmptyGroups = 0, "hide"
	b = plantest.Block(t, "SELECT sex, count(*) FROM people GROUP BY sex", s)
	if got := fmt.Sprint(b.Withheld(groupsOf(b.Sets[0], 0))); got != "2 groups of 2 without a row by the released counts (left out)." {
		t.Error(got)
	}
	b = plantest.Block(t, "SELECT sum(height) FROM people", judgedBy(10, 0, ""))
	if got := fmt.Sprint(b.Withheld(groupsOf(b.Sets[0], 0))); got != "The answer is withheld: fewer than 10 people by the released count." {
		t.Error(got)
	}
}

// TestWithheldTellsNoLimits: an answer of which nothing is shown does not tell how many people are above a limit, nor which limit was
// chosen.
func TestWithheldTellsNoLimits(t *testing.T) {
	conn := connect(t)
	for _, sql := range []string{"SELECT count(*) FROM visits", "SELECT diagnosis, sum(cost) FROM visits GROUP BY 1"} {
		b := planWith(t, conn, clinic(t), sql, func(s *planner.Settings) {
			s.Mechanism, s.Contribution, s.MinimumPeople = "gaussian", planner.ChosenContribution, 10
		}).Blocks[0]
		set, tail := b.Sets[0], cuts[0]
		tail.tail = [4]int64{20_000, 100, 10, 5000}
		for people, told := range map[int64]bool{-1: false, 1 << 50: true} {
			released := []*planner.Released{{Clips: tail.clips(set)}}
			for range set.Size() {
				released[0].Rows = append(released[0].Rows, rowed(set, people))
			}
			if got := b.Cuts(released, "patient"); len(got) > 0 != told {
				t.Errorf("%s, of %d: %q", sql, people, got)
			}
			if got := b.Unanswered(released, "patient", 1e11); len(got) > 0 != told {
				t.Errorf("%s, of %d: %v", sql, people, got)
			}
		}
	}
}

// TestVerdictsAreOfReleasedCounts: totals that are made to agree, and cells that are shown without negative ones, decide no verdict.
func TestVerdictsAreOfReleasedCounts(t *testing.T) {
	for _, consistent := range []bool{false, true} {
		s := judgedBy(10, 0, "")
		s.Consistent, s.DeltaAtto = consistent, 0
		b := plantest.Block(t, "SELECT sex, count(*) FROM people GROUP BY ROLLUP (sex)", s)
		released := make([]*planner.Released, len(b.Sets))
		for i, set := range b.Sets {
			released[i] = &planner.Released{Rows: [][]*big.Int{rowed(set, 10_000)}}
			if set.Size() == 2 {
				released[i].Rows = [][]*big.Int{rowed(set, 11), rowed(set, 5000)}
			}
		}
		shown := map[string]bool{}
		for _, row := range rowsOfColumns(b.Columns(released)) {
			shown[strings.Trim(row[0], `"`)] = row[1] != "NULL"
		}
		if fmt.Sprint(shown) != "map[NULL:true f:false m:true]" {
			t.Errorf("consistent: %t: %v", consistent, shown)
		}
	}
}

// TestChanceOfVerdicts draws the noise of counts, and holds that a group of one person less than the minimum is shown as rarely as the
// confidence says, and that the bar is not much higher than that takes.
func TestChanceOfVerdicts(t *testing.T) {
	src := stattest.Source(t)
	const draws = 40_000
	for _, mechanism := range []string{"laplace", "gaussian"} {
		for _, sql := range []string{"SELECT sex, sum(height) FROM people GROUP BY 1", "SELECT ward, sum(cost) FROM visits GROUP BY 1"} {
			for _, confidence := range []float64{0.95, 0.99} {
				s := judgedBy(10, confidence, "")
				s.Mechanism, s.EpsilonPico, s.DeltaAtto = mechanism, dp.PicoPerUnit/10, 0
				b := plantest.Block(t, sql, s)
				set := b.Sets[0]
				clips := plantest.NewExact(set).Uncut()
				st := set.Statistics()[len(set.Statistics())-1]
				noise, shown := set.Noise(st.First, clips), 0
				r := &planner.Released{Clips: clips}
				for range set.Size() {
					r.Rows = append(r.Rows, rowed(set, 9))
				}
				for range draws / set.Size() {
					for _, row := range r.Rows {
						nine := new(big.Int).Lsh(big.NewInt(9), noise.Bits)
						row[st.First] = noise.Shown(nine.Add(nine, noise.Of.Sample(new(big.Int), src)))
					}
					shown += set.Size() - b.Withheld([]*planner.Released{r}).Withheld
				}
				part, most := float64(shown)/draws, 1-confidence
				if slack := 6 * math.Sqrt(most/draws); part > most+slack || part < most/2-slack {
					t.Errorf("%s, %s at %v: %v of the groups of nine are shown", sql, mechanism, confidence, part)
				}
			}
		}
	}
}

// TestReplicasKeepVerdicts draws other integers, and holds that they hide and leave out exactly the same as the answer: withheld groups,
// and averages of small ones. Judged anew, they would not.
func TestReplicasKeepVerdicts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, tt := range []struct {
		sql, empty string
		least      int64
		private    bool
	}{
		{"SELECT sex, count(*), avg(height), dp.upper(count(*)) FROM people GROUP BY 1", "null", 10, false},
		{"SELECT sex, count(*), avg(height) FROM people GROUP BY 1", "show", 0, false},
		{"SELECT ward, count(*), sum(cost) FROM visits GROUP BY 1", "hide", 3, false},
		{"SELECT count(*), sum(cost) FROM visits", "hide", 40, false},
		{"SELECT cost, count(*), max(cost) FROM visits GROUP BY 1", "show", 8, true},
	} {
		s := judgedBy(tt.least, 0, tt.empty)
		if !tt.private {
			s.DeltaAtto = 0
		}
		b, anew := plantest.Block(t, tt.sql, s), 0
		for range 40 {
			of, other := nearNone(b.Sets[0], r, tt.private), nearNone(b.Sets[0], r, tt.private)
			want := nullsOf(b.Columns([]*planner.Released{of}))
			judged := b.Judged([]*planner.Released{of})
			if got := nullsOf(b.Columns([]*planner.Released{judged[0].Replica(other.Rows)})); got != want {
				t.Fatalf("%s: a replica shows\n%s, the answer\n%s", tt.sql, got, want)
			}
			if got := nullsOf(b.Columns([]*planner.Released{of.Replica(other.Rows)})); got != want {
				anew++
			}
		}
		if anew == 0 {
			t.Errorf("%s: no replica would be judged otherwise", tt.sql)
		}
	}
}

// nullsOf says of each cell whether it is NULL.
func nullsOf(columns []string) string {
	var b strings.Builder
	for _, row := range rowsOfColumns(columns) {
		for _, cell := range row {
			fmt.Fprintf(&b, "%v ", cell == "NULL")
		}
		b.WriteString("\n")
	}
	return b.String()
}
