package planner

import (
	"math/big"
	"testing"
)

// TestIntervalText holds that days and seconds of an interval have a sign each, and add up to it.
func TestIntervalText(t *testing.T) {
	for _, c := range []struct {
		seconds *big.Rat
		want    string
	}{
		{big.NewRat(0, 1), "0 days 0.000000 seconds"},
		{big.NewRat(86400, 1), "1 days 0.000000 seconds"},
		{big.NewRat(200001, 2), "1 days 13600.500000 seconds"},
		{big.NewRat(-200001, 2), "-1 days -13600.500000 seconds"},
		{big.NewRat(-1, 3), "0 days -0.333333 seconds"},
	} {
		if got := intervalText(c.seconds); got != c.want {
			t.Errorf("%v is %q, want %q", c.seconds, got, c.want)
		}
	}
}
