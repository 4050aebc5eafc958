package integration_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
)

// unitSpent returns the ε that the unit has spent.
func (s *site) unitSpent(t *testing.T) string {
	t.Helper()
	var all []balance
	s.json(t, &all, "budget", "list", s.policy)
	for _, b := range all {
		if b.Kind == "unit" {
			return b.Spent.String()
		}
	}
	t.Fatalf("no unit among %+v", all)
	return ""
}

// answers asks on each connection; every one must answer, or none.
func answers(t *testing.T, want bool, conns ...*pgx.Conn) {
	t.Helper()
	for i, c := range conns {
		if _, err := c.Exec(t.Context(), count); (err == nil) != want {
			t.Errorf("connection %d: %v", i, err)
		}
	}
}

// twoProxies are two dpproxies on one Redis, mirror and database.
type twoProxies struct {
	t           *testing.T // lives as long as they do
	redis       *redisServer
	first, next *site
	running     [2]*running
	conns       [2]*pgx.Conn
}

func (p *twoProxies) run() {
	p.t.Helper()
	p.start(0, p.first)
	p.start(1, p.next)
}

func (p *twoProxies) start(i int, s *site) {
	p.t.Helper()
	p.running[i] = s.run(p.t)
	p.conns[i] = dial(p.t, p.running[i].url("ana"))
}

func (p *twoProxies) stop() {
	for _, r := range p.running {
		r.stop()
	}
}

// TestTwoProxies goes through what docs/operations.md says of several proxies.
func TestTwoProxies(t *testing.T) {
	s := newSite(t, clinicSchema, clinicPolicy)
	p := &twoProxies{t: t, redis: startRedis(t, durable...)}
	p.first, p.next = s.onRedis(t, p.redis, ""), s.onRedis(t, p.redis, "")
	s.command(t, "init", p.first.policy)
	p.run()
	answers(t, true, p.conns[0], p.conns[1], p.conns[1])
	if got := p.first.unitSpent(t); got != "0.3" {
		t.Errorf("three answers at ε=0.1 cost %s", got)
	}
	t.Run("decisions", func(t *testing.T) { testSharedDecisions(t, p) })
	t.Run("fence", func(t *testing.T) { testSharedFence(t, p) })
	t.Run("crash", func(t *testing.T) {
		p.redis.kill()
		p.redis.start(t)
		answers(t, true, p.conns[:]...)
	})
	t.Run("repair", func(t *testing.T) { testSharedRepair(t, p) })
}

// Decisions count at once, in every proxy.
func testSharedDecisions(t *testing.T, p *twoProxies) {
	p.first.command(t, "budget", "freeze", p.first.policy, "--scope", "unit:patient", "--reason", "an audit")
	answers(t, false, p.conns[:]...)
	p.first.command(t, "budget", "thaw", p.next.policy, "--scope", "unit:patient", "--reason", "audited")
	answers(t, true, p.conns[:]...)
	p.first.command(t, "budget", "lower", p.first.policy, "--scope", "unit:patient", "--epsilon", "0.55", "--reason", "a smaller study")
	answers(t, false, p.conns[:]...)
	p.first.says(t, "the policy says the same", "budget", "raise", p.first.policy, "--scope", "unit:patient", "--epsilon", "9000", "--reason", "approved")
	answers(t, true, p.conns[:]...)
}

// A fenced proxy answers no more until it is started again; the other goes on.
func testSharedFence(t *testing.T, p *twoProxies) {
	var runs []struct {
		Run       string
		LastEntry int `json:"last_entry"`
	}
	if p.first.json(t, &runs, "ledger", "runs", p.first.policy); len(runs) != 2 {
		t.Fatalf("runs %+v", runs)
	}
	answers(t, true, p.conns[1])
	answers(t, true, p.conns[0]) // is the last to write
	p.first.json(t, &runs, "ledger", "runs", p.first.policy)
	last := runs[0]
	if runs[1].LastEntry > last.LastEntry {
		last = runs[1]
	}
	p.first.refuses(t, "no run \"nobody\" goes on", "ledger", "fence", p.next.policy, "--run", "nobody", "--reason", "it hangs")
	p.first.command(t, "ledger", "fence", p.next.policy, "--run", last.Run, "--reason", "it hangs")
	answers(t, false, p.conns[0])
	answers(t, true, p.conns[1])
	p.running[0].stop()
	p.start(0, p.first)
	answers(t, true, p.conns[:]...)
}

