package parser_test

import (
	"reflect"
	"testing"

	"dpproxy/parser"
	"dpproxy/parser/ast"
	"dpproxy/parser/parsertest"
)

// where parses the condition of a query over visits.
func where(t *testing.T, condition string) ast.Expr {
	t.Helper()
	script, err := parser.Parse("SELECT count(*) FROM visits WHERE "+condition, parsertest.Clinic)
	if err != nil {
		t.Fatal(err)
	}
	s := script.Statements[0]
	if len(s.Blocks) != 1 || s.Blocks[0].Err != nil {
		t.Fatalf("%s: no block", condition)
	}
	return s.Blocks[0].Where
}

func TestPrint(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"qty = 1", `("qty" OPERATOR(pg_catalog.=) 1)`},
		{"v.qty = -1", `("v"."qty" OPERATOR(pg_catalog.=) (-1))`},
		{"- qty < 1e3", `((OPERATOR(pg_catalog.-) "qty") OPERATOR(pg_catalog.<) 1e3)`},
		{"diagnosis -> 'a' ->> 'b'", `("diagnosis" OPERATOR(pg_catalog.->) 'a' OPERATOR(pg_catalog.->>) 'b')`},
		{`diagnosis #>> '{a,"b c"}'`, `("diagnosis" OPERATOR(pg_catalog.->) 'a' OPERATOR(pg_catalog.->>) 'b c')`},
		{"diagnosis #> ARRAY['a'] -> '0'", `("diagnosis" OPERATOR(pg_catalog.->) 'a' OPERATOR(pg_catalog.->) '0')`},
		{"diagnosis['a']['b']::int", `CAST(("diagnosis" OPERATOR(pg_catalog.->) 'a' OPERATOR(pg_catalog.->) 'b') AS "pg_catalog"."int4")`},
		{"jsonb_extract_path_text(diagnosis, 'a')", `("diagnosis" OPERATOR(pg_catalog.->>) 'a')`},
		{"diagnosis = 'it''s'", `("diagnosis" OPERATOR(pg_catalog.=) 'it''s')`},
		{`diagnosis = E'a\\b'`, `("diagnosis" OPERATOR(pg_catalog.=) E'a\\b')`},
		{"qty IS NULL AND NOT true", `(("qty" IS NULL) AND (NOT TRUE))`},
		{"qty IN (1, 2) OR qty NOT IN (3)", `(("qty" IN (1, 2)) OR ("qty" NOT IN (3)))`},
		{"qty::numeric(4,1)::my.t[] IS NOT NULL", `(CAST(CAST("qty" AS "pg_catalog"."numeric"(4, 1)) AS "my"."t"[]) IS NOT NULL)`},
		{"coalesce(lower(diagnosis), $1) LIKE 'a%'", `(COALESCE(pg_catalog."lower"("diagnosis"), $1) OPERATOR(pg_catalog.~~) 'a%')`},
		{"day < CURRENT_DATE", `("day" OPERATOR(pg_catalog.<) CURRENT_DATE)`},
		{`"we""ird" IS TRUE`, `("we""ird" IS TRUE)`},
		{"qty IS DISTINCT FROM NULL", `("qty" IS DISTINCT FROM NULL)`},
		{"qty NOT BETWEEN SYMMETRIC 1 AND 2", `("qty" NOT BETWEEN SYMMETRIC 1 AND 2)`},
		{"CASE qty WHEN 1 THEN true ELSE false END", `(CASE "qty" WHEN 1 THEN TRUE ELSE FALSE END)`},
		{"CASE WHEN qty > 1 THEN smoker END", `(CASE WHEN ("qty" OPERATOR(pg_catalog.>) 1) THEN "smoker" END)`},
		{"qty <> ALL (ARRAY[1, $1])", `("qty" OPERATOR(pg_catalog.<>) ALL (ARRAY[1, $1]))`},
		{"qty = ANY ('{1}'::int[])", `("qty" OPERATOR(pg_catalog.=) ANY (CAST('{1}' AS "pg_catalog"."int4"[])))`},
		{"diagnosis NOT ILIKE 'a%'", `("diagnosis" OPERATOR(pg_catalog.!~~*) 'a%')`},
		{"qty > (SELECT 1  LIMIT 1)", `("qty" OPERATOR(pg_catalog.>) (SELECT 1  LIMIT 1))`},
		{
			"qty NOT IN (SELECT id FROM ONLY hospitals AS h (a, \"B\"))",
			`("qty" NOT IN (SELECT "id" AS "id" FROM ONLY "hospitals" AS "h"("a", "B")))`,
		},
		{
			"EXISTS (SELECT DISTINCT *, p.* FROM public.patients p NATURAL LEFT JOIN hospitals WHERE id = qty)",
			`EXISTS (SELECT DISTINCT *, "p".* FROM ("public"."patients" AS "p" NATURAL LEFT JOIN "hospitals") ` +
				`WHERE ("id" OPERATOR(pg_catalog.=) "qty"))`,
		},
		{
			"patient_id IN (SELECT id FROM (SELECT patient_id, count(*) FROM visits GROUP BY 1 HAVING sum(DISTINCT qty) " +
				"FILTER (WHERE qty > 1) > 3) AS t(id, n) JOIN patients USING (id) UNION ALL SELECT 1)",
			`("patient_id" IN ((SELECT "id" AS "id" FROM ((SELECT "patient_id" AS "patient_id", pg_catalog."count"(*) AS "count" ` +
				`FROM "visits" GROUP BY "patient_id" HAVING (pg_catalog."sum"(DISTINCT "qty") ` +
				`FILTER (WHERE ("qty" OPERATOR(pg_catalog.>) 1)) OPERATOR(pg_catalog.>) 3)) AS "t"("id", "n") ` +
				`JOIN "patients" USING ("id"))) UNION ALL (SELECT 1 AS "?column?")))`,
		},
		{"public.visits.qty IS NOT DISTINCT FROM $2", `("public"."visits"."qty" IS NOT DISTINCT FROM $2)`},
	} {
		x := where(t, c.in)
		if got := printed(x); got != c.want {
			t.Errorf("%s:\n%s\n%s", c.in, got, c.want)
		}
		again := where(t, printed(x))
		if !equal(x, again) {
			t.Errorf("%s: prints as %s, which is another expression", c.in, printed(x))
		}
	}
}

