package mechanisms_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"dpproxy/dp"
	"dpproxy/internal/stattest"
	"dpproxy/mechanisms"
)

func aboveThreshold(t testing.TB, delta int64, monotone bool, epsilonPico int64) mechanisms.AboveThreshold {
	t.Helper()
	m, err := mechanisms.NewAboveThreshold(delta, monotone, epsilonPico)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func begin(t testing.TB, m mechanisms.AboveThreshold, src mechanisms.Source, threshold int64) *mechanisms.Search {
	t.Helper()
	s, err := m.Begin(src, big.NewInt(threshold))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// atLeast is P(n ≥ x) of discrete Laplace noise.
func atLeast(x int64, scale float64) float64 {
	p := math.Exp(-1 / scale)
	if x > 0 {
		return math.Exp(-float64(x)/scale) / (1 + p)
	}
	return 1 - math.Exp(float64(x-1)/scale)/(1+p)
}

// below is P(n < x), by symmetry, without cancelling.
func below(x int64, scale float64) float64 { return atLeast(1-x, scale) }

// A sparseVector is the technique written down anew: the scales of its noise.
type sparseVector struct{ bar, query float64 }

// scales are those of the mechanism's comment.
func scales(epsilon, delta float64, monotone bool) sparseVector {
	if monotone {
		return sparseVector{2 * delta / epsilon, 2 * delta / epsilon}
	}
	return sparseVector{44 * delta / (17 * epsilon), 2 * 44 * delta / (27 * epsilon)}
}

// answers is the probability of a sequence of answers, true for above, if it is not
// halted: the sum over the noise of a threshold of 0.
func (v sparseVector) answers(queries []int64, above []bool) float64 {
	reach := int64(80 * (v.bar + v.query))
	for _, q := range queries {
		reach = max(reach, int64(80*(v.bar+v.query))+q, int64(80*(v.bar+v.query))-q)
	}
	law, total := stattest.Laplace(v.bar), 0.0
	for z := -reach; z <= reach; z++ {
		p := law(z)
		for i, yes := range above {
			if yes {
				p *= atLeast(z-queries[i], v.query)
			} else {
				p *= below(z-queries[i], v.query)
			}
		}
		total += p
	}
	return total
}

// first is the law of the index of the first answer above, or of none, at the end.
func (v sparseVector) first(queries []int64) []float64 {
	law := make([]float64, 0, len(queries)+1)
	for k := range queries {
		above := make([]bool, k+1)
		above[k] = true
		law = append(law, v.answers(queries, above))
	}
	return append(law, v.answers(queries, make([]bool, len(queries))))
}

// search returns the index of the first query above, or how many there are.
func search(s *mechanisms.Search, queries []mechanisms.Private) (int, error) {
	for i, q := range queries {
		above, err := s.Above(q)
		if above || err != nil {
			return i, err
		}
	}
	return len(queries), nil
}

func TestAboveThresholdHasItsLaw(t *testing.T) {
	tests := []struct {
		delta       int64
		monotone    bool
		epsilonPico int64
		threshold   int64
		queries     []int64
	}{
		{1, false, picoUnit, 0, []int64{-9, -6, -12, -2, -9, 3, 0}},
		{3, true, 2 * picoUnit, 1 << 60, []int64{1<<60 - 20, 1<<60 - 9, 1<<60 - 14, 1<<60 + 2, 1<<60 - 2}},
		{2, false, 333_333_333_333, -7, []int64{-90, -52, -80, -70, -40, -47}},
		{1, true, 4 * picoUnit, 5, []int64{3, 3, 4, 3, 5, 3}},
	}
	for _, tt := range tests {
		m, queries := aboveThreshold(t, tt.delta, tt.monotone, tt.epsilonPico), protected(tt.queries...)
		shifted := make([]int64, len(tt.queries))
		for i, q := range tt.queries {
			shifted[i] = q - tt.threshold
		}
		epsilon := float64(tt.epsilonPico) / picoUnit
		t.Run(m.String(), func(t *testing.T) {
			t.Parallel()
			src := seeded(t)
			law := scales(epsilon, float64(tt.delta), tt.monotone).first(shifted)
			twin := scales(epsilon*wrong, float64(tt.delta), tt.monotone).first(shifted)
			checkLaw(t, indices(func() (int, error) {
				return search(begin(t, m, src, tt.threshold), queries)
			}), law, twin)
		})
	}
}

// TestAboveThresholdGuarantee compares the laws of neighbours over all outcomes.
func TestAboveThresholdGuarantee(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		epsilon := rapid.SampledFrom([]float64{0.5, 1, 4}).Draw(t, "epsilon")
		delta, monotone := rapid.Int64Range(1, 3).Draw(t, "delta"), rapid.Bool().Draw(t, "monotone")
		queries, other := scoreNeighbours(t, delta, monotone, rapid.IntRange(1, 6).Draw(t, "size"))
		below := rapid.Int64Range(-10, 30).Draw(t, "threshold")
		for i := range queries {
			queries[i] -= below * delta
			other[i] -= below * delta
		}
		v := scales(epsilon, float64(delta), monotone)
		low, high := logRatios(v.first(queries), v.first(other))
		if limit := epsilon + 1e-11; -low > limit || high > limit {
			t.Fatalf("log-ratios from %v to %v at ε = %v", low, high, epsilon)
		}
	})
}

