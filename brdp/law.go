package brdp

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"

	"dpproxy/dp"
)

// ErrParameter is wrapped by the errors for noise, goals and allowances that make
// no sense or that nothing here can serve.
var ErrParameter = errors.New("brdp: invalid parameter")

const (
	// maxSize bounds boundaries, changes and scales in lattice units, so that they
	// and their sums are exact as doubles.
	maxSize = 1 << 52
	// maxVarianceBits bounds a variance, by the same.
	maxVarianceBits = 104
	// maxPartitions bounds L0, by which roundings of one coordinate are multiplied.
	maxPartitions = 1 << 32
	// minScale bounds the scale of a Laplace kernel from below: with less, the
	// noise is 0 but for a probability of exp(−2²⁰).
	minScale = 1.0 / (1 << 20)
	// MaxDraws bounds the expected number of draws from the kernel, and so the time.
	MaxDraws = 1000
)

// Law is the exact law f of recycled noise on one coordinate, and its accounting
// against the change that its sensitivity allows. All is computed from sums over
// the integers, in a time that does not depend on how wide the noise is.
type Law struct {
	kernel      kernel
	boundary    float64
	recycled    bool     // q > 0
	keep        float64  // 1 − q
	logKeep     float64  // ln(1 − q)
	logC        float64  // ln c
	shift       float64  // LInf
	ranges      []span   // all integers
	coordinates *big.Rat // L0
	epsilon     *big.Rat // Δ/scale of a Laplace kernel, else nil
}

// A span is a range of integers in which the weights do not change.
type span struct {
	a, b           float64
	inside, before bool // whether n, and whether n − shift, is within the boundary
}

// NewLaw returns the law of e. It refuses a kernel that is none, sizes above 2⁵²,
// a Recycle outside [0, 1) or of more than 63 bits, and a law by which MaxDraws
// draws are not enough on average.
func NewLaw(e dp.RecycledEvent) (Law, error) {
	if e.Boundary < 0 || e.Boundary > maxSize {
		return Law{}, fmt.Errorf("%w: a boundary of %d", ErrParameter, e.Boundary)
	}
	if e.Recycle == nil || e.Recycle.Sign() < 0 || e.Recycle.Cmp(big.NewRat(1, 1)) >= 0 || !e.Recycle.Denom().IsInt64() {
		return Law{}, fmt.Errorf("%w: the recycling probability must be from 0 to below 1, in 63 bits", ErrParameter)
	}
	k, s, err := kernelOf(e.Kernel)
	if err != nil {
		return Law{}, err
	}
	keep, _ := new(big.Rat).Sub(big.NewRat(1, 1), e.Recycle).Float64()
	l := newLaw(k, float64(e.Boundary), math.Log(keep), float64(s.LInf))
	l.recycled = e.Recycle.Sign() > 0
	if !(l.Draws() <= MaxDraws) {
		return Law{}, fmt.Errorf("%w: %.3g draws on average, at most %d", ErrParameter, l.Draws(), MaxDraws)
	}
	l.coordinates = new(big.Rat).SetInt64(s.L0)
	if laplace, ok := e.Kernel.(dp.LaplaceEvent); ok {
		l.epsilon = new(big.Rat).Quo(new(big.Rat).SetInt64(s.LInf), laplace.Scale)
	}
	return l, nil
}

// kernelOf reads the event of a kernel.
func kernelOf(e dp.Event) (kernel, dp.Sensitivity, error) {
	var k kernel
	var s dp.Sensitivity
	if l, ok := e.(dp.LaplaceEvent); ok {
		if l.Scale == nil || l.Scale.Cmp(new(big.Rat).SetFloat64(minScale)) < 0 || l.Scale.Cmp(big.NewRat(maxSize, 1)) > 0 {
			return nil, s, fmt.Errorf("%w: the scale of a Laplace kernel must be from 2⁻²⁰ to 2⁵²", ErrParameter)
		}
		rate, _ := new(big.Rat).Inv(l.Scale).Float64()
		k, s = laplace{rate}, l.Sensitivity
	}
	if g, ok := e.(dp.GaussianEvent); ok {
		if g.Variance == nil || g.Variance.Sign() <= 0 || g.Variance.BitLen() > maxVarianceBits {
			return nil, s, fmt.Errorf("%w: the variance of a Gaussian kernel must be from 1 to below 2¹⁰⁴", ErrParameter)
		}
		v, _ := new(big.Float).SetInt(g.Variance).Float64()
		k, s = newGaussian(v, false), g.Sensitivity
	}
	switch {
	case k == nil:
		return nil, s, fmt.Errorf("%w: %T is no kernel", ErrParameter, e)
	case !s.Valid() || s.LInf > maxSize || s.L0 > maxPartitions:
		return nil, s, fmt.Errorf("%w: sensitivity %+v", ErrParameter, s)
	}
	return k, s, nil
}