// Redis goes back to an older copy, and one proxy, without a journal, goes on there:
// the others notice, and a repair puts everything into one history.
func testSharedRepair(t *testing.T, p *twoProxies) {
	copied, err := p.redis.client.HGetAll(t.Context(), "dp:clinic").Result()
	if err != nil {
		t.Fatal(err)
	}
	answers(t, true, p.conns[:]...)
	before := p.first.unitSpent(t)
	if err := p.redis.client.Del(t.Context(), "dp:clinic").Err(); err != nil {
		t.Fatal(err)
	}
	answers(t, false, p.conns[:]...)
	if err := p.redis.client.HSet(t.Context(), "dp:clinic", copied).Err(); err != nil {
		t.Fatal(err)
	}
	answers(t, false, p.conns[:]...)
	p.stop()
	p.first.refuses(t, "went backwards", "run", p.first.policy)
	p.first.refuses(t, "went backwards", "ledger", "verify", p.first.policy)

	stray := p.first.onRedis(t, p.redis, "") // has no journal that could tell
	r := stray.run(t)
	answers(t, true, dial(t, r.url("ana")))
	r.stop()
	out := p.first.command(t, "ledger", "repair", p.first.policy, "--journal", p.first.journal(), "--journal", p.next.journal(), "--journal", stray.journal(),
		"--reason", "an old copy was restored")
	if !strings.Contains(out, "charged again: ε=0.2 to unit:patient") || strings.Count(out, "move ledger.log, ledger.mark and ledger.snapshot away") != 2 {
		t.Errorf("repair says %s", out)
	}
	for _, dir := range []string{p.first.journal(), p.next.journal()} {
		kept := t.TempDir()
		for _, name := range []string{"ledger.log", "ledger.mark", "ledger.snapshot"} {
			if err := os.Rename(filepath.Join(dir, name), filepath.Join(kept, name)); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
	}
	p.run()
	after := p.first.unitSpent(t)
	answers(t, true, p.conns[:]...)
	p.first.command(t, "ledger", "verify", p.first.policy)
	if before != "1.6" || after != "1.7" {
		t.Errorf("%s was spent when Redis lost two answers of it, and the stray proxy gave one more; after the repair it is %s", before, after)
	}
}

// TestSharedBudget lets 64 clients of two dpproxies race for the last of one budget.
func TestSharedBudget(t *testing.T) {
	const clients, each, fit = 64, 4, 100
	s := newSite(t, clinicSchema, strings.Replace(clinicPolicy, "budget: {epsilon: 9000}", "budget: {epsilon: 10}", 1)+"\nlimits: {connections: 200}\n")
	p := &twoProxies{t: t, redis: startRedis(t, durable...)}
	p.first, p.next = s.onRedis(t, p.redis, ""), s.onRedis(t, p.redis, "")
	s.command(t, "init", p.first.policy)
	p.run()
	defer p.stop()
	var answered, refused atomic.Int64
	var wg sync.WaitGroup
	for i := range clients {
		conn := dial(t, p.running[i%2].url("ana"))
		wg.Go(func() {
			for range each {
				switch _, err := conn.Exec(t.Context(), count); {
				case err == nil:
					answered.Add(1)
				case sqlstate(err) == "PB001":
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
		Balances []balance
	}
	p.first.json(t, &verified, "ledger", "verify", p.next.policy)
	if verified.Charges != fit || len(verified.Balances) != 1 || verified.Balances[0].Spent.String() != "10" {
		t.Errorf("dpproxy ledger verify says %+v", verified)
	}
}
