package mechanisms_test

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"dpproxy/dp"
	"dpproxy/internal/stattest"
	"dpproxy/mechanisms"
)

// picoUnit is ε = 1.
const picoUnit = dp.PicoPerUnit

// protected returns private values.
func protected(values ...int64) []mechanisms.Private {
	all := make([]mechanisms.Private, len(values))
	for i, v := range values {
		all[i] = mechanisms.Protect(big.NewInt(v))
	}
	return all
}

// listed is the law on 0, 1, … with the given probabilities.
func listed(law []float64) func(int64) float64 {
	return func(i int64) float64 {
		if i < 0 || i >= int64(len(law)) {
			return 0
		}
		return law[i]
	}
}

// checkLaw is check with the same draws for the law and the twin.
func checkLaw(t *testing.T, draw func() int64, law, twin []float64) {
	t.Helper()
	samples := stattest.Draw(n, draw)
	p := stattest.Fit(samples, listed(law))
	if p < stattest.Level {
		p = stattest.Fit(stattest.Draw(4*n, draw), listed(law))
	}
	if p < stattest.Level {
		t.Errorf("rejected with p = %g", p)
	}
	q := stattest.Fit(samples, listed(twin))
	t.Logf("p = %.2g, against the twin %.2g", p, q)
	if q >= stattest.Level {
		t.Errorf("accepted a law that is wrong by 5 %% with p = %g", q)
	}
}

// indices draws, and counts an error as an impossible index.
func indices(draw func() (int, error)) func() int64 {
	return func() int64 {
		i, err := draw()
		if err != nil {
			return -1
		}
		return int64(i)
	}
}

// expLaw is the law of the exponential mechanism, written down anew.
func expLaw(rate float64, weights []uint64, scores []int64) []float64 {
	best := scores[0]
	for _, s := range scores {
		best = max(best, s)
	}
	law, total := make([]float64, len(scores)), 0.0
	for i, s := range scores {
		law[i] = math.Exp(rate * float64(s-best))
		if weights != nil {
			law[i] *= float64(weights[i])
		}
		total += law[i]
	}
	for i := range law {
		law[i] /= total
	}
	return law
}

