package reader

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"

	"dpproxy/catalog"
	"dpproxy/internal/pgtemp"
	"dpproxy/planner"
	"dpproxy/planner/policy"
)

// A statement whose time is over while it gets a session is not charged, even if the
// session is ready: a cancel request may be under way to it.
func TestConnectInTime(t *testing.T) {
	d, cancel := openData(t)
	plan := &planner.Plan{Relations: views(d, 1)}
	left := 0
	connect := func(ctx context.Context) error {
		c, err := d.connect(ctx, plan, func() { left++ })
		if err == nil {
			c.release()
		}
		return err
	}
	if err := connect(t.Context()); err != nil || left != 1 {
		t.Fatalf("%v, %d places given back", err, left)
	}
	first := d.pool.Stat().NewConnsCount()
	ctx, stop := context.WithCancelCause(t.Context())
	*cancel = func() { stop(ErrTimeout) }
	if err := connect(ctx); !errors.Is(err, ErrTimeout) {
		t.Errorf("a session behind its time: %v", err)
	}
	*cancel = func() {}
	if err := connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d.pool.Stat().NewConnsCount() != first+1 {
		t.Error("the session is used again")
	}
}

// A defect after a session was taken keeps neither the session nor its place.
func TestConnectPanics(t *testing.T) {
	d, _ := openData(t)
	views(d, 1)
	r := New(d, Sharing{})
	unknown := &planner.Plan{Relations: []catalog.Name{{Schema: "public", Name: "unknown"}}}
	for range 3 { // of one session
		func() {
			defer func() {
				if recover() == nil {
					t.Error("there is no defect any more: find another")
				}
			}()
			_, _ = r.Open(t.Context(), "ana", unknown, time.Minute)
		}()
	}
	if r.queue.running != 0 {
		t.Errorf("%d places are kept", r.queue.running)
	}
}

// A session prepares each statement once, even after other statements whose names have begun anew. A statement that was planned with other
// settings is another statement.
func TestPrepared(t *testing.T) {
	d, _ := openData(t)
	c, err := d.connect(t.Context(), &planner.Plan{Relations: views(d, 19)}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer c.release()
	run := func(numbers ...int) (texts int) {
		t.Helper()
		q, has := &requests{}, c.prepared().forNext()
		for _, n := range numbers {
			q.runPrepared(has.name(q, planned{sql: "SELECT " + strconv.Itoa(n)}))
		}
		results, err := q.exchange(t.Context(), c.conn.Conn().PgConn(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, n := range numbers {
			if got := string(results[i][0][0]); got != strconv.Itoa(n) {
				t.Fatalf("SELECT %d answers %s", n, got)
			}
		}
		c.setPrepared(has)
		for _, m := range *q {
			if _, ok := m.(*pgproto3.Parse); ok {
				texts++
			}
		}
		return texts
	}
	if n := run(1, 2, 1); n != 2 {
		t.Errorf("two statements are prepared %d times", n)
	}
	if n := run(2, 1, 3); n != 1 {
		t.Errorf("one more is prepared %d times", n)
	}
	q, before := &requests{}, c.prepared()
	before.forNext().name(q, planned{"SELECT 1", "SET LOCAL enable_hashagg = off"})
	if len(*q) == 0 || len(before.names) != 3 {
		t.Error("what an exchange prepares is the session's before it has ended well")
	}
	var all []int
	for n := range 3 * keptStatements {
		all = append(all, n)
		run(n, n+1, n)
	}
	if n := len(c.prepared().names); n > keptStatements {
		t.Errorf("%d statements are prepared", n)
	}
	if n := run(all...); n < 2*keptStatements {
		t.Errorf("%d of %d are prepared", n, len(all))
	}
	run(all...)
}

// views gives Data a catalogue of n views.
func views(d *Data, n int) (names []catalog.Name) {
	s := &catalog.Schema{Tables: map[catalog.Name]*catalog.Table{}}
	for i := range n {
		v := catalog.Name{Schema: "public", Name: strings.Repeat("v", i+1)}
		s.Tables[v] = &catalog.Table{Name: v, Kind: 'v', View: "SELECT", OID: 1_000_000_000 + uint32(i)}
		names = append(names, v)
	}
	d.catalog, _ = policy.Check(policy.Policy{}, s)
	return names
}

// openData connects to an empty database, with one session. It calls between when the session is taken.
func openData(t *testing.T) (d *Data, between *func()) {
	t.Helper()
	server, err := pgtemp.Start(t.Context(), pgtemp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	cfg, err := pgxpool.ParseConfig(server.URL("postgres", pgtemp.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	cfg.MaxConns = 1
	call := func() {}
	cfg.PrepareConn = func(context.Context, *pgx.Conn) (bool, error) {
		call()
		return true, nil
	}
	if d, err = Open(t.Context(), cfg, &policy.Model{}, make([]byte, 32)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d, &call
}
