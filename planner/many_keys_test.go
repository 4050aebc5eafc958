package planner_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestManyKeys has DATA plan every aggregate by one to six keys, with and without public values, alone and beside
// every other.
func TestManyKeys(t *testing.T) {
	conn := connect(t)
	cat := clinic(t)
	keys := []string{"diagnosis", "extract(year FROM day)", "hospital_id", "steps", "cost", "extract(month FROM day)"}
	aggregates := []string{
		"count(*)", "count(tip)", "sum(cost)", "avg(cost)", "min(cost)", "max(day)", "count(DISTINCT hospital_id)", "stddev(cost)",
		"corr(cost, score)", "percentile_cont(0.5) WITHIN GROUP (ORDER BY cost)", "percentile_disc(0.9) WITHIN GROUP (ORDER BY steps)",
		"mode() WITHIN GROUP (ORDER BY diagnosis)", "bool_or(cost > 5)", "sum(cost) FILTER (WHERE steps > 5)", "count(DISTINCT patient_id)",
	}
	for n := 1; n <= len(keys); n++ {
		by := strings.Join(keys[:n], ", ")
		for i, a := range aggregates {
			asked := []string{a}
			for _, b := range aggregates[i+1:] {
				asked = append(asked, a+", "+b)
			}
			for _, list := range asked {
				sql := fmt.Sprintf("SELECT %s, %s FROM visits GROUP BY %s", by, list, by)
				p := plan(t, conn, cat, sql)
				for _, set := range p.Blocks[0].Sets {
					for _, r := range set.Reads {
						if _, err := conn.Prepare(t.Context(), "", r.SQL, nil); err != nil {
							t.Fatalf("%s: %v", sql, err)
						}
					}
				}
			}
		}
	}
}
