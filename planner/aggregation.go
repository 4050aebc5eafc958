package planner

import (
	"slices"

	"dpproxy/dp"
)

// An aggregation is all that is computed from protected rows for a grouping set: the statistics of each partition, and bounds of what a
// unit adds to them.
type aggregation struct {
	partitions
	bounds     unitBounds
	statistics []*statistic
	// Measures bound what a unit adds. There are none if each unit is proved to have one row.
	Measures []*Measure
	// statisticsOf[i] is the index of the statistic of integer i of a partition, and releasedOf[i] that of released integer i.
	statisticsOf, releasedOf []int
	at                       int // of the block
	// Top says which groups are shown; nil if all are.
	Top *Top
	// running is the order in which groups are measured; nil if each is measured by itself.
	running *running
}

// alone reports whether each unit is in at most one partition.
func (a *aggregation) alone() bool { return a.bounds.unique || a.bounds.groups == 1 }

// read lists the statistics that are read: the statistics of the set, and those that measures take norms of.
func (a *aggregation) read() []*statistic {
	all := slices.Clone(a.statistics)
	for _, m := range a.Measures {
		for _, s := range m.bounding {
			if !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	return all
}

// uses returns how many statistics need the integers of a term.
func (a *aggregation) uses(t term) (n int) {
	for _, s := range a.read() {
		if slices.ContainsFunc(s.terms(), t.sameInteger) {
			n++
		}
	}
	return n
}

// reads returns how many statements read the set.
func (a *aggregation) reads() int {
	n, plain := 0, a.Private()
	for _, s := range a.statistics {
		if s.own() != nil {
			n++
		} else {
			plain = true
		}
	}
	if plain {
		n++
	}
	return n
}

// shares returns the shares of the budget of all releases of the set.
func (a *aggregation) shares() int64 {
	n := a.statisticShares() + a.topShares()
	if a.Private() {
		n += oneShare
	}
	return n
}

// statisticShares returns the shares of its statistics.
func (a *aggregation) statisticShares() (n int64) {
	for _, s := range a.statistics {
		n += s.shares
	}
	return n
}

// place assigns places to the integers of statistics.
func (a *aggregation) place() {
	for i, st := range a.statistics {
		st.place, st.first = len(a.statisticsOf), len(a.releasedOf)
		a.statisticsOf = append(a.statisticsOf, slices.Repeat([]int{i}, st.nodes())...)
		a.releasedOf = append(a.releasedOf, slices.Repeat([]int{i}, st.released())...)
	}
}

// A Statistic is one exact aggregate of a grouping set. Its integers begin at Place among the integers of each partition, and its released
// integers at First. A unit changes it by at most Sensitivity; for a histogram, each level by at most Sensitivity, and the nodes of one
// partition by at most LInf in ℓ₁ and in ℓ₂ norm.
type Statistic struct {
	Name        string
	Place       int
	First       int
	Choices     int   // how many of its released integers are chosen by the exponential mechanism
	Levels      []int // the number of integers of each level; only a histogram has several levels
	Sensitivity dp.Sensitivity
}

// Statistics lists the statistics of the grouping set.
func (a *aggregation) Statistics() []Statistic {
	var out []Statistic
	for _, s := range a.statistics {
		out = append(out, Statistic{s.String(), s.place, s.first, s.chosen(), s.shape(), s.sensitivity})
	}
	return out
}

// A part of a grouping set is a vector of statistics that is released together: a measure with all of its statistics, or a statistic
// without a measure.
type part struct {
	measure    *Measure // nil of a statistic alone
	statistics []*statistic
}

// partsOf returns the parts of a set, in the order of their first statistics. They have all statistics of the set.
func partsOf(a *aggregation) (list []part) {
	for i, s := range a.statistics {
		switch m := s.measure; {
		case m == nil:
			list = append(list, part{statistics: []*statistic{s}})
		case m.statistics[0] == i:
			p := part{measure: m}
			for _, j := range m.statistics {
				p.statistics = append(p.statistics, a.statistics[j])
			}
			list = append(list, p)
		}
	}
	if len(list) == 0 && a.Private() { // only which groups there are
		list = append(list, part{})
	}
	return list
}
