package mechanisms_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dpproxy/dp"
	"dpproxy/internal/stattest"
	"dpproxy/mechanisms"
)

// choiceDraws is how many choices a law is compared with.
const choiceDraws = 200_000

// A weighed is a choice among buckets or values by their weights.
type weighed interface {
	Choose(src mechanisms.Source, weights []mechanisms.Private) (int, error)
	Event() dp.Event
	String() string
}

// checkChoice compares draws with a law, and with that of half the sensitivity, which must fail.
func checkChoice(t *testing.T, of weighed, weights []int64, law, twin []float64) {
	t.Helper()
	src, private := seeded(t), protected(weights...)
	samples := stattest.Draw(choiceDraws, indices(func() (int, error) { return of.Choose(src, private) }))
	if p := stattest.Fit(samples, listed(law)); p < stattest.Level {
		t.Errorf("%v of %v: rejected with p = %g", of, weights, p)
	}
	if p := stattest.Fit(samples, listed(twin)); twin != nil && p >= stattest.Level {
		t.Errorf("%v of %v: half the sensitivity is accepted with p = %g", of, weights, p)
	}
}

// scoresOf writes the scores of buckets down by their definition, in the order of its sums.
func scoresOf(a, c int64, weights []int64) []int64 { return scoresBeside(a, c, 0, weights) }

// scoresBeside are those of a row behind the quantile: the first bucket has no beginning there, and the last no end.
func scoresBeside(a, c, target int64, weights []int64) []int64 {
	d := func(j int) int64 {
		below, above := int64(0), int64(0)
		for i, w := range weights {
			if i < j {
				below += w
			} else {
				above += w
			}
		}
		return (c-a)*below - a*above - target
	}
	scores := make([]int64, len(weights))
	for j := range scores {
		if j > 0 {
			scores[j] = min(scores[j], -d(j))
		}
		if j+1 < len(scores) {
			scores[j] = min(scores[j], d(j+1))
		}
	}
	return scores
}

// The law of a row beside a quantile is that of its scores, in words and in integers of any size: also where fewer rows are beside it.
func TestQuantileBesideHasItsLaw(t *testing.T) {
	for _, tt := range []struct {
		a, c, target int64
	}{{1, 2, 3}, {1, 2, -3}, {9, 10, 40}, {0, 1, 4}, {1, 1, -4}, {0, 1, 14}, {1, 1, -14}} {
		for _, scale := range []int64{1, 1 << 50} {
			weights := []int64{3, 0, 5, 0, 2}
			for i := range weights {
				weights[i] *= scale
			}
			q, err := mechanisms.NewQuantileBeside(scale, tt.a, tt.c, tt.target*scale, picoUnit)
			if err != nil {
				t.Fatal(err)
			}
			scores, rate := scoresBeside(tt.a, tt.c, tt.target*scale, weights), 1/float64(2*scale*max(tt.a, tt.c-tt.a))
			if slices.Max(scores) != 0 {
				t.Errorf("%v: the best score is %d", q, slices.Max(scores))
			}
			t.Run(q.String(), func(t *testing.T) {
				t.Parallel()
				checkChoice(t, q, weights, expLaw(rate, nil, scores), expLaw(2*rate, nil, scores))
			})
		}
	}
}

