package planner_test

import (
	"testing"

	"dpproxy/internal/plantest"
	"dpproxy/planner"
)

// The numbers of people about a limit are all zero if no row adds anything, whatever the form that makes it nothing.
func TestNothingIsNear(t *testing.T) {
	conn := connect(t)
	for _, sql := range []string{
		"SELECT count(*) FILTER (WHERE patient_id < 0) FROM visits",
		"SELECT sum(cost) FILTER (WHERE patient_id < 0) FROM visits",
		"SELECT sum(CASE WHEN patient_id < 0 THEN cost ELSE 0 END) FROM visits",
		"SELECT sum(coalesce(nullif(cost, cost), 0)) FROM visits",
		"SELECT sum(x) FROM (SELECT patient_id, cost AS x FROM visits WHERE patient_id < 0 UNION ALL SELECT patient_id, 0.0 FROM visits) t",
		"SELECT diagnosis, sum(cost) FILTER (WHERE patient_id < 0) FROM visits GROUP BY 1",
		"SELECT diagnosis, sum(CASE WHEN patient_id < 0 THEN cost ELSE 0 END) FROM visits GROUP BY ROLLUP (1)",
	} {
		for _, contribution := range []string{"auto", "fixed"} {
			p := planWith(t, conn, clinic(t), sql, func(s *planner.Settings) {
				s.Mechanism, s.Contribution = "gaussian", contribution
				if contribution == "fixed" {
					s.MaxRows, s.MaxPartitions = 1, 1
				}
			})
			exacts := p.read(t, conn)
			for i, set := range p.Blocks[0].Sets {
				for _, m := range set.Measures {
					if m.Shared() || m.Tail == nil {
						continue
					}
					for _, level := range plantest.Limits(m.Norms[0]) {
						for place, units := range exacts[i].Units(m, 0).Tail(m, []int{level}) {
							if units.Sign() != 0 {
								t.Fatalf("%s, %s: %v people are in number %d of level %d", sql, contribution, units, place, level)
							}
						}
					}
				}
			}
		}
	}
}
