package planner

import (
	"math"
	"testing"
)

// TestErrorUnits holds that errors of dates and times say what they are measured in, whatever the value is called.
func TestErrorUnits(t *testing.T) {
	for want, bar := range map[string]ErrorBar{
		"count(*) ± 20":                   {Least: 20, Most: 20, Label: "count(*)"},
		"min(day) ± 1.5 days":             {Least: 1.5, Most: 1.5, Label: "min(day)", Unit: inDays},
		"days ± 223 days 08:40:28":        {Least: 19298428, Most: 19298428, Label: "days", Unit: inSeconds},
		"days ± 31.4 seconds to 00:02:01": {Least: 31.4, Most: 120.5, Label: "days", Unit: inSeconds},
	} {
		if got := bar.String(); got != want {
			t.Errorf("%q is not %q", got, want)
		}
	}
}

// TestSentences holds that the parts of an interval that a sentence names add up to its ends, or say why they do not.
func TestSentences(t *testing.T) {
	inf := math.Inf(1)
	count := ErrorBar{Label: "count(*)", Least: 1402, Most: 1402, Rows: 1}
	avg := ErrorBar{Label: "avg(cost)", Least: 25, Most: 25, Moves: true, Rows: 1}
	with := func(bar ErrorBar, w Parts, rows int) ErrorBar {
		bar.Widest, bar.Rows = w, rows
		return bar
	}
	for want, bar := range map[string]ErrorBar{
		"The noise moves count(*) by at most 1,402 (95 %).": count,
		"The noise moves count(*) by at most 1,402 (95 %), " +
			"and limits leave out up to 11,392 more: together - 1,402 / + 12,794.": with(count, Parts{1402, 0, 11_392, 1402, 12_794}, 1),
		"The noise moves count(*) by at most 1,402 (95 %), " +
			"and nothing bounds what limits leave out.": with(count, Parts{1402, 0, inf, 1402, inf}, 1),
		"The noise moves count(*) by at most 1,402 (95 %). In the group with the widest interval limits leave out up to 98 more: " +
			"with noise of 1,402 together - 1,402 / + 1,500.": with(count, Parts{1402, 0, 98, 1402, 1500}, 3),
		"The noise moves avg(cost) by at most 25 (95 %), " +
			"and limits move it by up to 53 down and 44 up: together - 78 / + 69.": with(avg, Parts{25, 53, 44, 78, 69}, 1),
		"The noise moves avg(cost) by at most 25 (95 %), " +
			"and limits move it by up to 5 down: together - 30 / + 25.": with(avg, Parts{25, 5, 0, 30, 25}, 1),
		"The noise moves avg(cost) by at most 25 (95 %), " +
			"and limits move it by up to 5 down and 5 up: together ± 30.": with(avg, Parts{25, 5, 5, 30, 30}, 1),
		"The noise moves avg(cost) by at most 25 (95 %), and limits move it by up to 53 down and 44 up: together - 30 / + 69, " +
			"since values have bounds.": with(avg, Parts{25, 53, 44, 30, 69}, 1),
		"The noise moves avg(cost) by at most 25 (95 %), and limits may move it to any value within its bounds: " +
			"together - 900 / + 100.": with(avg, Parts{25, inf, inf, 900, 100}, 1),
	} {
		if got := bar.Sentence("95 %"); got != want {
			t.Errorf("%q is not %q", got, want)
		}
	}
}
