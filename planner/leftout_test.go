package planner_test

import (
	"math/big"
	"strings"
	"testing"

	"dpproxy/planner"
	"dpproxy/planner/plannertest"
	"dpproxy/planner/policy"
)

// smokers are public groups, and listed is said of what is computed of them.
const (
	smokers = "(SELECT smoker, count(*) AS n FROM patients GROUP BY 1) g"
	listed  = "groups without rows, which count in what is computed of the groups"
)

// TestOutside: whatever an answer leaves out and no error contains is named before the errors, in one order.
func TestOutside(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{"SELECT count(*) FROM visits", ""},
		{"SELECT sum(cost) FROM visits", "cost beyond [0, 20000]"},
		{"SELECT sum(birth_year - birth_year % 2) FROM patients WHERE smoker", "birth_year beyond [1920, 2010]"},
		{"SELECT avg(cost - steps), sum(cost) FROM visits", "cost beyond [0, 20000], steps beyond [0, 100000]"},
		{"SELECT sum(least(greatest(cost, 0), 500)) FROM visits", "computed values beyond [0, 500]"},
		{
			"SELECT sum(v.cost) FROM visits v JOIN visits w ON v.patient_id = w.patient_id",
			"joined rows of public.visits beyond 20 of one patient, cost beyond [0, 20000]",
		},
		{
			"SELECT count(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING count(*) > 3) d",
			"rows in public.visits beyond 20 of one patient in a group",
		},
		{"SELECT avg(CASE WHEN cost > 100 THEN 1.0 ELSE 0 END) - avg((steps > 5)::int) FROM visits", ""},
		{"SELECT avg(a - b), sum(2 * a) FROM (SELECT (cost > 9)::int AS a, CASE WHEN steps > 3 THEN 1 END AS b FROM visits) q", ""},
		{"SELECT avg(CASE WHEN smoker THEN birth_year ELSE 1950 END) FROM patients", "computed values beyond [1920, 2010]"},
		{"SELECT stddev(cost) FROM visits", "cost beyond [0, 20000], what limits do to stddev"},
		{"SELECT avg(cost) FROM visits", "cost beyond [0, 20000]"},
		{"SELECT hospital_id, count(*) FROM visits GROUP BY 1", "groups that few units (patient) have"},
		{
			"SELECT hospital_id, count(*), sum(count(*)) OVER (ORDER BY hospital_id) FROM visits GROUP BY 1",
			"groups that few units (patient) have and that sums over the groups lack",
		},
		{"SELECT count(*) FROM " + smokers, listed},
		{"SELECT avg(n) FROM " + smokers, listed},
		{"SELECT sum(n + 1) FROM " + smokers, listed},
		{"SELECT sum(round(n)) FROM " + smokers, listed},
		{"SELECT sum(CASE WHEN n > 5 THEN 1 END) FROM " + smokers, listed},
		{"SELECT smoker, rank() OVER (ORDER BY n) FROM " + smokers, listed},
		{"SELECT smoker, n - avg(n) OVER () FROM " + smokers, listed},
		{"SELECT smoker, avg(count(*)) OVER () FROM patients GROUP BY 1", listed},
		{"SELECT sum(g.n) FROM " + smokers + ", (SELECT smoker, count(birth_year) AS m FROM patients GROUP BY 1) h", listed},
		{"SELECT sum(n), sum(2 * n::numeric / 7), sum(coalesce(-n, 0) - n) FROM " + smokers, ""},
		{"SELECT smoker, sum(count(*)) OVER (ORDER BY smoker) FROM patients GROUP BY 1", ""},
		{"SELECT avg(n) FROM " + smokers + " WHERE n > 10", ""},
		{"SELECT avg(n) FROM (SELECT count(*) AS n FROM patients) g", ""},
		{"SELECT smoker, n, 100 * n FROM " + smokers, ""},
		{
			"SELECT (SELECT count(*) FROM patients), (SELECT sum(cost) FROM visits), (SELECT sum(cost) FROM visits WHERE true)",
			"cost beyond [0, 20000]",
		},
	} {
		p := planWith(t, connect(t), clinic(t), c.sql, func(s *planner.Settings) {
			s.Mechanism, s.Contribution = "auto", planner.FixedContribution
		})
		released := make([][]*planner.Released, len(p.Blocks))
		for i, b := range p.Blocks {
			for _, set := range b.Sets {
				released[i] = append(released[i], &planner.Released{Clips: cut{tail: [4]int64{20_000, 900, 300, 24}}.clips(set)})
			}
		}
		if got := strings.Join(p.Outside(released), ", "); got != c.want {
			t.Errorf("%s: %q, want %q", c.sql, got, c.want)
		}
	}
}

