package sqlgen

import (
	"strconv"
	"strings"
)

// A tableGenerator makes the tables of a schema, without rows.
type tableGenerator struct {
	dice
	honest bool
	// never says that columns which could be NULL in some schemas are not in this one.
	never bool
	// amount is a number, day a date, with their bounds.
	amount, day column
}

func newTableGenerator(d dice, p Profile) tableGenerator {
	g := tableGenerator{dice: d, honest: p == Honest}
	typ := choose(g, "numeric(10,2)", "numeric", "float8", "float4", "int", "bigint", "smallint")
	if g.honest && strings.HasPrefix(typ, "float") {
		typ = "numeric(10,2)" // sums of floats have no one answer
	}
	g.amount = column{kind: amountKind(typ), typ: typ}
	g.amount.low, g.amount.high = g.numberBounds()
	g.day = column{kind: date, typ: "date", low: "2020-01-01", high: choose(g, "2020-12-31", "2021-06-30", "2022-01-01")}
	g.never = g.honest || g.chance(50)
	return g
}

// numberBounds are on both sides of zero, on one, far and near.
func (g tableGenerator) numberBounds() (low, high string) {
	b := choose(g, [2]string{"0", "100"}, [2]string{"-50", "200"}, [2]string{"-300", "-100"}, [2]string{"10", "11"},
		[2]string{"0", "20000"})
	return b[0], b[1]
}

func amountKind(typ string) kind {
	switch {
	case strings.HasPrefix(typ, "numeric"):
		return decimal
	case strings.HasPrefix(typ, "float"):
		return float
	}
	return integer
}

// called returns the column under a name.
func (c column) called(name string) column {
	c.name = name
	return c
}

func (g tableGenerator) people(unitType string, unique bool) *table {
	return &table{name: "people", columns: []column{
		{name: "uid", kind: unit, typ: unitType, notNull: unique},
		{name: "sex", kind: text, typ: choose(g, "text", "varchar(5)", "char(1)"), notNull: g.never, values: []string{"f", "m"}},
		{name: "region", kind: text, typ: choose(g, "text", "varchar(10)"), values: []string{"east", "north", "south"}},
		{name: "age", kind: integer, typ: choose(g, "int", "smallint", "bigint"), notNull: g.never, low: "0", high: choose(g, "110", "99")},
		g.amount.called("income"),
		g.day.called("born"),
		{name: "smoker", kind: boolean, typ: "bool", notNull: g.chance(50), values: []string{"true", "false"}},
		{name: "mood", kind: mood, typ: "mood", values: []string{"sad", "ok", "happy"}},
		{name: "name", kind: text, typ: "text"},
	}}
}

func (g tableGenerator) events(unitType string) *table {
	day := g.day.called("day")
	day.notNull = g.never
	return &table{name: "events", columns: []column{
		{name: "id", kind: integer, typ: "int", notNull: true},
		{name: "uid", kind: unit, typ: unitType},
		{name: "place", kind: integer, typ: "int"},
		{name: "kind", kind: text, typ: choose(g, "text", `text COLLATE "C"`), notNull: g.never, values: []string{"a", "b", "c", "d"}},
		day,
		g.instant(),
		g.amount.called("amount"),
		g.score(),
		{name: "n", kind: integer, typ: "int", low: choose(g, "0", "-5"), high: choose(g, "20", "7")},
		{name: "note", kind: text, typ: "text"},
		{name: "level", kind: decimal, typ: "numeric"},
		{name: "tags", kind: array, typ: "text[]"},
		{name: "marks", kind: array, typ: "int[]"},
	}}
}

// instant is a column of points in time. Honest ones have no time zone.
func (g tableGenerator) instant() column {
	typ := choose(g, "timestamp", "timestamptz")
	if g.honest {
		typ = "timestamp"
	}
	return column{name: "at", kind: instant, typ: typ, low: g.day.low + "T00:00:00Z", high: g.day.high + "T00:00:00Z"}
}

// score is a column of fractions. Honest ones are exact.
func (g tableGenerator) score() column {
	c := column{name: "score", kind: float, typ: "float8", low: choose(g, "0", "-1.5"), high: choose(g, "10", "2.25")}
	if g.honest {
		c.kind, c.typ = decimal, "numeric(6,3)"
	}
	return c
}

func (g tableGenerator) parts() *table {
	return &table{name: "parts", columns: []column{
		{name: "pid", kind: integer, typ: "int", notNull: true},
		{name: "event", kind: integer, typ: "int", notNull: g.chance(50)},
		{name: "tag", kind: text, typ: "text", values: []string{"x", "y", "z"}},
		{name: "qty", kind: integer, typ: "int", low: "1", high: choose(g, "9", "3", "200")},
		{name: "price", kind: decimal, typ: "numeric(8,2)", low: "0", high: choose(g, "100", "9.5")},
	}}
}

func (g tableGenerator) places() *table {
	return &table{name: "places", columns: []column{
		{name: "place", kind: integer, typ: "int", notNull: true},
		{name: "zone", kind: text, typ: "text", notNull: g.chance(50)},
		{name: "fee", kind: integer, typ: "int", notNull: true},
	}}
}

// indexes are some that have rows of one unit together, and others.
func (g tableGenerator) indexes() (list []string) {
	for _, index := range []string{
		"events (uid)", "events (uid) INCLUDE (kind, day, amount, n)", "events (kind, n)", "parts (event)", "events (amount)",
		"readings (uid)", "readings (n2)",
	} {
		if g.chance(50) {
			list = append(list, index)
		}
	}
	return list
}

// prior is the column of events that refers to another of them. Its name ends as those of columns that no statement computes with.
const prior = "priorid"

// sites are a reference table, without a choice of its own: other schemas stay as they are.
func sites() *table {
	t := &table{name: "sites", columns: []column{
		{name: site, kind: integer, typ: "int", notNull: true},
		{name: "area", kind: text, typ: "text"},
		{name: "rank", kind: integer, typ: "int", low: "0", high: "9"},
		{name: near, kind: integer, typ: "int"},
	}}
	for i := 1; i <= manySites; i++ {
		area, other := quote([]string{"a", "b", "c"}[i%3]), strconv.Itoa(i%manySites+1)
		if i%4 == 0 {
			area, other = "NULL", "NULL"
		}
		t.rows = append(t.rows, []string{strconv.Itoa(i), area, strconv.Itoa(i * 3 % 10), other})
	}
	return t
}
