package planner_test

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"dpproxy/planner"
)

// Of an average of counts, one of each unit, the limit takes from the sum alone: what it leaves out is above
// the interval, divided by the number of units, and none of the units is left out.
func TestAverageOfCounts(t *testing.T) {
	const sql = "SELECT avg(n), dp.lower(avg(n)), dp.upper(avg(n)) FROM (SELECT patient_id, count(*) AS n FROM visits GROUP BY 1) t"
	b := planWith(t, connect(t), clinic(t), sql, func(s *planner.Settings) { s.Mechanism, s.Contribution = "gaussian", "auto" }).Blocks[0]
	sum, count := b.Sets[0].MeasureOf(0), b.Sets[0].MeasureOf(1)
	if sum.Tail == nil || count.Tail != nil || count.Norms[0].Choice != nil {
		t.Fatalf("the sum is %+v, and the count %+v", sum, count)
	}
	const units, total, level, beyond = 1000, 5000, 6, 190 // of the case in cuts
	clips := []planner.Clip{
		{Levels: []int{level}, Tail: []*big.Int{big.NewInt(900), big.NewInt(300), big.NewInt(24)}},
		{Levels: []int{0}},
	}
	row := [][]*big.Int{{big.NewInt(total), big.NewInt(units)}}
	released := []*planner.Released{{Rows: row, Clips: clips}}
	bar := b.Errors(released)[0]
	if want := beyond / float64(units); bar.Beyond < 0.9*want || bar.Beyond > 1.1*want {
		t.Errorf("limits leave out %v, want about %v", bar.Beyond, want)
	}
	var ends [2]float64
	for i := range ends {
		if _, err := fmt.Sscanf(b.Columns(released)[i+1], `{"%g"}`, &ends[i]); err != nil {
			t.Fatal(err)
		}
	}
	const mean = float64(total) / units
	if got := mean - ends[0]; math.Abs(got-bar.Most) > 1e-9 {
		t.Errorf("the lower end is %v below, want the noise, %v", got, bar.Most)
	}
	if got := ends[1] - mean; math.Abs(got-bar.Most-bar.Beyond) > 1e-9 {
		t.Errorf("the upper end is %v above, want %v and %v", got, bar.Most, bar.Beyond)
	}
}
