package sqlgen

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	honestUnits = 12
	manyUnits   = 30
	noUnit      = 0 // rows that belong to nobody
)

// A filler adds rows to the tables of a schema.
type filler struct {
	dice
	schema *Schema
	honest bool
	finite bool        // no infinite numerics
	ids    int         // of the last event
	pids   int         // of the last part
	last   map[int]int // the last event of each unit
}

// fill makes the rows.
func (f *filler) fill() {
	s := f.schema
	for i, zone := range []string{"'hill'", "'lake'", "'hill'", "'plain'", "'sea'"} {
		if i == 3 && !s.places.columns[1].notNull {
			zone = "NULL"
		}
		s.places.rows = append(s.places.rows, []string{strconv.Itoa(i + 1), zone, strconv.Itoa(i)})
	}
	if f.honest {
		f.honestUnits()
	} else {
		f.adversaries()
	}
	for u := 1; u <= 6; u++ {
		s.Units = append(s.Units, f.unit(u))
	}
}

// honestUnits are units with some rows each.
func (f *filler) honestUnits() {
	for u := 1; u <= honestUnits; u++ {
		f.person(u, ordinary)
		for range f.r.IntN(6) {
			f.event(u, ordinary, f.r.IntN(4))
		}
		for range f.r.IntN(6) {
			f.reading(u)
		}
	}
}

// A manner is how the values of a row are chosen.
type manner uint8

const (
	ordinary manner = iota + 1
	highest         // at or beyond the upper bounds
	lowest          // at or beyond the lower bounds
	same            // equal in all rows
	strange         // NULL, NaN, infinities, the ends of types
)

// adversaries are units that have too much of everything, and ordinary ones.
func (f *filler) adversaries() {
	s := f.schema
	f.person(1, highest)
	f.person(2, lowest)
	f.person(3, same)
	f.person(4, strange)
	if !s.uniquePeople {
		for range s.crowd() + 3 {
			f.person(1, highest)
			f.person(4, strange)
		}
	}
	for _, u := range []int{1, 2} {
		for group := range 6 { // the last two are in no declared group
			for range s.crowd() + 3 {
				f.event(u, manner(int(highest)+u-1), group)
			}
		}
	}
	for range 3 * s.crowd() {
		f.event(3, same, 0)
	}
	for i := range 12 {
		f.event(4, strange, i%6)
		f.event(noUnit, strange, i%6)
	}
	for _, u := range []int{1, 2, 3, 4, noUnit} {
		for range s.crowd()*s.MaxPartitions + 5 {
			f.reading(u)
		}
	}
	for u := 5; u <= manyUnits; u++ {
		f.reading(u)
		f.person(u, choose(f, ordinary, strange))
		for range f.r.IntN(4) {
			f.event(u, choose(f, ordinary, ordinary, strange), f.r.IntN(6))
		}
	}
}

// unit writes the identifier of a unit.
func (f *filler) unit(u int) string {
	if u == noUnit {
		return "NULL"
	}
	switch f.schema.unitType {
	case "char(9)", "bpchar":
		// Blanks behind it tell nobody apart.
		return quote(fmt.Sprintf("u%d", u) + strings.Repeat(" ", f.r.IntN(3)))
	case "text", "varchar(9)":
		// Spellings that differ by little are different people.
		return fmt.Sprintf([]string{"'u%d'", "'U%d'", "' u%d'", "'u%d '"}[u%4], u/4)
	case "uuid":
		return fmt.Sprintf("'00000000-0000-0000-0000-%012d'", u)
	}
	return strconv.Itoa(u * 7)
}

func (f *filler) person(u int, m manner) {
	row := []string{f.unit(u)}
	for _, c := range f.schema.people.columns[1:] {
		row = append(row, f.value(c, m, u))
	}
	f.schema.people.rows = append(f.schema.people.rows, row)
}

// event adds an event in one of six groups, and its parts.
func (f *filler) event(u int, m manner, group int) {
	f.ids++
	row := []string{strconv.Itoa(f.eventID()), f.unit(u)}
	for _, c := range f.schema.events.columns[2:] {
		if c.name == shard {
			row = append(row, strconv.Itoa(f.ids%shards))
			continue
		}
		if c.name == prior {
			row = append(row, f.priorOf(u))
			continue
		}
		if c.name == site {
			row = append(row, f.siteOf(u))
			continue
		}
		v := f.value(c, m, group)
		switch {
		case c.name == "kind":
			v = quote([]string{"a", "b", "c", "d", "e", "A"}[group])
		case c.name == "place":
			v = strconv.Itoa(group + 1) // the last is no place
		case c.name == "note" && m != strange:
			v = quote("note " + strconv.Itoa(group))
		}
		row = append(row, v)
	}
	f.schema.events.rows = append(f.schema.events.rows, row)
	for range f.r.IntN(3) {
		f.part(m, group)
	}
}