// TestLimitsAreSaid: of whatever a limit may leave something out of, the error has a part for that, or the answer begins with it.
func TestLimitsAreSaid(t *testing.T) {
	const percentile = " WITHIN GROUP (ORDER BY cost)"
	calls := map[string]string{
		"count": "count(*)", "sum": "sum(cost)", "avg": "avg(cost)", "mode": "mode() WITHIN GROUP (ORDER BY diagnosis)",
		"percentile_cont": "percentile_cont(0.9)" + percentile, "percentile_disc": "percentile_disc(0.5)" + percentile,
		"min": "min(cost)", "max": "max(cost)",
		"bool_and": "bool_and(cost > 5)", "every": "every(cost > 5)", "bool_or": "bool_or(cost > 5)",
	}
	said := func(t *testing.T, call, by, contribution string) {
		p := planWith(t, connect(t), clinic(t), "SELECT "+call+" FROM visits"+by, func(s *planner.Settings) {
			s.Mechanism, s.Contribution, s.ShowSmallGroups, s.EpsilonPico = "auto", contribution, true, 20*s.EpsilonPico
		})
		set := p.Blocks[0].Sets[0]
		released := &planner.Released{Clips: cut{tail: [4]int64{20_000, 900, 300, 24}}.clips(set)}
		for range set.Size() {
			row := make([]*big.Int, set.Integers())
			for i := range row {
				row[i] = big.NewInt(1 << 20)
			}
			for _, s := range set.Statistics() {
				if strings.HasPrefix(s.Name, "sum of squares") { // so that they have a variance
					row[s.First] = big.NewInt(1 << 45)
				}
			}
			released.Rows = append(released.Rows, row)
		}
		of := [][]*planner.Released{{released}}
		if strings.Contains(strings.Join(p.Outside(of), ", "), "what limits do to ") {
			return
		}
		for _, bar := range planner.Errors(p.Plan, of) {
			if !(bar.Beyond > 0) {
				t.Errorf("%s%s, limits %s: %s, and it begins with %q", call, by, contribution, bar, p.Outside(of))
			}
		}
	}
	for _, name := range planner.AggregateNames() {
		calls := []string{calls[name]}
		if calls[0] == "" { // of moments
			calls = []string{name + "(cost)", name + "(cost - tip)"}
			if strings.HasPrefix(name, "co") || strings.HasPrefix(name, "regr") {
				calls = []string{name + "(cost, steps)", name + "(cost - tip, steps)"}
			}
		}
		for _, call := range calls {
			for _, by := range []string{"", " GROUP BY diagnosis"} {
				for _, contribution := range []string{planner.FixedContribution, planner.ChosenContribution} {
					said(t, call, by, contribution)
				}
			}
		}
	}
}

// TestErrorsAreOfClampedValues: each error says to which bounds the values are clamped that it is of, whatever it is an error of, where an
// answer begins with the values beyond them, and only there.
func TestErrorsAreOfClampedValues(t *testing.T) {
	const percentile = " WITHIN GROUP (ORDER BY cost)"
	for _, of := range []string{
		"sum(cost)", "avg(cost)", "stddev(cost)", "var_pop(cost)", "covar_samp(cost, cost)", "corr(cost, cost)", "regr_slope(cost, cost)",
		"regr_avgx(cost, cost)", "min(cost)", "max(cost)", "percentile_cont(0.9)" + percentile, "percentile_disc(0.5)" + percentile,
		"sum(cost) FILTER (WHERE steps > 3)", "avg(cost) + 1", "max(cost) - min(cost)", "count(*)", "count(cost)",
		"count(DISTINCT patient_id)",
	} {
		for where, clamps := range map[string]bool{
			"": !strings.Contains(of, "count"), " WHERE cost > 5": !strings.Contains(of, "count"), " WHERE cost BETWEEN 0 AND 20000": false,
		} {
			for _, contribution := range []string{planner.FixedContribution, planner.ChosenContribution} {
				sql := "SELECT " + of + " FROM visits" + where
				p := planWith(t, connect(t), clinic(t), sql, func(s *planner.Settings) {
					s.Mechanism, s.Contribution = "auto", contribution
				})
				named := strings.Contains(strings.Join(p.Outside([][]*planner.Released{nil}), ", "), "cost beyond ")
				bars := ""
				for _, bar := range planner.Errors(p.Plan, nil) {
					bars += bar.String() + "\n"
				}
				for place, said := range map[string]string{
					"EXPLAIN": strings.Join(p.ExplainVerbose(nil), "\n"), "dp.plan": strings.Join(p.ErrorsBefore(), "\n"), "a notice": bars,
				} {
					if got := strings.Contains(said, "of values clamped to ["); got != clamps || named != clamps {
						t.Errorf("%s: the values beyond bounds are named: %v, and %s says\n%s", sql, named, place, said)
					}
				}
			}
		}
	}
}

