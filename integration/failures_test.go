package integration_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/pgtemp"
)

const count = "SELECT count(*) FROM patients"

// analysts completes the clinic's policy with analysts of the given names. A
// failed read suspends an analyst in the end and its shape for all, so that tests
// of failures have analysts and shapes of their own.
func analysts(names ...string) string {
	policy := clinicPolicy
	for _, n := range names {
		policy += "  " + n + ": {password: \"VERIFIER\", tables: [patients, visits]}\n"
	}
	return policy
}

// eventually asks until ok, for at most ten seconds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatalf("never: %s", what)
		case <-tick.C:
		}
	}
}

// crash kills a server. What was written before is kept, although pgtemp's servers
// do not wait for their disks.
func crash(t *testing.T, s *pgtemp.Server) {
	t.Helper()
	conn := dial(t, s.URL("postgres", pgtemp.Superuser))
	must(t, conn, "CHECKPOINT")
	s.Crash()
}

// restart starts a crashed server again at the same address.
func restart(t *testing.T, s *pgtemp.Server) *pgtemp.Server {
	t.Helper()
	var again *pgtemp.Server
	eventually(t, "the server starts again", func() bool {
		var err error
		again, err = pgtemp.Start(t.Context(), pgtemp.Options{Dir: s.SocketDir, Mirror: s.Mirror})
		return err == nil
	})
	t.Cleanup(again.Stop)
	return again
}

// stopReads makes reads wait that are charged.
func stopReads(s *site) (let func()) {
	s.gate.Shut()
	return s.gate.Open
}

// readers counts the reads that wait.
func readers(s *site) int { return s.gate.Waiting() }

// fails checks what a client reads of a failure.
func fails(t *testing.T, err error, code, message string) *pgconn.PgError {
	t.Helper()
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.Code != code || !strings.Contains(pg.Message, message) {
		t.Errorf("%v, want %s: %s", err, code, message)
		return &pgconn.PgError{}
	}
	return pg
}

// TestProtectedDatabaseFails takes the protected database away.
func TestProtectedDatabaseFails(t *testing.T) {
	t.Parallel()
	s := newSite(t, clinicSchema, analysts("bob", "eve")).gated(t)
	r := s.run(t)
	ana, bob, eve := dial(t, r.url("ana")), dial(t, r.url("bob")), dial(t, r.url("eve"))
	for _, c := range []*pgx.Conn{ana, bob} {
		must(t, c, count)
	}
	meter := newMeter(t, s)

	// It crashes while dpproxy has idle connections, and comes back at once.
	for range 3 {
		crash(t, s.data)
		s.data = restart(t, s.data)
		for range 3 {
			must(t, ana, count)
		}
	}
	meter.ticks("counts after crashes", 9)

	// A read whose session ends, in a transaction.
	s.gate.Break()
	must(t, eve, "BEGIN")
	_, err := eve.Exec(t.Context(), "SELECT count(*) FROM patients WHERE sex = 'f'")
	fails(t, err, "PB009", "did not finish")
	if eve.PgConn().TxStatus() != 'E' {
		t.Errorf("a failed read leaves the transaction %c", eve.PgConn().TxStatus())
	}
	_, err = eve.Exec(t.Context(), "SELECT 1")
	fails(t, err, "25P02", "aborted")
	must(t, eve, "ROLLBACK")
	meter.ticks("a read whose session ended", 1)
	_, err = ana.Exec(t.Context(), "SELECT count(*) FROM patients WHERE sex = 'f'")
	fails(t, err, "PB011", "shape")
	meter.ticks("a statement in quarantine", 0)

	// It crashes during a read: the same words.
	unlock := stopReads(s)
	failed := make(chan error)
	go func() {
		_, err := bob.Exec(t.Context(), "SELECT count(*) FROM patients WHERE birth_year > 1950")
		failed <- err
	}()
	eventually(t, "the read waits", func() bool { return readers(s) == 1 })
	crash(t, s.data)
	fails(t, <-failed, "PB009", "did not finish")
	unlock()
	meter.ticks("a crash during a read", 1)

	// While it is down nothing is charged, and everything else works.
	for _, conn := range []*pgx.Conn{ana, bob, eve} {
		must(t, conn, "BEGIN")
		_, err := conn.Exec(t.Context(), count)
		if pg := fails(t, err, "PB015", "cannot be reached"); !strings.Contains(pg.Hint, "Nothing was charged") {
			t.Errorf("hint %q", pg.Hint)
		}
		must(t, conn, "ROLLBACK; SELECT 1; SELECT * FROM dp.budget")
	}
	dial(t, r.url("ana"))
	meter.ticks("while it is down", 0)

	s.data = restart(t, s.data)
	for _, conn := range []*pgx.Conn{ana, bob, eve} {
		must(t, conn, count)
	}
	meter.ticks("when it is back", 3)
	r.silent(t)
}

