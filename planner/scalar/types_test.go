package scalar_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"dpproxy/catalog"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

var typeNames = []string{
	"bool", "int2", "int4", "int8", "numeric", "float4", "float8", "text", "varchar", "bpchar", "date", "time", "timestamp",
	"timestamptz", "interval", "uuid", "",
}

// typed is a constant of a type, or an untyped one.
func typed(name string) string {
	if name == "" {
		return "NULL"
	}
	return "NULL::" + name
}

// TestOperatorTypes compares the type of every operator, function of two arguments and choice
// over every pair of types with Postgres's own.
func TestOperatorTypes(t *testing.T) {
	db := open(t)
	forms := []string{
		"%s + %s", "%s - %s", "%s * %s", "%s / %s", "%s %% %s", "%s || %s", "%s = %s", "%s < %s", "%s IS DISTINCT FROM %s", "%s IN (%s)",
		"COALESCE(%s, %s)", "NULLIF(%s, %s)", "GREATEST(%s, %s)", "CASE WHEN true THEN %s ELSE %s END", "mod(%s, %s)", "round(%s, %s)",
		"date_trunc(%s, %s)", "date_part(%s, %s)", "timezone(%s, %s)", "strpos(%s, %s)", "left(%s, %s)", "to_char(%s, %s)",
		"power(%s, %s)", "div(%s, %s)", "btrim(%s, %s)", "%s ^ %s",
	}
	accepted := 0
	for _, form := range forms {
		for _, a := range typeNames {
			for _, b := range typeNames {
				if db.compareType(t, fmt.Sprintf(form, typed(a), typed(b))) {
					accepted++
				}
			}
		}
	}
	for _, form := range []string{
		"-(%s)", "+(%s)", "abs(%s)", "sign(%s)", "round(%s)", "floor(%s)", "ceil(%s)", "trunc(%s)",
		"length(%s)", "octet_length(%s)", "lower(%s)", "sqrt(%s)", "exp(%s)",
	} {
		for _, a := range typeNames[:len(typeNames)-1] {
			if db.compareType(t, fmt.Sprintf(form, typed(a))) {
				accepted++
			}
		}
	}
	if accepted < 1400 {
		t.Errorf("only %d expressions were accepted", accepted)
	}
}

// compareType resolves a constant and checks its type; false if it is refused.
func (db *database) compareType(t *testing.T, text string) bool {
	t.Helper()
	e, _, err := parse(text)
	if err != nil {
		return false
	}
	x, err := resolver().Expr(e)
	if err != nil {
		return false
	}
	got, err := db.native(t.Context(), "SELECT CAST(pg_typeof("+text+") AS oid)")
	if err != nil {
		t.Errorf("%s: accepted, in Postgres %v", text, err)
		return true
	}
	if err := sameType(*got[0][0], x.Type()); err != nil {
		t.Errorf("%s: %v", text, err)
	}
	return true
}