// TestErrorsOfComputedValues: columns are clamped each by itself, so that a value which is computed of two of them can be another one
// though it is within the bounds of the expression. The columns are named.
func TestErrorsOfComputedValues(t *testing.T) {
	const columns = "computed of cost in [0, 20000] and steps in [0, 100000]"
	for sql, want := range map[string]string{
		"SELECT avg(cost - steps) FROM visits":                                    "of values clamped to [-100000, 20000], " + columns,
		"SELECT sum(cost - steps) FROM visits":                                    "of values clamped to [-100000, 20000], " + columns,
		"SELECT avg(cost - steps) FROM visits WHERE steps BETWEEN 0 AND 100000":   "20000], computed of cost in [0, 20000]",
		"SELECT max(greatest(cost - steps, 0)) FROM visits":                       columns,
		"SELECT avg(n) FROM (SELECT patient_id, cost - steps AS n FROM visits) q": columns,
	} {
		p := planWith(t, connect(t), clinic(t), sql, func(s *planner.Settings) {
			s.Mechanism, s.Contribution = "auto", planner.FixedContribution
		})
		for _, bar := range planner.Errors(p.Plan, nil) {
			if !strings.Contains(bar.String(), want) {
				t.Errorf("%s: %s, want %q", sql, bar, want)
			}
		}
	}
}

// TestNobodyIsSaid: rows that belong to nobody are named first, unless the statement itself leaves them out, as a join on the unit does.
func TestNobodyIsSaid(t *testing.T) {
	const (
		visits = "rows of public.visits without patient (patient_id is NULL)"
		labs   = "rows of public.labs without patient (visits.patient_id is NULL)"
	)
	s := plannertest.ClinicSchema()
	s.Tables[name("visits")].Columns[1].NotNull = false
	cat := plannertest.CheckedBy(t, plannertest.ClinicPolicy(), s)
	for _, c := range []struct{ sql, want string }{
		{"SELECT count(*) FROM patients", ""},
		{"SELECT count(*) FROM visits", visits},
		{"SELECT count(*) FROM visits WHERE patient_id IS NULL", visits},
		{"SELECT count(*) FROM visits WHERE patient_id IS NOT NULL", ""},
		{"SELECT count(*) FROM visits WHERE patient_id > 7 AND cost > 3", ""},
		{"SELECT count(*) FROM visits WHERE patient_id > 7 OR cost > 3", visits},
		{"SELECT sum(cost) FROM visits", visits + "; cost beyond [0, 20000]"},
		{"SELECT count(*) FROM labs", labs},
		{"SELECT count(*) FROM labs l JOIN visits v ON v.id = l.visit_id", visits},
		{"SELECT count(*) FROM patients p JOIN visits v ON v.patient_id = p.id", ""},
		{"SELECT count(*) FROM patients p LEFT JOIN visits v ON v.patient_id = p.id", ""},
		{"SELECT count(*) FROM visits v LEFT JOIN patients p ON v.patient_id = p.id", visits},
		{"SELECT count(*) FROM (SELECT patient_id, max(cost) FROM visits GROUP BY 1) q", visits},
		{"SELECT count(*) FROM (SELECT id FROM visits UNION ALL SELECT id FROM labs) q", visits + "; " + labs},
		{"SELECT count(*) FROM patients p WHERE EXISTS (SELECT FROM visits v WHERE v.patient_id = p.id)", ""},
		{"SELECT count(*) FROM patients p WHERE id IN (SELECT patient_id FROM visits)", ""},
		{"SELECT count(*) FROM patients p WHERE id NOT IN (SELECT patient_id FROM visits)", visits},
	} {
		p := planWith(t, connect(t), cat, c.sql, func(s *planner.Settings) { s.Contribution = planner.FixedContribution })
		if got := strings.Join(p.Outside(make([][]*planner.Released, len(p.Blocks))), "; "); got != c.want {
			t.Errorf("%s: %q, want %q", c.sql, got, c.want)
		}
	}
}

// TestNobodyByAHiddenColumn: a column that the policy hides is not named.
func TestNobodyByAHiddenColumn(t *testing.T) {
	s := plannertest.ClinicSchema()
	s.Tables[name("visits")].Columns[1].NotNull = false
	p := plannertest.ClinicPolicy()
	p.Tables[1].Columns["patient_id"] = policy.ColumnPolicy{Hidden: true}
	plan := planWith(t, connect(t), plannertest.CheckedBy(t, p, s), "SELECT count(*) FROM visits", func(*planner.Settings) {})
	got := strings.Join(plan.LeftOut(), "\n")
	if strings.Contains(got, "patient_id") || !strings.Contains(got, "that belong to no patient") {
		t.Errorf("of a hidden column is said %q", got)
	}
}
