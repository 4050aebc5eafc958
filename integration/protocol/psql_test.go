package protocol_test

import (
	"regexp"
	"strings"
	"testing"

	"dpproxy/internal/sitetest"
)

// completions are the queries that psql 15 sends for the tab key.
const completions = `
SELECT c.relname, NULL::pg_catalog.text FROM pg_catalog.pg_class c WHERE c.relkind IN ('r', 'S', 'v', 'm', 'f', 'p')
  AND (c.relname) LIKE 'pat%' AND pg_catalog.pg_table_is_visible(c.oid)
  AND c.relnamespace <> (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = 'pg_catalog')
  UNION ALL SELECT NULL::pg_catalog.text, n.nspname FROM pg_catalog.pg_namespace n
  WHERE n.nspname LIKE 'pat%' AND n.nspname NOT LIKE E'pg\\_%' LIMIT 1000;
SELECT a.attname, NULL::pg_catalog.text FROM pg_catalog.pg_attribute a, pg_catalog.pg_class c
  WHERE c.oid = a.attrelid and a.attnum > 0 and not a.attisdropped AND (a.attname) LIKE 'birth%'
  AND c.relname = 'patients' AND pg_catalog.pg_table_is_visible(c.oid) LIMIT 1000;
SELECT pg_catalog.lower(name) FROM pg_catalog.pg_settings WHERE context IN ('user', 'superuser')
  AND pg_catalog.lower(name) LIKE pg_catalog.lower('work%') LIMIT 1000;
SELECT datname FROM pg_catalog.pg_database WHERE datname LIKE 'post%' LIMIT 1000;
`

