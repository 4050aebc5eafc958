package planner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"dpproxy/parser"
	"dpproxy/pgerr"
	"dpproxy/planner"
	"dpproxy/planner/plannertest"
	"dpproxy/planner/work"
)

// many writes something so many times.
func many(n int, separator, format string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = strings.ReplaceAll(strings.ReplaceAll(format, "#+1", fmt.Sprint(i+1)), "#", fmt.Sprint(i))
	}
	return strings.Join(list, separator)
}

// within puts a query into others, so many times.
func within(n int, inner, around string) string {
	for i := range n {
		inner = strings.NewReplacer("#", fmt.Sprint(i), "@", inner).Replace(around)
	}
	return inner
}

// heavy are statements that take much work to be planned, or once did. The others are refused, with more than the most steps.
var heavy = []struct {
	sql     string
	planned bool
}{
	{"SELECT count(*) FROM patients t0" + many(60, "", " JOIN patients t#+1 ON t#+1.id = t#.id"), true},
	{"SELECT count(*) FROM patients t0" + many(60, "", " LEFT JOIN patients t#+1 ON t#+1.id = t#.id"), false},
	{"SELECT count(*) FROM visits t0" + many(30, "", " JOIN visits t#+1 ON t#+1.id = t#.id"), true},
	{"SELECT count(*) FROM labs t0" + many(20, "", " JOIN labs t#+1 ON t#+1.id = t#.id"), true},
	{
		"SELECT sum(" + many(55, " + ", "(SELECT p.birth_year FROM patients p WHERE p.id = v.patient_id AND p.birth_year > #)") +
			") FROM visits v", true,
	},
	{"SELECT count(*) FROM " + within(48, "(SELECT * FROM visits) s", "(SELECT * FROM @) s"), true},
	{"SELECT count(*) FROM " + within(40, "(SELECT "+many(300, ", ", "cost AS c#")+", patient_id FROM visits) s",
		"(SELECT "+many(300, ", ", "-c# AS c#")+", patient_id FROM @) s"), true},
	{"SELECT sum(CASE " + many(480, " ", "WHEN cost > # THEN #") + " END) FROM visits", true},
	{"SELECT sum(" + within(100, "1", "CASE WHEN cost > # THEN # ELSE @ END") + ") FROM visits", true},
	{"SELECT avg(cost) FROM visits WHERE " + many(480, " AND ", "cost > #"), true},
	{"SELECT sum(greatest(" + many(20_000, ", ", "cost") + ")) FROM visits", true},
	{"SELECT count(*) FROM visits GROUP BY CUBE (" + many(7, ", ", "cost + #") + ")", true},
	{"SELECT count(*) FROM visits GROUP BY ROLLUP (" + many(120, ", ", "cost + #") + ")", true},
	{"SELECT " + many(300, ", ", "stddev(cost + #)") + " FROM visits GROUP BY diagnosis", true},
	{"SELECT " + many(300, ", ", "percentile_cont(0.#) WITHIN GROUP (ORDER BY cost)") + " FROM visits", false},
	{"SELECT " + many(60, ", ", "(SELECT avg(cost) FROM visits WHERE cost > #)"), true},
}

// TestHeavy plans statements of adversaries: a statement ends as a plan, or after the most steps. By the clock these are half a second.
func TestHeavy(t *testing.T) {
	cat, conn, settings := clinic(t), connect(t), benchmarkSettings
	settings.DeltaAtto = 1e8
	for _, c := range heavy {
		name := c.sql[:min(len(c.sql), 200)]
		script, err := parser.Parse(c.sql, planner.Names(cat))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		m := work.New(t.Context(), work.Most)
		q, err := planner.Analyze(m, cat, script.Statements[0], nil)
		if err == nil {
			values := evaluate(t, conn, q, nil, nil)
			_, err = q.Specialize(m, values, settings)
		}
		refused, _ := errors.AsType[*pgerr.Error](err)
		switch {
		case c.planned && err != nil:
			t.Errorf("%s: %v", name, err)
		case !c.planned && (refused == nil || refused.Code != pgerr.StatementTooComplex || m.Err() == nil):
			t.Errorf("%s: %v after %d steps", name, err, m.Spent())
		}
		t.Logf("%8d steps: %.60s", m.Spent(), c.sql)
	}
}

// The end of a context ends planning wherever it is, and whatever else is wrong.
func TestPlanningEnds(t *testing.T) {
	cat := clinic(t)
	ends := func(sql string, plan bool) (looks int) {
		script, err := parser.Parse(sql, planner.Names(cat))
		if err != nil {
			t.Fatal(err)
		}
		q, err := planner.Analyze(nil, cat, script.Statements[0], nil)
		if err != nil {
			t.Fatal(err)
		}
		for ; looks < 10_000; looks++ {
			m := work.New(plannertest.EndsAt(t.Context(), looks), work.Most)
			if plan {
				_, err = q.Specialize(m, nil, benchmarkSettings)
			} else {
				_, err = planner.Analyze(m, cat, script.Statements[0], nil)
			}
			if !errors.Is(err, context.Canceled) {
				break
			}
		}
		if err != nil {
			t.Errorf("%s: %v at look %d", sql, err, looks)
		}
		return looks
	}
	joins := "SELECT count(*) FROM visits t0" + many(10, "", " JOIN visits t#+1 ON t#+1.id = t#.id")
	median := "SELECT diagnosis, stddev(cost), sum(" + within(60, "cost", "abs(@)") + ") FROM visits GROUP BY 1"
	if resolving, planning := ends(joins, false), ends(median, true); min(resolving, planning) < 2 {
		t.Errorf("%d and %d looks", resolving, planning)
	}
}
