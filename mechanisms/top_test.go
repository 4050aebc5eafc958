package mechanisms_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dpproxy/accountant"
	"dpproxy/dp"
	"dpproxy/internal/stattest"
	"dpproxy/mechanisms"
)

// pairsLaw is that of the first two of counts, of which each choice has a law: the pair (i, j) of n is i·n + j.
func pairsLaw(counts []int64, choice func(counts []int64) []float64) []float64 {
	n := len(counts)
	law := make([]float64, n*n)
	for i, p := range choice(counts) {
		rest := slices.Delete(slices.Clone(counts), i, i+1)
		for at, q := range choice(rest) {
			j := at
			if at >= i {
				j++
			}
			law[i*n+j] = p * q
		}
	}
	return law
}

// Laws that were computed without this package, of the first two of the counts 5, 3, 2 at ε = 1/2.
func TestTopHasItsLaw(t *testing.T) {
	counts := []int64{5, 3, 2}
	exponential := func(rate float64) func([]int64) []float64 {
		return func(c []int64) []float64 { return expLaw(rate, nil, c) }
	}
	law := pairsLaw(counts, exponential(0.5))
	for pair, want := range map[int]float64{
		1: .391235434, 2: .237296286, 3: .189042757, 5: .042181141, 6: .102526859, 7: .037717524,
	} {
		if math.Abs(law[pair]-want) > 1e-9 {
			t.Fatalf("the law of the pair %d is %v, want %v", pair, law[pair], want)
		}
	}
	for _, pure := range []bool{false, true} {
		top, err := mechanisms.NewTop(2, 1, picoUnit/2, pure)
		if err != nil {
			t.Fatal(err)
		}
		src, private := seeded(t), protected(counts...)
		samples := stattest.Draw(choiceDraws, func() int64 {
			chosen, err := top.Choose(src, private)
			if err != nil {
				t.Fatal(err)
			}
			return int64(chosen[0]*len(counts) + chosen[1])
		})
		of, twin := law, pairsLaw(counts, exponential(1))
		if pure {
			of = pairsLaw(counts, func(c []int64) []float64 { return flipped(0.5, c) })
			twin = pairsLaw(counts, func(c []int64) []float64 { return flipped(1, c) })
		}
		if p := stattest.Fit(samples, listed(of)); p < stattest.Level {
			t.Errorf("%v: rejected with p = %g", top, p)
		}
		if p := stattest.Fit(samples, listed(twin)); p >= stattest.Level {
			t.Errorf("%v: half the sensitivity is accepted with p = %g", top, p)
		}
	}
}

// flipped is the law of permute and flip for monotone scores of sensitivity 1, over all orders.
func flipped(epsilon float64, scores []int64) []float64 {
	best := slices.Max(scores)
	law := make([]float64, len(scores))
	var visit func(left []int, p float64)
	visit = func(left []int, p float64) {
		for k, i := range left {
			heads, mine := math.Exp(epsilon*float64(scores[i]-best)), p/float64(len(left))
			law[i] += mine * heads
			if rest := slices.Delete(slices.Clone(left), k, k+1); heads < 1 && len(rest) > 0 {
				visit(rest, mine*(1-heads))
			}
		}
	}
	all := make([]int, len(scores))
	for i := range all {
		all[i] = i
	}
	visit(all, 1)
	return law
}

