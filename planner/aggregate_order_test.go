package planner_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"dpproxy/planner"
)

// TestOrderOfAggregates holds that the order of output columns makes no other question: neither its reads, its noise nor its price
// differ, in each mechanism, with and without groups, and with an error to reach.
func TestOrderOfAggregates(t *testing.T) {
	conn, cat := connect(t), clinic(t)
	digest := func(q [][]byte) string { return string(bytes.Join(q, []byte{0})) }
	question := func(sql string, change func(*planner.Settings)) string {
		p := planWith(t, conn, cat, sql, change)
		b := p.Blocks[0]
		return digest(b.Question()) + digest(b.ReductionQuestion()) + string(b.Request())
	}
	settings := map[string]func(*planner.Settings){
		"laplace":     func(*planner.Settings) {},
		"auto":        func(s *planner.Settings) { s.Mechanism = "auto" },
		"exponential": func(s *planner.Settings) { s.Mechanism = "exponential" },
		"target": func(s *planner.Settings) {
			s.Mechanism, s.TypicalPico, s.Target.Relative = "brownian", s.EpsilonPico/10, 0.1
		},
	}
	lists := map[string][]string{
		"laplace": {
			"count(*)", "sum(cost)", "avg(cost)", "min(cost)", "max(day)", "count(DISTINCT hospital_id)", "stddev(cost)",
			"corr(cost, score)",
			"percentile_disc(0.9) WITHIN GROUP (ORDER BY steps)", "percentile_cont(0.1) WITHIN GROUP (ORDER BY steps)",
			"mode() WITHIN GROUP (ORDER BY diagnosis)", "bool_or(cost > 5)", "count(*) FILTER (WHERE cost > 7)",
			"count(*) FILTER (WHERE cost > 6)", "sum(cost) FILTER (WHERE steps > 6)", "sum(cost + 7)", "sum(cost + 6)",
			"dp.weight(count(tip), 3)", "dp.lower(avg(steps))",
		},
		"exponential": {
			"percentile_cont(0.5) WITHIN GROUP (ORDER BY cost)", "percentile_cont(0.9) WITHIN GROUP (ORDER BY cost)",
			"percentile_disc(ARRAY[0.7, 0.2]) WITHIN GROUP (ORDER BY steps)", "percentile_cont(0.4) WITHIN GROUP (ORDER BY steps)",
		},
		"target": {
			"count(*)", "sum(cost)", "avg(steps)", "count(*) FILTER (WHERE cost > 7)", "count(*) FILTER (WHERE cost > 6)",
			"count(tip)",
		},
	}
	lists["auto"] = lists["laplace"]
	for name, change := range settings {
		for i, a := range lists[name] {
			for _, b := range lists[name][:i] {
				for _, form := range []string{
					"SELECT %s FROM visits", "SELECT diagnosis, %s FROM visits WHERE day > '2020-02-03' GROUP BY 1",
				} {
					one, other := fmt.Sprintf(form, a+", "+b), fmt.Sprintf(form, b+", "+a)
					if question(one, change) != question(other, change) {
						t.Errorf("%s: another question than with the columns in the other order: %s", name, one)
					}
				}
			}
		}
		all, reversed := lists[name], []string{}
		for _, a := range all {
			reversed = append([]string{a}, reversed...)
		}
		one, other := "SELECT "+strings.Join(all, ", ")+" FROM visits", "SELECT "+strings.Join(reversed, ", ")+" FROM visits"
		if question(one, change) != question(other, change) {
			t.Errorf("%s: another question with all columns in the other order", name)
		}
	}
}
