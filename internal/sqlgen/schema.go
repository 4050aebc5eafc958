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
// parts by the event; places is public, and sites are a reference table.
type Schema struct {
	// MaxRows and MaxPartitions bound the contribution of a unit; 0 leaves it to be chosen.
	MaxRows, MaxPartitions int
	// Units are the identifiers of some units as literals, the worst first.
	Units []string

	unitType       string
	people, events *table
	parts, places  *table
	readings       *table
	sites          *table
	readingKey     string // with the unit a key of readings; or empty
	uniquePeople   bool
	indexes        []string
	// composite says that an event is told by its id and its shard together, and a part refers to both: ids repeat, among events of
	// several units.
	composite bool
	// partitioned says that events and parts are, by a column of their keys.
	partitioned bool
	// derives says that the policy bounds expressions.
	derives bool
}

// A Profile is the manner of the rows of a schema.
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
		MaxRows: choose(g, 0, 1, 3, 5), MaxPartitions: choose(g, 1, 2, 3),
		unitType:     choose(g, "int", "int", "bigint", "text", "uuid", "varchar(9)", "char(9)", "bpchar"),
		uniquePeople: p == Honest || g.chance(75), derives: p == Adversarial,
	}
	if p == Honest {
		s.MaxRows, s.MaxPartitions = 500, 500
	}
	t := newTableGenerator(g.dice, p)
	s.people = t.people(s.unitType, s.uniquePeople)
	s.events = t.events(s.unitType)
	s.parts = t.parts()
	s.places = t.places()
	s.readings, s.readingKey = t.readings(s.unitType)
	s.indexes = t.indexes()
	if s.composite = len(s.indexes)%3 == 1; s.composite { // no choice of its own: other schemas stay as they are
		s.events.columns = append(s.events.columns, column{name: shard, kind: integer, typ: "int", notNull: true})
		s.parts.columns = append(s.parts.columns, column{name: shard, kind: integer, typ: "int", notNull: p == Honest})
	}
	s.partitioned = len(s.indexes)%2 == 1
	for _, name := range []string{prior, site} {
		s.events.columns = append(s.events.columns, column{name: name, kind: integer, typ: "int"})
	}
	s.sites = sites()
	f := &filler{dice: g.dice, schema: s, honest: p == Honest, finite: g.FiniteNumerics, last: map[int]int{}}
	f.fill()
	return s
}

// crowd is how many rows of a unit are as many as can count, or many.
func (s *Schema) crowd() int {
	if s.MaxRows == 0 {
		return 5
	}
	return s.MaxRows
}

// DDL writes the tables and their rows.
func (s *Schema) DDL() string {
	var b strings.Builder
	b.WriteString("CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');\n")
	for _, t := range []*table{s.people, s.sites, s.events, s.parts, s.places} {
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
			cols = append(cols, "PRIMARY KEY ("+s.eventKey()+")")
			if s.enforced() {
				cols = append(cols, "FOREIGN KEY ("+site+") REFERENCES sites")
			}
		case t == s.sites:
			cols = append(cols, "PRIMARY KEY ("+site+")", "FOREIGN KEY ("+near+") REFERENCES sites")
		case t == s.parts:
			cols = append(cols, "PRIMARY KEY (pid)", "FOREIGN KEY ("+s.partOf()+") REFERENCES events")
		case t == s.places:
			cols = append(cols, "PRIMARY KEY (place)")
		}
		fmt.Fprintf(&b, "CREATE TABLE %s (%s)%s;\n", t.name, strings.Join(cols, ", "), s.partitions(t))
	}
	b.WriteString(s.readingsDDL() + s.viewsDDL())
	for _, i := range s.indexes {
		fmt.Fprintf(&b, "CREATE INDEX ON %s;\n", i)
	}
	for _, t := range []*table{s.people, s.sites, s.events, s.parts, s.places} {
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
	if s.MaxRows == 0 {
		limits = "    max_rows: auto\n"
	}
	b.WriteString("tables:\n")
	for _, t := range []*table{s.people, s.events, s.parts, s.readings} {
		b.WriteString("  " + t.name + ":\n")
		switch {
		case t == s.parts && s.composite:
			b.WriteString("    unit: {via: [event, shard], to: events}\n")
		case t == s.parts:
			b.WriteString("    unit: {via: event, to: events.id}\n")
		case t == s.events && !s.composite:
			b.WriteString("    unit: uid\n    refers: {" + prior + ": events, " + site + ": sites}\n")
		case t == s.events:
			b.WriteString("    unit: uid\n    refers: {" + site + ": sites}\n")
		default:
			b.WriteString("    unit: uid\n")
		}
		b.WriteString(limits + "    columns:\n")
		for _, c := range t.columns {
			if text := c.policy(); text != "" {
				fmt.Fprintf(&b, "      %s: {%s}\n", c.name, text)
			}
		}
		if s.derives {
			b.WriteString(t.derived())
		}
	}
	return b.String() + "  places: {public: true}\n  sites: {reference: true, columns: {rank: {bounds: [0, 9]}}}\n" + viewsPolicy()
}

// shard is the second column of a key of events.
const shard = "shard"

// partitions writes how a table is partitioned, by two levels.
func (s *Schema) partitions(t *table) string {
	by := map[*table]string{s.events: "id", s.parts: "pid"}[t]
	if !s.partitioned || by == "" {
		return ""
	}
	if s.composite && t == s.events {
		by = shard
	}
	return fmt.Sprintf(` PARTITION BY HASH (%[2]s);
CREATE TABLE %[1]s_1 PARTITION OF %[1]s FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE %[1]s_2 PARTITION OF %[1]s FOR VALUES WITH (MODULUS 2, REMAINDER 1) PARTITION BY HASH (%[2]s);
CREATE TABLE %[1]s_2a PARTITION OF %[1]s_2 FOR VALUES WITH (MODULUS 4, REMAINDER 1);
CREATE TABLE %[1]s_2b PARTITION OF %[1]s_2 FOR VALUES WITH (MODULUS 4, REMAINDER 3)`, t.name, by)
}

// leaves are the tables that have the rows of a table: itself, or its partitions of the last level.
func (s *Schema) leaves(t *table) []string {
	if s.partitions(t) == "" {
		return []string{t.name}
	}
	return []string{t.name + "_1", t.name + "_2a", t.name + "_2b"}
}

// eventKey are the columns of the key of events, and partOf those of parts that refer to it.
func (s *Schema) eventKey() string {
	if s.composite {
		return "id, " + shard
	}
	return "id"
}

func (s *Schema) partOf() string {
	if s.composite {
		return "event, " + shard
	}
	return "event"
}

// ofEvent is the condition that joins parts x with their events e.
func (s *Schema) ofEvent() string {
	if s.composite {
		return "x.event = e.id AND x.shard = e.shard"
	}
	return "x.event = e.id"
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

// Without deletes all rows of a unit, and the sites that no others refer to.
func (s *Schema) Without(unit string) string {
	return fmt.Sprintf("DELETE FROM parts WHERE (%[2]s) IN (SELECT %[3]s FROM events WHERE uid = %[1]s); DELETE FROM events "+
		"WHERE uid = %[1]s; DELETE FROM readings WHERE uid = %[1]s; DELETE FROM people WHERE uid = %[1]s; ",
		unit, s.partOf(), s.eventKey()) + withoutSites()
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

// enforced reports whether a foreign key says to which sites events refer; otherwise the policy does.
func (s *Schema) enforced() bool { return !s.partitioned }
