package estimate

import (
	"fmt"
	"math"
	"math/big"
	"sort"
	"sync"
)

// A Tree is a [Shape] with the noise of its counts: all that is public about a
// noisy histogram tree before any count is released.
type Tree struct {
	shape    Shape
	noise    []Noise   // of each level
	total    Noise     // of the grand total, or nil
	variance []float64 // of the total, then of each level
	children [][]int
	cuts     []cut // before each bucket, and after the last
	// laws tabulates the noise of each level at its first use: hundreds of quantiles.
	laws func() []dominator
}

// NewTree returns the tree of a shape with the noise of each of its levels, the
// same and independent for all its nodes. If a noisy count of all its rows is
// released as well, total is that count's noise, else nil.
func NewTree(s Shape, noise []Noise, total Noise) (*Tree, error) {
	if len(s.nodes) == 0 || len(noise) != len(s.nodes) {
		return nil, fmt.Errorf("%w: noise for %d levels of %d", ErrParameter, len(noise), len(s.nodes))
	}
	t := &Tree{shape: s, noise: append([]Noise(nil), noise...), total: total}
	t.variance = []float64{math.Inf(1)}
	t.children = [][]int{{0, s.nodes[0]}}
	if total != nil {
		noise = append([]Noise{total}, noise...)
		t.variance = nil
	}
	for _, n := range noise {
		if n == nil || !(n.StdDev() >= 0 && n.StdDev() <= maxStdDev) {
			return nil, fmt.Errorf("%w: noise %v in a tree", ErrParameter, n)
		}
		t.variance = append(t.variance, n.StdDev()*n.StdDev())
	}
	for l := range s.nodes[1:] {
		t.children = append(t.children, s.children(l))
	}
	t.laws = sync.OnceValue(func() (laws []dominator) {
		for _, n := range t.noise {
			laws = append(laws, dominate(n))
		}
		return laws
	})
	for i := range s.Buckets() + 1 {
		t.cuts = append(t.cuts, s.cut(i))
	}
	return t, nil
}

// Shape returns the tree's shape.
func (t *Tree) Shape() Shape { return t.shape }

// A Distribution is the estimate, from the released counts of a [Tree], of the
// distribution of the rows over the lattice. Any number of quantiles may be read
// off it, and they never decrease from one probability to a larger one.
type Distribution struct {
	tree *Tree
	// below[l][j] is the sum of the released counts of the nodes before j.
	below [][]float64
	// cumulative[i] estimates how many rows are in buckets before i; it begins at
	// zero and never decreases.
	cumulative []float64
}

// Fit merges the counts of all levels, and of the total if the tree has one, into
// one distribution. It makes totals and parts agree by [Reconcile]; then it makes
// the cumulative counts of the buckets non-decreasing, from zero to the total,
// by the nearest such sequence in least squares [Barlow et al. 1972]. Counts that
// agree already and do not decrease stay as they are, to the last bit. Sums are
// exact up to 2⁵³.
func (t *Tree) Fit(counts [][]*big.Int, total *big.Int) (*Distribution, error) {
	if len(counts) != t.shape.Levels() || (total == nil) != (t.total == nil) {
		return nil, fmt.Errorf("%w: counts of %d levels and a total %v", ErrParameter, len(counts), total)
	}
	d := &Distribution{tree: t}
	if total == nil {
		total = new(big.Int)
	}
	levels := make([][]Estimate, len(counts)+1)
	for l, row := range append([][]*big.Int{{total}}, counts...) {
		if l > 0 && len(row) != t.shape.nodes[l-1] {
			return nil, fmt.Errorf("%w: %d counts of level %d", ErrParameter, len(row), l-1)
		}
		below := make([]float64, len(row)+1)
		for j, n := range row {
			if n == nil {
				return nil, fmt.Errorf("%w: no count of node %d at level %d", ErrParameter, j, l-1)
			}
			x, _ := new(big.Float).SetInt(n).Float64()
			levels[l] = append(levels[l], Estimate{x, t.variance[l]})
			below[j+1] = below[j] + x
		}
		if l > 0 {
			d.below = append(d.below, below)
		}
	}
	agreed, err := Reconcile(levels, t.children)
	if err != nil {
		return nil, err
	}
	d.cumulative = accumulate(agreed[0][0].Value, agreed[len(agreed)-1])
	return d, nil
}

