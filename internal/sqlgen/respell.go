package sqlgen

import (
	"fmt"
	"slices"
	"strings"
)

// formMark brackets the name of a form in a text.
const formMark = "\x02"

// form notes that the text behind it has a form: the names are taken out of the text at the end,
// so that only forms that came into it are counted.
func form(name, sql string) string { return formMark + name + formMark + sql }

// forms takes the names of the forms out of a text.
func forms(text string) (sql string, names []string) {
	parts := strings.Split(text, formMark)
	for i := 1; i < len(parts); i += 2 {
		if !slices.Contains(names, parts[i]) {
			names = append(names, parts[i])
		}
		parts[i] = ""
	}
	return strings.Join(parts, ""), names
}

// Forms are those of expressions, of sub-selects and of statements about spelling that
// statements over readings can have.
var Forms = []string{
	joinedList, firstList,
	"number as text", "number as numeric(p,s)", "float as numeric", "text as char(n)", "text as varchar(n)", "char(n) as text",
	"date as text", "timestamp as date", "date as timestamp", "coalesce of columns", "nullif of columns", "greatest of columns",
	"least of columns", "CASE of columns", "a constant in two spellings", "a bare sub-select", "grouped by a computed number",
	"grouped by a computed text", "grouped by a computed time", "DISTINCT of computed values", "UNION ALL of columns", "computed columns",
	"told apart by spelling", "readings on the unit", "readings to themselves", "a comparison of rows", "a row in a list",
	"a list with columns", "a long list", "LIKE ANY", "LIKE ALL", "a literal in UNION ALL", "a condition on the spelling",
	"a column with one value", "a long text", "the end of a long text", "an interval", "IS NULL of a composite",
	"count of a composite", "a composite alone", "a domain", "a computed key",
}

// A respeller writes expressions whose equal values may look different.
type respeller struct {
	dice
	cols scope
}

// plain returns a column of some kinds.
func (r respeller) plain(kinds ...kind) (column, bool) {
	cols := r.cols.ofKinds(kinds...)
	if len(cols) == 0 {
		return column{}, false
	}
	return choose(r, cols...), true
}

// mention names a column.
func mention(c column) string {
	switch c.typ {
	case "price", "fare", "code", "word", "moment", "twin":
		return form("a domain", c.name)
	}
	if strings.HasSuffix(c.name, ".long") {
		return form("a long text", c.name)
	}
	return c.name
}

// number writes a number that is computed from columns.
func (r respeller) number(depth int) string {
	c, ok := r.plain(decimal, decimal, decimal, integer)
	if !ok {
		return r.twoSpellings()
	}
	x := mention(c)
	if depth <= 0 {
		return x
	}
	a := func() string { return r.number(depth - 1) }
	switch r.r.IntN(11) {
	case 0, 1:
		return form("number as numeric(p,s)", fmt.Sprintf("CAST(%s AS %s)", a(),
			choose(r, "numeric(10,2)", "numeric(12,4)", "numeric(20,0)")))
	case 2:
		return fmt.Sprintf("round(%s, %s)", a(), choose(r, "0", "1", "2"))
	case 3, 4:
		return r.choice(a, "6", "CAST(6 AS numeric(10,2))", "0", "6.00")
	case 5, 10:
		return r.twoSpellings()
	case 6:
		return form("a bare sub-select", fmt.Sprintf("coalesce(nullif(%s, %s), %s)", choose(r, "(SELECT 6::numeric)", "(SELECT 6.00)"),
			a(), a()))
	case 7:
		return fmt.Sprintf("CAST(%s AS numeric)", a())
	case 8:
		if f, ok := r.plain(float); ok {
			return form("float as numeric", fmt.Sprintf("CAST(%s AS %s)", f.name, choose(r, "numeric", "numeric(10,2)")))
		}
	}
	return x
}

// twoSpellings writes a number that is always 6, and looks as the row decides.
func (r respeller) twoSpellings() string {
	return form("a constant in two spellings", fmt.Sprintf(
		"coalesce(nullif((SELECT 6::numeric), CASE WHEN %s THEN CAST(5 AS numeric(10,2)) ELSE CAST(6 AS numeric(10,2)) END), "+
			"CAST(6 AS numeric(10,2)))",
		r.rowCondition()))
}

func (r respeller) rowCondition() string {
	c := choose(r, r.cols...)
	switch c.kind {
	case integer, decimal, float:
		return c.name + choose(r, " > 1", " = 6", " IS NULL", " < 6")
	case date, instant:
		return c.name + choose(r, " > '2020-06-15'", " IS NULL")
	case text:
		return c.name + choose(r, " = 'a'", " > 'a'", " IS NULL")
	case boolean, mood, unit, span, composite, array:
	}
	return c.name + " IS NULL"
}

