package planner

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"dpproxy/dp"
	"dpproxy/estimate"
	"dpproxy/mechanisms"
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
	return fmt.Sprintf("histogram of %s in %s", describe(f.arg), f.grid())
}

// grid says what the buckets are.
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

// cut returns the buckets of the values: of numbers finer near zero, of which people have some small part of what the
// bounds let them have; points in time have no zero.
func (t term) cut(buckets, branching int) (estimate.Shape, error) {
	if t.arg.Type().Dated() {
		return estimate.NewShape(t.values.low, t.values.high, buckets, branching)
	}
	return estimate.NewFineShape(t.values.low, t.values.high, buckets, branching)
}

// distance is that of a value from the pivot of buckets that are not equal, of which number makes the bucket.
func (f histogram) distance(r rowColumns) (string, error) {
	x, err := r.integer(f.term)
	return fmt.Sprintf("CAST(%s AS pg_catalog.int8) - (%d)", x, f.tree.Doubling().Pivot), err
}

// number writes the bucket of a distance, as [estimate.Doubling] numbers them, in as many steps for each.
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

// value is the bucket.
func (f histogram) value(r rowColumns) (string, error) {
	x, err := r.integer(f.term)
	return fmt.Sprintf("(%s - (%d)) / %d", x, f.values.low, f.tree.Width()), err
}

func (histogram) perValue() bool { return true }

func (histogram) ofGroups() []sqltext.Column {
	return []sqltext.Column{{SQL: sqltext.Value}, countRows}
}

// A bucketed form has the counts of a histogram.
type bucketed interface{ buckets() histogram }

func (f histogram) buckets() histogram { return f }

// divisors has a row for each level of the tree: how many buckets a node of it joins.
func (f histogram) divisors() *sqltext.Table {
	var rows []string
	for level := range f.tree.Levels() {
		rows = append(rows, fmt.Sprintf("(%d, %d)", level, f.tree.Divisor(level)))
	}
	return &sqltext.Table{SQL: "(VALUES " + strings.Join(rows, ", ") + ")", As: sqltext.Levels + "(level, divisor)"}
}

// total adds the histogram up at each level of its tree.
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

// A fraction is a/c in lowest terms, 0 < a < c.
type fraction struct{ a, c int64 }

// leastFraction is the precision of fractions that have no short decimal form.
const leastFraction = 1_000_000

// fractionOf returns the fraction of a number strictly between 0 and 1: that of its decimals, or the nearest
// millionth.
func fractionOf(q float64) fraction {
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(q, 'g', -1, 64))
	if !ok || r.Denom().Cmp(big.NewInt(leastFraction)) > 0 {
		millionths := min(max(math.Round(q*leastFraction), 1), leastFraction-1)
		r = big.NewRat(int64(millionths), leastFraction)
	}
	return fraction{r.Num().Int64(), r.Denom().Int64()}
}

// String writes the fraction exactly.
func (f fraction) String() string { return fmt.Sprintf("%d/%d", f.a, f.c) }

func (f fraction) compare(other fraction) int { return cmp.Compare(f.a*other.c, other.a*f.c) }

// worst is by how much more than its weight a unit changes a score.
func (f fraction) worst() int64 { return max(f.a, f.c-f.a) }

// Quantiles are the buckets of an argument that hold quantiles of it.
type quantiles struct {
	histogram
	fractions []fraction
}

// maxChosen and minChosen bound the buckets of one partition, maxAllChosen those of all, and privateChosen those
// of private groups: four times as many cost ln 4 in the error.
const (
	maxChosen     = 1 << 14
	minChosen     = 1 << 8
	maxAllChosen  = 1 << 16
	privateChosen = 1 << 12
)

// bucketsOf returns the shape of buckets to choose from, in so many public groups, 0 for private ones.
func bucketsOf(t term, groups int) (estimate.Shape, error) {
	buckets := privateChosen
	if groups > 0 {
		buckets = min(maxChosen, max(minChosen, maxAllChosen/groups))
	}
	return t.cut(buckets, max(buckets, 2))
}

// String names the statistic.
func (f quantiles) String() string {
	parts := make([]string, len(f.fractions))
	for i, q := range f.fractions {
		parts[i] = q.String()
	}
	return fmt.Sprintf("choice of a bucket of %s for %s, of %s", describe(f.arg), strings.Join(parts, ", "), f.grid())
}

func (f quantiles) choices() int { return len(f.fractions) }

func (f quantiles) question() string {
	if of := f.tree.Doubling(); of != nil {
		return fmt.Sprintf("of %d buckets from %d, %d of each doubling from %d up to %d: %v",
			f.tree.Buckets(), f.values.low, of.Buckets, of.Pivot, f.tree.Width(), f.fractions)
	}
	return fmt.Sprintf("of %d buckets of %d from %d: %v", f.tree.Buckets(), f.tree.Width(), f.values.low, f.fractions)
}

func (f quantiles) chooser(i int, limit, epsilonPico int64, _ bool) (Chooser, error) {
	return mechanisms.NewQuantile(limit, f.fractions[i].a, f.fractions[i].c, epsilonPico)
}

func (f quantiles) weight() (most int64) {
	for _, q := range f.fractions {
		most = max(most, q.worst())
	}
	return most
}

// Weights of noise: of a median, and the most of any percentile.
const (
	medianWeight = 20
	tailWeight   = 200
)

// noiseWeight grows with the odds that a row is on the longer side: what a choice may miss by follows that side, and of the
// shorter one nothing must be missed. The percentiles of one argument have one limit; it is for all alike.
func (f quantiles) noiseWeight() float64 {
	sum := 0.0
	for _, q := range f.fractions {
		odds := float64(q.worst()) / float64(q.c-q.worst())
		sum += math.Log(math.Min(medianWeight*math.Sqrt(odds), tailWeight))
	}
	return math.Exp(sum / float64(len(f.fractions)))
}

// unlikely is 2·max(a, c−a)·ln(B/α)/ε in scores, of which a row has c.
func (f quantiles) unlikely(i int, epsilon, alpha float64) float64 {
	q := f.fractions[i]
	return 2 * float64(q.worst()) / float64(q.c) * math.Log(float64(f.tree.Buckets())/alpha) / epsilon
}
