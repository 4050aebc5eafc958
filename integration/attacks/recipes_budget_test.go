package attacks_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/redistemp"
	"dpproxy/internal/sitetest"
)

// TestBudgetRecipes are attacks on the budget.
func TestBudgetRecipes(t *testing.T) {
	t.Parallel()
	cook(t, kitchenPolicy(""), []recipe{
		{"K1", "many ask at once", testManyAtOnce},
		{"K2", "a statement that fails is asked again and again", testFreeOracle},
		{"K3", "the transaction is rolled back", testRolledBack},
		{"K4", "the client goes away before the answer", testGoneBefore},
		{"K5", "a short timeout", testShortTimeout},
		{"K6", "strange settings of epsilon", testStrangeEpsilon},
		{"K7", "very many very small charges", testSmallCharges},
		{"K8", "the ledger loses its memory", testLedgerFlushed},
		{"K9", "many analysts ask once", testSybils},
		{"K10", "the rest of the budget around a refusal", testRestAround},
		{"K11", "thresholds spend delta", testDeltaIsSpent},
		{"K12", "an answer is drawn until it pleases", testDrawAgain},
		{"K13", "the clock passes a refresh", testNoRefresh},
		{"K14", "bounds set by the analyst", testOwnBounds},
	})
}

func testManyAtOnce(t *testing.T, k *kitchen) {
	const clients = 200
	conns := make([]*pgx.Conn, clients)
	for i := range conns {
		conns[i] = k.dial(t, "once")
	}
	start := make(chan struct{})
	var answers atomic.Int64
	var all sync.WaitGroup
	k.charged(t, 1, func() {
		for _, c := range conns {
			all.Go(func() {
				<-start
				_, err := c.Exec(t.Context(), sitetest.CountPatients)
				switch {
				case err == nil:
					answers.Add(1)
				case sitetest.SQLState(err) != "PB001":
					t.Error(err)
				}
			})
		}
		close(start)
		all.Wait()
	})
	if n := answers.Load(); n != 1 {
		t.Errorf("%d answers from a budget for one", n)
	}
	for _, c := range conns {
		c.Close(t.Context())
	}
}

func testFreeOracle(t *testing.T, k *kitchen) {
	ana := k.dial(t, "ana")
	for _, sql := range []string{
		"SELECT count(1 / (birth_year - 1931)) FROM patients WHERE id = 1",
		"SELECT count(*) FROM patients WHERE id = 1 AND 1 / (birth_year - 1931) > 0",
		"SELECT 1 / 0 FROM (SELECT count(*) FROM patients) x",
	} {
		before, _ := sitetest.Charges(t, k.Site)
		const asked = 4
		read := 0
		for range asked {
			_, err := ana.Exec(t.Context(), sql)
			if state := sitetest.SQLState(err); err == nil || state == "22012" { // above the release, division by zero is the analyst's own
				read++
			} else if failedRead.MatchString(state) {
				t.Errorf("%s: %v", sql, err)
			}
		}
		if after, _ := sitetest.Charges(t, k.Site); after-before != read || read != 0 && read != asked {
			t.Errorf("%s: read %d times of %d, charged %d times", sql, read, asked, after-before)
		}
	}
}

func testRolledBack(t *testing.T, k *kitchen) {
	ana := k.dial(t, "ana")
	k.charged(t, 3, func() {
		sitetest.Exec(t, ana, "BEGIN")
		sitetest.Exec(t, ana, sitetest.CountPatients)
		sitetest.Exec(t, ana, "SAVEPOINT a")
		sitetest.Exec(t, ana, sitetest.CountPatients)
		sitetest.Exec(t, ana, "ROLLBACK TO a")
		sitetest.Exec(t, ana, "ROLLBACK")
		sitetest.Exec(t, ana, "BEGIN; SELECT count(*) FROM patients; ROLLBACK")
	})
}

func testGoneBefore(t *testing.T, k *kitchen) {
	unlock := k.StopReads()
	defer unlock()
	ask := func(end func(*pgx.Conn)) {
		conn := k.dial(t, "cancels")
		done := sitetest.InBackground(t, conn, sitetest.CountPatients)
		k.AwaitReads(t, 1)
		end(conn)
		<-done
		k.AwaitReads(t, 0)
	}
	k.charged(t, 1, func() { ask(func(c *pgx.Conn) { c.PgConn().CancelRequest(t.Context()) }) })
	k.charged(t, 1, func() { ask(func(c *pgx.Conn) { c.PgConn().Conn().Close() }) })
}

func testShortTimeout(t *testing.T, k *kitchen) {
	unlock := k.StopReads()
	defer unlock()
	slow := k.dial(t, "slow")
	sitetest.Exec(t, slow, "SET statement_timeout = '1s'") // until when it is surely charged
	k.charged(t, 1, func() {
		_, err := slow.Exec(t.Context(), "SELECT count(*), sum(birth_year) FROM patients")
		sitetest.Fails(t, err, "57014", "statement timeout")
	})
}

func testStrangeEpsilon(t *testing.T, k *kitchen) {
	for _, v := range []string{
		"NaN", "-1", "0", "-0", "1e308", "1e20", "inf", "Infinity", "1e-400", "0x1p3", "1_0", "0.1e", "٣", "1e-13",
		"1001",
	} {
		ana := k.dial(t, "ana")
		k.unread(t, func() {
			for _, set := range []string{
				"SET dp.epsilon = '%s'", "SET LOCAL dp.epsilon = '%s'", "ALTER ROLE ana SET dp.epsilon = '%s'",
				"SELECT set_config('dp.epsilon', '%s', false)",
			} {
				if _, err := ana.Exec(t.Context(), fmt.Sprintf(set, v)); err == nil {
					t.Errorf(set+" is accepted", v)
				}
			}
			// A function sets it behind dpproxy's back: then the statement fails.
			sitetest.Exec(t, ana, fmt.Sprintf("DO $$ BEGIN PERFORM set_config('dp.epsilon', '%s', false); END $$", v))
			if _, err := ana.Exec(t.Context(), sitetest.CountPatients); err == nil {
				t.Errorf("epsilon of %q is used", v)
			}
		})
	}
}

