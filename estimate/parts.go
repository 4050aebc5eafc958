package estimate

import (
	"fmt"
	"math"
)

// A Law says how the variance of noise falls with the part p of a price that it has.
type Law int

// Gaussian noise has the variance v/p, and Laplace noise v/p².
const (
	GaussianLaw Law = 1
	LaplaceLaw  Law = 2
)

// Parts divides a price among independent measurements such that the agreed numbers have small variances: the sum over the measurements m
// of weights[m] times the mean variance of its rows is small. A measurement that has all of the price has the variance alone[m], with
// noise of a law. The parts are not below zero and add up to one. ok is false if they are not known: the variances are neither orthogonal
// nor those of a chain. Measurements are in the order of [NewAgreement]: the cells first, then each margin.
//
// In the spaces of [strata] the mean variance of a measurement t is Σ_F q(F)/λ(F), where λ(F) = Σ_m kₘ·pₘ/aloneₘ over the m at least as
// fine as F, so that the sum is convex in the parts for Gaussian noise. The least one is found from equal parts by
//
//	pₘ ← pₘ·√gₘ / Σ pₘ·√gₘ,   gₘ = −∂(the sum)/∂pₘ,
//
// of which no step makes the sum larger [Yu 2010]. For Laplace noise the sum is a function of uₘ = pₘ², and Σ √uₘ ≤ 1 is no convex
// condition. It holds where Σ uₘ/pₘ ≤ 1, its tangent at p, and there the least sum is that of Gaussian noise with aloneₘ/pₘ. So each
// step finds parts of which the sum is not larger, but they may not be the best.
//
// In a chain whose totals have different numbers of parts, λ takes their mean number.
func (a *Agreement) Parts(law Law, alone, weights []float64) (parts []float64, ok bool, err error) {
	const most = 1e60 // no product of some of them is out of range
	if len(alone) != len(a.measured) || len(weights) != len(a.measured) {
		return nil, false, fmt.Errorf("%w: %d variances and %d weights of %d measurements", ErrParameter, len(alone), len(weights),
			len(a.measured))
	}
	for i, v := range alone {
		if !(v >= 1/most && v <= most && weights[i] >= 1/most && weights[i] <= most) {
			return nil, false, fmt.Errorf("%w: a measurement of variance %g with weight %g", ErrParameter, v, weights[i])
		}
	}
	s := a.strata
	switch a.form {
	case orthogonal:
	case nested:
		s = levelsOf(a.measured)
	default:
		return nil, false, nil
	}
	d := s.design(alone, weights)
	if law == LaplaceLaw {
		return d.leastOfSquares(), true, nil
	}
	return d.least(steps), true, nil
}

// A design is what parts of a price buy in the spaces of strata.
type design struct {
	seen  [][]float64 // seen[m][F] is what all of the price for m adds to λ(F)
	costs []float64   // of each space F: the sum is Σ costs[F]/λ(F)
}

func (s strata) design(alone, weights []float64) design {
	d := design{costs: make([]float64, len(s.sizes))}
	for m := range s.measured {
		of, squares := s.squares(m)
		for i, f := range of {
			d.costs[f] += weights[m] * squares[i]
		}
		seen := make([]float64, len(s.sizes))
		for f, coarser := range s.coarser[m] {
			if coarser {
				seen[f] = s.sizes[m] / alone[m]
			}
		}
		d.seen = append(d.seen, seen)
	}
	return d
}

// steps bounds the iterations.
const steps = 1000

// least returns the parts at which the sum is least, as far as some steps lead.
func (d design) least(most int) []float64 {
	const enough = 1e-8
	parts := repeated(1/float64(len(d.seen)), len(d.seen))
	for range most {
		next, total, moved := make([]float64, len(parts)), 0.0, 0.0
		for m, g := range d.gains(parts) {
			next[m] = parts[m] * math.Sqrt(g)
			total += next[m]
		}
		for m := range next {
			next[m] /= total
			moved = max(moved, math.Abs(next[m]-parts[m]))
		}
		if parts = next; moved < enough {
			break
		}
	}
	return parts
}

// leastOfSquares returns parts at which the sum is small if λ has their squares.
func (d design) leastOfSquares() []float64 {
	const tangents, each = 20, 100
	parts := repeated(1/float64(len(d.seen)), len(d.seen))
	for range tangents {
		total := 0.0
		for m, s := range d.times(parts).least(each) {
			parts[m] = math.Sqrt(s * parts[m])
			total += parts[m]
		}
		for m := range parts {
			parts[m] /= total
		}
	}
	return parts
}

// times returns the design in which measurements are so many times as precise.
func (d design) times(parts []float64) design {
	out := design{costs: d.costs}
	for m, seen := range d.seen {
		of := make([]float64, len(seen))
		for f := range seen {
			of[f] = seen[f] * parts[m]
		}
		out.seen = append(out.seen, of)
	}
	return out
}

// gains returns by how much the sum falls with each part.
func (d design) gains(parts []float64) []float64 {
	gains := make([]float64, len(parts))
	for f, cost := range d.costs {
		if cost <= 0 { // nothing that is asked for is in the space
			continue
		}
		lambda := 0.0
		for m, p := range parts {
			lambda += p * d.seen[m][f]
		}
		for m := range parts {
			gains[m] += cost * d.seen[m][f] / lambda / lambda
		}
	}
	return gains
}
