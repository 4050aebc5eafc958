package realized

import (
	"fmt"
	"math"
	"slices"
)

// Bits is the state of one object that answered about a number with bits: for a
// value of t in [0, 1] between its bounds the bit is 1 with probability
//
//	p(t) = 1/(exp(ε)+1) + t·(exp(ε)−1)/(exp(ε)+1),
//
// which estimates means [Ding-Kulkarni-Yekhanin 2017]. How many bits of each ε
// were 1, and how many 0, is all that matters. The zero Bits has no output yet.
type Bits struct {
	levels []level // in the order of ε
}

// level counts the bits with one ε.
type level struct {
	epsilon    float64
	ones, zero int64
}

const (
	// maxEpsilon bounds the ε of one answer, so that both bits have a probability
	// above 0 that a double holds.
	maxEpsilon = 700
	// maxBits bounds the bits of one ε.
	maxBits = 1 << 40
)

// Observe adds ones bits that were 1 and zeros that were 0, each drawn with
// epsilon.
func (b *Bits) Observe(epsilon float64, ones, zeros int64) error {
	if !(epsilon > 0 && epsilon <= maxEpsilon) || ones < 0 || zeros < 0 || ones > maxBits || zeros > maxBits {
		return fmt.Errorf("%w: %d ones and %d zeros with ε = %g", ErrParameter, ones, zeros, epsilon)
	}
	at, found := slices.BinarySearchFunc(b.levels, epsilon, func(l level, e float64) int {
		switch {
		case l.epsilon < e:
			return -1
		case l.epsilon > e:
			return 1
		}
		return 0
	})
	if !found {
		b.levels = slices.Insert(b.levels, at, level{epsilon: epsilon})
	}
	l := &b.levels[at]
	if l.ones > maxBits-ones || l.zero > maxBits-zeros {
		return fmt.Errorf("%w: more than %d bits", ErrParameter, int64(maxBits))
	}
	l.ones, l.zero = l.ones+ones, l.zero+zeros
	return nil
}

// Loss returns ℒ, rounded up. ln P is concave in t: its minimum is at an end, and
// its maximum where the derivative changes its sign.
func (b *Bits) Loss() float64 {
	size := 1.0
	for _, l := range b.levels {
		size += float64(l.ones+l.zero) * (l.epsilon + 1)
	}
	low, high := 0.0, 1.0
	for range 64 {
		mid := (low + high) / 2
		if b.slope(mid) > 0 {
			low = mid
		} else {
			high = mid
		}
	}
	most := math.Max(b.LogLikelihood(low), b.LogLikelihood(high))
	return up(most-math.Min(b.LogLikelihood(0), b.LogLikelihood(1)), size)
}

// LogLikelihood returns ln P(t) for t in [0, 1].
func (b *Bits) LogLikelihood(t float64) float64 {
	sum := 0.0
	for _, l := range b.levels {
		sum += times(l.ones, math.Log(one(l.epsilon, t))) + times(l.zero, math.Log(one(l.epsilon, 1-t)))
	}
	return sum
}

// slope returns the derivative of LogLikelihood.
func (b *Bits) slope(t float64) float64 {
	sum := 0.0
	for _, l := range b.levels {
		gain := math.Tanh(l.epsilon / 2)
		sum += gain * (float64(l.ones)/one(l.epsilon, t) - float64(l.zero)/one(l.epsilon, 1-t))
	}
	return sum
}

// one returns p(t), of which 1 − p(t) is p(1−t).
func one(epsilon, t float64) float64 { return 1/(math.Exp(epsilon)+1) + t*math.Tanh(epsilon/2) }

// times returns n·x, and 0 for n = 0 whatever x is.
func times(n int64, x float64) float64 {
	if n == 0 {
		return 0
	}
	return float64(n) * x
}
