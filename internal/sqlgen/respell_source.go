package sqlgen

import (
	"fmt"
	"slices"
	"strings"
)

// A spellingGenerator makes statements over readings, whose equal values can look different.
type spellingGenerator struct{ sourceGenerator }

// respelled makes a FROM clause over readings: the table, joins with it, and sub-selects
// whose rows are told apart by computed values.
func (g spellingGenerator) respelled(depth int) source {
	if depth <= 0 {
		return g.readings()
	}
	return choose(g, g.computed, g.groupedBy, g.groupedBy, g.distinctOf, g.unionOf,
		g.fixedThenSpelled)(g.respelled(depth - g.r.IntN(2) - 1))
}

func (g spellingGenerator) readings() source {
	src := source{from: "readings r", cols: tableScope(g.schema.readings, "r"), units: []string{"r.uid"}, feature: "readings"}
	switch g.r.IntN(5) {
	case 0:
		src.from += form("readings on the unit", " JOIN people p ON p.uid = r.uid")
		src.cols = append(src.cols, tableScope(g.schema.people, "p")...)
	case 1:
		a := choose(g, src.cols.ofKinds(integer, decimal, float, text, date)...)
		b := strings.Replace(choose(g, src.cols.ofKinds(a.kind)...).name, "r.", "q.", 1)
		src.from += form("readings to themselves", fmt.Sprintf(" JOIN readings q ON q.uid = r.uid AND %s = %s", a.name, b))
		src.cols = append(src.cols, tableScope(g.schema.readings, "q")...)
	}
	return src
}

// respeller writes expressions over the columns of a source.
func (g spellingGenerator) respeller(src source) respeller { return respeller{g.dice, src.cols} }

// restricted is a WHERE clause about spellings or about one value, or the source's own.
func (g spellingGenerator) restricted(src source) string {
	r := g.respeller(src)
	switch g.r.IntN(6) {
	case 0, 1:
		return src.whereClause(r.condition())
	case 2:
		return src.whereClause(r.fixing())
	case 3:
		return src.whereClause(r.fixing(), r.fixing())
	}
	return src.whereClause()
}

// targets writes the unit and computed values, with the columns that they become.
func (g spellingGenerator) targets(src source, n int) (list, values []string, cols scope) {
	list = []string{src.units[0] + " AS u"}
	for i := range n {
		x, c := g.respeller(src).value(2)
		c.name = fmt.Sprintf("k%d", i+1)
		list, values, cols = append(list, x+" AS "+c.name), append(values, x), append(cols, c)
	}
	return list, values, cols
}

// below is a sub-select of a form as a source.
func (src source) below(name, sql string, cols scope) source {
	return source{from: form(name, "("+sql+") d"), cols: cols.as("d"), units: []string{"d.u"}, feature: src.feature}
}

func (g spellingGenerator) computed(src source) source {
	list, _, cols := g.targets(src, 1+g.r.IntN(3))
	if c, ok := g.respeller(src).plain(composite); ok && g.chance(25) {
		list = append(list, c.name+" AS c")
		cols = append(cols, column{name: "c", kind: composite, typ: c.typ})
	}
	return src.below("computed columns", "SELECT "+strings.Join(list, ", ")+" FROM "+src.from+g.restricted(src), cols)
}

// groupedBy groups by the unit and computed values.
func (g spellingGenerator) groupedBy(src source) source {
	list, values, cols := g.targets(src, 1+g.r.IntN(2))
	name := "grouped by a computed " + map[kind]string{decimal: "number", text: "text", instant: "time"}[cols[0].kind]
	if g.chance(40) {
		// No float leaves a group, and the spelling of a maximum depends on the order of rows.
		x := g.number(src.cols.where(func(c column) bool { return c.kind != float }), 0)
		list = append(list, choose(g, "count(*)", "round(max("+x+"), 2)", "sum("+x+")")+" AS a")
		cols = append(cols, column{name: "a", kind: decimal, low: "0", high: "10"})
	}
	sql := "SELECT " + strings.Join(list, ", ") + " FROM " + src.from + g.restricted(src) + " GROUP BY " + src.units[0] + ", " +
		strings.Join(values, ", ")
	return src.below(name, sql, cols)
}

func (g spellingGenerator) distinctOf(src source) source {
	list, _, cols := g.targets(src, 1+g.r.IntN(2))
	return src.below("DISTINCT of computed values", "SELECT DISTINCT "+strings.Join(list, ", ")+" FROM "+src.from+g.restricted(src), cols)
}

