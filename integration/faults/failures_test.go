package faults_test

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/await"
	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// analysts completes the clinic's policy with analysts of the given names. A
// failed read suspends an analyst in the end and its shape for all, so that tests
// of failures have analysts and shapes of their own.
func analysts(names ...string) string {
	policy := sitetest.ClinicPolicy
	for _, n := range names {
		policy += "  " + n + ": {password: \"VERIFIER\", tables: [patients, visits]}\n"
	}
	return policy
}

// limited returns a site of the clinic whose policy has the given limits.
func limited(t *testing.T, limits string) *sitetest.Site {
	t.Helper()
	policy := strings.Replace(sitetest.ClinicPolicy, "privacy_unit:", "limits: {"+limits+"}\nprivacy_unit:", 1)
	return sitetest.New(t, sitetest.ClinicSchema, policy)
}

// TestProtectedDatabaseFails takes the protected database away.
func TestProtectedDatabaseFails(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, sitetest.ClinicSchema, analysts("bob", "eve")).Gated(t)
	r := s.Run(t)
	ana, bob, eve := sitetest.Dial(t, r.URL("ana")), sitetest.Dial(t, r.URL("bob")), sitetest.Dial(t, r.URL("eve"))
	for _, c := range []*pgx.Conn{ana, bob} {
		sitetest.Exec(t, c, sitetest.CountPatients)
	}
	meter := sitetest.NewMeter(t, s)

	// It crashes while dpproxy has idle connections, and comes back at once.
	for range 3 {
		sitetest.Crash(t, s.Data)
		s.Data = sitetest.Restart(t, s.Data)
		for range 3 {
			sitetest.Exec(t, ana, sitetest.CountPatients)
		}
	}
	meter.Ticks("counts after crashes", 9)

	readsFail(t, s, meter, ana, eve)

	// It crashes during a read, which is paid then.
	unlock := s.StopReads()
	const young = "SELECT count(*) FROM patients WHERE birth_year > 1950"
	failed := sitetest.InBackground(t, bob, young)
	s.AwaitReads(t, 1)
	sitetest.Crash(t, s.Data)
	if pg := sitetest.Fails(t, <-failed, "PB017", "interrupted"); !strings.Contains(pg.Hint, "costs nothing more") {
		t.Errorf("hint %q", pg.Hint)
	}
	unlock()
	meter.Ticks("a crash during a read", 1)

	// While it is down nothing is charged, and everything else works.
	for _, conn := range []*pgx.Conn{ana, bob, eve} {
		sitetest.Exec(t, conn, "BEGIN")
		_, err := conn.Exec(t.Context(), sitetest.CountPatients)
		if pg := sitetest.Fails(t, err, "PB015", "cannot be reached"); !strings.Contains(pg.Hint, "Nothing was charged") {
			t.Errorf("hint %q", pg.Hint)
		}
		sitetest.Exec(t, conn, "ROLLBACK; SELECT 1; SELECT * FROM dp.budget")
	}
	sitetest.Dial(t, r.URL("ana"))
	meter.Ticks("while it is down", 0)

	s.Data = sitetest.Restart(t, s.Data)
	for _, conn := range []*pgx.Conn{ana, bob, eve} {
		sitetest.Exec(t, conn, sitetest.CountPatients)
	}
	meter.Ticks("when it is back", 3)
	sitetest.Exec(t, bob, young)
	meter.Ticks("the read that was interrupted", 0)
	r.Silent(t)
}