// TestTopOfNeighbours has units that are in all groups: whatever they add to each, up to the limit, no
// sequence of choices is more than exp(k·ε) times as likely with them, its Rényi divergences are
// those that it costs, and some unit comes near. With half the limit it costs more.
func TestTopOfNeighbours(t *testing.T) {
	const limit, k, epsilon = 3, 2, 0.7
	random := rand.New(rand.NewChaCha8([32]byte{18}))
	choice := func(c []int64) []float64 { return expLaw(epsilon/limit, nil, c) }
	reached, halved := 0.0, 0.0
	for range 3000 {
		without := make([]int64, 2+random.IntN(4))
		with := make([]int64, len(without))
		for i := range without {
			without[i] = random.Int64N(8)
			with[i] = without[i] + random.Int64N(limit+1)
		}
		p, q := pairsLaw(with, choice), pairsLaw(without, choice)
		p, q = ofPairs(p, len(with)), ofPairs(q, len(with))
		for i := range p {
			if r := math.Abs(math.Log(p[i] / q[i])); r > k*epsilon+1e-9 {
				t.Fatalf("%v and %v: a likelihood changes by exp(%v)", with, without, r)
			}
		}
		for _, alpha := range []float64{1.5, 2, 8} {
			for _, d := range []float64{renyi(p, q, alpha), renyi(q, p, alpha)} {
				share := d / (alpha * k * epsilon * epsilon / 8)
				if share > 1+1e-9 {
					t.Fatalf("%v and %v: the divergence of order %v is %v of its price", with, without, alpha, share)
				}
				reached = max(reached, share)
				halved = max(halved, 4*share)
			}
		}
	}
	if reached < 0.6 || halved <= 1 {
		t.Errorf("at most %v of the price is reached: the test cannot fail", reached)
	}
}

// ofPairs leaves out the pairs of one candidate with itself.
func ofPairs(law []float64, n int) []float64 {
	var out []float64
	for i, p := range law {
		if i/n != i%n {
			out = append(out, p)
		}
	}
	return out
}

func TestPriceOfTop(t *testing.T) {
	for pure, want := range map[bool]int64{false: 3 * 20_000_000_000, true: 3 * 400_000_000_000} { // 3·0.4²/8, 3·0.4
		top, err := mechanisms.NewTop(3, 20, 400_000_000_000, pure)
		if err != nil {
			t.Fatal(err)
		}
		measure := dp.ZCDP
		if pure {
			measure = dp.PureDP
		}
		if loss, err := accountant.Price(top.Event(), measure); err != nil || loss.Pico() != want {
			t.Errorf("pure: %t: %v costs %v, want %d·10⁻¹², %v", pure, top, loss, want, err)
		}
	}
}

func TestTopChoosesEachOnce(t *testing.T) {
	src := seeded(t)
	private := protected(3, 3, 3, 3, 900, 3, 3, 700)
	top, err := mechanisms.NewTop(8, 1, picoUnit, false)
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := top.Choose(src, private)
	if err != nil || !slices.Equal(chosen[:2], []int{4, 7}) {
		t.Errorf("of two that are far above the others %v are chosen first, %v", chosen, err)
	}
	if slices.Sort(chosen); !slices.Equal(chosen, []int{0, 1, 2, 3, 4, 5, 6, 7}) {
		t.Errorf("all of eight are %v", chosen)
	}
	if _, err := top.Choose(src, private[1:]); err == nil {
		t.Error("eight of seven are chosen")
	}
	for _, wrong := range []struct {
		k               int
		limit, epsilons int64
	}{{0, 1, 1}, {1, 0, 1}, {1, 1, 0}} {
		if _, err := mechanisms.NewTop(wrong.k, wrong.limit, wrong.epsilons, false); err == nil {
			t.Errorf("%+v is taken", wrong)
		}
	}
}

// BenchmarkTop is of ten of 1,000 counts that fall as a power, at the noise of a statement.
func BenchmarkTop(b *testing.B) {
	counts := make([]int64, 1000)
	for i := range counts {
		counts[i] = int64(3000 / math.Pow(float64(i+1), 0.7))
	}
	private := protected(counts...)
	top, err := mechanisms.NewTop(10, 1, 44_721_359_549, false)
	if err != nil {
		b.Fatal(err)
	}
	src := seeded(b)
	for b.Loop() {
		if _, err := top.Choose(src, private); err != nil {
			b.Fatal(err)
		}
	}
}