// newLaw returns the law for one coordinate.
func newLaw(k kernel, boundary, logKeep, shift float64) Law {
	l := Law{kernel: k, boundary: boundary, recycled: logKeep < 0, keep: math.Exp(logKeep), logKeep: logKeep, shift: shift}
	inside, outside := odds(k, boundary)
	l.logC = -math.Log(inside + l.keep*outside)
	l.ranges = l.split()
	return l
}

// odds returns the kernel's masses within the boundary and beyond it.
func odds(k kernel, boundary float64) (inside, outside float64) {
	return math.Exp(k.logMass(-boundary, boundary)), 2 * math.Exp(k.logMass(boundary+1, math.Inf(1)))
}

// split returns the ranges in which both weights are constant and the kernel does
// not bend.
func (l Law) split() []span {
	first := append([]float64{
		-l.boundary, l.boundary + 1, l.shift - l.boundary, l.shift + l.boundary + 1,
	}, l.kernel.bends(l.shift)...)
	slices.Sort(first)
	first = slices.Compact(first)
	ranges := make([]span, 0, len(first)+1)
	a := math.Inf(-1)
	for _, next := range append(slices.Clip(first), math.Inf(1)) {
		b := next - 1
		ranges = append(ranges, span{
			a: a, b: b,
			inside: a >= -l.boundary && b <= l.boundary,
			before: a-l.shift >= -l.boundary && b-l.shift <= l.boundary,
		})
		a = next
	}
	return ranges
}

// PMF returns P(N = n).
func (l Law) PMF(n int64) float64 {
	x := float64(n)
	mass := l.logC + l.kernel.logMass(x, x)
	if math.Abs(x) > l.boundary {
		mass += l.logKeep
	}
	return math.Exp(mass)
}

// Acceptance returns P(|N| ≤ boundary), to a relative 10⁻¹¹.
func (l Law) Acceptance() float64 {
	return math.Exp(l.logC + l.kernel.logMass(-l.boundary, l.boundary))
}

// Draws returns c, the expected number of draws from the kernel.
func (l Law) Draws() float64 { return math.Exp(l.logC) }

// logTail returns ln P(|N| > c) for c ≥ 0.
func (l Law) logTail(c float64) float64 {
	outside := l.logKeep + l.kernel.logMass(max(c, l.boundary)+1, math.Inf(1))
	if c >= l.boundary {
		return math.Ln2 + l.logC + outside
	}
	return math.Ln2 + l.logC + math.Log(math.Exp(outside)+math.Exp(l.kernel.logMass(c+1, l.boundary)))
}

// Quantile returns the smallest integer c with P(|N| > c) ≤ alpha, rounded up to a
// double; it may be one more where that probability is within 10⁻¹¹ of alpha,
// relatively, and relatively 10⁻³ more where it is below 10⁻²⁸⁰. It is 0 for
// alpha ≥ 1, and +Inf for alpha below 10⁻³⁰⁰ or not a number.
func (l Law) Quantile(alpha float64) float64 {
	switch {
	case alpha >= 1:
		return 0
	case !(alpha >= 1e-300): // a NaN too
		return math.Inf(1)
	}
	enough := func(c float64) bool { return l.logTail(c)+1e-11 <= math.Log(alpha) }
	if enough(0) {
		return 0
	}
	low, high := 0.0, 1.0
	for !enough(high) {
		low, high = high, 2*high
	}
	for {
		mid := math.Floor(low + (high-low)/2)
		switch {
		case mid <= low || mid >= high:
			return high
		case enough(mid):
			high = mid
		default:
			low = mid
		}
	}
}

// StdDev returns the standard deviation of N: of the kernel's second moment, the
// part beyond the boundary counts with weight 1 − q, and c scales the whole.
func (l Law) StdDev() float64 {
	square := l.kernel.variance() - 2*(1-l.keep)*l.kernel.tailSquare(l.boundary+1)
	return math.Sqrt(math.Exp(l.logC) * max(0, square))
}
