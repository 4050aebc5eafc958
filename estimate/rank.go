package estimate

import (
	"fmt"
	"math"
)

const (
	// leastAlpha is the least alpha of a rank error, far above the sum of
	// leastTail over all nodes.
	leastAlpha = 1e-15
	// unionNodes is up to how many nodes the union bound is tried as well; beyond
	// it the moments are better.
	unionNodes = 3
	// rankSlack is more than the relative error of an error computed in doubles,
	// and than the rounding of ranks of which noise hides nothing.
	rankSlack = 1e-9
	// exponents is how many λ are tried; one in between gains less than 1 %.
	exponents = 48
)

// A RankError bounds the error of the rank of a quantile that is read off a
// [Tree]: how many rows too many or too few the noise alone may show below it.
//
// At the boundary before bucket i it looks at D = (1−q)·(rows below) −
// q·(rows above), which the rank of the quantile compares with zero. Both sides are
// sums of few counts: together at most branching − 1 of each level, and one more at
// the last. With independent noise X of those counts, times weights w of 1−q or q,
//
//	P(|Σ w·X| > e) ≤ 2·exp(ln E exp(λ·Σ w·X) − λ·e) for every λ > 0,
//
// whose logarithm is a sum over the counts [Boucheron-Lugosi-Massart 2013, 2.2].
// It is bounded from the noise's quantiles alone and so holds for every law that
// is symmetric about zero. Where up to three counts are involved, the sum of
// their quantiles may be less, and is used. For normal noise of standard deviation
// σ the bound is √(2·ln(2/alpha))·σ at least, that is 2.72σ instead of 1.96σ at
// alpha = 0.05; the quantiles add less than a twentieth.
type RankError struct {
	q float64
	e []float64 // at each boundary
}

// RankError returns the errors for the q-quantile that each fail with
// probability at most alpha, from 10⁻¹⁵ to below 1.
func (t *Tree) RankError(q, alpha float64) (*RankError, error) {
	e, err := t.errorsAt(t.cuts, q, alpha)
	if err != nil {
		return nil, err
	}
	return &RankError{q: q, e: e}, nil
}

// TotalError returns by how many rows the sum of the released counts of the first level is off, at
// most, but with probability alpha, from 10⁻¹⁵ to below 1.
func (t *Tree) TotalError(alpha float64) (float64, error) {
	e, err := t.errorsAt(t.cuts[len(t.cuts)-1:], 0, alpha)
	if err != nil {
		return 0, err
	}
	return e[0], nil
}

// errorsAt returns the errors at some boundaries.
func (t *Tree) errorsAt(cuts []cut, q, alpha float64) ([]float64, error) {
	if !(q >= 0 && q <= 1) || !(alpha >= leastAlpha && alpha < 1) {
		return nil, fmt.Errorf("%w: quantile %v at alpha %v", ErrParameter, q, alpha)
	}
	r := rankBound{q: q, alpha: alpha, noise: t.noise, laws: t.laws()}
	for l, d := range r.laws {
		if last := d.size[len(d.size)-1]; !(d.size[0] >= 0 && last <= maxStdDev) {
			return nil, fmt.Errorf("%w: the noise of level %d has no bound", ErrParameter, l)
		}
	}
	r.prepare(cuts)
	e := make([]float64, len(cuts))
	for i, c := range cuts {
		e[i] = r.at(c)
	}
	return e, nil
}

// Most returns the largest error over all boundaries, in rows: the error to
// tell before a release.
func (r *RankError) Most() float64 {
	most := 0.0
	for _, e := range r.e {
		most = max(most, e)
	}
	return most
}

// Interval returns the first and the last lattice integer of an interval that
// holds the quantile of d, both estimates and, with probability at least
// 1−alpha, both percentile_cont(q) and percentile_disc(q) of the rows as they were
// measured, if there are any. d must be of the tree that r is of.
//
// A percentile is made from one row or from two neighbours. If one is in bucket j,
// then D before bucket j+1 is not below some least, and D before bucket j not above
// some most. So the interval begins at the first bucket whose end does not show, by
// more than its error, D below the least, and ends at the last whose beginning does
// not show D above the most. It fails only if the error at one boundary, which does
// not depend on the noise, is exceeded: each alpha/2, on one side.
func (r *RankError) Interval(d *Distribution) (lower, upper int64) {
	lower, upper = r.buckets(d)
	if x, ok := d.Quantile(r.q); ok {
		y, _ := d.QuantileDisc(r.q)
		lower, upper = min(lower, floor(x), y), max(upper, ceil(x), y)
	}
	return lower, upper
}

// buckets is Interval without the estimates.
func (r *RankError) buckets(d *Distribution) (lower, upper int64) {
	least, most := ranks(r.q)
	first, last := -1, -1
	shape := d.tree.shape
	for j := range shape.Buckets() {
		if first < 0 && d.difference(r.q, j+1) >= least-r.e[j+1] {
			first = j
		}
		if d.difference(r.q, j) <= most+r.e[j] {
			last = j
		}
	}
	if first < 0 || last < 0 { // the counts say that there is no row
		return shape.low, shape.high
	}
	lower, _ = shape.Bucket(first)
	_, upper = shape.Bucket(last)
	return lower, upper
}

