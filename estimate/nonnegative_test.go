package estimate_test

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"dpproxy/estimate"
)

func integers(all ...int64) []*big.Int {
	out := make([]*big.Int, len(all))
	for i, n := range all {
		out[i] = big.NewInt(n)
	}
	return out
}

func same(a, b []*big.Int) bool {
	return slices.EqualFunc(a, b, func(x, y *big.Int) bool { return x.Cmp(y) == 0 })
}

// TestNonnegative has numbers by hand. The last two are 9.571429, 6.285714, 0, 2.142857, and thirds, of which the
// first is rounded up.
func TestNonnegative(t *testing.T) {
	equal := []float64{1, 1, 1, 1}
	for _, c := range []struct {
		parts     []*big.Int
		variances []float64
		total     int64
		want      []*big.Int
	}{
		{integers(52, -30, 10, 5), equal, 40, integers(40, 0, 0, 0)},
		{integers(10, 8, -5, 3), equal, 18, integers(9, 7, 0, 2)},
		{integers(1, 2, -4), equal[:3], 9, integers(4, 5, 0)},
		{integers(1, 2, 3), equal[:3], 0, integers(0, 0, 0)},
		{integers(-3), equal[:1], 7, integers(7)},
		{integers(10, 8, -5, 3), []float64{1, 4, 1, 2}, 18, integers(10, 6, 0, 2)},
		{integers(1, 1, 1), equal[:3], 4, integers(2, 1, 1)},
	} {
		got, err := estimate.Nonnegative(c.parts, c.variances, big.NewInt(c.total))
		if err != nil || !same(got, c.want) {
			t.Errorf("%v of %d: %v, want %v, %v", c.parts, c.total, got, c.want, err)
		}
	}
	for _, variances := range [][]float64{{1}, {1, 0}, {1, math.NaN()}, {1, math.Inf(1)}} {
		if _, err := estimate.Nonnegative(integers(1, 2), variances, big.NewInt(3)); err == nil {
			t.Errorf("variances %v", variances)
		}
	}
	if _, err := estimate.Nonnegative(integers(1), equal[:1], big.NewInt(-1)); err == nil {
		t.Error("a total below zero")
	}
}

// TestNonnegativeOfAny holds that no part is negative, that parts add up, that what is right already stays, and
// that no other division of the total is nearer: not by a shift of a whole from one part to another, but for rounding.
func TestNonnegativeOfAny(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "n")
		scale := int64(1) << rapid.IntRange(0, 40).Draw(t, "scale")
		parts, variances := make([]*big.Int, n), make([]float64, n)
		for i := range parts {
			parts[i] = big.NewInt(rapid.Int64Range(-50*scale, 50*scale).Draw(t, "part"))
			variances[i] = rapid.SampledFrom([]float64{1, 2, 2.5, 1000.25}).Draw(t, "variance")
		}
		total := big.NewInt(rapid.Int64Range(0, 100*scale).Draw(t, "total"))
		got, err := estimate.Nonnegative(parts, variances, total)
		if err != nil {
			t.Fatal(err)
		}
		sum := new(big.Int)
		for _, x := range got {
			if sum.Add(sum, x); x.Sign() < 0 {
				t.Fatalf("%v is negative", got)
			}
		}
		if sum.Cmp(total) != 0 {
			t.Fatalf("%v add up to %v, not %v", got, sum, total)
		}
		if again, err := estimate.Nonnegative(got, variances, total); err != nil || !same(again, got) {
			t.Fatalf("%v becomes %v, %v", got, again, err)
		}
		// The gradient of part i is (tᵢ − partᵢ)/varianceᵢ = −γ where tᵢ > 0, and at least that elsewhere.
		gradient := func(i int) float64 {
			d, _ := new(big.Float).SetInt(new(big.Int).Sub(got[i], parts[i])).Float64()
			return d / variances[i]
		}
		for i := range got {
			for j := range got {
				if got[i].Cmp(big.NewInt(1)) > 0 && gradient(i) > gradient(j)+1/variances[i]+1/variances[j]+1e-6 {
					t.Fatalf("%v of %v: a part of %d belongs to %d", got, parts, i, j)
				}
			}
		}
	})
}