// choice writes one of the forms that choose between values.
func (r respeller) choice(a func() string, constants ...string) string {
	b := a
	if r.chance(30) {
		b = func() string { return choose(r, constants...) }
	}
	switch r.r.IntN(5) {
	case 0:
		return form("coalesce of columns", fmt.Sprintf("coalesce(%s, %s)", a(), b()))
	case 1:
		return form("nullif of columns", fmt.Sprintf("nullif(%s, %s)", a(), b()))
	case 2:
		return form("greatest of columns", fmt.Sprintf("greatest(%s, %s)", a(), b()))
	case 3:
		return form("least of columns", fmt.Sprintf("least(%s, %s)", a(), b()))
	}
	return form("CASE of columns", fmt.Sprintf("CASE WHEN %s THEN %s ELSE %s END", r.rowCondition(), a(), b()))
}

// text writes a text that is computed from columns.
func (r respeller) text(depth int) string {
	c, ok := r.plain(text)
	if !ok || depth > 0 && r.chance(35) {
		return form("number as text", fmt.Sprintf(choose(r, "CAST(%s AS text)", "(%s)::text", "CAST(%s AS varchar(5))"), r.number(depth)))
	}
	x := mention(c)
	if depth <= 0 {
		return x
	}
	a := func() string { return r.text(depth - 1) }
	switch r.r.IntN(9) {
	case 0:
		return form("text as char(n)", fmt.Sprintf("CAST(%s AS %s)", a(), choose(r, "char(2)", "char(5)", "char(1)")))
	case 1:
		return form("text as varchar(n)", fmt.Sprintf("CAST(%s AS varchar(3))", a()))
	case 2:
		if chars := r.cols.where(func(c column) bool { return strings.HasPrefix(c.typ, "char") || c.typ == "code" }); len(chars) > 0 {
			return form("char(n) as text", mention(choose(r, chars...))+"::text")
		}
	case 3:
		if t, ok := r.plain(date); ok {
			return form("date as text", "CAST("+mention(t)+" AS text)")
		}
	case 4, 5:
		return r.choice(a, "'a'", "'a '", "CAST('a' AS char(3))", "'6'")
	case 6:
		return fmt.Sprintf(choose(r, "lower(%s)", "md5(%s)"), a())
	case 7:
		if long := r.cols.where(func(c column) bool { return strings.HasSuffix(c.name, ".long") }); len(long) > 0 {
			return form("the end of a long text", fmt.Sprintf(choose(r, "right(%s, 1)", "md5(%s)", "reverse(%s)"), mention(long[0])))
		}
	}
	return x
}

// time writes a date or a point in time.
func (r respeller) time(depth int) string {
	c, ok := r.plain(date, instant)
	if !ok {
		return "date '2020-06-15'"
	}
	x := mention(c)
	if depth <= 0 {
		return x
	}
	a := func() string { return r.time(depth - 1) }
	switch r.r.IntN(4) {
	case 0:
		return form("timestamp as date", "CAST("+a()+" AS date)")
	case 1:
		return form("date as timestamp", "CAST("+a()+" AS timestamp)")
	case 2:
		return r.choice(a, "date '2020-06-15'", "date '2020-12-31'")
	}
	return x
}

// value writes a computed value of some kind, with the column that it becomes.
func (r respeller) value(depth int) (string, column) {
	switch r.r.IntN(5) {
	case 0, 1:
		return r.number(depth), column{kind: decimal, typ: "numeric", low: "0", high: "1"}
	case 2, 3:
		return r.text(depth), column{kind: text, typ: "text"}
	}
	return r.time(depth), column{kind: instant, typ: "timestamp"}
}

// condition writes one that can tell equal values apart, or is about a composite.
func (r respeller) condition() string {
	if c, ok := r.plain(composite); ok && r.chance(30) {
		return form("IS NULL of a composite", mention(c)+choose(r, " IS NULL", " IS NOT NULL"))
	}
	if c, ok := r.plain(span); ok && r.chance(10) {
		return form("an interval", c.name+choose(r, " = interval '1 mon'", " <> interval '30 days'", " IS NULL",
			" >= interval '720 hours'"))
	}
	if r.chance(40) {
		if sql, ok := r.several(); ok {
			return sql
		}
	}
	x := r.text(2)
	return form("a condition on the spelling", choose(r, x+" = '6'", x+" = '6.00'", x+" = 'a'", "length("+x+") > 1", x+" = '2020-06-15'",
		"octet_length("+x+") < 4", x+" <> 'a  '", x+" LIKE '%a'", x+" LIKE '_'",
		x+" ~ '^[0-9]+$'", x+" ~ '[a ] $'", x+" !~ '^[^ 6]{1,3}$'"))
}

// fixing writes a condition that leaves one value of a column, or values that are equal to it.
func (r respeller) fixing() string {
	c := choose(r, r.cols...)
	switch c.kind {
	case integer, decimal, float:
		return form("a column with one value", mention(c)+choose(r, " = 6", " = 6.00", " = CAST(6 AS numeric(10,2))"))
	case text:
		return form("a column with one value", mention(c)+choose(r, " = 'a'", " = '6'"))
	case date, instant:
		return form("a column with one value", mention(c)+" = '2020-06-15'")
	case boolean, mood, unit, span, composite, array:
	}
	return r.rowCondition()
}
