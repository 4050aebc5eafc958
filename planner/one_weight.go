package planner

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// If one grouping set of a block has all keys of the others, a unit has the same weight in all grouping sets, for each statistic whose
// totals are the sums of their parts. Let N(u) be the norm of the unit's vector over the groups of this finest set, and Nₛ(u) its norm over
// the groups of set s. The weight is
//
//	λ(u) = min(1, C/N(u), min over s of rₛ·C/Nₛ(u)),
//
// with one limit C and public rₛ. So parts add up to totals exactly, and a unit moves set s by at most rₛ·C. The level of a unit is the
// level of the largest of N and Nₛ/rₛ; there is one choice and one tail. Only the finest set is read: the others are sums of its
// partitions.
//
// rₛ is the cube root of the number of groups of the finest set per group of s. Rows that are spread evenly over k groups of the finest set
// have √k times their norm in the total, and few units are in all groups.

// Totals says which integers of a grouping set are sums of integers of the finest set.
type Totals struct {
	// Of is the finest set.
	Of *GroupingSet
	// Partition has, for each partition of the finest set, the partition of this set that contains it.
	Partition []int

	statistics []int
	integers   map[int]int // by place
}

// place fills in the places of the integers, when statistics have theirs.
func (t *Totals) place(g *GroupingSet) {
	if t == nil {
		return
	}
	for _, st := range t.statistics {
		t.integers[g.statistics[st].place] = t.Of.statistics[st].place
	}
}

// Part returns the integer of the finest set that an integer of the set sums; ok is false if the integer is read by itself.
func (t *Totals) Part(integer int) (int, bool) {
	if t == nil {
		return 0, false
	}
	of, ok := t.integers[integer]
	return of, ok
}

// A family is the measures of all grouping sets in which a unit has the same weight; it is nil for a measure by itself.
type family struct {
	finest  *Measure
	coarser []member
}

// A member of a family is the measure of a coarser set.
type member struct {
	*Measure
	weights withFinest
	set     *GroupingSet
}

// oneWeight finds the families of a block.
type oneWeight struct {
	*BlockPlan
	finest     *GroupingSet
	partitions [][]int
	laplace    bool
}

// joinWeights makes the families of the measures of the block, for a kind of noise.
func joinWeights(b *BlockPlan, laplace bool) error {
	at := b.finest()
	if at < 0 || b.Sets[at].size < 1 {
		return nil
	}
	o := &oneWeight{b, b.Sets[at], b.rowsOf(at), laplace}
	if !eachHas(o.partitions) {
		return nil
	}
	for i, m := range o.finest.Measures {
		if !o.alike(m, i) {
			continue
		}
		cuts, err := o.cuts(i)
		if err != nil {
			return err
		}
		if cuts {
			o.join(m)
		}
	}
	return nil
}

// eachHas reports whether each group of the finest set is part of a group of every other set.
func eachHas(rows [][]int) bool {
	return !slices.ContainsFunc(rows, func(of []int) bool { return slices.Contains(of, -1) })
}

// alike reports whether measure i of every set is of a statistic whose totals are the sums of their parts.
func (o *oneWeight) alike(m *Measure, i int) bool {
	return !slices.ContainsFunc(o.Sets, func(g *GroupingSet) bool {
		if len(g.Measures) <= i || !slices.Equal(g.Measures[i].statistics, m.statistics) || !g.Measures[i].weighting.leavesOut() {
			return true
		}
		s := g.statistics[m.statistics[0]]
		return !s.additive() || len(s.shape()) > 1
	})
}

// cuts bounds measure i of each set by itself, and reports whether a unit can be above some limit; otherwise parts add up already.
func (o *oneWeight) cuts(i int) (cuts bool, err error) {
	for _, g := range o.Sets {
		if err := g.Measures[i].bound(&g.aggregation, o.laplace); err != nil {
			return false, tooWide(g.at)
		}
		cuts = cuts || g.Measures[i].cuts()
	}
	return cuts, nil
}

// narrowRoot bounds the rows of a unit in all groups together, such that their square fits an int64.
const narrowRoot = 1 << 31

// join makes a family of the measure of the finest set and the measures of the others.
func (o *oneWeight) join(m *Measure) {
	m.family = &family{finest: m}
	o.finest.bounds.rows = min(o.finest.bounds.rows, narrowRoot/int64(o.finest.size))
	for at, g := range o.Sets {
		if g == o.finest {
			continue
		}
		if g.totals == nil {
			g.totals = &Totals{Of: o.finest, Partition: o.partitions[at], integers: map[int]int{}}
		}
		st := m.statistics[0]
		g.totals.statistics = append(g.totals.statistics, st)
		own := g.Measures[m.at]
		weights := withFinest{finest: m, squareRatio: o.squareRatio(m, g)}
		own.weighting, own.family = weights, m.family
		m.family.coarser = append(m.family.coarser, member{own, weights, g})
	}
}

// squareRatio returns rₛ² of a set. If no unit can be above the limit of the finest set, none is above the limit of any other set.
func (o *oneWeight) squareRatio(m *Measure, g *GroupingSet) int64 {
	groups := o.finest.bounds.groups // a norm of totals is at most √groups times the norm of the parts
	switch {
	case o.laplace:
		return 1 // ℓ₁ norms of totals are not larger than ℓ₁ norms of parts
	case !m.cuts():
		return groups
	}
	parts := float64(o.finest.size) / float64(max(g.size, 1))
	return min(max(int64(math.Round(math.Cbrt(parts*parts))), 1), groups)
}

// sets returns the number of grouping sets.
func (f *family) sets() int64 {
	if f == nil {
		return 1
	}
	return 1 + int64(len(f.coarser))
}

// finestThirds is the part of the release, in thirds, of the finest set; sums of its groups carry its noise too.
const finestThirds = 2

// finestPart returns the part of a price that the finest set has.
func (f *family) finestPart(pico int64) int64 {
	if f == nil {
		return pico
	}
	return pico / 3 * finestThirds
}

// release divides the price of the release of a measure within its family.
func (f *family) release(m *Measure, s share, pico int64) {
	m.budget = s.withPico(f.finestPart(pico))
	if f == nil {
		return
	}
	for _, c := range f.coarser {
		c.budget = s.withPico((pico - f.finestPart(pico)) / int64(len(f.coarser)))
	}
}

// copyLimits copies the limits and the tail of the finest set to the coarser sets.
func (f *family) copyLimits() {
	if f == nil {
		return
	}
	for _, c := range f.coarser {
		c.Norms, c.Tail, c.laplace, c.few = f.finest.Norms, f.finest.Tail, f.finest.laplace, f.finest.few
	}
}

// check returns an error if a coarser set has no noise at a limit.
func (f *family) check(levels []int) error {
	if f == nil {
		return nil
	}
	for _, c := range f.coarser {
		if err := c.checkAt(c.set.statistics[c.statistics[0]], levels); err != nil {
			return err
		}
	}
	return nil
}

// times writes the limits of the other sets as multiples of the finest limit; it is "" if all are equal.
func (f *family) times(b *BlockPlan) string {
	if f == nil {
		return ""
	}
	var all []string
	for _, c := range f.coarser {
		if c.weights.squareRatio > 1 {
			all = append(all, fmt.Sprintf("%s times that in (%s)", Number(c.weights.wider()), strings.Join(c.set.labels(b.block), ", ")))
		}
	}
	if all == nil {
		return ""
	}
	return ", and with " + strings.Join(all, ", ")
}
