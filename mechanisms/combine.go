package mechanisms

import "math/big"

// Weighted is a private value times a public integer.
type Weighted struct {
	Weight int64
	Value  Private
}

// Combine returns constant + Σ weightᵢ·valueᵢ, which is as private as its terms: one unit changes it by
// at most Σ |weightᵢ| times what it changes valueᵢ.
func Combine(constant int64, terms ...Weighted) Private {
	total, weight, part := big.NewInt(constant), new(big.Int), new(big.Int)
	for _, t := range terms {
		total.Add(total, part.Mul(weight.SetInt64(t.Weight), t.Value.reveal()))
	}
	return Private{func() *big.Int { return total }}
}