func exponential(t testing.TB, delta int64, monotone bool, epsilonPico int64) mechanisms.Exponential {
	t.Helper()
	m, err := mechanisms.NewExponential(delta, monotone, epsilonPico)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestExponentialHasItsLaw(t *testing.T) {
	tests := []struct {
		delta       int64
		monotone    bool
		epsilonPico int64
		weights     []uint64
		scores      []int64
		rate        float64
	}{
		{1, false, picoUnit, nil, []int64{4, 0, 3, 3, -2}, 0.5},
		{3, true, 2 * picoUnit, nil, []int64{-1, 4, 0, 6}, 2.0 / 3},
		{1 << 40, false, picoUnit / 10, []uint64{1, 900, 30, 5}, []int64{60 << 40, -70 << 40, 0, 41<<40 + 12345}, 0.05 / (1 << 40)},
		{7, true, picoUnit + 1, []uint64{1 << 60, 1, 1 << 63}, []int64{0, 300, -7}, (1 + 1e-12) / 7},
	}
	for _, tt := range tests {
		m, scores := exponential(t, tt.delta, tt.monotone, tt.epsilonPico), protected(tt.scores...)
		law, twin := expLaw(tt.rate, tt.weights, tt.scores), expLaw(tt.rate*wrong, tt.weights, tt.scores)
		t.Run(m.String(), func(t *testing.T) {
			t.Parallel()
			src := seeded(t)
			checkLaw(t, indices(func() (int, error) { return m.Select(src, tt.weights, scores) }), law, twin)
		})
		told, err := m.Law(tt.weights, tt.scores)
		if err != nil {
			t.Fatal(err)
		}
		for i := range law {
			if math.Abs(told[i]-law[i]) > 1e-12*law[i] {
				t.Errorf("%v tells %v, not %v", m, told, law)
			}
		}
	}
}

// TestExponentialIsExactToTheLastWord gives uniform numbers that agree with the
// border of two cells in 63 to 319 bits.
func TestExponentialIsExactToTheLastWord(t *testing.T) {
	m := exponential(t, 3, false, 700_000_000_001)
	weights, values := []uint64{2, 5, 1, 1 << 40}, []int64{4, -7, 6, -110}
	rate := big.NewRat(700_000_000_001, 6_000_000_000_000)
	float := func() *big.Float { return new(big.Float).SetPrec(1024) }
	var sums []*big.Float
	total := float()
	for i, v := range values {
		cell := slowExp(new(big.Rat).Mul(rate, big.NewRat(6-v, 1)))
		total.Add(total, cell.Mul(cell, float().SetUint64(weights[i])))
		sums = append(sums, float().Set(total))
	}
	for i := range len(values) - 1 {
		border := float().Quo(sums[i], total)
		for count := uint(1); count <= 5; count++ {
			for delta, want := range map[int64]int{-1: i, 1: i + 1} {
				src := &wordTape{words: wordsOf(t, border, count, delta)}
				if got, err := m.Select(src, weights, protected(values...)); err != nil || got != want {
					t.Errorf("border %d, %d words %+d: %d, %v", i, count, delta, got, err)
				}
			}
		}
	}
}

// TestPrecisionDoesNotChangeTheChoice draws the same uniform number at several
// precisions.
func TestPrecisionDoesNotChangeTheChoice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, err := mechanisms.NewExponential(
			rapid.Int64Range(1, 1<<62).Draw(t, "delta"), rapid.Bool().Draw(t, "monotone"),
			rapid.Int64Range(1, 1<<rapid.IntRange(0, 53).Draw(t, "bits")).Draw(t, "epsilon"))
		if err != nil {
			t.Fatal(err)
		}
		values := rapid.SliceOfN(rapid.Int64(), 1, 6).Draw(t, "scores")
		scores := protected(values...)
		weights := rapid.SliceOfN(rapid.Uint64Min(1), len(values), len(values)).Draw(t, "weights")
		words := rapid.SliceOfN(rapid.Uint64(), 24, 24).Draw(t, "words")
		tape := func() *wordTape { return &wordTape{words: words, rest: 0x123456789abcdef} }
		want, err := m.Select(tape(), weights, scores)
		if err != nil {
			t.Fatal(err)
		}
		for _, precision := range []uint{8, 64, 1000} {
			if got := m.SelectFrom(tape(), precision, weights, scores); got != want {
				t.Fatalf("%d at %d bits, %d at 192", got, precision, want)
			}
		}
	})
}

// TestExponentialTakesFewWords counts them where rejection would take for ever:
// at the largest and the least ε, far scores, and a best candidate of least weight.
func TestExponentialTakesFewWords(t *testing.T) {
	far := mechanisms.Protect(new(big.Int).Lsh(big.NewInt(-1), 10_000))
	many := make([]mechanisms.Private, 2000)
	for i := range many {
		many[i] = mechanisms.Protect(big.NewInt(int64(-i)))
	}
	tests := map[string]struct {
		m       mechanisms.Exponential
		weights []uint64
		scores  []mechanisms.Private
		words   int // of a choice
	}{
		"largest ε":     {exponential(t, 1, true, dp.MaxPico), nil, protected(1, 2, 3), 3},
		"least ε":       {exponential(t, math.MaxInt64, false, 1), nil, protected(math.MinInt64, 2, math.MaxInt64), 3},
		"far scores":    {exponential(t, 1, false, picoUnit), nil, append(protected(7), far), 3},
		"light best":    {exponential(t, 1, false, picoUnit), []uint64{1, math.MaxUint64}, protected(80, 0), 3},
		"many":          {exponential(t, 1, false, picoUnit/1000), nil, many, 1}, // a first look tells
		"many, far":     {exponential(t, math.MaxInt64, false, 1), nil, many, 3}, // it cannot
		"one candidate": {exponential(t, 1, false, picoUnit), nil, protected(-5), 3},
	}
	for name, tt := range tests {
		chacha := seeded(t)
		src := &counting{src: chacha}
		for range 20 {
			if _, err := tt.m.Select(src, tt.weights, tt.scores); err != nil {
				t.Fatal(err)
			}
		}
		if src.words != 20*tt.words {
			t.Errorf("%s: 20 choices took %d words, want %d each", name, src.words, tt.words)
		}
	}
}

