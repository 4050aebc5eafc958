package proxy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
	"dpproxy/dp"
	"dpproxy/internal/memledger"
)

// TestState reads the relations of the schema dp, in both protocols, joined and ordered: they
// tell an analyst their own part alone, and cost nothing.
func TestState(t *testing.T) {
	w := newWorld(t)
	ana, bob := w.client(t, "ana"), w.client(t, "bob")
	if _, err := ana.Exec(t.Context(), "SELECT count(*), avg(birth_year) FROM patients WHERE sex = 'f'"); err != nil {
		t.Fatal(err)
	}
	before := w.spent(t, "unit", "patient")
	text := func(c *client, sql string, args ...any) string {
		t.Helper()
		var s string
		if err := c.QueryRow(t.Context(), sql, args...).Scan(&s); err != nil {
			return err.Error()
		}
		return s
	}
	for _, c := range []struct{ sql, want string }{
		{
			"SELECT string_agg(name || ': ' || unit || coalesce(', ' || max_rows || ' rows', '') || ', ' || contribution, '; ' " +
				"ORDER BY name) FROM dp.tables",
			"labs: visit_id -> visits -> patient_id, 20 rows, fixed; patients: id, 3 rows, auto; visits: patient_id, 10 rows, fixed",
		},
		{
			"SELECT string_agg(c.name || ' ' || c.low || '-' || c.high, ', ' ORDER BY c.name) FROM dp.columns c " +
				"JOIN dp.tables t ON t.name = c.\"table\" WHERE t.name = 'visits'",
			"cost 0-400, score 0-10",
		},
		{"SELECT count(*) || ' ' || min(type) FROM dp.columns WHERE \"table\" = 'patients' AND name IN ('name', 'sex')", "1 text"},
		{"SELECT array_to_string(\"values\", ',') FROM dp.columns WHERE name = 'sex'", "f,m,x"},
		{"SELECT statement || ' ' || mechanism FROM dp.history", "SELECT count(*), avg(birth_year) FROM patients WHERE sex = 'f' laplace"},
		{
			"SELECT (h.cost = b.spent AND b.held = 0 AND b.epsilon > 0 AND b.questions > 0)::text " +
				"FROM dp.history h, dp.budget b WHERE b.kind = 'unit'",
			"true",
		},
		{
			"SELECT concat_ws('; ', l.statement, l.mechanism, l.confidence, l.cost = h.cost, l.error = h.error, l.bounds, " +
				"l.groups IS NULL, l.remaining LIKE '% of the budget of unit patient (%), about % such questions') " +
				"FROM dp.last l, dp.history h",
			"SELECT count(*), avg(birth_year) FROM patients WHERE sex = 'f'; laplace; 0.95; t; t; birth_year to [1920, 2010]; t; t",
		},
		{"SELECT (questions > 0 AND remaining > 0)::text FROM dp.tables WHERE name = 'labs'", "true"},
		{
			"SELECT string_agg(item || '=' || value, ', ' ORDER BY line) FROM dp.plan($$SELECT count(*) FROM patients$$) " +
				"WHERE item IN ('unit', 'gaussian', 'mechanism') AND depth < 3",
			"unit=patient, mechanism=laplace (dp.mechanism = auto, dp.epsilon = 40)",
		},
		{"SELECT p.value FROM dp.plan('SELECT nothing FROM patients') p", "rows of protected table \"patients\" cannot be read"},
		{"SELECT count(*)::text FROM dp.plan('SELECT count(*)' || ' FROM patients')", "dp.plan has no plan of this text"},
	} {
		for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeDescribeExec} {
			if got := text(ana, c.sql, mode); !strings.Contains(got, c.want) {
				t.Errorf("%s: %q, want %q", c.sql, got, c.want)
			}
		}
	}
	if got := text(ana, "SELECT value FROM dp.plan($1) WHERE item = 'unit'", "SELECT count(*) FROM patients"); got != "patient" {
		t.Errorf("a parameter: %q", got)
	}
	for _, relation := range []string{"history", "last", "tables", "columns"} {
		if got := text(bob, "SELECT count(*)::text FROM dp."+relation); got != "0" {
			t.Errorf("another one sees %s rows of dp.%s", got, relation)
		}
	}
	if got := text(bob, "SELECT count(*)::text FROM dp.plan('SELECT count(*) FROM patients')"); !strings.Contains(got, "PB0") &&
		!strings.Contains(got, "denied") {
		t.Errorf("another one may plan: %s", got)
	}
	if after := w.spent(t, "unit", "patient"); after != before {
		t.Errorf("it costs %d", after-before)
	}
}

// TestNamesOfBudgets holds that analysts see budgets by the names of the policy, whatever the ledger calls them, and both tables of one
// that is charged for two.
func TestNamesOfBudgets(t *testing.T) {
	w := newWorld(t)
	w.linkBudgets(t)
	text := func(c *client, sql string) (s string) {
		t.Helper()
		if err := c.QueryRow(t.Context(), sql).Scan(&s); err != nil {
			return err.Error()
		}
		return s
	}
	ana, bob := w.client(t, "ana"), w.client(t, "bob")
	const names = "SELECT string_agg(concat_ws(' ', kind, scope, trim_scale(\"limit\"), spent > 0), '; ' ORDER BY kind, \"limit\") " +
		"FROM dp.budget"
	if got, want := text(ana, names), "analyst ana 0.005 f; table public.labs, public.visits 0.001 f; "+
		"table public.labs, public.visits 0.002 f; table public.patients 0.003 f; unit patient 9000 f"; got != want {
		t.Errorf("budgets that are linked are %q, want %q", got, want)
	}
	if got := text(bob, names); got != "unit patient 9000 f" {
		t.Errorf("another one sees %q", got)
	}
	if _, err := ana.Exec(t.Context(), "SELECT count(*) FROM labs WHERE value > 3"); err == nil ||
		!strings.Contains(err.Error(), `privacy budget of table "public.labs, public.visits" has no room`) {
		t.Errorf("a statement that is too dear: %v", err)
	}
}

