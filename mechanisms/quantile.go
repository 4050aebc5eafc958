package mechanisms

import (
	"fmt"
	"math"
	"math/big"

	"dpproxy/dp"
)

// A Quantile chooses a bucket that holds the quantile of a fraction a/c of weighted rows, by the
// exponential mechanism. With D(j) = (c−a)·(weight below boundary j) − a·(weight above it), which does not fall
// with j and is 0 at the quantile, the score of bucket j is how far 0 is from its two boundaries:
//
//	s(j) = −max(0, D(j), −D(j+1)).
//
// One unit of weight w ≥ 0 changes each D by −a·w to (c−a)·w, and so each score by at most
// max(a, c−a)·w, in either direction. At the rate ε/(2·max(a, c−a)·L) its range is ε·w/L: at most ε
// where no unit has more than L.
//
// Buckets are scored, not boundaries: of many rows in one bucket each boundary has a bad score.
type Quantile struct {
	a, c int64
	of   Exponential
}

// NewQuantile returns the choice for the fraction a/c, 0 < a < c, where a unit has at most the weight
// limit, at ε = epsilonPico·10⁻¹².
func NewQuantile(limit, a, c, epsilonPico int64) (Quantile, error) {
	if limit < 1 || a < 1 || a >= c {
		return Quantile{}, fmt.Errorf("%w: the fraction %d/%d of weights up to %d", ErrParameter, a, c, limit)
	}
	worst := max(a, c-a)
	if limit > math.MaxInt64/worst {
		return Quantile{}, fmt.Errorf("%w: the fraction %d/%d of weights up to %d", ErrParameter, a, c, limit)
	}
	of, err := NewExponential(limit*worst, false, epsilonPico)
	return Quantile{a, c, of}, err
}

// Fraction returns a and c.
func (q Quantile) Fraction() (a, c int64) { return q.a, q.c }

// Event describes one choice, for a pricer.
func (q Quantile) Event() dp.Event { return q.of.Event() }

// String writes the mechanism for plans.
func (q Quantile) String() string { return fmt.Sprintf("%v fraction=%d/%d", q.of, q.a, q.c) }

// Choose draws the index of a bucket, which a client may see, of buckets with these weights, which are
// not negative. The caller must have charged Event, durably, before. An error says that there are none.
func (q Quantile) Choose(src Source, weights []Private) (int, error) {
	if len(weights) == 0 {
		return 0, fmt.Errorf("%w: no buckets to choose from", ErrParameter)
	}
	below, begins := q.distances(weights)
	lengths := make([]uint64, len(begins))
	for i, begin := range begins {
		end := len(weights)
		if i+1 < len(begins) {
			end = begins[i+1]
		}
		lengths[i] = uint64(end - begin)
	}
	i := q.of.choose(src, q.of.start, lengths, below)
	return begins[i] + int(uniform(src, lengths[i])), nil
}

// distances returns how far the scores of buckets are below 0, which is that of one that holds the
// quantile, those of neighbours with one score once, and where these begin.
func (q Quantile) distances(weights []Private) (distances, []int) {
	if w, ok := narrow(weights, math.MaxInt64/int64(len(weights))); ok {
		total := int64(0)
		for _, n := range w {
			total += n
		}
		if total <= math.MaxInt64/q.c { // and so are the sizes of all D, of weights that are not negative
			below, begins := q.narrowDistances(w, total)
			return distances{words: below}, begins
		}
	}
	below, begins := q.wideDistances(weights)
	return exactly(below), begins
}

// narrowDistances returns the distances of weights of which every D is an int64.
func (q Quantile) narrowDistances(weights []int64, total int64) (below []uint64, begins []int) {
	below, begins = make([]uint64, 0, len(weights)), make([]int, 0, len(weights))
	d := -q.a * total // before the bucket
	for j, w := range weights {
		after := d + q.c*w
		far := uint64(max(0, d, -after))
		if d = after; j > 0 && far == below[len(below)-1] {
			continue
		}
		below, begins = append(below, far), append(begins, j)
	}
	return below, begins
}

// wideDistances returns the distances of weights of any size.
func (q Quantile) wideDistances(weights []Private) (below []*big.Int, begins []int) {
	total := new(big.Int)
	for _, w := range weights {
		total.Add(total, w.reveal())
	}
	far := make([]big.Int, len(weights))
	below, begins = make([]*big.Int, 0, len(weights)), make([]int, 0, len(weights))
	d, after := new(big.Int).Mul(total, big.NewInt(-q.a)), new(big.Int) // before the bucket and after it
	step := big.NewInt(q.c)
	for j, w := range weights {
		at := &far[len(below)]
		after.Add(d, after.Mul(step, w.reveal()))
		switch {
		case d.Sign() >= 0:
			at.Set(d)
		case after.Sign() < 0:
			at.Neg(after)
		default:
			at.SetInt64(0)
		}
		d, after = after, d
		if j > 0 && at.Cmp(below[len(below)-1]) == 0 {
			continue
		}
		below, begins = append(below, at), append(begins, j)
	}
	return below, begins
}
