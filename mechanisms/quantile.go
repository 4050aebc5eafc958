package mechanisms

import (
	"fmt"
	"math"
	"math/big"

	"dpproxy/dp"
)

// A Quantile chooses a bucket that holds the quantile of a fraction a/c of weighted rows, by the
// exponential mechanism. With D(j) = (c−a)·(weight below boundary j) − a·(weight above it), which does not fall
// with j and is 0 at the quantile, the score of bucket j is how far a public number t is from its two boundaries:
//
//	s(j) = −max(0, D(j) − t, t − D(j+1)),
//
// in which the first bucket begins at −∞ and the last ends at +∞, so that one of them has the score 0. Of the quantile
// itself t is 0, and those two ends change no score. Of t > 0 it is a row so much behind the quantile, in units of 1/c of weight.
//
// One unit of weight w ≥ 0 changes each D by −a·w to (c−a)·w, and so each score by at most
// max(a, c−a)·w, in either direction, whatever t is. At the rate ε/(2·max(a, c−a)·L) its range is ε·w/L: at most ε
// where no unit has more than L.
//
// Buckets are scored, not boundaries: of many rows in one bucket each boundary has a bad score.
type Quantile struct {
	a, c, target int64
	of           Exponential
}

// NewQuantile returns the choice for the fraction a/c, 0 < a < c, where a unit has at most the weight
// limit, at ε = epsilonPico·10⁻¹².
func NewQuantile(limit, a, c, epsilonPico int64) (Quantile, error) {
	if a < 1 || a >= c {
		return Quantile{}, fmt.Errorf("%w: the fraction %d/%d", ErrParameter, a, c)
	}
	return NewQuantileBeside(limit, a, c, 0, epsilonPico)
}

// mostTarget bounds how far from a quantile a row is asked for.
const mostTarget = math.MaxInt64 / 4

// NewQuantileBeside returns the choice of the row that is target/c of weight behind the quantile, or before it if that is
// negative, 0 ≤ a ≤ c: of the fractions 0 and 1 it is a row near the least and the greatest.
func NewQuantileBeside(limit, a, c, target, epsilonPico int64) (Quantile, error) {
	if limit < 1 || c < 1 || a < 0 || a > c || target > mostTarget || target < -mostTarget {
		return Quantile{}, fmt.Errorf("%w: the fraction %d/%d and %d of weights up to %d", ErrParameter, a, c, target, limit)
	}
	worst := max(a, c-a)
	if limit > math.MaxInt64/worst {
		return Quantile{}, fmt.Errorf("%w: the fraction %d/%d of weights up to %d", ErrParameter, a, c, limit)
	}
	of, err := NewExponential(limit*worst, false, epsilonPico)
	return Quantile{a, c, target, of}, err
}

// Fraction returns a and c.
func (q Quantile) Fraction() (a, c int64) { return q.a, q.c }

// Event describes one choice, for a pricer.
func (q Quantile) Event() dp.Event { return q.of.Event() }

// String writes the mechanism for plans.
func (q Quantile) String() string {
	if q.target == 0 {
		return fmt.Sprintf("%v fraction=%d/%d", q.of, q.a, q.c)
	}
	return fmt.Sprintf("%v fraction=%d/%d%+d", q.of, q.a, q.c, q.target)
}

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
		if total <= (math.MaxInt64-max(q.target, -q.target))/q.c { // so are the sizes of all D − t, of weights that are not negative
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
	d := -q.a*total - q.target // before the bucket
	for j, w := range weights {
		after, far := d+q.c*w, int64(0)
		if j > 0 {
			far = max(far, d)
		}
		if j+1 < len(weights) {
			far = max(far, -after)
		}
		if d = after; j > 0 && uint64(far) == below[len(below)-1] {
			continue
		}
		below, begins = append(below, uint64(far)), append(begins, j)
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
	d.Sub(d, big.NewInt(q.target))
	step := big.NewInt(q.c)
	for j, w := range weights {
		at := &far[len(below)]
		after.Add(d, after.Mul(step, w.reveal()))
		switch {
		case j > 0 && d.Sign() >= 0:
			at.Set(d)
		case j+1 < len(weights) && after.Sign() < 0:
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
