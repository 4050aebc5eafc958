package integration_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/pgtemp"
)

// answersPolicy gives two analysts budgets of their own, and remembers answers.
func answersPolicy() string {
	return strings.Replace(clinicPolicy, `ana: {password: "VERIFIER", tables: [patients, visits, labs]}`,
		`ana: {password: "VERIFIER", tables: [patients, visits, labs], budget: {epsilon: 100}}
  bob: {password: "VERIFIER", tables: [patients, visits, labs], budget: {epsilon: 100}}
  eve: {password: "VERIFIER", tables: [labs]}`, 1) + "\nanswers: {epoch: first}\n"
}

// dashboard asks what a dashboard refreshes, and returns its rows as one text.
func dashboard(t *testing.T, conn *pgx.Conn, sql string, args ...any) string {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	text, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (string, error) {
		values := r.RawValues()
		var cells []string
		for _, v := range values {
			cells = append(cells, string(v))
		}
		return strings.Join(cells, "|"), nil
	})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return strings.Join(text, "\n")
}

// spent returns what dp.budget says was spent of each budget.
func spent(t *testing.T, conn *pgx.Conn) string {
	t.Helper()
	return dashboard(t, conn, "SELECT CAST(b AS text) FROM dp.budget b ORDER BY 1")
}

const (
	bySex  = "SELECT sex, count(*), avg(birth_year) FROM patients GROUP BY sex ORDER BY sex"
	costly = "SELECT count(*) FROM visits WHERE cost >= $1"
)

// TestRepeatsAreFree asks the same again, as other analysts, after a restart, and of
// other data.
func TestRepeatsAreFree(t *testing.T) {
	s := newSite(t, clinicSchema, answersPolicy())
	r := s.run(t)
	ana, bob := dial(t, r.url("ana")), dial(t, r.url("bob"))
	first, param := dashboard(t, ana, bySex), dashboard(t, ana, costly, 50)
	paid := spent(t, ana)
	for range 5 {
		if again := dashboard(t, ana, bySex); again != first {
			t.Errorf("the same question has the answers\n%s\nand\n%s", first, again)
		}
	}
	if again := dashboard(t, ana, costly, 50); again != param {
		t.Errorf("the same question has the answers %s and %s", param, again)
	}
	if now := spent(t, ana); now != paid {
		t.Errorf("repeats have cost something: before\n%s\nafter\n%s", paid, now)
	}
	if other := dashboard(t, ana, costly, 51); spent(t, ana) == paid || other == "" {
		t.Error("another constant costs nothing")
	}
	testOthersPay(t, ana, bob, first)
	testRefusals(t, r)
	paid = spent(t, ana)
	r.kill()
	r = s.run(t)
	ana = dial(t, r.url("ana"))
	if again := dashboard(t, ana, bySex); again != first || spent(t, ana) != paid {
		t.Errorf("after a restart: %s, spent %s", again, spent(t, ana))
	}
	r.stop()
	s.edit(t, "epoch: first", "epoch: second")
	r = s.run(t)
	ana = dial(t, r.url("ana"))
	if dashboard(t, ana, bySex); spent(t, ana) == paid {
		t.Error("in another epoch the answer costs nothing")
	}
}

// testOthersPay lets another analyst ask: it costs his own budget alone, once.
func testOthersPay(t *testing.T, ana, bob *pgx.Conn, first string) {
	t.Helper()
	own := regexp.MustCompile(`(?m)^.*analyst.*$`)
	before, mine := spent(t, bob), spent(t, ana)
	if again := dashboard(t, bob, bySex); again != first {
		t.Errorf("another analyst has the answer\n%s\nwant\n%s", again, first)
	}
	after := spent(t, bob)
	if own.FindString(before) == own.FindString(after) {
		t.Error("an answer costs another analyst's own budget nothing")
	}
	if own.ReplaceAllString(before, "") != own.ReplaceAllString(after, "") || spent(t, ana) != mine {
		t.Errorf("an answer that was given before has cost more than the analyst's own budget:\n%s\n%s", before, after)
	}
	dashboard(t, bob, bySex)
	if spent(t, bob) != after {
		t.Error("an analyst has paid twice")
	}
}

// testRefusals checks that who may not ask is not answered from memory either.
func testRefusals(t *testing.T, r *running) {
	t.Helper()
	eve := dial(t, r.url("eve"))
	if _, err := eve.Exec(t.Context(), bySex); sqlstate(err) != "42501" {
		t.Errorf("an analyst without the table: %v", err)
	}
}

// TestRepeatsAcrossProxies remembers in Redis, for all proxies, and answers nothing
// from there that the ledger would not admit.
func TestRepeatsAcrossProxies(t *testing.T) {
	s := newSite(t, clinicSchema, answersPolicy())
	p := &twoProxies{t: t, redis: startRedis(t, durable...)}
	p.first, p.next = s.onRedis(t, p.redis, ""), s.onRedis(t, p.redis, "")
	s.command(t, "init", p.first.policy)
	p.run()
	defer p.stop()
	first := dashboard(t, p.conns[0], bySex)
	paid := p.first.unitSpent(t)
	if again := dashboard(t, p.conns[1], bySex); again != first || p.first.unitSpent(t) != paid {
		t.Errorf("another proxy answers\n%s\nfor %s, want\n%s\nfor %s", again, p.first.unitSpent(t), first, paid)
	}
	p.first.command(t, "ledger", "fence", p.first.policy, "--reason", "a test")
	for i, conn := range p.conns {
		if _, err := conn.Exec(t.Context(), bySex); sqlstate(err) != "PB014" {
			t.Errorf("the fenced proxy %d answers from memory: %v", i, err)
		}
	}
}

// edit changes the policy.
func (s *site) edit(t *testing.T, before, after string) {
	t.Helper()
	text, err := os.ReadFile(s.policy)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.policy, []byte(strings.Replace(string(text), before, after, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestRepeatsInPsql is what a person sees.
func TestRepeatsInPsql(t *testing.T) {
	s := newSite(t, clinicSchema, answersPolicy())
	r := s.run(t)
	out := psql(t, r, bySex+";\n"+bySex+";\nEXPLAIN "+bySex+";\n")
	costs := regexp.MustCompile(`cost ε=0\.1 \(laplace\)|cost nothing, the same was answered before|cost: nothing, the same was answered before`).FindAllString(out, -1)
	if len(costs) != 3 || costs[0] == costs[1] {
		t.Errorf("costs %q in\n%s", costs, out)
	}
	conn := dial(t, s.data.URL("postgres", pgtemp.Superuser))
	must(t, conn, "UPDATE patients SET birth_year = 1920")
	if again := psql(t, r, bySex+";\n"); !strings.Contains(out, strings.Split(again, "\n")[2]) {
		t.Errorf("within an epoch the answer follows the data:\n%s\n%s", out, again)
	}
}
