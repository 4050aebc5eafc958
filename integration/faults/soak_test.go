package faults_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dpproxy/dp"
	"dpproxy/internal/await"
	"dpproxy/internal/sitetest"
)

var soakTime = flag.Duration("soak", 0, "how long the soak takes, with 200 clients; 0 is a short one with 30")

const (
	soakPatients = 20_000
	soakData     = 4 // connections to the protected database
	soakEpsilon  = dp.PicoPerUnit / 100
	// An answer differs from the truth by more than this with probability e^-40.
	soakTolerance = 40 * dp.PicoPerUnit / soakEpsilon
)

// A soak lets many clients do all that clients do, for long, and counts.
type soak struct {
	run *sitetest.Running
	// door lets few clients log in at a time: of one address, dpproxy takes no more.
	door chan struct{}

	// turned counts log-ins whose place the crowd took, which a slow machine can have.
	relayed, answered, canceled, late, left, turned atomic.Int64
	slowest                                         atomic.Int64 // log-in, in nanoseconds, with those that were turned away
	// asked are the protected statements that were sent: answered ones, and ones whose
	// client gave up, which may be charged or not.
	asked atomic.Int64
}

// TestSoak mixes relayed and protected statements, cancel requests and clients that go
// away, beside a crowd at the door that never logs in. Every answer is right, the ledger holds the price of the answers, and neither memory
// nor goroutines nor connections grow.
func TestSoak(t *testing.T) {
	t.Parallel()
	clients, strangers, long := 30, 300, 15*time.Second // more strangers than places
	if *soakTime > 0 {
		clients, strangers, long = 200, 1000, *soakTime
	}
	schema := strings.ReplaceAll(sitetest.ClinicSchema, "generate_series(1, 1000)", fmt.Sprintf("generate_series(1, %d)", soakPatients))
	policy := fmt.Sprintf("\nlimits: {connections: 300, data_connections: %d, analyst_data_connections: 3, reply_grid: 0}\n",
		soakData) + analysts("bob", "cyd", "dee")
	s := sitetest.New(t, schema, policy)
	k := &soak{run: s.Run(t), door: make(chan struct{}, 20)}
	meter := k.watch(t)
	ctx, stop := context.WithTimeout(t.Context(), long)
	defer stop()
	crowd := besiege(ctx, t, k.run, strangers)
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() { k.client(ctx, t, []string{"ana", "bob", "cyd", "dee"}[i%4], uint64(i)) })
	}
	all.Wait()
	crowd.all.Wait()
	meter.stop()
	await.That(t, "the mirror sessions end", func() bool { return soakBackends(t, s) == 0 })
	k.run.Silent(t)
	for line := range strings.Lines(k.run.Log.String()) {
		if strings.Contains(line, "level=ERROR") {
			t.Errorf("the log says: %s", line)
		}
	}
	t.Logf("%d clients beside %d at the door, which came %d times, %v: %d relayed, %d protected answers, %d cancelled, "+
		"%d cancel requests too late, %d clients left in the middle, %d log-ins were turned away, the slowest took %v",
		clients, strangers, crowd.tried.Load(), long, k.relayed.Load(), k.answered.Load(), k.canceled.Load(), k.late.Load(),
		k.left.Load(), k.turned.Load(), time.Duration(k.slowest.Load()).Round(time.Millisecond))
	meter.report(t)
	k.checkLedger(t, s)
	k.checkGoroutines(t, s)
}

// client does one thing after another. After each it must have a session that works.
func (k *soak) client(ctx context.Context, t *testing.T, user string, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 17))
	var conn *pgx.Conn
	defer func() {
		if conn != nil {
			conn.Close(context.Background())
		}
	}()
	for ctx.Err() == nil && !t.Failed() {
		if conn == nil {
			var err error
			if conn, err = k.connect(t.Context(), user); err != nil {
				t.Errorf("connect: %v", err)
				return
			}
		}
		var err error
		switch n := random.IntN(100); {
		case n < 50:
			err = k.relay(t.Context(), conn, random)
		case n < 85:
			err = k.ask(t.Context(), conn, random)
		case n < 90:
			err = k.cancelRelayed(t.Context(), conn)
		case n < 97:
			err = k.cancelProtected(t.Context(), conn, random)
		default:
			k.leave(t.Context(), conn, random)
			conn = nil
		}
		if err != nil {
			t.Errorf("%s: %v", user, err)
		}
	}
}

func (k *soak) connect(ctx context.Context, user string) (*pgx.Conn, error) {
	k.door <- struct{}{}
	defer func() { <-k.door }()
	began := time.Now()
	conn, err := pgx.Connect(ctx, k.run.URL(user))
	for until := time.Now().Add(30 * time.Second); sitetest.SQLState(err) == "53300" && time.Now().Before(until); {
		k.turned.Add(1)
		conn, err = pgx.Connect(ctx, k.run.URL(user))
	}
	if err != nil {
		return nil, err
	}
	for took, most := int64(time.Since(began)), k.slowest.Load(); took > most && !k.slowest.CompareAndSwap(most, took); {
		most = k.slowest.Load()
	}
	_, err = conn.Exec(ctx, "SET dp.epsilon = '"+dp.Decimal(soakEpsilon, 12)+"'; SET dp.notice = off")
	return conn, err
}

