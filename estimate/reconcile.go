package estimate

import (
	"fmt"
	"math"
)

// An Estimate is an unbiased estimate of a number and its variance: zero where
// the number is known, +Inf where it was not measured.
type Estimate struct{ Value, Variance float64 }

// maxStdDev bounds numbers and standard deviations, such that no sum of squares
// overflows.
const maxStdDev = 1e150

func (e Estimate) check() error {
	if !(math.Abs(e.Value) <= maxStdDev && e.Variance >= 0) ||
		e.Variance > maxStdDev*maxStdDev && !math.IsInf(e.Variance, 1) {
		return fmt.Errorf("%w: an estimate of %v with variance %v", ErrParameter, e.Value, e.Variance)
	}
	return nil
}

// merge combines two estimates. Where both claim to be exact it believes the
// first. It moves the first by a share of the difference, so that two that agree
// stay as they are, to the last bit.
func merge(a, b Estimate) Estimate {
	switch {
	case math.IsInf(b.Variance, 1) || a.Variance == 0:
		return a
	case math.IsInf(a.Variance, 1):
		return b
	}
	share := a.Variance / (a.Variance + b.Variance)
	return Estimate{a.Value + share*(b.Value-a.Value), share * b.Variance}
}

// Reconcile makes independent estimates of totals and of their parts agree, as
// the rows of a ROLLUP should: levels[0] holds the grand totals, and the parts of
// total j of level l are levels[l+1][children[l][j]:children[l][j+1]]. Every
// number of the last level must have been measured; totals need not be.
//
// The result is the best linear unbiased estimate given that totals are the sums of
// their parts, and its variances [Hay et al. 2010, for any variances and any number
// of parts]. No variance grows. It is found in two passes: upwards, a total is
// merged with the sum of its parts; downwards, the difference that then separates a
// total from the sum of its parts is shared among them by their variances:
//
//	partᵢ ← zᵢ + (vᵢ/Σv)·(total − Σz), of variance vᵢ·(1 − vᵢ/Σv) + (vᵢ/Σv)²·V(total).
//
// Intervals of the estimates before remain valid, for those.
func Reconcile(levels [][]Estimate, children [][]int) ([][]Estimate, error) {
	if err := checkTotals(levels, children); err != nil {
		return nil, err
	}
	z := make([][]Estimate, len(levels))
	for l := range levels {
		z[l] = append([]Estimate(nil), levels[l]...)
	}
	for l := len(z) - 2; l >= 0; l-- {
		for j := range z[l] {
			z[l][j] = merge(z[l][j], sum(z[l+1][children[l][j]:children[l][j+1]]))
		}
	}
	for l := range z[:len(z)-1] {
		for j, total := range z[l] {
			share(total, z[l+1][children[l][j]:children[l][j+1]])
		}
	}
	return z, nil
}

// sum returns the sum of independent estimates.
func sum(parts []Estimate) Estimate {
	var s Estimate
	for _, p := range parts {
		s.Value += p.Value
		s.Variance += p.Variance
	}
	return s
}

// share moves the parts so that they add up to the total. Parts without variance
// move equally: it is for rounding alone, or because exact numbers contradict
// each other.
func share(total Estimate, parts []Estimate) {
	s := sum(parts)
	for i, p := range parts {
		weight := 1 / float64(len(parts))
		if s.Variance > 0 {
			weight = p.Variance / s.Variance
		}
		parts[i] = Estimate{
			Value:    p.Value + weight*(total.Value-s.Value),
			Variance: p.Variance*(1-weight) + weight*weight*total.Variance,
		}
	}
}

// checkTotals checks the numbers, and that each one below the first level is
// part of exactly one total.
func checkTotals(levels [][]Estimate, children [][]int) error {
	if len(levels) == 0 || len(children) != len(levels)-1 {
		return fmt.Errorf("%w: %d levels of estimates, %d of children", ErrParameter, len(levels), len(children))
	}
	for l := range levels {
		for _, e := range levels[l] {
			if err := e.check(); err != nil {
				return err
			}
			if l == len(levels)-1 && math.IsInf(e.Variance, 1) {
				return fmt.Errorf("%w: a part that was not measured", ErrParameter)
			}
		}
	}
	for l, first := range children {
		if len(first) != len(levels[l])+1 || first[0] != 0 || first[len(first)-1] != len(levels[l+1]) {
			return fmt.Errorf("%w: the children of level %d are not level %d", ErrParameter, l, l+1)
		}
		for j := range levels[l] {
			if first[j] >= first[j+1] {
				return fmt.Errorf("%w: total %d of level %d has no parts", ErrParameter, j, l)
			}
		}
	}
	return nil
}
