package replay

import (
	"math"
	"math/big"
)

// A spread is how far replicas are from the released integers.
type spread struct {
	replicas int
	squares  [][]float64 // by row and integer
	means    []float64   // the squares of the means of all rows, by integer
}

// add adds a replica.
func (s *spread) add(released, replica [][]*big.Int) {
	s.replicas++
	var sums []float64
	for row, integers := range released {
		if len(s.squares) == row {
			s.squares = append(s.squares, make([]float64, len(integers)))
		}
		for i, x := range integers {
			if i == len(sums) {
				sums = append(sums, 0)
			}
			if x == nil {
				continue
			}
			off, _ := new(big.Float).SetInt(new(big.Int).Sub(replica[row][i], x)).Float64()
			s.squares[row][i] += off * off
			sums[i] += off
		}
	}
	for i, sum := range sums {
		if i == len(s.means) {
			s.means = append(s.means, 0)
		}
		mean := sum / float64(len(released))
		s.means[i] += mean * mean
	}
}

// deviations are the standard deviations of an integer in each row, and that of its mean.
func (s *spread) deviations(integer int) (rows []float64, common float64) {
	n := float64(max(s.replicas, 1))
	for _, of := range s.squares {
		rows = append(rows, math.Sqrt(of[integer]/n))
	}
	if integer < len(s.means) {
		common = math.Sqrt(s.means[integer] / n)
	}
	return rows, common
}