// A counting source counts the words that it passes on.
type counting struct {
	src   mechanisms.Source
	words int
}

func (c *counting) Uint64() uint64 {
	c.words++
	return c.src.Uint64()
}

// TestQuantileByExponential holds the law of a quantile to numbers computed with
// fifty digits: the data 1, 2, 4, 7 in 0 to 10, q = 1/2, ε = 1. Scores −|i − q·n|
// are doubled, and so is their sensitivity.
func TestQuantileByExponential(t *testing.T) {
	want := []float64{0.06237739434755245, 0.10284293687165966, 0.3391186751231516, 0.308528810614979, 0.18713218304265733}
	m := exponential(t, 2, false, picoUnit)
	values, lengths := []int64{-4, -2, 0, -2, -4}, []uint64{1, 1, 2, 3, 3}
	law, err := m.Law(lengths, values)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range want {
		if math.Abs(law[i]-p) > 1e-12*p {
			t.Errorf("interval %d: %v, want %v", i, law[i], p)
		}
	}
}

// TestSelectPointHasItsLaw draws such quantiles, at ε = 4. The points of an interval
// share its probability.
func TestSelectPointHasItsLaw(t *testing.T) {
	m, src := exponential(t, 2, false, 4*picoUnit), seeded(t)
	values, lengths := []int64{-4, -2, 0, -2, -4}, []uint64{1, 1, 2, 3, 3}
	pointLaw := func(rate float64) (law []float64) {
		for i, p := range expLaw(rate, lengths, values) {
			for range lengths[i] {
				law = append(law, p/float64(lengths[i]))
			}
		}
		return law
	}
	cuts, scores := protected(1, 2, 4, 7), protected(values...)
	checkLaw(t, func() int64 {
		r, err := m.SelectPoint(src, 0, 10, cuts, scores)
		if err != nil {
			return -1
		}
		return r.Int().Int64()
	}, pointLaw(1), pointLaw(wrong))
}

// TestSelectPointMovesCuts gives cuts beyond the bounds and in disorder, and a best
// score that no point has.
func TestSelectPointMovesCuts(t *testing.T) {
	m := exponential(t, 1, false, 20*picoUnit)
	tests := []struct {
		cuts, scores []int64
		low, high    int64 // of the best score's points
	}{
		{nil, []int64{5}, -3, 8},
		{[]int64{-100, 2, 100}, []int64{900, 100, 0, 900}, -3, 1},
		{[]int64{4, 1, 6}, []int64{0, 500, 100, 0}, 4, 5},
		{[]int64{math.MinInt64, math.MaxInt64}, []int64{0, 0, 700}, -3, 8},
		{[]int64{8}, []int64{0, 100}, 8, 8},
	}
	for _, tt := range tests {
		src := seeded(t)
		seen := make(map[int64]bool)
		for range 500 {
			r, err := m.SelectPoint(src, -3, 9, protected(tt.cuts...), protected(tt.scores...))
			if err != nil {
				t.Fatal(err)
			}
			seen[r.Int().Int64()] = true
		}
		for x := range seen {
			if x < tt.low || x > tt.high {
				t.Errorf("%v: chose %d, want %d to %d", tt.cuts, x, tt.low, tt.high)
			}
		}
		if len(seen) != int(tt.high-tt.low+1) {
			t.Errorf("%v: chose %d points, want all from %d to %d", tt.cuts, len(seen), tt.low, tt.high)
		}
	}
	r, err := m.SelectPoint(seeded(t), math.MinInt64, math.MaxInt64, protected(0), protected(0, 0))
	if err != nil || r.Int().Sign() == 0 {
		t.Errorf("in all integers: %v, %v", r.Int(), err)
	}
}

