package privacy_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/await"
	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// A poller asks the same again and again, and notes when the answer has changed.
type poller struct {
	conn *pgx.Conn
	ask  string
	last string

	mu      sync.Mutex
	changes []time.Time
}

func (p *poller) answer(ctx context.Context) (text string, err error) {
	err = p.conn.QueryRow(ctx, p.ask).Scan(&text)
	return text, err
}

// poll goes on until stop is closed.
func (p *poller) poll(t *testing.T, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		now, err := p.answer(t.Context())
		if err != nil {
			t.Error(err)
			return
		}
		if now != p.last {
			p.last = now
			p.mu.Lock()
			p.changes = append(p.changes, time.Now())
			p.mu.Unlock()
		}
	}
}

// before counts the changes before a time.
func (p *poller) before(at time.Time) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.changes {
		if c.Before(at) {
			n++
		}
	}
	return n
}

// TestClocks holds, on the real clock, that sessions which poll all that dpproxy shows see no
// change but the charge before the first point of the grid, of statements that read little and much.
func TestClocks(t *testing.T) {
	const first = 400 * time.Millisecond // point of the grid
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy+"\nlimits: {reply_grid: 400ms}\nanswers: {remember: true}\n")
	sitetest.Exec(t, sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser)),
		"INSERT INTO visits SELECT 100000 + g, g % 1000 + 1, g % 5 + 1, date '2020-01-01', 'flu', 5 "+
			"FROM generate_series(1, 200000) g; ANALYZE visits")
	r := s.Run(t)
	for _, sql := range []string{
		"SELECT count(*) FROM patients WHERE birth_year > 1960",
		"SELECT count(*) FROM visits",
		"/* dp: contribution=auto */ SELECT diagnosis, sum(cost) FROM visits GROUP BY 1",
		"/* dp: relative_error=0.02 */ SELECT sex, count(*) FROM patients GROUP BY 1",
	} {
		// The charge alone may change before the reply, once.
		const price = "SELECT coalesce(string_agg(value, ' '), '') FROM dp.plan($$"
		pollers := map[string]*poller{
			"the history":     {ask: "SELECT count(*)::text FROM dp.history"},
			"budgets":         {ask: "SELECT string_agg(b::text, ' ') FROM dp.budget b"},
			"tables":          {ask: "SELECT string_agg(t::text, ' ') FROM dp.tables t"},
			"its price":       {ask: price + sql + "$$) WHERE item = 'cost'"},
			"another's price": {ask: price + "SELECT count(*) FROM labs$$) WHERE item = 'cost'"},
		}
		allowed := map[string]int{"budgets": 1, "tables": 1, "its price": 1, "another's price": 1}
		ana, stop := sitetest.Dial(t, r.URL("ana")), make(chan struct{})
		var polls sync.WaitGroup
		for _, p := range pollers {
			p.conn = sitetest.Dial(t, r.URL("ana"))
			var err error
			if p.last, err = p.answer(t.Context()); err != nil {
				t.Fatal(err)
			}
			polls.Go(func() { p.poll(t, stop) })
		}
		start := time.Now()
		sitetest.Exec(t, ana, sql)
		replied := time.Now()
		await.That(t, "the history shows the statement", func() bool { return pollers["the history"].before(time.Now()) > 0 })
		close(stop)
		polls.Wait()
		if took := replied.Sub(start); took < first {
			t.Errorf("%s: answered after %v", sql, took)
		}
		for name, p := range pollers {
			if n := p.before(start.Add(first)); n > allowed[name] {
				t.Errorf("%s: %s has changed %d times in the first %v, the reply came after %v", sql, name, n, first, replied.Sub(start))
			}
		}
	}
}

// TestReplyGrid runs dpproxy with a grid, on the real clock.
func TestReplyGrid(t *testing.T) {
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy+"\nlimits: {reply_grid: 50ms}\n").Gated(t)
	conn := sitetest.Dial(t, s.Run(t).URL("ana"))
	start := time.Now()
	sitetest.Exec(t, conn, "SELECT count(*) FROM patients")
	if d := time.Since(start); d < 50*time.Millisecond {
		t.Errorf("an answer came after %v", d)
	}
	s.StopReads()
	sitetest.Exec(t, conn, "SET statement_timeout = '300ms'")
	start = time.Now()
	_, err := conn.Exec(t.Context(), "SELECT count(*) FROM patients")
	if d := time.Since(start); sitetest.SQLState(err) != "57014" || d < 400*time.Millisecond { // 50·2³ is where its time ends
		t.Errorf("after %v: %v", d, err)
	}
}
