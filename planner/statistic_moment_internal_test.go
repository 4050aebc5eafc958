package planner

import (
	"math/big"
	"testing"
)

// Squares are counted such that they are no less than they are, and no more than one unit larger; the largest is the bound of a row.
func TestSquaresAreRoundedUp(t *testing.T) {
	for _, high := range []int64{1, 9, 1 << 20, 1<<20 + 1, 1 << 33, 1<<49 + 12345} {
		for _, low := range []int64{-high, 0, high / 2} {
			d, ok := newDistance(term{values: lattice{low: low, high: high, step: big.NewRat(1, 1)}}, 1, true)
			if !ok {
				t.Fatalf("from %d to %d there is no distance", low, high)
			}
			most := new(big.Int)
			for _, x := range []int64{low, low + 1, low/2 + high/2 + 1, high - high/3, high - 1, high} {
				square := big.NewInt(x - d.centre)
				square.Mul(square, square)
				counted := new(big.Int).Quo(square, big.NewInt(d.unit))
				counted.Sub(counted, big.NewInt(d.offset()))
				over := new(big.Int).Mul(counted, big.NewInt(d.unit))
				if over.Sub(over, square); over.Sign() < 0 || over.Cmp(big.NewInt(d.unit)) > 0 {
					t.Errorf("%d of %d to %d counts as %v times %d", x, low, high, counted, d.unit)
				}
				if counted.Cmp(most) > 0 {
					most = counted
				}
			}
			if most.Cmp(d.square()) != 0 || most.BitLen() > squareBits+1 {
				t.Errorf("from %d to %d the largest square is %v, and not %v", low, high, most, d.square())
			}
		}
	}
	if _, ok := newDistance(term{values: lattice{low: 0, high: 1 << 51}}, 1, true); ok {
		t.Error("squares of 2^51 do not fit")
	}
}
