package brdp

import "dpproxy/dp"

// SumGaussian lets tests see the sums that do not add term by term.
var SumGaussian = sumGaussian

// Gaussians returns the plain and the recycled Gaussian kernel for (ε, δ)-DP.
func Gaussians(a ApproximateAllowance) []Design {
	p := problem{s: a.Sensitivity, boundary: a.Boundary}
	return p.spendApproximate(a.Epsilon, a.Delta)
}

// Reached returns the designs among which Cheapest chooses.
func Reached(g Goal) (found []Design) {
	p := problem{g.Sensitivity, g.Boundary, g.Measure}
	for _, f := range p.families() {
		found = append(found, p.reach(f, g.Acceptance, true)...)
	}
	return found
}

// Spent returns the designs among which MostAccepted chooses.
func Spent(s dp.Sensitivity, boundary int64, loss dp.Loss) (found []Design) {
	p := problem{s, boundary, loss.Measure()}
	for _, f := range p.families() {
		found = append(found, p.spend(f, loss)...)
	}
	return found
}
