package sqlgen

import (
	"fmt"
	"strings"
)

// A source is a FROM clause with the WITH before it and the columns that it offers.
type source struct {
	with     string // WITH ..., or empty
	from     string
	cols     scope
	units    []string // columns that hold the unit
	where    string   // a condition that belongs to the source, or empty
	feature  string
	keysOnly scope // if not nil: only these may be grouped by
}

// whereClause joins the condition of the source and others.
func (src source) whereClause(more ...string) string {
	var conds []string
	for _, c := range append([]string{src.where}, more...) {
		if c != "" {
			conds = append(conds, "("+c+")")
		}
	}
	if len(conds) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(conds, " AND ")
}

// tableScope has the columns of a table that are values: the unit is none.
func tableScope(t *table, alias string) scope {
	return scope(t.columns).as(alias).where(func(c column) bool {
		return c.kind != unit && c.kind != array && !strings.HasSuffix(c.name, "id")
	})
}

// places has the columns of the public table, of which numbers are bounded: their values are public.
func (g sourceGenerator) places(alias string) scope {
	cols := tableScope(g.schema.places, alias)
	for i := range cols {
		if cols[i].kind == integer {
			cols[i].low, cols[i].high = "0", "10"
		}
	}
	return cols
}

// A sourceGenerator makes FROM clauses over a schema.
type sourceGenerator struct {
	exprGenerator
	schema *Schema
}

// source makes a FROM clause.
func (g sourceGenerator) source(depth int) source {
	if depth > 0 && g.chance(45) {
		return choose(g, g.derived, g.common, g.union, g.perUnit, g.windowed, g.firstRows)(depth - 1)
	}
	return choose(g, g.single, g.single, g.withPublic, g.publicOuter, g.publicBelow, g.onUnit, g.alongPath, g.toItself, g.publicFirst,
		g.listed, g.listedFirst, g.lateral, g.unnested, g.full)()
}

func (g sourceGenerator) single() source {
	switch g.r.IntN(3) {
	case 0:
		return source{from: "people p", cols: tableScope(g.schema.people, "p"), units: []string{"p.uid"}, feature: "people"}
	case 1:
		return source{from: "parts x", cols: tableScope(g.schema.parts, "x"), feature: "parts"}
	}
	return source{from: "events e", cols: tableScope(g.schema.events, "e"), units: []string{"e.uid"}, feature: "events"}
}

func (g sourceGenerator) withPublic() source {
	src := source{cols: append(tableScope(g.schema.events, "e"), g.places("l")...), units: []string{"e.uid"}}
	join := choose(g, "JOIN", "LEFT JOIN")
	src.from = "events e " + join + " places l " + choose(g, "ON l.place = e.place", "USING (place)")
	if strings.HasSuffix(src.from, "(place)") {
		src.cols = src.cols.where(func(c column) bool { return c.name != "e.place" && c.name != "l.place" })
	}
	src.feature = "public " + join
	return src
}

// publicOuter keeps rows without a public one: by one join or two, written either way
// round, with a condition in ON and one above.
func (g sourceGenerator) publicOuter() source {
	src := source{
		cols: tableScope(g.schema.events, "e"), units: []string{"e.uid"}, keysOnly: tableScope(g.schema.places, "l"),
		feature: "public outer",
	}
	on := " ON l.place = " + choose(g, "e.place", "e.place", "e.n") +
		choose(g, "", "", " AND l.fee > 1", " AND l.zone = 'hill'", " AND e.n > 1", " AND l.fee < e.n")
	src.from = choose(g, "events e LEFT JOIN places l", "places l RIGHT JOIN events e") + on
	if g.chance(35) {
		src.feature = "public outer twice"
		other := " JOIN places o ON o.place = " + choose(g, "e.n", "e.place + 1", "l.fee", "l.fee + 1") +
			choose(g, "", " AND o.fee > 1", " AND o.zone = l.zone")
		src.from += " " + choose(g, "LEFT", "LEFT", "INNER") + other
		src.cols = append(src.cols, tableScope(g.schema.places, "o")...)
	}
	if g.chance(40) {
		src.where = choose(g, "l.zone IS NULL", "l.fee IS NOT NULL", "l.zone = 'hill'", "l.zone <> 'hill' OR l.zone IS NULL",
			"l.place = e.place", "l.fee <= e.n", "coalesce(l.fee, 7) > 2")
	}
	return src
}

