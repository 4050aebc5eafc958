package scalar

import "dpproxy/pgerr"

// Canonical writes a value of a type as bytes, for an order that only the secret knows:
// the same bytes for the same value, different ones for different ones, and
// self-delimiting. Values that are equal but look different, as intervals can, may
// differ. Of a type that cannot be compared it is only whether the value is NULL; a
// composite value whose fields are all NULL is not.
func Canonical(t Type, sql string) string {
	if t.Family() == NoFamily {
		return "pg_catalog.int4send(pg_catalog.num_nulls(" + sql + "))"
	}
	return "COALESCE('\\x01'::pg_catalog.bytea || " + bytesOf(t, sql) + ", '\\x00')"
}

// Spelled is Canonical with different bytes also for equal values that look different:
// numerics of different scales, and texts of character(n) with blanks behind them. Rows
// with the same bytes are identical for every expression.
func Spelled(t Type, sql string) string {
	send := ""
	switch {
	case t.decimal():
		send = "pg_catalog.numeric_send(" + sql + ")"
	case t.OID == oidBpchar:
		send = "pg_catalog.bpcharsend(" + sql + ") || '\\x00'::pg_catalog.bytea"
	default:
		return Canonical(t, sql)
	}
	return "COALESCE('\\x01'::pg_catalog.bytea || " + send + ", '\\x00')"
}

// Bytes is Canonical for a value that is not NULL.
func Bytes(t Type, sql string) string { return bytesOf(t, sql) }

func bytesOf(t Type, x string) string {
	switch {
	case t.Family() == TextFamily, t.Family() == EnumFamily:
		return "pg_catalog.textsend(CAST(" + x + " AS pg_catalog.text)) || '\\x00'::pg_catalog.bytea"
	case t.decimal():
		x = "pg_catalog.trim_scale(" + x + ")"
	case t.float():
		x = oneSpelling(x)
	}
	return "pg_catalog." + typeInfos[t.OID].send + "(" + x + ")"
}

// oneSpelling writes a float with one zero and one NaN.
func oneSpelling(x string) string {
	f := "CAST(" + x + " AS pg_catalog.float8)"
	nan := "CAST('NaN' AS pg_catalog.float8)"
	return "CASE WHEN " + f + " OPERATOR(pg_catalog.=) 0 THEN 0 WHEN " + f + " OPERATOR(pg_catalog.=) " + nan + " THEN " + nan + " ELSE " + f + " END"
}

// KeyText writes a private group key as text: the same text for equal values, one that
// the mirror reads as the value again. It refuses types whose equal values can look different.
// A timestamp with time zone is shown in UTC.
func KeyText(t Type, sql string) (string, error) {
	if !t.Deterministic {
		return "", pgerr.New(pgerr.PrivateGroupKey, "values of a text with a non-deterministic collation can look different and be equal").
			WithHint("Group by a column whose collation is deterministic.")
	}
	moment := func(template string) string { // to_char makes a timestamp of a date, which the latest dates cannot become
		return "CASE WHEN " + sql + " OPERATOR(pg_catalog.>=) CAST('0001-01-01' AS " + t.SQL() + ") AND " + sql + " OPERATOR(pg_catalog.<) CAST('10000-01-01' AS " + t.SQL() +
			") THEN pg_catalog.to_char(" + sql + ", '" + template + "') ELSE CAST(" + sql + " AS pg_catalog.text) END"
	}
	switch t.Family() {
	case NumericFamily:
		return "CAST(pg_catalog.trim_scale(" + sql + ") AS pg_catalog.text)", nil
	case FloatFamily:
		return "CAST(" + oneSpelling(sql) + " AS pg_catalog.text)", nil
	case DateFamily:
		if t.OID == oidDate {
			return moment("YYYY-MM-DD"), nil
		}
		return moment("YYYY-MM-DD HH24:MI:SS.US"), nil
	case InstantFamily:
		return moment("YYYY-MM-DD HH24:MI:SS.US\"+00\""), nil
	case BoolFamily, IntFamily, TextFamily, UUIDFamily, EnumFamily, TimeFamily:
		return "CAST(" + sql + " AS pg_catalog.text)", nil
	case IntervalFamily, NoFamily:
	}
	return "", pgerr.New(pgerr.PrivateGroupKey, "values of type %s can look different and be equal, or cannot be compared", t).
		WithHint("Group by an expression of another type.")
}

// Physical returns the type that a column has where it is read: what is computed in a
// derived table may be wider than its type says.
func (w *Writer) Physical(c *Column) Type {
	if c.derived() {
		return w.Env.physical(&Ref{Column: c})
	}
	return c.Type
}
