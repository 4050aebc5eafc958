package plantest

import (
	"fmt"
	"maps"
	"math/big"
	"slices"

	"dpproxy/dp"
)

// A Change is the distance of two vectors of integers: in the ℓ₁ norm, and in the ℓ₂ norm, squared.
type Change struct{ L1, L2 *big.Int }

// Distance returns the distance of two vectors. Missing coordinates are zero.
func Distance[K comparable](a, b map[K]*big.Int) Change {
	of := func(v map[K]*big.Int, k K) *big.Int {
		if n, ok := v[k]; ok {
			return n
		}
		return new(big.Int)
	}
	var x, y []*big.Int
	for _, k := range keysOf(a, b) {
		x, y = append(x, of(a, k)), append(y, of(b, k))
	}
	return distance(x, y)
}

func distance(a, b []*big.Int) Change {
	c := Change{new(big.Int), new(big.Int)}
	for i := range a {
		d := new(big.Int).Sub(a[i], b[i])
		d.Abs(d)
		c.L1.Add(c.L1, d)
		c.L2.Add(c.L2, d.Mul(d, d))
	}
	return c
}

func keysOf[K comparable, V any](a, b map[K]V) []K {
	all := maps.Clone(a)
	if all == nil {
		return slices.Collect(maps.Keys(b))
	}
	maps.Copy(all, b)
	return slices.Collect(maps.Keys(all))
}

// Norm compares the change in the norm of the noise, ℓ₁ for Laplace noise and ℓ₂ for Gaussian noise, with a sensitivity.
func (c Change) Norm(s dp.Sensitivity, laplace bool) error {
	if laplace && c.L1.Cmp(s.L1()) > 0 {
		return fmt.Errorf("ℓ₁ changes by %v, more than %v", c.L1, s.L1())
	}
	if !laplace && c.L2.Cmp(s.L2Squared()) > 0 {
		return fmt.Errorf("ℓ₂² changes by %v, more than %v", c.L2, s.L2Squared())
	}
	return nil
}
