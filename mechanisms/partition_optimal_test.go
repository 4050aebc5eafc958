package mechanisms_test

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"dpproxy/accountant"
	"dpproxy/dp"
	"dpproxy/internal/stattest"
	"dpproxy/mechanisms"
)

func optimalSelection(t testing.TB, k int64, epsilon, delta *big.Rat) mechanisms.OptimalSelection {
	t.Helper()
	s, err := mechanisms.NewOptimalSelection(k, epsilon, delta)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestOptimalRecurrence holds π, which has a closed form, to the recurrence that
// defines it: the largest probability that four inequalities of (ε, δ)-DP allow.
// So it is private, and nothing larger is.
func TestOptimalRecurrence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		epsilon := math.Exp2(rapid.Float64Range(-7, 6).Draw(t, "log2 epsilon"))
		delta := math.Exp2(rapid.Float64Range(-60, -0.01).Draw(t, "log2 delta"))
		exactEpsilon, exactDelta := new(big.Rat).SetFloat64(epsilon), new(big.Rat).SetFloat64(delta)
		s, err := mechanisms.NewOptimalSelection(1, exactEpsilon, exactDelta)
		if err != nil {
			t.Fatal(err)
		}
		near := int64(math.Log(1/delta) / epsilon)
		for _, begin := range []int64{0, max(0, near-20), 3*near + 20} {
			last := s.Keep(begin)
			for n := begin + 1; n < begin+40; n++ {
				got := s.Keep(n)
				want := min(math.Exp(epsilon)*last+delta, 1-math.Exp(-epsilon)*(1-last-delta), 1)
				if !closeTo(got, want, 2e-13) {
					t.Fatalf("ε = %v, δ = %v: π(%d) = %v after %v, want %v", epsilon, delta, n, got, last, want)
				}
				last = got
			}
		}
	})
}

// TestOptimalCoinHasItsProbability compares the rate at which partitions are kept
// with the recurrence, and with that of an ε which is wrong by 5 %.
func TestOptimalCoinHasItsProbability(t *testing.T) {
	const draws = 40_000
	pi := func(epsilon, delta float64, n int) float64 {
		p := 0.0
		for range n {
			p = min(math.Exp(epsilon)*p+delta, 1-math.Exp(-epsilon)*(1-p-delta), 1)
		}
		return p
	}
	for _, tt := range []struct {
		epsilon *big.Rat
		n       int
	}{{big.NewRat(1, 1), 10}, {big.NewRat(1, 1), 11}, {big.NewRat(1, 1), 12}, {big.NewRat(1, 1), 13}, {big.NewRat(1, 10), 70}, {big.NewRat(3, 2), 8}} {
		s, private, src := optimalSelection(t, 2, tt.epsilon, big.NewRat(1, 1e5)), mechanisms.Protect(big.NewInt(int64(tt.n))), seeded(t)
		kept := 0.0
		for range draws {
			if s.Select(src, private) {
				kept++
			}
		}
		z := func(p float64) float64 { return (kept - draws*p) / math.Sqrt(draws*p*(1-p)) }
		e, _ := tt.epsilon.Float64()
		if got := z(pi(e, 1e-5, tt.n)); math.Abs(got) > stattest.MaxZ {
			t.Errorf("ε = %v, %d units: z = %.1f", e, tt.n, got)
		}
		if got := z(pi(e*wrong, 1e-5, tt.n)); math.Abs(got) <= stattest.MaxZ {
			t.Errorf("ε = %v, %d units: z = %.1f against an ε wrong by 5 %%", e, tt.n, got)
		}
	}
}

// words is a source of words that were written down.
type words struct {
	t    *testing.T
	list []uint64
}

func (w *words) Uint64() uint64 {
	if len(w.list) == 0 {
		w.t.Fatal("more words were drawn than a decision needs")
	}
	x := w.list[0]
	w.list = w.list[1:]
	return x
}