// readsFail has reads of sums and of rows run out of memory and be cut.
func readsFail(t *testing.T, s *sitetest.Site, meter *sitetest.Meter, ana, eve *pgx.Conn) {
	t.Helper()
	// A read that runs out of memory, in a transaction.
	s.Gate.Fail("53200")
	sitetest.Exec(t, eve, "BEGIN")
	_, err := eve.Exec(t.Context(), "SELECT count(*) FROM patients WHERE sex = 'f'")
	sitetest.Fails(t, err, "PB009", "did not finish")
	if eve.PgConn().TxStatus() != 'E' {
		t.Errorf("a failed read leaves the transaction %c", eve.PgConn().TxStatus())
	}
	_, err = eve.Exec(t.Context(), "SELECT 1")
	sitetest.Fails(t, err, "25P02", "aborted")
	sitetest.Exec(t, eve, "ROLLBACK")
	s.Gate.Open()
	meter.Ticks("a read that ran out of memory", 1)
	_, err = ana.Exec(t.Context(), "SELECT count(*) FROM patients WHERE sex = 'f'")
	sitetest.Fails(t, err, "PB011", "shape")
	meter.Ticks("a statement in quarantine", 0)

	// Reads of rows that run out of memory, and that are cut.
	s.Gate.Fail("53200")
	_, err = eve.Exec(t.Context(), "SELECT count(DISTINCT hospital_id) FROM visits")
	sitetest.Fails(t, err, "PB009", "did not finish")
	s.Gate.Open()
	meter.Ticks("rows that ran out of memory", 1)
	s.Gate.Break()
	_, err = eve.Exec(t.Context(), "SELECT count(DISTINCT day) FROM visits")
	sitetest.Fails(t, err, "PB017", "interrupted")
	s.Gate.Open()
	meter.Ticks("rows that were cut", 1)
}

// TestProtectedDatabaseHangs stops the sessions of the protected database: they
// neither answer nor end.
func TestProtectedDatabaseHangs(t *testing.T) {
	t.Parallel()
	s := limited(t, "statement_timeout: 3s").Gated(t)
	r := s.Run(t)
	ana := sitetest.Dial(t, r.URL("ana"))
	sitetest.Exec(t, ana, sitetest.CountPatients)
	meter := sitetest.NewMeter(t, s)
	super := sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser))
	rows, err := super.Query(t.Context(), "SELECT pid FROM pg_stat_activity WHERE application_name = 'dpproxy'")
	if err != nil {
		t.Fatal(err)
	}
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int32])
	if err != nil || len(pids) == 0 {
		t.Fatal(pids, err)
	}
	// Before a statement that is noticed, and costs nothing.
	sitetest.Signal(t, syscall.SIGSTOP, pids...)
	defer sitetest.Signal(t, syscall.SIGCONT, pids...)
	sitetest.Exec(t, ana, sitetest.CountPatients)
	meter.Ticks("a read on another session", 1)

	// While a read is under way it is one that takes too long: nobody is blamed.
	unlock := s.StopReads()
	failed := sitetest.InBackground(t, ana, sitetest.CountPatients)
	var reading int32
	await.That(t, "the read waits", func() bool {
		err := super.QueryRow(t.Context(), "SELECT pid FROM pg_stat_activity "+
			"WHERE application_name = 'dpproxy' AND state = 'idle in transaction'").Scan(&reading)
		return err == nil && s.WaitingReads() == 1
	})
	sitetest.Signal(t, syscall.SIGSTOP, reading)
	defer sitetest.Signal(t, syscall.SIGCONT, reading)
	unlock()
	sitetest.Fails(t, <-failed, "57014", "the policy's limit of 3s")
	meter.Ticks("a read that hangs", 1)
	sitetest.Exec(t, ana, "SELECT 1")
	sitetest.Exec(t, ana, sitetest.CountPatients)
	meter.Ticks("a read on yet another session", 1)
	r.Silent(t)
}

// TestMirrorFails takes the mirror away: sessions end with a reason, new ones
// wait for its return.
func TestMirrorFails(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy)
	r := s.Run(t)
	idle, busy := sitetest.Dial(t, r.URL("ana")), sitetest.Dial(t, r.URL("ana"))
	sitetest.Exec(t, idle, sitetest.CountPatients)
	meter := sitetest.NewMeter(t, s)
	failed := sitetest.InBackground(t, busy, "SELECT pg_sleep(60)")
	super := sitetest.Dial(t, s.Mirror.URL("postgres", pgtemp.Superuser))
	await.That(t, "the mirror sleeps", func() bool {
		var n int
		return super.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'").Scan(&n) == nil && n == 1
	})
	sitetest.Crash(t, s.Mirror)
	if pg := sitetest.Fails(t, <-failed, "57P01", "mirror session has ended"); pg.Severity != "FATAL" {
		t.Errorf("severity %q", pg.Severity)
	}
	if _, err := idle.Exec(t.Context(), sitetest.CountPatients); err == nil {
		t.Error("a session without a mirror answers")
	}
	_, err := pgx.Connect(t.Context(), r.URL("ana"))
	sitetest.Fails(t, err, "57P03", "cannot be reached")
	meter.Ticks("while the mirror is down", 0)
	s.Mirror = sitetest.Restart(t, s.Mirror)
	again := sitetest.Dial(t, r.URL("ana"))
	sitetest.Exec(t, again, sitetest.CountPatients)
	meter.Ticks("when it is back", 1)
	r.Silent(t)
}

