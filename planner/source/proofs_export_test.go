package source

import (
	"slices"

	"dpproxy/core"
	"dpproxy/parser/ast"
	"dpproxy/planner/policy"
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

// Levels returns the levels with protected rows of a block; values evaluates constants.
func Levels(model *policy.Model, b *ast.Block, values func([]scalar.Fold) []scalar.Value) ([]Level, error) {
	constants := &scalar.Constants{}
	rows, err := Resolve(&Statement{Model: model, Constants: constants}, b)
	if err != nil {
		return nil, err
	}
	b = rows.Block
	r := rows.Resolver()
	for _, e := range b.Groups {
		if _, err := r.Expr(e); err != nil {
			return nil, err
		}
	}
	for _, a := range b.Aggregates {
		if a.Filter != nil {
			if _, err := r.Boolean(a.Filter); err != nil {
				return nil, err
			}
		}
		for _, x := range append(slices.Clone(a.Args), a.Within) {
			if x == nil {
				continue
			}
			if _, err := r.Expr(x); err != nil {
				return nil, err
			}
		}
	}
	s := rows.Source()
	w := &scalar.Writer{
		Env:   &scalar.Env{Values: values(constants.Folds()), TimeZones: model.TimeZones(), UTF8: true, Before14: model.Before14()},
		Fold:  func(i int) string { return "(" + constants.Folds()[i].SQL + ")" },
		Query: s.WriteQuery,
	}
	return s.levels(w, nil)
}

// levels returns a level, whose rows are grouped by keys, and those below.
func (l *level) levels(w *scalar.Writer, keys []scalar.Expr) ([]Level, error) {
	if !l.Protected() {
		return nil, nil
	}
	from, where, err := written(l.Write(w, testKeys{}))
	if err != nil {
		return nil, err
	}
	out := Level{From: from, Where: where, Unit: l.Unit().SQL, Unique: l.Unique()}
	fixed := l.typ.Closure(nil)
	for _, r := range l.relations {
		for _, c := range r.columns {
			if !l.mentions.seen[c] {
				continue
			}
			x := &scalar.Ref{Column: c}
			out.Columns = append(out.Columns, LevelColumn{
				SQL: c.Read(), Exact: scalar.OneSpelling(x), PerUnit: l.PerUnit(x), Fixed: fixed.Has(col(c)),
				Fixes: l.Fixes([]scalar.Expr{x}),
			})
		}
	}
	_, written, err := w.Grouped(keys)
	if err != nil {
		return nil, err
	}
	for _, sql := range written {
		out.Columns = append(out.Columns, LevelColumn{SQL: sql, Exact: true})
	}
	out.equate(l)
	all := []Level{out}
	for _, r := range l.relations {
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
func (l *Level) equate(of *level) {
	for i, a := range of.mentions.columns {
		for _, b := range of.mentions.columns[:i] {
			at, other := l.place(a), l.place(b)
			each := of.typ.Closure(core.Of(col(a))).Has(col(b)) && of.typ.Closure(core.Of(col(b))).Has(col(a))
			if each && at >= 0 && other >= 0 && at != other {
				l.Equal = append(l.Equal, [2]int{at, other})
			}
		}
	}
}

func (l *Level) place(c *scalar.Column) int {
	return slices.IndexFunc(l.Columns, func(lc LevelColumn) bool { return lc.SQL == c.Read() })
}
