package proxy

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"dpproxy/parser"
	"dpproxy/parser/ast"
	"dpproxy/planner"
	"dpproxy/planner/pgtype"
	"dpproxy/proxy/replay"
)

// A filling puts all that is known of errors into the columns of an answer that keep places for it, and rounds the values whose errors are
// said in words.
type filling struct {
	fields []pgproto3.FieldDescription
	places []parser.ErrorPlace
	of     *replay.Statement
	// replayed has the errors of columns by replays, and known those by formulas that the text of the answer does not have.
	replayed map[string]string
	known    map[string][]planner.KnownError
}

// put returns the text of an answer with all that is known in it.
func (f *filling) put(sql string) string {
	prefix := "dp_"
	if f.of != nil {
		prefix = f.of.Prefix()
	}
	answer, row, filled := prefix+"answer", prefix+"row", prefix+"filled"
	list, found, changed := make([]string, len(f.fields)), []string{answer + ".*"}, false
	for i := range list {
		list[i] = filled + "." + column(i)
	}
	for _, p := range f.places {
		at, of := len(f.fields)-1-p.FromEnd, f.fieldOf(p.Of)
		if at < 0 {
			continue
		}
		if of < 0 { // another column has the name: it stays as it is in the text of the answer
			if p.Side == parser.Said {
				list[at], changed = unknown, true
			}
			continue
		}
		value := f.value(p, at, of, answer, row)
		if value == "" {
			continue
		}
		name := prefix + "e" + strconv.Itoa(len(found))
		found = append(found, value+" AS "+name)
		if list[at] = filled + "." + name; p.Side == parser.Said {
			half := "CASE WHEN " + filled + "." + name + " < CAST('Infinity' AS pg_catalog.float8) THEN " + filled + "." + name + " END"
			r := rounding{value: filled + "." + column(of), half: "(" + half + ")", of: f.fields[of]}
			list[of], list[at] = r.rounded(), r.said()
		}
	}
	if len(found) == 1 && !changed {
		return sql
	}
	var names strings.Builder
	for i, field := range f.fields {
		list[i] += " AS " + ast.QuoteIdent(string(field.Name))
		names.WriteString(column(i) + ", ")
	}
	return "SELECT " + strings.Join(list, ", ") + " FROM (SELECT " + strings.Join(found, ", ") + " FROM (SELECT " + prefix +
		"text.*, pg_catalog.row_number() OVER () FROM (" + sql + "\n) AS " + prefix + "text) AS " + answer + "(" +
		names.String() + row + ")) AS " + filled
}

// column names a column of the answer, as [replay.Statement.Key] does.
func column(i int) string { return "c" + strconv.Itoa(i+1) }

// fieldOf is the only column of a name that has noise, as far as that is known; −1 if there are none or several.
func (f *filling) fieldOf(name string) int {
	at := -1
	for i, field := range f.fields {
		if string(field.Name) != name || f.of != nil && f.of.Labels(i) {
			continue
		}
		if at >= 0 {
			return -1
		}
		at = i
	}
	return at
}

// unknown is said of an error that is not known.
const unknown = "CAST('unknown' AS pg_catalog.text)"

// value writes a side of the error of the column of; "" if nothing needs to be put into its place.
func (f *filling) value(p parser.ErrorPlace, at, of int, answer, row string) string {
	side := min(p.Side, parser.Half)
	var all []string
	if text := f.replayed[p.Of]; text != "" {
		all = append(all, from(answer+"."+column(of), numberIn(text, f.of.Key(answer, row), side), side))
	}
	if known := f.known[p.Of]; known != nil && of >= 0 {
		all = append(all, f.knownSide(known, side, of, answer))
	}
	if p.Formula && (len(all) > 0 || p.Side == parser.Said) {
		all = append(all, "CAST("+answer+"."+column(at)+" AS pg_catalog.float8)")
	}
	if len(all) == 0 && p.Side == parser.Said {
		return "CAST(NULL AS pg_catalog.float8)"
	}
	if len(all) < 2 {
		return strings.Join(all, "")
	}
	return "COALESCE(" + strings.Join(all, ", ") + ")"
}

// numberIn writes the number of a side in an object of lists, in JSON, by its key.
func numberIn(object, key string, side parser.Side) string {
	return fmt.Sprintf("CAST(CAST(%s AS pg_catalog.jsonb) OPERATOR(pg_catalog.->) %s OPERATOR(pg_catalog.->>) %d AS pg_catalog.float8)",
		ast.Quote(object), key, side)
}

