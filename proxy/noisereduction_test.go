package proxy_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/accountant"
	"dpproxy/answers"
	"dpproxy/catalog"
	"dpproxy/dp"
	"dpproxy/proxy"
)

// accurate is a world in which a statement may spend little unless it is told, and that
// remembers.
func accurate(t testing.TB, change func(*proxy.Config), limits ...accountant.Limit) *world {
	t.Helper()
	return newWorldWith(t, func(cfg *proxy.Config) {
		store, err := answers.OpenFiles(t.TempDir(), 1000)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Defaults.EpsilonPico, cfg.Defaults.Refine, cfg.Defaults.DeltaAtto = dp.PicoPerUnit, true, 1e8
		cfg.Answers = proxy.Answers{Store: store, Version: oneVersion("1"), Epoch: func() string { return "1" }}
		change(cfg)
	}, limits...)
}

// oneVersion is the version of all relations.
func oneVersion(v string) func([]catalog.Name) []byte {
	return func([]catalog.Name) []byte { return []byte(v) }
}

// large is a budget for all that a test asks.
func large(t testing.TB) accountant.Limit {
	t.Helper()
	l, err := dp.NewLoss(dp.ZCDP, 9000*dp.PicoPerUnit, 1e15)
	if err != nil {
		t.Fatal(err)
	}
	return accountant.Limit{Scope: accountant.Scope{Kind: accountant.UnitScope, Name: "patient"}, Loss: l}
}

// client is a session that keeps the last notice.
type client struct {
	*pgx.Conn

	notice, detail string
}

