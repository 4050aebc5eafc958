package scalar_test

import (
	"slices"
	"strings"
	"testing"

	"dpproxy/catalog"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// keyValues are values of each type that may be a key, some of them equal.
var keyValues = []struct {
	t      pgtype.Type
	values []string
}{
	{pgtype.Of(16), []string{"true", "false"}},
	{pgtype.Of(21), []string{"-32768", "0", "7"}},
	{pgtype.Of(23), []string{"-2147483648", "0", "7"}},
	{pgtype.Of(20), []string{"-9223372036854775808", "0", "7"}},
	{pgtype.Of(1700), []string{"1", "1.0", "1.000", "100", "1e2", "-0.0", "0", "0.10", "'NaN'", "'Infinity'", "'-Infinity'", "1e-20"}},
	{pgtype.Of(700), []string{"'0'", "'-0'", "0.1", "'NaN'", "'Infinity'", "1e-45"}},
	{pgtype.Of(701), []string{"'0'", "'-0'", "0.1", "0.30000000000000004", "0.3", "'NaN'", "'-Infinity'", "5e-324", "1e308"}},
	{pgtype.Of(25), []string{"''", "'a'", "'a '", "'NULL'", `'\x'`, "'ß'"}},
	{pgtype.Of(1082), []string{
		"'2020-01-01'", "'infinity'", "'-infinity'", "'0044-03-15 BC'", "'9999-12-31'", "'10000-01-01'",
		"'12345-01-01'", "'294277-01-01'", "'5874897-12-31'", "'4714-11-24 BC'",
	}},
	{pgtype.Of(1114), []string{
		"'2020-01-01'", "'2020-01-01 00:00:00.000001'", "'infinity'", "'0044-03-15 01:02:03 BC'",
		"'12345-01-01 23:59:59'", "'294276-12-31 23:59:59.999999'", "'4714-11-24 BC'",
	}},
	{pgtype.Of(1184), []string{
		"'2020-01-01 00:00+00'", "'2020-01-01 02:00+02'", "'-infinity'", "'0044-03-15 01:02:03+00 BC'",
		"'2020-06-01 00:00:00.5+00'", "'294276-12-31 23:59:59.999999+00'", "'4714-11-24+00 BC'",
	}},
	{pgtype.Of(1083), []string{"'00:00'", "'12:34:56.5'", "'24:00'"}},
	{pgtype.Of(2950), []string{"'00000000-0000-0000-0000-000000000001'", "'00000000-0000-0000-0000-00000000000A'"}},
	{moodType, []string{"'sad'", "'ok'"}},
}

var moodType = pgtype.Type{Enum: catalog.Name{Schema: "public", Name: "mood"}, Mod: -1, Deterministic: true}

// TestKeys writes values of each type as key texts and as bytes: the same for equal values and
// different ones for others; a text reads as the value again.
func TestKeys(t *testing.T) {
	db := open(t)
	for _, c := range keyValues {
		values := slices.DeleteFunc(slices.Clone(c.values), func(v string) bool {
			return db.version < 14 && c.t.OID == 1700 && strings.Contains(v, "Infinity")
		})
		for _, a := range values {
			for _, b := range values {
				db.compareKeys(t, c.t, a, b)
			}
		}
	}
}

// TestEnumerated writes values of each type as the mirror lists keys: whatever the session's
// settings are, it is the same text, and it reads as the value again.
func TestEnumerated(t *testing.T) {
	db := open(t)
	for _, c := range keyValues {
		for _, v := range c.values {
			x := "CAST(" + v + " AS " + c.t.SQL() + ")"
			plain := db.under(t, "SET LOCAL extra_float_digits = 1", scalar.Enumerated(c.t, x))
			const settings = "SET LOCAL TimeZone = 'Asia/Kathmandu'; SET LOCAL DateStyle = 'SQL, DMY'; SET LOCAL extra_float_digits = -15"
			other := db.under(t, settings, scalar.Enumerated(c.t, x))
			text, ok := scalar.EnumeratedText(c.t, plain)
			if plain != other || !ok {
				t.Errorf("%s: %q, and %q in another session", x, plain, other)
				continue
			}
			again := "CAST('" + strings.ReplaceAll(text, "'", "''") + "' AS " + c.t.SQL() + ")"
			for _, style := range []string{"ISO, YMD", "German", "SQL, DMY", "Postgres, MDY"} {
				if same := db.under(t, "SET LOCAL TimeZone = 'America/St_Johns'; SET LOCAL DateStyle = '"+style+"'",
					again+" = "+x); same != "t" {
					t.Errorf("%s is read as another value than %s with DateStyle %s", again, x, style)
				}
			}
		}
	}
}

// under evaluates an expression in the analyst's session, with settings of one transaction.
func (db *database) under(t *testing.T, settings, sql string) string {
	t.Helper()
	results, err := db.analyst.PgConn().Exec(t.Context(), "BEGIN; "+settings+"; SELECT "+sql+"; ROLLBACK").ReadAll()
	if err != nil {
		t.Fatalf("%s; %s: %v", settings, sql, err)
	}
	return string(results[len(results)-2].Rows[0][0])
}

func (db *database) compareKeys(t *testing.T, typ pgtype.Type, a, b string) {
	t.Helper()
	x, y := "CAST("+a+" AS "+typ.SQL()+")", "CAST("+b+" AS "+typ.SQL()+")"
	textX, err := scalar.KeyText(typ, x)
	if err != nil {
		t.Fatal(err)
	}
	textY, err := scalar.KeyText(typ, y)
	if err != nil {
		t.Fatal(err)
	}
	got, err := db.query(t.Context(), &scalar.Env{}, "SELECT "+x+" = "+y+", "+textX+" = "+textY+", "+
		scalar.Canonical(typ, x)+" = "+scalar.Canonical(typ, y)+", CAST("+textX+" AS "+typ.SQL()+") = "+x)
	if err != nil {
		t.Fatal(err)
	}
	r := got[0]
	if *r[0] != *r[1] || *r[0] != *r[2] || *r[3] != "t" {
		t.Errorf("%s and %s: equal %s, texts equal %s, bytes equal %s; read again %s", x, y, *r[0], *r[1], *r[2], *r[3])
	}
}

// TestCanonicalNull tells NULL from all values, and in a type that does not compare alone.
func TestCanonicalNull(t *testing.T) {
	db := open(t)
	for _, c := range []struct {
		t    pgtype.Type
		x, y string
		same string
	}{
		{pgtype.Of(25), "CAST(NULL AS text)", "CAST('' AS text)", "f"},
		{pgtype.Of(23), "CAST(NULL AS int4)", "0", "f"},
		{pgtype.Of(1186), "CAST(NULL AS interval)", "interval '0'", "f"},
		{pgtype.Of(1186), "interval '1 day'", "interval '2 days'", "f"},
		{pgtype.Type{OID: 3802}, "CAST(NULL AS jsonb)", "jsonb '{}'", "f"},
		{pgtype.Type{OID: 3802}, "jsonb '[]'", "jsonb '{}'", "t"},
		{pgtype.Type{OID: 16390}, "ROW(1, 2)", "ROW(3, 4)", "t"},
		{pgtype.Type{OID: 16390}, "ROW(NULL, NULL)", "ROW(1, 2)", "f"},
		{pgtype.Type{OID: 16390}, "ROW(NULL, 2)", "ROW(1, 2)", "f"},
		{pgtype.Type{OID: 16390}, "ROW(NULL, 2)", "ROW(NULL, NULL)", "f"},
		{pgtype.Type{OID: 16390}, "ROW(NULL, NULL)", "CAST(NULL AS public.pair)", "f"},
	} {
		got, err := db.query(t.Context(), &scalar.Env{}, "SELECT "+scalar.Canonical(c.t, c.x)+" = "+scalar.Canonical(c.t, c.y))
		if err != nil {
			t.Fatal(err)
		}
		if *got[0][0] != c.same {
			t.Errorf("%s and %s: same bytes %s", c.x, c.y, *got[0][0])
		}
	}
}

// Types whose equal values can look different are no private keys.
func TestKeyTextRefuses(t *testing.T) {
	for _, typ := range []pgtype.Type{
		pgtype.Of(1186),
		{OID: 3802, Mod: -1, Deterministic: true},
		{OID: 25, Mod: -1, Deterministic: false, Collation: catalog.Name{Schema: "public", Name: "nocase"}},
		{OID: 16390, Mod: -1, Deterministic: true},
	} {
		if sql, err := scalar.KeyText(typ, "x"); err == nil {
			t.Errorf("%v: %s", typ, sql)
		}
	}
}
