package sqlgen

import (
	"hash/fnv"
	"math/rand/v2"
)

// Features of statements with a query for each row of a unit.
const (
	lateralRows   = "LATERAL rows"
	lateralFirst  = "LATERAL first rows"
	lateralGroups = "LATERAL groups"
	lateralTotals = "LATERAL aggregates"
	eachValue     = "value of each unit"
	eachKey       = "value of each key"
	eachRow       = "row looked up"
	eachOf        = "compared with rows of each unit"
	eachOfFirst   = "compared with first rows of each unit"
)

// Each are these features.
var Each = []string{lateralRows, lateralFirst, lateralGroups, lateralTotals, eachValue, eachKey, eachRow, eachOf, eachOfFirst}

// lateral joins a query for each row of a unit.
func (g sourceGenerator) lateral() source {
	u, outer := "p.uid", "people p"
	src := source{cols: tableScope(g.schema.people, "p")}
	if g.chance(50) {
		u, outer, src.cols = "e.uid", "events e", tableScope(g.schema.events, "e")
	}
	src.units = []string{u}
	tie := choose(g, "s.uid = "+u, u+" = s.uid")
	if u == "e.uid" {
		tie += choose(g, "", " AND s.kind = e.kind", " AND e.day = s.day")
	}
	where := " FROM events s WHERE " + tie + choose(g, "", " AND s.n > 1", " AND s.kind <> 'a'")
	used := func(c column) bool { return c.name == "s.day" || c.name == "s.n" || c.name == "s.kind" }
	cols := tableScope(g.schema.events, "s").where(used)
	list := "s.day AS c1, s.n AS c2, s.kind AS c3"
	var query string
	src.feature = choose(g, lateralRows, lateralFirst, lateralGroups, lateralTotals)
	switch src.feature {
	case lateralRows:
		query = "SELECT " + choose(g, "", "DISTINCT ") + list + where
	case lateralFirst:
		by := g.ordering(cols)
		query = "SELECT " + list + where + " ORDER BY " + by.sql +
			choose(g, " LIMIT 1", " LIMIT 2", " LIMIT 1", " FETCH FIRST 2 ROWS ONLY")
		if !by.whole {
			src.feature = Arbitrary + ", " + src.feature
		}
	case lateralGroups:
		query = "SELECT max(s.day) AS c1, count(*) AS c2, s.kind AS c3" + where + " GROUP BY s.kind" +
			choose(g, "", " HAVING count(*) > 1")
	case lateralTotals:
		query = "SELECT max(s.day) AS c1, " + choose(g, "count(*)", "count(s.n) + 1", "coalesce(sum(s.n), 3)", "min(s.n)") +
			" AS c2, bool_or(s.kind = 'a') AS c3" + where
	}
	join := choose(g, ", LATERAL", " CROSS JOIN LATERAL", " JOIN LATERAL", " LEFT JOIN LATERAL")
	src.from = outer + join + " (" + query + ") y"
	if join == " JOIN LATERAL" || join == " LEFT JOIN LATERAL" {
		src.from += " ON true"
	}
	for _, c := range cols {
		c.notNull = false
		switch {
		case c.kind == date:
			c.name = "c1"
		case c.kind == integer:
			c.name = "c2"
		case src.feature == lateralTotals:
			c = column{name: "c3", kind: boolean, typ: "bool"}
		default:
			c.name = "c3"
		}
		if c.name == "c2" && (src.feature == lateralGroups || src.feature == lateralTotals) {
			c.typ, c.low, c.high = "bigint", "0", "10"
		}
		src.cols = append(src.cols, scope{c}.as("y")...)
	}
	return src
}

