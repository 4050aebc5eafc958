package planner

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"dpproxy/dp"
	"dpproxy/estimate"
	"dpproxy/planner/sqltext"
)

// A histogram is the number of rows by a tree over the bounds of an argument. One unit changes
// each of its levels by its rows.
type histogram struct {
	term
	tree estimate.Shape
}

// String names the statistic.
func (f histogram) String() string {
	return fmt.Sprintf("histogram of %s in %d buckets of %d steps of %s",
		describe(f.arg), f.tree.Buckets(), f.tree.Width(), f.values.step.RatString())
}

func (histogram) ofOneRow(unitBounds) (dp.Sensitivity, error) { return oneRow.Count() }
func (f histogram) terms() []term                             { return []term{f.term} }
func (histogram) counts() bool                                { return true }
func (histogram) additive() bool                              { return false }
func (histogram) adds(rows int64) *big.Int                    { return big.NewInt(rows) }

func (f histogram) shape() []int {
	levels := make([]int, f.tree.Levels())
	for l := range levels {
		levels[l] = f.tree.Nodes(l)
	}
	return levels
}

func (histogram) ofRows(rowColumns) (string, error) { return "pg_catalog.count(*)", nil }

// value is the bucket.
func (f histogram) value(r rowColumns) (string, error) {
	x, err := r.integer(f.term)
	return fmt.Sprintf("(%s - (%d)) / %d", x, f.values.low, f.tree.Width()), err
}

func (histogram) perValue() bool { return true }

func (histogram) ofGroups() []sqltext.Column {
	return []sqltext.Column{{SQL: sqltext.Value}, countRows}
}

// total adds the histogram up at each level of its tree.
func (f histogram) total(by, keys []string, from sqltext.Item) *sqltext.Select {
	var divisors []string
	for level := range f.tree.Levels() {
		divisors = append(divisors, fmt.Sprintf("(%d, %d)", level, f.tree.Divisor(level)/f.tree.Width()))
	}
	byValue := slices.Concat(by, []string{sqltext.Value})
	values := &sqltext.Select{
		Columns: append(sqltext.Columns("", byValue...), sqltext.Column{SQL: "pg_catalog.sum(n)", As: sqltext.Count}),
		From:    from, Where: []string{"b IS NOT NULL"}, GroupBy: byValue,
	}
	return &sqltext.Select{
		Columns: append(sqltext.Columns("", keys...), sqltext.Column{SQL: "l.level"},
			sqltext.Column{SQL: "b / l.divisor", As: "node"}, sqltext.Column{SQL: "pg_catalog.sum(n)"}),
		From: &sqltext.Join{
			Left:  &sqltext.Query{Select: values, As: sqltext.Histogram},
			Right: &sqltext.Table{SQL: "(VALUES " + strings.Join(divisors, ", ") + ")", As: sqltext.Levels + "(level, divisor)"},
		},
		GroupBy: slices.Concat(by, []string{"l.level", "node"}),
	}
}

// places reads level, node and count.
func (f histogram) places(row [][]byte) ([]Cell, bool) {
	if len(row) != 3 {
		return nil, false
	}
	level, ok1 := smallInt(row[0])
	node, ok2 := smallInt(row[1])
	if !ok1 || !ok2 || level >= f.tree.Levels() || node >= f.tree.Nodes(level) {
		return nil, false
	}
	at := node
	for l := range level {
		at += f.tree.Nodes(l)
	}
	return []Cell{{At: at, Sum: row[2]}}, true
}

// levelPlaces reads level, node, count and directions.
func (f histogram) levelPlaces(row [][]byte) ([]Cell, bool) {
	if len(row) != 4 {
		return nil, false
	}
	cells, ok := f.places(row[:3])
	if ok {
		cells[0].Directions = row[3]
	}
	return cells, ok
}
