package privacy_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/redistemp"
	"dpproxy/internal/sitetest"
)

// answersPolicy gives two analysts budgets of their own, and remembers answers.
func answersPolicy() string {
	return strings.Replace(sitetest.ClinicPolicy, `ana: {password: "VERIFIER", tables: [patients, visits, labs]}`,
		`ana: {password: "VERIFIER", tables: [patients, visits, labs], budget: {epsilon: 100}}
  bob: {password: "VERIFIER", tables: [patients, visits, labs], budget: {epsilon: 100}}
  eve: {password: "VERIFIER", tables: [labs]}`, 1) + "\nanswers: {epoch: first}\n"
}

const (
	bySex  = "SELECT sex, count(*), avg(birth_year) FROM patients GROUP BY sex ORDER BY sex"
	costly = "SELECT count(*) FROM visits WHERE cost >= $1"
	chosen = "/* dp: contribution=auto */ SELECT diagnosis, count(*), dp.cut(count(*)), avg(cost) FROM visits GROUP BY 1 ORDER BY 1"
)

// TestRepeatsAreFree asks the same again, as other analysts, after a restart, and of
// other data.
func TestRepeatsAreFree(t *testing.T) {
	s := sitetest.New(t, sitetest.ClinicSchema, answersPolicy())
	r := s.Run(t)
	ana, bob := sitetest.Dial(t, r.URL("ana")), sitetest.Dial(t, r.URL("bob"))
	first, param, limited := sitetest.Rows(t, ana, bySex), sitetest.Rows(t, ana, costly, 50), sitetest.Rows(t, ana, chosen)
	paid := sitetest.Spent(t, ana)
	for range 5 {
		if again := sitetest.Rows(t, ana, bySex); again != first {
			t.Errorf("the same question has the answers\n%s\nand\n%s", first, again)
		}
		if again := sitetest.Rows(t, ana, chosen); again != limited {
			t.Errorf("within limits the same question has the answers\n%s\nand\n%s", limited, again)
		}
	}
	if again := sitetest.Rows(t, ana, costly, 50); again != param {
		t.Errorf("the same question has the answers %s and %s", param, again)
	}
	if now := sitetest.Spent(t, ana); now != paid {
		t.Errorf("repeats have cost something: before\n%s\nafter\n%s", paid, now)
	}
	if other := sitetest.Rows(t, ana, costly, 51); sitetest.Spent(t, ana) == paid || other == "" {
		t.Error("another constant costs nothing")
	}
	testOthersPay(t, ana, bob, first)
	testRefusals(t, r)
	paid = sitetest.Spent(t, ana)
	r.Kill()
	r = s.Run(t)
	ana = sitetest.Dial(t, r.URL("ana"))
	if again := sitetest.Rows(t, ana, bySex); again != first || sitetest.Spent(t, ana) != paid {
		t.Errorf("after a restart: %s, spent %s", again, sitetest.Spent(t, ana))
	}
	if again := sitetest.Rows(t, ana, chosen); again != limited || sitetest.Spent(t, ana) != paid {
		t.Errorf("within limits, after a restart: %s, spent %s", again, sitetest.Spent(t, ana))
	}
	r.Stop()
	s.Edit(t, "epoch: first", "epoch: second")
	r = s.Run(t)
	ana = sitetest.Dial(t, r.URL("ana"))
	if sitetest.Rows(t, ana, bySex); sitetest.Spent(t, ana) == paid {
		t.Error("in another epoch the answer costs nothing")
	}
}

// testOthersPay lets another analyst ask: it costs their own budget alone, once.
func testOthersPay(t *testing.T, ana, bob *pgx.Conn, first string) {
	t.Helper()
	own := regexp.MustCompile(`(?m)^.*analyst.*$`)
	before, mine := sitetest.Spent(t, bob), sitetest.Spent(t, ana)
	if again := sitetest.Rows(t, bob, bySex); again != first {
		t.Errorf("another analyst has the answer\n%s\nwant\n%s", again, first)
	}
	after := sitetest.Spent(t, bob)
	if own.FindString(before) == own.FindString(after) {
		t.Error("an answer costs another analyst's own budget nothing")
	}
	if own.ReplaceAllString(before, "") != own.ReplaceAllString(after, "") || sitetest.Spent(t, ana) != mine {
		t.Errorf("an answer that was given before has cost more than the analyst's own budget:\n%s\n%s", before, after)
	}
	sitetest.Rows(t, bob, bySex)
	if sitetest.Spent(t, bob) != after {
		t.Error("an analyst has paid twice")
	}
}

// testRefusals checks that who may not ask is not answered from memory either.
func testRefusals(t *testing.T, r *sitetest.Running) {
	t.Helper()
	eve := sitetest.Dial(t, r.URL("eve"))
	if _, err := eve.Exec(t.Context(), bySex); sitetest.SQLState(err) != "42501" {
		t.Errorf("an analyst without the table: %v", err)
	}
}

// TestRepeatsAcrossProxies remembers in Redis, for all proxies, and answers nothing
// from there that the ledger would not admit.
func TestRepeatsAcrossProxies(t *testing.T) {
	s := sitetest.New(t, sitetest.ClinicSchema, answersPolicy())
	p := &sitetest.Pair{T: t, Redis: redistemp.Start(t, redistemp.Durable...)}
	p.First, p.Next = s.OnRedis(t, p.Redis, ""), s.OnRedis(t, p.Redis, "")
	p.First.InitAgain(t)
	p.Run()
	defer p.Stop()
	first := sitetest.Rows(t, p.Conns[0], bySex)
	paid := p.First.UnitSpent(t)
	if again := sitetest.Rows(t, p.Conns[1], bySex); again != first || p.First.UnitSpent(t) != paid {
		t.Errorf("another proxy answers\n%s\nfor %s, want\n%s\nfor %s", again, p.First.UnitSpent(t), first, paid)
	}
	p.First.Command(t, "ledger", "fence", p.First.Policy, "--reason", "a test")
	for i, conn := range p.Conns {
		if _, err := conn.Exec(t.Context(), bySex); sitetest.SQLState(err) != "PB014" {
			t.Errorf("the fenced proxy %d answers from memory: %v", i, err)
		}
	}
}

// TestRepeatsInPsql reads the notices of repeated statements.
func TestRepeatsInPsql(t *testing.T) {
	s := sitetest.New(t, sitetest.ClinicSchema, answersPolicy())
	r := s.Run(t)
	out := sitetest.Psql(t, r, bySex+";\n"+bySex+";\nEXPLAIN "+bySex+";\n")
	costs := regexp.MustCompile(`cost [a-z0-9. ]+ % of|`+
		`cost nothing, answered before|cost: nothing, the same was answered before`).FindAllString(out, -1)
	if len(costs) != 3 || costs[0] == costs[1] {
		t.Errorf("costs %q in\n%s", costs, out)
	}
	conn := sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser))
	sitetest.Exec(t, conn, "UPDATE patients SET birth_year = 1920")
	if again := sitetest.Psql(t, r, bySex+";\n"); !strings.Contains(out, strings.Split(again, "\n")[2]) {
		t.Errorf("within an epoch the answer follows the data:\n%s\n%s", out, again)
	}
}