// value writes a condition with a value of each unit, for some statements: their text is the source of chance, as that of thresholds.
func (g statementGenerator) value(src source, text string) (sql, feature string) {
	h := fnv.New64()
	h.Write([]byte(text))
	d := dice{rand.New(rand.NewPCG(h.Sum64(), 2))}
	if len(src.units) == 0 || !d.chance(8) {
		return "", ""
	}
	u := src.units[0]
	if u == "e.uid" && d.chance(25) {
		return choose(d, g.lookups()...), eachRow
	}
	if u == "e.uid" && d.chance(30) {
		return compared(d), eachOf
	}
	if d.chance(20) {
		return comparedWithFirst(d, u), eachOfFirst
	}
	if u == "e.uid" && !g.schema.composite && d.chance(40) {
		return choose(d,
			"(SELECT count(*) FROM parts s9 WHERE s9.event = e.id) = 0",
			"(SELECT max(s9.qty) FROM parts s9 WHERE s9.event = e.id AND s9.tag = 'x') > 1",
			"(SELECT s9.tag FROM parts s9 WHERE e.id = s9.event ORDER BY s9.pid LIMIT 1) = 'y'",
			"e.id IN (SELECT s9.event FROM parts s9 GROUP BY s9.event HAVING count(*) > 1)",
		), eachKey
	}
	if u == "e.uid" && d.chance(60) {
		return choose(d,
			"e.n >= (SELECT avg(s9.n) FROM events s9 WHERE s9.uid = e.uid)",
			"e.day = (SELECT max(s9.day) FROM events s9 WHERE s9.uid = e.uid AND s9.kind = e.kind)",
			"e.kind = (SELECT s9.kind FROM events s9 WHERE e.uid = s9.uid ORDER BY s9.n DESC, s9.kind LIMIT 1)",
			"(SELECT count(*) FROM events s9 WHERE s9.uid = e.uid AND s9.n = e.n + 1) = 0",
		), eachValue
	}
	return choose(d,
		"(SELECT count(*) FROM events s9 WHERE s9.uid = "+u+" AND s9.kind = 'a') > 1",
		"(SELECT coalesce(sum(s9.n), 0) FROM events s9 WHERE s9.uid = "+u+") < 5",
		"(SELECT max(s9.age) FROM people s9 WHERE s9.uid = "+u+") > 20",
		"(SELECT s9.c + 1 FROM (SELECT uid, count(*) AS c FROM events GROUP BY uid) s9 WHERE s9.uid = "+u+") > 3",
		"(SELECT s9.n FROM (SELECT DISTINCT ON (uid) uid, n FROM events ORDER BY uid, n, kind) s9 WHERE "+u+" = s9.uid AND s9.n > 1) > 2",
		"(SELECT count(*) FROM events s9 WHERE s9.uid = "+u+" AND s9.n > (SELECT avg(a9.n) FROM events a9 WHERE a9.uid = s9.uid)) > 1",
	), eachValue
}

// lookups write conditions on the row that the key of a table tells.
func (g statementGenerator) lookups() []string {
	list := []string{
		"(SELECT s9.fee FROM places s9 WHERE s9.place = e.place) > 1",
		"coalesce((SELECT s9.fee FROM places s9 WHERE e.place = s9.place AND s9.fee < 50), 2) > 1",
		"EXISTS (SELECT 1 FROM places s9 WHERE s9.place = e.place AND s9.fee > e.n)",
		"NOT EXISTS (SELECT * FROM places s9 WHERE s9.place = e.place AND s9.fee > e.n)",
	}
	if g.schema.uniquePeople {
		list = append(list, "(SELECT s9.age FROM people s9 WHERE s9.uid = e.uid) > 20",
			"(SELECT coalesce(s9.age, 7) FROM people s9 WHERE s9.uid = e.uid AND (s9.sex = 'f' OR e.n > 2)) IS NULL")
	}
	if !g.schema.composite {
		list = append(list, "(SELECT s9.kind FROM events s9 WHERE s9.id = e.id AND s9.n > 1) = 'a'")
	}
	return list
}

// compared writes a condition that compares a row with those of its unit.
func compared(d dice) string {
	return choose(d,
		"e.n >= ALL (SELECT s9.n FROM events s9 WHERE s9.uid = e.uid AND s9.kind = e.kind)",
		"e.n < ANY (SELECT s9.n FROM events s9 WHERE e.uid = s9.uid)",
		"e.day = ALL (SELECT s9.day FROM events s9 WHERE s9.uid = e.uid)",
		"'a' NOT IN (SELECT s9.kind FROM events s9 WHERE s9.uid = e.uid)",
		"e.n <> ALL (SELECT s9.n FROM events s9 WHERE s9.uid = e.uid AND s9.kind = 'b')",
		"(e.uid, e.day) IN (SELECT s9.uid, max(s9.day) FROM events s9 GROUP BY s9.uid)",
		"(SELECT s9.kind FROM events s9 WHERE s9.uid = e.uid ORDER BY s9.n, s9.kind LIMIT 1 OFFSET 1) = 'b'",
		"e.kind = (SELECT s9.kind FROM events s9 WHERE s9.uid = e.uid GROUP BY s9.kind ORDER BY count(*) DESC, s9.kind LIMIT 1)",
	)
}

// comparedWithFirst writes a condition that compares a value with the first rows of a unit, in an order that tells which they are.
func comparedWithFirst(d dice, u string) string {
	rows := " FROM events s9 WHERE s9.uid = " + u + choose(d, "", " AND s9.n > 1", " AND s9.kind <> 'a'")
	n := choose(d, " LIMIT 1", " LIMIT 2", " LIMIT 3", " LIMIT 2 OFFSET 1", " FETCH FIRST 2 ROWS WITH TIES")
	first := choose(d, "SELECT s9.n"+rows+" ORDER BY s9.n DESC NULLS LAST"+n, "SELECT s9.n"+rows+" ORDER BY 1 NULLS FIRST"+n,
		"SELECT count(*)"+rows+" GROUP BY s9.kind ORDER BY count(*) DESC"+n)
	x := choose(d, "2", "NULL::int")
	if u == "e.uid" {
		x = choose(d, "e.n", "e.n", "e.place", "2")
	}
	cond := x + choose(d, " IN (", " NOT IN (", " = ANY (", " <> ALL (", " > ANY (", " <= ALL (") + first + ")"
	return choose(d, cond, cond, "NOT ("+cond+")", "("+cond+") IS NULL", "coalesce("+cond+", true)")
}
