package realized

import (
	"math"
	"slices"
)

// A landscape is ln P(x) of some answers, but for a constant, over the columns that they are about.
type landscape struct {
	domain   *Domain
	columns  []int
	sums     [][]float64 // of each column that is a category: ln P by the answers about it
	scores   []scored
	gradient []interval
}

// A scored is the answer to a score.
type scored struct {
	tape      *tape
	low, high float64
	law       bit
	one       bool
}

var _ surface = (*landscape)(nil)

func (l *landscape) part(dimension, first, last int) span {
	return l.domain.columns[l.columns[dimension]].part(first, last)
}

// enclose adds up the logarithms of all answers.
func (l *landscape) enclose(box []span) (interval, []interval) {
	clear(l.gradient)
	var total interval
	for j, sums := range l.sums {
		if sums != nil {
			some := sums[box[j].first : box[j].last+1]
			total = add(total, outwards(slices.Min(some), slices.Max(some)))
		}
	}
	for _, s := range l.scores {
		x, slope := s.tape.enclose(box)
		value, by := s.logarithm(x)
		total = add(total, value)
		for j := range l.gradient {
			l.gradient[j] = add(l.gradient[j], times(slope[j], by))
		}
	}
	return total, l.gradient
}

// logarithm encloses ln P of the answer where the score is in x, and its derivative by the score.
func (s scored) logarithm(x interval) (value, slope interval) {
	width := outwards(s.high-s.low, s.high-s.low)
	t := x.minus(point(s.low)).times(width.inverse())
	slope = outwards(s.law.gain/width.high, s.law.gain/width.low)
	switch {
	case t.high <= 0 || t.low >= 1:
		slope = interval{}
	case t.low <= 0 || t.high >= 1:
		slope.low = 0
	}
	t = interval{min(max(t.low, 0), 1), min(max(t.high, 0), 1)}
	if !s.one {
		t, slope = outwards(1-t.high, 1-t.low), slope.neg()
		t = interval{max(t.low, 0), min(t.high, 1)}
	}
	p := outwards(s.law.least, s.law.least).plus(t.times(outwards(s.law.gain, s.law.gain)))
	p = interval{max(p.low, s.law.least*(1-ulps)), min(p.high, 1)}
	return p.rising(math.Log), times(slope, p.inverse())
}

// Precisions of realized losses: many are exact to 10⁻⁹; where that takes long, 10⁻³ must do, and
// in the end any bound is sound.
var (
	alone  = precision{fine: 1e-9, coarse: 1e-3, soft: 20_000, limit: 100_000}
	joined = precision{fine: 1e-5, coarse: 1e-3, soft: 1_000, limit: 100_000}
	hasty  = precision{fine: 1e-3, coarse: 1e-3, soft: 1_000, limit: 1_000}
)

// groupSize is how many scores are bounded together where all of them are too many.
const groupSize = 8

// bounds returns the realized loss of the answers: a lower and an upper bound, for which either extremum
// takes so many boxes at most.
func (l *landscape) bounds(boxes int) loss {
	p := joined
	if len(l.columns) == 1 {
		p = alone
	}
	p.limit = min(p.limit, boxes)
	result := l.extent(p)
	if result.upper-result.lower > 10*p.coarse && len(l.scores) > groupSize {
		p = hasty
		p.limit = min(p.limit, boxes)
		result.upper = min(result.upper, l.inGroups(p))
		result.boxes += len(l.scores) * p.limit / groupSize
	}
	return result
}

// extent returns bounds of the largest value less the smallest.
func (l *landscape) extent(p precision) loss {
	box := l.domain.box(l.columns)
	up, down := maximise(l, 1, box, p), maximise(l, -1, box, p)
	return loss{
		lower: max(0, up.found+down.found), upper: max(0, up.bound+down.bound), boxes: up.boxes + down.boxes,
	}
}

// inGroups bounds the loss by the sum over groups of scores, categories with the first.
func (l *landscape) inGroups(p precision) float64 {
	total, part := 0.0, *l
	for part.scores = range slices.Chunk(l.scores, groupSize) {
		total += part.extent(p).upper * (1 + ulps)
		part.sums = make([][]float64, len(l.columns))
	}
	return total
}
