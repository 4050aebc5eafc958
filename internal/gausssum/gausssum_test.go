package gausssum_test

import (
	"math"
	"math/big"
	"testing"

	"dpproxy/internal/gausssum"
)

// direct sums every weight that a double can hold, from the smallest on.
func direct(v, h, a, b float64) float64 {
	limit := math.Ceil(40*math.Sqrt(v)) + 2
	a, b = math.Max(a, math.Floor(h-limit)), math.Min(b, math.Ceil(h+limit))
	sum := new(big.Float).SetPrec(120)
	for n := a; n <= b; n++ {
		sum.Add(sum, big.NewFloat(math.Exp(-(n-h)*(n-h)/(2*v))))
	}
	f, _ := sum.Float64()
	return f
}

func TestAgainstDirectSums(t *testing.T) {
	for _, v := range []float64{0.3, 1, 25, 1e4, 1 << 18, 1<<18 + 1, 3e5, 1e6} {
		sigma := math.Sqrt(v)
		for _, h := range []float64{0, 0.5, -3.25, 1.7 * sigma, -40.2 * sigma} {
			if got, want := gausssum.Total(v, h), direct(v, h, math.Inf(-1), math.Inf(1)); !near(got, want) {
				t.Errorf("Total(%v, %v) = %v, want %v", v, h, got, want)
			}
			for x := -20.0; x <= 20; x += 2.5 {
				m := math.Round(h + x*sigma)
				if got, want := gausssum.Upper(v, h, m), direct(v, h, m, math.Inf(1)); !near(got, want) {
					t.Errorf("Upper(%v, %v, %v) = %v, want %v", v, h, m, got, want)
				}
				for _, width := range []float64{0, 1, sigma, 5 * sigma, 1000 * sigma} {
					b := math.Round(m + width)
					if got, want := gausssum.Between(v, h, m, b), direct(v, h, m, b); !near(got, want) {
						t.Errorf("Between(%v, %v, %v, %v) = %v, want %v", v, h, m, b, got, want)
					}
				}
			}
		}
	}
}

func TestEnds(t *testing.T) {
	inf := math.Inf(1)
	if got := gausssum.Between(4, 0.5, -inf, inf); !near(got, gausssum.Total(4, 0.5)) {
		t.Errorf("over all integers: %v", got)
	}
	for _, v := range []float64{4, 1e7} {
		if got := gausssum.Between(v, 0, 3, 2); got != 0 {
			t.Errorf("an empty range: %v", got)
		}
		if got := gausssum.Upper(v, 0, inf); got != 0 {
			t.Errorf("from infinity: %v", got)
		}
		if got := gausssum.Upper(v, 0, -inf); !near(got, gausssum.Total(v, 0)) {
			t.Errorf("from minus infinity: %v", got)
		}
	}
}

// TestFarRangesEnd sums ranges in which neighbouring doubles differ by more than 1.
func TestFarRangesEnd(t *testing.T) {
	for _, far := range []float64{1 << 53, 1 << 60} {
		if got := gausssum.Between(1e30, far, far-10, far+10); got < 1 || got > 30 {
			t.Errorf("around %v: %v", far, got)
		}
		if got := gausssum.Upper(4, far, far); got < 1 || got > 3.1 {
			t.Errorf("from %v: %v", far, got)
		}
	}
}

func near(got, want float64) bool { return math.Abs(got-want) <= 1e-11*math.Abs(want)+1e-300 }
