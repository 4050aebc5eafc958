package sqlgen

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// kindsOfReadings are those that only the table readings has, but for arrays.
const (
	span      kind = unit + 1 + iota // an interval
	composite                        // a row type
	array                            // of texts or whole numbers, of events alone
)

// readingTypes are the composite type and the domains of the table readings.
const readingTypes = `CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN price AS numeric(10,2);
CREATE DOMAIN fare AS price;
CREATE DOMAIN code AS char(4);
CREATE DOMAIN word AS text;
CREATE DOMAIN moment AS date;
CREATE DOMAIN twin AS pair;
`

// readings has columns whose equal values can look different: within a column, or
// beside another of the same kind. The key, if there is one, is a column that is one with the unit.
func (g tableGenerator) readings(unitType string) (t *table, key string) {
	low, high := choose(g, "0", "1", "-6"), choose(g, "6", "6.00", "100")
	number := func(name, typ string) column {
		return column{name: name, kind: amountKind(typ), typ: typ, low: low, high: high}
	}
	text := func(name, typ string) column { return column{name: name, kind: text, typ: typ} }
	day := func(name, typ string) column {
		return column{name: name, kind: date, typ: typ, low: "2020-01-01", high: "2020-12-31"}
	}
	at := func(name, typ string) column {
		return column{name: name, kind: instant, typ: typ, low: "2020-01-01T00:00:00Z", high: "2020-12-31T00:00:00Z"}
	}
	fare := number("fare", choose(g, "fare", "price"))
	fare.kind = decimal
	t = &table{name: "readings", columns: []column{
		{name: "id", kind: integer, typ: "int", notNull: true},
		{name: "uid", kind: unit, typ: g.otherUnit(unitType)},
		{name: "whole", kind: integer, typ: "int", low: "0", high: "6"},
		number("n", "numeric"), number("n2", "numeric(10,2)"), number("n4", "numeric(12,4)"), fare,
		number("f", choose(g, "float8", "float4")),
		text("c3", "char(3)"), text("c8", "char(8)"), text("code", "code"), text("v", "varchar(8)"), text("word", "word"),
		text("long", "text"),
		day("day", "date"), day("moment", "moment"), at("ts", "timestamp"), at("tz", "timestamptz"),
		{name: "span", kind: span, typ: "interval"},
		{name: "pair", kind: composite, typ: "pair"},
		{name: "twin", kind: composite, typ: "twin"},
	}}
	key = choose(g, "", "", "n2", "n", "c3", "code", "moment", "v", "f")
	if key != "" {
		for i := range t.columns {
			if c := &t.columns[i]; c.name == "uid" || c.name == key {
				c.notNull = true
			}
		}
	}
	return t, key
}

// otherUnit returns a type that units are identified by as well as by theirs.
func (g tableGenerator) otherUnit(typ string) string {
	other := map[string]string{
		"int": "bigint", "bigint": "int", "text": "varchar(9)", "varchar(9)": "text", "char(9)": "bpchar",
		"bpchar": "char(9)",
	}[typ]
	if other == "" || g.chance(70) {
		return typ
	}
	return other
}

// reading adds a row of the table readings: values that are equal in many rows, and
// look different in some.
func (f *filler) reading(u int) {
	t := f.schema.readings
	if u == noUnit && t.columns[1].notNull {
		return
	}
	row := []string{strconv.Itoa(len(t.rows) + 1), f.unit(u)}
	for _, c := range t.columns[2:] {
		row = append(row, f.spelling(c))
	}
	t.rows = append(t.rows, row)
}

// spelling writes a value of a column of readings.
func (f *filler) spelling(c column) string {
	if !c.notNull && f.chance(12) {
		return "NULL"
	}
	if f.honest && c.bounded() {
		return f.honestSpelling(c)
	}
	all := spellings[c.name]
	if f.finite && c.typ == "numeric" {
		all = slices.DeleteFunc(slices.Clone(all), func(v string) bool { return strings.Contains(v, "Infinity") })
	}
	if f.honest || f.chance(75) { // long ones take time
		all = slices.DeleteFunc(slices.Clone(all), func(v string) bool { return strings.Contains(v, "repeat") })
	}
	return choose(f, all...)
}