// publicBelow hides such a join in a derived table, which shows the public columns.
func (g sourceGenerator) publicBelow() source {
	src := g.publicOuter()
	inner := "SELECT e.uid AS u, e.day AS c1, e.n AS c2, l.zone AS zone, l.fee AS fee FROM " + src.from + src.whereClause()
	cols := scope{
		{name: "c1", kind: date, typ: "date", low: "2020-01-01", high: "2020-12-31"},
		{name: "c2", kind: integer, low: "0", high: "1"},
		{name: "zone", kind: text, typ: "text"},
		{name: "fee", kind: integer, typ: "int", low: "0", high: "10"},
	}
	below := source{cols: cols.as("d"), units: []string{"d.u"}, feature: src.feature + " below"}
	if g.chance(40) {
		below.where = choose(g, "d.zone IS NULL", "d.fee IS NOT NULL", "d.zone = 'hill'", "d.fee < d.c2")
	}
	below.from = "(" + inner + ") d"
	if g.chance(50) {
		below.with, below.from = "WITH w AS ("+inner+") ", "w d"
	}
	return below
}

func (g sourceGenerator) onUnit() source {
	join := choose(g, "JOIN", "LEFT JOIN", "RIGHT JOIN")
	src := source{
		from: "people p " + join + " events e ON e.uid = p.uid" + choose(g, "", "", " AND e.n > 1"),
		cols: append(tableScope(g.schema.people, "p"), tableScope(g.schema.events, "e")...), units: []string{"p.uid"},
		feature: "unit " + join,
	}
	if join == "JOIN" && g.chance(30) {
		src.from += " AND " + g.semiJoin(src)
		src.feature += ", sub-select in ON"
	}
	return src
}

// full keeps the rows of both sides.
func (g sourceGenerator) full() source {
	on := " ON e.uid = p.uid" + choose(g, "", " AND e.n > 1", " AND p.age > e.n", " AND p.sex = 'f' AND e.kind = 'a'")
	src := source{
		from: choose(g, "people p FULL JOIN events e", "events e FULL JOIN people p") + choose(g, " USING (uid)", on),
		cols: append(tableScope(g.schema.people, "p"), tableScope(g.schema.events, "e")...), units: []string{choose(g, "p.uid", "e.uid")},
		feature: "unit FULL JOIN",
	}
	for i := range src.cols {
		src.cols[i].notNull = false
	}
	if g.chance(40) {
		src.where = choose(g, "e.n IS NULL", "p.sex IS NULL", "e.kind = 'a' OR p.age > 20", "coalesce(e.n, p.age, 3) > 2")
	}
	return src
}

func (g sourceGenerator) alongPath() source {
	join := choose(g, "JOIN", "LEFT JOIN")
	src := source{
		from: "events e " + join + " parts x ON " + g.schema.ofEvent(),
		cols: append(tableScope(g.schema.events, "e"), tableScope(g.schema.parts, "x")...), units: []string{"e.uid"},
		feature: "path " + join,
	}
	if g.chance(30) {
		src.from += " JOIN people p ON p.uid = e.uid"
		src.cols = append(src.cols, tableScope(g.schema.people, "p")...)
	}
	return src
}

func (g sourceGenerator) toItself() source {
	return source{
		from: "events a JOIN events b ON a.uid = b.uid" + choose(g, "", " AND a.day = b.day", " AND a.n < b.n"),
		cols: append(tableScope(g.schema.events, "a"), tableScope(g.schema.events, "b")...), units: []string{"a.uid", "b.uid"},
		feature: "self join",
	}
}

func (g sourceGenerator) publicFirst() source {
	return source{
		from: "places l LEFT JOIN events e ON e.place = l.place" + choose(g, "", " AND e.n > 1", " AND e.kind = 'a'"),
		cols: tableScope(g.schema.events, "e"), units: []string{"e.uid"}, feature: "public first",
		keysOnly: tableScope(g.schema.places, "l"),
	}
}

// columns writes a SELECT list that keeps the unit, if there is one, and some columns
// and expressions, under names of their own.
func (g sourceGenerator) columns(src source, distinct bool) (list string, cols scope) {
	var items []string
	if len(src.units) > 0 {
		items = append(items, src.units[0]+" AS u")
		cols = append(cols, column{name: "u", kind: unit})
	}
	for i := range 2 + g.r.IntN(3) {
		c := choose(g, src.cols...)
		name := fmt.Sprintf("c%d", i+1)
		x := c.name
		if !distinct && g.chance(25) {
			x, c = g.number(src.cols, 1), column{kind: decimal, low: "0", high: "1"}
		}
		items = append(items, x+" AS "+name)
		c.name, c.notNull = name, false
		cols = append(cols, c)
	}
	return strings.Join(items, ", "), cols
}

// query writes a SELECT below a block.
func (g sourceGenerator) query(depth int) (sql string, cols scope, feature string) {
	src := g.source(depth)
	distinct := ""
	if len(src.units) > 0 && g.chance(10) {
		distinct = "DISTINCT "
	}
	list, cols := g.columns(src, distinct != "")
	sql = src.with + "SELECT " + distinct + list + " FROM " + src.from + src.whereClause(g.maybe(30, src.cols))
	return sql, cols, src.feature
}

