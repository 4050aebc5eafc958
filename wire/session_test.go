package wire_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"dpproxy/internal/await"
	"dpproxy/wire"
)

// TestCancelInMirror cancels a statement that the mirror runs.
func TestCancelInMirror(t *testing.T) {
	p := start(t, nil)
	c := p.connect(t)
	failed := make(chan error, 1)
	go func() {
		_, err := c.Exec(t.Context(), "SELECT pg_sleep(60)")
		failed <- err
	}()
	waitForSleep(t)
	if err := c.PgConn().CancelRequest(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := code(<-failed), "ERROR 57014 canceling statement due to user request"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	// The session goes on, and a late cancel request hits nothing.
	if err := c.PgConn().CancelRequest(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := queryInt(t, c, "SELECT 1"); got != "1" {
		t.Errorf("SELECT 1 = %s", got)
	}
}

func waitForSleep(t *testing.T) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), postgres.URL("mirror", "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	await.That(t, "the mirror sleeps", func() bool {
		return queryInt(t, c, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") != "0"
	})
}

// TestPromptCancel cancels statements as soon as they are sent: the request, on its own
// connection, must not be done before the session has read the statement. Postgres, too,
// can be faster with the request than with the statement, but seldom.
func TestPromptCancel(t *testing.T) {
	p := start(t, nil)
	c := p.connect(t)
	const tries, least = 20, 10
	canceled := 0
	request, err := (&pgproto3.CancelRequest{ProcessID: c.PgConn().PID(), SecretKey: c.PgConn().SecretKey()}).Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	for range tries {
		fast := p.dialTCP(t) // already there when the statement goes
		c.PgConn().Frontend().SendQuery(&pgproto3.Query{String: "SELECT pg_sleep(0.2)"})
		if err := c.PgConn().Frontend().Flush(); err != nil {
			t.Fatal(err)
		}
		if _, err := fast.Write(request); err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, fast) // until it is done
		for ready := false; !ready; {
			m, err := c.PgConn().Frontend().Receive()
			if err != nil {
				t.Fatal(err)
			}
			if e, failed := m.(*pgproto3.ErrorResponse); failed && e.Code == "57014" {
				canceled++
			}
			_, ready = m.(*pgproto3.ReadyForQuery)
		}
	}
	t.Logf("%d of %d were canceled", canceled, tries)
	if canceled < least {
		t.Errorf("%d of %d statements were canceled, at least %d should be", canceled, tries, least)
	}
}

// TestCancelDuringRun cancels while the handler works, and while it asks the
// mirror, in both protocols.
func TestCancelDuringRun(t *testing.T) {
	h := newFakeHandler()
	p := start(t, func(c *wire.Config) { c.Handler = h })
	for _, what := range []string{"wait", "asks a long question"} {
		for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeDescribeExec} {
			c := p.connect(t)
			failed := make(chan error, 1)
			go func() {
				_, err := c.Exec(t.Context(), fmt.Sprintf("SELECT '%s' FROM secret", what), mode)
				failed <- err
			}()
			<-h.started
			if what != "wait" {
				waitForSleep(t)
			}
			if err := c.PgConn().CancelRequest(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got, want := code(<-failed), "ERROR 57014 canceling statement due to user request"; got != want {
				t.Errorf("%s, %v: got %s, want %s", what, mode, got, want)
			}
			if got := queryInt(t, c, "SELECT count(*) FROM secret"); got != "3" {
				t.Errorf("%s, %v: then count = %s", what, mode, got)
			}
			c.Close(t.Context())
		}
	}
}

// TestManyCells ends a session whose private question has an answer that takes too much memory: cells count beside their bytes.
func TestManyCells(t *testing.T) {
	h := newFakeHandler()
	c := start(t, func(c *wire.Config) { c.Handler = h }).connect(t)
	_, err := c.Exec(t.Context(), "SELECT 'asks for many cells' FROM secret")
	if err == nil || strings.Contains(err.Error(), "rows") || !c.IsClosed() {
		t.Errorf("%v, closed: %t", err, c.IsClosed())
	}
}

