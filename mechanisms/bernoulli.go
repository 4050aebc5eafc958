package mechanisms

import (
	"math/big"
	"math/bits"
)

// uniform returns an exactly uniform integer in [0, n), for n ≥ 1, by the
// multiplication and rejection of [Lemire 2019]. It uses no word when n is 1.
func uniform(src Source, n uint64) uint64 {
	if n == 1 {
		return 0
	}
	hi, lo := bits.Mul64(src.Uint64(), n)
	if lo < n {
		for least := -n % n; lo < least; {
			hi, lo = bits.Mul64(src.Uint64(), n)
		}
	}
	return hi
}

// bernoulliExp is true with probability exp(−num/den), exactly, for den ≥ 1.
// It is [CKS 2020] Algorithm 1: a whole part multiplies draws at exp(−1).
func bernoulliExp(src Source, num, den uint64) bool {
	for ; num > den; num -= den {
		if !oneInE.happens(src) {
			return false
		}
	}
	return bernoulliExpFraction(src, num, den)
}

// bernoulliExpFraction is bernoulliExp for num ≤ den. The loop reaches k+1 with
// probability γᵏ/k!, γ = num/den, so that an odd end has probability Σ(−γ)ᵏ/k!.
// It goes on from k with probability γ/k, which is one draw below k·den, or two
// where that is more than 64 bits.
func bernoulliExpFraction(src Source, num, den uint64) bool {
	k := uint64(1)
	for {
		over, whole := bits.Mul64(k, den)
		if over != 0 {
			if uniform(src, k) != 0 {
				break
			}
			whole = den
		}
		if uniform(src, whole) >= num {
			break
		}
		k++
	}
	return k%2 == 1
}

// oneInE has probability exp(−1), and takes one word where bernoulliExpFraction
// takes e − 1 on average.
var oneInE = newChance(func(precision uint) enclosure { return expEnclosure(big.NewRat(1, 1), precision) })

// geometric returns v ≥ 0 with probability (1 − 1/e)·e⁻ᵛ.
func geometric(src Source) uint64 {
	v := uint64(0)
	for oneInE.happens(src) {
		v++
	}
	return v
}

// uniformBig is uniform for any n ≥ 1: it draws as many bits as n−1 has until
// they are below n, twice on average at most.
func uniformBig(src Source, n *big.Int) *big.Int {
	width := uint(new(big.Int).Sub(n, big.NewInt(1)).BitLen())
	z, word := new(big.Int), new(big.Int)
	for {
		z.SetUint64(0)
		have := uint(0)
		for ; have < width; have += 64 {
			z.Or(z.Lsh(z, 64), word.SetUint64(src.Uint64()))
		}
		if z.Rsh(z, have-width).Cmp(n) < 0 {
			return z
		}
	}
}

// bernoulliExpBig is bernoulliExp for any num ≥ 0 and den ≥ 1.
func bernoulliExpBig(src Source, num, den *big.Int) bool {
	rest := new(big.Int).Set(num)
	for ; rest.Cmp(den) > 0; rest.Sub(rest, den) {
		if !oneInE.happens(src) {
			return false
		}
	}
	k := uint64(1)
	for uniform(src, k) == 0 && uniformBig(src, den).Cmp(rest) < 0 {
		k++
	}
	return k%2 == 1
}
