package planner

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"dpproxy/estimate"
)

// A chosenRank shows buckets that the exponential mechanism chose for percentiles, MIN or MAX. If their errors are asked for, the ends of
// their intervals were chosen too; otherwise only an error of the rank is known.
type chosenRank struct {
	ranked
	// cells are the values: one, or all elements of an array.
	cells []chosenCell
	array bool
	shape estimate.Shape
	// alpha is the probability with which an interval may miss its value, for which the ends were chosen.
	alpha float64
}

// A chosenCell has the indices of the choices of a value; −1 is none. For a minimum or maximum the outer end is the bound of the values,
// and the inner end is the value that is shown.
type chosenCell struct {
	fraction         fraction // in ascending order
	null             bool
	lower, at, upper int
}

// cellOf finds the choices for a fraction among the aims of a statistic.
func cellOf(f fraction, aims []aim) chosenCell {
	find := func(end int) int { return slices.Index(aims, aim{f, end}) }
	c := chosenCell{fraction: f, lower: find(-1), at: find(0), upper: find(1)}
	if c.at < 0 {
		c.at = max(c.lower, c.upper)
	}
	return c
}

// ended reports whether the interval of the value has both ends.
func (c chosenCell) ended() bool {
	return c.null || c.fraction.extreme() || c.lower >= 0 && c.upper >= 0
}

// ended reports whether the intervals of all values have both ends.
func (e chosenRank) ended() bool {
	return !slices.ContainsFunc(e.cells, func(c chosenCell) bool { return !c.ended() })
}

// text shows the middle of each bucket. The values of an array are sorted by their fractions.
func (e chosenRank) text(r observation) *string {
	var at []int // cells, in the order of their fractions
	var buckets []int
	for i, c := range e.cells {
		if !c.null {
			at, buckets = append(at, i), append(buckets, r.choice(e.histogram, c.at))
		}
	}
	slices.SortStableFunc(at, func(a, b int) int { return e.cells[a].fraction.compare(e.cells[b].fraction) })
	slices.Sort(buckets)
	texts := make([]*string, len(e.cells))
	for n, i := range at {
		texts[i] = e.valueText(new(big.Rat).SetInt64(e.middle(buckets[n])))
	}
	if !e.array {
		return texts[0]
	}
	s := ArrayText(texts)
	return &s
}

// middle returns the value that is shown for a bucket.
func (e chosenRank) middle(bucket int) int64 {
	first, last := e.shape.Bucket(bucket)
	return first + (last-first)/2
}

// interval returns the interval of a value, in whole buckets: from the first integer of the lowest bucket that was chosen for it to the
// last integer of the highest. The bounds of the values replace ends that were not chosen.
func (e chosenRank) interval(r observation, c chosenCell) (low, high int64) {
	least, most := r.choice(e.histogram, c.at), r.choice(e.histogram, c.at)
	for _, i := range []int{c.lower, c.upper} {
		if i >= 0 {
			least, most = min(least, r.choice(e.histogram, i)), max(most, r.choice(e.histogram, i))
		}
	}
	if c.lower < 0 {
		least = 0
	}
	if c.upper < 0 {
		most = e.shape.Buckets() - 1
	}
	low, _ = e.shape.Bucket(least)
	_, high = e.shape.Bucket(most)
	return low, high
}

// bounded reports whether intervals have the confidence of r: the ends were chosen for one at least as high.
func (e chosenRank) bounded(r observation) bool { return r.alpha >= e.alpha*(1-1e-9) }

// radius is the largest error of the values, or of their ranks if a value has no interval.
func (e chosenRank) radius(r observation) float64 {
	if !e.ended() {
		return e.rankError(r)
	}
	if !e.bounded(r) {
		return math.Inf(1)
	}
	widest := 0.0
	for _, c := range e.cells {
		if !c.null {
			low, high := e.interval(r, c)
			widest = max(widest, e.distance(e.middle(r.choice(e.histogram, c.at)), true, low, high))
		}
	}
	return widest
}

