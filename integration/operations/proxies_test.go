package operations_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/redistemp"
	"dpproxy/internal/sitetest"
)

// answers asks on each connection; every one must answer, or none.
func answers(t *testing.T, want bool, conns ...*pgx.Conn) {
	t.Helper()
	for i, c := range conns {
		if _, err := c.Exec(t.Context(), sitetest.CountPatients); (err == nil) != want {
			t.Errorf("connection %d: %v", i, err)
		}
	}
}

// TestTwoProxies goes through the chapter of docs/operations.md on several proxies.
func TestTwoProxies(t *testing.T) {
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy)
	p := &sitetest.Pair{T: t, Redis: redistemp.Start(t, redistemp.Durable...)}
	p.First, p.Next = s.OnRedis(t, p.Redis, ""), s.OnRedis(t, p.Redis, "")
	p.First.InitAgain(t)
	p.Run()
	answers(t, true, p.Conns[0], p.Conns[1], p.Conns[1])
	if got := p.First.UnitSpent(t); got != "0.3" {
		t.Errorf("three answers at ε=0.1 cost %s", got)
	}
	t.Run("decisions", func(t *testing.T) { testSharedDecisions(t, p) })
	t.Run("fence", func(t *testing.T) { testSharedFence(t, p) })
	t.Run("crash", func(t *testing.T) {
		p.Redis.Kill()
		p.Redis.Start(t)
		answers(t, true, p.Conns[:]...)
	})
	t.Run("repair", func(t *testing.T) { testSharedRepair(t, p) })
}

// Decisions count at once, in every proxy.
func testSharedDecisions(t *testing.T, p *sitetest.Pair) {
	p.First.Command(t, "budget", "freeze", p.First.Policy, "--scope", "unit:patient", "--reason", "an audit")
	answers(t, false, p.Conns[:]...)
	p.First.Command(t, "budget", "thaw", p.Next.Policy, "--scope", "unit:patient", "--reason", "audited")
	answers(t, true, p.Conns[:]...)
	p.First.Command(t, "budget", "lower", p.First.Policy, "--scope", "unit:patient", "--epsilon", "0.55", "--reason", "a smaller study")
	answers(t, false, p.Conns[:]...)
	p.First.Says(t, "the policy says the same", "budget", "raise", p.First.Policy, "--scope", "unit:patient",
		"--epsilon", "9000", "--reason", "approved")
	answers(t, true, p.Conns[:]...)
}

// A fenced proxy answers no more until it is started again; the other goes on.
func testSharedFence(t *testing.T, p *sitetest.Pair) {
	var runs []struct {
		Run       string
		LastEntry int `json:"last_entry"`
	}
	if p.First.JSON(t, &runs, "ledger", "runs", p.First.Policy); len(runs) != 2 {
		t.Fatalf("runs %+v", runs)
	}
	answers(t, true, p.Conns[1])
	answers(t, true, p.Conns[0]) // is the last to write
	p.First.JSON(t, &runs, "ledger", "runs", p.First.Policy)
	last := runs[0]
	if runs[1].LastEntry > last.LastEntry {
		last = runs[1]
	}
	p.First.Refuses(t, "no run \"nobody\" goes on", "ledger", "fence", p.Next.Policy, "--run", "nobody", "--reason", "it hangs")
	p.First.Command(t, "ledger", "fence", p.Next.Policy, "--run", last.Run, "--reason", "it hangs")
	answers(t, false, p.Conns[0])
	answers(t, true, p.Conns[1])
	p.Running[0].Stop()
	p.StartProxy(0, p.First)
	answers(t, true, p.Conns[:]...)
}

