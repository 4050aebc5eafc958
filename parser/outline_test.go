package parser_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"dpproxy/parser"
)

// TestOutline reads what SELECTs name, wherever it stands, and refuses what is no SELECT
// that only reads.
func TestOutline(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT 1": "[]",
		"SELECT passwd FROM pg_catalog.pg_shadow WHERE usename = $1 ;\n":                 "[1] pg_catalog.pg_shadow",
		`SELECT a FROM "T a" t JOIN U&"\0062" USING (x) WHERE $2 = $1::text OR $1 = t.b`: "[1 2] .T a .b",
		"SELECT $3 -- $1 FROM c\n": "[3]",
		"WITH w AS MATERIALIZED (SELECT * FROM a) SELECT (SELECT x FROM b LIMIT $1) FROM w":                   "[1] .a .b .w",
		"SELECT 1 FROM a UNION ALL (SELECT 2 FROM b WHERE EXISTS (SELECT FROM c ORDER BY (SELECT 1 FROM d)))": "[] .a .b .c .d",
		"SELECT ARRAY(SELECT x FROM a), f((SELECT y FROM b)) FROM f2((SELECT z FROM c)) TABLESAMPLE":          "no",
		"SELECT count(*) FILTER (WHERE x IN (SELECT y FROM b)) OVER (ORDER BY (SELECT 1 FROM c)) " +
			"FROM a TABLESAMPLE system ((SELECT 1 FROM d))": "[] .a .b .c .d",
		"VALUES ((SELECT $1 FROM a))":    "[1] .a",
		"TABLE a":                        "[] .a",
		"":                               "no",
		"SELEC":                          "no",
		"SELECT 1; SELECT 2":             "no",
		"SELECT 1 INTO a":                "no",
		"SELECT 1 INTO a UNION SELECT 2": "no",
		"SELECT * FROM a FOR SHARE":      "no",
		"SELECT * FROM (SELECT * FROM a FOR UPDATE) x":                        "no",
		"WITH w AS (DELETE FROM a RETURNING *) SELECT * FROM w":               "no",
		"SELECT (WITH w AS (UPDATE a SET x = 1 RETURNING x) SELECT x FROM w)": "no",
		"WITH w AS (INSERT INTO a VALUES (1) RETURNING *) SELECT * FROM w":    "no",
		"DELETE FROM a":                            "no",
		"EXPLAIN SELECT 1":                         "no",
		"COPY (SELECT 1) TO STDOUT":                "no",
		"SELECT " + strings.Repeat("(", 100_000):   "no",
		"SELECT 1" + strings.Repeat("+1", 100_000): "no",
	} {
		o, ok := parser.OutlineOf(sql)
		got := fmt.Sprint(o.Params)
		var names []string
		for _, r := range o.Relations {
			names = append(names, " "+r.Schema+"."+r.Name)
		}
		slices.Sort(names)
		got += strings.Join(names, "")
		if !ok {
			got = "no"
		}
		if got != want {
			t.Errorf("%.100s\nnames %s, want %s", sql, got, want)
		}
	}
}
