package planner

import (
	"slices"

	"dpproxy/planner/scalar"
)

// A Level is what is proved of the rows of one level of a block, and how to read them: of
// the block itself, or of a branch of a derived table.
type Level struct {
	From, Where, Unit string
	// Unique says that a unit has one row.
	Unique  bool
	Columns []LevelColumn
	// Equal are pairs of columns, each of which tells the other.
	Equal [][2]int
}

// A LevelColumn is a column of a level, or what its rows are grouped by.
type LevelColumn struct {
	SQL string
	// Exact says that equal values are identical; PerUnit that all rows of a unit have one,
	// Fixed that all rows have one, Fixes that a unit has one row with each.
	Exact, PerUnit, Fixed, Fixes bool
}

// Levels returns the levels with protected rows of the query's blocks, for constants with
// the given values.
func (q *Query) Levels(values []scalar.Value) ([]Level, error) {
	w := &scalar.Writer{
		Env:  &scalar.Env{Values: values, TimeZones: q.cat.TimeZones(), UTF8: true, Before14: q.cat.Before14()},
		Fold: func(i int) string { return "(" + q.Folds()[i].SQL + ")" },
	}
	var all []Level
	for _, b := range q.blocks {
		below, err := b.source.levels(w, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, below...)
	}
	return all, nil
}

// levels returns a level, whose rows are grouped by keys, and those below.
func (s *source) levels(w *scalar.Writer, keys []scalar.Expr) ([]Level, error) {
	if !s.protected() {
		return nil, nil
	}
	from, where, err := s.write(w, testKeys{})
	if err != nil {
		return nil, err
	}
	l := Level{From: from, Where: where, Unit: s.unit().SQL, Unique: s.unique()}
	fixed := s.facts.closure(nil)
	for _, r := range s.relations {
		for _, c := range r.columns {
			if !r.mentioned[c] {
				continue
			}
			x := &scalar.Ref{Column: c}
			l.Columns = append(l.Columns, LevelColumn{c.Read(), scalar.OneSpelling(x), s.perUnit(x), fixed.has(c), s.fixes([]scalar.Expr{x})})
		}
	}
	_, written, err := w.Grouped(keys)
	if err != nil {
		return nil, err
	}
	for _, sql := range written {
		l.Columns = append(l.Columns, LevelColumn{SQL: sql, Exact: true})
	}
	l.equate(s.facts.equal)
	all := []Level{l}
	for _, r := range s.relations {
		for _, b := range r.branches() {
			below, err := b.source.levels(w, b.keys)
			if err != nil {
				return nil, err
			}
			all = append(all, below...)
		}
	}
	return all, nil
}

// equate adds the pairs of columns that the level has.
func (l *Level) equate(pairs []pair) {
	place := func(c *scalar.Column) int {
		return slices.IndexFunc(l.Columns, func(lc LevelColumn) bool { return lc.SQL == c.Read() })
	}
	for _, p := range pairs {
		if a, b := place(p.a), place(p.b); a >= 0 && b >= 0 {
			l.Equal = append(l.Equal, [2]int{a, b})
		}
	}
}