// accumulate returns the non-decreasing sequence from zero to the total, if that
// is positive, that is nearest to the cumulative sums of the parts.
func accumulate(total float64, parts []Estimate) []float64 {
	sums := make([]float64, len(parts)+1)
	for i, p := range parts {
		sums[i+1] = sums[i] + p.Value
	}
	total = max(total, 0)
	isotonic(sums[1:len(parts)])
	for i := range sums[1:] {
		sums[i+1] = min(max(sums[i+1], 0), total) // clamped, it is the nearest within bounds
	}
	sums[len(parts)] = total
	return sums
}

// isotonic replaces x by the non-decreasing sequence that is nearest to it in
// least squares: it pools neighbours that decrease into their mean, until none do.
func isotonic(x []float64) {
	type pool struct {
		mean float64
		size int
	}
	pools := make([]pool, 0, len(x))
	for _, v := range x {
		p := pool{v, 1}
		for len(pools) > 0 && pools[len(pools)-1].mean > p.mean {
			q := pools[len(pools)-1]
			pools = pools[:len(pools)-1]
			p.mean += (q.mean - p.mean) * float64(q.size) / float64(p.size+q.size)
			p.size += q.size
		}
		pools = append(pools, p)
	}
	i := 0
	for _, p := range pools {
		for range p.size {
			x[i] = p.mean
			i++
		}
	}
}

// Total returns the estimated number of rows, which is not negative.
func (d *Distribution) Total() float64 { return d.cumulative[len(d.cumulative)-1] }

// leastTotal is the estimated number of rows below which there is none.
const leastTotal = 0.5

// Quantile estimates percentile_cont(q): it interpolates between the two rows
// whose ranks enclose q·(Total − 1), counting from zero. The result is in
// lattice units. ok is false if there are no rows, or q is not within [0, 1].
//
// Rows are taken to be spread evenly within a bucket, so that beside the noise
// an error of up to Width − 1 is to be expected, and without noise no more; with
// a width of one it is none.
func (d *Distribution) Quantile(q float64) (x *big.Rat, ok bool) {
	n := d.Total()
	if !(q >= 0 && q <= 1) || n < leastTotal {
		return nil, false
	}
	rank := q * max(n-1, 0)
	whole := math.Floor(rank)
	x = d.ordered(whole)
	step := new(big.Rat).Sub(d.ordered(whole+1), x)
	return x.Add(x, step.Mul(step, new(big.Rat).SetFloat64(rank-whole))), true
}

// QuantileDisc estimates percentile_disc(q): the first value whose cumulative
// share of the rows is at least q, as a lattice integer. Otherwise it is as
// [Distribution.Quantile].
func (d *Distribution) QuantileDisc(q float64) (x int64, ok bool) {
	n := d.Total()
	if !(q >= 0 && q <= 1) || n < leastTotal {
		return 0, false
	}
	return floor(d.ordered(max(math.Ceil(q*n)-1, 0))), true
}

// ordered estimates the value of a rank, counting from zero. A bucket of c rows
// has its j-th at the share (j + ½)/c of the way from its first to its last
// integer. Ranks beyond the total have the value of the last rows.
func (d *Distribution) ordered(rank float64) *big.Rat {
	total := d.Total()
	i := sort.Search(d.tree.shape.Buckets()-1, func(i int) bool {
		return d.cumulative[i+1] > rank || d.cumulative[i+1] >= total
	})
	first, last := d.tree.shape.Bucket(i)
	share := (rank - d.cumulative[i] + 0.5) / (d.cumulative[i+1] - d.cumulative[i])
	share = min(max(share, 0), 1)
	x := new(big.Rat).SetFloat64(share * float64(last-first))
	x.Add(x, new(big.Rat).SetInt64(first))
	return least(x, new(big.Rat).SetInt64(last)) // a long bucket's length is rounded
}

// floor returns the largest integer that is at most x, which must fit.
func floor(x *big.Rat) int64 {
	n, m := new(big.Int).DivMod(x.Num(), x.Denom(), new(big.Int))
	_ = m // Euclidean division by a positive number rounds down
	return n.Int64()
}

// ceil returns the least integer that is at least x, which must fit.
func ceil(x *big.Rat) int64 { return -floor(new(big.Rat).Neg(x)) }
