package parser_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"dpproxy/parser"
	"dpproxy/parser/parsertest"
)

// quoted is a name that would need no quotes.
var quoted = regexp.MustCompile(`AS "([a-z]+_error1?)"`)

// errorColumns are statements, and what they become; nothing where they stay.
var errorColumns = []struct{ sql, want string }{
	{
		"SELECT sex, count(*) FROM t GROUP BY sex ORDER BY 2",
		"SELECT sex, count(*), dp.error(count(*)) AS count_error FROM t GROUP BY sex ORDER BY 2",
	},
	{
		`SELECT sum(x) FILTER (WHERE y) AS "A b" INTO TEMP z FROM t`,
		`SELECT sum(x) FILTER (WHERE y) AS "A b", dp.error(sum(x) FILTER (WHERE y)) AS "A b_error" INTO TEMP z FROM t`,
	},
	{
		"SELECT round(avg(x), 2) r, avg(x)::int, CAST(count(*) AS int) n FROM t",
		"SELECT round(avg(x), 2) r, avg(x)::int, CAST(count(*) AS int) n, dp.error(avg(x)) + 0.5e-2 AS r_error, " +
			"dp.error(avg(x)) + 0.5e0 AS avg_error, dp.error(count(*)) AS n_error FROM t",
	},
	{
		"SELECT coalesce(sum(x), 0) s, avg(x)::numeric(10,1), round(sum(x)) FROM t",
		"SELECT coalesce(sum(x), 0) s, avg(x)::numeric(10,1), round(sum(x)), dp.error(sum(x)) AS s_error, " +
			"dp.error(avg(x)) + 0.5e-1 AS avg_error, dp.error(sum(x)) + 0.5e0 AS round_error FROM t",
	},
	{
		"SELECT sum(a) / sum(b) r, 1, g FROM t GROUP BY g",
		"SELECT sum(a) / sum(b) r, 1, g, COALESCE(CASE WHEN dp.lower(sum(b), 0.975) > -1e30 AND dp.upper(sum(b), 0.975) < 1e30 AND " +
			"dp.lower(sum(a), 0.975) > -1e30 AND dp.upper(sum(a), 0.975) < 1e30 AND (CAST(dp.lower(sum(b), 0.975) AS numeric) > 1e-15 OR " +
			"CAST(dp.upper(sum(b), 0.975) AS numeric) < -1e-15) AND (least(",
	},
	{
		"SELECT 100 * count(*) - 3 n, -avg(x)::numeric(8,1) m FROM t",
		"SELECT 100 * count(*) - 3 n, -avg(x)::numeric(8,1) m, " +
			"COALESCE(CASE WHEN dp.lower(count(*), 0.95) > -1e30 AND dp.upper(count(*), 0.95) < 1e30 AND " +
			"((CAST(dp.lower(count(*), 0.95) AS numeric) * CAST(100 AS numeric)) - CAST(3 AS numeric)) > -1e300 AND " +
			"((CAST(dp.upper(count(*), 0.95) AS numeric) * CAST(100 AS numeric)) - CAST(3 AS numeric)) < 1e300 " +
			"THEN CAST(round(greatest(" +
			"((CAST(dp.upper(count(*), 0.95) AS numeric) * CAST(100 AS numeric)) - CAST(3 AS numeric)) " +
			"- CAST((100 * count(*) - 3) AS numeric), CAST((100 * count(*) - 3) AS numeric) - " +
			"(((CAST(dp.lower(count(*), 0.95) AS numeric) * CAST(100 AS numeric)) - CAST(3 AS numeric)))), 300) AS float8) " +
			"END, CAST(NULLIF('error of n', 'error of n') AS float8)) AS n_error, " +
			"COALESCE(CASE WHEN dp.lower(avg(x), 0.95) > -1e30 AND dp.upper(avg(x), 0.95) < 1e30 AND (- (",
	},
	{
		"SELECT count(*) * max(x) r, sum(a) % 3 s, sum(a) / g h, sum(x) + sum(y) + sum(a) + sum(b) + count(*) v FROM t GROUP BY g",
		"SELECT count(*) * max(x) r, sum(a) % 3 s, sum(a) / g h, sum(x) + sum(y) + sum(a) + sum(b) + count(*) v, " +
			"CAST(NULLIF('error of r', 'error of r') AS float8) AS r_error, " +
			"CAST(NULLIF('error of s', 'error of s') AS float8) AS s_error, " +
			"CAST(NULLIF('error of h', 'error of h') AS float8) AS h_error, " +
			"CAST(NULLIF('error of v', 'error of v') AS float8) AS v_error FROM t GROUP BY g",
	},
	{
		"SELECT mode() WITHIN GROUP (ORDER BY x) m FROM t",
		"SELECT mode() WITHIN GROUP (ORDER BY x) m, dp.error(mode() WITHIN GROUP (ORDER BY x)) AS m_error FROM t",
	},
	{"SELECT count(*) AS x FROM t GROUP BY x_error", "SELECT count(*) AS x, dp.error(count(*)) AS x_error1 FROM t GROUP BY x_error"},
	{"COPY (SELECT count(*) FROM t) TO STDOUT", "COPY (SELECT count(*), dp.error(count(*)) AS count_error FROM t) TO STDOUT"},
	{
		"DECLARE c CURSOR FOR SELECT /* a */ count(*) -- b\nFROM t",
		"DECLARE c CURSOR FOR SELECT /* a */ count(*), dp.error(count(*)) AS count_error -- b\nFROM t",
	},
	{
		"CREATE TEMP TABLE z AS SELECT count(*) n FROM t",
		"CREATE TEMP TABLE z AS SELECT count(*) n, dp.error(count(*)) AS n_error FROM t",
	},
	{
		"SELECT * FROM (SELECT g, count(*) AS n FROM t GROUP BY g) q LIMIT 5",
		"SELECT * FROM (SELECT g, count(*) AS n, dp.error(count(*)) AS n_error FROM t GROUP BY g) q LIMIT 5",
	},
	{
		`SELECT "q"."g", "q"."n" AS "count" FROM (SELECT g, count(*) AS n FROM t GROUP BY g) "q"`,
		`SELECT "q"."g", "q"."n" AS "count", "q"."n_error" AS count_error FROM ` +
			`(SELECT g, count(*) AS n, dp.error(count(*)) AS n_error FROM t GROUP BY g) "q"`,
	},
	{
		"WITH c AS (SELECT g, count(*) AS n FROM t GROUP BY g) SELECT n FROM c",
		`WITH c AS (SELECT g, count(*) AS n, dp.error(count(*)) AS n_error FROM t GROUP BY g) ` +
			`SELECT n, "c"."n_error" AS n_error FROM c`,
	},
	{"WITH c AS (SELECT count(*) n FROM t) SELECT n FROM c WHERE n > (SELECT avg(n) FROM c)", ""},
	{"SELECT g FROM (SELECT g, count(*) AS n FROM t GROUP BY g) q", ""},
	{"SELECT DISTINCT count(*) FROM t GROUP BY g", ""},
	{"SELECT count(*) FROM t UNION ALL SELECT 1", ""},
	{"INSERT INTO z SELECT count(*) FROM t", ""},
	{
		"INSERT INTO published.z SELECT count(*) FROM t",
		"INSERT INTO published.z SELECT count(*), dp.error(count(*)) AS count_error FROM t",
	},
	{"INSERT INTO published.z (n) SELECT count(*) FROM t", ""},
	{"SELECT dp.lower(count(*)) FROM t", ""},
	{"SELECT g, GROUPING(g) FROM t GROUP BY g", ""},
	{"SELECT sum(n) OVER () FROM (SELECT 1 AS n) q", ""},
}