func (w *world) client(t testing.TB, user string) *client {
	t.Helper()
	c := &client{}
	cfg, err := pgx.ParseConfig(w.url(user))
	if err != nil {
		t.Fatal(err)
	}
	cfg.RuntimeParams["dp.notice"] = "full"
	cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { c.notice, c.detail = n.Message, n.Detail }
	if c.Conn, err = pgx.ConnectConfig(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

// number asks for one number.
func (c *client) number(t testing.TB, sql string) float64 {
	t.Helper()
	var f float64
	if err := c.QueryRow(t.Context(), sql).Scan(&f); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return f
}

func (c *client) set(t testing.TB, settings ...string) {
	t.Helper()
	for _, s := range settings {
		if _, err := c.Exec(t.Context(), "SET "+s); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTargets(t *testing.T) {
	w := accurate(t, func(cfg *proxy.Config) { cfg.Defaults.Recycling = true }, large(t))
	ana := w.client(t, "ana")
	spent := func() int64 { return w.spent(t, accountant.UnitScope, "patient") }
	cost := func(sql string) (float64, int64) {
		before := spent()
		return ana.number(t, sql), spent() - before
	}
	held := func() int64 {
		b, err := w.ledger.Balances(t.Context(), accountant.Scope{Kind: accountant.UnitScope, Name: "patient"})
		if err != nil {
			t.Fatal(err)
		}
		return b[0].Held.Pico()
	}

	t.Run("absolute", func(t *testing.T) {
		ana.set(t, "dp.error = 20")
		got, price := cost("SELECT count(*) FROM patients")
		if math.Abs(got-1000) > 50 {
			t.Errorf("%v", got)
		}
		if want := int64(0.0046 * dp.PicoPerUnit); price <= 0 || price > want {
			t.Errorf("it costs %d, want less than %d", price, want)
		}
		if !strings.Contains(ana.notice, "count ± 20;") || !strings.Contains(ana.detail, "(gaussian noise)") {
			t.Errorf("notice %q", ana.notice)
		}
		ana.set(t, "dp.error = off")
	})

	t.Run("relative", func(t *testing.T) {
		ana.set(t, "dp.relative_error = 0.1")
		got, tenth := cost("SELECT count(*) FROM patients")
		if math.Abs(got-1000) > 150 {
			t.Errorf("%v", got)
		}
		if tenth <= 0 || tenth > int64(0.01*dp.PicoPerUnit) {
			t.Errorf("10 %% cost %d", tenth)
		}
		t.Log(ana.notice)
		if !strings.Contains(ana.detail, " looks)") {
			t.Errorf("notice %q", ana.notice)
		}
		if h := held(); h != 0 {
			t.Errorf("%d is still held", h)
		}
		if again, price := cost("SELECT count(*) FROM patients"); again != got || price != 0 {
			t.Errorf("the same again: %v for %d", again, price)
		}
		ana.set(t, "dp.relative_error = 0.2")
		if looser, price := cost("SELECT count(*) FROM patients"); looser != got || price != 0 {
			t.Errorf("a larger error: %v for %d", looser, price)
		}
		ana.set(t, "dp.relative_error = 0.05")
		_, finer := cost("SELECT count(*) FROM patients")
		t.Log(ana.notice)
		if finer <= 0 || !strings.Contains(ana.notice, "refined") {
			t.Errorf("refined for %d: %s", finer, ana.notice)
		}
		ana.set(t, "dp.refine = off")
		_, alone := cost("SELECT count(*) FROM patients")
		if ratio := float64(tenth+finer) / float64(alone); ratio < 0.6 || ratio > 1.6 {
			t.Errorf("in two steps for %d + %d, at once for %d", tenth, finer, alone)
		}
		ana.set(t, "dp.refine = on", "dp.relative_error = off")
	})
}

// TestPureTargets holds that noise reduction in a pure budget pays for its last level alone, and a
// budget of zCDP beside it for all levels at once.
func TestPureTargets(t *testing.T) {
	table := accountant.Limit{Scope: accountant.Scope{Kind: accountant.TableScope, Name: "public.patients"}, Loss: large(t).Loss}
	w := accurate(t, func(*proxy.Config) {}, limit(t, accountant.UnitScope, "patient", dp.PureDP, 100_000), table)
	ana := w.client(t, "ana")
	ana.set(t, "dp.relative_error = 0.1")
	got := ana.number(t, "SELECT count(*) FROM patients")
	t.Log(got, ana.notice, ana.detail)
	if math.Abs(got-1000) > 150 || !strings.Contains(ana.detail, "laplace_reduction") {
		t.Errorf("%v, %s", got, ana.notice)
	}
	if spent := w.spent(t, accountant.UnitScope, "patient"); spent <= 0 || spent > dp.PicoPerUnit/4 {
		t.Errorf("the unit's budget paid %d", spent)
	}
	if !strings.Contains(ana.notice, "budgets of zCDP have paid for the whole path at its first look") {
		t.Errorf("notice %q", ana.notice)
	}
	var cost string
	ana.set(t, "dp.price = loss")
	if err := ana.QueryRow(t.Context(), "SELECT string_agg(value, '; ') FROM dp.plan("+
		"'SELECT count(*) FROM visits, patients WHERE patients.id = visits.patient_id') WHERE item = 'cost'").Scan(&cost); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(cost, "at most ε=0.99") || !strings.Contains(cost, "at once ρ=0.") {
		t.Errorf("the cost is shown as %s", cost)
	}
	// ε = 1 of Laplace noise costs 1/e of ρ, or tanh(1/2)/2 where it is discrete.
	if spent := w.spent(t, accountant.TableScope, "public.patients"); spent < dp.PicoPerUnit/3 || spent > dp.PicoPerUnit/2 {
		t.Errorf("the table's budget paid %d", spent)
	}
	before := w.spent(t, accountant.UnitScope, "patient")
	if again := ana.number(t, "SELECT count(*) FROM patients"); again != got || w.spent(t, accountant.UnitScope, "patient") != before {
		t.Errorf("again: %v", again)
	}
	ana.set(t, "dp.relative_error = 0.02")
	if finer := ana.number(t, "SELECT count(*) FROM patients"); math.Abs(finer-1000) > 40 || strings.Contains(ana.notice, "refined") {
		t.Errorf("a path is not taken up again: %v, %s", finer, ana.notice)
	}
	ana.set(t, "dp.contribution = auto", "dp.relative_error = 0.1")
	before = w.spent(t, accountant.UnitScope, "patient")
	visits, price := ana.number(t, "SELECT count(*) FROM visits"), w.spent(t, accountant.UnitScope, "patient")-before
	t.Log(visits, price, ana.notice)
	if !strings.Contains(ana.detail, "laplace_reduction") || price < 1 || price > dp.PicoPerUnit/2 {
		t.Errorf("within a limit that is chosen: %v for %d, %s", visits, price, ana.notice)
	}
}

// TestTargetOfNoGroups holds that a statement none of whose private groups is shown has an
// answer, of no rows, and keeps it.
func TestTargetOfNoGroups(t *testing.T) {
	w := accurate(t, func(*proxy.Config) {}, large(t))
	ana := w.client(t, "ana")
	ana.set(t, "dp.relative_error = 0.1")
	const sql = "SELECT count(*) FROM (SELECT id::text, count(*) FROM visits GROUP BY 1 HAVING count(*) > 2) AS t"
	if n := ana.number(t, sql); n != 0 {
		t.Fatalf("%v groups of one unit each", n)
	}
	spent := w.spent(t, accountant.UnitScope, "patient")
	if n := ana.number(t, sql); n != 0 || w.spent(t, accountant.UnitScope, "patient") != spent {
		t.Errorf("again: %v groups, for %d", n, w.spent(t, accountant.UnitScope, "patient")-spent)
	}
}

// TestPathToItsEnd holds that the hold for a path of Laplace noise covers all its
// levels, each of which is rounded up: a target that is not reached has an answer.
func TestPathToItsEnd(t *testing.T) {
	w := accurate(t, func(*proxy.Config) {}, limit(t, accountant.UnitScope, "patient", dp.PureDP, 100_000))
	ana := w.client(t, "ana")
	ana.set(t, "dp.relative_error = 0.0001")
	ana.set(t, "dp.small_groups = show") // averages of so much noise too
	for epsilon, pico := range map[string]int64{"0.3": 3e11, "0.0123456789": 12345678900, "0.777777777777": 777777777777} {
		ana.set(t, "dp.max_epsilon = "+epsilon)
		before := w.spent(t, accountant.UnitScope, "patient")
		ana.number(t, "SELECT count(*) + 0 * avg(birth_year) FROM patients")
		if spent := w.spent(t, accountant.UnitScope, "patient") - before; spent > pico || spent < pico-pico/1000 {
			t.Errorf("dp.max_epsilon = %s: spent %d, want all but a little of %d", epsilon, spent, pico)
		}
		if !strings.Contains(ana.notice, "was not reached") {
			t.Errorf("notice %q", ana.notice)
		}
	}
}

// TestCapsOfTargets holds that a cap that is too small for a first round is refused before
// anything is charged, and that none is too large to be understood.
func TestCapsOfTargets(t *testing.T) {
	w := accurate(t, func(*proxy.Config) {}, large(t))
	ana := w.client(t, "ana")
	ana.set(t, "dp.relative_error = 0.1")
	for epsilon, want := range map[string]string{"1e-12": "PB016", "0.000002": "PB016", "1000": "PB001"} {
		ana.set(t, "dp.max_epsilon = "+epsilon)
		var f float64
		err := ana.QueryRow(t.Context(), "SELECT stddev(birth_year) FROM patients").Scan(&f)
		if got := code(err); got != want {
			t.Errorf("dp.max_epsilon = %s: %v, want %s", epsilon, err, want)
		}
		if spent := w.spent(t, accountant.UnitScope, "patient"); spent != 0 {
			t.Errorf("dp.max_epsilon = %s: spent %d", epsilon, spent)
		}
	}
}

// TestTargetsOfGroups reaches errors in groups, public and private ones and grouping sets.
func TestTargetsOfGroups(t *testing.T) {
	w := accurate(t, func(*proxy.Config) {}, large(t))
	ana := w.client(t, "ana")
	cost := func(sql string) (float64, int64) {
		before := w.spent(t, accountant.UnitScope, "patient")
		return ana.number(t, sql), w.spent(t, accountant.UnitScope, "patient") - before
	}
	ana.set(t, "dp.relative_error = 0.2", "dp.max_epsilon = 30")
	for _, sql := range []string{
		"SELECT count(*) FROM (SELECT diagnosis, count(*), avg(cost), stddev(cost), sum(cost) FROM visits GROUP BY 1) AS t",
		"SELECT count(*) FROM (SELECT hospital_id, count(*) FROM visits GROUP BY 1 HAVING count(*) > 2) AS t",
		"SELECT count(*) FROM (SELECT sex, mood, count(*) FROM patients GROUP BY GROUPING SETS ((sex), (sex, mood), ())) AS t",
	} {
		got, price := cost(sql)
		t.Log(sql, got, ana.notice)
		if price <= 0 {
			t.Errorf("%s: for %d", sql, price)
		}
		if again, price := cost(sql); again != got || price != 0 {
			t.Errorf("%s: again %v for %d", sql, again, price)
		}
	}
	ana.set(t, "dp.relative_error = off")
}