// TestLedgerFails lets the ledger's disk fill up, as far as this process can see.
func TestLedgerFails(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy)
	r := s.Run(t)
	ana := sitetest.Dial(t, r.URL("ana"))
	sitetest.Exec(t, ana, sitetest.CountPatients)
	_, spent := sitetest.Charges(t, s)
	if out, err := exec.Command("prlimit", "--fsize=10", "--pid", strconv.Itoa(r.Cmd.Process.Pid)).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, sql := range []string{
		sitetest.CountPatients, "SELECT * FROM dp.budget", "COPY (" + sitetest.CountPatients + ") TO STDOUT",
		sitetest.CountPatients,
	} {
		sitetest.Exec(t, ana, "BEGIN")
		_, err := ana.Exec(t.Context(), sql)
		sitetest.Fails(t, err, "PB014", "ledger is not available")
		sitetest.Exec(t, ana, "ROLLBACK; SELECT 1")
	}
	sitetest.Dial(t, r.URL("ana"))
	r.Stop()
	r.Silent(t)

	again := s.Run(t)
	sitetest.Exec(t, sitetest.Dial(t, again.URL("ana")), sitetest.CountPatients)
	if n, all := sitetest.Charges(t, s); n != 2 && n != 3 || all < 2*spent {
		t.Errorf("%d charges of %d together, after two answers", n, all)
	}
}

// TestCancel cancels reads in each way that there is: a cancel request, a client
// that goes away, dpproxy's own end. The charge stays; the read ends.
func TestCancel(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy).Gated(t)
	r := s.Run(t)
	conns := []*pgx.Conn{sitetest.Dial(t, r.URL("ana")), sitetest.Dial(t, r.URL("ana"))}
	sitetest.Exec(t, conns[0], sitetest.CountPatients)
	meter := sitetest.NewMeter(t, s)
	unlock := s.StopReads()
	for i, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeExec} {
		failed := sitetest.InBackground(t, conns[i], sitetest.CountPatients, mode)
		s.AwaitReads(t, 1)
		if err := conns[i].PgConn().CancelRequest(t.Context()); err != nil {
			t.Error(err)
		}
		sitetest.Fails(t, <-failed, "57014", "canceling statement due to user request")
		s.AwaitReads(t, 0)
		sitetest.Exec(t, conns[i], "SELECT 1")
		meter.Ticks("a cancelled read", 1)
	}

	// More clients than connections to the protected database go away.
	const gone = 12
	before := backends(t, s)
	for range gone {
		conn, err := pgx.Connect(t.Context(), r.URL("ana"))
		if err != nil {
			t.Fatal(err)
		}
		go conn.Exec(context.Background(), sitetest.CountPatients)
		s.AwaitReads(t, 1)
		conn.PgConn().Conn().Close()
		s.AwaitReads(t, 0)
	}
	meter.Ticks("clients that went away", gone)
	await.That(t, "their mirror sessions end", func() bool { return backends(t, s) <= before })

	// The mirror ends the session of a client whose read is under way.
	ended := sitetest.Dial(t, r.URL("ana"))
	failed := sitetest.InBackground(t, ended, sitetest.CountPatients)
	s.AwaitReads(t, 1)
	super := sitetest.Dial(t, s.Mirror.URL("postgres", pgtemp.Superuser))
	sitetest.Exec(t, super, "SELECT CASE WHEN usename = 'ana' THEN pg_terminate_backend(pid) END FROM pg_stat_activity")
	if pg := sitetest.Fails(t, <-failed, "57P01", "mirror session has ended"); pg.Severity != "FATAL" {
		t.Errorf("severity %q", pg.Severity)
	}
	s.AwaitReads(t, 0)
	meter.Ticks("a session that the mirror ended", 1)
	unlock()
	conns = []*pgx.Conn{sitetest.Dial(t, r.URL("ana")), sitetest.Dial(t, r.URL("ana"))}
	for _, conn := range conns {
		sitetest.Exec(t, conn, sitetest.CountPatients)
	}
	meter.Ticks("reads after it all", 2)
	r.Silent(t)
}

