package planner

import (
	"math"
	"math/big"

	"dpproxy/brdp"
	"dpproxy/dp"
	"dpproxy/mechanisms"
)

// staircaseFor returns the staircase of the smallest ε that exceeds the boundary of a goal with probability alpha at most.
func staircaseFor(g brdp.Goal, alpha float64) (brdp.Design, error) {
	m, err := mechanisms.StaircaseWithin(g.Sensitivity, g.Boundary, alpha)
	if err != nil {
		return brdp.Design{}, err
	}
	e := m.Event().(dp.StaircaseEvent) //nolint:forcetypeassert // its only event
	each := new(big.Rat).Mul(e.Epsilon, big.NewRat(dp.PicoPerUnit, 1))
	if g.Measure == dp.ZCDP {
		epsilon, _ := e.Epsilon.Float64()
		each.Mul(each, new(big.Rat).SetFloat64(math.Tanh(epsilon/2)*(1+1e-12)))
		each.Add(each, big.NewRat(1, 1)) // rounded up
	}
	pico, ok := toInt64(new(big.Int).Mul(new(big.Int).Quo(each.Num(), each.Denom()), big.NewInt(g.Sensitivity.L0)))
	if !ok {
		return brdp.Design{}, dp.ErrOverflow
	}
	loss, err := dp.NewLoss(g.Measure, pico, 0)
	return brdp.Design{Mechanism: m, Acceptance: 1 - alpha, Loss: loss}, err
}
