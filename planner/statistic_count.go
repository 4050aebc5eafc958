package planner

import (
	"dpproxy/dp"
	"dpproxy/planner/scalar"
	"dpproxy/planner/sqltext"
)

// A rowCount is the number of rows.
type rowCount struct{ single }

// String names the statistic.
func (rowCount) String() string                                        { return "count of rows" }
func (rowCount) terms() []term                                         { return nil }
func (rowCount) sensitivityFor(c contribution) (dp.Sensitivity, error) { return c.Count() }
func (rowCount) counts() bool                                          { return true }
func (rowCount) additive() bool                                        { return true }
func (rowCount) ofRows(rowColumns) (string, error)                     { return "pg_catalog.count(*)", nil }

// choosesRows: any rows are as good as others where all count.
func (rowCount) choosesRows(c contribution, filtered bool) bool { return filtered && c.maxSum == nil }

// A unitCount is the number of units with a row.
type unitCount struct{ single }

// String names the statistic.
func (unitCount) String() string { return "count of units" }
func (unitCount) terms() []term  { return nil }
func (unitCount) sensitivityFor(c contribution) (dp.Sensitivity, error) {
	return c.CountDistinctUnits()
}
func (unitCount) counts() bool                      { return true }
func (unitCount) additive() bool                    { return false }
func (unitCount) ofRows(rowColumns) (string, error) { return "pg_catalog.count(*)", nil }
func (unitCount) choosesRows(c contribution, filtered bool) bool {
	return filtered && c.maxSum == nil
}

// A valueCount is the number of rows whose argument is not NULL.
type valueCount struct {
	single
	arg scalar.Expr
}

// String names the statistic.
func (f valueCount) String() string { return "count of " + describe(f.arg) }

func (f valueCount) terms() []term                                       { return []term{{arg: f.arg}} }
func (valueCount) sensitivityFor(c contribution) (dp.Sensitivity, error) { return c.Count() }
func (valueCount) counts() bool                                          { return true }
func (valueCount) additive() bool                                        { return true }
func (valueCount) choosesRows(c contribution, _ bool) bool               { return c.maxSum == nil }

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

func (f differentCount) terms() []term                                       { return []term{{arg: f.arg}} }
func (differentCount) sensitivityFor(c contribution) (dp.Sensitivity, error) { return c.Count() }
func (differentCount) counts() bool                                          { return true }
func (differentCount) additive() bool                                        { return false }
func (differentCount) choosesRows(contribution, bool) bool                   { return true }

func (f differentCount) ofRows(r rowColumns) (string, error) {
	return "pg_catalog.count(DISTINCT " + r.column(f.arg) + ")", nil
}

func (f differentCount) value(r rowColumns) (string, error) { return r.column(f.arg), nil } //nolint:unparam // others can fail
func (differentCount) perValue() bool                       { return false }
func (differentCount) ofGroups() []sqltext.Column {
	return []sqltext.Column{{SQL: countValues, As: sqltext.Statistic(0)}}
}

func (differentCount) total(by, keys []string, from sqltext.Item) *sqltext.Select {
	return &sqltext.Select{Columns: sqltext.Columns("", append(keys, countValues)...), From: from, GroupBy: by}
}

const countValues = "pg_catalog.count(DISTINCT b)"

func (differentCount) places(row [][]byte) ([]Cell, bool) {
	if len(row) != 1 {
		return nil, false
	}
	return []Cell{{0, row[0]}}, true
}
