package accountant

import (
	"errors"
	"fmt"
	"math"
	"math/big"

	"dpproxy/dp"
)

// ErrReport is wrapped by the errors of reports about arguments that make no sense.
var ErrReport = errors.New("accountant: invalid argument of a report")

// Odometer returns l as an (ε, δ), for display: the ε at which a transcript with
// the loss l is (ε, δ)-DP.
//
// A pure loss is its ε, whatever δ is. Of a zCDP loss with a δ of its own, that δ
// is spent already, and the rest of δ pays for the conversion by [Epsilon]; ε is
// +Inf where nothing is left. δ is from 0 to below 1.
//
// It is of the loss so far; that it may be read at any time, and the analyst stop
// because of it, gives no guarantee below the budget's. The sums of the ledger
// alone decide whether more may be spent.
func Odometer(l dp.Loss, delta float64) (epsilon float64, err error) {
	if !(delta >= 0 && delta < 1) {
		return 0, fmt.Errorf("%w: a delta of %g", ErrReport, delta)
	}
	spent := float64(l.Pico()) / dp.PicoPerUnit
	switch l.Measure() {
	case dp.PureDP, dp.ApproximateDP:
		return spent, nil
	case dp.ZCDP:
		left := delta - float64(l.Atto())/dp.AttoPerUnit
		if left < 0 {
			return math.Inf(1), nil
		}
		return Epsilon(spent, left), nil
	}
	return 0, dp.ErrMeasure
}

// GroupPrivacy returns the loss that l is for k units together, such as the
// members of a household: k·ε or k²·ρ [Bun-Steinke 2016, Proposition 1.9]. A loss
// with a δ is refused: that of a group is no multiple of it.
func GroupPrivacy(l dp.Loss, k int64) (dp.Loss, error) {
	if k < 1 || l.Atto() != 0 {
		return dp.Loss{}, fmt.Errorf("%w: %v for a group of %d", ErrReport, l, k)
	}
	pico := new(big.Int).Mul(big.NewInt(l.Pico()), big.NewInt(k))
	if l.Measure() == dp.ZCDP {
		pico.Mul(pico, big.NewInt(k))
	}
	if !pico.IsInt64() {
		return dp.Loss{}, dp.ErrOverflow
	}
	return dp.NewLoss(l.Measure(), pico.Int64(), 0)
}