// TestProtectedDatabaseHangs stops the sessions of the protected database: they
// neither answer nor end.
func TestProtectedDatabaseHangs(t *testing.T) {
	t.Parallel()
	policy := strings.Replace(clinicPolicy, "privacy_unit:", "limits: {statement_timeout: 1s}\nprivacy_unit:", 1)
	s := newSite(t, clinicSchema, policy).gated(t)
	r := s.run(t)
	ana := dial(t, r.url("ana"))
	must(t, ana, count)
	meter := newMeter(t, s)
	super := dial(t, s.data.URL("postgres", pgtemp.Superuser))
	rows, err := super.Query(t.Context(), "SELECT pid FROM pg_stat_activity WHERE application_name = 'dpproxy'")
	if err != nil {
		t.Fatal(err)
	}
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int32])
	if err != nil || len(pids) == 0 {
		t.Fatal(pids, err)
	}
	// Before a statement that is noticed, and costs nothing.
	signal(t, syscall.SIGSTOP, pids...)
	defer signal(t, syscall.SIGCONT, pids...)
	must(t, ana, count)
	meter.ticks("a read on another session", 1)

	// While a read is under way it is a failed read.
	unlock := stopReads(s)
	failed := make(chan error)
	go func() {
		_, err := ana.Exec(t.Context(), count)
		failed <- err
	}()
	var reading int32
	eventually(t, "the read waits", func() bool {
		return super.QueryRow(t.Context(), "SELECT pid FROM pg_stat_activity WHERE application_name = 'dpproxy' AND state = 'idle in transaction'").Scan(&reading) == nil && readers(s) == 1
	})
	signal(t, syscall.SIGSTOP, reading)
	defer signal(t, syscall.SIGCONT, reading)
	unlock()
	fails(t, <-failed, "PB009", "did not finish")
	meter.ticks("a read that hangs", 1)
	must(t, ana, "SELECT 1")
	must(t, ana, "SELECT count(*) FROM patients WHERE sex = 'm'")
	meter.ticks("a read on yet another session", 1)
	r.silent(t)
}

func signal(t *testing.T, what syscall.Signal, pids ...int32) {
	t.Helper()
	for _, pid := range pids {
		if err := syscall.Kill(int(pid), what); err != nil {
			t.Fatalf("%v for process %d: %v", what, pid, err)
		}
	}
}

// TestMirrorFails takes the mirror away: sessions end with a reason, new ones
// wait for its return.
func TestMirrorFails(t *testing.T) {
	t.Parallel()
	s := newSite(t, clinicSchema, clinicPolicy)
	r := s.run(t)
	idle, busy := dial(t, r.url("ana")), dial(t, r.url("ana"))
	must(t, idle, count)
	meter := newMeter(t, s)
	failed := make(chan error)
	go func() {
		_, err := busy.Exec(t.Context(), "SELECT pg_sleep(60)")
		failed <- err
	}()
	super := dial(t, s.mirror.URL("postgres", pgtemp.Superuser))
	eventually(t, "the mirror sleeps", func() bool {
		var n int
		return super.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'").Scan(&n) == nil && n == 1
	})
	crash(t, s.mirror)
	if pg := fails(t, <-failed, "57P01", "mirror session has ended"); pg.Severity != "FATAL" {
		t.Errorf("severity %q", pg.Severity)
	}
	if _, err := idle.Exec(t.Context(), count); err == nil {
		t.Error("a session without a mirror answers")
	}
	_, err := pgx.Connect(t.Context(), r.url("ana"))
	fails(t, err, "57P03", "cannot be reached")
	meter.ticks("while the mirror is down", 0)
	s.mirror = restart(t, s.mirror)
	again := dial(t, r.url("ana"))
	must(t, again, count)
	meter.ticks("when it is back", 1)
	r.silent(t)
}

