package mirror_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/pgtemp"
	"dpproxy/mirror"
)

// TestSyncWaitsForSessions changes a table that a transaction uses: sync gives up and leaves the
// mirror as it was, and does its work when the transaction has ended.
func TestSyncWaitsForSessions(t *testing.T) {
	p := twoServers(t)
	p.sync(t, plan())
	defer mirror.SetTries(1)()
	run(t, p.upstream, "ALTER TABLE hospitals ADD beds int; UPDATE regions SET label = 'another'")
	ana := p.as(t, "ana")
	run(t, ana, "BEGIN; SELECT FROM hospitals")
	if _, err := p.trySync(t, plan()); err == nil || !strings.Contains(err.Error(), "a session on the mirror has a transaction open") {
		t.Errorf("beside a transaction: %v", err)
	}
	if got := value(t, ana, "SELECT count(*) FROM regions WHERE label = 'another'"); got != "0" {
		t.Errorf("of a sync that failed, %s rows are there", got)
	}
	// It has not run any statement since: it need not end.
	run(t, ana, "ROLLBACK; BEGIN")
	if got := changed(p.sync(t, plan())); len(got) == 0 {
		t.Error("after the transaction nothing changed")
	}
	if got := value(t, ana, "SELECT count(*) FROM regions r JOIN hospitals h ON h.region = r.code "+
		"WHERE label = 'another' AND beds IS NULL"); got != "20" {
		t.Errorf("%s rows", got)
	}
	run(t, ana, "ROLLBACK")
}

// TestSyncBesideLocks holds that no lock that an analyst can take stops a sync, or only for
// as long as it waits: then it says whose session is in the way.
func TestSyncBesideLocks(t *testing.T) {
	p := twoServers(t)
	p.sync(t, plan())
	defer mirror.SetTries(2)()
	run(t, p.mirror, "SET statement_timeout = '20s'")
	ana, beds := p.as(t, "ana"), 0
	for locks, want := range map[string]string{
		"SELECT pg_advisory_lock(hashtext('dpproxy')), pg_advisory_lock(n) FROM generate_series(-100, 100) n":        "",
		"BEGIN; SELECT pg_advisory_xact_lock(hashtext('dpproxy')); SELECT FROM regions, dp.budget, pg_user_mappings": "",
		"BEGIN; LOCK TABLE hospitals IN ACCESS SHARE MODE; CREATE TEMP TABLE t AS TABLE regions":                     "ana (process ",
		"BEGIN; DO 'BEGIN ALTER ROLE ana PASSWORD ''x''; END'":                                                       "ana (process ",
	} {
		q := plan()
		if want != "" { // there is something to do
			beds++ // the case before may have been made good in between
			run(t, p.upstream, fmt.Sprintf("ALTER TABLE hospitals ADD beds%d int", beds))
			q.Analysts[0].Password = "another"
		}
		run(t, ana, locks)
		_, err := p.trySync(t, q)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", locks, err)
		}
		run(t, ana, "ROLLBACK; SELECT pg_advisory_unlock_all()")
		for _, sql := range []string{"LOCK TABLE pg_user_mapping IN ACCESS SHARE MODE", "SELECT FROM pg_user_mapping FOR KEY SHARE"} {
			if got := state(t, ana, "BEGIN; "+sql); got != "42501" {
				t.Errorf("%s ended with %q", sql, got)
			}
			run(t, ana, "ROLLBACK")
		}
	}
}

// TestKeepLogin holds that the changes of an analyst to their own role are undone: password and
// settings, also while another session of theirs keeps a change of them open.
func TestKeepLogin(t *testing.T) {
	p := twoServers(t)
	q := plan()
	p.sync(t, q)
	ana, other := p.as(t, "ana"), p.as(t, "ana")
	kept := func(want bool) {
		t.Helper()
		changed, err := mirror.KeepLogin(t.Context(), p.mirror, q.Analysts[0])
		if err != nil || changed != want {
			t.Errorf("changed: %t, %v", changed, err)
		}
	}
	kept(false)
	const stored = `SELECT concat((SELECT rolconfig FROM pg_roles WHERE rolname = 'ana'), ' ', ` +
		`(SELECT rolconnlimit FROM pg_roles WHERE rolname = 'ana'), ' ',
		(SELECT array_agg(c ORDER BY c) FROM pg_db_role_setting, unnest(setconfig) c WHERE setrole = 'ana'::regrole))`
	want := value(t, p.mirror, stored)
	for _, sql := range []string{
		"ALTER ROLE ana PASSWORD 'mine'", "ALTER ROLE ana PASSWORD NULL", "ALTER USER CURRENT_USER SET role = 'dpproxy_owner'",
		"ALTER ROLE SESSION_USER SET local_preload_libraries = 'nothing'", "ALTER ROLE ana IN DATABASE postgres SET statement_timeout = 1",
		"ALTER ROLE ana IN DATABASE postgres RESET ALL",
		"DO 'BEGIN EXECUTE ''ALTER ROLE '' || current_user || '' SET client_encoding = latin1''; END'",
		"DROP OWNED BY CURRENT_USER; ALTER ROLE ana SET default_transaction_read_only = on",
	} {
		run(t, ana, sql)
		run(t, other, "BEGIN; DO 'BEGIN ALTER ROLE ana SET lock_timeout = 1; ALTER ROLE ana PASSWORD ''his''; END'")
		kept(true)
		kept(false)
		if got := value(t, p.mirror, stored); got != want {
			t.Errorf("%s leaves %s, not %s", sql, got, want)
		}
		other.Close(t.Context())
		other = p.as(t, "ana")
		if got := value(t, other, "SELECT current_setting('statement_timeout') || "+
			"has_table_privilege('visits', 'SELECT')"); got != "30strue" {
			t.Errorf("after %s a session has %s", sql, got)
		}
	}
	if got := changed(p.sync(t, q)); len(got) != 0 {
		t.Errorf("a sync does %q", got)
	}
}

