package truth_test

import (
	"math"
	"regexp"
	"strings"
	"testing"
)

// leastCoverage is the share of intervals, stated at 95 %, that have the truth in them.
const leastCoverage = 0.93

// byNoiseAlone ends the names of questions with intervals that leave out what limits leave out. They
// must have the truth in them less often, or the test could not fail.
const byNoiseAlone = ", by noise alone"

// covers reports whether so many of so many intervals may be leastCoverage of them: by two standard
// deviations.
func covers(within, intervals int) bool {
	n := float64(intervals)
	return float64(within) >= leastCoverage*n-2*math.Sqrt(leastCoverage*(1-leastCoverage)*n)
}

// TestTruth prints what is wrong with answers, on four sets of data.
func TestTruth(t *testing.T) {
	if *draws == 0 && *rounds == 0 {
		return // a measurement, not a test: make truth runs it
	}
	t.Run("clinic", func(t *testing.T) {
		s := clinicWithStays(t, *patients)
		if *draws > 0 {
			t.Run("errors", func(t *testing.T) { printErrors(t, s, questionsAbout(t, "clinic")) })
			t.Run("aggregates", func(t *testing.T) { printErrors(t, s, questionsAbout(t, "aggregates")) })
			t.Run("statistics", func(t *testing.T) { printErrors(t, s, questionsAbout(t, "statistics")) })
		}
		if *rounds > 0 {
			t.Run("analyst", func(t *testing.T) { printVerdicts(t, s) })
		}
	})
	if *rounds > 0 {
		t.Run("forms", printFormVerdicts)
	}
	if *draws > 0 {
		t.Run("study", func(t *testing.T) { printErrors(t, study(t), questionsAbout(t, "study")) })
		t.Run("tpch", func(t *testing.T) { printErrors(t, shop(t), questionsOfShop(t)) })
		for name, of := range map[string]func(*testing.T) site{"study": study, "shop": shop} {
			t.Run("ranks of the "+name, func(t *testing.T) { printErrors(t, of(t), questionsOfRanks(t, name)) })
		}
		t.Run("tails", func(t *testing.T) {
			var questions []question
			for _, law := range tails {
				questions = append(questions, law.questions()...)
			}
			printErrors(t, tailsSite(t), questions)
		})
	}
}

// printErrors asks the questions of a file, and fails if too few intervals have the truth in them.
func printErrors(t *testing.T, s site, questions []question) {
	var table, notices strings.Builder
	for _, q := range questions {
		if !regexp.MustCompile(*only).MatchString(q.name) {
			continue
		}
		e := measureErrors(t, s, q, *draws)
		table.WriteString(e.lines())
		notices.WriteString(q.name + ": " + e.notice + "\n")
		if e.refusal != nil {
			t.Errorf("%s: %v\n%s", q.name, e.refusal, withEnds(q.asked))
			continue
		}
		within, intervals := e.coverage()
		t.Logf("%s: within %d of %d intervals", q.name, within, intervals) // it takes long, and somebody waits
		enough := covers(within, intervals)
		if strings.HasSuffix(q.name, byNoiseAlone) {
			enough = float64(within) < leastCoverage*float64(intervals)
		}
		if !enough && !q.unasserted {
			t.Errorf("%s: the truth is within %d of %d intervals", q.name, within, intervals)
		}
	}
	t.Logf("%d answers to each question, ε = %s, intervals at 95 %%\n\n%s%s\n%s", *draws, epsilon, heading, &table, &notices)
}