// psqlScripts are conversations with psql. The wanted regular expressions must match in their
// order; an error is one that is wanted.
var psqlScripts = []struct {
	name, script string
	want         []string
}{
	{
		"list of tables", `\d`,
		[]string{`public \| hospitals \| table`, `public \| labs`, `public \| patients`, `public \| visits`, `\(4 rows\)`},
	},
	{"tables only", `\dt`, []string{`public \| visits`}},
	{"sizes", `\dt+`, []string{`patients`, `protected: aggregates only`}},
	{"databases", `\l`, []string{`postgres`}},
	{
		"a table", `\d visits`,
		[]string{`patient_id +\| integer`, `numeric\(10,2\)`, `"visits_pkey" PRIMARY KEY`, `REFERENCES hospitals\(id\)`},
	},
	{
		"a table with its policy", `\d+ visits`,
		[]string{`clamped to \[2020-01-01, 2024-12-31\]`, `public values: flu, cold, asthma`, `clamped to \[0, 100\]`},
	},
	{"a table with a hidden column", `\d+ patients`, []string{`Column .*\n-.*\n id .*\n sex .*\n birth_year .*clamped.*\n region `}},
	{"the tab key", completions, []string{`patients`, `birth_year`, `work_mem`, `postgres`}},
	{"types and roles", "\\dT\n\\du\n\\dn\n\\df\n\\dx", []string{`ana`, `public`, `plpgsql`}},
	{
		"a count", "SELECT count(*) FROM patients;",
		[]string{
			`NOTICE: +count ± \d+; cost .+ % of the budget of unit patient, about [0-9,]+ such questions left; errors at 95 %\n`,
			`count`, `\(1 row\)`,
		},
	},
	{
		"a count, told fully", "SET dp.notice = full; SELECT count(*) FROM patients;",
		[]string{
			`NOTICE: +count ± \d+; cost .+ such questions left; errors at 95 %\n`,
			`DETAIL: +The noise moves count\(\*\) by at most \d+ \(95 %\)\.\nThe answer cost .+ \(laplace noise\); about .+ are left\.\n`,
			`count`, `\(1 row\)`,
		},
	},
	{
		"groups", "SELECT region, count(*), avg(birth_year) FROM patients GROUP BY region ORDER BY region DESC;",
		[]string{`south +\| +\d+ \| +\d+\.\d+`, `north +\| +\d+ \| +\d+\.\d+`, `\(2 rows\)`},
	},
	{
		"a cursor",
		"BEGIN; DECLARE c CURSOR FOR SELECT diagnosis, count(*) FROM visits GROUP BY diagnosis ORDER BY 1; FETCH 1 FROM c; " +
			"FETCH 5 FROM c; COMMIT;",
		[]string{`DECLARE CURSOR`, `asthma`, `\(1 row\)`, `cold`, `flu`, `\(2 rows\)`, `COMMIT`},
	},
	{
		"copy", `\copy (SELECT region, count(*) FROM patients GROUP BY region ORDER BY region) TO STDOUT`,
		[]string{"north\t\\d+\nsouth\t\\d+"},
	},
	{
		"a table of one's own",
		"CREATE TEMP TABLE mine AS SELECT region, count(*) AS n FROM patients GROUP BY region; SELECT count(*) FROM mine; TABLE mine;",
		[]string{`SELECT 2`, ` 2\n`, `north`},
	},
	{"describe", `SELECT count(*) AS n, avg(cost) AS a FROM visits \gdesc`, []string{`n +\| bigint`, `a +\| numeric`}},
	{
		"rows", "SELECT * FROM patients;",
		[]string{
			`ERROR: +rows of protected table "patients" cannot be read\nLINE 1: SELECT \* FROM patients;\n +\^`,
			`HINT: +Ask for an aggregate`,
		},
	},
	{
		"an error in a transaction", "BEGIN;\nSELECT * FROM patients;\nSELECT count(*) FROM patients;\nROLLBACK;\nSELECT 1;",
		[]string{`ERROR: +rows of`, `ERROR: +current transaction is aborted`, `ROLLBACK`, `1`},
	},
	{
		"no such column", "SELECT count(*) FROM patients WHERE age > 1;",
		[]string{`ERROR: +column "age" does not exist\nLINE 1: .*age > 1;\n +\^`},
	},
	{
		"the plan", "EXPLAIN SELECT count(*) FROM labs WHERE test = 'hdl';",
		[]string{`QUERY PLAN`, `labs.visit_id -> visits.patient_id`, `cost: .+ % of the budget of unit patient, would leave about`},
	},
	{
		"settings",
		"SET dp.epsilon = 0.5; SHOW dp.epsilon; SELECT count(*) FROM patients; RESET dp.epsilon; SET dp.epsilon = -1; " +
			"SET dp.nothing = 1;",
		[]string{
			`SET`, `0.5`, `count ± 6; cost`, `RESET`, `ERROR: +invalid value for parameter "dp.epsilon"`,
			`ERROR: +unrecognized configuration parameter "dp.nothing"`,
		},
	},
	{
		"settings before they are set",
		"SHOW dp.epsilon; SELECT current_setting('dp.epsilon')::float8 * 2 AS twice; SET dp.epsilon = 0.3; RESET ALL; SHOW dp.epsilon;" +
			"SHOW dp.spend; SHOW dp.max_rows; DISCARD ALL; SHOW dp.mechanism; SELECT count(*) FROM patients;" +
			"SET dp.epsilon = E'0.3 \\t'; SET dp.epsilon = '0.3 '; SELECT count(*) FROM patients;",
		[]string{
			`dp.epsilon *\n-+\n 0\.1\s+\n`, `twice *\n-+\n +0\.2\n`, `RESET\n`, ` 0\.1\s+\n`, `always`, `dp.max_rows`, `DISCARD ALL`,
			`auto`, `count ± 30; cost`, `ERROR: +invalid value for parameter "dp.epsilon": "0.3 \\t"`, `SET`, `count ± 10; cost`,
		},
	},
	{
		"names of dp in search_path", "SET search_path = dp; SELECT kind, scope FROM budget; SELECT count(*) > 3 AS all FROM columns;",
		[]string{`SET\n`, `unit +\| patient`, `t\n`},
	},
	{"no notices", "SET dp.notice = off; SELECT count(*) FROM patients;", []string{`SET\n count`}},
	{
		"what DISCARD ALL takes",
		"SELECT count(*) FROM patients; SELECT 'one ' || count(*) FROM dp.last; DISCARD ALL; SELECT 'none ' || count(*) FROM dp.last;" +
			"SELECT count(*) FROM patients; SELECT 'again ' || count(*) FROM dp.last;",
		[]string{`one 1`, `DISCARD ALL`, `none 0`, `again 1`},
	},
	{"budget", "SELECT kind, scope, measure FROM dp.budget;", []string{`unit +\| patient \| pure`}},
	{
		"window functions above",
		"SELECT diagnosis, round(100.0 * count(*) / sum(count(*)) OVER (), 1) AS pct FROM visits GROUP BY diagnosis ORDER BY pct DESC;",
		[]string{`\| \d+\.\d`},
	},
	{
		"several statements at once", "SELECT 1 AS one\\; SELECT count(*) FROM patients\\; SELECT 2 AS two;",
		[]string{`one`, `count`, `two`},
	},
}

// TestPsql plays each script to psql.
func TestPsql(t *testing.T) {
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy)
	r := s.Run(t)
	for _, c := range psqlScripts {
		t.Run(c.name, func(t *testing.T) {
			out := sitetest.Psql(t, r, c.script)
			rest := out
			for _, want := range c.want {
				at := regexp.MustCompile(want).FindStringIndex(rest)
				if at == nil {
					t.Fatalf("%q is missing in\n%s", want, out)
				}
				rest = rest[at[1]:]
			}
			wanted := strings.Contains(strings.Join(c.want, ""), "ERROR")
			if strings.Contains(rest, "ERROR") || strings.Contains(out, "ERROR") && !wanted {
				t.Errorf("an error:\n%s", out)
			}
		})
	}
}

// TestRollbackKeepsTheCharge is one of the oldest tricks.
func TestRollbackKeepsTheCharge(t *testing.T) {
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy)
	r := s.Run(t)
	sitetest.Psql(t, r, "BEGIN;\nSELECT count(*) FROM patients;\nROLLBACK;")
	if out := sitetest.Psql(t, r, "SELECT spent = 0.1 AS charged FROM dp.budget WHERE kind = 'unit'", "-At"); !strings.Contains(out, "t") {
		t.Errorf("the charge was rolled back: %s", out)
	}
}