// TestLedgerFails lets the ledger's disk fill up, as far as this process can see.
func TestLedgerFails(t *testing.T) {
	t.Parallel()
	s := newSite(t, clinicSchema, clinicPolicy)
	r := s.run(t)
	ana := dial(t, r.url("ana"))
	must(t, ana, count)
	_, spent := charges(t, s)
	if out, err := exec.Command("prlimit", "--fsize=10", "--pid", strconv.Itoa(r.cmd.Process.Pid)).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, sql := range []string{count, "SELECT * FROM dp.budget", "COPY (" + count + ") TO STDOUT", count} {
		must(t, ana, "BEGIN")
		_, err := ana.Exec(t.Context(), sql)
		fails(t, err, "PB014", "ledger is not available")
		must(t, ana, "ROLLBACK; SELECT 1")
	}
	dial(t, r.url("ana"))
	r.stop()
	r.silent(t)

	again := s.run(t)
	must(t, dial(t, again.url("ana")), count)
	if n, all := charges(t, s); n != 2 && n != 3 || all < 2*spent {
		t.Errorf("%d charges of %d together, after two answers", n, all)
	}
}

// TestCancel cancels reads in each way that there is: a cancel request, a client
// that goes away, dpproxy's own end. The charge stays; the read ends.
func TestCancel(t *testing.T) {
	t.Parallel()
	s := newSite(t, clinicSchema, clinicPolicy).gated(t)
	r := s.run(t)
	conns := []*pgx.Conn{dial(t, r.url("ana")), dial(t, r.url("ana"))}
	must(t, conns[0], count)
	meter := newMeter(t, s)
	unlock := stopReads(s)
	failed := make(chan error, 10)
	for i, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeExec} {
		go func() {
			_, err := conns[i].Exec(t.Context(), count, mode)
			failed <- err
		}()
		eventually(t, "the read waits", func() bool { return readers(s) == 1 })
		if err := conns[i].PgConn().CancelRequest(t.Context()); err != nil {
			t.Error(err)
		}
		fails(t, <-failed, "57014", "canceling statement due to user request")
		eventually(t, "the read ends", func() bool { return readers(s) == 0 })
		must(t, conns[i], "SELECT 1")
		meter.ticks("a cancelled read", 1)
	}

	// More clients than connections to the protected database go away.
	const gone = 12
	before := backends(t, s)
	for range gone {
		conn, err := pgx.Connect(t.Context(), r.url("ana"))
		if err != nil {
			t.Fatal(err)
		}
		go conn.Exec(context.Background(), count)
		eventually(t, "the read waits", func() bool { return readers(s) == 1 })
		conn.PgConn().Conn().Close()
		eventually(t, "the read ends", func() bool { return readers(s) == 0 })
	}
	meter.ticks("clients that went away", gone)
	eventually(t, "their mirror sessions end", func() bool { return backends(t, s) <= before })

	// The mirror ends the session of a client whose read is under way.
	ended := dial(t, r.url("ana"))
	go func() {
		_, err := ended.Exec(t.Context(), count)
		failed <- err
	}()
	eventually(t, "the read waits", func() bool { return readers(s) == 1 })
	super := dial(t, s.mirror.URL("postgres", pgtemp.Superuser))
	must(t, super, "SELECT CASE WHEN usename = 'ana' THEN pg_terminate_backend(pid) END FROM pg_stat_activity")
	if pg := fails(t, <-failed, "57P01", "mirror session has ended"); pg.Severity != "FATAL" {
		t.Errorf("severity %q", pg.Severity)
	}
	eventually(t, "the read ends", func() bool { return readers(s) == 0 })
	meter.ticks("a session that the mirror ended", 1)
	unlock()
	conns = []*pgx.Conn{dial(t, r.url("ana")), dial(t, r.url("ana"))}
	for _, conn := range conns {
		must(t, conn, count)
	}
	meter.ticks("reads after it all", 2)
	r.silent(t)
}