// TestSyncIsAtomic reads two public tables in one statement, over and over, while syncs
// change their rows and their columns together: it sees both as before or both as after.
func TestSyncIsAtomic(t *testing.T) {
	p := twoServers(t)
	p.sync(t, plan())
	const version = "SELECT (SELECT max(label) FROM regions WHERE code = 'r1') = (SELECT name FROM hospitals WHERE id = 1)"
	run(t, p.upstream, "UPDATE regions SET label = 'version 0'; UPDATE hospitals SET name = 'version 0'")
	p.sync(t, plan())
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var readers sync.WaitGroup
	reads := make(chan int, 3)
	for _, sql := range []string{version, version, "BEGIN; " + version + "; " + version + "; COMMIT"} {
		conn := p.as(t, "ana")
		readers.Go(func() {
			n := 0
			for ; ctx.Err() == nil; n++ {
				results, err := conn.PgConn().Exec(t.Context(), sql).ReadAll()
				if err != nil {
					t.Error(err)
					break
				}
				for _, r := range results {
					if len(r.Rows) > 0 && string(r.Rows[0][0]) != "t" {
						t.Errorf("half of a sync: %s", r.Rows[0][0])
					}
				}
			}
			reads <- n
		})
	}
	for _, change := range []string{
		"UPDATE regions SET label = 'version 1'; UPDATE hospitals SET name = 'version 1'",
		"UPDATE regions SET label = 'version 2'; UPDATE hospitals SET name = 'version 2'; ALTER TABLE hospitals ADD beds int",
		"UPDATE regions SET label = 'version 3'; UPDATE hospitals SET name = 'version 3'; ALTER TABLE regions ADD area int",
		"UPDATE regions SET label = 'version 4'; UPDATE hospitals SET name = 'version 4'; ALTER TABLE regions DROP area; " +
			"ALTER TABLE hospitals DROP beds",
	} {
		run(t, p.upstream, change)
		p.sync(t, plan())
	}
	stop()
	readers.Wait()
	for range 3 {
		if n := <-reads; n < 4 {
			t.Errorf("only %d reads", n)
		}
	}
}

// TestSyncBetweenReaders changes a table that others refer to while one session after the other
// reads it, and another both: Sync gets at both tables, though it may wait for one in another
// order than they do.
func TestSyncBetweenReaders(t *testing.T) {
	p := twoServers(t)
	p.sync(t, plan())
	run(t, p.upstream, "ALTER TABLE hospitals ADD beds int")
	one, both, watch := p.as(t, "ana"), p.as(t, "ana"), connect(t, p.server.URL("postgres", pgtemp.Superuser))
	// waits blocks until the session waits for a lock, or c has a value, which stays there.
	waits := func(conn *pgx.Conn, c chan error) {
		for len(c) == 0 && value(t, watch, fmt.Sprintf("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' "+
			"AND pid = %d", conn.PgConn().PID())) == "0" {
		}
	}
	synced := make(chan error, 1)
	for n := 0; len(synced) == 0; n++ {
		run(t, one, "BEGIN; TABLE hospitals")
		if n == 0 {
			go func() {
				_, err := p.trySync(t, plan())
				synced <- err
			}()
		}
		waits(p.mirror, synced)
		read := make(chan error, 1)
		go func() {
			_, err := both.Exec(t.Context(), "SELECT (SELECT max(label) FROM regions), (SELECT max(name) FROM hospitals)")
			read <- err
		}()
		waits(both, read)
		run(t, one, "COMMIT")
		if err := <-read; err != nil {
			t.Error(err)
		}
	}
	if err := <-synced; err != nil {
		t.Error(err)
	}
}
