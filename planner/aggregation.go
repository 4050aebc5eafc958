package planner

import (
	"slices"

	"dpproxy/dp"
)

// An aggregation is all that is computed of protected rows for one grouping set: statistics of
// each partition, to which a unit contributes so much.
type aggregation struct {
	partitions
	bounds     unitBounds
	statistics []*statistic
	// Measures bound what a unit adds; none where a proof leaves it one row.
	Measures []*Measure
	// statisticsOf has the index of the statistic of each integer of a partition, releasedOf that of each
	// integer that is released.
	statisticsOf, releasedOf []int
	at                       int // of the block
	// Top says which groups are shown; nil if all are.
	Top *Top
}

// alone reports whether a unit is in one partition at most.
func (a *aggregation) alone() bool { return a.bounds.unique || a.bounds.groups == 1 }

// read lists the statistics that are read: those of the set, and those that bound them.
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

// shares returns how many shares of a budget its releases have together.
func (a *aggregation) shares() int64 {
	n := a.statisticShares() + a.topShares()
	if a.Private() {
		n += oneShare
	}
	return n
}

// statisticShares is how many of these its statistics have.
func (a *aggregation) statisticShares() (n int64) {
	for _, s := range a.statistics {
		n += s.shares
	}
	return n
}

// place gives the integers of statistics their places.
func (a *aggregation) place() {
	for i, st := range a.statistics {
		st.place, st.first = len(a.statisticsOf), len(a.releasedOf)
		a.statisticsOf = append(a.statisticsOf, slices.Repeat([]int{i}, st.nodes())...)
		a.releasedOf = append(a.releasedOf, slices.Repeat([]int{i}, st.released())...)
	}
}

// A Statistic is one exact aggregate of a grouping set, from Place on among the integers of each
// partition, and from First on among the released ones, which one unit can change by the sensitivity. Of a histogram, that is the
// sensitivity of each level: in ℓ₁ and ℓ₂ norm over the nodes of one partition, LInf.
type Statistic struct {
	Name        string
	Place       int
	First       int
	Choices     int   // how many of its integers are chosen; none where all are released
	Levels      []int // how many integers each level has; one level unless it is a histogram
	Sensitivity dp.Sensitivity
}

// Statistics lists those of the grouping set.
func (a *aggregation) Statistics() []Statistic {
	var out []Statistic
	for _, s := range a.statistics {
		out = append(out, Statistic{s.String(), s.place, s.first, s.chosen(), s.shape(), s.sensitivity})
	}
	return out
}
