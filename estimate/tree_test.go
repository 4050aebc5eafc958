package estimate_test

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"dpproxy/dp"
	"dpproxy/estimate"
	"dpproxy/internal/stattest"
	"dpproxy/mechanisms"
)

// histogram counts values in each node of a shape.
func histogram(s estimate.Shape, values []int64) [][]int64 {
	counts := make([][]int64, s.Levels())
	for l := range counts {
		counts[l] = make([]int64, s.Nodes(l))
		for _, x := range values {
			counts[l][s.Number(x)/s.Divisor(l)]++
		}
	}
	return counts
}

// bigs are counts as they are released without noise.
func bigs(counts [][]int64) [][]*big.Int {
	all := make([][]*big.Int, len(counts))
	for l, row := range counts {
		for _, n := range row {
			all[l] = append(all[l], big.NewInt(n))
		}
	}
	return all
}

// noisy releases each count.
func noisy(m []mechanisms.Mechanism, src mechanisms.Source, counts [][]int64) [][]*big.Int {
	all := make([][]*big.Int, len(counts))
	for l, row := range counts {
		for _, n := range row {
			all[l] = append(all[l], released(m[l], src, n))
		}
	}
	return all
}

// each is the same noise at all levels.
func each[N estimate.Noise](s estimate.Shape, noise N) []estimate.Noise {
	all := make([]estimate.Noise, s.Levels())
	for l := range all {
		all[l] = noise
	}
	return all
}

// continuous is percentile_cont of sorted values, as Postgres computes it.
func continuous(sorted []int64, q float64) *big.Rat {
	rank := q * float64(len(sorted)-1)
	first, second := sorted[int(math.Floor(rank))], sorted[int(math.Ceil(rank))]
	x := new(big.Rat).SetFloat64(rank - math.Floor(rank))
	x.Mul(x, rat(second-first, 1))
	return x.Add(x, rat(first, 1))
}

// discrete is percentile_disc of sorted values, as Postgres computes it.
func discrete(sorted []int64, q float64) int64 {
	return sorted[max(int(math.Ceil(q*float64(len(sorted)))), 1)-1]
}

// TestTreeIsExact reads everything off a tree without noise: exact if buckets
// have one integer, and within a bucket if not. The tree believes that there is
// noise in half of the cases, and must find that the counts agree.
func TestTreeIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, low, high := shape(t)
		values := rapid.SliceOfN(rapid.Int64Range(low, high), 1, 60).Draw(t, "values")
		slices.Sort(values)
		noise := each(s, constant(rapid.Int64Range(0, 1).Draw(t, "noise")*7))
		tree := must(estimate.NewTree(s, noise, nil))
		counts := bigs(histogram(s, values))
		d := must(tree.Fit(counts, nil))
		if d.Total() != float64(len(values)) {
			t.Fatalf("%v rows, want %d", d.Total(), len(values))
		}
		for _, q := range []float64{0, rapid.Float64Range(0, 1).Draw(t, "q"), 0.5, 0.9, 1} {
			want := continuous(values, q)
			x, ok := d.Quantile(q)
			if !ok || within(x, want) > s.Width()-1 {
				t.Fatalf("percentile_cont(%v) = %v, want %v, width %d", q, x, want, s.Width())
			}
			y, ok := d.QuantileDisc(q)
			if wantDisc := discrete(values, q); !ok || s.Number(y) != s.Number(wantDisc) {
				t.Fatalf("percentile_disc(%v) = %v, want %v, width %d", q, y, wantDisc, s.Width())
			}
		}
		quiet := must(estimate.NewTree(s, each(s, silent{}), nil))
		d = must(quiet.Fit(counts, nil))
		checkExactIntervals(t, quiet, d, values, rapid.Float64Range(0, 1).Draw(t, "q"))
	})
}

// within returns the distance of two numbers, rounded up.
func within(x, y *big.Rat) int64 {
	d := new(big.Rat).Sub(x, y)
	f, _ := d.Abs(d).Float64()
	return int64(math.Ceil(f))
}

