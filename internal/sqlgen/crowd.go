package sqlgen

import (
	"fmt"
	"strings"
)

// A Filling is how the attributes of a crowd are chosen.
type Filling uint8

const (
	// Empty attributes are NULL, or where that is forbidden a value that is in no domain.
	Empty Filling = iota + 1
	// Ordinary attributes are within their bounds and domains, and differ from row to row.
	Ordinary
)

// Stash keeps all rows aside and leaves the protected tables empty; [Schema.Only] brings those of a unit back.
func (s *Schema) Stash() string {
	var b strings.Builder
	for _, t := range []*table{s.people, s.events, s.parts, s.readings} {
		fmt.Fprintf(&b, "CREATE TABLE stash_%[1]s AS SELECT * FROM %[1]s; ", t.name)
	}
	return b.String() + "DELETE FROM parts; DELETE FROM events; DELETE FROM readings; DELETE FROM people;"
}

// Only adds the rows of a unit.
func (s *Schema) Only(unit string) string {
	return fmt.Sprintf("INSERT INTO people SELECT * FROM stash_people WHERE uid = %[1]s; "+
		"INSERT INTO events SELECT * FROM stash_events WHERE uid = %[1]s; "+
		"INSERT INTO readings SELECT * FROM stash_readings WHERE uid = %[1]s; "+
		"INSERT INTO parts SELECT * FROM stash_parts WHERE (%[2]s) IN (SELECT %[3]s FROM stash_events WHERE uid = %[1]s)",
		unit, s.partOf(), s.eventKey())
}

// Tables names the tables with rows of units.
func (s *Schema) Tables() []string {
	return []string{s.people.name, s.events.name, s.parts.name, s.readings.name}
}

// Crowd adds as many units as are said, each with a row in every table, and as many public rows. Few rows are on a page, so
// that a table is not so small that Postgres uses no index.
func (s *Schema) Crowd(units int, f Filling) string {
	var b strings.Builder
	for _, t := range []*table{s.people, s.events, s.parts, s.readings, s.places} {
		var cols []string
		for _, c := range t.columns {
			cols = append(cols, s.ofCrowd(t, c, f, units))
		}
		for _, leaf := range s.leaves(t) {
			fmt.Fprintf(&b, "ALTER TABLE %s SET (fillfactor = 10); ", leaf)
		}
		fmt.Fprintf(&b, "INSERT INTO %[1]s SELECT %[2]s FROM generate_series(1, %[3]d) AS g;\n",
			t.name, strings.Join(cols, ", "), units)
	}
	return b.String()
}

// ofCrowd writes the value of a column in row g. Identifiers of units lie on both sides of all others.
func (s *Schema) ofCrowd(t *table, c column, f Filling, units int) string {
	switch {
	case c.kind == unit:
		return crowded(c.typ, units)
	case c.name == shard:
		return "0"
	case c.name == "id" || c.name == "pid" || c.name == "event" || c.name == prior || t == s.places && c.kind == integer:
		return "100000 + g"
	case t == s.places:
		return "'zone ' || g"
	case f == Ordinary && c.name == site:
		return fmt.Sprintf("g %% %d + 1", manySites)
	case f == Ordinary && c.kind != composite:
		return c.ordinary()
	case c.notNull:
		return c.outside()
	}
	return "NULL"
}

func crowded(typ string, units int) string {
	switch typ {
	case "int", "bigint":
		return fmt.Sprintf("(g - %d) * 100 + 3", units/2)
	case "uuid":
		return "('00000000-0000-0000-' || CASE WHEN g % 2 = 0 THEN '0000' ELSE '0001' END || '-' || lpad((1000 + g)::text, 12, '0'))::uuid"
	}
	return "CASE WHEN g % 2 = 0 THEN 'a' ELSE 'z' END || g"
}

// ordinary is a value within bounds.
func (c column) ordinary() string {
	switch {
	case c.values != nil && c.kind == boolean:
		return "g % 2 = 0"
	case c.values != nil && c.kind == mood:
		return "(ARRAY['sad', 'ok', 'happy'])[g % 3 + 1]::mood"
	case c.values != nil:
		return fmt.Sprintf("(ARRAY['%s'])[g %% %d + 1]", strings.Join(c.values, "', '"), len(c.values))
	case c.kind == date:
		return "date '2020-01-01' + g % 300"
	case c.kind == instant:
		return "timestamp '2020-01-01' + g % 300 * interval '1 day'"
	case c.kind == span:
		return "g % 3 * interval '1 day'"
	case c.kind == array:
		return "ARRAY[g % 5, g % 3]::" + c.typ
	case c.kind == text:
		return "(g % 5)::text"
	case c.bounded():
		return fmt.Sprintf("%s + g %% 3", c.low)
	}
	return "g % 5"
}

// outside is a value in no domain.
func (c column) outside() string {
	switch c.kind {
	case text:
		return "'-'"
	case boolean:
		return "false"
	case date:
		return "date '2019-06-01'"
	case instant:
		return "timestamp '2019-06-01'"
	case span:
		return "interval '0'"
	case mood:
		return "'sad'::mood"
	case array:
		return "'{-7}'"
	case integer, decimal, float, unit, composite:
	}
	return "-7"
}
