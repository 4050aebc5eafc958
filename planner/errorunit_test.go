package planner_test

import (
	"math/big"
	"strings"
	"testing"

	"dpproxy/planner"
)

// TestErrorsOfTimes holds that the errors of dates, times and intervals have units, also where a statement gives values names.
func TestErrorsOfTimes(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT avg(at - day) AS days FROM visits": ":", // of days and a time
		"SELECT avg(at - day) FROM visits":         ":",
		"SELECT min(at) AS first FROM visits":      ":",
		"SELECT max(day) FROM visits":              " days",
	} {
		p := planWith(t, connect(t), boundedClinic(t), sql, func(s *planner.Settings) {
			s.Mechanism, s.Contribution, s.ShowSmallGroups = "gaussian", planner.FixedContribution, true
		})
		set := p.Blocks[0].Sets[0]
		row := make([]*big.Int, set.Integers())
		for i := range row {
			row[i] = big.NewInt(1000)
		}
		released := &planner.Released{Clips: cut{tail: [4]int64{20_000, 900, 300, 24}}.clips(set), Rows: [][]*big.Int{row}}
		bars := planner.Errors(p.Plan, [][]*planner.Released{{released}})
		if len(bars) != 1 || !strings.Contains(bars[0].String(), want) || !strings.Contains(bars[0].String(), " ± ") {
			t.Errorf("%s: %v, want one with %q", sql, bars, want)
		}
	}
}
