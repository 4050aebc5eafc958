package operations_test

import (
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/sitetest"
)

// publishers is a policy in which ana and eve publish, bob may ask the same as ana, and cy may not.
var publishers = strings.Replace(sitetest.ClinicPolicy, `  ana: {password: "VERIFIER", tables: [patients, visits, labs]}`,
	`  ana: {password: "VERIFIER", tables: [patients, visits, labs], publish: true}
  bob: {password: "VERIFIER", tables: [patients, visits, labs]}
  cy: {password: "VERIFIER", tables: [patients]}
  eve: {password: "VERIFIER", tables: [patients, labs], publish: true}
answers: {remember: true}`, 1)

// A published is an analyst of the site of TestPublished.
type published struct {
	conn *pgx.Conn
	told []string
}

func dialPublished(t *testing.T, url string) *published {
	p := &published{}
	p.conn = sitetest.DialTold(t, url, func(n *pgconn.Notice) { p.told = append(p.told, n.Message) })
	return p
}

// asks returns the rows of a text, the columns of each between bars, or the SQLSTATE of its error.
func (p *published) asks(t *testing.T, sql string) string {
	t.Helper()
	p.told = nil
	results, err := p.conn.PgConn().Exec(t.Context(), sql).ReadAll()
	if refused := (*pgconn.PgError)(nil); err != nil {
		if refused, _ = err.(*pgconn.PgError); refused == nil { //nolint:errorlint // as pgconn returns it
			t.Fatal(err)
		}
		return refused.Code
	}
	var lines []string
	for _, r := range results {
		for _, row := range r.Rows {
			var columns []string
			for _, c := range row {
				columns = append(columns, string(c))
			}
			lines = append(lines, strings.Join(columns, "|"))
		}
	}
	return strings.Join(lines, "\n")
}

// is holds that a text has these rows.
func (p *published) is(t *testing.T, sql, want string) {
	t.Helper()
	if got := p.asks(t, sql); got != want {
		t.Errorf("%s is\n%s\nnot\n%s", sql, got, want)
	}
}

const byRegion = "SELECT region, count(*) AS n, avg(cost) AS mean FROM visits JOIN patients p ON p.id = patient_id GROUP BY region"

