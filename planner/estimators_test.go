package planner_test

import (
	"math/big"
	"slices"
	"sync"
	"testing"

	"dpproxy/internal/plantest"
	"dpproxy/planner"
)

// Sessions that send one text share its plan, and compute their answers of it at the same
// time. The race detector sees here each write to it (make race).
func TestPlanIsShared(t *testing.T) {
	const sql = "SELECT max(least(cost, 100)), min(greatest(cost, 3)), max(day), percentile_cont(0.5) WITHIN GROUP " +
		"(ORDER BY cost), percentile_disc(0.1) WITHIN GROUP (ORDER BY steps) FROM visits"
	p := plan(t, connect(t), clinic(t), sql)
	block := p.Blocks[0]
	row := make([]*big.Int, block.Sets[0].Integers())
	for i := range row {
		row[i] = big.NewInt(int64(100 + i%7))
	}
	released := []*planner.Released{{Rows: [][]*big.Int{row}, Clips: plantest.NewExact(block.Sets[0]).Uncut()}}
	const sessions = 16
	var columns [sessions][]string
	var bars [sessions][]string
	var start, done sync.WaitGroup
	start.Add(1)
	for i := range sessions {
		done.Go(func() {
			start.Wait()
			columns[i] = block.Columns(released)
			for _, bar := range block.Errors(released) {
				bars[i] = append(bars[i], bar.String())
			}
		})
	}
	start.Done()
	done.Wait()
	for i := range sessions {
		if !slices.Equal(columns[i], columns[0]) || !slices.Equal(bars[i], bars[0]) {
			t.Fatalf("%q %q\n%q %q", columns[0], bars[0], columns[i], bars[i])
		}
	}
}