// logRatios returns the least and the largest ln(p/q).
func logRatios(p, q []float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for i := range p {
		ratio := math.Log(p[i]) - math.Log(q[i])
		low, high = min(low, ratio), max(high, ratio)
	}
	return low, high
}

// scoreNeighbours draws scores and those of a neighbour.
func scoreNeighbours(t *rapid.T, delta int64, monotone bool, size int) (scores, other []int64) {
	least := -delta
	if monotone {
		least = 0
	}
	change := rapid.OneOf(rapid.Int64Range(least, delta), rapid.SampledFrom([]int64{least, delta}))
	for i := range size {
		scores = append(scores, rapid.Int64Range(0, 20*delta).Draw(t, fmt.Sprint("score ", i)))
		other = append(other, scores[i]+change.Draw(t, fmt.Sprint("change ", i)))
	}
	return scores, other
}

// TestExponentialGuarantee compares the laws of neighbours: all log-ratios are at
// most ε, and in an interval of width ε.
func TestExponentialGuarantee(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		epsilon := rapid.SampledFrom([]float64{0.01, 0.5, 1, 4}).Draw(t, "epsilon")
		delta, monotone := rapid.Int64Range(1, 5).Draw(t, "delta"), rapid.Bool().Draw(t, "monotone")
		m, err := mechanisms.NewExponential(delta, monotone, int64(epsilon*picoUnit))
		if err != nil {
			t.Fatal(err)
		}
		scores, other := scoreNeighbours(t, delta, monotone, rapid.IntRange(1, 6).Draw(t, "size"))
		weights := rapid.SliceOfN(rapid.Uint64Range(1, 1000), len(scores), len(scores)).Draw(t, "weights")
		low, high := logRatios(laws(t, m, weights, scores), laws(t, m, weights, other))
		if limit := epsilon + 1e-11; -low > limit || high > limit || high-low > limit {
			t.Fatalf("log-ratios from %v to %v at ε = %v", low, high, epsilon)
		}
	})
}

func laws(t interface{ Fatal(...any) }, m mechanisms.Exponential, weights []uint64, scores []int64) []float64 {
	law, err := m.Law(weights, scores)
	if err != nil {
		t.Fatal(err)
	}
	return law
}

// TestExponentialGuaranteeIsTight shows neighbours that use up ε and its range, the
// concentrated divergence near ε²/8, and how a wrong claim of monotony breaks it.
func TestExponentialGuaranteeIsTight(t *testing.T) {
	const epsilon = 0.1
	for _, monotone := range []bool{false, true} {
		m := exponential(t, 2, monotone, picoUnit/10)
		down := int64(-2)
		if monotone {
			down = 0
		}
		low, high := logRatios(laws(t, m, []uint64{1, 100_000}, []int64{0, 0}), laws(t, m, []uint64{1, 100_000}, []int64{down, 2}))
		if high < 0.99*epsilon || high-low < 0.99*epsilon || high-low > epsilon*(1+1e-12) {
			t.Errorf("%v: log-ratios from %v to %v", m, low, high)
		}
		p, q := laws(t, m, nil, []int64{0, 0}), laws(t, m, nil, []int64{down, 2})
		worst := 0.0
		for alpha := 1.001; alpha < 1000; alpha *= 1.1 {
			sum := 0.0
			for i := range p {
				sum += p[i] * math.Pow(p[i]/q[i], alpha-1)
			}
			worst = max(worst, math.Log(sum)/(alpha-1)/alpha)
		}
		if limit := epsilon * epsilon / 8; worst > limit*(1+1e-9) || worst < 0.95*limit {
			t.Errorf("%v: ρ = %v, want near %v", m, worst, limit)
		}
	}
	liar := exponential(t, 2, true, picoUnit/10)
	if low, high := logRatios(laws(t, liar, nil, []int64{0, 0}), laws(t, liar, nil, []int64{-2, 2})); high-low < 1.9*epsilon {
		t.Errorf("scores that are not monotone: log-ratios from %v to %v", low, high)
	}
}
