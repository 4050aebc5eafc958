package accountant_test

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
)

// An oracle is a result computed elsewhere, with fifty digits.
type oracle struct {
	Name             string
	Inputs, Expected json.RawMessage
	Tolerance        float64
}

// oracles returns those whose name begins with prefix; there must be some.
func oracles(t *testing.T, prefix string) []oracle {
	t.Helper()
	text, err := os.ReadFile("testdata/oracles.json")
	if err != nil {
		t.Fatal(err)
	}
	var all, chosen []oracle
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, o := range all {
		if strings.HasPrefix(o.Name, prefix) {
			chosen = append(chosen, o)
		}
	}
	if len(chosen) == 0 {
		t.Fatalf("no oracle %q", prefix)
	}
	return chosen
}

// read decodes an oracle's inputs and its expected result.
func read[In, Out any](t *testing.T, o oracle) (in In, want Out) {
	t.Helper()
	if err := json.Unmarshal(o.Inputs, &in); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(o.Expected, &want); err != nil {
		t.Fatal(err)
	}
	return in, want
}

func near(got, want, tolerance float64) bool {
	return math.Abs(got-want) <= tolerance*math.Abs(want)
}