// TestPublished publishes results: a table in the schema published has columns of errors, a comment, a record that dp.published shows, and
// the readers who may ask about all of its tables. A refresh of the same data costs nothing.
func TestPublished(t *testing.T) {
	s := sitetest.New(t, sitetest.ClinicSchema, publishers)
	r := s.Run(t)
	ana, bob, cy := dialPublished(t, r.URL("ana")), dialPublished(t, r.URL("bob")), dialPublished(t, r.URL("cy"))
	spent := func(want int64) {
		t.Helper()
		if n, _ := sitetest.Charges(t, s); int64(n) != want {
			t.Errorf("%d charges, not %d", n, want)
		}
	}
	ana.is(t, "CREATE TABLE published.by_region AS "+byRegion, "")
	spent(1)
	columns := `region|n|mean|n_lower|n_upper|n_stderr|n_error|mean_lower|mean_upper|mean_stderr|mean_error`
	bob.is(t, `SELECT string_agg(column_name, '|' ORDER BY ordinal_position) FROM information_schema.columns
		WHERE table_name = 'by_region'`, columns)
	was := bob.asks(t, "SELECT * FROM published.by_region ORDER BY 1")
	cy.is(t, "SELECT * FROM published.by_region", "42501")
	cy.is(t, "CREATE TABLE published.mine AS SELECT count(*) FROM patients", "42501")
	const listed = `SELECT name, owner, statement, groups, price LIKE 'cost %% of the budget of unit patient', as_of IS NOT NULL,
		spent, refreshes > 1000, "current" FROM dp.published`
	bob.is(t, listed, "by_region|ana|CREATE TABLE published.by_region AS "+byRegion+"|2|t|t|less than 0.01 %|t|t")
	cy.is(t, listed, "")
	if got := bob.asks(t, "SELECT obj_description('published.by_region'::regclass)"); !strings.HasPrefix(got, "published by ana; as of ") ||
		!strings.HasSuffix(got, "; errors at 95 %") || strings.Contains(got, "counts with") {
		t.Errorf("its comment, which cy reads too, is %q", got)
	}
	bob.is(t, "SELECT limits LIKE '%one patient counts with at most %' FROM dp.published", "t")

	// Refreshes.
	ana.is(t, "BEGIN; TRUNCATE published.by_region; INSERT INTO published.by_region "+byRegion+"; COMMIT", "")
	ana.is(t, "BEGIN; DROP TABLE published.by_region; CREATE TABLE published.by_region AS "+byRegion+"; COMMIT", "")
	bob.is(t, "SELECT * FROM published.by_region ORDER BY 1", was)
	for _, sql := range []string{ // as dbt has them
		`create  table "postgres"."published"."by_region__dbt_tmp" as ( ` + byRegion + ` )`,
		`comment on table "postgres"."published"."by_region__dbt_tmp" is 'of dbt'`,
		`BEGIN; alter table "postgres"."published"."by_region" rename to "by_region__dbt_backup"`,
		`alter table "postgres"."published"."by_region__dbt_tmp" rename to "by_region"; COMMIT`,
		`drop table if exists "postgres"."published"."by_region__dbt_backup" cascade`,
	} {
		ana.is(t, sql, "")
	}
	bob.is(t, "SELECT * FROM published.by_region ORDER BY 1", was)
	bob.is(t, "SELECT name, owner, price, refreshes, \"current\" FROM dp.published", "by_region|ana|cost nothing, answered before||t")
	spent(1)

	// Whatever makes or changes a table there has a record, and whoever may not ask about all that comes to a table no longer reads it.
	ana.is(t, "/* dp: columns=values */ CREATE TABLE published.people AS SELECT count(*) AS n FROM patients", "")
	ana.is(t, "SET search_path = published, public", "")
	ana.is(t, "PREPARE q AS SELECT count(*) AS n FROM patients WHERE sex = 'f'; CREATE TABLE women AS EXECUTE q", "")
	ana.is(t, "SELECT count(*) AS n INTO men FROM patients WHERE sex = 'm'", "")
	ana.is(t, "RESET search_path", "")
	cy.is(t, "SELECT name, statement FROM dp.published ORDER BY name", "men|SELECT count(*) AS n INTO men FROM patients WHERE sex = 'm'\n"+
		"people|/* dp: columns=values */ CREATE TABLE published.people AS SELECT count(*) AS n FROM patients\n"+
		"women|CREATE TABLE women AS EXECUTE q")
	cy.is(t, "SELECT count(*) FROM information_schema.columns WHERE table_name IN ('people', 'men')", "6")
	ana.is(t, "BEGIN; /* dp: columns=values */ INSERT INTO published.people SELECT count(*) FROM labs; ROLLBACK", "")
	cy.is(t, "SELECT count(*) FROM published.people", "1")
	ana.is(t, "/* dp: columns=values */ INSERT INTO published.people SELECT count(*) FROM labs", "")
	cy.is(t, "SELECT count(*) FROM published.people", "42501")
	ana.is(t, "PREPARE more AS INSERT INTO published.women SELECT count(*) FROM labs WHERE test = 'hdl'; EXECUTE more", "")
	cy.is(t, "SELECT count(*) FROM published.women", "42501")
	bob.is(t, "SELECT count(*) FROM published.women", "2")

	ana.is(t, "/* dp: columns=values */ INSERT INTO published.people SELECT count(*) FROM patients", "")
	cy.is(t, "SELECT count(*) FROM published.people", "42501") // it has those of labs still
	ana.is(t, "CREATE TEMP VIEW over AS SELECT n FROM published.men", "")
	ana.is(t, "/* dp: columns=values */ INSERT INTO over SELECT count(*) FROM labs", "")
	cy.is(t, "SELECT count(*) FROM published.men", "42501")
	ana.is(t, "/* dp: columns=values */ CREATE TABLE published.int4 AS SELECT count(*) AS n FROM patients", "")
	ana.is(t, "GRANT INSERT ON published.int4 TO bob", "")
	ana.is(t, "SET search_path = published, public", "")
	ana.is(t, "/* dp: columns=values */ INSERT INTO int4 SELECT count(*) FROM patients; RESET search_path", "")
	cy.is(t, "SELECT count(*) FROM published.int4", "2")

	// The record of another's table says nothing of one's own.
	eve := dialPublished(t, r.URL("eve"))
	eve.is(t, `CREATE TABLE published.forged AS SELECT 1 AS n; DO $$ BEGIN
		EXECUTE format('COMMENT ON TYPE published.forged IS %L', obj_description('published.by_region'::regtype, 'pg_type')); END $$`, "")
	const forged = "SELECT owner, statement LIKE '%patients' FROM dp.published WHERE name = 'forged'"
	eve.is(t, forged, "eve|")
	eve.is(t, "/* dp: columns=values */ INSERT INTO published.forged SELECT count(*) FROM patients", "")
	eve.is(t, forged, "eve|t")
	cy.is(t, "SELECT count(*) FROM published.forged", "2")
	eve.is(t, "DROP TABLE published.forged", "")

	// Nothing is charged for what has no place, and rows that the owner writes are the owner's.
	before, _ := sitetest.Charges(t, s)
	ana.is(t, "CREATE TABLE published.by_region AS SELECT count(*) FROM visits WHERE cost > 5", "42P07")
	bob.is(t, "CREATE TABLE published.other AS SELECT count(*) FROM visits WHERE cost > 5", "42501")
	bob.is(t, "INSERT INTO published.int4 (n) SELECT count(*) FROM labs WHERE value > 5", "42501")
	ana.is(t, "CREATE VIEW published.v AS SELECT 1", "42501")
	ana.is(t, "CREATE MATERIALIZED VIEW published.v AS SELECT count(*) FROM visits WHERE cost > 5", "PB004")
	if after, _ := sitetest.Charges(t, s); after != before {
		t.Errorf("%d charges after %d", after, before)
	}
	bob.is(t, `SELECT round((e).below) > 300, round((e).above) > 300
		FROM (SELECT dp.error_of_sum(n_lower, n_upper, n, n_stderr) AS e FROM published.by_region) AS e`, "t|t")

	// The policy of tomorrow, and a start.
	policy, err := os.ReadFile(s.Policy)
	if err != nil {
		t.Fatal(err)
	}
	other := strings.NewReplacer("  cy: ", "  dan: ", ", publish: true", "").Replace(string(policy))
	other = strings.Replace(other, "tables: [patients]", "tables: [patients, visits]", 1)
	if err := os.WriteFile(s.Policy, []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	r.Stop()
	s.Command(t, "sync", s.Policy)
	r = s.Run(t)
	ana, dan := dialPublished(t, r.URL("ana")), dialPublished(t, r.URL("dan"))
	dan.is(t, "SELECT * FROM published.by_region ORDER BY 1", was)
	dan.is(t, "SELECT * FROM published.people", "42501")
	dan.is(t, "SELECT name, owner FROM dp.published ORDER BY 1", "by_region|ana\nint4|ana")
	ana.is(t, "CREATE TABLE published.other AS SELECT 1", "42501")
	ana.is(t, "DROP TABLE published.by_region", "")
}
