package planner_test

import (
	"bytes"
	"slices"
	"testing"

	"dpproxy/dp"
	"dpproxy/internal/plantest"
	"dpproxy/planner"
	"dpproxy/planner/policy"
)

// TestReductionQuestionNamesTheBoundary holds that measurements are found again by a question
// that has the boundary which was chosen before the first of them: with another one, an interval
// would be left too often. Which error is asked for, and what it may cost, changes no boundary.
func TestReductionQuestionNamesTheBoundary(t *testing.T) {
	question := func(sql string, change func(*planner.Settings)) [][]byte {
		s := planner.Settings{
			EpsilonPico: 4 * dp.PicoPerUnit, TypicalPico: dp.PicoPerUnit / 10, Mechanism: "brownian", Alpha: 0.05,
			Target: planner.Target{Relative: 0.1}, Limits: policy.Limits{PublicFanout: 1, Work: 1},
		}
		if change != nil {
			change(&s)
		}
		return plantest.Block(t, sql, s).ReductionQuestion()
	}
	const (
		count = "SELECT count(*) FROM people"
		mean  = "SELECT avg(height) FROM people"
		both  = "SELECT avg(height), count(*) FROM people"
	)
	for _, sql := range []string{count, mean, both} {
		asked := question(sql, nil)
		for name, tt := range map[string]struct {
			change func(*planner.Settings)
			same   bool
		}{
			"a confidence of 99 %":           {func(s *planner.Settings) { s.Alpha = 0.01 }, false},
			"a typical price ten times that": {func(s *planner.Settings) { s.TypicalPico = dp.PicoPerUnit }, false},
			"an error of 5 %":                {func(s *planner.Settings) { s.Target.Relative = 0.05 }, true},
			"an error of 60 %":               {func(s *planner.Settings) { s.Target.Relative = 0.6 }, true},
			"an error of 7":                  {func(s *planner.Settings) { s.Target = planner.Target{Error: 7} }, true},
			"an error in half of the groups": {func(s *planner.Settings) { s.Target.Fraction = 0.5 }, true},
			"another allowance":              {func(s *planner.Settings) { s.EpsilonPico = dp.PicoPerUnit }, true},
		} {
			if got := slices.EqualFunc(asked, question(sql, tt.change), bytes.Equal); got != tt.same {
				t.Errorf("%s, with %s: the same question: %t, want %t", sql, name, got, tt.same)
			}
		}
	}
	if slices.EqualFunc(question(mean, nil), question(both, nil), bytes.Equal) {
		t.Error("an average, and one with a count beside it, are one question")
	}
}