// linkBudgets has tables swap their names, and another move, under budgets of theirs, and decides about the names of other budgets.
func (w *world) linkBudgets(t *testing.T) {
	t.Helper()
	tables := func(scopes, of, ids []string) (e history.PolicyEntry) {
		e.Limits = []accountant.Limit{
			limit(t, accountant.UnitScope, "patient", dp.ZCDP, 9_000_000), limit(t, accountant.AnalystScope, "ana", dp.ZCDP, 5),
		}
		for i, n := range scopes {
			l := limit(t, accountant.TableScope, n, dp.ZCDP, int64(i+1))
			e.Limits = append(e.Limits, l)
			e.Links = append(e.Links, accountant.Link{Scope: l.Scope, Table: accountant.Table{Name: of[i], ID: ids[i]}})
		}
		return e
	}
	old, now := []string{"public.visits", "public.labs", "old.patients"}, []string{"public.visits", "public.labs", "public.patients"}
	l := w.ledger.(*memledger.Ledger)
	for _, e := range []history.PolicyEntry{
		tables(old, old, []string{"x/1", "x/2", "x/3"}), tables(now, now, []string{"x/2", "x/1", "x/3"}),
	} {
		if err := l.SetPolicy(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{"unit:patient": "person", "analyst:ana": "anna"} {
		kind, name, _ := strings.Cut(from, ":")
		scope := accountant.Scope{Kind: accountant.ScopeKind(kind), Name: name}
		e := history.RenameEntry{From: scope, To: accountant.Scope{Kind: scope.Kind, Name: to}, Who: "carol", Reason: "why"}
		if err := l.Decide(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.proxy.ReloadBudgets(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestNoPlan asks for plans of texts that have none, and is told why.
func TestNoPlan(t *testing.T) {
	c := newWorld(t).client(t, "ana")
	for sql, want := range map[string]string{
		"SELECT 1":                       "the statement of dp.plan reads no protected table",
		"SELECT 1; SELECT 2":             "dp.plan needs one query over protected tables",
		"SELECT count(* FROM patients":   "the statement of dp.plan does not parse: syntax error at or near \"FROM\"",
		"SELECT nothing FROM patients":   "rows of protected table \"patients\" cannot be read",
		"SELECT 'open":                   "the statement of dp.plan does not parse: unterminated quoted string",
		"SELECT count(*) FROM hospitals": "the statement of dp.plan reads no protected table",
	} {
		if _, err := c.Exec(t.Context(), "SELECT * FROM dp.plan($$"+sql+"$$)"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", sql, err, want)
		}
	}
}

// TestStateOfSearchPath holds that the relations of the schema dp have rows by their names alone, where
// search_path finds them, in a session that has not read them before.
func TestStateOfSearchPath(t *testing.T) {
	w := newWorld(t)
	if _, err := w.client(t, "ana").Exec(t.Context(), "SELECT count(*) FROM patients"); err != nil {
		t.Fatal(err)
	}
	for _, relation := range []string{"budget", "Tables", `"columns"`, "history h", "last"} {
		c := w.client(t, "ana")
		if _, err := c.Exec(t.Context(), "SET search_path = dp, public"); err != nil {
			t.Fatal(err)
		}
		if relation == "last" { // it is the session's own
			if _, err := c.Exec(t.Context(), "SELECT count(*) FROM patients"); err != nil {
				t.Fatal(err)
			}
		}
		var rows int
		if err := c.QueryRow(t.Context(), "SELECT count(*) FROM "+relation).Scan(&rows); err != nil || rows == 0 {
			t.Errorf("%s: %d rows, %v", relation, rows, err)
		}
	}
}

// TestBareNames refuses functions of the schema dp by their names alone where search_path finds them: of what is computed from released
// values the mirror knows no noise, and an interval would have no width. Without dp there Postgres says what such a name is.
func TestBareNames(t *testing.T) {
	w := newWorld(t)
	c := w.client(t, "ana")
	for _, name := range []string{"lower", "upper", "error", "stderr", "noise_scale", "cut", "cut_upper"} {
		for _, sql := range []string{
			"SELECT %s(count(*)) FROM patients",
			"SELECT %s(round(avg(birth_year), 1)) FROM patients",
			"SELECT n FROM (SELECT count(*) AS n FROM patients) q WHERE %s(n) > 5",
			"EXPLAIN SELECT %s(count(*) + 1) FROM patients",
		} {
			refusesBare(t, c, fmt.Sprintf(sql, name))
		}
	}
	refusesBare(t, c, "SELECT weight(count(*), 3), avg(birth_year) FROM patients")
	must(t, c.Conn, "SET search_path = dp, public")
	for _, sql := range []string{
		"SELECT dp.lower(count(*)), lower('A') FROM patients", "SELECT pg_catalog.lower(count(*)::text) FROM patients", "SELECT lower(3)",
	} {
		must(t, c.Conn, sql)
	}
}

// refusesBare holds that a statement is refused where search_path finds dp, and that Postgres itself refuses it else.
func refusesBare(t *testing.T, c *client, sql string) {
	t.Helper()
	for path, want := range map[string]string{"public, dp": "PB004", "public": "42883"} {
		if _, err := c.Exec(t.Context(), "SET search_path = "+path); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Exec(t.Context(), sql); code(err) != want {
			t.Errorf("search_path = %s: %s: %v, want %s", path, sql, err, want)
		}
	}
}
