package planner

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"dpproxy/contribution"
	"dpproxy/mechanisms"
)

// A Measure is a vector over the groups of a grouping set, of one statistic or of several, in which
// every unit counts with one weight: such that each of its norms is within a limit
// ([contribution]).
type Measure struct {
	Norms
	// Vectors is how many vectors there are to choose from: one, or of an average one for each
	// centre. The last norm is of each of them, the others are of all.
	Vectors int
	// Tail states how many units are above the limits; nil where keys and public tables say that none is.
	Tail *contribution.Tail

	weighting weighting
	at        int // among the measures of the set
	// statistics are the indices of those of the set.
	statistics []int
	// bounding are the statistics that norms are of. Only those that are among statistics too are released.
	bounding []*statistic
	keyed    bool  // there are groups
	shares   int64 // of all its statistics
	budget   share // of these together for the release
	laplace  bool  // norms are ℓ₁, not ℓ₂
	few      bool  // there are too few units to choose a limit
	byGroup  byGroup
	family   *family // the measures in which units have the weights of this one
}

// A Clip is where the units of a measure were cut: all of it was released.
type Clip struct {
	Vector int
	Levels []int // the limit of each norm
	// Tail has the numbers of units that a [contribution.Tail] releases; nil without one.
	Tail []*big.Int
}

// question names all that the limits depend on.
func (m *Measure) question() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d", m.Vectors)
	for _, n := range m.Norms {
		fmt.Fprintf(&b, " %v of %v at %v", n.Grid, n.Choices, n.Fixed)
		if n.Choice != nil {
			fmt.Fprintf(&b, " %v", n.Choice)
		}
		if n.Again != nil {
			fmt.Fprintf(&b, ", or else %v", n.Again)
		}
	}
	if m.Tail != nil {
		fmt.Fprintf(&b, " %v", m.Tail)
	}
	if w, shared := m.weighting.(withFinest); shared {
		fmt.Fprintf(&b, " of the finest groups, times √%d", w.squareRatio)
	}
	return b.String()
}

// At is the place of the measure among those of its grouping set.
func (m *Measure) At() int { return m.at }

// Shared says that the limits are those of the same measure of the finest grouping set.
func (m *Measure) Shared() bool {
	_, ok := m.weighting.(withFinest)
	return ok
}

// spreads reports whether a norm of a unit is over several numbers: over the groups, or the nodes of one statistic.
func (g *GroupingSet) spreads() bool {
	return slices.ContainsFunc(g.Measures, func(m *Measure) bool {
		return m.keyed || slices.ContainsFunc(m.statistics, func(i int) bool { return g.statistics[i].nodes() > 1 })
	})
}

// sameWeights reports whether units have the same weights in two measures, that of a statistic alone
// if it is the same.
func (m *Measure) sameWeights(o *Measure) bool {
	if m == nil || o == nil || m == o {
		return m == o
	}
	return m.Vectors == o.Vectors && m.weighting.same(o.weighting)
}

// byLevels reports whether the weight of a unit is by its levels alone, of several norms.
func (m *Measure) byLevels() bool { return m.weighting.norms() > 1 }

// Integers is how many integers of each partition are released.
func (g *GroupingSet) Integers() int { return len(g.releasedOf) }

// Places is how many integers each partition has.
func (g *GroupingSet) Places() int { return len(g.statisticsOf) }

// PlaceOf returns the place of the integer that released integer i is with noise.
func (g *GroupingSet) PlaceOf(i int) int {
	s := g.statistics[g.releasedOf[i]]
	return s.place + i - s.first
}

// MeasureOf returns the measure that the integer at a place of a partition belongs to; nil where a proof leaves
// each unit one row.
func (g *GroupingSet) MeasureOf(i int) *Measure { return g.statistics[g.statisticsOf[i]].measure }

// Bounded returns the integer at place i of a partition with every unit cut to its limits, on the lattice of
// [GroupingSet.Noise].
func (g *GroupingSet) Bounded(i int, clips []Clip, cells *contribution.Cells) mechanisms.Private {
	s := g.statistics[g.statisticsOf[i]]
	m := s.measure
	if len(m.Norms) > 1 {
		return cells.Weighted(m.grids(), clips[m.at].Levels, m.fraction(s))
	}
	return cells.Clipped(m.Norms[0].Grid, clips[m.at].Levels[0], m.fraction(s))
}

// TailUnits returns the numbers of units that the tail of the measure is of, at the limits of a clip. Of two norms
// one whose limit is 1 has nobody near it: all units that it does not cut would be.
func (m *Measure) TailUnits(c Clip, units *contribution.Cells) [contribution.TailNumbers]mechanisms.Private {
	grids := m.grids()
	for i, n := range m.Norms {
		if !n.cuts || len(m.Norms) > 1 && c.Levels[i] == 0 && n.Grid.Below() == 1 {
			grids[i] = contribution.Grid{}
		}
	}
	return units.Tail(grids, c.Levels)
}

// Noise returns that of released integer i of a partition, without a mechanism where it is one of
// [GroupingSet.Choices]. Clips are nil where there are no measures.
func (g *GroupingSet) Noise(i int, clips []Clip) contribution.Noise {
	s := g.statistics[g.releasedOf[i]]
	if s.choosing() != nil {
		return contribution.Noise{}
	}
	level, at := 0, i-s.first
	for shape := s.shape(); at >= shape[level]; level++ {
		at -= shape[level]
	}
	return s.noiseAt(level, clips)
}

// Choices lists those of the grouping set, where units are cut at limits.
func (g *GroupingSet) Choices(clips []Clip) []Choices {
	var out []Choices
	for _, s := range g.statistics {
		if s.choosing() != nil {
			out = append(out, Choices{s.place, s.nodes(), s.first, s.noiseAt(0, clips), s.choosersAt(clips)})
		}
	}
	return out
}