func checkExactIntervals(t *rapid.T, tree *estimate.Tree, d *estimate.Distribution, values []int64, q float64) {
	t.Helper()
	r := must(tree.RankError(q, alpha))
	lower, upper := r.Interval(d)
	i := between(lower, upper)
	want := discrete(values, q)
	if !i.Contains(continuous(values, q)) || !i.Contains(rat(want, 1)) || r.Most() > 1e-6 {
		t.Fatalf("q = %v: %d to %d ± %v rows lacks %v or %v", q, lower, upper, r.Most(), continuous(values, q), want)
	}
	// It may be one row wider on each side, and then end where a row would be.
	rank := int(q * float64(len(values)-1))
	width := tree.Shape().Width()
	if rank > 0 && lower <= values[rank-1]-width {
		t.Fatalf("q = %v: %d to %d begins before %d", q, lower, upper, values[rank-1])
	}
	if rank+1 < len(values) && upper >= values[rank+1]+width {
		t.Fatalf("q = %v: %d to %d ends after %d", q, lower, upper, values[rank+1])
	}
	for name, c := range map[string]struct {
		build func(float64) (*estimate.Extreme, error)
		want  int64
	}{"min": {tree.Min, values[0]}, "max": {tree.Max, values[len(values)-1]}} {
		e := must(c.build(alpha))
		x, ok := e.Value(d)
		lower, upper := e.Interval(d)
		if !ok || max(x-c.want, c.want-x) >= width || lower > c.want || upper < c.want {
			t.Fatalf("%s %v in %d to %d, want %d, width %d", name, x, lower, upper, c.want, width)
		}
	}
}

// TestDistributionIsMonotone has counts of any size, negative ones too.
func TestDistributionIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, low, high := shape(t)
		counts := make([][]*big.Int, s.Levels())
		for l := range counts {
			for range s.Nodes(l) {
				counts[l] = append(counts[l], big.NewInt(rapid.Int64Range(-300, 500).Draw(t, "count")))
			}
		}
		total := big.NewInt(rapid.Int64Range(-100, 5000).Draw(t, "total"))
		noise := each(s, constant(rapid.Float64Range(0, 100).Draw(t, "noise")))
		d := must(must(estimate.NewTree(s, noise, constant(3))).Fit(counts, total))
		c := d.Cumulative()
		if c[0] != 0 || c[len(c)-1] != d.Total() || !slices.IsSorted(c) {
			t.Fatalf("cumulative counts %v", c)
		}
		before, beforeDisc := rat(low, 1), low
		for step := range 101 {
			q := float64(step) / 100
			x, ok := d.Quantile(q)
			y, okDisc := d.QuantileDisc(q)
			if ok != (d.Total() >= 0.5) || okDisc != ok {
				t.Fatalf("a total of %v: %v", d.Total(), ok)
			}
			if !ok {
				return
			}
			if x.Cmp(before) < 0 || y < beforeDisc || x.Cmp(rat(high, 1)) > 0 || y > high {
				t.Fatalf("q = %v: %v and %v after %v and %v", q, x, y, before, beforeDisc)
			}
			before, beforeDisc = x, y
		}
	})
}

// TestIsotonic compares with the closed form max over i ≤ k of min over j ≥ k of
// the mean of x[i..j].
func TestIsotonic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(-10, 10), 0, 20).Draw(t, "x")
		got := slices.Clone(x)
		estimate.Isotonic(got)
		for k := range x {
			want := math.Inf(-1)
			for i := range k + 1 {
				lowest, sum := math.Inf(1), 0.0
				for j := i; j < len(x); j++ {
					sum += x[j]
					if j >= k {
						lowest = min(lowest, sum/float64(j-i+1))
					}
				}
				want = max(want, lowest)
			}
			if math.Abs(got[k]-want) > 1e-9 {
				t.Fatalf("%v: %v at %d, want %v", x, got[k], k, want)
			}
		}
	})
}

