package truth_test

import (
	"math"
	"strings"
	"testing"
)

// statedConfidence is the share of intervals that should have the truth in them, by all that dpproxy says.
const statedConfidence = 0.95

// falseAlarm is the chance at most that intervals which hold as often as is stated are found to hold
// less often.
const falseAlarm = 1e-6

// leastShareOf is the share of cells with the truth in their intervals that answers have at least, but for
// falseAlarm: answers are independent, cells of one answer are not, and the mean of n independent numbers
// within [0, 1] of mean p is q < p or less with a chance of at most exp(−n·KL(q‖p)) (Chernoff).
func leastShareOf(answers int) float64 {
	const p = statedConfidence
	low, high := 0.0, p
	for range 60 {
		q := (low + high) / 2
		if float64(answers)*(q*math.Log(q/p)+(1-q)*math.Log((1-q)/(1-p))) > -math.Log(falseAlarm) {
			low = q
		} else {
			high = q
		}
	}
	return low
}

// TestCoverage asks the questions with a table of errors of a small clinic: the truth is within the
// stated intervals as often as is stated, and not within those by noise alone. It is a first look at the
// measurements of make truth.
func TestCoverage(t *testing.T) {
	s := clinic(t, 5000)
	for _, q := range questionsAbout(t, "clinic") {
		draws := 200
		if strings.Contains(q.asked, "GROUP BY") {
			draws = 60
		}
		e := measureErrors(t, s, q, draws)
		if e.refusal != nil {
			t.Fatalf("%s: %v", q.name, e.refusal)
		}
		within, _ := e.coverage()
		share, least := float64(within)/float64(draws*e.cells()), leastShareOf(draws)
		if holds := share >= least; holds == strings.HasSuffix(q.name, byNoiseAlone) {
			t.Errorf("%s: the truth is within %.3f of the intervals, and the bound is %.3f", q.name, share, least)
		}
	}
}

// TestLeastShare has the bound of two hundred answers worked out.
func TestLeastShare(t *testing.T) {
	if q := leastShareOf(200); math.Abs(q-0.8510) > 0.0005 {
		t.Errorf("%g", q)
	}
}