// honestSpelling is within the bounds.
func (f *filler) honestSpelling(c column) string {
	switch {
	case c.kind == date || c.kind == instant:
		return choose(f, "'2020-06-15'", "'2020-06-16'", "'2020-12-31'", "'2020-01-01'")
	case c.typ == "numeric":
		return choose(f, "6", "6.00", "6.0", "1", "1.000", "5.5")
	case c.kind == integer:
		return choose(f, "6", "1", "5", "0")
	}
	return choose(f, "6", "1", "5.5", "5")
}

// spellings are the values of the columns of readings. Some of the long texts agree in
// their first 16,384 characters.
var spellings = map[string][]string{
	"whole":  {"6", "1", "5", "0", "7", "-2147483648"},
	"n":      {"6", "6.00", "6.0", "1", "1.000", "5", "0", "0.00", "7.00", "100.0", "'1e2'", "'NaN'", "'Infinity'", "6.004"},
	"n2":     {"6", "1", "5", "0", "7", "99999999.99", "6.01"},
	"n4":     {"6", "1", "5", "0", "7", "6.0001", "99999999.9999"},
	"fare":   {"6", "1", "5", "7"},
	"f":      {"'-0'", "0", "6", "1", "'NaN'", "'Infinity'", "6.5"},
	"c3":     {"'a'", "'a  '", "'b'", "''", "'6'", "'6.0'"},
	"c8":     {"'a'", "'a  '", "'b'", "''", "'6.00'"},
	"code":   {"'a'", "'a '", "'b'", "'6'"},
	"v":      {"'a'", "'a '", "'a  '", "'b'", "''", "'6'", "'6.00'"},
	"word":   {"'a'", "'a '", "'A'", "'b'", "''", "'6'"},
	"long":   {"'a'", "''", "repeat('x', 16384) || 'a'", "repeat('x', 16384) || 'b'", "repeat('x', 16384)"},
	"day":    {"'2020-06-15'", "'2020-06-16'", "'2020-12-31'", "'2021-06-15'", "'infinity'", "'2019-01-01'"},
	"moment": {"'2020-06-15'", "'2020-12-31'", "'2021-06-15'"},
	"ts":     {"'2020-06-15'", "'2020-06-15 12:00'", "'2020-12-31'", "'2021-06-15'", "'-infinity'"},
	"tz":     {"'2020-06-15 00:00Z'", "'2020-06-15 02:00+02'", "'2020-12-31Z'", "'2021-06-15Z'"},
	"span":   {"'1 mon'", "'30 days'", "'720:00:00'", "'0'"},
	"pair": {
		"ROW(NULL, NULL)", "ROW(1, NULL)", "ROW(NULL, 'x')", "ROW(1, 'x')", "ROW(2, 'x')", "ROW(NULL, repeat('x', 70000))",
		"ROW(1, repeat('x', 70000))",
	},
	"twin": {"ROW(NULL, NULL)", "ROW(1, NULL)", "ROW(1, 'x')"},
}

// readingsDDL creates the table and fills it; rows that its key forbids are left out.
func (s *Schema) readingsDDL() string {
	t := s.readings
	var b strings.Builder
	var cols, rows []string
	for _, c := range t.columns {
		def := c.name + " " + c.typ
		if c.notNull {
			def += " NOT NULL"
		}
		cols = append(cols, def)
	}
	cols = append(cols, "PRIMARY KEY (id)")
	if s.readingKey != "" {
		cols = append(cols, "UNIQUE (uid, "+s.readingKey+")")
	}
	for _, r := range t.rows {
		rows = append(rows, "("+strings.Join(r, ", ")+")")
	}
	fmt.Fprintf(&b, "%sCREATE TABLE readings (%s);\n", readingTypes, strings.Join(cols, ", "))
	for _, r := range rows { // each by itself, so that its literals have the types of the columns
		fmt.Fprintf(&b, "INSERT INTO readings VALUES %s ON CONFLICT DO NOTHING;\n", r)
	}
	return b.String()
}
