package estimate

// Cut returns the nodes of each level below the boundary before bucket i, and
// those above, as half-open ranges.
func (s Shape) Cut(i int) (below, above [][2]int) {
	for _, c := range s.cut(i) {
		below = append(below, [2]int{c.from, c.split})
		above = append(above, [2]int{c.skip, c.to})
	}
	return below, above
}

// Cumulative returns how many rows are estimated to be before each bucket.
func (d *Distribution) Cumulative() []float64 { return d.cumulative }

// Difference returns the estimate of the rank before bucket i from the counts,
// with its error.
func (r *RankError) Difference(d *Distribution, i int) (difference, e float64) {
	return d.difference(r.q, i), r.e[i]
}

// LogMoment bounds ln E exp(λ·noise) from the noise's quantiles.
func LogMoment(t Tail, lambda float64) float64 { return dominate(t).logMoment(lambda) }

// Isotonic replaces x by the nearest non-decreasing sequence.
func Isotonic(x []float64) { isotonic(x) }

// SolveVariances returns the variances by solving equations, without rounding.
func SolveVariances(a *Agreement, measured []float64) [][]float64 {
	by := *a
	by.form = solved
	out, err := by.exact(measured)
	if err != nil {
		panic(err)
	}
	for i, p := range a.measured {
		out[i] = p.byRow(out[i], a.counts[i])
	}
	return out
}
