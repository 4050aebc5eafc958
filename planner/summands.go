package planner

import "slices"

// A summand is a column that is added up over units: a statistic, or, if its centre is chosen, the statistic about one of the centres.
type summand struct {
	st     *statistic
	at     int // index among the statistics of the read
	vector int
}

// summands lists the summands of the read.
func (s *readWriter) summands() []summand {
	var out []summand
	for i, st := range s.read.statistics {
		offset, ok := st.statisticForm.(offsetSum)
		if !ok {
			out = append(out, summand{st, i, 0})
			continue
		}
		for j := range offset.centres {
			out = append(out, summand{st, i, j})
		}
	}
	return out
}

// narrowSum bounds numbers that are computed in int8.
const narrowSum = 1 << 62

// counting returns the index of the count by which a measure weighs.
func (s *readWriter) counting(m *Measure) int {
	return slices.IndexFunc(s.read.statistics, func(st *statistic) bool { return st.measure == m && st.counts() })
}

// A normColumn is a norm of a vector of a measure, and the summand whose norm it is.
type normColumn struct {
	m      *Measure
	norm   int
	vector int
	of     summand
}

// normColumns lists the norms that give units their levels.
func (s *readWriter) normColumns() []normColumn {
	var out []normColumn
	all := s.summands()
	for _, m := range s.set.Measures {
		for norm, of := range m.bounding {
			for _, x := range all {
				if x.st == of {
					out = append(out, normColumn{m, norm, x.vector, x})
				}
			}
		}
	}
	return out
}

// A norm is a normColumn of a read.
type norm struct {
	s  *readWriter
	of normColumn
}

// coordinate reports whether the norm is the absolute value of a number: there are no groups, or it is of each group by itself.
func (n norm) coordinate() bool { return len(n.s.set.keys) == 0 || n.of.m.byGroup.holds() }

// squared reports whether the norm is the root of a sum of squares.
func (n norm) squared() bool { return !n.coordinate() && !n.of.m.laplace }

// vectors lists, for each vector of a measure, the norms by which it is weighted; its own norm is the last.
func (s *readWriter) vectors(norms []normColumn) [][]int {
	var out [][]int
	for i, n := range norms {
		if n.norm < len(n.m.Norms)-1 {
			continue
		}
		var levels []int
		for j, o := range norms[:i] {
			if o.m == n.m && o.norm < n.norm {
				levels = append(levels, j)
			}
		}
		out = append(out, append(slices.Clip(levels), i))
	}
	return out
}

// describe records in the read how its rows are parsed.
func (s *readWriter) describe() {
	for _, n := range s.normColumns() {
		s.read.levels = append(s.read.levels, levelColumn{n.m, n.norm, n.vector})
	}
	for _, x := range s.summands() {
		column := sumColumn{place: x.st.place, vector: x.vector, measure: x.st.measure}
		column.bounds = !slices.Contains(s.set.statistics, x.st)
		_, about := x.st.statisticForm.(offsetSum)
		column.shared = !about
		s.read.sums = append(s.read.sums, column)
	}
	if s.read.levels == nil {
		s.read.levels = []levelColumn{}
	}
}