func named(cols scope) (scope, []string) {
	all := cols.as("d")
	var units []string
	for _, c := range all.ofKinds(unit) {
		units = append(units, c.name)
	}
	return all.where(func(c column) bool { return c.kind != unit }), units
}

func (g sourceGenerator) derived(depth int) source {
	sql, cols, inner := g.query(depth)
	all, units := named(cols)
	return source{from: "(" + sql + ") d", cols: all, units: units, feature: "derived, " + inner}
}

func (g sourceGenerator) common(depth int) source {
	sql, cols, inner := g.query(depth)
	if strings.HasPrefix(sql, "WITH") {
		return g.derived(depth)
	}
	all, units := named(cols)
	return source{with: "WITH w AS (" + sql + ") ", from: "w d", cols: all, units: units, feature: "WITH, " + inner}
}

// union puts rows of two tables, or of one twice, together.
func (g sourceGenerator) union(int) source {
	branch := func() string {
		return choose(g,
			"SELECT uid AS u, day AS c1, n AS c2, kind AS c3 FROM events",
			"SELECT uid, day, n, kind FROM events WHERE n > 2",
			"SELECT uid, born, age::int, sex FROM people",
			"SELECT e.uid, e.day, x.qty, x.tag FROM events e JOIN parts x ON "+g.schema.ofEvent(),
		)
	}
	first := branch()
	for !strings.Contains(first, "AS u") {
		first = branch()
	}
	sql := first + " UNION ALL " + branch()
	if g.chance(25) {
		sql += " UNION ALL " + branch()
	}
	return source{
		from: "(" + sql + ") d", units: []string{"d.u"}, feature: "UNION ALL",
		cols: scope{
			{name: "d.c1", kind: date, typ: "date", low: "2020-01-01", high: "2020-12-31"},
			{name: "d.c2", kind: integer, low: "0", high: "1"},
			{name: "d.c3", kind: text, typ: "text"},
		},
	}
}

// perUnit groups by the unit first.
func (g sourceGenerator) perUnit(depth int) source {
	src := g.source(depth)
	if len(src.units) == 0 || src.keysOnly != nil {
		return g.derived(depth)
	}
	u := src.units[0]
	items, keys := []string{u + " AS u"}, []string{u}
	var cols scope
	if g.chance(40) {
		k := choose(g, src.cols...)
		items, keys = append(items, k.name+" AS k"), append(keys, k.name)
		k.name = "d.k"
		cols = append(cols, k)
	}
	for i := range 1 + g.r.IntN(2) {
		agg := choose(g, "count(*)", "count("+choose(g, src.cols...).name+")", "sum("+g.number(src.cols, 0)+")",
			"max("+g.number(src.cols, 0)+")", "min("+g.number(src.cols, 0)+")", "avg("+g.number(src.cols, 0)+")")
		items = append(items, fmt.Sprintf("%s AS a%d", agg, i+1))
		cols = append(cols, column{name: fmt.Sprintf("d.a%d", i+1), kind: decimal, low: "0", high: "10"})
	}
	having := choose(g, "", "", " HAVING count(*) > 1")
	sql := "SELECT " + strings.Join(items, ", ") + " FROM " + src.from + src.whereClause() + " GROUP BY " + strings.Join(keys, ", ") +
		having
	return source{with: src.with, from: "(" + sql + ") d", cols: cols, units: []string{"d.u"}, feature: "per unit, " + src.feature}
}

// semiJoin writes a condition on the unit by another table.
func (g sourceGenerator) semiJoin(src source) string {
	if len(src.units) == 0 {
		return ""
	}
	u := src.units[0]
	if u == "e.uid" && g.chance(10) {
		return "e.id NOT IN (SELECT place FROM places" + choose(g, "", " WHERE fee > 1") + ")"
	}
	if u == "e.uid" && g.chance(40) {
		return choose(g, "EXISTS", "NOT EXISTS") + " (SELECT 1 FROM events s WHERE s.uid = e.uid AND " +
			choose(g, "s.n > e.n", "s.n < e.n AND s.day >= e.day", "s.day > e.day AND s.day <= e.day + 30", "s.kind <> e.kind") + ")"
	}
	return choose(g,
		u+" IN (SELECT uid FROM events WHERE n > 2)",
		u+" IN (SELECT uid FROM people WHERE age > 20)",
		u+" NOT IN (SELECT uid FROM events WHERE kind = 'a')",
		"EXISTS (SELECT 1 FROM events s WHERE s.uid = "+u+" AND s.kind = 'a')",
		"NOT EXISTS (SELECT 1 FROM people s WHERE s.uid = "+u+" AND s.age < 10)",
		u+" IN (SELECT e.uid FROM events e JOIN parts x ON "+g.schema.ofEvent()+" WHERE x.qty > 1)",
	)
}
