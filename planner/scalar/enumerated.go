package scalar

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"

	"dpproxy/planner/pgtype"
)

// Enumerated writes a group key that the mirror evaluates as text. The text does not depend on settings of the session, such as TimeZone,
// DateStyle or extra_float_digits: floats, dates and times are written as their bytes in hexadecimal. [EnumeratedText] reads it.
//
// Equal values have the same text, except for zeros of floats and trailing decimals of numerics (see [Respelled]).
func Enumerated(t pgtype.Type, sql string) string {
	if t.Float() {
		sql = "CAST(" + sql + " AS pg_catalog.float8)"
	}
	if size := pgtype.Size(sent(t)); size > 0 {
		return "pg_catalog.encode(" + pgtype.Of(sent(t)).Send() + "(" + sql + "), 'hex')"
	}
	return "CAST(" + sql + " AS pg_catalog.text)"
}

// Respelled reports whether equal values of the type can look different in GROUP BY: 1.5 and 1.50, 0 and -0.
func Respelled(t pgtype.Type) bool { return t.Float() || t.Decimal() }

// sent returns the type whose bytes represent a value, or 0 if its text does.
func sent(t pgtype.Type) uint32 {
	switch {
	case t.Array:
	case t.Float():
		return pgtype.Float8
	case t.Dated():
		return t.OID
	}
	return 0
}

// EnumeratedText converts a text of [Enumerated] to a spelling that Postgres reads as the same value under all settings of a session. ok is
// false for other texts.
func EnumeratedText(t pgtype.Type, text string) (spelling string, ok bool) {
	size := pgtype.Size(sent(t))
	if size == 0 {
		return text, true
	}
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != size {
		return "", false
	}
	switch sent(t) {
	case pgtype.Float8:
		return floatText(math.Float64frombits(binary.BigEndian.Uint64(b))), true
	case pgtype.Date:
		days := int32(binary.BigEndian.Uint32(b))
		return dayText(int64(days), "", days == math.MinInt32, days == math.MaxInt32), true
	}
	micros := int64(binary.BigEndian.Uint64(b))
	clock := pgtype.Moment(micros).Format(" 15:04:05.999999")
	if t.Zoned() {
		clock += "+00"
	}
	return dayText(floorDiv(micros, pgtype.MicrosPerDay), clock, micros == math.MinInt64, micros == math.MaxInt64), true
}

// floatText writes a float such that reading it returns the same value.
func floatText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 0):
		return map[bool]string{true: "-Infinity", false: "Infinity"}[f < 0]
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// dayText writes a day, counted from 2000-01-01, followed by a time of day. Years before 1 are years BC.
func dayText(days int64, clock string, lowest, highest bool) string {
	switch {
	case lowest:
		return "-infinity"
	case highest:
		return "infinity"
	}
	era := ""
	year, month, day := pgtype.Epoch.AddDate(0, 0, int(days)).Date()
	if year < 1 {
		year, era = 1-year, " BC"
	}
	return fmt.Sprintf("%04d-%02d-%02d%s%s", year, month, day, clock, era)
}

// floorDiv divides and rounds down.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