// TestClientLeavesDuringRun ends a Run when its client goes away.
func TestClientLeavesDuringRun(t *testing.T) {
	h := newFakeHandler()
	p := start(t, func(c *wire.Config) { c.Handler = h })
	for _, what := range []string{"wait", "asks a long question"} {
		c := openRaw(t, p.config(t))
		c.Write(encodeAll(t, &pgproto3.Query{String: "SELECT '" + what + "' FROM secret"}))
		<-h.started
		c.Close()
		await.That(t, "the session ends", func() bool { return p.Sessions() == 0 })
	}
}

// TestClientLeavesMirrorAtWork cancels a statement that nobody waits for.
func TestClientLeavesMirrorAtWork(t *testing.T) {
	p := start(t, nil)
	c := openRaw(t, p.config(t))
	c.Write(encodeAll(t, &pgproto3.Query{String: "SELECT pg_sleep(60)"}))
	waitForSleep(t)
	c.Close()
	await.That(t, "the session ends", func() bool { return p.Sessions() == 0 })
	su, err := pgx.Connect(t.Context(), postgres.URL("mirror", "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer su.Close(t.Context())
	await.That(t, "the mirror stops sleeping", func() bool {
		return queryInt(t, su, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") == "0"
	})
}

// TestGoodbyeFinishesWork does the work asked for before a Terminate, as Postgres
// does, though the client has gone.
func TestGoodbyeFinishesWork(t *testing.T) {
	p := start(t, func(c *wire.Config) {
		c.Verifier = func(context.Context, string) (string, bool, error) {
			v, err := verifierOnce()
			return v, err == nil, nil
		}
	})
	config := p.config(t)
	config.User = "postgres"
	c := openRaw(t, config)
	c.Write(encodeAll(t, &pgproto3.Query{String: "CREATE TABLE left_behind (i int)"}, &pgproto3.Terminate{}))
	if got := read(t, c, 2); !strings.Contains(got, "CREATE TABLE") {
		t.Errorf("the answer is %s", got)
	}
	if err := execute("mirror", "DROP TABLE left_behind"); err != nil {
		t.Error(err)
	}
}

// TestMirrorEnds tells the client in words of our own.
func TestMirrorEnds(t *testing.T) {
	p := start(t, nil)
	c := p.connect(t)
	_, err := c.Exec(t.Context(), "SELECT pg_terminate_backend(pg_backend_pid())")
	if got, want := code(err), "FATAL 57P01 terminating connection: the mirror session has ended"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestShutdown ends idle sessions at once and lets the others finish.
func TestShutdown(t *testing.T) {
	p := start(t, nil)
	idle, busy := openRaw(t, p.config(t)), openRaw(t, p.config(t))
	su, err := pgx.Connect(t.Context(), postgres.URL("mirror", "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer su.Close(context.Background())
	lock := func(how string) {
		if _, err := su.Exec(t.Context(), "SELECT "+how+"(4711)"); err != nil {
			t.Fatal(err)
		}
	}
	lock("pg_advisory_lock")
	busy.Write(encodeAll(t, &pgproto3.Query{String: "SELECT 7, pg_advisory_lock(4711)"}))
	await.That(t, "the mirror works", func() bool { return p.Owed() == 1 })
	p.stop()
	want := "ErrorResponse FATAL 57P01 terminating connection due to administrator command\nconnection: unexpected EOF\n"
	if got := read(t, idle, 1); got != want {
		t.Errorf("the idle client reads %s", got)
	}
	lock("pg_advisory_unlock")
	got := read(t, busy, 2)
	if !strings.Contains(got, `DataRow "7"`) || !strings.HasSuffix(got, want) {
		t.Errorf("the busy client reads %s", got)
	}
}

// TestShutdownIsNotForEver cuts off a statement that takes too long.
func TestShutdownIsNotForEver(t *testing.T) {
	h := newFakeHandler()
	p := start(t, func(c *wire.Config) { c.Handler, c.Limits.DrainTime = h, 50*time.Millisecond })
	c := openRaw(t, p.config(t))
	c.Write(encodeAll(t, &pgproto3.Query{String: "SELECT 'wait' FROM secret"}))
	<-h.started
	p.stop()
	if got := read(t, c, 1); !strings.Contains(got, "57P01") {
		t.Errorf("the client reads %s", got)
	}
}

// TestPanicEndsOneSession keeps a defect of the handler to the session it met.
func TestPanicEndsOneSession(t *testing.T) {
	p := start(t, func(c *wire.Config) { c.Handler = newFakeHandler() })
	other, c := p.connect(t), p.connect(t)
	_, err := c.Exec(t.Context(), "SELECT 'panic'", pgx.QueryExecModeSimpleProtocol)
	if got, want := code(err), "FATAL XX000 internal error"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := queryInt(t, other, "SELECT 1"); got != "1" {
		t.Errorf("the other session answers %s", got)
	}
	log := p.log.String()
	if !strings.Contains(log, "where=requests") || strings.Contains(log, "has a defect") {
		t.Errorf("the log reads %s", log)
	}
	// The place is told; the words that were arguments of the calls may be values.
	if !strings.Contains(log, "fakeHandler") || strings.Contains(log, "(0x") {
		t.Errorf("the stack in the log reads %s", log)
	}
	p.log.Reset()
}

// TestPipelineLimit sends far more than the limit without a Sync: the mirror is
// asked for the replies it holds back, and nothing is lost.
func TestPipelineLimit(t *testing.T) {
	p := start(t, func(c *wire.Config) { c.Limits.Pipeline = 3 })
	c := openRaw(t, p.config(t))
	var out []byte
	for range 500 {
		out = append(out, encodeAll(t, &pgproto3.Parse{Query: "SELECT 1"})...)
	}
	c.Write(append(out, encodeAll(t, &pgproto3.Sync{})...))
	if got := strings.Count(read(t, c, 1), "ParseComplete"); got != 500 {
		t.Errorf("%d of 500 were parsed", got)
	}
}

// whoHandler remembers the session's user, database and settings.
type whoHandler struct{ seen chan string }

func (h whoHandler) Screen(s *wire.Session, _ string) ([]wire.Statement, error) {
	n, _ := s.Value().(int)
	s.SetValue(n + 1)
	h.seen <- fmt.Sprint(s.User(), " ", s.Database(), " ", s.Parameter("TimeZone"), " ",
		s.Parameter("is_superuser"), " ", n, " ", s.Context().Err())
	return nil, nil
}

func TestSessionKnowsItself(t *testing.T) {
	h := whoHandler{make(chan string, 2)}
	p := start(t, func(c *wire.Config) { c.Handler = h })
	c := p.connect(t)
	for i, sql := range []string{"SET TimeZone = 'Asia/Tokyo'", "SELECT 1"} {
		if _, err := c.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
		zone := []string{"Etc/UTC", "Asia/Tokyo"}[i]
		if got, want := <-h.seen, fmt.Sprintf("ana mirror %s off %d <nil>", zone, i); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestManySessions runs fifty at once, each with statements of every sort.
func TestManySessions(t *testing.T) {
	p := start(t, func(c *wire.Config) { c.Handler = newFakeHandler() })
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			c, err := pgx.Connect(context.Background(), p.url(""))
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close(context.Background())
			for j := range 5 {
				if err := mixed(c, i*100+j); err != nil {
					t.Errorf("session %d: %v", i, err)
					return
				}
			}
		})
	}
	all.Wait()
}

// mixed runs a batch: relayed and rewritten statements in one pipeline.
func mixed(c *pgx.Conn, n int) error {
	ctx := context.Background()
	var got [3]int
	b := &pgx.Batch{}
	scan := func(i int) func(pgx.Row) error {
		return func(r pgx.Row) error { return r.Scan(&got[i]) }
	}
	b.Queue("SELECT $1::int", n).QueryRow(scan(0))
	b.Queue("SELECT count(*) + $1::int FROM secret", n).QueryRow(scan(1))
	b.Queue("SELECT $1::int + 1", n).QueryRow(scan(2))
	if err := c.SendBatch(ctx, b).Close(); err != nil {
		return err
	}
	if want := [3]int{n, n + 3, n + 1}; got != want {
		return fmt.Errorf("got %v, want %v", got, want)
	}
	_, err := c.Exec(ctx, "SELECT $1::int AS forbidden", n)
	if !strings.Contains(code(err), "PB002") {
		return fmt.Errorf("the refusal reads %w", err)
	}
	return nil
}

// TestLateCancel lets a cancel request reach the mirror only when its statement
// is done and the client has sent the next one: that one must not be hit.
func TestLateCancel(t *testing.T) {
	const slow = 200 * time.Millisecond // far longer than a statement needs to reach the mirror
	dialled := make(chan struct{}, 1)
	finished := make(chan struct{})
	p := start(t, func(c *wire.Config) {
		c.Dial = func(ctx context.Context, l wire.Login) (*pgconn.PgConn, error) {
			config, err := pgconn.ParseConfig(postgres.URL("mirror", l.User))
			if err != nil {
				return nil, err
			}
			dial := config.DialFunc
			var dials atomic.Int64
			config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
				if dials.Add(1) > 1 { // a cancel request, on a slow network
					dialled <- struct{}{}
					<-finished
					<-time.After(slow)
				}
				return dial(ctx, network, address)
			}
			return pgconn.ConnectConfig(ctx, config)
		}
	})
	su, err := pgx.Connect(t.Context(), postgres.URL("mirror", "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer su.Close(context.Background())
	lock := func(how string) {
		if _, err := su.Exec(t.Context(), "SELECT "+how+"(4712)"); err != nil {
			t.Fatal(err)
		}
	}
	lock("pg_advisory_lock")
	c := p.connect(t)
	failed := make(chan error, 1)
	go func() {
		_, err := c.Exec(t.Context(), "SELECT pg_advisory_lock(4712)")
		failed <- err
	}()
	await.That(t, "the mirror works", func() bool { return p.Owed() == 1 })
	canceled := make(chan error, 1)
	go func() { canceled <- c.PgConn().CancelRequest(t.Context()) }()
	<-dialled
	lock("pg_advisory_unlock")
	if err := <-failed; err != nil {
		t.Errorf("the statement that was done in time: %v", err)
	}
	close(finished)
	if got := queryInt(t, c, "SELECT count(*) FROM pg_sleep(1)"); got != "1" {
		t.Errorf("the next one: %s", got)
	}
	if err := <-canceled; err != nil {
		t.Error(err)
	}
}

// TestNotify listens in sessions of two users: each hears of its own alone.
func TestNotify(t *testing.T) {
	p := start(t, func(c *wire.Config) {
		verifier := c.Verifier
		c.Verifier = func(ctx context.Context, _ string) (string, bool, error) { return verifier(ctx, "ana") }
	})
	other, err := pgx.Connect(t.Context(), strings.Replace(p.url(""), "user=ana", "user=postgres", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(t.Context())
	listener, sender := p.connect(t), p.connect(t)
	for _, c := range []*pgx.Conn{listener, other} {
		if _, err := c.Exec(t.Context(), "LISTEN news"); err != nil {
			t.Fatal(err)
		}
	}
	for _, say := range []struct {
		by   *pgx.Conn
		what string
	}{{other, "from somebody else"}, {sender, "from ana"}} {
		if _, err := say.by.Exec(t.Context(), "SELECT pg_notify('news', $1)", say.what); err != nil {
			t.Fatal(err)
		}
	}
	pid := sender.PgConn().PID()
	sender.Close(t.Context()) // one that has gone is known for a while
	n, err := listener.WaitForNotification(t.Context())
	if err != nil || n.Payload != "from ana" || n.PID != pid {
		t.Errorf("the first notification is %v, %v", n, err)
	}
	n, err = other.WaitForNotification(t.Context())
	if err != nil || n.Payload != "from somebody else" {
		t.Errorf("the other user's first notification is %v, %v", n, err)
	}
}

// TestClientDoesNotRead lets an answer of a gigabyte wait for its reader. Nothing
// grows meanwhile, a cancel request gets through, and the rest is answered.
func TestClientDoesNotRead(t *testing.T) {
	p := start(t, nil)
	c := openRaw(t, p.config(t))
	before := allocated()
	c.Write(encodeAll(t, &pgproto3.Query{String: "SELECT repeat('x', 10000) FROM generate_series(1, 100000)"}))
	waitForWrite(t)
	if used := allocated() - before; used > 16<<20 {
		t.Errorf("%d MiB were allocated", used>>20)
	}
	request := p.dialTCP(t)
	request.Write(requestPacket(80877102, append(bigEndian(c.PID), c.Key...)...))
	io.ReadAll(request)
	got := read(t, c, 1)
	if !strings.HasSuffix(got, "ErrorResponse ERROR 57014 canceling statement due to user request\nReadyForQuery I\n") {
		t.Errorf("the end of the answer is %s", got[max(0, len(got)-200):])
	}
	c.Write(encodeAll(t, &pgproto3.Query{String: "SELECT 1"}))
	if got := read(t, c, 1); !strings.Contains(got, `DataRow "1"`) {
		t.Errorf("then the answer is %s", got)
	}
}

// TestClientDoesNotReadAtTheEnd stops a server whose client does not read.
func TestClientDoesNotReadAtTheEnd(t *testing.T) {
	p := start(t, func(c *wire.Config) { c.Limits.DrainTime = 10 * time.Millisecond })
	c := openRaw(t, p.config(t))
	c.Write(encodeAll(t, &pgproto3.Query{String: "SELECT repeat('x', 10000) FROM generate_series(1, 100000)"}))
	waitForWrite(t)
	p.stop() // the test's end fails unless Serve returns
}

// waitForWrite waits until the mirror cannot send any more.
func waitForWrite(t *testing.T) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), postgres.URL("mirror", "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	await.That(t, "the mirror waits for its reader", func() bool {
		return queryInt(t, c, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'ClientWrite'") != "0"
	})
}

// TestClientOnlySends sends requests and reads no reply: at the limit of the pipeline
// the client must wait. When it reads at last, everything is answered.
func TestClientOnlySends(t *testing.T) {
	const limit, requests = 100, 20_000
	p := start(t, func(c *wire.Config) { c.Limits.Pipeline = limit })
	c := openRaw(t, p.config(t))
	out := encodeAll(t, &pgproto3.Parse{Name: "s", Query: "SELECT repeat('x', 1000)"})
	for range requests {
		out = append(out, encodeAll(t, &pgproto3.Bind{PreparedStatement: "s"}, &pgproto3.Execute{})...)
	}
	out = append(out, encodeAll(t, &pgproto3.Sync{})...)
	sent := make(chan error, 1)
	go func() {
		_, err := c.Write(out)
		sent <- err
	}()
	await.That(t, "the client must wait", func() bool { return p.Owed() >= limit })
	if owed := p.Owed(); owed > limit {
		t.Errorf("%d replies are owed, at most %d are to be", owed, limit)
	}
	if got := strings.Count(read(t, c, 1), "CommandComplete"); got != requests {
		t.Errorf("%d of %d were answered", got, requests)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}
