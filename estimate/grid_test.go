package estimate_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"dpproxy/estimate"
)

// TestFineShape holds what grids promise that are finer near zero: of distances up to 2·Buckets all have their own
// bucket, no bucket is wider than its distance over Buckets, and none four times as wide as an equal one.
func TestFineShape(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := rapid.Int64Range(-1<<58, 1<<58).Draw(t, "low")
		if rapid.Bool().Draw(t, "from zero") {
			low = 0
		}
		high := low + rapid.Int64Range(0, 1<<uint(rapid.IntRange(1, 58).Draw(t, "bits"))).Draw(t, "span")
		buckets := rapid.IntRange(1, 1<<14).Draw(t, "buckets")
		s := must(estimate.NewFineShape(low, high, buckets, 16))
		even := must(estimate.NewShape(low, high, buckets, 16))
		if s.Buckets() > buckets || s.Width() >= 4*even.Width()+3 {
			t.Fatalf("%d buckets of %d, up to %d wide, where equal ones are %d", s.Buckets(), buckets, s.Width(), even.Width())
		}
		of := s.Doubling()
		if of == nil {
			return
		}
		for range 20 {
			x := rapid.Int64Range(low, high).Draw(t, "x")
			first, last := s.Bucket(int(s.Number(x)))
			away := float64(max(of.Pivot-x, x-of.Pivot))
			if x < first || x > last || last > first && float64(last-first) > away/float64(of.Buckets) {
				t.Fatalf("%d is of %d to %d, of doublings %+v", x, first, last, *of)
			}
		}
	})
}

// TestFineSums has the buckets that sums of a person get where their bounds are a thousand times those of a row.
func TestFineSums(t *testing.T) {
	s := must(estimate.NewFineShape(0, 2_000_000_000, 1<<14, 1<<14))
	for _, c := range []struct{ x, width int64 }{{500, 1}, {17_700, 32}, {50_000, 64}, {207_500, 256}, {1_900_000_000, 1 << 18}} {
		if first, last := s.Bucket(int(s.Number(c.x))); last-first+1 != c.width || c.x < first || c.x > last {
			t.Errorf("%d is of %d to %d, want %d wide", c.x, first, last, c.width)
		}
	}
	for _, c := range [][3]int64{{0, 100, 200}, {-10, 10, 21}, {math.MinInt64, math.MinInt64 + 1000, 10}, {0, 1 << 40, 3}} {
		if s := must(estimate.NewFineShape(c[0], c[1], int(c[2]), 16)); s.Doubling() != nil {
			t.Errorf("%v: %+v", c, s.Doubling())
		}
	}
}
