package estimate_test

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"dpproxy/estimate"
)

// A mixture is what an average is of, in half steps about a centre, and what a limit left out of it.
type mixture struct {
	values            estimate.Values
	sum, rows         int64 // of what was counted
	outSum, outRows   int64
	countError, error int64 // of the noise
}

func mixtures(t *rapid.T) mixture {
	low := int64(rapid.IntRange(-50, 0).Draw(t, "low"))
	high := int64(rapid.IntRange(1, 50).Draw(t, "high"))
	centre := int64(rapid.IntRange(int(2*low), int(2*high)).Draw(t, "centre"))
	m := mixture{values: estimate.Values{Low: rat(low, 1), High: rat(high, 1), Centre: rat(centre, 2), Unit: rat(1, 2)}}
	if rapid.IntRange(0, 3).Draw(t, "unbounded") == 0 {
		m.values.Low, m.values.High = nil, nil
	}
	part := func(name string) (sum, rows int64) {
		values := rapid.SliceOfN(rapid.IntRange(int(2*low), int(2*high)), 1, 20).Draw(t, name)
		for _, v := range values {
			sum += int64(v) - centre
		}
		return sum, int64(len(values))
	}
	m.sum, m.rows = part("counted")
	m.outSum, m.outRows = part("left out")
	m.error = int64(rapid.IntRange(-2, 2).Draw(t, "error of the sum"))
	m.countError = int64(rapid.IntRange(0, 1).Draw(t, "error of the count"))
	return m
}

// covers reports whether the interval holds the mean of all, where what was left out is known up to a
// factor.
func (m mixture) covers(factor float64) bool {
	noise := halfWidth(2)
	a := must(estimate.NewAverage(m.values, noise, halfWidth(1), alpha))
	sum, count := big.NewInt(m.sum+m.error), big.NewInt(m.rows+m.countError)
	in, ok := a.Interval(sum, count)
	if !ok {
		return true
	}
	below, above := a.Beyond(sum, count, estimate.LeftOut{
		Less: factor * math.Max(0, float64(-m.outSum)), More: factor * math.Max(0, float64(m.outSum)), Rows: factor * float64(m.outRows),
	})
	mean := new(big.Rat).SetFrac64(m.sum+m.outSum, m.rows+m.outRows)
	mean.Mul(mean, m.values.Unit).Add(mean, m.values.Centre)
	x, _ := mean.Float64()
	low, high := in.Float64()
	const rounding = 1e-9
	return low-below <= x+rounding && x <= high+above+rounding
}

// halfWidth is noise of at most so much.
type halfWidth float64

func (h halfWidth) Quantile(float64) float64 { return float64(h) }

// TestBeyond holds the interval of an average, with what limits leave out of sum and count, to the mean of
// all; it fails if it is less than that.
func TestBeyond(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if m := mixtures(t); !m.covers(1) {
			t.Fatalf("the mean of all is outside: %+v", m)
		}
	})
	for seed := range 1000 {
		if !rapid.Custom(mixtures).Example(seed).covers(0.5) {
			return
		}
	}
	t.Error("half of what is left out is always enough")
}

// TestBeyondWithoutEnds has what nothing bounds: the ends of the bounds, or none.
func TestBeyondWithoutEnds(t *testing.T) {
	noise := gaussian(1, 0.5)
	all := estimate.LeftOut{Less: math.Inf(1), More: math.Inf(1), Rows: math.Inf(1)}
	bounded := must(estimate.NewAverage(percent, noise, noise, alpha))
	sum, count := big.NewInt(0), big.NewInt(1000)
	in, _ := bounded.Interval(sum, count)
	low, high := in.Float64()
	below, above := bounded.Beyond(sum, count, all)
	if math.Abs(low-below) > 1e-9 || math.Abs(high+above-100) > 1e-9 {
		t.Errorf("from %v to %v, want 0 to 100", low-below, high+above)
	}
	free := must(estimate.NewAverage(estimate.Values{Centre: rat(0, 1), Unit: rat(1, 1)}, noise, noise, alpha))
	if below, above := free.Beyond(sum, count, all); !math.IsInf(below, 1) || !math.IsInf(above, 1) {
		t.Errorf("%v below and %v above, want no end", below, above)
	}
	if below, above := free.Beyond(sum, count, estimate.LeftOut{}); below != 0 || above != 0 {
		t.Errorf("%v below and %v above where nothing is left out", below, above)
	}
}
