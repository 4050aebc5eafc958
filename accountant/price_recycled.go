package accountant

import (
	"errors"
	"fmt"
	"math/big"

	"dpproxy/brdp"
	"dpproxy/dp"
)

// priceRecycled returns the loss of the exact law: under PureDP
// L0·(Δ/scale − ln(1−q)), which a Gaussian kernel does not have, under ZCDP
// L0·sup D_α/α over all orders, rounded up (see brdp). Where nothing is recycled
// it is the kernel's.
func priceRecycled(e dp.RecycledEvent, m dp.Measure) (dp.Loss, error) {
	law, err := brdp.NewLaw(e)
	if err != nil {
		return dp.Loss{}, fmt.Errorf("%w: %w", ErrEvent, err)
	}
	if e.Recycle.Cmp(new(big.Rat)) == 0 {
		return Price(e.Kernel, m)
	}
	loss, err := law.Loss(m)
	if errors.Is(err, dp.ErrMeasure) {
		return dp.Loss{}, fmt.Errorf("%w: a Gaussian kernel under pure differential privacy", ErrNoFinitePrice)
	}
	return loss, err
}
