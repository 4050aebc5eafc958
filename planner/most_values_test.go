package planner_test

import (
	"math/big"
	"testing"

	"dpproxy/planner"
)

// A count of different values is no larger than the list of the column, or than the public table to which it refers, and neither is an end
// of its interval. A count of rows can be as large as it is.
func TestMostValues(t *testing.T) {
	conn := connect(t)
	for _, tt := range []struct {
		of     string
		within float64 // 0: nothing bounds it
	}{
		{"DISTINCT v.diagnosis", 3},
		{"DISTINCT v.hospital_id", 3},
		{"DISTINCT h.name", 3},
		{"DISTINCT p.smoker", 2},
		{"DISTINCT v.cost", 0},
		{"v.diagnosis", 0},
	} {
		sql := "SELECT count(" + tt.of + "), dp.lower(count(" + tt.of + ")), dp.upper(count(" + tt.of + ")) FROM visits v " +
			"JOIN patients p ON p.id = v.patient_id JOIN hospitals h ON h.id = v.hospital_id"
		b := planWith(t, conn, clinic(t), sql, func(s *planner.Settings) { s.Mechanism = "gaussian" }).Blocks[0]
		clips := []planner.Clip{{Levels: []int{0}, Tail: []*big.Int{big.NewInt(5000), big.NewInt(9), big.NewInt(3), new(big.Int)}}}
		got := numbersOf(t, b, []*planner.Released{{Rows: [][]*big.Int{{big.NewInt(700)}}, Clips: clips}})
		for i, x := range got {
			if tt.within > 0 && x > tt.within || tt.within == 0 && i != 1 && x < 700 {
				t.Errorf("%s: column %d is %v, of at most %v", sql, i+1, x, tt.within)
			}
		}
	}
}
