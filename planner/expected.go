package planner

import (
	"math"
	"strings"

	"dpproxy/dp"
	"dpproxy/mechanisms"
)

// expectedAt returns what a chain would cost, in 10⁻¹² of ρ or ε, if every value were of
// this size, without what is paid for the target's being met a little later; false where
// that follows from the answer alone.
func (c *Chain) expectedAt(size float64) (float64, bool) {
	needs := make([]float64, len(c.Measures)) // half-widths of the integers
	for i := range c.part.outputs {
		o := &c.part.outputs[i]
		if !o.linear() {
			return 0, false
		}
		goal := math.Max(c.target.Error, c.target.Relative*size/(1+c.target.Relative)) / o.unit()
		if m := o.measures[0]; needs[m] == 0 || goal < needs[m] {
			needs[m] = goal
		}
	}
	total := 0.0
	for i, need := range needs {
		total += c.Measures[i].price(need, c.Mechanism) * dp.PicoPerUnit
	}
	return total, true
}

// price is what it costs to know one integer of each partition up to half, in ρ or ε.
func (m ChainMeasure) price(half float64, mechanism string) float64 {
	l0, linf := float64(m.Sensitivity.L0), float64(m.Sensitivity.LInf)
	if mechanism != brownian {
		return l0 * linf * math.Log(float64(m.Reduction.Levels())/m.beta) / half
	}
	rule, err := mechanisms.NewAbsoluteError(math.Max(half-0.5, 1e-9), m.within)
	if err != nil {
		return math.Inf(1)
	}
	sigma := rule.Need(1, mechanisms.Estimate{})
	return l0 * linf * linf / (2 * sigma * sigma)
}

// expectation says what the chain costs for values of typical sizes.
func (c *Chain) expectation(symbol string) string {
	var prices []string
	for size := 1e2; size <= 1e6; size *= 10 {
		pico, ok := c.expectedAt(size)
		switch {
		case !ok:
			return "known with the answer"
		case pico <= float64(c.PoolPico):
			prices = append(prices, symbol+"="+Number(math.Max(pico, float64(c.PilotPico))/dp.PicoPerUnit)+" for values of "+Number(size))
		}
	}
	if len(prices) == 0 {
		return "all it may cost, for values below a million"
	}
	s := strings.Join(prices, ", ")
	if least := c.affordable(); least > 1 {
		s += "; below " + Number(least) + " the target is not reached"
	}
	return s
}

// affordable is the size of values from which on the pool reaches the target.
func (c *Chain) affordable() float64 {
	low, high := 1.0, 1e12
	for range 100 {
		mid := math.Sqrt(low * high)
		if pico, _ := c.expectedAt(mid); pico > float64(c.PoolPico) {
			low = mid
		} else {
			high = mid
		}
	}
	return math.Ceil(high)
}