// fixedThenSpelled leaves one value of computed numbers, and tells rows apart by how they
// look.
func (g spellingGenerator) fixedThenSpelled(src source) source {
	r := g.respeller(src)
	list, values, keys, conds := []string{src.units[0] + " AS u"}, []string{"f.u AS u"}, []string{"f.u"}, []string{}
	var cols scope
	for i := range 1 + g.r.IntN(3) {
		k := fmt.Sprintf("k%d", i+1)
		x := r.twoSpellings()
		if g.chance(50) {
			x = r.number(1)
		}
		spelled := "CAST(f." + k + " AS text)"
		list, keys, values = append(list, x+" AS "+k), append(keys, spelled), append(values, spelled+" AS "+k)
		conds, cols = append(conds, "f."+k+" = 6"), append(cols, column{name: k, kind: text, typ: "text"})
	}
	distinct, group := "DISTINCT ", ""
	if g.chance(50) {
		distinct, group = "", " GROUP BY "+strings.Join(keys, ", ")
	}
	sql := "SELECT " + distinct + strings.Join(values, ", ") + " FROM (SELECT " + strings.Join(list, ", ") + " FROM " + src.from +
		g.restricted(src) +
		") f WHERE " + strings.Join(conds, " AND ") + group
	return src.below("told apart by spelling", sql, cols)
}

// unionOf puts columns of one kind under one name.
func (g spellingGenerator) unionOf(src source) source {
	r := g.respeller(src)
	c := column{name: "k1", kind: choose(g, decimal, decimal, text, date)}
	whole := "1"
	if n, ok := r.plain(integer); ok {
		whole = n.name
	}
	var branches []string
	for i := range 2 + g.r.IntN(2) {
		of, ok := r.plain(c.kind)
		if !ok {
			return src
		}
		k1, k2 := mention(of), whole
		if i > 0 && g.chance(30) {
			k1 = form("a literal in UNION ALL", choose(g, "NULL",
				map[kind]string{decimal: "'6'", text: "'a '", date: "'2020-06-15'"}[c.kind]))
		}
		if i > 0 && g.chance(30) {
			k2 = form("a literal in UNION ALL", choose(g, "NULL", "'6'"))
		}
		branches = append(branches, fmt.Sprintf("SELECT %s AS u, %s AS k1, %s AS k2 FROM %s%s", src.units[0], k1, k2, src.from,
			g.restricted(src)))
	}
	switch c.kind { //nolint:exhaustive // the kinds above
	case decimal:
		c.typ, c.low, c.high = "numeric", "0", "1"
	case date:
		c.typ, c.low, c.high = "date", "2020-01-01", "2020-12-31"
	default:
		c.typ = "text"
	}
	return src.below("UNION ALL of columns", strings.Join(branches, " UNION ALL "), scope{c, {name: "k2", kind: integer, typ: "int"}})
}

func (g spellingGenerator) statement() Statement {
	src := g.respelled(g.r.IntN(4))
	if c, ok := g.respeller(src).plain(composite); ok && g.chance(12) {
		return compositeAlone(src, c)
	}
	st := Statement{Features: src.features()}
	var targets, keys []string
	if g.chance(35) {
		x, _ := g.respeller(src).value(2)
		x = form("a computed key", x)
		if g.chance(40) {
			x = choose(g, src.cols...).name
		}
		keys, targets, st.Outputs = []string{x}, []string{x}, []Output{Key}
	}
	for range 1 + g.r.IntN(2) {
		a := g.aggregate(src)
		targets, st.Outputs = append(targets, a.sql), append(st.Outputs, a.output)
		st.Features = append(st.Features, a.feature)
	}
	sql := "SELECT " + strings.Join(targets, ", ") + " FROM " + src.from + g.restricted(src) + st.groupBy(g.dice, keys)
	sql, of := forms(sql)
	st.SQL, st.Features = sql, append(st.Features, of...)
	return st
}

// compositeAlone makes a statement whose rows differ in a composite alone.
func compositeAlone(src source, c column) Statement {
	name := mention(c)
	null := form("IS NULL of a composite", "count(*) FILTER (WHERE "+name+" IS NULL)")
	sql, of := forms("SELECT " + null + ", count(" + name + "), count(*) FILTER (WHERE " + name + " IS NOT NULL) FROM " +
		form("a composite alone", src.from))
	return Statement{SQL: sql, Features: append(slices.Clip(of), src.feature), Outputs: []Output{Count, Count, Count}}
}

func (g spellingGenerator) aggregate(src source) aggregate {
	r := g.respeller(src)
	a := aggregate{"count(*)", Count, "count"}
	switch g.r.IntN(7) {
	case 0:
		x, _ := r.value(1)
		a = aggregate{"count(DISTINCT " + x + ")", Count, "count of different values"}
	case 1:
		x, _ := r.value(1)
		a = aggregate{"count(" + x + ")", Count, "count of values"}
	case 2:
		a = aggregate{"sum(" + r.number(1) + ")", Sum, "sum"}
	case 3:
		if c, ok := r.plain(composite); ok {
			a = aggregate{"count(" + form("count of a composite", mention(c)) + ")", Count, "count of values"}
		}
	}
	if g.chance(40) {
		a.sql += " FILTER (WHERE " + r.condition() + ")"
		a.feature += " FILTER"
	}
	return a
}
