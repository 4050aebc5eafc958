package estimate_test

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"dpproxy/dp"
	"dpproxy/estimate"
	"dpproxy/internal/stattest"
	"dpproxy/mechanisms"
)

// TestMomentsAreBounded compares the bound from quantiles alone with the exact
// moments: never below, and above by at most as much as noise of a tenth more
// spread would have.
func TestMomentsAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		noise mechanisms.Mechanism
		law   func(int64) float64
		// at are multiples of 1/StdDev for λ.
		at []float64
	}{
		"gaussian 1":      {gaussian(1, 0.5), stattest.Gaussian(1), []float64{0.1, 0.5, 1, 2, 3}},
		"gaussian 10^4":   {gaussian(100, 0.5), stattest.Gaussian(1e4), []float64{0.01, 0.1, 0.5, 1, 2, 3}},
		"laplace 1":       {laplace(1, 1), stattest.Laplace(1), []float64{0.1, 0.3, 0.6}},
		"laplace 100":     {laplace(1, 0.01), stattest.Laplace(100), []float64{0.01, 0.1, 0.3, 0.6}},
		"laplace quarter": {laplace(1, 4), stattest.Laplace(0.25), []float64{0.01, 0.1, 0.5}},
	} {
		for _, multiple := range c.at {
			lambda := multiple / c.noise.StdDev()
			exact := func(lambda float64) float64 {
				sum, reach := 0.0, int64(60*c.noise.StdDev())+60
				for n := -reach; n <= reach; n++ {
					sum += c.law(n) * math.Exp(lambda*float64(n))
				}
				return math.Log(sum)
			}
			got := estimate.LogMoment(c.noise, lambda)
			if got < exact(lambda)*(1-1e-9) {
				t.Errorf("%s, λ = %v/σ: %v is below %v", name, multiple, got, exact(lambda))
			}
			t.Logf("%s, λ = %v/σ: %.4f of the exact moment", name, multiple, got/exact(lambda))
			if got > exact(1.1*lambda) {
				t.Errorf("%s, λ = %v/σ: %v is far above %v", name, multiple, got, exact(lambda))
			}
		}
	}
}

// A scene is a tree with values in it, and noise of every level.
type scene struct {
	shape  estimate.Shape
	m      []mechanisms.Mechanism
	counts [][]int64
}

// stage counts n values in each of the given buckets, of one integer each.
func stage(t *testing.T, buckets, branching int, noise func(pico int64) mechanisms.Mechanism, of dp.Measure, at map[int64]int) scene {
	t.Helper()
	s := scene{shape: must(estimate.NewShape(0, int64(buckets)-1, buckets, branching))}
	for _, part := range must(s.shape.Split(of, pico/10)) {
		s.m = append(s.m, noise(part))
	}
	s.counts = make([][]int64, s.shape.Levels())
	for l := range s.counts {
		s.counts[l] = make([]int64, s.shape.Nodes(l))
		for x, n := range at {
			s.counts[l][x/s.shape.Divisor(l)] += int64(n)
		}
	}
	return s
}

// noise is the description of the noise that a tree is given.
func (s scene) noise(tell func(mechanisms.Mechanism) estimate.Noise) []estimate.Noise {
	var all []estimate.Noise
	for _, m := range s.m {
		all = append(all, tell(m))
	}
	return all
}

func truth(m mechanisms.Mechanism) estimate.Noise { return m }
func twin(m mechanisms.Mechanism) estimate.Noise  { return understated{m} }

func (s scene) fit(tree *estimate.Tree, src mechanisms.Source) *estimate.Distribution {
	return must(tree.Fit(noisy(s.m, src, s.counts), nil))
}

var laws = map[string]struct {
	noise func(pico int64) mechanisms.Mechanism
	of    dp.Measure
}{
	"gaussian": {func(p int64) mechanisms.Mechanism {
		return must(mechanisms.GaussianFor(dp.Sensitivity{L0: 1, LInf: 1}, p))
	}, dp.ZCDP},
	"laplace": {func(p int64) mechanisms.Mechanism {
		return must(mechanisms.LaplaceFor(dp.Sensitivity{L0: 1, LInf: 1}, p*3))
	}, dp.PureDP},
}

// rare is an alpha at which the slack of the moment bound does not hide noise
// that is understated.
const rare = 0.001

