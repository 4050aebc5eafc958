package mechanisms

import "math/big"

// Combined returns the estimate from all measurements of one coordinate, those of several
// reads too, if the exact value was the same in all of them.
func Combined(measurements []Measurement) Estimate {
	c := coordinate{new(big.Int), new(big.Int), new(big.Int)}
	for _, m := range measurements {
		c.learn(precision(m.Variance), m.Value)
	}
	return c.estimate()
}
