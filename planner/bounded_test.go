package planner_test

import (
	"strings"
	"testing"

	"dpproxy/catalog"
	"dpproxy/planner/plannertest"
	"dpproxy/planner/policy"
)

// boundedClinic is a clinic whose policy bounds expressions over the columns of visits, with views of one.
func boundedClinic(t *testing.T) *policy.Model {
	t.Helper()
	p, s := clinicPolicy(), clinicSchema()
	p.Tables[1].Columns["at"] = plannertest.Bounds("2020-01-01 00:00:00Z", "2024-12-31 00:00:00Z")
	p.Tables[1].Derived = []policy.DerivedPolicy{
		{Name: "waited", Is: "at - day", Bounds: plannertest.Bounds("0 days", "1 day 12:00:00").Bounds},
		{Name: "rest", Is: "cost - tip", Bounds: plannertest.Bounds("0", "50").Bounds},
		{Name: "since", Is: "day - '2020-01-01'::date", Bounds: plannertest.Bounds("0", "60").Bounds},
		{Name: "rate", Is: "score / steps", Bounds: plannertest.Bounds("-0.001", "0.25").Bounds},
		{Name: "far", Is: "steps * steps", Bounds: plannertest.Bounds("10", "1000").Bounds},
	}
	for view, shown := range map[string]bool{"open": true, "closed": false} {
		v := &catalog.Table{Name: name(view), Kind: 'v', ViewShown: shown, Columns: []catalog.Column{column("left", numeric10, false)}}
		v.View = `SELECT v.cost - v.tip AS "left" FROM public.visits v`
		s.Tables[v.Name] = v
	}
	return checkedBy(t, p, s)
}

// boundedStatements compute expressions that have bounds.
var boundedStatements = []string{
	"SELECT sum(cost - tip), avg(cost - tip), count(cost - tip) FROM visits",
	"SELECT diagnosis, sum((tip + steps * steps)), sum(100 - (cost - tip)) FROM visits GROUP BY 1",
	"SELECT day - '2020-01-01'::date, count(*), sum(day - '2020-01-01'::date) FROM visits GROUP BY 1",
	"SELECT sum(s), max(s) FROM (SELECT patient_id, sum(cost - tip) AS s FROM visits GROUP BY 1) t",
	"SELECT d > 7, sum(d), avg(f) FROM (SELECT day - '2020-01-01'::date AS d, steps * steps AS f FROM visits) t GROUP BY 1",
	"SELECT avg(at - day), avg(extract(epoch FROM at - day) / 3600) FROM visits",
	"SELECT avg(coalesce(least(at - day, interval '1 day 20 hours'), interval '2 hours')) FROM visits",
	"SELECT sum(score / steps), var_pop(cost - tip), percentile_cont(0.5) WITHIN GROUP (ORDER BY steps * steps) FROM visits",
}

// TestBoundedRows holds that an expression has its bounds if it is computed of one row of the table, whatever that is called, and that
// the bounds of one in a view whose query is not shown do not tell of it.
func TestBoundedRows(t *testing.T) {
	conn, cat := connect(t), boundedClinic(t)
	const clamped, told = "values clamped to [0, 50]", "by the policy's rest (cost - tip in [0, 50])"
	for sql, want := range map[string]string{
		"sum(v.cost - v.tip) FROM patients p LEFT JOIN visits v ON v.patient_id = p.id":  told,
		"sum(c - t) FROM (SELECT cost AS c, tip AS t FROM (SELECT * FROM visits) a) b":   told,
		"max(n) FROM (SELECT patient_id, min(cost - tip) AS n FROM visits GROUP BY 1) v": told,
		`sum("left") FROM open`:   told,
		`sum("left") FROM closed`: clamped,
		"sum(a.cost - b.tip) FROM visits a JOIN visits b ON b.id = a.id AND b.patient_id = a.patient_id": "",
		"sum(tip - cost) FROM visits": "",
		"avg(at - day) FROM visits":   "by the policy's waited (at - day in [0 days, 1 day 12:00:00])",
		"sum(cost - t) FROM (SELECT patient_id, cost, max(tip) AS t FROM visits GROUP BY 1, 2) v":                  "",
		"sum(c - t) FROM (SELECT cost AS c, tip AS t FROM visits UNION ALL SELECT tip, cost FROM visits) v":        "",
		"sum(cost - t) FROM (SELECT cost, lag(tip) OVER (PARTITION BY patient_id ORDER BY id) AS t FROM visits) v": "",
	} {
		got := strings.Join(plan(t, conn, cat, "SELECT "+sql).ExplainVerbose(nil), "\n")
		is := strings.Contains(got, clamped) == (want == clamped || want == told) &&
			strings.Contains(got, "by the policy's") == (want != "" && want != clamped)
		if !is || !strings.Contains(got, want) {
			t.Errorf("%s: not %q in\n%s", sql, want, got)
		}
	}
}