// TestOptimalCoinLooksCloser gives the coin the first 64 or 128 bits of π(n)
// itself, after which only further bits can tell.
func TestOptimalCoinLooksCloser(t *testing.T) {
	for _, tt := range []struct {
		epsilon, delta *big.Rat
		n              int64
	}{
		{big.NewRat(1, 1), big.NewRat(1, 1e5), 1},
		{big.NewRat(1, 1), big.NewRat(1, 1e5), 7},
		{big.NewRat(1, 1), big.NewRat(1, 1e5), 12},
		{big.NewRat(1, 1), big.NewRat(1, 1e5), 20},
		{big.NewRat(1, 1e12), big.NewRat(1, 1e18), 1e12},
		{big.NewRat(1e4, 1), big.NewRat(1, 3), 2},
	} {
		s := optimalSelection(t, 1, tt.epsilon, tt.delta)
		digits := s.Digits(tt.n, 192)
		var first [3]uint64
		for i := range first {
			first[i] = new(big.Int).Rsh(digits, uint(128-64*i)).Uint64()
		}
		private := mechanisms.Protect(big.NewInt(tt.n))
		for _, c := range []struct {
			list []uint64
			want bool
		}{
			{[]uint64{first[0] - 1}, true},
			{[]uint64{first[0], first[1] - 1}, true},
			{[]uint64{first[0], first[1] + 1}, false},
			{[]uint64{first[0], first[1], first[2] - 1}, true},
			{[]uint64{first[0], first[1], first[2] + 1}, false},
			{[]uint64{first[0] + 1}, false},
		} {
			if c.list[len(c.list)-1]+1 <= 1 {
				continue // the step wrapped around
			}
			if got := s.Select(&words{t, c.list}, private); got != c.want {
				t.Errorf("ε = %v, δ = %v, %d units, words %x of %x: kept %v", tt.epsilon, tt.delta, tt.n, c.list, first, got)
			}
		}
	}
}

func TestOptimalSelectsWithoutDoubt(t *testing.T) {
	s := optimalSelection(t, 1, big.NewRat(1, 1), big.NewRat(1, 1e5))
	none := &words{t: t}
	for _, empty := range []int64{0, -1, math.MinInt64} {
		if s.Select(none, mechanisms.Protect(big.NewInt(empty))) {
			t.Errorf("a partition of %d units was kept", empty)
		}
	}
	beyond := new(big.Int).Lsh(big.NewInt(1), 100)
	for _, many := range []*big.Int{big.NewInt(23), big.NewInt(math.MaxInt64), beyond} {
		if !s.Select(none, mechanisms.Protect(many)) {
			t.Errorf("a partition of %d units was not kept", many)
		}
	}
}

// TestOptimalBudget checks that the price keeps to any budget, and that a relative
// 10⁻⁶ more for each partition would not.
func TestOptimalBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.Int64Range(1, 3).Draw(t, "k")
		pico := rapid.Int64Range(k, 1<<rapid.IntRange(2, 53).Draw(t, "pico bits")).Draw(t, "pico")
		delta := rapid.Int64Range(1, atto-1).Draw(t, "delta")
		s, err := mechanisms.OptimalSelectionFor(k, pico, delta)
		if err != nil {
			t.Fatal(err)
		}
		e := s.Event().(dp.ApproximateEvent)
		got, err := accountant.Price(e, dp.ZCDP)
		if err != nil || got.Pico() > pico || got.Atto() != delta {
			t.Fatalf("%v: price %v, %v, for %d and %d", s, got, err, pico, delta)
		}
		for i, part := range e.Of.(dp.ComposedEvent) {
			more := new(big.Rat).Mul(part.(dp.PureEvent).Epsilon, big.NewRat(1e6+1, 1e6))
			more.Add(more, big.NewRat(2, dp.PicoPerUnit))
			price, err := accountant.Price(dp.PureEvent{Epsilon: more}, dp.ZCDP)
			if err == nil && price.Pico() < pico/k {
				t.Fatalf("%v: partition %d could have ε = %v", s, i, more)
			}
		}
		if int64(len(e.Of.(dp.ComposedEvent))) != k {
			t.Fatalf("%v: an event of %d partitions", s, len(e.Of.(dp.ComposedEvent)))
		}
	})
}

func BenchmarkSelect(b *testing.B) {
	src, units := mechanisms.NewSource(), mechanisms.Protect(big.NewInt(20))
	g, o := gaussianSelection(b, 4, 25, atto/1e6), optimalSelection(b, 1, big.NewRat(1, 1), big.NewRat(1, 1e5))
	b.Run("gaussian", func(b *testing.B) {
		for b.Loop() {
			g.Select(src, units)
		}
	})
	b.Run("optimal", func(b *testing.B) {
		for b.Loop() {
			o.Select(src, units)
		}
	})
}

func BenchmarkNewSelection(b *testing.B) {
	b.Run("gaussian", func(b *testing.B) {
		for b.Loop() {
			gaussianSelection(b, 4, 25, atto/1e6)
		}
	})
	b.Run("optimal", func(b *testing.B) {
		for b.Loop() {
			optimalSelection(b, 1, big.NewRat(1, 1), big.NewRat(1, 1e5))
		}
	})
}