// relay asks questions that the mirror answers alone.
func (k *soak) relay(ctx context.Context, conn *pgx.Conn, random *rand.Rand) error {
	defer k.relayed.Add(1)
	a, b := random.IntN(1000), random.IntN(1000)
	var got, want int
	var err error
	switch random.IntN(4) {
	case 0:
		want = a + b
		err = conn.QueryRow(ctx, fmt.Sprintf("SELECT %d + %d", a, b), pgx.QueryExecModeSimpleProtocol).Scan(&got)
	case 1:
		want = a * b
		err = conn.QueryRow(ctx, "SELECT $1::int * $2::int", a, b).Scan(&got)
	case 2: // many rows
		rows, queryErr := conn.Query(ctx, "SELECT g FROM generate_series(1, $1::int) g", 10*a)
		if queryErr != nil {
			return queryErr
		}
		numbers, collectErr := pgx.CollectRows(rows, pgx.RowTo[int])
		got, want, err = len(numbers), 10*a, collectErr
	default: // an error and the rollback after it
		if _, err := conn.Exec(ctx, "SELECT 1/0"); sitetest.SQLState(err) != "22012" {
			return fmt.Errorf("division by zero: %w", err)
		}
		want = a
		err = conn.QueryRow(ctx, "SELECT $1::int", a).Scan(&got)
	}
	if err == nil && got != want {
		err = fmt.Errorf("%d, want %d", got, want)
	}
	return err
}

// soakQuestion returns a protected count and its true answer.
func soakQuestion(random *rand.Rand) (sql string, truth int64) {
	if n := random.IntN(3); n > 0 {
		return "SELECT count(*) FROM patients WHERE sex = '" + []string{"f", "m"}[n-1] + "'", soakPatients / 2
	}
	return sitetest.CountPatients, soakPatients
}

func (k *soak) ask(ctx context.Context, conn *pgx.Conn, random *rand.Rand) error {
	sql, truth := soakQuestion(random)
	mode := []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeExec, pgx.QueryExecModeCacheStatement}[random.IntN(3)]
	var got int64
	k.asked.Add(1)
	if err := conn.QueryRow(ctx, sql, mode).Scan(&got); err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	k.answered.Add(1)
	if got < truth-soakTolerance || got > truth+soakTolerance {
		return fmt.Errorf("%s: %d, the truth is %d", sql, got, truth)
	}
	return nil
}

// cancelRelayed cancels a statement that would take long.
func (k *soak) cancelRelayed(ctx context.Context, conn *pgx.Conn) error {
	err := k.cancel(ctx, conn, "SELECT pg_sleep(600)")
	if err == nil {
		return errors.New("pg_sleep was not cancelled")
	}
	return ignore(err, "57014")
}

// cancelProtected sends a cancel request while a protected statement runs, or a little
// too late. Either way the next statement is not hit.
func (k *soak) cancelProtected(ctx context.Context, conn *pgx.Conn, random *rand.Rand) error {
	sql, _ := soakQuestion(random)
	k.asked.Add(1)
	err := k.cancel(ctx, conn, sql)
	if err == nil {
		k.answered.Add(1)
		k.late.Add(1)
	}
	if err := ignore(err, "57014"); err != nil {
		return err
	}
	var n int
	if err := conn.QueryRow(ctx, "SELECT 7").Scan(&n); err != nil || n != 7 {
		return fmt.Errorf("the statement after a cancel request: %d, %w", n, err)
	}
	return nil
}

// cancel runs a statement and sends cancel requests until it has ended.
func (k *soak) cancel(ctx context.Context, conn *pgx.Conn, sql string) error {
	done := make(chan error, 1)
	go func() {
		_, err := conn.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol)
		done <- err
	}()
	for {
		if err := conn.PgConn().CancelRequest(ctx); err != nil {
			<-done
			return fmt.Errorf("cancel request: %w", err)
		}
		select {
		case err := <-done:
			if err != nil {
				k.canceled.Add(1)
			}
			return err
		default:
			runtime.Gosched()
		}
	}
}

func ignore(err error, code string) error {
	if sitetest.SQLState(err) == code {
		return nil
	}
	return err
}

// leave goes away in the middle of a statement, without a word.
func (k *soak) leave(ctx context.Context, conn *pgx.Conn, random *rand.Rand) {
	sql := "SELECT pg_sleep(600)"
	if random.IntN(2) == 0 {
		sql, _ = soakQuestion(random)
		k.asked.Add(1)
	}
	// pgx flushes the request before it reads; the request and the end may come together.
	pipeline := conn.PgConn().StartPipeline(ctx)
	pipeline.SendQueryParams(sql, nil, nil, nil, nil)
	_ = pipeline.Sync()
	conn.PgConn().Conn().Close()
	_ = pipeline.Close()
	conn.Close(ctx)
	k.left.Add(1)
}

