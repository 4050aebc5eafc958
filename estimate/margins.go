package estimate

import (
	"fmt"
	"math"
	"math/big"
)

// A Margin is a measurement of sums over the cells of a table: Rows[c] is which of them
// has cell c, and Values their noisy values, each of the same variance.
type Margin struct {
	Rows     []int
	Values   []*big.Int
	Variance float64 // > 0
}

// Margins makes the noisy cells of a table and its noisy margins agree, as the grouping
// sets of a CUBE should: it returns the cells x that are nearest to all measurements,
//
//	Σ (x − cells)²/variance + Σ_m Σ_r (Σ_{c in r} x_c − Values_r)²/Variance_m → least,
//
// the best linear unbiased estimate for independent noise, each rounded to an integer.
// Sums of the returned cells are then the estimates of the margins, and agree
// exactly. Measurements that agree already stay as they are.
//
// The correction of the cells is found by conjugate gradients, to a relative 10⁻¹²;
// differences are taken in integers, so that large sums lose nothing.
func Margins(cells []*big.Int, variance float64, margins []Margin) ([]*big.Int, error) {
	if !(variance > 0) {
		return nil, fmt.Errorf("%w: variance %g", ErrParameter, variance)
	}
	s := &marginSystem{n: len(cells), weight: 1 / variance}
	b := make([]float64, len(cells))
	for _, m := range margins {
		if !(m.Variance > 0) || len(m.Rows) != len(cells) {
			return nil, fmt.Errorf("%w: a margin of variance %g over %d cells of %d", ErrParameter, m.Variance, len(m.Rows), len(cells))
		}
		s.margins = append(s.margins, systemMargin{m.Rows, len(m.Values), m.Variance})
		for c, gap := range gaps(cells, m) {
			b[c] += gap / m.Variance
		}
	}
	x := s.solve(b)
	out := make([]*big.Int, len(cells))
	for c := range cells {
		shift, _ := big.NewFloat(math.Round(x[c])).Int(nil)
		out[c] = shift.Add(shift, cells[c])
	}
	return out, nil
}

// gaps returns for each cell how far its row of the margin is above the sum of the row's
// cells.
func gaps(cells []*big.Int, m Margin) []float64 {
	sums := make([]*big.Int, len(m.Values))
	for r, v := range m.Values {
		sums[r] = new(big.Int).Set(v)
	}
	for c, r := range m.Rows {
		sums[r].Sub(sums[r], cells[c])
	}
	out := make([]float64, len(cells))
	for c, r := range m.Rows {
		out[c], _ = new(big.Float).SetInt(sums[r]).Float64()
	}
	return out
}

// marginSystem is the matrix of the normal equations: weight·I + Σ AᵀA/Variance.
type marginSystem struct {
	n       int
	weight  float64
	margins []systemMargin
}

// A systemMargin is a margin without its values.
type systemMargin struct {
	rows     []int // of each cell
	count    int
	variance float64
}

// times returns the matrix times x.
func (s *marginSystem) times(x []float64) []float64 {
	out := make([]float64, s.n)
	for c := range x {
		out[c] = s.weight * x[c]
	}
	for _, m := range s.margins {
		sums := make([]float64, m.count)
		for c, r := range m.rows {
			sums[r] += x[c]
		}
		for c, r := range m.rows {
			out[c] += sums[r] / m.variance
		}
	}
	return out
}

// solve finds x with the matrix times x equal to b.
func (s *marginSystem) solve(b []float64) []float64 {
	const tolerance, steps = 1e-12, 1000
	x, r := make([]float64, s.n), append([]float64(nil), b...)
	p := append([]float64(nil), r...)
	rr := dot(r, r)
	enough := rr * tolerance * tolerance
	for i := 0; i < steps && rr > enough; i++ {
		ap := s.times(p)
		alpha := rr / dot(p, ap)
		for c := range x {
			x[c] += alpha * p[c]
			r[c] -= alpha * ap[c]
		}
		next := dot(r, r)
		for c := range p {
			p[c] = r[c] + next/rr*p[c]
		}
		rr = next
	}
	return x
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}
