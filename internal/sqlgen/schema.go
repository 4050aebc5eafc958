package sqlgen

import (
	"fmt"
	"strings"
)

// A kind is a family of types that expressions are made of.
type kind uint8

const (
	integer kind = iota + 1
	decimal
	float
	text
	boolean
	date
	instant
	mood // an enum
	unit
)

// A column of a table or of a query.
type column struct {
	name    string
	kind    kind
	typ     string
	notNull bool
	// low and high are the bounds that the policy declares, or empty.
	low, high string
	// values are the public values that the policy declares.
	values []string
}

func (c column) bounded() bool { return c.low != "" }

type table struct {
	name    string
	columns []column
	rows    [][]string // literals
}

// A Schema is a database and the policy that protects it. Tables people, events, parts
// and readings belong to people; events and readings are reached by their own columns,
// parts by the event; places is public.
type Schema struct {
	// MaxRows and MaxPartitions bound what a unit contributes.
	MaxRows, MaxPartitions int
	// Units are the identifiers of some units as literals, the worst first.
	Units []string

	unitType       string
	people, events *table
	parts, places  *table
	readings       *table
	readingKey     string // with the unit a key of readings; or empty
	uniquePeople   bool
	indexes        []string
}

// A Profile says what the rows of a schema are like.
type Profile uint8

const (
	// Adversarial rows are more, larger and stranger than the policy allows.
	Adversarial Profile = iota + 1
	// Honest rows are within all bounds, so that bounding changes nothing.
	Honest
)