// soakBackends counts the mirror's sessions of analysts.
func soakBackends(t *testing.T, s *sitetest.Site) (n int) {
	t.Helper()
	conn := sitetest.Dial(t, s.Mirror.URL("postgres", "postgres"))
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(),
		"SELECT count(*) FROM pg_stat_activity WHERE usename IN ('ana', 'bob', 'cyd', 'dee')").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// soakMeter notes the size of the process while a soak goes on.
type soakMeter struct {
	run   *sitetest.Running
	sizes []int // resident, in KiB
	files int   // at the start
	stop  func()
}

func (k *soak) watch(t *testing.T) *soakMeter {
	t.Helper()
	m := &soakMeter{run: k.run, files: k.run.Files(t)}
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
				m.sizes = append(m.sizes, sitetest.ResidentKiB(t, k.run))
			}
		}
	}()
	m.stop = func() { close(ended); <-done }
	return m
}

// report fails the test if the last quarter of the time needed more memory than the
// second, beyond the chance of when a garbage collector runs.
func (m *soakMeter) report(t *testing.T) {
	t.Helper()
	middle := func(part []int) int { slices.Sort(part); return part[len(part)/2] }
	const parts = 8
	if len(m.sizes) < parts {
		t.Fatal("the soak was too short to see memory grow")
	}
	var course []int
	for i := range parts {
		course = append(course, middle(slices.Clone(m.sizes[i*len(m.sizes)/parts:(i+1)*len(m.sizes)/parts])))
	}
	t.Logf("resident memory in each eighth of the time, in kB: %v", course)
	quarter := len(m.sizes) / 4
	second, last := middle(slices.Clone(m.sizes[quarter:2*quarter])), middle(slices.Clone(m.sizes[3*quarter:]))
	t.Logf("resident memory: second quarter %d kB, last quarter %d kB, most %d kB", second, last, slices.Max(m.sizes))
	const chance = 8 << 10
	if last > second+second/4+chance {
		t.Errorf("memory grows: %d kB in the second quarter, %d kB in the last", second, last)
	}
	const pool = 4 + 4 // connections to the protected database stay, and dpproxy's own to the mirror
	await.That(t, "files are closed", func() bool { return m.run.Files(t) <= m.files+pool })
	t.Logf("files and connections: %d at the start, %d at the end", m.files, m.run.Files(t))
}

// checkLedger compares the ledger with the replies to clients: all answers are charged,
// nothing is charged that nobody asked, every charge has the same price, and nothing is held.
func (k *soak) checkLedger(t *testing.T, s *sitetest.Site) {
	t.Helper()
	n, spent := sitetest.Charges(t, s)
	t.Logf("ledger: %d charges for %d answers and %d statements that were asked; spent %s", n, k.answered.Load(),
		k.asked.Load(), dp.Decimal(spent, 12))
	if int64(n) < k.answered.Load() || int64(n) > k.asked.Load() || spent != int64(n)*soakEpsilon {
		t.Errorf("%d charges of %s in all, for %d answers and %d statements", n, dp.Decimal(spent, 12), k.answered.Load(), k.asked.Load())
	}
	var all []sitetest.Balance
	s.JSON(t, &all, "budget", "list", s.Policy)
	for _, b := range all {
		if b.Held != "0" || b.Kind == "unit" && b.Spent.String() != trimZeros(dp.Decimal(spent, 12)) {
			t.Errorf("budget %+v, want %s spent and nothing held", b, dp.Decimal(spent, 12))
		}
	}
}

// slowWrite starts the goroutine that pgx leaves in a read when a write took long: until the
// connection is used again, and one for each connection at most.
const slowWrite = "github.com/jackc/pgx/v5/pgconn/internal/bgreader.(*BGReader).Start"

var createdBy = regexp.MustCompile(`(?m)^created by (\S+)`)

// goroutines ends the process as SIGQUIT does, and counts its goroutines by the
// call that started them.
func goroutines(t *testing.T, r *sitetest.Running) map[string]int {
	t.Helper()
	before := len(r.Log.String())
	if err := r.Cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	<-r.Exited
	count := map[string]int{}
	for _, m := range createdBy.FindAllStringSubmatch(r.Log.String()[before:], -1) {
		count[m[1]]++
	}
	return count
}

// checkGoroutines compares the goroutines after the soak with those after one statement.
func (k *soak) checkGoroutines(t *testing.T, s *sitetest.Site) {
	t.Helper()
	after := goroutines(t, k.run)
	fresh := s.Run(t)
	conn := sitetest.Dial(t, fresh.URL("ana"))
	sitetest.Exec(t, conn, sitetest.CountPatients)
	conn.Close(t.Context())
	await.That(t, "the mirror session ends", func() bool { return soakBackends(t, s) == 0 })
	want := goroutines(t, fresh)
	if len(want) == 0 {
		t.Fatal("no goroutine is seen at all")
	}
	want[slowWrite] += soakData
	total := 0
	for by, n := range after {
		total += n
		if n > want[by] {
			t.Errorf("%d goroutines were started by %s, %d in a process that did little", n, by, want[by])
		}
	}
	t.Logf("goroutines at the end: %d", total)
}