// TestRankErrorCovers holds the noise at single boundaries to the error.
func TestRankErrorCovers(t *testing.T) {
	const runs = 20_000
	for name, law := range laws {
		s := stage(t, 60, 8, law.noise, law.of, map[int64]int{3: 1000, 40: 3000})
		for _, q := range []float64{0, 0.25, 0.5, 1} {
			for _, boundary := range []int{1, 8, 31, 59} {
				t.Run(fmt.Sprintf("%s/%v/%d", name, q, boundary), func(t *testing.T) {
					src := stattest.Source(t)
					below := 0
					for _, n := range s.counts[len(s.counts)-1][:boundary] {
						below += int(n)
					}
					want := (1-q)*float64(below) - q*float64(4000-below)
					tree := must(estimate.NewTree(s.shape, s.noise(truth), nil))
					right := must(tree.RankError(q, rare))
					wrong := must(must(estimate.NewTree(s.shape, s.noise(twin), nil)).RankError(q, rare))
					failed, twinFailed := 0, 0
					square := 0.0
					d := s.fit(tree, src)
					_, e := right.Difference(d, boundary)
					_, twinE := wrong.Difference(d, boundary)
					// Only the counts of the boundary are drawn, as its difference needs no other.
					lows, highs := s.shape.Cut(boundary)
					nodes := 0
					for range runs {
						sum := 0.0
						for l := range lows {
							for range lows[l][1] - lows[l][0] {
								nodes++
								sum += (1 - q) * draw(s.m[l], src)
							}
							for range highs[l][1] - highs[l][0] {
								sum -= q * draw(s.m[l], src)
							}
						}
						if math.Abs(sum) > e {
							failed++
						}
						if math.Abs(sum) > twinE {
							twinFailed++
						}
						square += sum * sum
					}
					if got, _ := right.Difference(d, boundary); math.Abs(got-want) > 3*e {
						t.Errorf("the difference is %v, want %v ± %v", got, want, e)
					}
					limit := tolerated(runs, rare)
					t.Logf("e = %.1f = %.2f standard deviations, %d failures, limit %d, twin %d",
						e, e/math.Sqrt(square/runs), failed, limit, twinFailed)
					if failed > limit {
						t.Errorf("%d of %d fail, at most %d may", failed, runs, limit)
					}
					// The bound for a sum of Laplace noise has too much slack to tell.
					if twinFailed <= limit && (law.of == dp.ZCDP || q == 0 && nodes == runs) {
						t.Errorf("%d failures of the twin are too few to notice", twinFailed)
					}
				})
			}
		}
	}
}

// draw is one draw of noise.
func draw(m mechanisms.Mechanism, src mechanisms.Source) float64 {
	f, _ := new(big.Float).SetInt(m.Sample(new(big.Int), src)).Float64()
	return f
}

// TestIntervalsCover has half of the rows in each of two neighbouring buckets, so
// that the median lies between them and the error at one boundary decides.
func TestIntervalsCover(t *testing.T) {
	const runs = 20_000
	s := stage(t, 40, 7, laws["gaussian"].noise, dp.ZCDP, map[int64]int{17: 3000, 18: 3000})
	tree := must(estimate.NewTree(s.shape, s.noise(truth), nil))
	right := must(tree.RankError(0.5, rare))
	wrong := must(must(estimate.NewTree(s.shape, s.noise(twin), nil)).RankError(0.5, rare))
	src := stattest.Source(t)
	failed, twinFailed := 0, 0
	for range runs {
		d := s.fit(tree, src)
		lower, upper := right.Interval(d)
		x, _ := d.Quantile(0.5)
		y, _ := d.QuantileDisc(0.5)
		if i := between(lower, upper); !i.Contains(x) || !i.Contains(rat(y, 1)) {
			t.Fatalf("%d to %d lacks the estimates %v and %d", lower, upper, x, y)
		}
		if lower > 17 || upper < 18 {
			failed++
		}
		if lower, upper = wrong.Interval(d); lower > 17 || upper < 18 {
			twinFailed++
		}
	}
	limit := tolerated(runs, rare)
	t.Logf("failures: %d of %d, limit %d, twin %d", failed, runs, limit, twinFailed)
	if failed > limit {
		t.Errorf("%d of %d intervals fail, at most %d may", failed, runs, limit)
	}
	if twinFailed <= limit {
		t.Errorf("%d failures of the twin are too few to notice", twinFailed)
	}
}

// TestQuantilesCover covers several quantiles of spread values, and finds them.
func TestQuantilesCover(t *testing.T) {
	at := map[int64]int{}
	var values []int64
	for x := range int64(200) {
		at[x] = int(1 + x%7*x%13)
		for range at[x] {
			values = append(values, x)
		}
	}
	for name, law := range laws {
		for _, q := range []float64{0, 0.01, 0.25, 0.5, 0.99, 1} {
			t.Run(fmt.Sprintf("%s/%v", name, q), func(t *testing.T) {
				s := stage(t, 200, 16, law.noise, law.of, at)
				tree := must(estimate.NewTree(s.shape, s.noise(truth), nil))
				r := must(tree.RankError(q, 0.05))
				src := stattest.Source(t)
				want, disc := continuous(values, q), discrete(values, q)
				square, width := 0.0, int64(0)
				n := failures(1000, func() bool {
					d := s.fit(tree, src)
					x, _ := d.Quantile(q)
					f, _ := x.Sub(x, want).Float64()
					square += f * f
					lower, upper := r.Interval(d)
					width += upper - lower
					return between(lower, upper).Contains(want) && lower <= disc && disc <= upper
				})
				limit := tolerated(1000, 0.05)
				t.Logf("%v: RMSE %.2f, mean length %.1f, rank error %.0f, %d failures, limit %d",
					want, math.Sqrt(square/1000), float64(width)/1000, r.Most(), n, limit)
				if n > limit {
					t.Errorf("%d intervals fail, at most %d may", n, limit)
				}
				// The rank error moves the quantile by no more than the values in it.
				if density := 4.0; !(r.Most() > 0) || math.Sqrt(square/1000) > r.Most()/density {
					t.Errorf("RMSE %v at a rank error of %v", math.Sqrt(square/1000), r.Most())
				}
			})
		}
	}
}

