package planner

import (
	"math/big"
	"slices"

	"dpproxy/dp"
	"dpproxy/planner/scalar"
	"dpproxy/planner/sqltext"
)

// A rowCount is the number of rows.
type rowCount struct{ single }

// String names the statistic.
func (rowCount) String() string                              { return "count of rows" }
func (rowCount) terms() []term                               { return nil }
func (rowCount) ofOneRow(unitBounds) (dp.Sensitivity, error) { return oneRow.Count() }
func (rowCount) counts() bool                                { return true }
func (rowCount) additive() bool                              { return true }
func (rowCount) adds(rows int64) *big.Int                    { return big.NewInt(rows) }
func (rowCount) ofRows(rowColumns) (string, error)           { return "pg_catalog.count(*)", nil }

// oneRow is the contribution of a unit with one row.
var oneRow = dp.Contribution{Partitions: 1, Rows: 1}

// A unitCount is the number of units with a row.
type unitCount struct{ single }

// String names the statistic.
func (unitCount) String() string                              { return "count of units" }
func (unitCount) terms() []term                               { return nil }
func (unitCount) ofOneRow(unitBounds) (dp.Sensitivity, error) { return oneRow.CountDistinctUnits() }
func (unitCount) counts() bool                                { return true }
func (unitCount) additive() bool                              { return false }
func (unitCount) adds(int64) *big.Int                         { return big.NewInt(1) }
func (unitCount) ofRows(rowColumns) (string, error)           { return "pg_catalog.count(*)", nil }

// A valueCount is the number of rows whose argument is not NULL.
type valueCount struct {
	single
	arg scalar.Expr
}

// String names the statistic.
func (f valueCount) String() string { return "count of " + describe(f.arg) }

func (f valueCount) terms() []term                             { return []term{{arg: f.arg}} }
func (valueCount) ofOneRow(unitBounds) (dp.Sensitivity, error) { return oneRow.Count() }
func (valueCount) counts() bool                                { return true }
func (valueCount) additive() bool                              { return true }
func (valueCount) adds(rows int64) *big.Int                    { return big.NewInt(rows) }

func (f valueCount) ofRows(r rowColumns) (string, error) {
	return "pg_catalog.count(" + r.column(f.arg) + ")", nil
}

// A differentCount is the number of different values of an argument.
type differentCount struct {
	single
	arg scalar.Expr
}

// String names the statistic.
func (f differentCount) String() string {
	return "count of different values of " + describe(f.arg)
}

func (f differentCount) terms() []term                             { return []term{{arg: f.arg}} }
func (differentCount) ofOneRow(unitBounds) (dp.Sensitivity, error) { return oneRow.Count() }
func (differentCount) counts() bool                                { return true }
func (differentCount) additive() bool                              { return false }
func (differentCount) adds(rows int64) *big.Int                    { return big.NewInt(rows) }

func (f differentCount) ofRows(r rowColumns) (string, error) {
	return "pg_catalog.count(DISTINCT " + r.column(f.arg) + ")", nil
}

func (f differentCount) value(r rowColumns) (string, error) { return r.column(f.arg), nil } //nolint:unparam // others can fail
func (differentCount) perValue() bool                       { return false }
func (differentCount) ofGroups() []sqltext.Column {
	return []sqltext.Column{{SQL: countValues, As: sqltext.Statistic(0)}}
}

func (differentCount) total(by, keys []string, from sqltext.Item) *sqltext.Select {
	return &sqltext.Select{Columns: sqltext.Columns("", append(slices.Clip(keys), countValues)...), From: from, GroupBy: by}
}

const countValues = "pg_catalog.count(DISTINCT b)"

func (differentCount) places(row [][]byte) ([]Cell, bool) {
	if len(row) != 1 {
		return nil, false
	}
	return []Cell{{At: 0, Sum: row[0]}}, true
}

// countsAll reports whether a statistic counts all rows, or the units of all rows.
func countsAll(s *statistic) bool {
	switch s.statisticForm.(type) {
	case rowCount, unitCount:
		return s.filter == nil
	}
	return false
}
