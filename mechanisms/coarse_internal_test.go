package mechanisms

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

// words enclose what the finer powers do.
func TestCoarsePowers(t *testing.T) {
	src := rand.New(rand.NewChaCha8([32]byte{3}))
	for _, rate := range []*big.Rat{
		big.NewRat(1, 2), big.NewRat(1, 1_000_000), big.NewRat(77, 1000), big.NewRat(3, 1<<40), big.NewRat(50, 1),
	} {
		fine := newPowers(rate, choicePrecision)
		c := newCoarse(fine)()
		for range 5000 {
			d := src.Uint64N(2*c.far + 2)
			got, want := c.at(d), coarsened(fine.at(new(big.Int).SetUint64(d)), choicePrecision)
			if got.lo > want.hi || got.hi < want.lo || got.hi-got.lo > 64 {
				t.Fatalf("exp(−%v·%v) is enclosed by %v, and by %v", rate, d, got, want)
			}
			if got.lo > want.lo || got.hi < want.hi {
				t.Fatalf("exp(−%v·%v): %v is narrower than %v", rate, d, got, want)
			}
		}
	}
}

// fixed draws given words, and then zeros.
type fixed struct{ words []uint64 }

func (f *fixed) Uint64() uint64 {
	if len(f.words) == 0 {
		return 0
	}
	w := f.words[0]
	f.words = f.words[1:]
	return w
}

// A first look in words finds what the finer look finds, or does not tell. It tells nearly always.
func TestCoarseChoices(t *testing.T) {
	src := rand.New(rand.NewChaCha8([32]byte{4}))
	untold := 0
	for range 300 {
		e, err := NewExponential(1+src.Int64N(1<<40), src.IntN(2) == 0, 1+src.Int64N(1e13))
		if err != nil {
			t.Fatal(err)
		}
		n := leastCoarse + src.IntN(40)
		weights, below := make([]uint64, n), make([]uint64, n)
		for i := range weights {
			weights[i], below[i] = 1+src.Uint64N(1<<20), src.Uint64N(1<<uint(1+src.IntN(45)))
		}
		below[src.IntN(n)] = 0
		c := e.coarse()
		if c == nil {
			continue
		}
		for at, u := range []uint64{src.Uint64(), src.Uint64(), 0, 1, 1<<64 - 1} {
			i, ok := c.locate(u, weights, below)
			if !ok && at < 2 {
				untold++
			}
			if !ok {
				continue
			}
			for _, rest := range []uint64{0, 1<<64 - 1} {
				bits := uniformBits{src: &fixed{[]uint64{u, rest, rest}}}
				bits.extend(choicePrecision)
				if want, ok := locate(bits, e.start, weights, distances{words: below}.all()); ok && want != i {
					t.Fatalf("u = %x: %d, and more precisely %d", u, i, want)
				}
			}
		}
	}
	if untold > 0 {
		t.Errorf("%d looks did not tell", untold)
	}
}

// Distances of buckets are those of the definition, also where runs have one score, and whether or not all D are
// words.
func TestQuantileDistances(t *testing.T) {
	src := rand.New(rand.NewChaCha8([32]byte{5}))
	for range 3000 {
		a := 1 + src.Int64N(9)
		q, err := NewQuantile(1, a, 10, 1e12)
		if err != nil {
			t.Fatal(err)
		}
		lattice := new(big.Int).Lsh(big.NewInt(1), []uint{0, 20, 58, 62, 80}[src.IntN(5)])
		counts := make([]int64, 1+src.IntN(9))
		private, total := make([]Private, len(counts)), int64(0)
		for i := range counts {
			counts[i] = src.Int64N(5) * src.Int64N(2)
			private[i], total = Protect(new(big.Int).Mul(big.NewInt(counts[i]), lattice)), total+counts[i]
		}
		below, begins := q.distances(private)
		exact := below.all()
		d, at := -a*total, -1
		for j, n := range counts {
			next := d + 10*n
			want := new(big.Int).Mul(big.NewInt(max(0, d, -next)), lattice)
			if at+1 < len(begins) && begins[at+1] == j {
				at++
			}
			if exact[at].Cmp(want) != 0 || want.IsUint64() && below.words[at] != want.Uint64() {
				t.Fatalf("%v·%v at %d/10: bucket %d is %v below the best, want %d", counts, lattice, a, j, exact[at], want)
			}
			d = next
		}
	}
}

// Distances of scores are those of the definition, whatever their size.
func TestScoreDistances(t *testing.T) {
	src := rand.New(rand.NewChaCha8([32]byte{6}))
	for range 3000 {
		scores, best := make([]Private, 1+src.IntN(9)), (*big.Int)(nil)
		size := uint(1 + src.IntN(70))
		for i := range scores {
			v := new(big.Int).Lsh(big.NewInt(src.Int64N(200)-100), size)
			if scores[i] = Protect(v); best == nil || v.Cmp(best) > 0 {
				best = v
			}
		}
		below := distancesOf(scores)
		for i, d := range below.all() {
			want := new(big.Int).Sub(best, scores[i].reveal())
			word := uint64(farAway)
			if want.IsUint64() {
				word = want.Uint64()
			}
			if d.Cmp(want) != 0 || below.words[i] != word {
				t.Fatalf("%v is %v, %d below %v, want %v", scores[i].reveal(), d, below.words[i], best, want)
			}
		}
	}
}
