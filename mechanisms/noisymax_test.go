package mechanisms_test

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"dpproxy/dp"
	"dpproxy/mechanisms"
)

// flipLaw is the law of permute-and-flip by inclusion and exclusion over the sets S
// of candidates that are visited before i: qᵢ·Σ (−1)^|S|·Π qⱼ/(|S|+1), qⱼ the
// probability of heads [McKenna-Sheldon 2020].
func flipLaw(rate float64, scores []int64) []float64 {
	heads := headsOf(rate, scores)
	law := make([]float64, len(scores))
	for i := range law {
		// The polynomial Π (1 − qⱼ·x) over j ≠ i, whose integral from 0 to 1 is the sum.
		polynomial := []float64{1}
		for j, q := range heads {
			if j == i {
				continue
			}
			next := make([]float64, len(polynomial)+1)
			for k, c := range polynomial {
				next[k] += c
				next[k+1] -= c * q
			}
			polynomial = next
		}
		for k, c := range polynomial {
			law[i] += heads[i] * c / float64(k+1)
		}
	}
	return law
}

func headsOf(rate float64, scores []int64) []float64 {
	best := scores[0]
	for _, s := range scores {
		best = max(best, s)
	}
	heads := make([]float64, len(scores))
	for i, s := range scores {
		heads[i] = math.Exp(rate * float64(s-best))
	}
	return heads
}

// enumeratedFlipLaw walks through all orders of the candidates.
func enumeratedFlipLaw(rate float64, scores []int64) []float64 {
	heads, law := headsOf(rate, scores), make([]float64, len(scores))
	var visit func(left []int, p float64)
	visit = func(left []int, p float64) {
		for k, i := range left {
			here := p / float64(len(left))
			law[i] += here * heads[i]
			rest := append(append([]int(nil), left[:k]...), left[k+1:]...)
			visit(rest, here*(1-heads[i]))
		}
	}
	all := make([]int, len(scores))
	for i := range all {
		all[i] = i
	}
	visit(all, 1)
	return law
}

func TestFlipLaws(t *testing.T) {
	for _, scores := range [][]int64{{3}, {0, 0}, {1, 5}, {4, 0, 3, 3, -2}, {1, 2, 3, 4, 5, 6, 7}} {
		a, b := flipLaw(0.4, scores), enumeratedFlipLaw(0.4, scores)
		for i := range a {
			if math.Abs(a[i]-b[i]) > 1e-12*b[i] {
				t.Errorf("%v: %v and %v", scores, a, b)
			}
		}
	}
}

func noisyMax(t testing.TB, delta int64, monotone bool, epsilonPico int64) mechanisms.NoisyMax {
	t.Helper()
	m, err := mechanisms.NewNoisyMax(delta, monotone, epsilonPico)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestNoisyMaxHasItsLaw(t *testing.T) {
	tests := []struct {
		delta       int64
		monotone    bool
		epsilonPico int64
		scores      []int64
		rate        float64
	}{
		{1, false, picoUnit, []int64{4, 0, 3, 3, -2}, 0.5},
		{3, true, 2 * picoUnit, []int64{-1, 2, 0, 3}, 2.0 / 3},
		{1 << 40, false, picoUnit / 10, []int64{20 << 40, -10 << 40, 0, 11<<40 + 12345}, 0.05 / (1 << 40)},
		{math.MaxInt64, true, 2*picoUnit - 1, []int64{math.MinInt64 / 2, math.MaxInt64 / 2}, (2 - 1e-12) / (1 << 63)},
	}
	for _, tt := range tests {
		m, scores := noisyMax(t, tt.delta, tt.monotone, tt.epsilonPico), protected(tt.scores...)
		t.Run(m.String(), func(t *testing.T) {
			t.Parallel()
			src := seeded(t)
			checkLaw(t, indices(func() (int, error) { return m.Select(src, scores) }),
				flipLaw(tt.rate, tt.scores), flipLaw(tt.rate*wrong, tt.scores))
		})
	}
}

// TestNoisyMaxGuarantee compares the laws of neighbours.
func TestNoisyMaxGuarantee(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		epsilon := rapid.SampledFrom([]float64{0.01, 0.5, 1, 4}).Draw(t, "epsilon")
		delta, monotone := rapid.Int64Range(1, 5).Draw(t, "delta"), rapid.Bool().Draw(t, "monotone")
		scores, other := scoreNeighbours(t, delta, monotone, rapid.IntRange(1, 6).Draw(t, "size"))
		rate := flipRate(epsilon, delta, monotone)
		// Only the walk through all orders has no terms that cancel.
		low, high := logRatios(enumeratedFlipLaw(rate, scores), enumeratedFlipLaw(rate, other))
		if limit := epsilon + 1e-11; -low > limit || high > limit {
			t.Fatalf("log-ratios from %v to %v at ε = %v", low, high, epsilon)
		}
	})
}

