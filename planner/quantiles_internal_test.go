package planner

import (
	"math"
	"testing"
)

// TestNoiseWeight holds that percentiles of the tail weigh the noise more than a median does, up to a bound, and that
// many of one argument weigh it as their mean does.
func TestNoiseWeight(t *testing.T) {
	many := make([]fraction, 500)
	for i := range many {
		many[i] = fraction{a: 999, c: 1000}
	}
	for _, c := range []struct {
		fractions []fraction
		want      float64
	}{
		{[]fraction{{a: 1, c: 2}}, 20},
		{[]fraction{{a: 19, c: 20}}, 20 * math.Sqrt(19)},
		{[]fraction{{a: 1, c: 20}}, 20 * math.Sqrt(19)},
		{[]fraction{{a: 1, c: 2}, {a: 19, c: 20}}, 20 * math.Pow(19, 0.25)},
		{many, 200},
	} {
		var aims []aim
		for _, f := range c.fractions {
			aims = append(aims, f.aims(true)...)
		}
		if got := (quantiles{aims: aims}).noiseWeight(); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%d fractions from %v on weigh %v, want %v", len(c.fractions), c.fractions[0], got, c.want)
		}
	}
}