// knownSide writes the side that is known of a value, by its text; a value that is rounded has the widest.
func (f *filling) knownSide(known []planner.KnownError, side parser.Side, of int, answer string) string {
	value := answer + "." + column(of)
	distance := func(e planner.KnownError) float64 {
		return [...]float64{e.Below, e.Above, e.Deviation, max(e.Below, e.Above)}[side]
	}
	all, widest := map[string][]*float64{}, 0.0
	for _, e := range known {
		d := distance(e)
		all[e.Text] = []*float64{replay.Known(d)}
		widest = math.Max(widest, d) // NaN if any is
	}
	object, err := json.Marshal(all)
	if err != nil || side != parser.Half && !isNumber(f.fields[of]) {
		return "CAST(NULL AS pg_catalog.float8)"
	}
	found := numberIn(string(object), "CAST("+value+" AS pg_catalog.text)", 0)
	if w := replay.Known(widest); w != nil {
		found = "COALESCE(" + found + ", CAST(" + strconv.FormatFloat(*w, 'g', -1, 64) + " AS pg_catalog.float8))"
	}
	return "CASE WHEN " + value + " IS NOT NULL THEN " + from(value, found, side) + " END"
}

// from writes a side of the error of a value, of which an end is given by its distance.
func from(value, number string, side parser.Side) string {
	switch side {
	case parser.Low:
		return "CAST(" + value + " AS pg_catalog.float8) - " + number
	case parser.High:
		return "CAST(" + value + " AS pg_catalog.float8) + " + number
	case parser.Deviation, parser.Half, parser.Said:
	}
	return number
}

// A rounding writes a value as its error supports it: both to the place of the second digit of the error, which grows by as much as the
// value moves.
type rounding struct {
	value, half string // SQL
	of          pgproto3.FieldDescription
}

// digits is how many decimals the value has.
func (r rounding) digits() string {
	return "CAST(1 - pg_catalog.floor(pg_catalog.log(" + r.half + ")) AS pg_catalog.int4)"
}

// rounded writes the value, of its own type. Others than numbers stay.
func (r rounding) rounded() string {
	kind, least, most := typeOf(r.of)
	if kind == "" {
		return r.value
	}
	number := "pg_catalog.round(CAST(" + r.value + " AS pg_catalog.numeric), " + r.digits() + ")"
	if least != "" {
		number = "GREATEST(LEAST(" + number + ", " + most + "), " + least + ")"
	}
	return "CASE WHEN " + r.half + " > 0 AND " + r.value + " - " + r.value + " = 0 THEN CAST(" + number + " AS " + kind + ") ELSE " +
		r.value + " END"
}

// said writes the error.
func (r rounding) said() string {
	half := "CAST(" + r.half + " AS pg_catalog.numeric)"
	if kind, _, _ := typeOf(r.of); kind != "" {
		half += " + pg_catalog.abs(CAST(" + r.rounded() + " AS pg_catalog.numeric) - CAST(" + r.value + " AS pg_catalog.numeric))"
	}
	// Half of the last place, but for what numbers lose by being written, rounds it up.
	up := "0.499999 * pg_catalog.power(CAST(10 AS pg_catalog.numeric), -" + r.digits() + ")"
	return "CASE WHEN " + r.value + " IS NULL THEN NULL WHEN " + r.half + " IS NULL THEN 'unknown' WHEN " + r.half + " > 0 THEN '± ' || " +
		"CAST(pg_catalog.round(pg_catalog.round(" + half + " + " + up + ", " + r.digits() + "), GREATEST(" + r.digits() +
		", 0)) AS pg_catalog.text) ELSE '± 0' END"
}

// typeOf names the type of a column of numbers, with the bounds of one of whole numbers; "" of others.
func typeOf(f pgproto3.FieldDescription) (name, least, most string) {
	switch f.DataTypeOID {
	case pgtype.Int2:
		return "pg_catalog.int2", "-32768", "32767"
	case pgtype.Int4:
		return "pg_catalog.int4", "-2147483648", "2147483647"
	case pgtype.Int8:
		return "pg_catalog.int8", "-9223372036854775808", "9223372036854775807"
	case pgtype.Float4:
		return "pg_catalog.float4", "", ""
	case pgtype.Float8:
		return "pg_catalog.float8", "", ""
	case pgtype.Numeric:
		return "pg_catalog.numeric", "", "" // of any precision, since rounding may add a digit
	}
	return "", "", ""
}

func isNumber(f pgproto3.FieldDescription) bool {
	kind, _, _ := typeOf(f)
	return kind != ""
}