// TestQueue fills the connections to the protected database: who waits for one can
// give up, which costs nothing.
func TestQueue(t *testing.T) {
	t.Parallel()
	policy := strings.Replace(clinicPolicy, "privacy_unit:", "limits: {data_connections: 1}\nprivacy_unit:", 1)
	s := newSite(t, clinicSchema, policy).gated(t)
	r := s.run(t)
	first, second, third := dial(t, r.url("ana")), dial(t, r.url("ana")), dial(t, r.url("ana"))
	must(t, first, count)
	meter := newMeter(t, s)
	unlock := stopReads(s)
	answers := make(chan error, 2)
	ask := func(conn *pgx.Conn) {
		_, err := conn.Exec(t.Context(), count)
		answers <- err
	}
	go ask(first)
	eventually(t, "the read waits", func() bool { return readers(s) == 1 })
	meter.ticks("a read that waits", 1)

	canceled := make(chan error)
	go func() {
		_, err := second.Exec(t.Context(), count)
		canceled <- err
	}()
	eventually(t, "the cancel request hits", func() bool {
		if err := second.PgConn().CancelRequest(t.Context()); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-canceled:
			fails(t, err, "57014", "canceling statement due to user request")
			return true
		default:
			return false
		}
	})
	must(t, third, "SET statement_timeout = '100ms'")
	_, err := third.Exec(t.Context(), count)
	fails(t, err, "57014", "statement timeout")
	meter.ticks("statements that did not begin", 0)

	go ask(second)
	unlock()
	for range 2 {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	meter.ticks("a statement that waited its turn", 1)
	r.silent(t)
}

// backends counts the mirror's sessions of analysts.
func backends(t *testing.T, s *site) (n int) {
	t.Helper()
	conn := dial(t, s.mirror.URL("postgres", pgtemp.Superuser))
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
	s := newSite(t, clinicSchema, clinicPolicy).gated(t)
	r := s.run(t)
	idle, busy := dial(t, r.url("ana")), dial(t, r.url("ana"))
	unlock := stopReads(s)
	answered := make(chan error)
	go func() {
		_, err := busy.Exec(t.Context(), count)
		answered <- err
	}()
	eventually(t, "the read waits", func() bool { return readers(s) == 1 })
	signal(t, syscall.SIGTERM, int32(r.cmd.Process.Pid))
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
	defer stop()
	_, err := idle.PgConn().ReceiveMessage(ctx)
	fails(t, err, "57P01", "administrator command")
	if _, err := pgx.Connect(t.Context(), r.url("ana")); err == nil {
		t.Error("a stopping dpproxy takes log-ins")
	}
	unlock()
	if err := <-answered; err != nil {
		t.Errorf("the read that was under way: %v", err)
	}
	<-r.exited
	if code := r.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit status %d", code)
	}
	if n, _ := charges(t, s); n != 1 {
		t.Errorf("%d charges", n)
	}
	r.silent(t)
}

// TestManySessions opens two hundred sessions that all ask at once, with eight
// connections to the protected database.
func TestManySessions(t *testing.T) {
	t.Parallel()
	const sessions = 200
	policy := strings.Replace(clinicPolicy, "privacy_unit:", fmt.Sprintf("limits: {connections: %d}\nprivacy_unit:", sessions), 1)
	s := newSite(t, clinicSchema, policy)
	r := s.run(t)
	conns := make([]*pgx.Conn, sessions)
	files := r.files(t)
	for i := range conns {
		conns[i] = dial(t, r.url("ana"))
	}
	_, err := pgx.Connect(t.Context(), r.url("ana"))
	fails(t, err, "53300", "too many clients")
	var all sync.WaitGroup
	for _, conn := range conns {
		all.Go(func() {
			if _, err := conn.Exec(t.Context(), count); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n, _ := charges(t, s); n != sessions {
		t.Errorf("%d charges for %d answers", n, sessions)
	}
	for _, conn := range conns {
		conn.Close(t.Context())
	}
	eventually(t, "the sessions end", func() bool { return backends(t, s) == 0 })
	const pool = 8 // connections to the protected database stay
	eventually(t, "their files are closed", func() bool { return r.files(t) <= files+pool })
	r.silent(t)
}

// files counts the files and connections that dpproxy has open.
func (r *running) files(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", r.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(open)
}
