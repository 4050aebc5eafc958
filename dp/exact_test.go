package dp_test

import (
	"math/big"
	"testing"

	"dpproxy/dp"
)

// TestExactTellsEventsApart changes each number of each event by little.
func TestExactTellsEventsApart(t *testing.T) {
	s, wider := dp.Sensitivity{L0: 1, LInf: 2}, dp.Sensitivity{L0: 2, LInf: 1}
	third, near := big.NewRat(1, 3), big.NewRat(333_333_333_333, 1_000_000_000_000)
	laplace := dp.LaplaceEvent{Sensitivity: s, Scale: third}
	gaussian := dp.GaussianEvent{Sensitivity: s, Variance: big.NewInt(1 << 60)}
	events := []dp.Event{
		laplace,
		dp.LaplaceEvent{Sensitivity: s, Scale: near},
		dp.LaplaceEvent{Sensitivity: wider, Scale: third},
		gaussian,
		dp.GaussianEvent{Sensitivity: s, Variance: big.NewInt(1<<60 + 1)},
		dp.GaussianEvent{Sensitivity: wider, Variance: big.NewInt(1 << 60)},
		dp.ImageEvent{Coordinates: 1, L2Squared: big.NewInt(4), Variance: big.NewInt(1 << 60)},
		dp.ImageEvent{Coordinates: 2, L2Squared: big.NewInt(4), Variance: big.NewInt(1 << 60)},
		dp.ImageEvent{Coordinates: 1, L2Squared: big.NewInt(5), Variance: big.NewInt(1 << 60)},
		dp.ImageEvent{Coordinates: 1, L2Squared: big.NewInt(4), Variance: big.NewInt(1<<60 + 1)},
		dp.StaircaseEvent{Sensitivity: s, Epsilon: third, Step: 1},
		dp.StaircaseEvent{Sensitivity: s, Epsilon: third, Step: 2},
		dp.StaircaseEvent{Sensitivity: s, Epsilon: near, Step: 1},
		dp.StaircaseEvent{Sensitivity: wider, Epsilon: third, Step: 1},
		dp.RecycledEvent{Kernel: laplace, Boundary: 1, Recycle: third},
		dp.RecycledEvent{Kernel: gaussian, Boundary: 1, Recycle: third},
		dp.RecycledEvent{Kernel: laplace, Boundary: 2, Recycle: third},
		dp.RecycledEvent{Kernel: laplace, Boundary: 1, Recycle: near},
		dp.PureEvent{Epsilon: third},
		dp.PureEvent{Epsilon: near},
		dp.BoundedRangeEvent{Epsilon: third},
		dp.BoundedRangeEvent{Epsilon: near},
		dp.ApproximateEvent{Of: laplace, Delta: third},
		dp.ApproximateEvent{Of: gaussian, Delta: third},
		dp.ApproximateEvent{Of: laplace, Delta: near},
		dp.RefinementEvent{Sensitivity: s, Before: near, After: third},
		dp.RefinementEvent{Sensitivity: s, Before: third, After: third},
		dp.RefinementEvent{Sensitivity: s, Before: near, After: near},
		dp.RefinementEvent{Sensitivity: wider, Before: near, After: third},
		dp.ReductionEvent{Sensitivity: s, Before: near, After: third, Cap: third},
		dp.ReductionEvent{Sensitivity: s, Before: third, After: third, Cap: third},
		dp.ReductionEvent{Sensitivity: s, Before: near, After: near, Cap: third},
		dp.ReductionEvent{Sensitivity: s, Before: near, After: third, Cap: near},
		dp.ComposedEvent{},
		dp.ComposedEvent{laplace},
		dp.ComposedEvent{laplace, gaussian},
		dp.ComposedEvent{gaussian, laplace},
		dp.ComposedEvent{dp.ComposedEvent{laplace}, gaussian},
		dp.ComposedEvent{dp.ComposedEvent{laplace, gaussian}},
	}
	seen := map[string]dp.Event{}
	for _, e := range events {
		key := dp.Exact(e)
		if other, twice := seen[key]; twice {
			t.Errorf("%v and %v are both written as %s", e, other, key)
		}
		seen[key] = e
	}
	for _, e := range []dp.Event{nil, dp.GaussianEvent{}} {
		if got := dp.Exact(e); got != "?" {
			t.Errorf("%v is written as %s", e, got)
		}
	}
}