// flipRate is the rate of the mechanism's law, which TestNoisyMaxHasItsLaw checks.
func flipRate(epsilon float64, delta int64, monotone bool) float64 {
	if monotone {
		return epsilon / float64(delta)
	}
	return epsilon / float64(2*delta)
}

// TestNoisyMaxGuaranteeIsTight shows neighbours that use up ε, a range of almost 2ε,
// which is why the event is no more than pure, and how a wrong claim of monotony
// breaks the guarantee.
func TestNoisyMaxGuaranteeIsTight(t *testing.T) {
	const epsilon = 0.1
	tests := []struct {
		monotone                     bool
		scores, other, level, tipped []int64
	}{
		{false, []int64{200, 0}, []int64{199, 1}, []int64{0, 1}, []int64{1, 0}},
		{true, []int64{200, 0}, []int64{200, 1}, []int64{5, 5}, []int64{5, 6}},
	}
	for _, tt := range tests {
		rate := flipRate(epsilon, 1, tt.monotone)
		low, high := logRatios(enumeratedFlipLaw(rate, tt.scores), enumeratedFlipLaw(rate, tt.other))
		if -low < 0.99*epsilon || max(-low, high) > epsilon*(1+1e-12) {
			t.Errorf("monotone %v: log-ratios from %v to %v", tt.monotone, low, high)
		}
		low, high = logRatios(enumeratedFlipLaw(rate, tt.level), enumeratedFlipLaw(rate, tt.tipped))
		if high-low < 1.9*epsilon || max(-low, high) > epsilon*(1+1e-12) {
			t.Errorf("monotone %v: log-ratios from %v to %v, want a wide range", tt.monotone, low, high)
		}
	}
	liar := flipRate(epsilon, 1, true)
	if low, _ := logRatios(enumeratedFlipLaw(liar, []int64{200, 0}), enumeratedFlipLaw(liar, []int64{199, 1})); -low < 1.9*epsilon {
		t.Errorf("scores that are not monotone: log-ratios from %v", low)
	}
}

// TestNoisyMaxAtTheEnds draws where a coin has a probability of almost 0 or 1.
func TestNoisyMaxAtTheEnds(t *testing.T) {
	src := seeded(t)
	far := mechanisms.Protect(new(big.Int).Lsh(big.NewInt(-1), 10_000))
	sure := noisyMax(t, 1, true, dp.MaxPico)
	for range 100 {
		if i, err := sure.Select(src, append(protected(1, 3, 2), far)); err != nil || i != 1 {
			t.Fatalf("chose %d, %v", i, err)
		}
	}
	vague, seen := noisyMax(t, math.MaxInt64, false, 1), [2]int{}
	for range 100 {
		i, err := vague.Select(src, protected(math.MinInt64, math.MaxInt64))
		if err != nil {
			t.Fatal(err)
		}
		seen[i]++
	}
	if seen[0] < 10 || seen[1] < 10 {
		t.Errorf("at ε = 10⁻¹² chose %v", seen)
	}
	if _, err := sure.Select(src, nil); !errors.Is(err, mechanisms.ErrParameter) {
		t.Errorf("no candidates: %v", err)
	}
}
