package faults_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/await"
	"dpproxy/internal/needs"
	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// noticed is how long it takes at most until the sessions on a machine end that is gone without a word: docs/operations.md
// says 15 seconds, to which come those of a busy computer.
const noticed = 25 * time.Second

// TestDataGone holds that reads of a protected database whose machine is gone without a word are interrupted in the time that is
// said: nobody is blamed, and nothing is charged twice.
func TestDataGone(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, sitetest.ClinicSchema, analysts("bob", "eve", "kim")).Gated(t)
	r := s.Run(t)
	meter := sitetest.NewMeter(t, s)
	names := []string{"ana", "bob", "eve", "kim"}
	conns, questions := map[string]*pgx.Conn{}, map[string]string{}
	shut := s.StopReads()
	outcomes := map[string]<-chan error{}
	for i, name := range names {
		conns[name] = sitetest.Dial(t, r.URL(name))
		questions[name] = fmt.Sprintf("SELECT count(*) FROM patients WHERE birth_year > %d", 1950+i)
		outcomes[name] = sitetest.InBackground(t, conns[name], questions[name])
	}
	s.AwaitReads(t, len(names))
	gone := time.Now()
	if err := s.Gate.Vanish(); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if pg := sitetest.Fails(t, <-outcomes[name], "PB017", "interrupted"); !strings.Contains(pg.Hint, "costs nothing more") {
			t.Errorf("hint %q", pg.Hint)
		}
	}
	if took := time.Since(gone); took > noticed {
		t.Errorf("it took %v", took)
	} else {
		t.Logf("noticed after %.1f s", took.Seconds())
	}
	meter.Ticks("reads that were interrupted", len(names))

	// While it is gone nothing is charged, and everything else works.
	_, err := conns["ana"].Exec(t.Context(), sitetest.CountPatients)
	sitetest.Fails(t, err, "PB015", "cannot be reached")
	sitetest.Exec(t, conns["ana"], "SELECT 1; SELECT * FROM dp.budget")
	meter.Ticks("while it is gone", 0)

	if err := s.Gate.Return(); err != nil {
		t.Fatal(err)
	}
	shut()
	for _, name := range names {
		sitetest.Exec(t, conns[name], questions[name])
	}
	meter.Ticks("the reads that were interrupted", 0)
	if out := s.Command(t, "incidents", "list", s.Policy); strings.Contains(out, "ana") || strings.Contains(out, "bob") {
		t.Errorf("incidents: %s", out)
	}
}

// TestMirrorGone holds that sessions end in that time when the machine of the mirror is gone without a word, idle ones as well as
// those that it has a statement of, and that new ones are served when it is back.
func TestMirrorGone(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy)
	gate, err := s.Mirror.Gate(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gate.Close)
	s.Edit(t, s.Mirror.URL(s.Database, pgtemp.Superuser), gate.URL(s.Database, pgtemp.Superuser))
	r := s.Run(t)
	meter := sitetest.NewMeter(t, s)
	asks, idles := sitetest.Dial(t, r.URL("ana")), sitetest.Dial(t, r.URL("ana"))
	sitetest.Exec(t, asks, sitetest.CountPatients)
	meter.Ticks("a count", 1)

	asked := sitetest.InBackground(t, asks, "SELECT pg_sleep(300)")
	super := sitetest.Dial(t, s.Mirror.URL("postgres", pgtemp.Superuser))
	await.That(t, "the mirror has the statement", func() bool {
		var n int
		err := super.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'").Scan(&n)
		return err == nil && n == 1
	})
	gone := time.Now()
	if err := gate.Vanish(); err != nil {
		t.Fatal(err)
	}
	waited := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*noticed)
		defer cancel()
		_, err := idles.WaitForNotification(ctx)
		waited <- err
	}()
	for what, outcome := range map[string]<-chan error{"a session that waits": asked, "an idle session": waited} {
		sitetest.Fails(t, <-outcome, "57P01", "the mirror session has ended")
		if took := time.Since(gone); took > noticed {
			t.Errorf("%s: it took %v", what, took)
		} else {
			t.Logf("%s: noticed after %.1f s", what, took.Seconds())
		}
	}
	if err := gate.Return(); err != nil {
		t.Fatal(err)
	}
	sitetest.Exec(t, sitetest.Dial(t, r.URL("ana")), sitetest.CountPatients)
	if out := s.Command(t, "incidents", "list", s.Policy); strings.Contains(out, "ana") {
		t.Errorf("incidents: %s", out)
	}
}

// TestClientGone holds that the session of a client whose machine is gone without a word ends in the minute that docs/operations.md
// says, and gives its place to others. The wait makes it a part of make life.
func TestClientGone(t *testing.T) {
	t.Parallel()
	needs.Asked(t, *wholeLife, "life")
	s := limited(t, "analyst_connections: 1")
	r := s.Run(t)
	client := sitetest.Dial(t, r.URL("ana"))
	sitetest.Exec(t, client, sitetest.CountPatients)
	gone := time.Now()
	if err := pgtemp.Deafen(client.PgConn().Conn().(*net.TCPConn)); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		other, err := pgx.Connect(t.Context(), r.URL("ana"))
		if err == nil {
			sitetest.Exec(t, other, sitetest.CountPatients)
			other.Close(t.Context())
			break
		}
		sitetest.Fails(t, errors.Unwrap(err), "53300", "connections")
		if time.Since(gone) > time.Minute+noticed {
			t.Fatalf("after %v: %v", time.Since(gone), err)
		}
		<-tick.C
	}
	took := time.Since(gone)
	t.Logf("noticed after %.1f s", took.Seconds())
	if took < 30*time.Second {
		t.Errorf("it took %v: a client that is away for a moment should find its session", took)
	}
}