// TestQueue fills the connections to the protected database: who waits for one can
// give up, which costs nothing.
func TestQueue(t *testing.T) {
	t.Parallel()
	s := limited(t, "data_connections: 1").Gated(t)
	r := s.Run(t)
	first, second, third := sitetest.Dial(t, r.URL("ana")), sitetest.Dial(t, r.URL("ana")), sitetest.Dial(t, r.URL("ana"))
	sitetest.Exec(t, first, sitetest.CountPatients)
	meter := sitetest.NewMeter(t, s)
	unlock := s.StopReads()
	answers := []<-chan error{sitetest.InBackground(t, first, sitetest.CountPatients)}
	s.AwaitReads(t, 1)
	meter.Ticks("a read that waits", 1)

	canceled := sitetest.InBackground(t, second, sitetest.CountPatients)
	await.That(t, "the cancel request hits", func() bool {
		if err := second.PgConn().CancelRequest(t.Context()); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-canceled:
			sitetest.Fails(t, err, "57014", "canceling statement due to user request")
			return true
		default:
			return false
		}
	})
	sitetest.Exec(t, third, "SET statement_timeout = '100ms'")
	_, err := third.Exec(t.Context(), sitetest.CountPatients)
	sitetest.Fails(t, err, "57014", "statement timeout")
	meter.Ticks("statements that did not begin", 0)

	answers = append(answers, sitetest.InBackground(t, second, sitetest.CountPatients))
	unlock()
	for _, answer := range answers {
		if err := <-answer; err != nil {
			t.Error(err)
		}
	}
	meter.Ticks("a statement that waited its turn", 1)
	r.Silent(t)
}

// backends counts the mirror's sessions of analysts.
func backends(t *testing.T, s *sitetest.Site) (n int) {
	t.Helper()
	conn := sitetest.Dial(t, s.Mirror.URL("postgres", pgtemp.Superuser))
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE usename = 'ana'").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestTerminate stops dpproxy while a read is under way: the read is finished,
// its answer delivered, and idle sessions are told why they end.
func TestTerminate(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy).Gated(t)
	r := s.Run(t)
	idle, busy := sitetest.Dial(t, r.URL("ana")), sitetest.Dial(t, r.URL("ana"))
	unlock := s.StopReads()
	answered := sitetest.InBackground(t, busy, sitetest.CountPatients)
	s.AwaitReads(t, 1)
	sitetest.Signal(t, syscall.SIGTERM, int32(r.Cmd.Process.Pid))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	_, err := idle.PgConn().ReceiveMessage(ctx)
	sitetest.Fails(t, err, "57P01", "administrator command")
	if _, err := pgx.Connect(t.Context(), r.URL("ana")); err == nil {
		t.Error("a stopping dpproxy takes log-ins")
	}
	unlock()
	if err := <-answered; err != nil {
		t.Errorf("the read that was under way: %v", err)
	}
	<-r.Exited
	if code := r.Cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit status %d", code)
	}
	if n, _ := sitetest.Charges(t, s); n != 1 {
		t.Errorf("%d charges", n)
	}
	r.Silent(t)
}

// TestManySessions opens two hundred sessions that all ask at once, with eight
// connections to the protected database.
func TestManySessions(t *testing.T) {
	t.Parallel()
	const sessions = 200
	s := limited(t, fmt.Sprint("connections: ", sessions))
	r := s.Run(t)
	conns := make([]*pgx.Conn, sessions)
	files := r.Files(t)
	for i := range conns {
		conns[i] = sitetest.Dial(t, r.URL("ana"))
	}
	_, err := pgx.Connect(t.Context(), r.URL("ana"))
	sitetest.Fails(t, err, "53300", "too many clients")
	var all sync.WaitGroup
	for _, conn := range conns {
		all.Go(func() {
			if _, err := conn.Exec(t.Context(), sitetest.CountPatients); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n, _ := sitetest.Charges(t, s); n != sessions {
		t.Errorf("%d charges for %d answers", n, sessions)
	}
	for _, conn := range conns {
		conn.Close(t.Context())
	}
	await.That(t, "the sessions end", func() bool { return backends(t, s) == 0 })
	const pool = 8 // connections to the protected database stay
	await.That(t, "their files are closed", func() bool { return r.Files(t) <= files+pool })
	r.Silent(t)
}
