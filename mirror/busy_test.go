package mirror_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"dpproxy/mirror"
)

// TestSyncWaitsForSessions changes what a transaction uses: sync gives up and leaves the
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
	if got := value(t, ana, "SELECT count(*) FROM regions r JOIN hospitals h ON h.region = r.code WHERE label = 'another' AND beds IS NULL"); got != "20" {
		t.Errorf("%s rows", got)
	}
	run(t, ana, "ROLLBACK")
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
		"UPDATE regions SET label = 'version 4'; UPDATE hospitals SET name = 'version 4'; ALTER TABLE regions DROP area; ALTER TABLE hospitals DROP beds",
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
