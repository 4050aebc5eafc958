package planner

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"dpproxy/contribution"
	"dpproxy/mechanisms"
)

// A Measure is a vector over the groups of a grouping set, of one or more statistics in which every unit counts with the same weight, such
// that each norm of the measure is within its limit ([contribution]).
type Measure struct {
	Norms
	// Vectors is the number of vectors to choose from: one, or, for an average, one for each centre. The last norm is of each vector, the
	// others are of all.
	Vectors int
	// Tail releases how many units are above the limits; nil if keys and public tables prove that none is.
	Tail *contribution.Tail

	weighting weighting
	at        int // the index among the measures of the set
	// statistics are the indices of its statistics in the set.
	statistics []int
	// bounding are the statistics that norms are taken of. They are released only if they are among statistics too.
	bounding []*statistic
	keyed    bool  // there are groups
	shares   int64 // of all its statistics
	budget   share // of the release of all its statistics together
	laplace  bool  // norms are ℓ₁, not ℓ₂
	few      bool  // there are too few units to choose a limit
	byGroup  byGroup
	family   *family // the measures in which units have the weights of this measure
}

// A Clip is where the units of a measure were cut. All of it was released.
type Clip struct {
	Vector int
	Levels []int // the level of the limit of each norm
	// Tail has the numbers of units that a [contribution.Tail] released; nil if there is none.
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

// At returns the index of the measure among those of its grouping set.
func (m *Measure) At() int { return m.at }

// Shared reports whether the measure shares the limits of the same measure of the finest grouping set.
func (m *Measure) Shared() bool {
	_, ok := m.weighting.(withFinest)
	return ok
}

// spreads reports whether some norm is over several numbers: over groups, or over the nodes of a statistic.
func (g *GroupingSet) spreads() bool {
	return slices.ContainsFunc(g.Measures, func(m *Measure) bool {
		return m.keyed || slices.ContainsFunc(m.statistics, func(i int) bool { return g.statistics[i].nodes() > 1 })
	})
}

// sameWeights reports whether units have the same weights in two measures. It is true of any two measures of a single statistic each:
// statistic.equal compares the statistics.
func (m *Measure) sameWeights(o *Measure) bool {
	if m == nil || o == nil || m == o {
		return m == o
	}
	return m.Vectors == o.Vectors && m.weighting.same(o.weighting)
}

// byLevels reports whether the weight of a unit follows from its levels of several norms alone.
func (m *Measure) byLevels() bool { return m.weighting.norms() > 1 }

// Integers returns the number of released integers of each partition.
func (g *GroupingSet) Integers() int { return len(g.releasedOf) }

// Places returns the number of integers of each partition.
func (g *GroupingSet) Places() int { return len(g.statisticsOf) }

// PlaceOf returns the place of the integer to which noise is added for released integer i.
func (g *GroupingSet) PlaceOf(i int) int {
	s := g.statistics[g.releasedOf[i]]
	return s.place + i - s.first
}

// MeasureOf returns the measure of the integer at a place of a partition; nil if each unit is proved to have one row.
func (g *GroupingSet) MeasureOf(i int) *Measure { return g.statistics[g.statisticsOf[i]].measure }

// Bounded returns the integer at place i of a partition with every unit cut to its limits, on the lattice of [GroupingSet.Noise].
func (g *GroupingSet) Bounded(i int, clips []Clip, cells *contribution.Cells) mechanisms.Private {
	s := g.statistics[g.statisticsOf[i]]
	m := s.measure
	if len(m.Norms) > 1 {
		return cells.Weighted(m.grids(), clips[m.at].Levels, m.fraction(s))
	}
	return cells.Clipped(m.Norms[0].Grid, clips[m.at].Levels[0], m.fraction(s))
}

// TailUnits returns the numbers of units for the tail of the measure, at the limits of a clip. If there are two norms, a norm whose limit
// is 1 is ignored: every unit within it would be near it.
func (m *Measure) TailUnits(c Clip, units *contribution.Cells) [contribution.TailNumbers]mechanisms.Private {
	grids := m.grids()
	for i, n := range m.Norms {
		if !n.cuts || len(m.Norms) > 1 && c.Levels[i] == 0 && n.Grid.Below() == 1 {
			grids[i] = contribution.Grid{}
		}
	}
	return units.Tail(grids, c.Levels)
}

// Noise returns the noise of released integer i of a partition, without a mechanism if the integer belongs to [GroupingSet.Choices]. clips
// is nil if there are no measures.
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

// Choices lists the choices of the grouping set, if units are cut at the limits of clips.
func (g *GroupingSet) Choices(clips []Clip) []Choices {
	var out []Choices
	for _, s := range g.statistics {
		if s.choosing() != nil {
			out = append(out, Choices{s.place, s.nodes(), s.first, s.noiseAt(0, clips), s.choosersAt(clips)})
		}
	}
	return out
}