// ranks returns the least D after the rows that a percentile is made from, and
// the most before them. Of n rows, T at or before them and q·n of them in the
// quantile's share, D = T − q·n: percentile_disc is made from row ⌈q·n⌉, at which
// T ≥ q·n and before which T < q·n; percentile_cont from rows ⌊q·(n−1)⌋ + 1, at
// which T > q·n − q, and ⌈q·(n−1)⌉ + 1, before which T < q·n − q + 1. At q = 0 and
// q = 1 both are the first row, T = 1, and the last, T = n.
func ranks(q float64) (least, most float64) {
	switch q {
	case 0:
		return 1, 0
	case 1:
		return 0, -1
	}
	return -q, 1 - q
}

// difference returns the estimate of D before bucket i from the released
// counts: each side from the fewest counts.
func (d *Distribution) difference(q float64, i int) float64 {
	below, above := d.sides(i)
	return (1-q)*below - q*above
}

// sides returns the released rows below bucket i, and those above.
func (d *Distribution) sides(i int) (below, above float64) {
	for l, c := range d.tree.cuts[i] {
		sums := d.below[l]
		below += sums[c.split] - sums[c.from]
		above += sums[c.to] - sums[c.skip]
	}
	return below, above
}

// A rankBound computes the errors of one [RankError].
type rankBound struct {
	q, alpha float64
	noise    []Noise
	laws     []dominator
	limit    float64 // ln(2/alpha), with leastTail taken off
	lambdas  []float64
	// moments[k][l] bounds the logarithms of one count of level l below and above
	// at lambdas[k].
	moments [][][2]float64
	// quantiles[m][l] bounds one of m counts, all of which it fails for with
	// probability alpha.
	quantiles [unionNodes + 1][]float64
}

// prepare tabulates the values that all boundaries share. The values of λ are
// those that would be best for normal noise, from the boundary with the least
// variance to the one with the largest, and a factor beyond.
func (r *rankBound) prepare(cuts []cut) {
	smallest, largest, nodes := math.Inf(1), 0.0, 0
	for _, c := range cuts {
		variance := 0.0
		nodes = max(nodes, r.each(c, func(l, below, above int) {
			variance += (float64(below)*(1-r.q)*(1-r.q) + float64(above)*r.q*r.q) * r.laws[l].variance()
		}))
		largest = max(largest, variance)
		if variance > 0 {
			smallest = min(smallest, variance)
		}
	}
	r.limit = math.Log(2 / (r.alpha - float64(nodes)*leastTail))
	for m := 1; m <= unionNodes; m++ {
		for _, n := range r.noise {
			r.quantiles[m] = append(r.quantiles[m], n.Quantile(r.alpha/float64(m)))
		}
	}
	if largest == 0 {
		return // no noise: the quantiles say so
	}
	from, to := 0.3*math.Sqrt(2*r.limit/largest), 1.2*math.Sqrt(2*r.limit/smallest)
	for k := range exponents {
		lambda := from * math.Pow(to/from, float64(k)/(exponents-1))
		r.lambdas = append(r.lambdas, lambda)
		row := make([][2]float64, len(r.laws))
		for l, d := range r.laws {
			row[l] = [2]float64{d.logMoment(lambda * (1 - r.q)), d.logMoment(lambda * r.q)}
		}
		r.moments = append(r.moments, row)
	}
}

// each visits the levels of a cut and returns how many counts of it have weight.
func (r *rankBound) each(c cut, visit func(l, below, above int)) (nodes int) {
	for l, k := range c {
		below, above := k.split-k.from, k.to-k.skip
		if r.q == 1 {
			below = 0
		}
		if r.q == 0 {
			above = 0
		}
		visit(l, below, above)
		nodes += below + above
	}
	return nodes
}

// at returns the error at a boundary: the least over the tabulated λ, each of
// which is valid.
func (r *rankBound) at(c cut) float64 {
	best := math.Inf(1)
	for k, lambda := range r.lambdas {
		moment := 0.0
		r.each(c, func(l, below, above int) {
			moment += times(below, r.moments[k][l][0]) + times(above, r.moments[k][l][1])
		})
		best = min(best, (moment+r.limit)/lambda)
	}
	nodes := r.each(c, func(int, int, int) {})
	if nodes <= unionNodes || len(r.lambdas) == 0 {
		union := 0.0
		r.each(c, func(l, below, above int) {
			union += (float64(below)*(1-r.q) + float64(above)*r.q) * r.quantiles[max(1, min(nodes, unionNodes))][l]
		})
		best = min(best, union)
	}
	return best*(1+rankSlack) + rankSlack
}

// times returns n·x, which is zero for n = 0 even where x is infinite: a λ far too
// large for counts that a boundary does not need.
func times(n int, x float64) float64 {
	if n == 0 {
		return 0
	}
	return float64(n) * x
}
