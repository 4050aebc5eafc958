package mechanisms_test

import (
	"fmt"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"dpproxy/mechanisms"
)

// slowExp returns exp(−x) to about 600 bits, by the series without any reduction
// of its argument, for x below 100.
func slowExp(x *big.Rat) *big.Float {
	const precision = 1024
	arg := new(big.Float).SetPrec(precision).SetRat(x)
	term := new(big.Float).SetPrec(precision).SetInt64(1)
	sum := new(big.Float).SetPrec(precision).SetInt64(1)
	for k := int64(1); k < 2000; k++ {
		term.Quo(term.Mul(term, arg), new(big.Float).SetInt64(k))
		sum.Add(sum, term)
	}
	return new(big.Float).SetPrec(precision).Quo(big.NewFloat(1), sum)
}

// encloses reports whether lo ≤ x·2ᵖ ≤ hi.
func encloses(lo, hi *big.Int, x *big.Float, precision uint) bool {
	scaled := new(big.Float).SetMantExp(x, int(precision))
	return new(big.Float).SetInt(lo).Cmp(scaled) <= 0 && new(big.Float).SetInt(hi).Cmp(scaled) >= 0
}

// TestExpEnclosure holds enclosures to 1/e as it is printed, and to the series.
func TestExpEnclosure(t *testing.T) {
	const digits = "0.3678794411714423215955237701614608674458111310317678345078368016974614957448"
	printed, _, err := big.ParseFloat(digits, 10, 300, big.ToNearestEven)
	if err != nil {
		t.Fatal(err)
	}
	if lo, hi := mechanisms.ExpEnclosure(big.NewRat(1, 1), 192); !encloses(lo, hi, printed, 192) {
		t.Errorf("exp(-1) is not in %v to %v", lo, hi)
	}
	arguments := []*big.Rat{
		new(big.Rat), big.NewRat(1, 1_000_000_000_000), big.NewRat(1, 64), big.NewRat(1, 3), big.NewRat(1, 1),
		big.NewRat(22, 7), big.NewRat(9007, 100), big.NewRat(63, 1), new(big.Rat).SetFrac64(1<<62-1, 1<<56),
	}
	for _, x := range arguments {
		for _, precision := range []uint{1, 8, 64, 192, 384, 500} {
			lo, hi := mechanisms.ExpEnclosure(x, precision)
			if width := new(big.Int).Sub(hi, lo); !encloses(lo, hi, slowExp(x), precision) || width.Cmp(big.NewInt(2)) > 0 {
				t.Errorf("exp(-%v) at %d bits: %v to %v", x, precision, lo, hi)
			}
		}
	}
}

// TestPowerEnclosure multiplies digits, and compares with one series.
func TestPowerEnclosure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := big.NewRat(rapid.Int64Range(1, 1<<53).Draw(t, "num"), rapid.Int64Range(1, 1<<62).Draw(t, "den"))
		d := new(big.Int).SetUint64(rapid.Uint64Range(0, 1<<rapid.IntRange(0, 63).Draw(t, "bits")).Draw(t, "d"))
		precision := uint(rapid.IntRange(8, 300).Draw(t, "precision"))
		x := new(big.Rat).Mul(rate, new(big.Rat).SetInt(d))
		lo, hi := mechanisms.PowerEnclosure(rate, d, precision)
		fineLo, fineHi := mechanisms.ExpEnclosure(x, precision+100)
		// Two enclosures of the same number cannot lie apart.
		above := new(big.Int).Rsh(fineHi, 100)
		below := new(big.Int).Rsh(fineLo, 100)
		if lo.Cmp(above) > 0 || hi.Cmp(below) < 0 {
			t.Fatalf("exp(-%v): %v to %v, not %v to %v", x, lo, hi, below, above)
		}
		if width := new(big.Int).Sub(hi, lo); width.Cmp(big.NewInt(256)) > 0 {
			t.Fatalf("exp(-%v): %v units wide", x, width)
		}
	})
}

// A wordTape gives its words, and then the same one for ever.
type wordTape struct {
	words []uint64
	rest  uint64
	given int
}

func (w *wordTape) Uint64() uint64 {
	w.given++
	if len(w.words) == 0 {
		return w.rest
	}
	word := w.words[0]
	w.words = w.words[1:]
	return word
}

// wordsOf returns the first count words of the bits of x, in [0, 1), plus delta in
// the last of them.
func wordsOf(t *testing.T, x *big.Float, count uint, delta int64) []uint64 {
	t.Helper()
	z, _ := new(big.Float).SetMantExp(x, int(64*count)).Int(nil)
	z.Add(z, big.NewInt(delta))
	words := make([]uint64, count)
	for i := range words {
		shifted := new(big.Int).Rsh(z, 64*(count-1-uint(i)))
		words[i] = shifted.And(shifted, new(big.Int).SetUint64(1<<64-1)).Uint64()
	}
	return words
}

// TestResponsesAreExactToTheLastWord gives uniform numbers that agree with the
// probability of the truth in 63 to 255 bits: the next ones must decide.
func TestResponsesAreExactToTheLastWord(t *testing.T) {
	for _, tt := range []struct{ k, epsilonPico int64 }{
		{2, 1}, {2, 1_000_000_000_000}, {5, 333_333_333_333}, {1 << 40, 30_000_000_000_000}, {1 << 62, 1_000_000_000_000},
	} {
		m, err := mechanisms.NewRandomizedResponse(tt.k, tt.epsilonPico)
		if err != nil {
			t.Fatal(err)
		}
		odds := slowExp(big.NewRat(tt.epsilonPico, 1_000_000_000_000))
		odds.Mul(odds, new(big.Float).SetInt64(tt.k-1))
		truth := new(big.Float).SetPrec(1024).Quo(big.NewFloat(1), odds.Add(odds, big.NewFloat(1)))
		for count := uint(1); count <= 4; count++ {
			for delta, want := range map[int64]bool{-1: true, 1: false} {
				t.Run(fmt.Sprintf("%d/%d/%d%+d", tt.k, tt.epsilonPico, count, delta), func(t *testing.T) {
					// The word after those says which other category it would be.
					src := &wordTape{words: wordsOf(t, truth, count, delta), rest: 1 << 63}
					got := m.Respond(src, mechanisms.Protect(big.NewInt(0))).Int().Sign() == 0
					if got != want {
						t.Errorf("truth %v, want %v", got, want)
					}
				})
			}
		}
	}
}