// TestExtremes has values in the inner part of the grid. The estimates are not
// outside of them but for a probability of 0.1 %, intervals hold the truth, and
// noise that is understated shows.
func TestExtremes(t *testing.T) {
	inner := map[int64]int{}
	for x := int64(30); x <= 69; x++ {
		inner[x] = 1000
	}
	for name, c := range map[string]struct {
		law         string
		buckets     int
		at          map[int64]int
		first, last int64
		runs        int
		tight       bool // a bound for sums of Laplace noise has too much slack to tell
	}{
		"gaussian":           {"gaussian", 100, inner, 30, 69, 8000, true},
		"laplace":            {"laplace", 100, inner, 30, 69, 1000, false},
		"laplace, one count": {"laplace", 3, map[int64]int{1: 5000}, 1, 1, 100_000, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := stage(t, c.buckets, 16, laws[c.law].noise, laws[c.law].of, c.at)
			tree := must(estimate.NewTree(s.shape, s.noise(truth), nil))
			lying := must(estimate.NewTree(s.shape, s.noise(twin), nil))
			src := stattest.Source(t)
			draw := func() *estimate.Distribution { return s.fit(tree, src) }
			for _, end := range []ending{
				{must(tree.Min(rare)), must(lying.Min(rare)), c.first, 1},
				{must(tree.Max(rare)), must(lying.Max(rare)), c.last, -1},
			} {
				outside := end.check(t, c.runs, draw)
				if limit := tolerated(c.runs, rare); c.tight && outside <= limit {
					t.Errorf("%d of the twin are outside, too few to notice", outside)
				}
			}
		})
	}
}

// An ending is the search at one end; inward is 1 for a minimum and −1 for a
// maximum.
type ending struct {
	right, wrong *estimate.Extreme
	want, inward int64
}

// check looks for estimates beyond the end, and returns how many of the twin's
// are.
func (end ending) check(t *testing.T, runs int, draw func() *estimate.Distribution) (twinOutside int) {
	t.Helper()
	limit := tolerated(runs, rare)
	outside, uncovered := 0, 0
	for range runs {
		d := draw()
		x, ok := end.right.Value(d)
		inside := (x - end.want) * end.inward
		if !ok || inside > 1 { // a bucket has far more rows than noise could hide
			t.Fatalf("%d, %v, want %d", x, ok, end.want)
		}
		if inside < 0 {
			outside++
		}
		if lower, upper := end.right.Interval(d); lower > end.want || upper < end.want || x < lower || x > upper {
			uncovered++
		}
		if x, _ := end.wrong.Value(d); (x-end.want)*end.inward < 0 {
			twinOutside++
		}
	}
	t.Logf("%d of %d outside, %d uncovered, limit %d, twin %d outside", outside, runs, uncovered, limit, twinOutside)
	if outside > limit || uncovered > limit {
		t.Errorf("%d outside, %d uncovered, at most %d may be", outside, uncovered, limit)
	}
	return twinOutside
}

// TestExtremesOfNothing mostly find nothing.
func TestExtremesOfNothing(t *testing.T) {
	const runs, alpha = 2000, 0.05
	s := stage(t, 50, 7, laws["gaussian"].noise, dp.ZCDP, nil)
	tree := must(estimate.NewTree(s.shape, s.noise(truth), nil))
	src := stattest.Source(t)
	for _, e := range []*estimate.Extreme{must(tree.Min(alpha)), must(tree.Max(alpha))} {
		found := failures(runs, func() bool {
			_, ok := e.Value(s.fit(tree, src))
			return !ok
		})
		if limit := tolerated(runs, alpha); found > limit {
			t.Errorf("an extreme of nothing is found in %d of %d, limit %d", found, runs, limit)
		}
	}
}

func BenchmarkRankError(b *testing.B) {
	s := must(estimate.NewShape(0, 1023, 1024, 16))
	tree := must(estimate.NewTree(s, each(s, estimate.Noise(gaussian(1, 0.0001))), nil))
	for b.Loop() {
		_ = must(tree.RankError(0.5, 0.05))
	}
}

func BenchmarkFit(b *testing.B) {
	s := must(estimate.NewShape(0, 1023, 1024, 16))
	tree := must(estimate.NewTree(s, each(s, constant(7)), nil))
	r := must(tree.RankError(0.5, 0.05))
	values := make([]int64, 5000)
	for i := range values {
		values[i] = int64(i*i) % 1024
	}
	counts := bigs(histogram(s, values))
	for b.Loop() {
		d := must(tree.Fit(counts, nil))
		_, _ = d.Quantile(0.5)
		_, _ = r.Interval(d)
	}
}
