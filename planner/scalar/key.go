package scalar

import (
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
)

// Canonical writes a value of a type as bytes, for an order that only the secret determines. The bytes are a function of the value,
// different for different values, and self-delimiting. Values that are equal but look different, such as intervals, may have different
// bytes. For a value that cannot be compared the bytes are the results of tests for NULL.
func Canonical(t pgtype.Type, sql string) string {
	if t.Array {
		return orNothing("pg_catalog.sha256(pg_catalog.array_send(" + sql + "))")
	}
	if t.Family() == pgtype.NoFamily {
		return "pg_catalog.int4send(pg_catalog.num_nulls(" + sql + ")) || pg_catalog.boolsend(" + nullSQL(t, sql, false) + ")" +
			" || pg_catalog.boolsend(" + nullSQL(t, sql, true) + ")"
	}
	return orNothing(bytesOf(t, sql))
}

// Spelled is Canonical, with different bytes also for equal values that look different: numerics of different scales, and texts of
// character(n) with different trailing blanks. Rows with the same bytes are identical for every expression.
func Spelled(t pgtype.Type, sql string) string {
	switch {
	case t.Array: // it has the bytes of its elements as they are
	case t.Decimal():
		return orNothing("pg_catalog.numeric_send(" + sql + ")")
	case t.OID == pgtype.Bpchar:
		return orNothing(delimited(t, "pg_catalog.bpcharsend("+sql+")"))
	}
	return Canonical(t, sql)
}

// orNothing distinguishes the bytes of a value from NULL.
func orNothing(bytes string) string {
	return "COALESCE('\\x01'::pg_catalog.bytea || " + bytes + ", '\\x00')"
}

func bytesOf(t pgtype.Type, x string) string {
	switch {
	case t.Family() == pgtype.TextFamily, t.Family() == pgtype.EnumFamily:
		return delimited(t, "pg_catalog.textsend(CAST("+x+" AS pg_catalog.text))")
	case t.Decimal():
		x = "pg_catalog.trim_scale(" + x + ")"
	case t.Float():
		x, t = oneSpelling(x), pgtype.Of(pgtype.Float8)
	}
	return t.Send() + "(" + x + ")"
}

// delimited makes the bytes of a text self-delimiting. Bytes that can be long are hashed instead, so that a row remains short.
func delimited(t pgtype.Type, bytes string) string {
	if Hashed(t) {
		return "pg_catalog.sha256(" + bytes + ")"
	}
	return bytes + " || '\\x00'::pg_catalog.bytea"
}

// Hashed reports whether the bytes of a type are hashed in its canonical form.
func Hashed(t pgtype.Type) bool {
	const short = 255 // characters
	return t.Family() == pgtype.TextFamily && (t.Length() < 0 || t.Length() > short)
}

// oneSpelling writes a float with a single zero and a single NaN.
func oneSpelling(x string) string {
	f := "CAST(" + x + " AS pg_catalog.float8)"
	nan := "CAST('NaN' AS pg_catalog.float8)"
	return "CASE WHEN " + f + " OPERATOR(pg_catalog.=) 0 THEN 0" +
		" WHEN " + f + " OPERATOR(pg_catalog.=) " + nan + " THEN " + nan + " ELSE " + f + " END"
}

// KeyText writes a private group key as text: equal values have the same text, which the mirror reads as the value again. It refuses types
// whose equal values can look different. A timestamp with time zone is shown in UTC.
func KeyText(t pgtype.Type, sql string) (string, error) {
	if !t.Deterministic {
		return "", pgerr.New(pgerr.PrivateGroupKey, "values of a text with a non-deterministic collation can look different and be equal").
			WithHint("Group by a column whose collation is deterministic.")
	}
	moment := func(template string) string { // to_char casts a date to a timestamp, for which the latest dates are out of range
		return "CASE WHEN " + sql + " OPERATOR(pg_catalog.>=) CAST('0001-01-01' AS " + t.SQL() + ")" +
			" AND " + sql + " OPERATOR(pg_catalog.<) CAST('10000-01-01' AS " + t.SQL() +
			") THEN pg_catalog.to_char(" + sql + ", '" + template + "') ELSE CAST(" + sql + " AS pg_catalog.text) END"
	}
	switch t.Family() {
	case pgtype.NumericFamily:
		return "CAST(pg_catalog.trim_scale(" + sql + ") AS pg_catalog.text)", nil
	case pgtype.FloatFamily:
		return "CAST(" + oneSpelling(sql) + " AS pg_catalog.text)", nil
	case pgtype.DateFamily:
		if t.OID == pgtype.Date {
			return moment("YYYY-MM-DD"), nil
		}
		return moment("YYYY-MM-DD HH24:MI:SS.US"), nil
	case pgtype.InstantFamily:
		return moment("YYYY-MM-DD HH24:MI:SS.US\"+00\""), nil
	case pgtype.BoolFamily, pgtype.IntFamily, pgtype.TextFamily, pgtype.UUIDFamily, pgtype.EnumFamily, pgtype.TimeFamily:
		return "CAST(" + sql + " AS pg_catalog.text)", nil
	case pgtype.IntervalFamily, pgtype.NoFamily:
	}
	return "", pgerr.New(pgerr.PrivateGroupKey, "values of type %s can look different and be equal, or cannot be compared", t).
		WithHint("Group by an expression of another type.")
}