// TestFoldTypes evaluates constants whose types Check then compares.
func TestFoldTypes(t *testing.T) {
	db := open(t)
	for _, text := range []string{
		"1", "3000000000", "99999999999999999999", "1.5", "1e3", "-5", "'x'", "NULL", "true", "$1", "$2", "$3", "$4", "$5", "now()",
		"transaction_timestamp()", "statement_timestamp()", "current_date", "current_timestamp", "current_timestamp(0)", "localtimestamp",
		"localtime", "current_time", "current_user", "session_user", "now() - interval '1 day'", "current_date - 7",
		"current_date - '2020-01-01'", "'2020-01-01'::date + 1", "date '2020-01-01' + time '12:00'", "interval '1' day * 2",
		"make_date(2020, 1, 2)", "make_time(1, 2, 3)", "make_timestamp(2020, 1, 2, 3, 4, 5)", "make_timestamptz(2020, 1, 2, 3, 4, 5)",
		"make_interval(1, 2)", "make_interval()", "to_date('2020', 'YYYY')", "to_timestamp('2020', 'YYYY')", "to_timestamp(0)",
		"to_number('5', '9')", "date_trunc('month', now())", "date_trunc('month', current_date)", "date_trunc('day', interval '1 day')",
		"extract(year from now())", "extract(hour from time '12:00')", "date_part('year', now())", "now() AT TIME ZONE 'UTC'",
		"timestamp '2020-01-01' AT TIME ZONE 'UTC'", "lower('X')", "'a' || 'b'", "left('abc', 2)", "substring('abc' from 2)",
		"substring('abc', 'b')", "replace('a', 'b', 'c')", "concat('a', 'b')", "power(2, 3)", "2 ^ 3", "sqrt(4)", "round(2.5)",
		"round(2.567, 1)", "abs(-5)", "mod(5, 3)", "ARRAY[1, 2]", "ARRAY[1, 2.5]", "ARRAY['a', 'b']", "'{1,2}'::int[]", "'a'::varchar(5)",
		"'a'::char(3)", "1.5::numeric(10,1)", "CASE WHEN true THEN 1 ELSE 2.5 END", "COALESCE(1, 2.5)", "NULLIF(1, 2)",
		"NULLIF('a'::varchar, 'b')", "GREATEST(1, 2.5)", "1 = 1", "1 IN (1, 2)", "5 BETWEEN 1 AND 9", "1 = ANY (ARRAY[1])",
		"'a' LIKE 'b'", "NOT true", "true AND NULL", "(1 IS NULL) IS TRUE", "1 IS DISTINCT FROM 2", "(SELECT 5)::int",
		"upper((SELECT 'x'))", "'12:00'::time - '1 hour'::interval", "to_char(now(), 'YYYY')", "to_char(5, '9')", "lpad('a', 3)",
		"repeat('a', 3)", "'00000000-0000-0000-0000-000000000001'::uuid", "'1 day'::interval - '1 hour'", "-'1 day'::interval",
	} {
		e, _, err := parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if _, err := db.resolve(t.Context(), resolver(), e); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestCheck refuses values of other types than the folds must have.
func TestCheck(t *testing.T) {
	var c scalar.Constants
	c.Add(scalar.Fold{SQL: "1", Type: pgtype.Of(23)})
	c.Add(scalar.Fold{SQL: "x", Type: pgtype.Type{Enum: catalog.Name{Schema: "public", Name: "mood"}}})
	good := []scalar.Value{{OID: 23, Binary: true}, {OID: 20000}}
	if err := c.Check(good); err != nil {
		t.Error(err)
	}
	for name, bad := range map[string][]scalar.Value{
		"few":              good[:1],
		"another type":     {{OID: 20, Binary: true}, {OID: 20000}},
		"no enum":          {{OID: 23, Binary: true}, {OID: 25}},
		"an enum's binary": {{OID: 23, Binary: true}, {OID: 20000, Binary: true}},
	} {
		if err := c.Check(bad); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestBinaryValues reads constants as the mirror sends them.
func TestBinaryValues(t *testing.T) {
	db := open(t)
	for _, text := range []string{
		"0", "-7", "32767::int2", "3000000000", "0.00", "-12345.678", "1e20", "1e-20", "10000", "0.0001", "123456789.000000001",
		"0.5::float4", "-1e100::float8", "true", "false", "'2000-01-01'::date", "'1999-12-31'::date", "'2024-02-29'::date",
		"'2000-01-01 00:00:00.000001'::timestamp", "'1999-12-31 23:59:59'::timestamptz", "'-1 day'::interval",
		"'1 month -3 days 04:00'::interval",
	} {
		e, _, err := parse(text)
		if err != nil {
			t.Fatal(err)
		}
		res, err := db.resolve(t.Context(), resolver(), e)
		if err != nil {
			t.Fatal(err)
		}
		i := res.env.Bounds(res.x)
		got, err := db.native(t.Context(), "SELECT "+measured(res.x.Type(), text))
		if err != nil {
			t.Fatal(err)
		}
		if err := inBounds(got[0][0], i, slices.Contains([]uint32{700, 701}, res.x.Type().OID)); err != nil || !i.Constant() {
			t.Errorf("%s: %v, constant %s", text, err, strconv.FormatBool(i.Constant()))
		}
	}
}
