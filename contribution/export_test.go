package contribution

import (
	"testing"

	"dpproxy/mechanisms"
)

// ChoiceOf returns a choice with the given penalty and rate.
func ChoiceOf(t testing.TB, penalty, epsilonPico int64) Choice {
	t.Helper()
	m, err := mechanisms.NewExponential(1, true, epsilonPico)
	if err != nil {
		t.Fatal(err)
	}
	return Choice{m, float64(epsilonPico) / 1e12, penalty, penalty, []int64{0}}
}
