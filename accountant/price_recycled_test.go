package accountant_test

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"dpproxy/accountant"
	"dpproxy/brdp"
	"dpproxy/brdp/papertest"
	"dpproxy/dp"
)

func recycledEvent(kernel dp.Event, boundary int64, q *big.Rat) dp.RecycledEvent {
	return dp.RecycledEvent{Kernel: kernel, Boundary: boundary, Recycle: q}
}

func TestRecycledPrice(t *testing.T) {
	laplace := laplaceEvent(1, 5, big.NewRat(5, 1))
	tests := []struct {
		name   string
		e      dp.Event
		m      dp.Measure
		want   float64
		spread float64
	}{
		// 1 + ln 5, and the largest D_α/α by summation with fifty digits.
		{"laplace", recycledEvent(laplace, 1, big.NewRat(4, 5)), dp.PureDP, 2.6094379124341005, 2e-12},
		{"laplace", recycledEvent(laplace, 1, big.NewRat(4, 5)), dp.ZCDP, 1.5739647643432297, 1e-3},
		{"three", recycledEvent(laplaceEvent(3, 5, big.NewRat(5, 1)), 1, big.NewRat(4, 5)), dp.PureDP, 3 * 2.6094379124341005, 6e-12},
		{"three", recycledEvent(laplaceEvent(3, 5, big.NewRat(5, 1)), 1, big.NewRat(4, 5)), dp.ZCDP, 3 * 1.5739647643432297, 1e-3},
		{"gaussian", recycledEvent(gaussianEvent(1, 1, 16), 3, big.NewRat(3, 5)), dp.ZCDP, 0.117821503992072, 1e-3},
		{"two", recycledEvent(gaussianEvent(2, 1, 16), 3, big.NewRat(3, 5)), dp.ZCDP, 2 * 0.117821503992072, 1e-3},
		{"nothing recycled", recycledEvent(laplace, 1, new(big.Rat)), dp.PureDP, 1, 1e-15},
		{"nothing recycled", recycledEvent(gaussianEvent(1, 1, 16), 3, new(big.Rat)), dp.ZCDP, 1.0 / 32, 1e-15},
	}
	for _, tt := range tests {
		loss, err := accountant.Price(tt.e, tt.m)
		if got := float64(loss.Pico()) * pico; err != nil || got < tt.want*(1-1e-15) || got > tt.want*(1+tt.spread) {
			t.Errorf("%s under %v: %v, %v; want %v", tt.name, tt.m, got, err, tt.want)
		}
	}
}

func TestRecycledPriceRefuses(t *testing.T) {
	half, gaussian := big.NewRat(1, 2), gaussianEvent(1, 1, 16)
	tests := []struct {
		name string
		e    dp.Event
		m    dp.Measure
		want error
	}{
		{"gaussian under pure", recycledEvent(gaussian, 3, half), dp.PureDP, accountant.ErrNoFinitePrice},
		{"the same, nothing recycled", recycledEvent(gaussian, 3, new(big.Rat)), dp.PureDP, accountant.ErrNoFinitePrice},
		{"no kernel", recycledEvent(nil, 3, half), dp.ZCDP, accountant.ErrEvent},
		{"another kernel", recycledEvent(dp.ComposedEvent{gaussian}, 3, half), dp.ZCDP, accountant.ErrEvent},
		{"itself as kernel", recycledEvent(recycledEvent(gaussian, 3, half), 3, half), dp.ZCDP, accountant.ErrEvent},
		{"kernel without scale", recycledEvent(laplaceEvent(1, 1, nil), 3, half), dp.PureDP, accountant.ErrEvent},
		{"kernel without variance", recycledEvent(gaussianEvent(1, 1, 0), 3, half), dp.ZCDP, accountant.ErrEvent},
		{"kernel without sensitivity", recycledEvent(gaussianEvent(0, 1, 16), 3, half), dp.ZCDP, accountant.ErrEvent},
		{"negative boundary", recycledEvent(gaussian, -1, half), dp.ZCDP, accountant.ErrEvent},
		{"no q", recycledEvent(gaussian, 3, nil), dp.ZCDP, accountant.ErrEvent},
		{"q of one", recycledEvent(gaussian, 3, big.NewRat(1, 1)), dp.ZCDP, accountant.ErrEvent},
		{"q negative", recycledEvent(gaussian, 3, big.NewRat(-1, 2)), dp.ZCDP, accountant.ErrEvent},
		{"hardly any noise", recycledEvent(laplaceEvent(1, 1<<50, big.NewRat(1, 1)), 3, half), dp.PureDP, dp.ErrOverflow},
		{"nor gaussian", recycledEvent(gaussianEvent(1, 1<<50, 1), 3, half), dp.ZCDP, dp.ErrOverflow},
	}
	for _, tt := range tests {
		if loss, err := accountant.Price(tt.e, tt.m); !errors.Is(err, tt.want) || loss != (dp.Loss{}) {
			t.Errorf("%s: %v, %v", tt.name, loss, err)
		}
	}
}

// TestRecycledPriceCoversTheTrueDelta: the δ at each ε that the price stands for,
// by the conversion that the ledger uses, is never below the exact δ of the
// noise; where the paper's theorem claims less than that, the price does not
// follow.
func TestRecycledPriceCoversTheTrueDelta(t *testing.T) {
	const unit = 1 << 12 // lattice units for one of the paper's
	refuted := 0
	for _, c := range []struct{ sigma, theta, q, epsilon, shift float64 }{
		{2, 1, 0.5, 1, 1},
		{2, 1, 0.9, 0.5, 1},
		{4, 1, 0.8, 0.5, 5},
		{1.526213748683626, 5, 0.7294049736065268, 3, 1},
		{2, 1, 0.75, 1, 1},
	} {
		variance := big.NewInt(int64(math.Round(c.sigma * c.sigma * unit * unit)))
		e := recycledEvent(dp.GaussianEvent{
			Sensitivity: dp.Sensitivity{L0: 1, LInf: int64(c.shift * unit)}, Variance: variance,
		}, int64(c.theta*unit), new(big.Rat).SetFrac64(int64(c.q*1e12), 1e12))
		loss, err := accountant.Price(e, dp.ZCDP)
		if err != nil {
			t.Fatal(err)
		}
		law, err := brdp.NewLaw(e)
		if err != nil {
			t.Fatal(err)
		}
		g := papertest.GaussianLimit{Sigma: c.sigma, Theta: c.theta, Recycle: c.q}
		exact, claimed := g.Delta(c.epsilon, c.shift), papertest.Delta(g, c.epsilon, c.shift)
		if lattice := law.Delta(c.epsilon); math.Abs(lattice-exact) > 2e-3*exact {
			t.Errorf("%+v: δ = %v on the lattice, %v on the line", c, lattice, exact)
		}
		sold := accountant.Delta(float64(loss.Pico())*pico, c.epsilon)
		t.Logf("%+v: claimed %.3g, true %.3g, paid for %.3g", c, claimed, exact, sold)
		if sold < exact {
			t.Errorf("%+v: the price stands for δ = %v, the true one is %v", c, sold, exact)
		}
		if claimed < exact {
			refuted++
		}
	}
	if refuted < 3 {
		t.Errorf("the claim is below the truth %d times, want 3", refuted)
	}
}
