package planner

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"dpproxy/estimate"
)

// A chosenRank shows buckets that were chosen: percentiles, MIN or MAX, each with an interval whose ends were chosen beside it, if
// its error was asked for. Without an interval nothing is known but a rank.
type chosenRank struct {
	ranked
	// cells are the values, of which an array shows all.
	cells []chosenCell
	array bool
	shape estimate.Shape
	// alpha is the probability that the ends were chosen for.
	alpha float64
}

// A chosenCell has the choices of one value by their numbers; -1 has none. Of the least and the greatest of values the outer end is their
// bound, and the inner one is what is shown.
type chosenCell struct {
	fraction         fraction // upwards
	null             bool
	lower, at, upper int
}

// cellOf finds the choices of a fraction among the aims of a statistic.
func cellOf(f fraction, aims []aim) chosenCell {
	find := func(end int) int { return slices.Index(aims, aim{f, end}) }
	c := chosenCell{fraction: f, lower: find(-1), at: find(0), upper: find(1)}
	if c.at < 0 {
		c.at = max(c.lower, c.upper)
	}
	return c
}

// ended reports whether the value has the ends of an interval.
func (c chosenCell) ended() bool {
	return c.null || c.fraction.extreme() || c.lower >= 0 && c.upper >= 0
}

// ended reports whether all values have.
func (e chosenRank) ended() bool {
	return !slices.ContainsFunc(e.cells, func(c chosenCell) bool { return !c.ended() })
}

// text shows the middle of each bucket. Values of one array are in the order of their fractions.
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

// middle is the value that a bucket is shown by.
func (e chosenRank) middle(bucket int) int64 {
	first, last := e.shape.Bucket(bucket)
	return first + (last-first)/2
}

// interval is that of one value, of whole buckets: from the first integer of the lowest that was chosen for it to the last of the
// highest, or to the bounds of the values where no end was chosen.
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

// bounded reports whether intervals hold with the confidence that is asked for: their ends were chosen for one.
func (e chosenRank) bounded(r observation) bool { return r.alpha >= e.alpha*(1-1e-9) }

// radius is the widest error of the values, of ranks if a value has no ends.
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

// rankError is by how many rows a value may miss its place.
func (e chosenRank) rankError(r observation) float64 {
	most := 0.0
	for _, c := range e.cells {
		if !c.null {
			most = max(most, r.choiceError(e.histogram, c.at))
		}
	}
	return most
}

// said implements chosenValue: of values without ends alone. It names the widths of buckets too, where one can have several values:
// the rank is that of the value's bucket.
func (e chosenRank) said() string {
	switch {
	case e.ended():
		return ""
	case e.shape.Doubling() != nil:
		return e.saidOf(1, e.shape.Width())
	}
	return e.saidOf(e.shape.Width(), e.shape.Width())
}

// saidOf says it of values whose buckets have so many integers.
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

// rows implements rowed. The least and the greatest of fewer rows than the choice passes over are not known.
func (e chosenRank) rows(r observation) (low, high, fewest float64) {
	low, high, fewest = r.rowsOfChoice(e.histogram)
	for _, c := range e.cells {
		if !c.null && c.fraction.extreme() {
			fewest = max(fewest, r.choiceError(e.histogram, c.at)/2)
		}
	}
	return low, high, fewest
}

// RanksOf tells, for each value that was chosen, within how many rows of it by rank its interval ends: that is known before the answer
// but for the limit of a unit, and of no use in the unit of the value. Released has the relations of each block.
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

// rankSaid tells it of the values of one argument.
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
	return fmt.Sprintf("The interval of %s ends within %s rows of it, by rank (%s %%).", strings.Join(labels, ", and of "), Number(most),
		Number(100*(1-p.alpha)))
}
