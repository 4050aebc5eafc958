package scalar_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPlansWithoutValues holds that how many rows Postgres expects, when it plans a condition that
// tries a pattern or compares what can be long by order, is the same whatever the values are: it
// has looked at none, in statistics of columns or of expressions.
func TestPlansWithoutValues(t *testing.T) {
	db := open(t)
	expected := map[string][]string{} // by condition, for each content of the table
	for _, value := range []string{"a", "z"} {
		for _, sql := range []string{
			"DROP TABLE IF EXISTS held", "CREATE TEMP TABLE held (LIKE public.t)",
			"CREATE INDEX ON held (lower(v)); CREATE INDEX ON held (upper(c)); CREATE INDEX ON held (round(nu))",
			fmt.Sprintf("INSERT INTO held (k, inside, u, nn, v, c, s, cc, nu, nf, b) SELECT g, true, g, 1, x, x, x, x, y, y, true "+
				"FROM generate_series(1, 400) g, (VALUES ('%s', %d)) o (x, y)", value, value[0]),
			"ANALYZE held",
		} {
			if _, err := db.data.Exec(t.Context(), sql); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
		for _, c := range looked() {
			if rows := db.expected(t, c); rows != "" {
				expected[c] = append(expected[c], rows)
			}
		}
		if got := db.expected(t, "v = 'a'"); (got == "400") != (value == "a") {
			t.Errorf("of an equality, whose values are no longer than the constant, %s rows are expected", got)
		}
	}
	for c, rows := range expected {
		if len(slices.Compact(rows)) != 1 {
			t.Errorf("%s: %v rows are expected", c, rows)
		}
	}
	if len(expected) < 130 {
		t.Errorf("only %d conditions were planned", len(expected))
	}
	if _, err := db.data.Exec(t.Context(), "DROP TABLE held"); err != nil {
		t.Fatal(err)
	}
}

// looked lists conditions that look at values.
func looked() (list []string) {
	texts := []string{
		"v", "c", "s", "cc", "lower(v)", "upper(c)", "CAST(v AS text)", "CAST(v AS varchar(3))", "CASE WHEN true THEN v END",
		"CASE WHEN true THEN c END", "coalesce(v, NULL)", "coalesce(NULL, v)", "CASE WHEN NULL THEN 'x' ELSE lower(v) END",
		"nullif(v, NULL)", "v || ''", "greatest(v)",
	}
	numbers := []string{"nu", "nf", "CASE WHEN true THEN nu END", "coalesce(NULL, nu)", "round(nu)", "nu + 0", "CAST(nu AS numeric)"}
	for _, x := range texts {
		for _, test := range []string{
			"LIKE 'a%'", "NOT LIKE '%a%'", "ILIKE 'a'", "LIKE ANY (ARRAY['a', 'b%'])", "< 'b'", ">= 'b'", "BETWEEN 'a' AND 'b'",
			"NOT BETWEEN SYMMETRIC 'b' AND 'a'", "> ANY (ARRAY['b', 'c'])", "<= ALL (ARRAY['b', 'c'])",
		} {
			list = append(list, x+" "+test)
		}
	}
	for _, x := range numbers {
		for _, test := range []string{"> 100", "<= 100.5", "BETWEEN 90 AND 100", "< ANY (ARRAY[1.5, 100])", ">= ALL (ARRAY[1.5, 100])"} {
			list = append(list, x+" "+test)
		}
	}
	return append(list, "(v, 1) < ('b', 2)", "(v < 'b') IS TRUE", "NOT v < 'b'", "'b' > v", "100 < nu")
}

// expected returns how many rows of held Postgres expects to meet a condition, unless that is
// refused.
func (db *database) expected(t *testing.T, text string) string {
	t.Helper()
	e, _, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	res, err := db.resolve(t.Context(), resolver(), e)
	if err != nil {
		return ""
	}
	sql, err := res.writer().Expr(res.x)
	if err != nil {
		return ""
	}
	plan, err := db.query(t.Context(), res.env, "EXPLAIN SELECT FROM pg_temp.held AS t0 WHERE "+sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	var lines []string
	for _, row := range plan {
		lines = append(lines, *row[0])
	}
	return regexp.MustCompile(`rows=(\d+)`).FindStringSubmatch(strings.Join(lines, "\n"))[1]
}
