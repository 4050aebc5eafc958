package replay

import (
	"math/big"
	"slices"
	"testing"

	"dpproxy/dp"
	"dpproxy/internal/plantest"
	"dpproxy/planner"
	"dpproxy/planner/policy"
)

// TestGuesses has a release of groups in two places: guesses are the same in both places, all of them nearer
// than noise may be, and they are fewer where there is little room.
func TestGuesses(t *testing.T) {
	settings := planner.Settings{
		EpsilonPico: dp.PicoPerUnit / 10, Mechanism: "laplace", Alpha: 0.05, Limits: policy.Limits{PublicFanout: 1, Work: 1},
	}
	const sql = "SELECT age, count(*) FROM people GROUP BY age"
	plan := &planner.Plan{}
	var released [][]*planner.Released
	for range 2 {
		b := plantest.Block(t, sql, settings)
		of := &planner.Released{Clips: plantest.NewExact(b.Sets[0]).Uncut()}
		for i := range b.Sets[0].Size() {
			row := make([]*big.Int, b.Sets[0].Integers())
			for k := range row {
				row[k] = big.NewInt(int64(100 + 7*i))
			}
			of.Rows = append(of.Rows, row)
		}
		plan.Blocks, released = append(plan.Blocks, b), append(released, []*planner.Released{of})
	}
	r := NewReplicas(plan, released)
	for range 60 {
		r.Next()
	}
	g := newGuessing(r, 0.05)
	c := g.columns[column{0, 0, 0}]
	all := g.all(1000)
	if parts := 2 * partsOf(len(c.sigmas)); g.levels < 3 || len(all) != 3*g.levels+parts || len(g.all(3)) != fewGuesses {
		t.Errorf("%d levels, %d guesses, %d of them in little room", g.levels, len(all), len(g.all(3)))
	}
	seen := map[string]bool{}
	for _, of := range all {
		columns := g.replica(of)
		if !slices.Equal(columns[0], columns[1]) {
			t.Errorf("a release in two places is %s and %s", columns[0], columns[1])
		}
		seen[columns[0][1]] = true
		for row, sigma := range c.sigmas {
			if by := of(c, row); by < -4*sigma || by > 4*sigma {
				t.Errorf("row %d is moved by %v with noise of %v", row, by, sigma)
			}
		}
	}
	if len(seen) < 3*g.levels {
		t.Errorf("%d of %d guesses differ", len(seen), len(all))
	}
}