// TestErrorColumns puts the errors behind the columns of statements of all forms.
func TestErrorColumns(t *testing.T) {
	for _, c := range errorColumns {
		sql, want := c.sql, c.want
		script, err := parser.Parse(sql, parsertest.Schema{})
		if err != nil {
			t.Fatal(err)
		}
		got := sql
		insertions := script.Statements[0].ErrorColumns(0.95, parser.Errors, strings.HasPrefix(sql, "INSERT INTO published"))
		for _, i := range slices.Backward(insertions) {
			got = got[:i.At] + i.Text + got[i.At:]
		}
		got = quoted.ReplaceAllString(got, "AS $1")
		if want == "" {
			want = sql
		}
		if begun := strings.HasSuffix(want, "("); got != want && (!begun || !strings.HasPrefix(got, want)) {
			t.Errorf("%s:\n%s\n%s", sql, got, want)
		}
	}
}

// TestErrorsOfLongArithmetic asks for the errors of products of many factors, quotients of them, and powers of e of powers of e: the text
// of an error stays short, and so does the time.
func TestErrorsOfLongArithmetic(t *testing.T) {
	short := func(sql string) int {
		script, err := parser.Parse(sql, parsertest.Schema{})
		if err != nil {
			t.Fatal(err)
		}
		var n int
		for _, i := range script.Statements[0].ErrorColumns(0.95, parser.Errors, false) {
			n += len(i.Text)
		}
		return n
	}
	for _, sql := range []string{
		"SELECT count(*)" + strings.Repeat(" * -2", 200) + " FROM t",
		"SELECT count(*)" + strings.Repeat(" * 2.5", 200) + " FROM t",
		"SELECT count(*) / (sum(x)" + strings.Repeat(" * -2", 200) + ") FROM t",
		"SELECT " + strings.Repeat("exp(", 200) + "count(*)" + strings.Repeat(")", 200) + " FROM t",
		"SELECT count(*)" + strings.Repeat(" / -count(*)", 200) + " FROM t",
		"SELECT 1e300 * count(*) FROM t",
		"SELECT 1e-300 * count(*) FROM t",
	} {
		if n := short(sql); n > 90 {
			t.Errorf("%s: %d bytes", sql, n)
		}
	}
	for _, x := range []string{"count(*) * -1", "sum(x) - -5", "-2 * sum(x)", "count(*) / -2.0"} {
		sql := "SELECT " + x + " FROM t"
		if n := short(sql); n < 300 || n > 2000 {
			t.Errorf("%s: %d bytes", sql, n)
		}
	}
	for _, factors := range []int{1, 4, 8} {
		sql := "SELECT 100.0 * sum(x) / count(*)" + strings.Repeat(" * 2.5", factors) + " FROM t"
		if n := short(sql); n < 1000 || n > 5000 {
			t.Errorf("%s: %d bytes", sql, n)
		}
	}
}
