package sqlgen

import (
	"fmt"
	"slices"
	"strings"
)

// Arbitrary is the feature of statements whose answer depends on the order of rows that an ORDER BY does not tell apart:
// Postgres may have another one than the planner.
const Arbitrary = "rows in an arbitrary order"

// Windows are the features of statements with window functions and DISTINCT ON.
var Windows = []string{
	"window row_number", "window rank", "window values", "window totals", "window frame", "window distance", "window twice", "DISTINCT ON",
}

// features are those of the source and of window functions in it.
func (src source) features() []string {
	list := []string{src.feature}
	for _, f := range slices.Concat([]string{Arbitrary}, Windows, Each) {
		if strings.Contains(src.feature, f) {
			list = append(list, f)
		}
	}
	return list
}

// sortable are the columns whose values have an order in which equal ones look the same.
func (s scope) sortable() scope {
	unpadded := func(c column) bool { return !strings.HasPrefix(c.typ, "char(") }
	return s.ofKinds(integer, decimal, text, boolean, date, instant).where(unpadded)
}

// An ordering is the ORDER BY of a window, or of DISTINCT ON.
type ordering struct {
	sql string
	// whole says that rows which it does not tell apart are the same in all columns that are used.
	whole bool
}

// ordering orders by some of the columns, or by all of them.
func (g sourceGenerator) ordering(cols scope) ordering {
	list := make([]string, len(cols))
	for i, n := range g.r.Perm(len(cols)) {
		list[i] = cols[n].name + choose(g, "", "", " DESC", " NULLS FIRST", " DESC NULLS LAST")
	}
	if g.chance(60) {
		return ordering{strings.Join(list, ", "), true}
	}
	return ordering{list[0], len(cols) == 1}
}

// windowed computes window functions over the rows of a unit.
func (g sourceGenerator) windowed(depth int) source {
	src := g.source(depth)
	cols := src.cols.sortable()
	if len(src.units) == 0 || src.keysOnly != nil || len(cols) == 0 {
		return g.derived(depth)
	}
	cols = cols[:min(len(cols), 4)]
	partition := src.units[0]
	if g.chance(30) {
		partition = choose(g, partition+", ", "") + choose(g, cols...).name + ", " + partition
	}
	by := g.ordering(cols)
	first, feature, told := g.windowCall(cols, partition, by)
	features, arbitrary := feature, !told
	items, out := []string{src.units[0] + " AS u", first.name + " AS w1"}, scope{{name: "u", kind: unit}, first.called("w1")}
	if g.chance(30) {
		other := g.ordering(cols)
		second, _, also := g.windowCall(cols, partition, other)
		items, out = append(items, second.name+" AS w2"), append(out, second.called("w2"))
		features, arbitrary = "window twice, "+features, arbitrary || !also || other.sql != by.sql
	}
	for i, c := range cols {
		name := fmt.Sprintf("c%d", i+1)
		items, out = append(items, c.name+" AS "+name), append(out, c.called(name))
	}
	if arbitrary {
		features = Arbitrary + ", " + features
	}
	all, units := named(out)
	sql := "SELECT " + strings.Join(items, ", ") + " FROM " + src.from + src.whereClause(g.maybe(30, cols))
	below := source{with: src.with, from: "(" + sql + ") d", cols: all, units: units, feature: features + ", " + src.feature}
	if g.chance(50) && all[0].kind == integer {
		below.where = "d.w1 " + choose(g, "= 1", "= 2", "<= 3", "> 1")
	}
	return below
}

