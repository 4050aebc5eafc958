package reader

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
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

// A defect behind the taking of a session keeps neither it nor its place.
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

// Two sets of many relations are checked by two statements of a session.
func TestManyRelations(t *testing.T) {
	d, _ := openData(t)
	for _, relations := range [][]catalog.Name{views(d, 19), views(d, 20)} {
		c, err := d.connect(t.Context(), &planner.Plan{Relations: relations}, func() {})
		if err != nil {
			t.Fatalf("%d relations: %v", len(relations), err)
		}
		c.release()
	}
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

// openData connects to an empty database, with one session; between is called when it is
// taken.
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
