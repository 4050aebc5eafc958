package realized

import (
	"fmt"
	"math"
)

// A tape is a score in the order in which it is computed, over some columns of a domain. It encloses
// the score and its derivatives over a box by the rules of intervals: the results hold for every
// point of the box.
type tape struct {
	steps []step
	dims  int
	value []interval // of each step, of the last box
	slope []interval // dims of each step
}

// A step computes one node from earlier steps.
type step struct {
	node *node
	a, b int
	dims []int // of the weights: places of their columns among the dims
}

// newTape returns the tape of a score; place tells where a column is in boxes.
func newTape(n *node, dims int, place func(column int) int) *tape {
	t := &tape{dims: dims}
	t.add(n, place, map[*node]int{})
	t.value = make([]interval, len(t.steps))
	t.slope = make([]interval, len(t.steps)*dims)
	return t
}

func (t *tape) add(n *node, place func(int) int, seen map[*node]int) int {
	if n == nil {
		return 0
	}
	if at, ok := seen[n]; ok {
		return at
	}
	s := step{node: n, a: t.add(n.a, place, seen), b: t.add(n.b, place, seen)}
	for _, w := range n.weights {
		s.dims = append(s.dims, place(w.column))
	}
	t.steps = append(t.steps, s)
	seen[n] = len(t.steps) - 1
	return seen[n]
}

// enclose returns the score over a box, and adds its derivatives to gradient, of which the caller
// keeps no part. A derivative is of the number that a column is.
func (t *tape) enclose(box []span) (score interval, gradient []interval) {
	for i := range t.steps {
		s := &t.steps[i]
		own := t.slope[i*t.dims : (i+1)*t.dims]
		if s.node.op == affine {
			t.value[i] = s.affine(box, own)
			continue
		}
		t.value[i] = t.compute(s)
		t.differentiate(s, t.value[i], own)
	}
	last := len(t.steps) - 1
	return t.value[last], t.slope[last*t.dims:]
}

// affine encloses a weighted sum, exactly but for roundings.
func (s *step) affine(box []span, slope []interval) interval {
	clear(slope)
	low, high := s.node.number, s.node.number
	for i, w := range s.node.weights {
		x := box[s.dims[i]]
		a, b := w.by*x.low, w.by*x.high
		low, high = low+min(a, b), high+max(a, b)
		slope[s.dims[i]] = interval{w.by - w.error, w.by + w.error}
	}
	off := s.rounding(box)
	return outwards(low-off, high+off)
}

// rounding returns how far a weighted sum may be from the one that was meant.
func (s *step) rounding(box []span) float64 {
	size, off := math.Abs(s.node.number), s.node.error
	for i, w := range s.node.weights {
		x := box[s.dims[i]]
		most := max(math.Abs(x.low), math.Abs(x.high))
		size += math.Abs(w.by) * most
		off += w.error * most
	}
	return off + size*float64(len(s.dims)+1)*ulps
}

// error returns how far the middle of the enclosure of any point of the box is from the score: errors of
// operands, times the derivatives by them over the whole box, and those of each step.
func (t *tape) error(box []span) float64 {
	t.enclose(box)
	errors := make([]float64, len(t.steps))
	for i := range t.steps {
		s, v := &t.steps[i], t.value[i]
		own := (v.size()*float64(2+s.node.power) + tiny) * 2 * ulps
		switch s.node.op {
		case affine:
			errors[i] = s.rounding(box) + own
			continue
		case squareRoot: // which is infinitely steep at 0, but |√(x+e) − √x| ≤ √|e|
			errors[i] = math.Sqrt(errors[s.a]) + own
			continue
		case product, quotient, sum, exponential, logarithm, absolute, integerPower, smaller, larger, sigmoid:
		}
		byA, byB := s.partials(t.value[s.a], t.value[s.b], v)
		errors[i] = byA.size()*errors[s.a] + own
		if s.node.b != nil {
			errors[i] += byB.size() * errors[s.b]
		}
	}
	return errors[len(errors)-1]
}

// rootSlack is how far below 0 an enclosure may reach, relatively, whose square root is taken.
const rootSlack = 1e-9

