package planner

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"dpproxy/dp"
	"dpproxy/estimate"
	"dpproxy/planner/sqltext"
)

// A histogram is the number of rows in each node of a tree over the bounds of an argument. A unit changes each level by at most the
// number of its rows.
type histogram struct {
	term
	tree estimate.Shape
}

// String names the statistic.
func (f histogram) String() string {
	return fmt.Sprintf("histogram of %s in %s", describe(f.arg), f.grid())
}

// grid describes the buckets.
func (f histogram) grid() string {
	if f.tree.Doubling() != nil {
		return fmt.Sprintf("%d buckets of 1 to %d steps of %s", f.tree.Buckets(), f.tree.Width(), f.values.step.RatString())
	}
	return fmt.Sprintf("%d buckets of %d steps of %s", f.tree.Buckets(), f.tree.Width(), f.values.step.RatString())
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

// cut returns buckets for the values. Buckets of numbers are finer near zero, since most values are small compared with their bounds;
// points in time have no zero.
func (t term) cut(buckets, branching int) (estimate.Shape, error) {
	if t.arg.Type().Dated() {
		return estimate.NewShape(t.values.low, t.values.high, buckets, branching)
	}
	return estimate.NewFineShape(t.values.low, t.values.high, buckets, branching)
}

// distance is the distance of a value from the pivot of unequal buckets; number turns it into a bucket.
func (f histogram) distance(r rowColumns) (string, error) {
	x, err := r.integer(f.term)
	return fmt.Sprintf("CAST(%s AS pg_catalog.int8) - (%d)", x, f.tree.Doubling().Pivot), err
}

// number writes the bucket of a distance, as [estimate.Doubling] numbers them.
func (f histogram) number(distance string) string {
	of := f.tree.Doubling()
	cuts := make([]string, len(of.Cuts))
	for i, c := range of.Cuts {
		cuts[i] = strconv.FormatInt(c, 10)
	}
	reached := fmt.Sprintf("(pg_catalog.width_bucket(%s, CAST('{%s}' AS %s[])) - %d)",
		distance, strings.Join(cuts, ","), int8Type, of.Below)
	return fmt.Sprintf("%d * %s + (%s OPERATOR(pg_catalog.>>) pg_catalog.abs(%s)) - (%d)", of.Buckets, reached, distance, reached, of.First)
}

// value writes the bucket.
func (f histogram) value(r rowColumns) (string, error) {
	x, err := r.integer(f.term)
	return fmt.Sprintf("(%s - (%d)) / %d", x, f.values.low, f.tree.Width()), err
}

func (histogram) perValue() bool { return true }

func (histogram) ofGroups() []sqltext.Column {
	return []sqltext.Column{{SQL: sqltext.Value}, countRows}
}

// A bucketed form is based on a histogram.
type bucketed interface{ buckets() histogram }

func (f histogram) buckets() histogram { return f }

// divisors has a row for each level of the tree, with the number of buckets in each of its nodes.
func (f histogram) divisors() *sqltext.Table {
	var rows []string
	for level := range f.tree.Levels() {
		rows = append(rows, fmt.Sprintf("(%d, %d)", level, f.tree.Divisor(level)))
	}
	return &sqltext.Table{SQL: "(VALUES " + strings.Join(rows, ", ") + ")", As: sqltext.Levels + "(level, divisor)"}
}

// total adds up the histogram at each level of its tree.
func (f histogram) total(by, keys []string, from sqltext.Item) *sqltext.Select {
	byValue := slices.Concat(by, []string{sqltext.Value})
	values := &sqltext.Select{
		Columns: append(sqltext.Columns("", byValue...), sqltext.Column{SQL: "pg_catalog.sum(n)", As: sqltext.Count}),
		From:    from, Where: []string{"b IS NOT NULL"}, GroupBy: byValue,
	}
	return &sqltext.Select{
		Columns: append(sqltext.Columns("", keys...), sqltext.Column{SQL: "l.level"},
			sqltext.Column{SQL: "b / l.divisor", As: "node"}, sqltext.Column{SQL: "pg_catalog.sum(n)"}),
		From:    &sqltext.Listed{Item: &sqltext.Query{Select: values, As: sqltext.Histogram}, List: f.divisors()},
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
