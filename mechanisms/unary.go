package mechanisms

import (
	"fmt"
	"math"
	"math/big"

	"dpproxy/dp"
)

// UnaryEncoding is optimised unary encoding: it tells of each of k categories with a bit whether it is
// the object's, all bits drawn independently,
//
//	P(bit of x is 1) = ½,  P(bit of any other is 1) = q = 1/(exp(ε) + 1).
//
// The guarantee: P(y) ≤ exp(ε)·P′(y) for the laws of any two values x and x′, that is ε-DP of one value,
// whatever it is (local differential privacy) [Wang-Blocki-Li-Jha 2017]: the laws differ in two bits, by
// at most the factor ½/q of the bit of x where it is 1, and ½·(1−q)⁻¹ of that of x′ where it is 0,
// inverted: (½/q)·((1−q)/½) = (1−q)/q = exp(ε).
//
// The error of its frequencies does not grow with k, as that of [RandomizedResponse] does
// ([PrefersUnary]).
//
// The caller must ensure that k, and the meaning of each category, do not depend on protected rows, and
// charge for each answer.
//
// The sampler draws a bit for every category by comparing a uniform number with enclosures of q, and one
// by a fair coin, which takes the place of that of x. It takes the same number of words whatever x is.
type UnaryEncoding struct {
	epsilon *big.Rat
	k       int64
	lie     chance
}

// maxUnary bounds the categories of an answer, each of which is a bit of it.
const maxUnary = 1 << 20

// NewUnaryEncoding returns the mechanism for categories 0 to k−1, 2 ≤ k ≤ 2²⁰, at ε = epsilonPico·10⁻¹².
func NewUnaryEncoding(k, epsilonPico int64) (UnaryEncoding, error) {
	if k < 2 || k > maxUnary {
		return UnaryEncoding{}, fmt.Errorf("%w: unary encoding of %d categories", ErrParameter, k)
	}
	epsilon, err := pureEpsilon(epsilonPico)
	if err != nil {
		return UnaryEncoding{}, err
	}
	lie := func(precision uint) enclosure { return lieEnclosure(epsilon, precision) }
	return UnaryEncoding{epsilon, k, newChance(lie)}, nil
}

// lieEnclosure encloses 1/(exp(ε) + 1) = exp(−ε)/(1 + exp(−ε)), which grows with exp(−ε).
func lieEnclosure(epsilon *big.Rat, precision uint) enclosure {
	work := precision + 64 + seriesGuard
	odds := expEnclosure(epsilon, work)
	one := new(big.Int).Lsh(big.NewInt(1), work)
	low, high := new(big.Int).Lsh(odds.lo, precision), new(big.Int).Lsh(odds.hi, precision)
	return enclosure{
		low.Quo(low, new(big.Int).Add(one, odds.lo)),
		ceilDiv(high, new(big.Int).Add(one, odds.hi)),
	}
}

// PrefersUnary reports whether frequencies of k categories have a smaller error by unary encoding than by
// randomised response, whose answers are smaller: k > 3·exp(ε) + 2 [Wang-Blocki-Li-Jha 2017].
func PrefersUnary(k, epsilonPico int64) bool {
	return float64(k) > 3*math.Exp(float64(epsilonPico)/dp.PicoPerUnit)+2
}

// Event describes one answer, for a pricer.
func (u UnaryEncoding) Event() dp.Event {
	return dp.PureEvent{Epsilon: new(big.Rat).Set(u.epsilon)}
}

// String writes the mechanism for plans.
func (u UnaryEncoding) String() string {
	epsilon, _ := u.epsilon.Float64()
	return fmt.Sprintf("unary encoding epsilon=%.6g k=%d", epsilon, u.k)
}

// Respond draws the answer about v: an integer below 2ᵏ, whose bit x, from 0, is that of the category x.
// A value that is no category counts as the nearest one, 0 or k−1, so that nothing tells that it was
// none. The caller must have charged Event, durably, before.
func (u UnaryEncoding) Respond(src Source, v Private) Released {
	x := within(v.reveal(), new(big.Int), big.NewInt(u.k-1)).Int64()
	return Released{u.respond(src, x)}
}

// respond draws the answer about x, from 0 to k−1.
func (u UnaryEncoding) respond(src Source, x int64) *big.Int {
	own := borrow(src)
	defer giveBack(src, own)
	bits := make([]byte, (u.k+7)/8) // the first bits last
	for other := range u.k {
		if u.lie.happens(own) {
			bits[int64(len(bits))-1-other/8] |= 1 << (other % 8)
		}
	}
	y := new(big.Int).SetBytes(bits)
	return y.SetBit(y, int(x), uint(own.Uint64()>>63))
}

// Law returns the probabilities of a 1 about the object's category, and about each other one.
func (u UnaryEncoding) Law() (own, other float64) {
	epsilon, _ := u.epsilon.Float64()
	odds := math.Exp(-epsilon)
	return 0.5, odds / (1 + odds)
}

// Frequency estimates which share π of n values is in a category of which count of their n answers have
// the bit 1: with q the second probability of Law, and c = count,
//
//	π̂ = (c/n − q)/(½ − q), of variance (π/4 + (1−π)·q(1−q))/(n·(½−q)²).
//
// The estimate is unbiased; it may lie outside of 0 to 1. The standard error is that of
// [RandomizedResponse.Frequency].
func (u UnaryEncoding) Frequency(count, n int64) (share, stdErr float64, err error) {
	if n < 1 || count < 0 || count > n {
		return 0, 0, fmt.Errorf("%w: %d of %d answers", ErrParameter, count, n)
	}
	epsilon, _ := u.epsilon.Float64()
	_, q := u.Law()
	gap := math.Tanh(epsilon/2) / 2 // ½ − q, without cancelling
	share = (float64(count)/float64(n) - q) / gap
	likely := min(max(share, 0), 1)
	variance := likely/4 + (1-likely)*q*(1-q)
	return share, math.Sqrt(variance/float64(n)) / gap, nil
}