// rankError is the number of rows by which a rank may be off.
func (e chosenRank) rankError(r observation) float64 {
	most := 0.0
	for _, c := range e.cells {
		if !c.null {
			most = max(most, r.choiceError(e.histogram, c.at))
		}
	}
	return most
}

// said implements chosenValue. It is empty if all values have intervals. It names the widths of buckets of more than one value, since the
// error is that of the rank of the bucket.
func (e chosenRank) said() string {
	switch {
	case e.ended():
		return ""
	case e.shape.Doubling() != nil:
		return e.saidOf(1, e.shape.Width())
	}
	return e.saidOf(e.shape.Width(), e.shape.Width())
}

// saidOf is said for values in buckets of least to most integers.
func (e chosenRank) saidOf(least, most int64) string {
	const rank = "rank within %s rows"
	if most == 1 {
		return rank
	}
	of, step := unitOfErrors(e.result), e.stepOfErrors()
	if narrow, wide := of.figure(float64(least)*step), of.figure(float64(most)*step); narrow != wide {
		return rank + ", of buckets " + narrow + " to " + wide + " wide"
	}
	return rank + ", of a bucket " + of.figure(float64(most)*step) + " wide"
}

func (e chosenRank) saidAfter(shown []observation) string {
	var widths []int64
	for _, r := range shown {
		for _, c := range e.cells {
			if !c.null {
				first, last := e.shape.Bucket(r.choice(e.histogram, c.at))
				widths = append(widths, last-first+1)
			}
		}
	}
	if e.ended() || len(widths) == 0 {
		return e.said()
	}
	return e.saidOf(slices.Min(widths), slices.Max(widths))
}

func (e chosenRank) ends(r observation) (low, high float64) {
	if !e.ended() || !e.bounded(r) || e.cells[0].null {
		return math.NaN(), math.NaN()
	}
	return e.inUnits(e.interval(r, e.cells[0]))
}

// rows implements rowed. A minimum or maximum is unknown if there are fewer rows than the choice can be off by.
func (e chosenRank) rows(r observation) (low, high, fewest float64) {
	low, high, fewest = r.rowsOfChoice(e.histogram)
	for _, c := range e.cells {
		if !c.null && c.fraction.extreme() {
			fewest = max(fewest, r.choiceError(e.histogram, c.at)/2)
		}
	}
	return low, high, fewest
}

// RanksOf returns, for each chosen value, a sentence on how many rows by rank its interval ends from it. That number is known before the
// answer except for the limit of a unit, and it says nothing in the unit of the value. Released has the relations of each block.
func RanksOf(p *Plan, released [][]*Released) []string {
	var said []string
	for i, b := range p.Blocks {
		for j, set := range b.Sets {
			for _, of := range set.ranks {
				if s := rankSaid(set, of, released[i][j]); s != "" && !slices.Contains(said, s) {
					said = append(said, s)
				}
			}
		}
	}
	return said
}

// rankSaid is RanksOf for the values of an argument.
func rankSaid(g *GroupingSet, p *rankPlan, released *Released) string {
	if !p.chosen || released == nil || len(released.Rows) == 0 {
		return ""
	}
	var labels []string
	for _, i := range p.outputs {
		o := &g.outputs[i]
		if o.report == "" && o.said() == "" && !slices.Contains(labels, o.label) {
			labels = append(labels, o.label)
		}
	}
	if len(labels) == 0 {
		return ""
	}
	r, most := g.observed(integers{clips: released.Clips}).at(p.alpha), 0.0
	for i, a := range p.aims() {
		if p.endsOf(a.fraction) {
			most = max(most, r.choiceError(p.statistic, i))
		}
	}
	return fmt.Sprintf("The interval of %s ends within %s rows of it, by rank (%s %%).", strings.Join(labels, ", and of "), Grouped(most),
		Number(100*(1-p.alpha)))
}