// compute encloses one step of which the operands are known.
func (t *tape) compute(s *step) interval {
	a, b := t.value[s.a], t.value[s.b]
	switch s.node.op {
	case product:
		return a.times(b)
	case quotient:
		return a.times(b.inverse())
	case sum:
		return a.plus(b)
	case exponential:
		return a.rising(math.Exp)
	case logarithm:
		if a.low <= 0 {
			return everything
		}
		return a.rising(math.Log)
	case squareRoot:
		if a.low < -a.size()*rootSlack {
			return everything
		}
		return interval{max(a.low, 0), max(a.high, 0)}.rising(math.Sqrt)
	case absolute:
		return a.abs()
	case integerPower:
		return a.power(s.node.power)
	case smaller:
		return a.least(b)
	case larger:
		return a.greatest(b)
	case sigmoid:
		r := a.rising(logistic)
		return interval{max(r.low, 0), min(r.high, 1)}
	case affine:
	}
	return everything
}

// differentiate encloses the derivatives of a step of the value v.
func (t *tape) differentiate(s *step, v interval, slope []interval) {
	a, b := t.value[s.a], t.value[s.b]
	da, db := t.slope[s.a*t.dims:][:t.dims], t.slope[s.b*t.dims:][:t.dims]
	byA, byB := s.partials(a, b, v)
	for j := range slope {
		slope[j] = times(da[j], byA)
		if s.node.b != nil {
			slope[j] = add(slope[j], times(db[j], byB))
		}
	}
}

// partials encloses the derivatives of a step by its operands. Where there is a kink, they are all
// that the derivative is near it: with these, the mean value theorem holds.
func (s *step) partials(a, b, v interval) (byA, byB interval) {
	switch s.node.op {
	case product:
		return b, a
	case quotient:
		inverse := b.inverse()
		return inverse, v.times(inverse).neg()
	case sum:
		return point(1), point(1)
	case exponential:
		return v, interval{}
	case logarithm:
		return a.inverse(), interval{}
	case squareRoot:
		return v.plus(v).inverse(), interval{}
	case absolute:
		return interval{-1, 1}.cut(a.low >= 0, a.high <= 0), interval{}
	case integerPower:
		n := s.node.power
		if n == 0 {
			return interval{}, interval{}
		}
		return a.power(n - 1).times(point(float64(n))), interval{}
	case smaller:
		first := interval{0, 1}.cut(a.high <= b.low, b.high <= a.low)
		return first, interval{1 - first.high, 1 - first.low}
	case larger:
		first := interval{0, 1}.cut(a.low >= b.high, b.low >= a.high)
		return first, interval{1 - first.high, 1 - first.low}
	case sigmoid:
		return bell(a), interval{}
	case affine:
	}
	return everything, everything
}

// cut returns the upper end of a where it is certain, and the lower end where that is.
func (a interval) cut(upper, lower bool) interval {
	switch {
	case upper:
		return point(a.high)
	case lower:
		return point(a.low)
	}
	return a
}

// bell encloses the derivative of the logistic function, which falls with the distance from 0.
func bell(z interval) interval {
	size := z.abs()
	at := func(x float64) float64 { return logistic(x) * logistic(-x) }
	return outwards(at(size.high), at(size.low))
}

// times is a·b, and exactly 0 where a is: a step without a column has no derivative by it.
func times(a, b interval) interval {
	switch {
	case a == interval{} || b == interval{}:
		return interval{}
	case a == point(1):
		return b
	case b == point(1):
		return a
	}
	return a.times(b)
}

// add is a + b, likewise.
func add(a, b interval) interval {
	switch {
	case a == interval{}:
		return b
	case b == interval{}:
		return a
	}
	return a.plus(b)
}

// check returns an error unless every step is a number over the whole box.
func (t *tape) check(box []span) error {
	t.enclose(box)
	for i, v := range t.value {
		if !v.finite() || v.size() > maxNumber {
			return fmt.Errorf("%w: step %d of %d may have any value", ErrUnbounded, i+1, len(t.steps))
		}
	}
	return nil
}
