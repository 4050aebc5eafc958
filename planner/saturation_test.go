package planner_test

import (
	"math/big"
	"testing"

	"dpproxy/fold"
	"dpproxy/planner"
)

// Of sums that are so large that they are saturated, a unit is known to be above each limit that can be chosen: its answer says
// that nothing bounds what is left out, rather than being quietly too small.
func TestSaturatedIsAboveEveryLimit(t *testing.T) {
	saturated := 0
	for _, sql := range []string{
		"SELECT diagnosis, sum(cost * cost) FROM visits GROUP BY 1",
		"SELECT diagnosis, sum(CAST(steps AS bigint) * 1000000) FROM visits GROUP BY 1",
		"SELECT hospital_id, diagnosis, sum(cost * cost) FROM visits GROUP BY CUBE (1, 2)",
	} {
		for _, mechanism := range []string{"laplace", "gaussian"} {
			p := specializeWith(t, clinic(t), sql, func(s *planner.Settings) {
				s.Contribution, s.Mechanism = planner.ChosenContribution, mechanism
			})
			for _, sums := range sumsOf(p.Plan) {
				saturated += saturatedAbove(t, sql, sums)
			}
		}
	}
	if saturated < 6 {
		t.Errorf("%d sums are saturated", saturated)
	}
}

// TestSaturatedMomentsDoNotCount holds that a unit whose rows or squares are saturated is above all limits of their norm, also those by
// which units are told apart: its other sums are not within the root of these norms.
func TestSaturatedMomentsDoNotCount(t *testing.T) {
	moments := 0
	for _, sql := range []string{
		"SELECT diagnosis, stddev(cost * tip), corr(cost * tip, cost - tip) FROM visits GROUP BY 1",
		"SELECT stddev(cost * tip), corr(cost * tip, steps - cost) FROM visits",
		"SELECT hospital_id, covar_pop(cost * tip, cost - tip) FROM visits GROUP BY 1",
	} {
		for _, mechanism := range []string{"laplace", "gaussian"} {
			p := specializeWith(t, unlimitedClinic(t), sql, func(s *planner.Settings) { s.Mechanism = mechanism })
			for _, sums := range sumsOf(p.Plan) {
				for _, n := range sums.Norms {
					most, last := sums.Summands[n.Summand].Most, n.Limits[len(n.Limits)-1]
					if n.Kind == fold.Root {
						most = new(big.Int).Mul(most, most)
					}
					if most.Cmp(last) <= 0 {
						t.Errorf("%s: %v, at which a unit is saturated, is within %v", sql, most, last)
					}
				}
			}
			for _, m := range p.Blocks[0].Sets[0].Measures {
				moments++
				for i, n := range m.Norms {
					if last, most := n.Grid.Limit(n.Grid.Len()-1), []float64{1_000_000, 1 << 49, 1 << 49}[i]; last >= most {
						t.Errorf("%s: norm %d has the limit %v, and is saturated at %v", sql, i, last, most)
					}
				}
			}
		}
	}
	if moments != 10 {
		t.Errorf("%d measures", moments)
	}
}

// TestRoomForRows holds that more than ten rows of the largest value are within the largest limit of a sum in groups: a unit beyond it is
// cut whatever limit is chosen.
func TestRoomForRows(t *testing.T) {
	for sum, most := range map[string]float64{"cost": 2e6, "cost * cost": 4e12, "cost * steps": 2e11, "cost * tip": 1.98e10} {
		p := specializeWith(t, unlimitedClinic(t), "SELECT diagnosis, sum("+sum+") FROM visits GROUP BY 1",
			func(s *planner.Settings) { s.Contribution = planner.ChosenContribution })
		n := p.Blocks[0].Sets[0].Measures[0].Norms[0]
		if last := n.Grid.Limit(n.Grid.Len() - 1); last < 10*most {
			t.Errorf("the largest limit of sum(%s) is %v, one row adds up to %v", sum, last, most)
		}
	}
}

// sumsOf lists how the rows of a plan are added up.
func sumsOf(p *planner.Plan) (all []*fold.Sums) {
	for _, set := range p.Blocks[0].Sets {
		for _, r := range set.Reads {
			if r.Fold != nil && r.Fold.Sums != nil {
				all = append(all, r.Fold.Sums)
			}
		}
	}
	return all
}

// saturatedAbove reports norms whose limits are not all below that of a unit that is saturated, and counts norms of so large sums.
func saturatedAbove(t *testing.T, sql string, sums *fold.Sums) (large int) {
	for _, n := range sums.Norms {
		most, last := sums.Summands[n.Summand].Most, n.Limits[len(n.Limits)-1]
		if most.BitLen() < 42 {
			continue
		}
		if large++; n.Kind == fold.Root {
			most = new(big.Int).Mul(most, most)
		}
		if most.Cmp(last) <= 0 {
			t.Errorf("%s: %v, at which a unit is saturated, is within the limit %v", sql, most, last)
		}
	}
	return large
}
