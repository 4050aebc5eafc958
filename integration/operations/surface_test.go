package operations_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// surfaceSchema adds to the clinic a table that a unit has one row in, a partitioned
// table, and views.
const surfaceSchema = sitetest.ClinicSchema + `
CREATE TABLE consents (patient_id int, given date);
CREATE TABLE sales (uid int NOT NULL, day date NOT NULL, amount int) PARTITION BY RANGE (day);
CREATE TABLE sales_2024 PARTITION OF sales FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
CREATE TABLE sales_2025 PARTITION OF sales FOR VALUES FROM ('2025-01-01') TO ('2026-01-01');
INSERT INTO sales SELECT g % 1000 + 1, date '2024-01-01' + g % 700, g % 50 FROM generate_series(1, 2000) g;
CREATE VIEW adults AS SELECT id, sex, birth_year FROM patients WHERE birth_year < 2000 AND region <> 'name 13';
CREATE VIEW bills (patient, amount) WITH (security_barrier) AS
  SELECT v.patient_id, v.cost FROM visits v JOIN hospitals h ON h.id = v.hospital_id;`

var surfacePolicy = strings.NewReplacer(
	"  hospitals: {public: true}\n", `  hospitals: {public: true}
  consents: {unit: patient_id, max_rows: 1, columns: {given: {bounds: [2020-01-01, 2025-01-01]}}}
  sales:
    unit: uid
    max_rows: 2
    max_partitions: 2
    budget: {epsilon: 100}
    partitions: [sales_2024]
    columns: {amount: {bounds: [0, 50]}}
  adults: {view: true}
  bills: {view: true, definition: shown}
`, ", day: {bounds: [2020-01-01, 2024-12-31]}}", `}
    defaults: {dates: [2020-01-01, 2024-12-31]}`,
	"tables: [patients, visits, labs]", "tables: [patients, visits, labs, sales, adults, bills]").Replace(sitetest.ClinicPolicy)

// TestPartitions asks a listed partition and its table, which have one budget.
func TestPartitions(t *testing.T) {
	s := sitetest.New(t, surfaceSchema, surfacePolicy)
	r := s.Run(t)
	ana := sitetest.Dial(t, r.URL("ana"))
	budget := func() string { return sitetest.Rows(t, ana, "SELECT spent FROM dp.budget WHERE kind = 'table'") }
	if got := sitetest.Rows(t, ana, "SELECT string_agg(scope, ',') FROM dp.budget WHERE kind = 'table'"); got != "public.sales" {
		t.Errorf("budgets of tables: %s", got)
	}
	seen := map[string]bool{budget(): true}
	for _, table := range []string{"sales", "sales_2024"} {
		sitetest.Exec(t, ana, "SELECT count(*), sum(amount) FROM "+table)
		if b := budget(); seen[b] {
			t.Errorf("a question to %s costs the budget of sales nothing", table)
		} else {
			seen[b] = true
		}
	}
	for sql, want := range map[string]string{
		"SELECT * FROM sales_2024": "PB002", "DO 'BEGIN PERFORM 1 FROM sales_2024; END'": "PB010",
		"SELECT count(*) FROM sales_2025": "42P01",
	} {
		if _, err := ana.Exec(t.Context(), sql); sitetest.SQLState(err) != want {
			t.Errorf("%s: %v", sql, err)
		}
	}
	admin := sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser))
	sitetest.Exec(t, admin, "ALTER TABLE sales DETACH PARTITION sales_2024")
	if _, err := ana.Exec(t.Context(), "SELECT count(*) FROM sales_2024"); sitetest.SQLState(err) != "PB013" {
		t.Errorf("a partition that was detached: %v", err)
	}
}

// TestViewsOnTheMirror holds that a client sees the columns of a view, its definition
// only where the policy shows it, and no rows.
func TestViewsOnTheMirror(t *testing.T) {
	s := sitetest.New(t, surfaceSchema, surfacePolicy)
	out := sitetest.Psql(t, s.Run(t),
		"\\dv\n\\d+ adults\n\\d+ bills\nDO 'BEGIN PERFORM 1 FROM adults; END';\nDO 'BEGIN PERFORM 1 FROM bills; END';\n")
	for text, want := range map[string]bool{
		"adults": true, "birth_year": true, "name 13": false, "hospital_id": true, "PB010": false,
		`relation "public.adults" is protected`: true, `relation "public.visits" is protected`: true,
	} {
		if strings.Contains(out, text) != want {
			t.Errorf("%q is shown: %t, in\n%s", text, !want, out)
		}
	}
}

