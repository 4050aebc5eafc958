package planner_test

import (
	"testing"

	"dpproxy/planner/plannertest"
	"dpproxy/planner/policy"
)

// boundedClinic is a clinic whose policy bounds expressions over the columns of visits.
func boundedClinic(t *testing.T) *policy.Model {
	t.Helper()
	p := clinicPolicy()
	p.Tables[1].Derived = []policy.DerivedPolicy{
		{Name: "rest", Is: "cost - tip", Bounds: plannertest.Bounds("0", "50").Bounds},
		{Name: "since", Is: "day - '2020-01-01'::date", Bounds: plannertest.Bounds("0", "60").Bounds},
		{Name: "rate", Is: "score / steps", Bounds: plannertest.Bounds("-0.001", "0.25").Bounds},
		{Name: "far", Is: "steps * steps", Bounds: plannertest.Bounds("10", "1000").Bounds},
	}
	return checkedBy(t, p, clinicSchema())
}

// boundedStatements compute expressions that have bounds.
var boundedStatements = []string{
	"SELECT sum(cost - tip), avg(cost - tip), count(cost - tip) FROM visits",
	"SELECT diagnosis, sum((tip + steps * steps)), sum(100 - (cost - tip)) FROM visits GROUP BY 1",
	"SELECT day - '2020-01-01'::date, count(*), sum(day - '2020-01-01'::date) FROM visits GROUP BY 1",
	"SELECT sum(s), max(s) FROM (SELECT patient_id, sum(cost - tip) AS s FROM visits GROUP BY 1) t",
	"SELECT d > 7, sum(d), avg(f) FROM (SELECT day - '2020-01-01'::date AS d, steps * steps AS f FROM visits) t GROUP BY 1",
	"SELECT sum(score / steps), var_pop(cost - tip), percentile_cont(0.5) WITHIN GROUP (ORDER BY steps * steps) FROM visits",
}
