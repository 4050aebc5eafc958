package policy

import (
	"fmt"
	"math/big"

	"dpproxy/catalog"
	"dpproxy/planner/pgtype"
)

// stepOf returns the step that values of a type are summed in, where the policy states one, or says
// why it cannot have that. Integers count in ones and numerics with a scale in its last digit, so
// that a step is for the types that have none. Its inverse is a whole number: SQL multiplies by it.
func stepOf(t catalog.TypeRef, stated *big.Rat) (step *big.Rat, err string) {
	if stated == nil {
		return nil, ""
	}
	typ := pgtype.OfColumn(t, catalog.Name{}, true)
	switch fam := typ.Family(); {
	case stated.Sign() <= 0 || stated.Cmp(big.NewRat(1, 1)) > 0:
		return nil, "a step is above 0 and at most 1"
	case fam == pgtype.FloatFamily:
		return powerOfTwo(stated), ""
	case fam != pgtype.NumericFamily:
		return nil, fmt.Sprintf("a step is for numeric without a scale and for floating-point values, not for %s", t.Display)
	case typ.Scale() >= 0:
		return nil, fmt.Sprintf("values of type %s have a step already, of their last digit", t.Display)
	case !isPowerOfTen(stated):
		return nil, "the step of numeric values is 1, 0.1, 0.01 or a further power of ten"
	}
	return stated, ""
}

// powerOfTwo returns the largest power of two that is at most r, which is at most one.
func powerOfTwo(r *big.Rat) *big.Rat {
	half, step := big.NewRat(1, 2), big.NewRat(1, 1)
	for step.Cmp(r) > 0 {
		step.Mul(step, half)
	}
	return step
}

// isPowerOfTen reports whether r, which is at most one, is a power of ten.
func isPowerOfTen(r *big.Rat) bool {
	ten, step := big.NewRat(1, 10), big.NewRat(1, 1)
	for step.Cmp(r) > 0 {
		step.Mul(step, ten)
	}
	return step.Cmp(r) == 0
}