func quantile(t testing.TB, limit, a, c, epsilonPico int64) mechanisms.Quantile {
	t.Helper()
	q, err := mechanisms.NewQuantile(limit, a, c, epsilonPico)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// Laws that were computed without this package.
func TestQuantileHasItsLaw(t *testing.T) {
	for _, tt := range []struct {
		weights           []int64
		a, c, limit, pico int64
		law               []float64
		same              bool // whatever the sensitivity is
	}{
		{
			weights: []int64{3, 0, 5, 2}, a: 1, c: 2, limit: 1, pico: picoUnit,
			law: []float64{.102491197, .102491197, .757313202, .037704404},
		},
		{
			weights: []int64{3, 0, 5, 2}, a: 9, c: 10, limit: 1, pico: picoUnit,
			law: []float64{.021684981, .021684981, .348764774, .607865263},
		},
		{
			weights: []int64{0, 7, 1, 0, 4}, a: 1, c: 4, limit: 3, pico: picoUnit / 2,
			law: []float64{.204418441, .285288917, .182921658, .163685492, .163685492},
		},
		{weights: []int64{0, 0, 0, 0}, a: 1, c: 2, limit: 1, pico: picoUnit, law: []float64{.25, .25, .25, .25}, same: true},
	} {
		q := quantile(t, tt.limit, tt.a, tt.c, tt.pico)
		scores, worst := scoresOf(tt.a, tt.c, tt.weights), max(tt.a, tt.c-tt.a)
		rate := float64(tt.pico) / picoUnit / (2 * float64(tt.limit*worst))
		law, twin := expLaw(rate, nil, scores), expLaw(2*rate, nil, scores)
		for i := range law {
			if math.Abs(law[i]-tt.law[i]) > 1e-9 {
				t.Fatalf("%v: the law is %v, want %v", q, law, tt.law)
			}
		}
		if tt.same {
			twin = nil
		}
		t.Run(q.String(), func(t *testing.T) {
			t.Parallel()
			checkChoice(t, q, tt.weights, law, twin)
		})
	}
}

func TestModeHasItsLaw(t *testing.T) {
	for _, tt := range []struct {
		weights     []int64
		limit, pico int64
		pure        bool
		law         []float64
	}{
		{[]int64{50, 40, 45}, 20, picoUnit / 5, false, []float64{.350131861, .316812409, .333055729}},
		{[]int64{5, 3, 2}, 1, picoUnit / 2, false, []float64{.628531719, .231223898, .140244383}},
		{[]int64{5, 3, 2}, 1, picoUnit / 2, true, []float64{.731856866, .170258887, .097884247}},
	} {
		m, err := mechanisms.NewMode(tt.limit, tt.pico, tt.pure)
		if err != nil {
			t.Fatal(err)
		}
		half, err := mechanisms.NewMode(max(tt.limit/2, 1), tt.pico*max(1, 2/tt.limit), tt.pure)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(m.String(), func(t *testing.T) {
			t.Parallel()
			law, total := slices.Clone(tt.law), 0.0
			for _, p := range law { // nine digits do not add up
				total += p
			}
			for i := range law {
				law[i] /= total
			}
			checkChoice(t, m, tt.weights, law, nil)
			src, private := seeded(t), protected(tt.weights...)
			samples := stattest.Draw(choiceDraws, indices(func() (int, error) { return half.Choose(src, private) }))
			if p := stattest.Fit(samples, listed(law)); p >= stattest.Level {
				t.Errorf("half the sensitivity is accepted with p = %g", p)
			}
		})
	}
}

// A unit changes each score by at most its weight times max(a, c−a), and some do so.
func TestQuantileScoreSensitivity(t *testing.T) {
	src := rand.New(rand.NewChaCha8([32]byte{7}))
	for _, q := range [][2]int64{{1, 2}, {1, 4}, {9, 10}, {19, 20}, {1, 1_000_000}, {0, 1}, {1, 1}} {
		a, c := q[0], q[1]
		reached := 0.0
		for range 4000 {
			weights := make([]int64, 1+src.IntN(8))
			for i := range weights {
				weights[i] = src.Int64N(12) * src.Int64N(2)
			}
			target := []int64{0, 7 * c, -7 * c}[src.IntN(3)]
			without := scoresBeside(a, c, target, weights)
			unit := int64(0)
			for range 1 + src.IntN(3) {
				add := src.Int64N(5)
				weights[src.IntN(len(weights))] += add
				unit += add
			}
			for i, s := range scoresBeside(a, c, target, weights) {
				change := max(s-without[i], without[i]-s)
				if change > unit*max(a, c-a) {
					t.Fatalf("%d/%d: a unit of weight %d changes a score by %d", a, c, unit, change)
				}
				if unit > 0 {
					reached = max(reached, float64(change)/float64(unit*max(a, c-a)))
				}
			}
		}
		if reached < 1 {
			t.Errorf("%d/%d: the sensitivity is reached to %g only", a, c, reached)
		}
	}
}

// exact returns the law of a choice by its definition.
func exact(a, c, limit int64, epsilon float64, weights []int64) []float64 {
	return expLaw(epsilon/(2*float64(limit*max(a, c-a))), nil, scoresOf(a, c, weights))
}

// A choice in each of several groups, of a unit with the weight w in a group, has there a range of ε·w/L, and
// costs α·(ε·w/L)²/8 in the Rényi divergence of order α. So all of them cost no more than α·ε²/8 where
// the weights of a unit have ℓ₂ norm L, whatever the number of groups is, and ε where their sum is L.
func TestJointPriceOfGroups(t *testing.T) {
	src := rand.New(rand.NewChaCha8([32]byte{8}))
	for _, epsilon := range []float64{0.1, 1, 3} {
		largest, ranges := 0.0, 0.0
		for range 20_000 {
			a, c := int64(1), int64(2)
			if src.IntN(2) == 0 {
				a, c = 1+src.Int64N(9), 10
			}
			var square, sum int64
			type pair struct{ without, with []int64 }
			var groups []pair
			for range 1 + src.IntN(4) {
				without := make([]int64, 2+src.IntN(4))
				for i := range without {
					without[i] = src.Int64N(3) * src.Int64N(6)
				}
				with, unit := append([]int64(nil), without...), int64(0)
				for range 1 + src.IntN(2) {
					n := src.Int64N(5)
					with[src.IntN(len(with))] += n
					unit += n
				}
				square, sum = square+unit*unit, sum+unit
				groups = append(groups, pair{without, with})
			}
			if sum == 0 {
				continue
			}
			l2, worst := int64(math.Ceil(math.Sqrt(float64(square)))), 0.0
			for _, alpha := range []float64{1.001, 2, 8, 64} {
				for _, order := range []int{0, 1} {
					total := 0.0
					for _, g := range groups {
						p, q := exact(a, c, l2, epsilon, g.with), exact(a, c, l2, epsilon, g.without)
						if order == 1 {
							p, q = q, p
						}
						total += renyi(p, q, alpha)
					}
					worst = max(worst, total/(alpha*epsilon*epsilon/8))
				}
			}
			largest = max(largest, worst)
			low, high := 0.0, 0.0
			for _, g := range groups {
				p, q := exact(a, c, sum, epsilon, g.with), exact(a, c, sum, epsilon, g.without)
				least, most := math.Inf(1), math.Inf(-1)
				for i := range p {
					ratio := math.Log(p[i] / q[i])
					least, most = min(least, ratio), max(most, ratio)
				}
				low, high = low+least, high+most
			}
			ranges = max(ranges, (high-low)/epsilon)
		}
		t.Logf("ε = %g: %.4f of the price, %.4f of the range", epsilon, largest, ranges)
		if largest > 1+1e-9 || ranges > 1+1e-9 {
			t.Errorf("ε = %g: all choices cost %g times the price, and have %g times the range", epsilon, largest, ranges)
		}
		if largest < 0.5 || ranges < 0.99 {
			t.Errorf("ε = %g: only %g of the price, and %g of the range are reached", epsilon, largest, ranges)
		}
	}
}

// renyi is the divergence of order α of two laws.
func renyi(p, q []float64, alpha float64) float64 {
	sum := 0.0
	for i := range p {
		sum += math.Exp(alpha*math.Log(p[i]) + (1-alpha)*math.Log(q[i]))
	}
	return math.Log(sum) / (alpha - 1)
}

func TestQuantileParameters(t *testing.T) {
	for _, tt := range [][4]int64{
		{0, 1, 2, picoUnit},
		{1, 0, 2, picoUnit},
		{1, 2, 2, picoUnit},
		{1, 3, 2, picoUnit},
		{1, 1, 2, 0},
		{1 << 62, 1, 4, picoUnit},
	} {
		if q, err := mechanisms.NewQuantile(tt[0], tt[1], tt[2], tt[3]); err == nil {
			t.Errorf("%v is made of %v", q, tt)
		}
	}
	for _, tt := range [][5]int64{
		{0, 1, 2, 0, picoUnit},
		{1, -1, 2, 0, picoUnit},
		{1, 3, 2, 0, picoUnit},
		{1, 0, 0, 0, picoUnit},
		{1, 1, 2, 1 << 62, picoUnit},
		{1, 1, 2, -1 << 62, picoUnit},
		{1, 1, 2, 0, 0},
	} {
		if q, err := mechanisms.NewQuantileBeside(tt[0], tt[1], tt[2], tt[3], tt[4]); err == nil {
			t.Errorf("%v is made of %v", q, tt)
		}
	}
	if _, err := quantile(t, 1, 1, 2, picoUnit).Choose(seeded(t), nil); err == nil {
		t.Error("a choice of nothing")
	}
	if _, err := mechanisms.NewMode(0, picoUnit, false); err == nil {
		t.Error("a mode of sensitivity 0")
	}
}

func BenchmarkChoiceOfBucket(b *testing.B) {
	for _, buckets := range []int{91, 4096, 16_384} {
		weights := make([]int64, buckets)
		for i := range weights {
			weights[i] = int64(i%7 + 1)
		}
		private := protected(weights...)
		b.Run(fmt.Sprint(buckets), func(b *testing.B) {
			src := seeded(b)
			for b.Loop() { // a statement makes its mechanism anew
				if _, err := quantile(b, 1, 1, 2, picoUnit/1000).Choose(src, private); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
