package planner

import "testing"

// TestErrorUnits holds that errors of dates and times say what they are measured in, whatever the value is called.
func TestErrorUnits(t *testing.T) {
	for want, bar := range map[string]ErrorBar{
		"count(*) ± 20":            {Least: 20, Most: 20, Label: "count(*)"},
		"min(day) ± 1.5 days":      {Least: 1.5, Most: 1.5, Label: "min(day)", Unit: inDays},
		"days ± 223 days 08:40:28": {Least: 19298428, Most: 19298428, Label: "days", Unit: inSeconds},
		"days ± 31.4 seconds to 00:02:01, limits move it by up to 1 day 01:00:00 more": {
			Least: 31.4, Most: 120.5, Beyond: 89_991, Moves: true, Label: "days", Unit: inSeconds,
		},
	} {
		if got := bar.String(); got != want {
			t.Errorf("%q is not %q", got, want)
		}
	}
}