func TestEqual(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"qty = 1", "(qty)   =   1", true},
		{"qty = 1", "qty = 2", false},
		{"qty = 1", "qty = '1'", false},
		{"qty = $1", "qty = $2", false},
		{"true", "'TRUE'", false},
		{"qty = 1 AND qty = 2", "qty = 1 OR qty = 2", false},
		{"qty IS NULL", "qty IS NOT NULL", false},
		{"v.qty = 1", "qty = 1", false},
		{"qty = 1 AND (qty = 2 AND qty = 3)", "(qty = 1 AND qty = 2) AND qty = 3", false},
	} {
		if got := equal(where(t, c.a), where(t, c.b)); got != c.want {
			t.Errorf("%s | %s: %t", c.a, c.b, got)
		}
	}
	if !equal(nil, nil) || equal(nil, where(t, "true")) || equal(where(t, "true"), nil) {
		t.Error("nil is equal to nil alone")
	}
}

func TestColumnFree(t *testing.T) {
	for in, want := range map[string]bool{
		"true":                            true,
		"1 + $1 > abs(2)":                 true,
		"now() - interval '1 day' > '1'":  true,
		"qty = 1":                         false,
		"1 IN (2, qty)":                   false,
		"coalesce(1, nullif(2, qty)) = 1": false,
		"1 BETWEEN 2 AND qty":             false,
		"NOT (1 = 2 OR qty IS NULL)":      false,
		"qty::text::int IS TRUE":          false,
		"1 IS DISTINCT FROM qty":          false,
		"- qty = 1":                       false,
		"CASE WHEN true THEN 1 ELSE 2 END = ANY (ARRAY[$1, 3])": true,
		"CASE WHEN true THEN 1 ELSE qty END = 1":                false,
		"CASE qty WHEN 1 THEN true END":                         false,
		"CASE WHEN 1 = qty THEN true END":                       false,
		"1 = ANY (ARRAY[qty])":                                  false,
		"1 < (SELECT max(id) FROM hospitals)":                   true,
		"1 IN (SELECT id FROM hospitals)":                       false,
		"EXISTS (SELECT FROM hospitals)":                        false,
	} {
		if got := ast.ColumnFree(where(t, in)); got != want {
			t.Errorf("%s: %t", in, got)
		}
	}
}

// equal reports whether the expressions are the same but for their positions.
func equal(a, b ast.Expr) bool {
	if isNil(a) || isNil(b) {
		return isNil(a) && isNil(b)
	}
	return reflect.TypeOf(a) == reflect.TypeOf(b) && printed(a) == printed(b) && sameConstants(a, b)
}

func isNil(x ast.Expr) bool { return x == nil || reflect.ValueOf(x).IsNil() }

// sameConstants compares the kinds of literals, which printed can show alike.
func sameConstants(a, b ast.Expr) bool {
	x, okX := a.(*ast.Const)
	y, okY := b.(*ast.Const)
	if okX != okY || okX && x.Kind != y.Kind {
		return false
	}
	l, r := ast.Operands(a), ast.Operands(b)
	for i := range l {
		if i >= len(r) || !sameConstants(l[i], r[i]) {
			return false
		}
	}
	return len(l) == len(r)
}
