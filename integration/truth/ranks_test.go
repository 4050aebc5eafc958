package truth_test

import (
	"slices"
	"testing"
)

// questionsOfRanks are about percentiles, modes and the largest groups of a set of data, beside an average and a sum at the same price.
func questionsOfRanks(t testing.TB, data string) []question {
	t.Helper()
	all := questionsAbout(t, "ranks_"+data)
	if data == "shop" {
		q1 := func(q question) bool { return q.name == "Q1" }
		of := questionsOfShop(t)
		all = append(all, of[slices.IndexFunc(of, q1)])
	}
	return all
}

// TestQuestionsOfRanks reads them: percentiles and modes without ends, since a percentile with its interval is read off a histogram.
func TestQuestionsOfRanks(t *testing.T) {
	for data, want := range map[string]int{"study": 7, "shop": 7 + 8} {
		values := 0
		for _, q := range questionsOfRanks(t, data) {
			values += len(q.marks())
		}
		if values != want {
			t.Errorf("%d values of the %s", values, data)
		}
	}
}