// worstNeighbours returns a query vector and a neighbour's whose law of the first
// answer above differ by almost ε: 12 queries that a noisy threshold far up must
// exceed, and one that it must not.
func worstNeighbours(far, down int64) (queries, other []int64) {
	for range 12 {
		queries, other = append(queries, far), append(other, far+1)
	}
	return append(queries, -far), append(other, -far+down)
}

// TestAboveThresholdGuaranteeIsTight shows neighbours that use up ε, and how it fails
// without the halt and under a wrong claim of monotony.
func TestAboveThresholdGuaranteeIsTight(t *testing.T) {
	const epsilon = 1
	for _, monotone := range []bool{false, true} {
		down := int64(-1)
		if monotone {
			down = 0
		}
		v := scales(epsilon, 1, monotone)
		queries, other := worstNeighbours(40, down)
		low, high := logRatios(v.first(queries), v.first(other))
		if high < 0.99*epsilon || max(-low, high) > epsilon*(1+1e-11) {
			t.Errorf("monotone %v: log-ratios from %v to %v", monotone, low, high)
		}
	}
	liar := scales(epsilon, 1, true)
	queries, other := worstNeighbours(40, -1)
	if _, high := logRatios(liar.first(queries), liar.first(other)); high < 1.4*epsilon {
		t.Errorf("queries that are not monotone: log-ratios to %v", high)
	}

	// Without the halt, six answers below and six above tell the two vectors apart.
	v, above := scales(epsilon, 1, false), make([]bool, 12)
	queries, other = make([]int64, 12), make([]int64, 12)
	for i := range above {
		above[i] = i >= 6
		if above[i] {
			queries[i] = 1
		} else {
			other[i] = 1
		}
	}
	if ratio := math.Log(v.answers(queries, above) / v.answers(other, above)); ratio < 1.5*epsilon {
		t.Errorf("without the halt the log-ratio is only %v", ratio)
	}
}

// TestAboveThresholdSplit holds the split to ε, exactly, and to the least variance.
func TestAboveThresholdSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		delta := rapid.Int64Range(1, math.MaxInt64).Draw(t, "delta")
		pico := rapid.Int64Range(1, dp.MaxPico).Draw(t, "epsilon")
		monotone := rapid.Bool().Draw(t, "monotone")
		m, err := mechanisms.NewAboveThreshold(delta, monotone, pico)
		if err != nil {
			t.Fatal(err)
		}
		bar, query := m.Noises()
		share := func(l mechanisms.Laplace, shift int64) *big.Rat {
			distance := new(big.Rat).Mul(new(big.Rat).SetInt64(delta), big.NewRat(shift, 1))
			return distance.Quo(distance, l.Event().(dp.LaplaceEvent).Scale)
		}
		shift, best := int64(2), math.Cbrt(4)
		if monotone {
			shift, best = 1, 1
		}
		e1, e2 := share(bar, 1), share(query, shift)
		if sum := new(big.Rat).Add(e1, e2); sum.Cmp(big.NewRat(pico, picoUnit)) != 0 {
			t.Fatalf("ε₁ + ε₂ = %v", sum)
		}
		if ratio, _ := new(big.Rat).Quo(e2, e1).Float64(); math.Abs(ratio/best-1) > 1.0/1900 {
			t.Fatalf("ε₂/ε₁ = %v, want near %v", ratio, best)
		}
	})
}

