package planner

import (
	"slices"

	"dpproxy/catalog"
)

// scanned returns the relation whose rows are all that the level reads, or nil: a join, a
// derived table, a path to the unit and a sub-select read more.
func (s *source) scanned() *relation {
	r, ok := s.root.(*relation)
	if !ok || r.rows != nil || r.cut > 0 || len(r.hops) > 0 || len(s.semijoins) > 0 {
		return nil
	}
	return r
}

// unitIndexed reports whether an index finds the rows of one unit. It is known from the
// schema alone, as are all choices among statements: what the rows are must not decide.
func (s *source) unitIndexed() bool { return s.unitIndex(nil) }

// unitOrdered reports whether an index alone has all that the level uses, unit by unit. If
// the rows had to be looked up as well, one after the other, a sort would be faster.
func (s *source) unitOrdered() bool {
	var names []string
	for _, c := range s.used() {
		names = append(names, c.Name)
	}
	return s.unitIndex(names)
}

// unitIndex reports whether an index of the only table begins with the unit and has the
// columns. Domains are cast, and partitions have indexes of their own: both are left out.
func (s *source) unitIndex(columns []string) bool {
	r := s.scanned()
	if r == nil || r.table.source.Kind != 'r' {
		return false
	}
	unit := r.table.unit.column
	if c, _ := r.table.source.Column(unit); c.Type.Kind == 'd' {
		return false
	}
	return slices.ContainsFunc(r.table.source.Sorted, func(i catalog.Index) bool {
		return i.Columns[0] == unit && !slices.ContainsFunc(columns, func(c string) bool { return !slices.Contains(i.Columns, c) })
	})
}
