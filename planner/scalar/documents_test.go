package scalar_test

import (
	"fmt"
	"strings"
	"testing"

	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// TestFieldsAsTexts holds that a field that is no text by the policy is, as a text, what its type writes.
func TestFieldsAsTexts(t *testing.T) {
	db := open(t)
	for _, text := range []string{
		"(j ->> 'b')::bool", "(j ->> 'i2')::int2", "(j ->> 'i4')::int", "(j -> 'a' ->> 'b')::int", "(j ->> 'i8')::int8",
		"(j ->> 'nu')::numeric", "(j ->> 'd')::date",
	} {
		uncast, _, _ := strings.Cut(strings.TrimPrefix(text, "("), ")")
		res, err := db.resolved(t.Context(), uncast)
		if err == nil {
			err = db.total(t.Context(), res, text+"::text")
		}
		if err != nil {
			t.Errorf("%s: %v", uncast, err)
		}
	}
}

// spellings are texts that each type reads, or all but reads.
func spellings() (list []string) {
	for _, n := range []string{
		"32767", "32768", "2147483647", "2147483648", "9223372036854775807", "9223372036854775808", "0", "7", "99999", "1e5",
	} {
		for _, sign := range []string{"", "+", "-", "--", " ", "0", "."} {
			for _, end := range []string{"", " ", ".", ".5", "e3", "e-99", "E400", "x"} {
				list = append(list, sign+n+end)
			}
		}
	}
	for year := range 9 {
		for month := range 14 {
			for day := range 33 {
				list = append(list, fmt.Sprintf("%04d-%02d-%02d", []int{0, 1, 4, 100, 1900, 2000, 2023, 2024, 9999}[year], month, day))
			}
		}
	}
	for _, day := range []string{"2024-02-29", "0001-01-01", "9999-12-31"} {
		for _, clock := range []string{
			"00:00", "23:59:59.999999", "24:00:00", "12:60", "12:00:60", "1:00", "12:00:00.", "12:00:00.1234567", "12",
		} {
			for _, zone := range []string{"", "Z", "z", "+00", "-14:59", "+15", "+0530", "-1", " Europe/Rome", "+05:60"} {
				list = append(list, day+" "+clock+zone, day+"T"+clock+zone)
			}
		}
	}
	nines, zeros := strings.Repeat("9", 200), strings.Repeat("0", 194)
	return append(list, "", "-", ".", "e1", "1e", "NaN", "Infinity", "0x1F", "1_000", "true", "TRUE", "t", "tr", "2", "off", "of", "null",
		"today", "infinity", "epoch", "J2451187", "20240229", "2024-2-29", "29.02.2024", "２", nines, nines+"9", nines[4:]+"e+99",
		"0."+zeros+"0001", "."+zeros+"1e-9", zeros[:63], zeros[:64]+"1")
}

// TestFieldSpellings holds that a field never raises, and has Postgres's value wherever it has one.
func TestFieldSpellings(t *testing.T) {
	db := open(t)
	texts := spellings()
	for _, sql := range []string{
		`CREATE FUNCTION pg_temp.reads(x text, as_type text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN
			EXECUTE pg_catalog.format('SELECT CAST(%L AS %s)::text', x, as_type) INTO x;
			RETURN x;
			EXCEPTION WHEN OTHERS THEN RETURN NULL;
		END $$`,
		"CREATE TEMP TABLE spelled (j jsonb)",
		`INSERT INTO spelled SELECT jsonb_build_object('x', s) FROM unnest('{"` + strings.Join(texts, `","`) + `"}'::text[]) AS s`,
	} {
		if _, err := db.data.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	of := &scalar.Column{Name: "j", Type: pgtype.Of(pgtype.JSONB), SQL: "t0.j"}
	for _, typ := range scalar.FieldTypes[1:] {
		f := scalar.NewField(of, []string{"x"}, pgtype.Of(typ.OID))
		var read, other int
		var example *string
		err := db.data.QueryRow(t.Context(), `
			SELECT count(ours), count(*) FILTER (WHERE other),
				min(x || ' is ' || ours || ', in Postgres ' || coalesce(theirs, 'none')) FILTER (WHERE other)
			FROM (SELECT *, ours IS DISTINCT FROM theirs AND ours IS NOT NULL AS other FROM (
				SELECT j ->> 'x' AS x, `+f.Read()+`::text AS ours, pg_temp.reads(j ->> 'x', '`+typ.Name+`') AS theirs
				FROM spelled AS t0) q) q`).
			Scan(&read, &other, &example)
		switch {
		case err != nil:
			t.Errorf("%s: %v", typ.Name, err)
		case other > 0:
			t.Errorf("%s: %d texts: %s", typ.Name, other, *example)
		case read < 2:
			t.Errorf("%s: %d texts are read", typ.Name, read)
		}
		t.Logf("%s: %d of %d texts are read", typ.Name, read, len(texts))
	}
}

// TestFieldsShowNoDocuments holds that a text is none of an object or an array, nor of a document that is larger than any that is read, nor
// of an element of an array.
func TestFieldsShowNoDocuments(t *testing.T) {
	db := open(t)
	of := &scalar.Column{Name: "j", Type: pgtype.Of(pgtype.JSONB), SQL: "j"}
	for document, want := range map[string]string{
		`'{"a": "x"}'`: "x", `'{"a": 1.50}'`: "1.50", `'{"a": false}'`: "false", `'{"a": ""}'`: "", `'{"a": "{"}'`: "{",
		`'{"a": {"b": "secret"}}'`: "NULL", `'{"a": ["secret"]}'`: "NULL", `'{"a": null}'`: "NULL", `'{"b": "secret"}'`: "NULL",
		`'["a"]'`: "NULL", `'"a"'`: "NULL",
		`jsonb_build_object('a', 'x', 'b', (SELECT string_agg(md5(n::text), '') FROM generate_series(1, 120) AS n))`: "x",
		`jsonb_build_object('a', 'x', 'b', (SELECT string_agg(md5(n::text), '') FROM generate_series(1, 140) AS n))`: "NULL",
	} {
		for _, keys := range [][]string{{"a"}, {"c", "a"}} {
			sql := document + "::jsonb"
			if len(keys) > 1 {
				sql = "jsonb_build_object('c', " + sql + ")"
			}
			var got string
			f := scalar.NewField(of, keys, pgtype.Of(pgtype.Text))
			err := db.data.QueryRow(t.Context(), "SELECT coalesce("+f.Read()+", 'NULL') FROM (SELECT "+sql+" AS j) q").Scan(&got)
			if err != nil || got != want {
				t.Errorf("%v of %s is %q, not %q: %v", keys, document, got, want, err)
			}
		}
	}
	for _, oid := range []uint32{pgtype.Text, pgtype.Int4} {
		var shown bool
		first := scalar.NewField(of, []string{"0"}, pgtype.Of(oid))
		err := db.data.QueryRow(t.Context(), "SELECT "+first.Read()+" IS NOT NULL FROM (SELECT '[5]'::jsonb AS j) q").Scan(&shown)
		if err != nil || shown {
			t.Errorf("an element of an array is shown: %v", err)
		}
	}
}