// windowCall writes a window function; its name is the call. told says that the order of rows which are not told apart does not
// matter.
func (g sourceGenerator) windowCall(cols scope, partition string, by ordering) (call column, feature string, told bool) {
	over := func(frame string) string {
		return " OVER (PARTITION BY " + partition + " ORDER BY " + by.sql + frame + ")"
	}
	c := choose(g, cols...)
	c.notNull, c.values = false, nil
	count := column{kind: integer, typ: "bigint"}
	switch g.r.IntN(7) {
	case 0, 1:
		before := choose(g, "", "", "", "2 - ", "-1 + ") // a number that is computed with is bounded
		return count.called(before + choose(g, "row_number()", "row_number()", "ntile(3)") + over("")), "window row_number", by.whole
	case 2:
		call := choose(g, "rank()", "dense_rank()", "percent_rank()", "cume_dist()")
		if strings.ContainsAny(call, "pu") {
			count = column{kind: float, typ: "float8", low: "0", high: "1"}
		}
		return count.called(call + over("")), "window rank", true
	case 3:
		x := choose(g, "lag("+c.name+")", "lead("+c.name+", 2)",
			"lag("+c.name+", 1, "+c.name+")", "lead("+c.name+", 2, "+c.name+")", "first_value("+c.name+")", "nth_value("+c.name+", 2)")
		frame := ""
		if strings.HasPrefix(x, "nth") {
			frame = " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
		}
		return c.called(x + over(frame)), "window values", by.whole
	case 4:
		frame := choose(g, "", "", " GROUPS UNBOUNDED PRECEDING", " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING")
		t := g.total(cols)
		return t.called(t.name + over(frame)), "window totals", true
	case 5:
		measures := cols.ofKinds(integer, decimal, date, instant).where(column.bounded)
		if len(measures) == 0 {
			break
		}
		by, t := choose(g, measures...), g.total(cols)
		if strings.HasPrefix(t.name, "m") { // min and max are not taken apart
			t = count.called("count(*)")
		}
		frame := " OVER (PARTITION BY " + partition + " ORDER BY " + by.name + choose(g, "", " DESC", " NULLS FIRST") + g.distances(by)
		return t.called(t.name + frame + ")"), "window distance", true
	}
	frame := choose(g, " ROWS UNBOUNDED PRECEDING", " ROWS BETWEEN 2 PRECEDING AND CURRENT ROW",
		" ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING")
	t := g.total(cols)
	return t.called(t.name + over(frame)), "window frame", by.whole
}

// distances is a frame by the distance of values.
func (g sourceGenerator) distances(by column) string {
	one := func() string { return choose(g, "1", "2", "40") }
	if by.kind == date {
		one = func() string { return choose(g, "'1 day'", "interval '2 months'", "'36 hours'") }
	} else if by.kind == instant {
		one = func() string { return choose(g, "'1 microsecond'", "interval '36 hours'", "'500:00:00'") }
	}
	return " RANGE BETWEEN " + choose(g, "UNBOUNDED PRECEDING AND "+one()+" PRECEDING", one()+" PRECEDING AND CURRENT ROW",
		one()+" PRECEDING AND "+one()+" FOLLOWING")
}

// total is an aggregate as a window has it.
func (g sourceGenerator) total(cols scope) column {
	x := "count(*)"
	if g.chance(50) {
		x = choose(g, "sum", "min", "max", "avg") + "(" + g.number(cols, 0) + ")"
	}
	return column{name: x, kind: decimal, low: "0", high: "10"}
}

// firstRows keeps the first row of each unit, or of each unit and more.
func (g sourceGenerator) firstRows(depth int) source {
	src := g.source(depth)
	cols := src.cols.sortable()
	if len(src.units) == 0 || src.keysOnly != nil || len(cols) == 0 {
		return g.derived(depth)
	}
	cols = cols[:min(len(cols), 4)]
	on := src.units[0]
	if g.chance(40) {
		on = choose(g, cols...).name + ", " + on
	}
	by := g.ordering(cols)
	items, out := []string{src.units[0] + " AS u"}, scope{{name: "u", kind: unit}}
	for i, c := range cols {
		name := fmt.Sprintf("c%d", i+1)
		items, out = append(items, c.name+" AS "+name), append(out, c.called(name))
	}
	all, units := named(out)
	feature := "DISTINCT ON, " + src.feature
	if !by.whole {
		feature = Arbitrary + ", " + feature
	}
	sql := "SELECT DISTINCT ON (" + on + ") " + strings.Join(items, ", ") + " FROM " + src.from + src.whereClause(g.maybe(30, cols)) +
		" ORDER BY " + on + ", " + by.sql
	return source{with: src.with, from: "(" + sql + ") d", cols: all, units: units, feature: feature}
}