// TestFitIsAccurate compares the error of a cumulative count with that of the
// fewest counts that make it up: merging all counts of a binary tree lowers it.
func TestFitIsAccurate(t *testing.T) {
	const runs, buckets = 3000, 64
	src := stattest.Source(t)
	s := must(estimate.NewShape(0, buckets-1, buckets, 2))
	m := make([]mechanisms.Mechanism, s.Levels())
	noise := make([]estimate.Noise, s.Levels())
	for l := range m {
		m[l] = gaussian(1, 0.01)
		noise[l] = m[l]
	}
	var values []int64
	for x := range int64(buckets) {
		for range 500 { // so many that no count becomes negative
			values = append(values, x)
		}
	}
	counts := histogram(s, values)
	tree := must(estimate.NewTree(s, noise, nil))
	r := must(tree.RankError(0, alpha))
	const boundary = 43
	fitted, plain := 0.0, 0.0
	for range runs {
		d := must(tree.Fit(noisy(m, src, counts), nil))
		e := d.Cumulative()[boundary] - 500*boundary
		fitted += e * e
		f, _ := r.Difference(d, boundary)
		f -= 500 * boundary
		plain += f * f
	}
	ratio := math.Sqrt(fitted / plain)
	t.Logf("RMSE %.3f of that of the fewest counts", ratio)
	if ratio > 0.8 {
		t.Errorf("merging all counts leaves %v of the error", ratio)
	}
}

func TestTreeRefuses(t *testing.T) {
	s := must(estimate.NewShape(0, 99, 100, 10))
	good := each(s, silent{})
	tree := must(estimate.NewTree(s, good, nil))
	with := must(estimate.NewTree(s, good, silent{}))
	counts := func(levels ...int) [][]*big.Int {
		var all [][]*big.Int
		for _, n := range levels {
			row := make([]*big.Int, n)
			for i := range row {
				row[i] = new(big.Int)
			}
			all = append(all, row)
		}
		return all
	}
	missing := counts(10, 100)
	missing[1][5] = nil
	huge := counts(10, 100)
	huge[0][0].Lsh(big.NewInt(1), 2000)
	zero, endless := new(big.Int), constant(math.Inf(1))
	for name, run := range map[string]func() error{
		"zero shape":       func() error { _, err := estimate.NewTree(estimate.Shape{}, nil, nil); return err },
		"a level too few":  func() error { _, err := estimate.NewTree(s, good[:1], nil); return err },
		"no noise":         func() error { _, err := estimate.NewTree(s, []estimate.Noise{nil, nil}, nil); return err },
		"endless noise":    func() error { _, err := estimate.NewTree(s, each(s, endless), nil); return err },
		"noise NaN":        func() error { _, err := estimate.NewTree(s, each(s, constant(math.NaN())), nil); return err },
		"total NaN":        func() error { _, err := estimate.NewTree(s, good, constant(math.NaN())); return err },
		"negative total":   func() error { _, err := estimate.NewTree(s, good, constant(-1)); return err },
		"counts too few":   func() error { _, err := tree.Fit(counts(10), nil); return err },
		"a node too few":   func() error { _, err := tree.Fit(counts(10, 99), nil); return err },
		"a node missing":   func() error { _, err := tree.Fit(missing, nil); return err },
		"a huge count":     func() error { _, err := tree.Fit(huge, nil); return err },
		"a total too many": func() error { _, err := tree.Fit(counts(10, 100), zero); return err },
		"a total missing":  func() error { _, err := with.Fit(counts(10, 100), nil); return err },
		"q above 1":        func() error { _, err := tree.RankError(1.1, alpha); return err },
		"q NaN":            func() error { _, err := tree.RankError(math.NaN(), alpha); return err },
		"alpha 0":          func() error { _, err := tree.RankError(0.5, 0); return err },
		"alpha 1":          func() error { _, err := tree.RankError(0.5, 1); return err },
		"min, alpha NaN":   func() error { _, err := tree.Min(math.NaN()); return err },
		"max, alpha 0":     func() error { _, err := tree.Max(0); return err },
		"max, alpha 1":     func() error { _, err := tree.Max(1); return err },
	} {
		if err := run(); !errors.Is(err, estimate.ErrParameter) {
			t.Errorf("%s: %v", name, err)
		}
	}
	d := must(tree.Fit(counts(10, 100), nil))
	for _, q := range []float64{-0.1, 1.1, math.NaN(), 0.5} {
		if x, ok := d.Quantile(q); ok {
			t.Errorf("the %v-quantile of nothing is %v", q, x)
		}
		if x, ok := d.QuantileDisc(q); ok {
			t.Errorf("the %v-quantile of nothing is %v", q, x)
		}
	}
}