func testSmallCharges(t *testing.T, k *kitchen) {
	spend := func(user, epsilon string, most int) {
		conn := k.dial(t, user)
		sitetest.Exec(t, conn, "SET dp.epsilon = "+epsilon)
		k.charged(t, most, func() {
			for range most {
				sitetest.Exec(t, conn, sitetest.CountPatients)
			}
			_, err := conn.Exec(t.Context(), sitetest.CountPatients)
			sitetest.Fails(t, err, "PB001", "exhausted")
		})
	}
	spend("ten", "0.1", 10)
	spend("tiny", "1e-9", 100)
}

func testLedgerFlushed(t *testing.T, k *kitchen) {
	redis := redistemp.Start(t, redistemp.Durable...)
	s := k.OnRedis(t, redis, "")
	k.closed(t)
	s.InitAgain(t)
	r := s.Run(t)
	conn := sitetest.Dial(t, r.URL("ana"))
	sitetest.Exec(t, conn, sitetest.CountPatients)
	if err := redis.Client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := conn.Exec(t.Context(), sitetest.CountPatients); !strings.HasPrefix(sitetest.SQLState(err), "PB") {
			t.Errorf("with an empty ledger: %v", err)
		}
	}
	r.Kill()
	if out, failed := s.Attempt(t, "run", s.Policy); !failed {
		t.Errorf("dpproxy starts with an empty ledger:\n%s", out)
	}
}

func testSybils(t *testing.T, k *kitchen) {
	answers := 0
	for i := range sybils {
		conn := k.dial(t, fmt.Sprintf("sybil%d", i))
		_, err := conn.Exec(t.Context(), "SELECT count(*) FROM labs")
		if err == nil {
			answers++
		}
	}
	if answers != 5 {
		t.Errorf("%d answers from a table's budget for 5", answers)
	}
}

func testRestAround(t *testing.T, k *kitchen) {
	ana := k.dial(t, "ana")
	for _, sql := range []string{
		"SELECT sex FROM patients", "SELECT 1 / 0", "SELECT count(*) FROM patients WHERE name = 'x'",
		"SELECT max(nosuch) FROM patients",
	} {
		before := sitetest.Spent(t, ana)
		if _, err := ana.Exec(t.Context(), sql); err == nil {
			t.Errorf("%s is answered", sql)
		}
		if after := sitetest.Spent(t, ana); after != before {
			t.Errorf("%s: before\n%s\nafter\n%s", sql, before, after)
		}
	}
}

// The decision of a threshold costs delta, each time.
func testDeltaIsSpent(t *testing.T, k *kitchen) {
	ana := k.dial(t, "ana")
	delta := func() string {
		return sitetest.Rows(t, ana, "SELECT delta_spent::text FROM dp.budget WHERE kind = 'unit'")
	}
	for range 3 {
		before, charged := delta(), sitetest.NewMeter(t, k.Site)
		if _, err := ana.Exec(t.Context(), "SELECT cost, count(*) FROM visits GROUP BY cost"); err != nil {
			charged.Ticks("a refusal of private keys", 0)
			continue
		}
		charged.Ticks("an answer with private keys", 1)
		if delta() == before {
			t.Errorf("a threshold cost no delta: %s", before)
		}
	}
}

func testDrawAgain(t *testing.T, k *kitchen) {
	ana := k.dial(t, "ana")
	k.charged(t, 5, func() {
		for range 5 {
			sitetest.Exec(t, ana, "SELECT avg(birth_year), sum(birth_year) FROM patients WHERE sex = 'f'")
		}
	})
}

func testNoRefresh(t *testing.T, k *kitchen) {
	s := k.Variant(t, "budget: {epsilon: 0.5}", "budget: {epsilon: 0.5, refresh: 24h}")
	if out, failed := s.Attempt(t, "check", s.Policy); !failed || !strings.Contains(out, "refresh") {
		t.Errorf("a budget that refreshes is accepted:\n%s", out)
	}
}

// An analyst can only ask for less than the policy's bounds.
func testOwnBounds(t *testing.T, k *kitchen) {
	const sql = "SELECT diagnosis, sum(cost) FROM visits GROUP BY diagnosis"
	ana := k.dial(t, "ana")
	plan := sitetest.Rows(t, ana, "EXPLAIN VERBOSE "+sql)
	for _, hint := range []string{"dp.max_partitions", "dp.max_rows", "dp.max_sum", "dp.max_groups_contributed", "dp.bounds"} {
		for _, v := range []string{"1000000", "-1", "NaN", "1e400"} {
			if _, err := ana.Exec(t.Context(), fmt.Sprintf("SET %s = '%s'", hint, v)); err != nil {
				continue
			}
			if again := sitetest.Rows(t, ana, "EXPLAIN VERBOSE "+sql); bounds(again) != bounds(plan) {
				t.Errorf("%s = %s changes the plan:\n%s\n%s", hint, v, plan, again)
			}
		}
	}
}

// bounds returns the lines of a plan with the bounds of contributions.
func bounds(plan string) string {
	var lines []string
	for line := range strings.Lines(plan) {
		if strings.Contains(line, "l0=") || strings.Contains(line, "linf=") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}