// Redis goes back to an older copy, and one proxy, without a journal, goes on there:
// the others notice, and a repair puts everything into one history.
func testSharedRepair(t *testing.T, p *sitetest.Pair) {
	copied, err := p.Redis.Client.HGetAll(t.Context(), "dp:clinic").Result()
	if err != nil {
		t.Fatal(err)
	}
	marks := mirrorMarks(t, p.First)
	answers(t, true, p.Conns[:]...)
	before := p.First.UnitSpent(t)
	if err := p.Redis.Client.Del(t.Context(), "dp:clinic").Err(); err != nil {
		t.Fatal(err)
	}
	answers(t, false, p.Conns[:]...)
	if err := p.Redis.Client.HSet(t.Context(), "dp:clinic", copied).Err(); err != nil {
		t.Fatal(err)
	}
	answers(t, false, p.Conns[:]...)
	p.Stop()
	p.First.Refuses(t, "went backwards", "run", p.First.Policy)
	p.First.Refuses(t, "went backwards", "ledger", "verify", p.First.Policy)

	putMarks(t, p.First, marks)              // the mirror is of then, too
	stray := p.First.OnRedis(t, p.Redis, "") // has no journal that could tell
	r := stray.Run(t)
	answers(t, true, sitetest.Dial(t, r.URL("ana")))
	r.Stop()
	out := p.First.Command(t, "ledger", "repair", p.First.Policy,
		"--journal", p.First.Journal(), "--journal", p.Next.Journal(), "--journal", stray.Journal(),
		"--reason", "an old copy was restored")
	if !strings.Contains(out, "charged again: ε=0.2 to unit:patient") ||
		strings.Count(out, "move ledger.log, ledger.mark and ledger.snapshot away") != 2 {
		t.Errorf("repair says %s", out)
	}
	for _, dir := range []string{p.First.Journal(), p.Next.Journal()} {
		kept := t.TempDir()
		for _, name := range []string{"ledger.log", "ledger.mark", "ledger.snapshot"} {
			if err := os.Rename(filepath.Join(dir, name), filepath.Join(kept, name)); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
	}
	p.Run()
	after := p.First.UnitSpent(t)
	answers(t, true, p.Conns[:]...)
	p.First.Command(t, "ledger", "verify", p.First.Policy)
	if before != "1.6" || after != "1.7" {
		t.Errorf("%s was spent when Redis lost two answers of it, and the stray proxy gave one more; after the repair it is %s",
			before, after)
	}
}

// TestSharedBudget lets 64 clients of two dpproxies race for the last of one budget.
func TestSharedBudget(t *testing.T) {
	const clients, each, fit = 64, 4, 100
	s := sitetest.New(t, sitetest.ClinicSchema,
		strings.Replace(sitetest.ClinicPolicy, "budget: {epsilon: 9000}", "budget: {epsilon: 10}", 1)+"\nlimits: {connections: 200}\n")
	p := &sitetest.Pair{T: t, Redis: redistemp.Start(t, redistemp.Durable...)}
	p.First, p.Next = s.OnRedis(t, p.Redis, ""), s.OnRedis(t, p.Redis, "")
	p.First.InitAgain(t)
	p.Run()
	defer p.Stop()
	var answered, refused atomic.Int64
	var wg sync.WaitGroup
	for i := range clients {
		conn := sitetest.Dial(t, p.Running[i%2].URL("ana"))
		wg.Go(func() {
			for range each {
				switch _, err := conn.Exec(t.Context(), sitetest.CountPatients); {
				case err == nil:
					answered.Add(1)
				case sitetest.SQLState(err) == "PB001":
					refused.Add(1)
				default:
					t.Errorf("client %d: %v", i, err)
				}
			}
		})
	}
	wg.Wait()
	if answered.Load() != fit || refused.Load() != clients*each-fit {
		t.Errorf("%d answers and %d refusals, want %d answers at ε = 0.1 from ε = 10", answered.Load(), refused.Load(), fit)
	}
	var verified struct {
		Charges  int
		Balances []sitetest.Balance
	}
	p.First.JSON(t, &verified, "ledger", "verify", p.Next.Policy)
	if verified.Charges != fit || len(verified.Balances) != 1 || verified.Balances[0].Spent.String() != "10" {
		t.Errorf("dpproxy ledger verify says %+v", verified)
	}
}
