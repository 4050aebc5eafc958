package estimate

import (
	"fmt"
	"math"
)

// maxSolved bounds the work of finding variances by solving equations: cells times rows.
const maxSolved = 300_000

// rounding is the variance of rounding a number to an integer.
const rounding = 1.0 / 12

// An Agreement tells how precise cells and their margins are after [Margins] has made them agree. It is made of public numbers alone:
// which cells a row has.
//
// The covariance of the cells is the inverse of M = Σ_m AₘᵀAₘ/varianceₘ, where row r of Aₘ is 1 for the cells of row r, and A₀ is the
// identity. The variance of a sum a·x of cells is aᵀM⁻¹a. It is found from numbers of cells if the margins are orthogonal, as those of a
// CUBE over all combinations of its keys ([strata]); in two passes if each has all rows of the one before, as in ROLLUP ([Reconcile]);
// by solving equations if there are few cells; and otherwise it is taken to be the variance of the measurement, which is not smaller.
type Agreement struct {
	measured []partition // the cells, and each margin
	counts   []int       // the rows of each
	strata   strata
	chain    []int // places in measured, each after those that are coarser; nil if they are no chain
	form     agreementForm
}

type agreementForm int

const (
	asMeasured agreementForm = iota
	orthogonal
	nested
	solved
)

// NewAgreement returns the agreement of n ≥ 1 cells with margins: rows[m][c] is which of the counts[m] rows of margin m has cell c.
func NewAgreement(n int, rows [][]int, counts []int) (*Agreement, error) {
	if n < 1 || len(rows) != len(counts) {
		return nil, fmt.Errorf("%w: %d margins of %d cells, with %d counts of rows", ErrParameter, len(rows), n, len(counts))
	}
	a, work := &Agreement{measured: []partition{each(n)}, counts: append([]int{n}, counts...)}, n*n
	for m, of := range rows {
		if len(of) != n {
			return nil, fmt.Errorf("%w: a margin over %d cells of %d", ErrParameter, len(of), n)
		}
		a.measured, work = append(a.measured, partitionOf(of)), work+n*counts[m]
	}
	var ok bool
	if a.strata, ok = strataOf(a.measured); ok {
		a.form = orthogonal
	} else if a.chain = chainOf(a.measured); a.chain != nil {
		a.form = nested
	} else if work <= maxSolved {
		a.form = solved
	}
	return a, nil
}

// Variances returns the variance of each cell and of each row of each margin, of independent measurements with these variances: first
// that of a cell, then those of the margins. A row without cells has none. No variance is larger than that of the measurement.
func (a *Agreement) Variances(measured []float64) ([][]float64, error) {
	if len(measured) != len(a.measured) {
		return nil, fmt.Errorf("%w: %d variances of %d measurements", ErrParameter, len(measured), len(a.measured))
	}
	for _, v := range measured {
		if !(v > 0 && v <= maxStdDev*maxStdDev) {
			return nil, fmt.Errorf("%w: variance %g", ErrParameter, v)
		}
	}
	of, err := a.exact(measured)
	if err != nil {
		return nil, err
	}
	out := make([][]float64, len(of))
	for i, p := range a.measured {
		for r, v := range of[i] {
			of[i][r] = min(v+rounding*float64(p.sizes[r]), measured[i]) // a correction below a half is rounded to none
		}
		out[i] = p.byRow(of[i], a.counts[i])
	}
	return out, nil
}

// exact returns the variances before cells are rounded, by the rows of the partitions.
func (a *Agreement) exact(measured []float64) ([][]float64, error) {
	if a.form == nested {
		return a.ofChain(measured)
	}
	out := make([][]float64, len(a.measured))
	for i, p := range a.measured {
		switch a.form {
		case orthogonal:
			out[i] = repeated(a.strata.variance(i, measured), len(p.sizes))
		case solved:
			out[i] = a.solve(p, measured)
		default:
			out[i] = repeated(measured[i], len(p.sizes))
		}
	}
	return out, nil
}

func repeated(x float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = x
	}
	return out
}

// solve returns aᵀM⁻¹a for the rows a of a partition.
func (a *Agreement) solve(p partition, variances []float64) []float64 {
	s := &marginSystem{n: len(p.rows), weight: 1 / variances[0]}
	for i, of := range a.measured[1:] {
		s.margins = append(s.margins, systemMargin{of.rows, len(of.sizes), variances[i+1]})
	}
	out := make([]float64, len(p.sizes))
	for r := range out {
		row := make([]float64, s.n)
		for c, of := range p.rows {
			if of == r {
				row[c] = 1
			}
		}
		out[r] = dot(row, s.solve(row))
	}
	return out
}

// ofChain returns the variances of totals and parts.
func (a *Agreement) ofChain(measured []float64) ([][]float64, error) {
	levels := make([][]Estimate, len(a.chain))
	places := make([][]int, len(a.chain)) // the place of each row in its level
	children := make([][]int, len(a.chain)-1)
	for l, m := range a.chain {
		p := a.measured[m]
		order := each(len(p.sizes)).rows
		if l > 0 {
			order, children[l-1] = a.measured[a.chain[l-1]].parts(places[l-1], p)
		}
		places[l] = order
		for range p.sizes {
			levels[l] = append(levels[l], Estimate{Variance: measured[m]})
		}
	}
	agreed, err := Reconcile(levels, children)
	if err != nil {
		return nil, err
	}
	out := make([][]float64, len(a.measured))
	for l, m := range a.chain {
		for _, at := range places[l] {
			out[m] = append(out[m], agreed[l][at].Variance)
		}
	}
	return out, nil
}

// Agreed is the noise of an integer that was made to agree with others. It is a sum of the noises of all, each with a weight, and its law
// is between the normal law and that of the noise with the heaviest tails, as far as quantiles at the same standard deviation go.
type Agreed struct {
	Sigma float64 // in units of the integer
	Of    []Noise // of the measurements
}

var _ Noise = (*Agreed)(nil)

// StdDev implements Noise.
func (a *Agreed) StdDev() float64 { return a.Sigma }

// NormalQuantile returns how many standard deviations normal noise exceeds, to either side, with probability α.
func NormalQuantile(alpha float64) float64 { return math.Sqrt2 * math.Erfinv(1-alpha) }

// Quantile implements Noise: of noise that is an integer, P(|noise| > c) is about P(|x| > c + 1/2) for the number x that is rounded to it.
func (a *Agreed) Quantile(alpha float64) float64 {
	times := NormalQuantile(alpha)
	for _, n := range a.Of {
		if sigma := n.StdDev(); sigma >= 1 { // smaller noise is hardly ever another integer than zero
			times = max(times, n.Quantile(alpha)/sigma)
		}
	}
	return max(math.Ceil(a.Sigma*times-0.5), 0)
}
