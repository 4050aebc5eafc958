package sqlgen

import (
	"fmt"
	"slices"
	"strings"
)

// constants are values that are compared with columns, by the kinds of these.
var constants = map[kind][]string{
	integer: {"0", "1", "6", "5", "NULL", "'6'", "6.5", "9007199254740993"},
	decimal: {"0", "1.00", "6", "6.00", "'5'", "NULL", "99999999.99", "9007199254740993"},
	float:   {"0", "0.1", "6", "6.5", "'-0'", "NULL"},
	text:    {"'a'", "'a '", "'b'", "'6'", "''", "NULL", "CAST('a' AS char(3))", "'a '::text"},
	date:    {"'2020-06-15'", "date '2020-12-31'", "NULL", "timestamp '2020-06-15 12:00'"},
	instant: {"'2020-06-15'", "timestamp '2020-12-31'", "NULL"},
	boolean: {"true", "NULL", "'f'"},
}

// several writes a condition that compares columns with several values; ok is false if there are
// no columns for it.
func (r respeller) several() (sql string, ok bool) {
	cols := r.cols.where(func(c column) bool { return constants[c.kind] != nil })
	if len(cols) == 0 {
		return "", false
	}
	a, b := choose(r, cols...), choose(r, cols...)
	row := func() string { return fmt.Sprintf("(%s, %s)", r.comparand(a), r.comparand(b)) }
	both, not := fmt.Sprintf("(%s, %s)", a.name, b.name), choose(r, "", " NOT")
	switch r.r.IntN(6) {
	case 0:
		return form("a comparison of rows", both+choose(r, " = ", " <> ", " < ", " <= ", " > ", " >= ", " IS DISTINCT FROM ",
			" IS NOT DISTINCT FROM ")+row()), true
	case 1:
		return form("a row in a list", both+not+" IN ("+row()+", "+row()+")"), true
	case 2:
		return form("a list with columns", fmt.Sprintf("%s%s IN (%s, %s, %s)", a.name, not, r.comparand(a),
			choose(r, constants[a.kind]...), r.comparand(a))), true
	case 3:
		return form("a long list", a.name+not+" IN ("+r.longList(a)+")"), true
	}
	texts := cols.ofKinds(text)
	if len(texts) == 0 {
		return "", false
	}
	patterns := "(ARRAY[" + choose(r, "'a%', 'b'", "'_', NULL", "'%a', '6%', '%.%'", "'A%', 'b_'") + "])"
	x := choose(r, texts...).name + not + choose(r, " LIKE ", " ILIKE ")
	if r.chance(50) {
		return form("LIKE ANY", x+"ANY "+patterns), true
	}
	return form("LIKE ALL", x+"ALL "+patterns), true
}

// comparand writes the other side of a comparison with a column: another one or a constant.
func (r respeller) comparand(c column) string {
	same := []kind{c.kind}
	if slices.Contains(numbers, c.kind) {
		same = numbers
	}
	if r.chance(40) {
		return choose(r, r.cols.ofKinds(same...)...).name
	}
	return choose(r, constants[c.kind]...)
}

// longList writes more constants than are compared one by one.
func (r respeller) longList(c column) string {
	template := map[kind]string{
		integer: "%d", decimal: choose(r, "%d", "%d.00", "6.%02d"), float: choose(r, "%d", "%d.5"),
		text: choose(r, "'a%d'", "'%d'", "'%d.00'"),
		date: "date '2020-06-01' + %d", instant: "timestamp '2020-06-01' + interval '%d day'", boolean: "%d = 1",
	}[c.kind]
	list := []string{choose(r, constants[c.kind]...)}
	for i := range 101 + r.r.IntN(40) {
		list = append(list, fmt.Sprintf(template, i))
	}
	return strings.Join(list, ", ")
}
