package planner

import (
	"math"
	"slices"
	"strings"

	"dpproxy/dp"
)

// expectedAt returns the price of a noise reduction in 10⁻¹² of ρ or ε if every value had this size, without the surcharge for the last
// round's overshoot. It returns false if the price depends on more than the size of the answer.
func (c *NoiseReduction) expectedAt(size float64) (float64, bool) {
	prices := make([]float64, len(c.Statistics))
	if slices.ContainsFunc(c.results.Measures, (*Measure).chosen) {
		return 0, false
	}
	for i := range c.results.outputs {
		o := &c.results.outputs[i]
		unit, linear := o.linear()
		if !linear {
			return 0, false
		}
		at := o.statistics()[0]
		m := c.Statistics[at]
		target := c.settings.Target
		price := m.price(math.Max(target.Error, target.Relative*size/(1+target.Relative))/unit, c.Mechanism)
		if m.stop != nil {
			if sigma := m.stop.Need(size / unit); sigma > 0 {
				price = math.Min(price, m.priceAt(sigma))
			}
		}
		prices[at] = math.Max(prices[at], price)
	}
	if j := c.results.judge; j != nil {
		prices[j.statistic] = math.Max(prices[j.statistic], c.Statistics[j.statistic].judgePrice(c.Mechanism))
	}
	total := 0.0
	for _, price := range prices {
		total += price * dp.PicoPerUnit
	}
	return total, true
}

// price is the price in ρ or ε of knowing one integer of each partition within ±half.
func (m ReducedStatistic) price(half float64, mechanism string) float64 {
	l0, linf := float64(m.Sensitivity.L0), m.natural(float64(m.Sensitivity.LInf))
	if mechanism != brownian {
		return l0 * linf * math.Log(float64(m.Path.Levels())/m.beta) / half
	}
	return m.priceAt(m.within.Sigma(math.Max(half-0.5, 1e-9)))
}

// priceAt is the price in ρ of a standard deviation.
func (m ReducedStatistic) priceAt(sigma float64) float64 {
	linf := m.natural(float64(m.Sensitivity.LInf))
	return float64(m.Sensitivity.L0) * linf * linf / (2 * sigma * sigma)
}

// expectation writes the price of noise reduction for values of typical sizes, in a measure; prices that read alike are written once.
func (c *NoiseReduction) expectation(m dp.Measure, write func(dp.Loss) string) string {
	var prices []string
	last := ""
	for size := 1e2; size <= 1e6; size *= 10 {
		pico, ok := c.expectedAt(size)
		if !ok {
			return knownAfter
		}
		if pico > float64(c.PoolPico) {
			continue
		}
		loss, err := dp.NewLoss(m, int64(math.Ceil(math.Max(pico, float64(c.PilotPico)))), 0)
		if err != nil {
			return knownAfter
		}
		if price := write(loss); price != last {
			last, prices = price, append(prices, price+" for values of "+Grouped(size))
		}
	}
	if len(prices) == 0 {
		return "all it may cost, for values below a million"
	}
	s := strings.Join(prices, ", ")
	if least := c.affordable(); least > 1 {
		s += "; below " + Grouped(least) + " the target is not reached"
	}
	return s
}

// affordable is the smallest size of values at which the pool reaches the target.
func (c *NoiseReduction) affordable() float64 {
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

// judgePrice is the price in ρ or ε of that precision.
func (m *ReducedStatistic) judgePrice(mechanism string) float64 {
	switch {
	case m.enough == 0:
		return 0
	case mechanism == brownian:
		return m.priceAt(m.enough)
	}
	return m.natural(float64(m.Sensitivity.LInf)) * float64(m.Sensitivity.L0) * math.Sqrt2 / m.enough
}
