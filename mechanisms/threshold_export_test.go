package mechanisms

// Noises returns the noise on the threshold and that on a query.
func (a AboveThreshold) Noises() (bar, query Laplace) { return a.onBar, a.onQuery }