// TestHugeTrees reads a quantile off a wide grid with much noise and few rows.
func TestHugeTrees(t *testing.T) {
	s := must(estimate.NewShape(math.MinInt64, math.MinInt64+1<<62-1, 1<<16, 16))
	m := laplace(1, 1e-9)
	src := stattest.Source(t)
	counts := make([][]*big.Int, s.Levels())
	for l := range counts {
		for range s.Nodes(l) {
			counts[l] = append(counts[l], released(m, src, 0))
		}
	}
	tree := must(estimate.NewTree(s, each(s, estimate.Noise(m)), nil))
	d := must(tree.Fit(counts, nil))
	lower, upper := must(tree.RankError(0.5, alpha)).Interval(d)
	if x, ok := d.QuantileDisc(0.5); ok && (x < lower || x > upper) {
		t.Errorf("%d outside %d to %d", x, lower, upper)
	}
	if upper > math.MinInt64+1<<62-1 || lower > upper {
		t.Errorf("%d to %d", lower, upper)
	}
}

func FuzzTree(f *testing.F) {
	f.Add(int64(0), int64(99), 100, 10, 0.5, 0.05, 3.0, []byte{1, 2, 3})
	f.Add(int64(-5), int64(5), 3, 2, 1.0, 1e-9, 0.0, []byte{})
	f.Add(int64(math.MinInt64), int64(math.MaxInt64), 1<<16, 2, 0.0, 0.999, 1e150, []byte{255})
	f.Add(int64(math.MinInt64), int64(math.MinInt64+1<<61), 1000, 1000, math.NaN(), math.Inf(1), 1e-300, []byte{128})
	f.Fuzz(func(t *testing.T, low, high int64, buckets, branching int, q, alpha, noise float64, data []byte) {
		s, err := estimate.NewShape(low, high, buckets%3000, branching)
		if err != nil {
			checkTyped(t, err)
			return
		}
		if _, err := s.Split(dp.ZCDP, low); err != nil {
			checkTyped(t, err)
		}
		tree, err := estimate.NewTree(s, each(s, constant(noise)), nil)
		if err != nil {
			checkTyped(t, err)
			return
		}
		counts := make([][]*big.Int, s.Levels())
		for l := range counts {
			for i := range s.Nodes(l) {
				n := new(big.Int)
				if i < len(data) {
					n.Lsh(big.NewInt(int64(int8(data[i]))), uint(data[i])%90)
				}
				counts[l] = append(counts[l], n)
			}
		}
		d, err := tree.Fit(counts, nil)
		if err != nil {
			t.Fatal(err)
		}
		x, ok := d.Quantile(q)
		if ok && !between(low, high).Contains(x) {
			t.Fatalf("%v outside %d to %d", x, low, high)
		}
		if r, err := tree.RankError(q, alpha); err != nil {
			checkTyped(t, err)
		} else if a, b := r.Interval(d); a < low || b > high || a > b || math.IsNaN(r.Most()) {
			t.Fatalf("%d to %d, errors to %v", a, b, r.Most())
		}
		if e, err := tree.Min(alpha); err != nil {
			checkTyped(t, err)
		} else if a, b := e.Interval(d); a < low || b > high || a > b {
			t.Fatalf("%d to %d", a, b)
		}
	})
}

func checkTyped(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, estimate.ErrParameter) {
		t.Fatalf("untyped error %v", err)
	}
}