func TestSearchHalts(t *testing.T) {
	m := aboveThreshold(t, 1, false, 100*picoUnit)
	s := begin(t, m, seeded(t), 50)
	for i := range 1000 {
		if above, err := s.Above(mechanisms.Protect(big.NewInt(0))); above || err != nil || s.Halted() {
			t.Fatalf("question %d: %v, %v", i, above, err)
		}
	}
	if above, err := s.Above(mechanisms.Protect(big.NewInt(100))); !above || err != nil || !s.Halted() {
		t.Fatalf("%v, %v", above, err)
	}
	for _, q := range []int64{0, 100} {
		if above, err := s.Above(mechanisms.Protect(big.NewInt(q))); above || !errors.Is(err, mechanisms.ErrHalted) {
			t.Errorf("after the halt: %v, %v", above, err)
		}
	}
	if _, err := new(mechanisms.Search).Above(mechanisms.Protect(big.NewInt(0))); !errors.Is(err, mechanisms.ErrHalted) {
		t.Errorf("the zero search: %v", err)
	}
	if _, err := m.Begin(seeded(t), nil); !errors.Is(err, mechanisms.ErrParameter) {
		t.Errorf("without a threshold: %v", err)
	}
	if s := begin(t, m, seeded(t), 50); !searchIsAbove(t, s, 50) {
		t.Error("at the threshold, without noise, a query counts as below")
	}
	if got := m.Event().(dp.PureEvent).Epsilon; got.Cmp(big.NewRat(100, 1)) != 0 {
		t.Errorf("ε = %v", got)
	}
}

func searchIsAbove(t *testing.T, s *mechanisms.Search, q int64) bool {
	t.Helper()
	above, err := s.Above(mechanisms.Protect(big.NewInt(q)))
	if err != nil {
		t.Fatal(err)
	}
	return above
}

// TestSearchAtTheEnds asks at the least and the largest ε, with the largest
// sensitivity and queries of any size.
func TestSearchAtTheEnds(t *testing.T) {
	far := new(big.Int).Lsh(big.NewInt(1), 10_000)
	for _, monotone := range []bool{false, true} {
		for _, delta := range []int64{1, math.MaxInt64} {
			for _, pico := range []int64{1, dp.MaxPico} {
				s := begin(t, aboveThreshold(t, delta, monotone, pico), seeded(t), math.MinInt64)
				if above, err := s.Above(mechanisms.Protect(new(big.Int).Neg(far))); above || err != nil {
					t.Errorf("%v, %v", above, err)
				}
				if above, err := s.Above(mechanisms.Protect(far)); !above || err != nil {
					t.Errorf("%v, %v", above, err)
				}
			}
		}
	}
}

// TestSearchAnswersOneAtATime asks from many goroutines: one finds the answer.
func TestSearchAnswersOneAtATime(t *testing.T) {
	s := begin(t, aboveThreshold(t, 1, true, picoUnit), mechanisms.NewSource(), 0)
	var found atomic.Int32
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for {
				above, err := s.Above(mechanisms.Protect(big.NewInt(0)))
				if err != nil {
					return
				}
				if above {
					found.Add(1)
				}
			}
		})
	}
	group.Wait()
	if found.Load() != 1 {
		t.Errorf("%d questions were answered above", found.Load())
	}
}

// TestSearchShowsNothing prints a search whose noisy threshold is the secret.
func TestSearchShowsNothing(t *testing.T) {
	s := begin(t, aboveThreshold(t, 1, false, dp.MaxPico), mechanisms.NewSource(), secret)
	if !searchIsAbove(t, begin(t, aboveThreshold(t, 1, false, dp.MaxPico), mechanisms.NewSource(), secret), secret) {
		t.Fatal("the threshold has noise: the test would see nothing")
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
		if text := fmt.Sprintf(verb, s); leaks(text) {
			t.Errorf("%s: %s", verb, text)
		}
	}
}
