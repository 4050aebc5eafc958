package privacy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// These views alone name the tables with zq, one of them public, and their columns.
const (
	untoldSchema = sitetest.ClinicSchema + `
CREATE TABLE zq_wards (zq_ward int PRIMARY KEY, place text NOT NULL);
INSERT INTO zq_wards SELECT g, 'ward ' || g % 2 FROM generate_series(1, 4) g;
CREATE TABLE zq_beds (zq_bed int PRIMARY KEY, zq_patient int NOT NULL REFERENCES patients);
INSERT INTO zq_beds SELECT g, g FROM generate_series(1, 100) g;
CREATE TABLE zq_stays (zq_stay int PRIMARY KEY, zq_bed int NOT NULL REFERENCES zq_beds,
  zq_ward int NOT NULL REFERENCES zq_wards, zq_days int NOT NULL, zq_note text NOT NULL);
INSERT INTO zq_stays SELECT g, g, g % 4 + 1, g % 30, 'x' FROM generate_series(1, 100) g;
CREATE VIEW stays AS SELECT s.zq_days AS days, w.place, s.zq_note AS note FROM zq_stays s JOIN zq_wards w USING (zq_ward);
CREATE VIEW long AS SELECT days FROM stays WHERE days > 5;
CREATE VIEW days AS SELECT zq_days AS days, count(*) AS n, sum(zq_days) AS total FROM zq_stays
  WHERE zq_days BETWEEN 1 AND 3 GROUP BY zq_days;
CREATE VIEW totals AS SELECT zq_days AS days, avg(zq_days) AS mean, max(zq_days) AS most, count(DISTINCT zq_note) AS notes
  FROM zq_stays WHERE zq_days BETWEEN 1 AND 3 GROUP BY GROUPING SETS ((zq_days), ());`

	untoldPolicyKeys = `  hospitals: {public: true}
  zq_wards: {public: true}
  zq_beds: {unit: zq_patient, max_rows: 5, max_partitions: 3}
  zq_stays:
    unit: {via: zq_bed, to: zq_beds.zq_bed}
    max_rows: 5
    max_partitions: 3
    budget: {epsilon: 40}
    columns: {zq_days: {bounds: [0, 30]}}
  stays: {view: true}
  long: {view: true, definition: shown}
  days: {view: true}
  totals: {view: true}`
)

var untoldPolicy = strings.NewReplacer("  hospitals: {public: true}", untoldPolicyKeys,
	"tables: [patients,", "tables: [patients, stays, long, days, totals,").
	Replace(sitetest.ClinicPolicy)

// untold are statements about the views.
var untold = []string{
	"SELECT sum(days) FROM stays",
	"SELECT place, count(*) FROM stays GROUP BY place",
	"SELECT avg(days) FROM long",
	"SELECT * FROM days",
	"SELECT * FROM totals",
	"/* dp: contribution=auto */ SELECT * FROM days",
	"/* dp: contribution=auto */ SELECT * FROM totals",
	"/* dp: contribution=auto */ SELECT place, sum(days), avg(days) FROM stays GROUP BY ROLLUP (place)",
	"/* dp: contribution=auto */ SELECT place FROM stays GROUP BY place HAVING sum(days) > 10",
	"SELECT count(DISTINCT note) FROM stays",
	"SELECT sum(cost) FROM visits WHERE cost > (SELECT avg(days) FROM stays)",
	"SELECT note, count(*) FROM stays GROUP BY note",
	"SELECT count(note + 1) FROM stays",
	"SELECT nothing FROM stays",
}

// TestUntoldTables holds that no text that an analyst gets names a table that a view alone
// reads, where its query is not shown: the plan and its price, notices, refusals, budgets that
// are short, a schema that has changed.
func TestUntoldTables(t *testing.T) {
	s := sitetest.New(t, untoldSchema, untoldPolicy)
	r := s.Run(t)
	var told strings.Builder
	ana := sitetest.DialTold(t, r.URL("ana"), func(n *pgconn.Notice) { fmt.Fprintln(&told, *n) })
	ask := func(sql string) string {
		told.Reset()
		rows, err := ana.Query(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
		for err == nil && rows.Next() {
			fmt.Fprintf(&told, "%s\n", rows.RawValues())
		}
		if err == nil {
			err = rows.Err()
		}
		if refused := errorOf(err); refused != nil {
			fmt.Fprintf(&told, "%+v\n", *refused)
		}
		if strings.Contains(told.String(), "zq") {
			t.Errorf("%s is told\n%s", sql, told.String())
		}
		return told.String()
	}
	for sql, want := range map[string]string{
		"EXPLAIN SELECT sum(days) FROM stays":              "protected tables: those of stays",
		"/* dp: price=loss */ EXPLAIN SELECT * FROM days":  "of table …, would leave",
		"EXPLAIN SELECT avg(days) FROM long":               "privacy unit: …",
		"SELECT sum(days) FROM stays":                      "of the budget of table …",
		"SET dp.epsilon = 41; SELECT avg(days) FROM stays": `privacy budget of table "…" has no room for the statement`,

		"SELECT sum(cost) FROM visits WHERE cost > 0.0001 * (SELECT count(*) FROM stays)": "of the budget of table …",

		"SET dp.epsilon = 1; SET dp.relative_error = 0.0001; SET dp.max_epsilon = 50; SELECT avg(days) FROM stays": "…",
	} {
		if got := ask(sql); !strings.Contains(got, want) {
			t.Errorf("%s does not say %q:\n%s", sql, want, got)
		}
		sitetest.Exec(t, ana, "RESET ALL")
	}
	for _, sql := range untold {
		ask(sql)
		ask("EXPLAIN " + sql)
		ask(sql)
		ask("SELECT * FROM dp.plan($$" + sql + "$$)")
	}
	super := sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser))
	sitetest.Exec(t, super, "ALTER TABLE zq_wards ENABLE ROW LEVEL SECURITY")
	for range 2 { // the first finds the change, the second finds the table off
		got := ask("SELECT place, count(*), sum(days) FROM stays WHERE days > 3 GROUP BY place")
		if !strings.Contains(got, `the schema of what "stays" reads`) {
			t.Errorf("a table that has changed is told so:\n%s", got)
		}
	}
	sitetest.Exec(t, super, "ALTER TABLE zq_stays ENABLE ROW LEVEL SECURITY")
	for range 2 {
		for _, sql := range untold {
			ask(sql)
		}
	}
}