// priorOf is the event that the last one refers to, without a choice of its own: other schemas stay as they are. Of honest units it is one
// of the same unit, or none.
func (f *filler) priorOf(u int) string {
	before, known := f.last[u]
	f.last[u] = f.ids
	switch {
	case known && u != noUnit && (f.honest || f.ids%3 == 0):
		return strconv.Itoa(before)
	case f.honest || f.ids%4 == 0:
		return "NULL"
	}
	return strconv.Itoa(f.ids*5%(f.ids+3) + 1)
}

// shards is how many events have one id, where a key has two columns.
const shards = 3

// eventID is the id of the last event. In a key of two columns those of different units share one.
func (f *filler) eventID() int {
	if f.schema.composite {
		return f.ids / shards
	}
	return f.ids
}

// shardOfPart is NULL now and then: such a part is nobody's, though it has an event's id.
func (f *filler) shardOfPart(c column) string {
	if !c.notNull && f.pids%7 == 0 {
		return "NULL"
	}
	return strconv.Itoa(f.ids % shards)
}

func (f *filler) part(m manner, group int) {
	f.pids++
	row := []string{strconv.Itoa(f.pids), strconv.Itoa(f.eventID())}
	for _, c := range f.schema.parts.columns[2:] {
		if c.name == shard {
			row = append(row, f.shardOfPart(c))
			continue
		}
		v := f.value(c, m, group)
		if c.name == "tag" && !f.honest {
			v = quote([]string{"x", "y", "z", "w"}[group%4])
		}
		row = append(row, v)
	}
	f.schema.parts.rows = append(f.schema.parts.rows, row)
}

// value writes a value of a column.
func (f *filler) value(c column, m manner, n int) string {
	if c.kind == array {
		return f.arrayValue(c, m)
	}
	if f.honest {
		return f.honestValue(c)
	}
	if m == strange && !c.notNull && f.chance(25) {
		return "NULL"
	}
	switch c.kind {
	case integer, decimal, float:
		return f.number(c, m, n)
	case text:
		return f.word(c, m, n)
	case boolean:
		return choose(f, "true", "false")
	case mood:
		return choose(f, "'sad'", "'ok'", "'happy'")
	case date, instant:
		return f.time(c, m, n)
	case span, composite, unit, array:
	}
	return "NULL"
}

