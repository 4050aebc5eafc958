package estimate_test

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"dpproxy/dp"
	"dpproxy/estimate"
)

// shape draws a shape of at most two hundred buckets.
func shape(t *rapid.T) (s estimate.Shape, low, high int64) {
	low = rapid.Int64Range(-1000, 1000).Draw(t, "low")
	high = low + rapid.Int64Range(0, 2000).Draw(t, "span")
	buckets, of := rapid.IntRange(1, 200).Draw(t, "buckets"), estimate.NewShape
	if rapid.Bool().Draw(t, "fine") {
		of = estimate.NewFineShape
	}
	s = must(of(low, high, buckets, rapid.IntRange(2, 20).Draw(t, "branching")))
	if s.Buckets() > buckets {
		t.Fatalf("%d buckets, not %d", s.Buckets(), buckets)
	}
	return s, low, high
}

// TestShape has every level partition the lattice, by the numbers of buckets, and the
// nodes of a level join those of the next.
func TestShape(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, low, high := shape(t)
		if s.Nodes(s.Levels()-1) != s.Buckets() || s.Divisor(s.Levels()-1) != 1 {
			t.Fatalf("%+v: the last level is not the buckets", s)
		}
		for l := range s.Levels() {
			if n := s.Number(high)/s.Divisor(l) + 1; n != int64(s.Nodes(l)) {
				t.Fatalf("%+v: %d nodes at level %d, want %d", s, s.Nodes(l), l, n)
			}
		}
		next := low
		for i := range s.Buckets() {
			first, last := s.Bucket(i)
			if first != next || last < first || s.Number(first) != int64(i) || s.Number(last) != int64(i) || last-first >= s.Width() {
				t.Fatalf("%+v: bucket %d is %d to %d", s, i, first, last)
			}
			next = last + 1
		}
		if next != high+1 {
			t.Fatalf("%+v ends before %d", s, next)
		}
	})
}

// TestCut makes up the buckets on both sides of each boundary from few nodes.
func TestCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := int64(0)
		buckets, branching := rapid.IntRange(1, 200).Draw(t, "buckets"), rapid.IntRange(2, 20).Draw(t, "branching")
		s := must(estimate.NewShape(low, low+int64(buckets)-1, buckets, branching))
		i := rapid.IntRange(0, buckets).Draw(t, "boundary")
		below, above := s.Cut(i)
		seen := make([]int, buckets) // 1 below, 2 above
		mark := func(l int, nodes [2]int, side int) {
			for n := int64(nodes[0]) * s.Divisor(l); n < min(int64(nodes[1])*s.Divisor(l), int64(buckets)); n++ {
				seen[n] += side
			}
		}
		for l := range below {
			mark(l, below[l], 1)
			mark(l, above[l], 2)
			if n := below[l][1] - below[l][0] + above[l][1] - above[l][0]; n > branching || l < len(below)-1 && n > branching-1 {
				t.Fatalf("boundary %d takes %d nodes of level %d", i, n, l)
			}
		}
		for j, side := range seen {
			if j < i && side != 1 || j >= i && side != 2 {
				t.Fatalf("boundary %d: bucket %d is %d", i, j, side)
			}
		}
	})
}

// TestSplit adds up, and no shift of a percent from one level to another lowers
// the variance of the worst prefix.
func TestSplit(t *testing.T) {
	variance := func(s estimate.Shape, branching int, m dp.Measure, parts []float64) float64 {
		total := 0.0
		for l, p := range parts {
			if m == dp.PureDP {
				p *= p
			}
			total += float64(max(1, min(branching, s.Nodes(l))-1)) / p
		}
		return total
	}
	rapid.Check(t, func(t *rapid.T) {
		branching := rapid.IntRange(2, 20).Draw(t, "branching")
		s := must(estimate.NewShape(0, 1<<40, rapid.IntRange(2, 2000).Draw(t, "buckets"), branching))
		for _, m := range []dp.Measure{dp.ZCDP, dp.PureDP} {
			budget := rapid.Int64Range(1_000_000, dp.MaxPico).Draw(t, "budget")
			split := must(s.Split(m, budget))
			parts, sum := make([]float64, len(split)), int64(0)
			for l, p := range split {
				parts[l] = float64(p)
				sum += p
			}
			if sum != budget {
				t.Fatalf("%d adds up to %d", budget, sum)
			}
			best := variance(s, branching, m, parts)
			for from := range parts {
				for to := range parts {
					shifted := append([]float64(nil), parts...)
					move := shifted[from] / 100
					shifted[from] -= move
					shifted[to] += move
					if variance(s, branching, m, shifted) < best*(1-1e-6) {
						t.Fatalf("%v: %v is better than %v", m, shifted, parts)
					}
				}
			}
		}
	})
}

func TestSplitOfLittle(t *testing.T) {
	s := must(estimate.NewShape(0, 1023, 1024, 2))
	for budget := int64(s.Levels()); budget < 40; budget++ {
		sum := int64(0)
		for _, p := range must(s.Split(dp.ZCDP, budget)) {
			if p < 1 {
				t.Errorf("a level gets %d of %d", p, budget)
			}
			sum += p
		}
		if sum != budget {
			t.Errorf("%d adds up to %d", budget, sum)
		}
	}
	for _, budget := range []int64{-1, 0, int64(s.Levels()) - 1, dp.MaxPico + 1} {
		if p, err := s.Split(dp.ZCDP, budget); !errors.Is(err, estimate.ErrParameter) {
			t.Errorf("a budget of %d: %v, %v", budget, p, err)
		}
	}
	if p, err := s.Split(dp.Measure(0), 1000); !errors.Is(err, estimate.ErrParameter) {
		t.Errorf("no measure: %v, %v", p, err)
	}
}

func TestShapeRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		low, high          int64
		buckets, branching int
	}{
		"inverted":        {1, 0, 10, 4},
		"all integers":    {math.MinInt64, math.MaxInt64, 10, 4},
		"too wide":        {-1 << 61, 1 << 61, 10, 4},
		"no buckets":      {0, 9, 0, 4},
		"many buckets":    {0, 1 << 40, 1<<16 + 1, 4},
		"unary":           {0, 9, 10, 1},
		"wide branching":  {0, 9, 10, math.MaxInt},
		"negative counts": {0, 9, -1, -1},
	} {
		if s, err := estimate.NewShape(c.low, c.high, c.buckets, c.branching); !errors.Is(err, estimate.ErrParameter) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	for _, c := range [][2]int64{
		{math.MinInt64, math.MinInt64 + 1<<62 - 1}, {math.MaxInt64 - 1<<62 + 1, math.MaxInt64}, {math.MinInt64, math.MinInt64},
	} {
		s, err := estimate.NewShape(c[0], c[1], 1<<16, 2)
		if err != nil {
			t.Fatal(err)
		}
		if _, last := s.Bucket(s.Buckets() - 1); last != c[1] || s.Divisor(0) <= 0 {
			t.Errorf("%v ends at %d, divisor %d", c, last, s.Divisor(0))
		}
	}
}
