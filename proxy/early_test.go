package proxy_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"dpproxy/accountant"
	"dpproxy/internal/pgtemp"
)

// TestClientGoneEarly ends a session whose client goes away, without a cancel request, while
// the constants of its Query are computed.
func TestClientGoneEarly(t *testing.T) {
	const sql = "SELECT count(*) FROM visits WHERE cost > (SELECT count(*) FROM generate_series(1, 100000000))"
	w := newWorld(t)
	admin := connect(t, w.mirror.URL("postgres", pgtemp.Superuser))
	works := func() (works bool) {
		if err := admin.QueryRow(t.Context(), `SELECT count(*) > 0 FROM pg_stat_activity
			WHERE usename = 'ana' AND state = 'active' AND query LIKE '%current_setting(''dp.%'`).Scan(&works); err != nil {
			t.Fatal(err)
		}
		return works
	}
	until := func(what string, want bool) {
		for end := time.Now().Add(20 * time.Second); works() != want; {
			if time.Now().After(end) {
				t.Fatal("never: " + what)
			}
		}
	}
	conn, err := pgx.Connect(t.Context(), w.url("ana"))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := conn.PgConn().Hijack()
	if err != nil {
		t.Fatal(err)
	}
	query, err := (&pgproto3.Query{String: sql}).Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := raw.Conn.Write(query); err != nil {
		t.Fatal(err)
	}
	until("the mirror works", true)
	raw.Conn.Close()
	until("the mirror rests", false)
}

// TestCancelEarly cancels a Query when its prelude is about to be sent: it is not charged.
func TestCancelEarly(t *testing.T) {
	w := newWorld(t)
	var once sync.Once
	var conn *pgx.Conn
	w.tap = &tap{before: func(sql string) {
		if conn != nil && strings.Contains(sql, "current_setting('dp.epsilon'") {
			once.Do(func() {
				if err := conn.PgConn().CancelRequest(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	}}
	conn = connect(t, w.url("ana"))
	before := w.spent(t, accountant.UnitScope, "patient")
	_, err := conn.Exec(t.Context(), "SELECT count(*) FROM visits", pgx.QueryExecModeSimpleProtocol)
	if code(err) != "57014" {
		t.Errorf("canceled before it was charged: %v", err)
	}
	if w.spent(t, accountant.UnitScope, "patient") != before {
		t.Error("it was charged")
	}
}