// honestValue is within the bounds and among the declared values.
func (f *filler) honestValue(c column) string {
	switch {
	case !c.notNull && f.chance(10):
		return "NULL"
	case c.kind == boolean || c.kind == mood || c.values != nil:
		return quote(c.values[f.r.IntN(len(c.values))])
	case c.kind == date:
		return quote(fmt.Sprintf("2020-%02d-%02d", 1+f.r.IntN(12), 1+f.r.IntN(28)))
	case c.kind == instant:
		return quote(fmt.Sprintf("2020-%02d-%02d %02d:%02d", 1+f.r.IntN(12), 1+f.r.IntN(28), f.r.IntN(24), f.r.IntN(60)))
	case c.kind == text:
		return quote(choose(f, "Ann", "bob", "Bob", "eve ", "", "Zoë"))
	case !c.bounded():
		return strconv.Itoa(f.r.IntN(5))
	}
	low, _ := strconv.ParseFloat(c.low, 64)
	high, _ := strconv.ParseFloat(c.high, 64)
	v := low + f.r.Float64()*(high-low)
	if c.kind == integer {
		return strconv.Itoa(int(v))
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

func (f *filler) number(c column, m manner, n int) string {
	switch m {
	case highest:
		if c.bounded() {
			return choose(f, c.high, f.beyond(c, true))
		}
	case lowest:
		if c.bounded() {
			return choose(f, c.low, f.beyond(c, false))
		}
	case same:
		if c.bounded() {
			return c.high
		}
		return "1"
	case strange:
		return f.strangeNumber(c)
	case ordinary:
		if c.bounded() {
			return choose(f, c.low, c.high, f.honestValue(column{kind: c.kind, low: c.low, high: c.high, notNull: true}))
		}
	}
	return strconv.Itoa(n)
}

// beyond is outside the bounds, as far as the type goes.
func (f *filler) beyond(c column, up bool) string {
	sign := ""
	if !up {
		sign = "-"
	}
	switch c.typ {
	case "smallint":
		return sign + "32767"
	case "int":
		return sign + "2147483647"
	case "bigint":
		return sign + "9223372036854775807"
	case "numeric(10,2)":
		return sign + "99999999.99"
	case "numeric(8,2)":
		return sign + "999999.99"
	case "float4":
		return "'" + sign + choose(f, "1e38", "Infinity") + "'"
	case "float8":
		return "'" + sign + choose(f, "1e308", "Infinity") + "'"
	}
	return "'" + sign + f.numeric("1e100", "Infinity") + "'"
}

func (f *filler) strangeNumber(c column) string {
	switch {
	case c.kind == float:
		tiny := "1e-308"
		if c.typ == "float4" {
			tiny = "1e-38"
		}
		return "'" + choose(f, "NaN", "Infinity", "-Infinity", tiny, "-"+tiny, "-0", "0.30000001", "0.1") + "'"
	case c.typ == "numeric":
		// Equal values with other spellings, digits without end.
		return "'" + f.numeric("NaN", "Infinity", "-Infinity", "1.0", "1.00", "1", "1e-100", "-1e200", "0.333333333333333333333333") + "'"
	case c.kind == decimal:
		return choose(f, "0", "'NaN'", "0.01", "-0.01")
	}
	return choose(f, "0", "-1", f.beyond(c, true), f.beyond(c, false), "(-32768)")
}

// numeric returns one of some numerics.
func (f *filler) numeric(of ...string) string {
	text := choose(f, of...)
	if f.finite && strings.HasSuffix(text, "Infinity") {
		return strings.Replace(text, "Infinity", "1e1000", 1)
	}
	return text
}

func (f *filler) word(c column, m manner, n int) string {
	if c.typ == "char(1)" {
		return choose(f, "'f'", "'m'", "' '", "'x'")
	}
	if c.values != nil && m != strange {
		return quote(c.values[n%len(c.values)])
	}
	if c.typ == "varchar(5)" || c.typ == "varchar(10)" {
		return choose(f, "'f'", "'F'", "'f '", "''", "'xyz'")
	}
	// The same to the eye, a backslash at the end, quotes, wildcards, a long one.
	return choose(f, "'a'", "'A'", "'a '", "' a'", "''", "U&'\\00e9'", "U&'e\\0301'", ` E'a\\'`, `'%'`, `'_'`, "'it''s'", `'"'`,
		"repeat('x', 3000)", "'NaN'", "'12'")
}

func (f *filler) time(c column, m manner, n int) string {
	switch {
	case m == strange && c.kind == date:
		return "'" + choose(f, "infinity", "-infinity", "0001-01-01", "4714-11-24 BC", "5874897-12-31", "2020-02-29") + "'"
	case m == strange:
		return "'" + choose(f, "infinity", "-infinity", "0001-01-01", "4714-11-24 BC", "294276-12-31 23:59:59.999999",
			"2020-02-29 12:34:56.789") + "'"
	case m == highest:
		return choose(f, "'infinity'", "'2100-01-01'")
	case m == lowest:
		return choose(f, "'-infinity'", "'1900-01-01'")
	case m == same:
		return "'2020-06-15'"
	}
	return fmt.Sprintf("'2020-%02d-%02d'", 1+(n+f.r.IntN(3))%12, 1+f.r.IntN(28))
}

// arrayValue writes an array without a choice of its own: other schemas stay as they are. Some are longer than may be taken, or of
// several dimensions, with NULLs and with elements that repeat.
func (f *filler) arrayValue(c column, m manner) string {
	list := []string{
		"'{}'", "'{1}'", "'{1,2,2}'", "'{3,NULL}'", "NULL", "'{{1,2},{4,4}}'", "'[4:5]={2,1}'", "'{1,1,1,1,1,1,1,1,2,3,4}'",
	}
	if !f.honest && m != ordinary {
		list = append(list, "array_fill(2, ARRAY[40])", "array_fill(1, ARRAY[1001])", "'{NULL,NULL}'")
	}
	return fmt.Sprintf("%s::%s", list[f.ids%len(list)], c.typ)
}

// siteOf is the site of the last event: one that the unit may have alone, one that others share, none, or one that is missing where no
// foreign key says otherwise.
func (f *filler) siteOf(u int) string {
	switch {
	case f.ids%6 == 0:
		return "NULL"
	case !f.honest && !f.schema.enforced() && f.ids%11 == 0:
		return strconv.Itoa(manySites + 1)
	case u != noUnit && u < ownSites && f.ids%3 > 0:
		return strconv.Itoa(u)
	}
	return strconv.Itoa(ownSites + f.ids%(manySites-ownSites+1))
}
