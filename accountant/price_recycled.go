package accountant

import (
	"fmt"

	"dpproxy/dp"
)

func priceRecycled(e dp.RecycledEvent, _ dp.Measure) (dp.Loss, error) {
	return dp.Loss{}, fmt.Errorf("%w: %T is unknown", ErrEvent, e)
}
