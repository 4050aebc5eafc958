package realized

import (
	"container/heap"
	"math"
	"slices"
)

// A surface is a function of the points of a box. It encloses its values over a box, and its
// derivatives by the numbers of the box, which hold where each category is one.
type surface interface {
	enclose(box []span) (value interval, gradient []interval)
	// part returns the categories first to last of a dimension.
	part(dimension, first, last int) span
}

// A region is a box with an upper bound of the function on it.
type region struct {
	box   []span
	bound float64
	split int // dimension, −1 for a point
}

// regions is a heap, the largest bound first.
type regions []region

var _ heap.Interface = (*regions)(nil)

// Len implements heap.Interface.
func (r regions) Len() int { return len(r) }

// Less implements heap.Interface.
func (r regions) Less(i, j int) bool { return r[i].bound > r[j].bound }

// Swap implements heap.Interface.
func (r regions) Swap(i, j int) { r[i], r[j] = r[j], r[i] }

// Push implements heap.Interface.
func (r *regions) Push(x any) { *r = append(*r, x.(region)) }

// Pop implements heap.Interface.
func (r *regions) Pop() any {
	last := (*r)[len(*r)-1]
	*r = (*r)[:len(*r)-1]
	return last
}

// A search looks for the largest value of sign·surface by bisection of the box that may have it
// [Moore 1966; Pan 2023 bisects in the values of scores instead].
type search struct {
	surface surface
	sign    float64
	found   float64 // the largest value that is certainly attained, but for the width of its enclosure
}

// An extremum is a value that is attained, and a bound that no value exceeds.
type extremum struct {
	found, bound float64
	boxes        int
}

// maximise returns the largest value. More boxes than the limit make the bound no wrong one, only a loose
// one.
func maximise(s surface, sign float64, box []span, precision precision) extremum {
	w := &search{s, sign, math.Inf(-1)}
	open := regions{w.inspect(slices.Clone(box))}
	for boxes := 1; ; boxes += 2 {
		if len(open) == 0 {
			return extremum{w.found, w.found, boxes}
		}
		top := open[0]
		if top.split < 0 || top.bound <= w.found+precision.at(boxes) || boxes > precision.limit {
			return extremum{w.found, max(top.bound, w.found), boxes}
		}
		heap.Pop(&open)
		for _, half := range w.halves(top) {
			if r := w.inspect(half); r.bound > w.found {
				heap.Push(&open, r)
			}
		}
	}
}

// A precision is how far the bound may be from a value that was found, and how many boxes that may take.
type precision struct {
	fine, coarse float64
	soft, limit  int // boxes until the coarse one suffices, and at most
}

func (p precision) at(boxes int) float64 {
	if boxes > p.soft {
		return p.coarse
	}
	return p.fine
}

// halves cuts a region in two.
func (w *search) halves(r region) [2][]span {
	var both [2][]span
	s := r.box[r.split]
	for i := range both {
		both[i] = slices.Clone(r.box)
		part := &both[i][r.split]
		switch mid, whole := s.low+(s.high-s.low)/2, (s.first+s.last)/2; {
		case s.first < s.last && i == 0:
			*part = w.surface.part(r.split, s.first, whole)
		case s.first < s.last:
			*part = w.surface.part(r.split, whole+1, s.last)
		case i == 0:
			part.high = mid
		default:
			part.low = mid
		}
	}
	return both
}

// inspect bounds the function on a box, which it may shrink to a face.
func (w *search) inspect(box []span) region {
	value, gradient := w.enclose(box)
	if open := widest(box, func(s span) float64 { return float64(s.last - s.first) }); open >= 0 {
		w.try(box, nil)
		return region{box, value.high, open}
	}
	for w.shrink(box, gradient) {
		value, gradient = w.enclose(box)
	}
	own := slices.Clone(gradient) // which the next enclosure overwrites
	bound, rest := w.try(box, own), 0.0
	for j, s := range box {
		rest += own[j].size() * (s.high - s.low) / 2
	}
	if bound += rest * (1 + 1e-12); !(bound <= value.high) {
		bound = value.high
	}
	j := -1
	if split := widest(box, func(s span) float64 { return s.high - s.low }); split >= 0 {
		j = steepest(box, own, split)
	}
	return region{box, bound, j}
}

// enclose is that of the surface, times the sign.
func (w *search) enclose(box []span) (interval, []interval) {
	value, gradient := w.surface.enclose(box)
	if w.sign < 0 {
		for j, g := range gradient {
			gradient[j] = g.neg()
		}
		return value.neg(), gradient
	}
	return value, gradient
}

// shrink moves a box to its face where the function rises or falls all over it in one direction.
func (w *search) shrink(box []span, gradient []interval) bool {
	shrunk := false
	for j := range box {
		s := &box[j]
		switch {
		case s.low == s.high:
		case gradient[j].low >= 0:
			s.low, shrunk = s.high, true
		case gradient[j].high <= 0:
			s.high, shrunk = s.low, true
		}
	}
	return shrunk
}

// try evaluates the centre of a box, and where there is a gradient the corner that it points to. It
// returns an upper bound of the function at the centre.
func (w *search) try(box []span, gradient []interval) float64 {
	at := slices.Clone(box)
	for j, s := range box {
		at[j] = s.only((s.low + s.high) / 2)
		if s.first < s.last {
			at[j] = w.surface.part(j, s.first, s.first)
		}
	}
	centre, _ := w.enclose(at)
	w.found = max(w.found, centre.low)
	if gradient != nil {
		for j, s := range box {
			at[j] = s.only(s.low)
			if gradient[j].low+gradient[j].high > 0 {
				at[j] = s.only(s.high)
			}
		}
		corner, _ := w.enclose(at)
		w.found = max(w.found, corner.low)
	}
	return centre.high
}

// only returns the span of one number.
func (s span) only(x float64) span {
	s.low, s.high = x, x
	return s
}

// widest returns the dimension of the largest width above 0, or −1.
func widest(box []span, width func(span) float64) int {
	best, most := -1, 0.0
	for j, s := range box {
		if x := width(s); x > most {
			best, most = j, x
		}
	}
	return best
}

// steepest returns the dimension along which the function may change the most.
func steepest(box []span, gradient []interval, fallback int) int {
	best, most := fallback, 0.0
	for j, s := range box {
		if x := gradient[j].size() * (s.high - s.low); x > most {
			best, most = j, x
		}
	}
	return best
}