// TestCheckOfViewsAndPartitions shows where in the policy a fault is.
func TestCheckOfViewsAndPartitions(t *testing.T) {
	s := sitetest.New(t, surfaceSchema, surfacePolicy)
	admin := sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser))
	sitetest.Exec(t, admin,
		`CREATE MATERIALIZED VIEW copies AS SELECT id FROM patients; CREATE TABLE other (n int); CREATE TABLE third (n int);
		CREATE OR REPLACE VIEW bills (patient, amount) AS SELECT v.patient_id, v.cost FROM visits v, third`)
	s.Edit(t, "partitions: [sales_2024]", "partitions: [sales_2024, other]")
	s.Edit(t, "  adults: {view: true}\n", "  adults: {view: true}\n  copies: {view: true}\n")
	out, err := exec.CommandContext(t.Context(), sitetest.Program(t), "check", s.Policy, "--online").CombinedOutput()
	if err == nil {
		t.Errorf("check took it:\n%s", out)
	}
	for _, want := range []string{
		"tables.public.sales.partitions: public.other is no partition of public.sales",
		"tables.public.copies.view: this is a materialised view",
		"tables.public.bills.view: the view reads public.third, which is not in the policy",
		"|   copies: {view: true}",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// TestAdvise follows the advice of dpproxy, after which there is none, and the policy
// still fits, and reads go in the order of an index.
func TestAdvise(t *testing.T) {
	s := sitetest.New(t, surfaceSchema, surfacePolicy)
	sql := s.Command(t, "advise", s.Policy)
	for _, want := range []string{
		"CREATE INDEX ON public.visits (patient_id) INCLUDE (cost, day);\n", "CREATE INDEX ON public.visits (id) INCLUDE (patient_id);\n",
		"CREATE INDEX ON public.labs (visit_id) INCLUDE (value);\n", "CREATE UNIQUE INDEX ON public.consents (patient_id);\n",
		"CREATE INDEX ON public.sales (uid) INCLUDE (amount);\n", "ALTER TABLE public.sales_2024 SET (",
	} {
		if !strings.Contains(sql, want) {
			t.Errorf("no %q in\n%s", want, sql)
		}
	}
	var steps []struct{ Table, Reason, SQL string }
	if s.JSON(t, &steps, "advise", s.Policy); len(steps) != strings.Count(sql, ";\n") || steps[0].Table == "" ||
		steps[0].Reason == "" || steps[0].SQL == "" {
		t.Errorf("%d steps as JSON: %+v", len(steps), steps)
	}
	if _, err := sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser)).PgConn().Exec(t.Context(), sql).ReadAll(); err != nil {
		t.Fatal(err)
	}
	if again := s.Command(t, "advise", s.Policy); again != "the tables of the policy have what makes them fast\n" {
		t.Errorf("after that it says\n%s", again)
	}
	if s.JSON(t, &steps, "advise", s.Policy); len(steps) != 0 {
		t.Errorf("after that it lists %+v", steps)
	}
	s.Command(t, "check", s.Policy, "--online")
	ana := sitetest.Dial(t, s.Run(t).URL("ana"))
	rows, err := ana.Query(t.Context(), "EXPLAIN VERBOSE SELECT sum(cost) FROM visits WHERE day > '2020-01-01'")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || !strings.Contains(strings.Join(plan, "\n"), "in the order of an index") {
		t.Errorf("with the indexes a sum is read as %v, %v", plan, err)
	}
	var n, different, truth int
	// Two reads: one is in the order of an index.
	err = ana.QueryRow(t.Context(), "SELECT count(*), count(DISTINCT day) FROM visits").Scan(&n, &different)
	if err != nil {
		t.Fatal(err)
	}
	err = sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser)).
		QueryRow(t.Context(), "SELECT count(*) FROM visits").Scan(&truth)
	if err != nil || max(n-truth, truth-n) > truth/4 {
		t.Errorf("with the indexes %d visits are counted as %d, %v", truth, n, err)
	}
}
