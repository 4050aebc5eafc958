package estimate

import (
	"fmt"
	"math"

	"dpproxy/dp"
)

const (
	// maxBuckets bounds the released rows of one histogram, and the work of an
	// estimate.
	maxBuckets = 1 << 16
	// maxSpan bounds the integers between the bounds, so that no product of the
	// shape's numbers overflows.
	maxSpan = 1 << 62
)

// A Shape is a public grid of buckets over the lattice integers from low to high, and a
// tree of counts above it. Every level above the buckets joins branching neighbours into
// one node, up to a level of at most branching nodes. Level 0 is that coarsest one; the
// grand total is not a level.
//
// The node of bucket b at a level is b / Divisor(level), in integers: the number
// to be counted. The counts of one level are a histogram in which each row counts
// in exactly one node. If a privacy unit has at most m rows in each of at most k
// groups, then the counts that it changes have, in each group, an ℓ₁ norm of at
// most m and so an ℓ₂ norm of at most m, whichever nodes its rows fall into: the
// sensitivity of a level is that of COUNT, dp.Sensitivity{L0: k, LInf: m}. Unlike
// there, up to k·m counts may change; the price of the mechanism must depend on
// the norms, as those of discrete Laplace and discrete Gaussian noise do, and as
// that of budget recycling does not unless m = 1. A tree is the release of all
// its levels: its price is the sum of theirs. [Shape.Split] divides a budget.
//
// Wide trees are better than binary ones: [Qardaji-Yang-Li 2013] find a branching
// of 8 to 16.
type Shape struct {
	grid

	branching int64   // ≥ 2
	nodes     []int   // of each level
	divisors  []int64 // of each level, in buckets
}

// NewShape returns the shape over [low, high] with the finest equal buckets of
// which there are at most the given number.
func NewShape(low, high int64, buckets, branching int) (Shape, error) {
	return newShape(low, high, buckets, branching, equal)
}

// NewFineShape returns a shape over [low, high] whose buckets, of which there are at most the given number, are finer
// near zero, or near the bound that is nearest to it: see [Doubling].
func NewFineShape(low, high int64, buckets, branching int) (Shape, error) {
	return newShape(low, high, buckets, branching, finer)
}

func newShape(low, high int64, buckets, branching int, cut func(low, high int64, buckets int) grid) (Shape, error) {
	switch {
	case low > high || high >= math.MinInt64+maxSpan && low <= high-maxSpan:
		return Shape{}, fmt.Errorf("%w: a grid from %d to %d", ErrParameter, low, high)
	case buckets < 1 || buckets > maxBuckets:
		return Shape{}, fmt.Errorf("%w: %d buckets, not 1 to %d", ErrParameter, buckets, maxBuckets)
	case branching < 2 || branching > maxBuckets:
		return Shape{}, fmt.Errorf("%w: a branching of %d, not 2 to %d", ErrParameter, branching, maxBuckets)
	}
	s := Shape{grid: cut(low, high, buckets), branching: int64(branching)}
	for n, divisor := s.number(high)+1, int64(1); ; n, divisor = (n-1)/s.branching+1, divisor*s.branching {
		s.nodes = append([]int{int(n)}, s.nodes...)
		s.divisors = append([]int64{divisor}, s.divisors...)
		if n <= s.branching {
			return s, nil
		}
	}
}

// Levels returns how many levels of counts the tree has.
func (s Shape) Levels() int { return len(s.nodes) }

// Nodes returns how many counts a level has.
func (s Shape) Nodes(level int) int { return s.nodes[level] }

// Divisor returns how many buckets a node of a level joins.
func (s Shape) Divisor(level int) int64 { return s.divisors[level] }

// Buckets returns how many buckets there are.
func (s Shape) Buckets() int { return s.nodes[len(s.nodes)-1] }

// Number returns the bucket of a lattice integer between the bounds.
func (s Shape) Number(x int64) int64 { return s.number(x) }

// Split divides a budget over the levels, such that its parts add up to pico, and
// the largest variance of the sum of the counts below some bucket is the least.
// That sum has one node fewer of a level than a node above has children, in the
// worst case n; under zCDP, where variances are proportional to 1/ρ, the parts
// are proportional to √n, and under pure differential privacy, where they are to
// 1/ε², to the cube root of n. Where all levels branch alike, parts are equal.
func (s Shape) Split(m dp.Measure, pico int64) ([]int64, error) {
	exponent := 0.5
	switch m {
	case dp.ZCDP:
	case dp.PureDP:
		exponent = 1.0 / 3
	case dp.ApproximateDP:
		fallthrough
	default:
		return nil, fmt.Errorf("%w: measure %v", ErrParameter, m)
	}
	if pico < int64(s.Levels()) || pico > dp.MaxPico {
		return nil, fmt.Errorf("%w: a budget of %d for %d levels", ErrParameter, pico, s.Levels())
	}
	weights, total := make([]float64, s.Levels()), 0.0
	for l, n := range s.nodes {
		weights[l] = math.Pow(max(1, min(float64(s.branching), float64(n))-1), exponent)
		total += weights[l]
	}
	parts, rest := make([]int64, s.Levels()), pico
	for l := range parts {
		after := int64(len(parts) - 1 - l) // levels that need one each
		parts[l] = min(max(1, int64(float64(pico)*weights[l]/total)), rest-after)
		rest -= parts[l]
	}
	parts[len(parts)-1] += rest
	return parts, nil
}

// children returns the first child at level l+1 of each node of level l, and the
// number of nodes at level l+1.
func (s Shape) children(l int) []int {
	first := make([]int, s.nodes[l]+1)
	for j := range first {
		first[j] = min(j*int(s.branching), s.nodes[l+1])
	}
	return first
}

// A cut is a boundary between buckets, with the fewest nodes that make up the
// buckets below it and above: at each of its levels the nodes [from, split) are
// below, and [skip, to) above.
type cut []levelCut

type levelCut struct{ from, split, skip, to int }

// cut finds the boundary before bucket i, 0 ≤ i ≤ Buckets. At each level the
// children of the node that holds the boundary are below or above, except the
// one that holds it in its inside, if there is one.
func (s Shape) cut(i int) cut {
	from, to := 0, s.nodes[0]
	if i == s.Buckets() {
		return cut{{0, to, to, to}}
	}
	var c cut
	for l := range s.nodes {
		size := int(s.divisors[l]) // 1 at the last level
		split := i / size
		if i%size == 0 {
			return append(c, levelCut{from, split, split, to})
		}
		c = append(c, levelCut{from, split, split + 1, to})
		from = split * int(s.branching)
		to = min(from+int(s.branching), s.nodes[l+1])
	}
	return c
}