// Schema makes a database.
func (g *Generator) Schema(p Profile) *Schema {
	s := &Schema{
		MaxRows: one(g, 1, 2, 3, 5), MaxPartitions: one(g, 1, 2, 3),
		unitType: one(g, "int", "int", "bigint", "text", "uuid", "varchar(9)", "char(9)", "bpchar"), uniquePeople: p == Honest || g.chance(75),
	}
	if p == Honest {
		s.MaxRows, s.MaxPartitions = 500, 500
	}
	amount := one(g, "numeric(10,2)", "numeric", "float8", "float4", "int", "bigint", "smallint")
	if p == Honest && strings.HasPrefix(amount, "float") {
		amount = "numeric(10,2)" // sums of floats have no one answer
	}
	low, high := g.numberBounds()
	dayLow, dayHigh := "2020-01-01", one(g, "2020-12-31", "2021-06-30", "2022-01-01")
	never := p == Honest || g.chance(50)
	s.people = &table{name: "people", columns: []column{
		{name: "uid", kind: unit, typ: s.unitType, notNull: s.uniquePeople},
		{name: "sex", kind: text, typ: one(g, "text", "varchar(5)", "char(1)"), notNull: never, values: []string{"f", "m"}},
		{name: "region", kind: text, typ: one(g, "text", "varchar(10)"), values: []string{"east", "north", "south"}},
		{name: "age", kind: integer, typ: one(g, "int", "smallint", "bigint"), notNull: never, low: "0", high: one(g, "110", "99")},
		{name: "income", kind: amountKind(amount), typ: amount, low: low, high: high},
		{name: "born", kind: date, typ: "date", low: dayLow, high: dayHigh},
		{name: "smoker", kind: boolean, typ: "bool", notNull: g.chance(50), values: []string{"true", "false"}},
		{name: "mood", kind: mood, typ: "mood", values: []string{"sad", "ok", "happy"}},
		{name: "name", kind: text, typ: "text"},
	}}
	s.events = &table{name: "events", columns: []column{
		{name: "id", kind: integer, typ: "int", notNull: true},
		{name: "uid", kind: unit, typ: s.unitType},
		{name: "place", kind: integer, typ: "int"},
		{name: "kind", kind: text, typ: one(g, "text", `text COLLATE "C"`), notNull: never, values: []string{"a", "b", "c", "d"}},
		{name: "day", kind: date, typ: "date", notNull: never, low: dayLow, high: dayHigh},
		{name: "at", kind: instant, typ: one(g, "timestamp", "timestamptz"), low: dayLow + "T00:00:00Z", high: dayHigh + "T00:00:00Z"},
		{name: "amount", kind: amountKind(amount), typ: amount, low: low, high: high},
		{name: "score", kind: scoreKind(p), typ: scoreType(p), low: one(g, "0", "-1.5"), high: one(g, "10", "2.25")},
		{name: "n", kind: integer, typ: "int", low: one(g, "0", "-5"), high: one(g, "20", "7")},
		{name: "note", kind: text, typ: "text"},
		{name: "level", kind: decimal, typ: "numeric"},
	}}
	s.parts = &table{name: "parts", columns: []column{
		{name: "pid", kind: integer, typ: "int", notNull: true},
		{name: "event", kind: integer, typ: "int", notNull: g.chance(50)},
		{name: "tag", kind: text, typ: "text", values: []string{"x", "y", "z"}},
		{name: "qty", kind: integer, typ: "int", low: "1", high: one(g, "9", "3")},
		{name: "price", kind: decimal, typ: "numeric(8,2)", low: "0", high: one(g, "100", "9.5")},
	}}
	s.places = &table{name: "places", columns: []column{
		{name: "place", kind: integer, typ: "int", notNull: true},
		{name: "zone", kind: text, typ: "text", notNull: g.chance(50)},
		{name: "fee", kind: integer, typ: "int", notNull: true},
	}}
	s.readings = g.readingsTable(s)
	if p == Honest {
		for _, t := range []*table{s.people, s.events, s.parts} {
			for i := range t.columns {
				if t.columns[i].kind == instant {
					t.columns[i].typ = "timestamp"
				}
			}
		}
	}
	for _, index := range []string{"events (uid)", "events (uid) INCLUDE (kind, day, amount, n)", "events (kind, n)", "parts (event)", "events (amount)", "readings (uid)", "readings (n2)"} {
		if g.chance(50) {
			s.indexes = append(s.indexes, index)
		}
	}
	g.fill(s, p)
	return s
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

func scoreKind(p Profile) kind {
	if p == Honest {
		return decimal
	}
	return float
}

func scoreType(p Profile) string {
	if p == Honest {
		return "numeric(6,3)"
	}
	return "float8"
}

// numberBounds are on both sides of zero, on one, far and near.
func (g *Generator) numberBounds() (low, high string) {
	b := one(g, [2]string{"0", "100"}, [2]string{"-50", "200"}, [2]string{"-300", "-100"}, [2]string{"10", "11"}, [2]string{"0", "20000"})
	return b[0], b[1]
}

// DDL writes the tables and their rows.
func (s *Schema) DDL() string {
	var b strings.Builder
	b.WriteString("CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');\n")
	for _, t := range []*table{s.people, s.events, s.parts, s.places} {
		var cols []string
		for _, c := range t.columns {
			def := c.name + " " + c.typ
			if c.notNull {
				def += " NOT NULL"
			}
			cols = append(cols, def)
		}
		switch {
		case t == s.people && s.uniquePeople:
			cols = append(cols, "PRIMARY KEY (uid)")
		case t == s.events:
			cols = append(cols, "PRIMARY KEY (id)")
		case t == s.parts:
			cols = append(cols, "PRIMARY KEY (pid)", "FOREIGN KEY (event) REFERENCES events")
		case t == s.places:
			cols = append(cols, "PRIMARY KEY (place)")
		}
		fmt.Fprintf(&b, "CREATE TABLE %s (%s);\n", t.name, strings.Join(cols, ", "))
	}
	b.WriteString(s.readingsDDL())
	for _, i := range s.indexes {
		fmt.Fprintf(&b, "CREATE INDEX ON %s;\n", i)
	}
	for _, t := range []*table{s.people, s.events, s.parts, s.places} {
		var rows []string
		for _, r := range t.rows {
			rows = append(rows, "("+strings.Join(r, ", ")+")")
		}
		if len(rows) > 0 {
			fmt.Fprintf(&b, "INSERT INTO %s VALUES\n%s;\n", t.name, strings.Join(rows, ",\n"))
		}
	}
	return b.String() + "ANALYZE;\n"
}

// Policy writes the tables of the policy file.
func (s *Schema) Policy() string {
	var b strings.Builder
	limits := fmt.Sprintf("    max_rows: %d\n    max_partitions: %d\n", s.MaxRows, s.MaxPartitions)
	b.WriteString("tables:\n")
	for _, t := range []*table{s.people, s.events, s.parts, s.readings} {
		b.WriteString("  " + t.name + ":\n")
		if t == s.parts {
			b.WriteString("    unit: {via: event, to: events.id}\n")
		} else {
			b.WriteString("    unit: uid\n")
		}
		b.WriteString(limits + "    columns:\n")
		for _, c := range t.columns {
			if text := c.policy(); text != "" {
				fmt.Fprintf(&b, "      %s: {%s}\n", c.name, text)
			}
		}
	}
	return b.String() + "  places: {public: true}\n"
}

func (c column) policy() string {
	switch {
	case c.kind == mood:
		return "values: enum"
	case c.values != nil:
		return "values: [" + strings.Join(c.values, ", ") + "]"
	case c.kind == instant:
		return fmt.Sprintf("bounds: [%q, %q]", instantBound(c, c.low), instantBound(c, c.high))
	case c.bounded():
		return "bounds: [" + c.low + ", " + c.high + "]"
	}
	return ""
}

// instantBound leaves the zone out for a type without one.
func instantBound(c column, b string) string {
	if c.typ == "timestamp" {
		return strings.TrimSuffix(strings.Replace(b, "T", " ", 1), "Z")
	}
	return b
}

// Without deletes all rows of a unit.
func (s *Schema) Without(unit string) string {
	return fmt.Sprintf("DELETE FROM parts WHERE event IN (SELECT id FROM events WHERE uid = %[1]s); DELETE FROM events WHERE uid = %[1]s; DELETE FROM readings WHERE uid = %[1]s; DELETE FROM people WHERE uid = %[1]s", unit)
}

// Shuffle writes every heap anew, in another order.
func (s *Schema) Shuffle() string {
	var b strings.Builder
	for _, t := range []string{"parts", "events", "readings", "people"} {
		fmt.Fprintf(&b, "CREATE TEMP TABLE s_%[1]s AS SELECT * FROM %[1]s ORDER BY random(); DELETE FROM %[1]s; ", t)
	}
	for _, t := range []string{"people", "readings", "events", "parts"} {
		fmt.Fprintf(&b, "INSERT INTO %[1]s SELECT * FROM s_%[1]s; DROP TABLE s_%[1]s; ", t)
	}
	return b.String()
}
