package faults_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/await"
	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// lifeClients is how many clients ask while something happens to the protected database.
const lifeClients = 20

// life is a site that is maintained while clients ask.
type life struct {
	*sitetest.Site
	t       *testing.T
	mu      sync.Mutex
	r       *sitetest.Running
	primary *pgtemp.Server // of a standby that is the protected database
	standby *pgtemp.Server // of the protected database
	holder  *pgx.Conn      // of a lock
	address string         // of the protected database, as the policy has it
	clients []*lifeClient
	rows    []string
}

// lifeClient asks one question again and again.
type lifeClient struct {
	life    *life
	analyst string
	sql     string
	conn    *pgx.Conn
}

// A happening is an event in the life of a server.
type happening struct {
	name string
	// before happens before the clients ask, and during while their reads are charged and wait, if it is not nil.
	before, during func(*life)
	// after happens when the clients have their first replies.
	after func(*life)
	// want are the SQLSTATEs of the first replies.
	want []string
	// kills says that dpproxy is killed, which cuts the clients' sessions.
	kills bool
	// lost says that charges have no answer, and why.
	lost string
}

// restarts ends a server by a signal and starts it again.
func restarts(by syscall.Signal) func(*life) {
	return func(l *life) {
		l.Data.End(by)
		l.Data = sitetest.Restart(l.t, l.Data)
	}
}

func killDpproxy(l *life) {
	l.running().Kill()
	l.serve(l.Run(l.t))
}

// serve has clients ask another dpproxy.
func (l *life) serve(r *sitetest.Running) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.r = r
}

func (l *life) running() *sitetest.Running {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.r
}

// TestLife holds that ordinary events in the life of a database lock nobody out, blame nobody, and take no charge
// without an answer but where the table says why.
func TestLife(t *testing.T) {
	t.Parallel()
	l := newLife(t, nil)
	for _, h := range []happening{
		{name: "fast restart", during: restarts(syscall.SIGINT), want: []string{"PB017"}},
		{name: "immediate stop, started again", during: restarts(syscall.SIGQUIT), want: []string{"PB017"}},
		{name: "a process of the server crashes", during: crashOne, want: []string{"PB017"}},
		{name: "the machine fails", during: func(l *life) {
			if err := l.Data.Kill(); err != nil {
				l.t.Fatal(err)
			}
			l.Data = sitetest.Restart(l.t, l.Data)
		}, want: []string{"PB017"}},
		{name: "sessions are terminated", during: func(l *life) {
			sitetest.Exec(l.t, l.super(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'dpproxy'")
		}, want: []string{"PB017"}},
		{name: "a lock is held for longer than statements wait", before: lock, after: unlock, want: []string{"PB015"}},
		{
			name: "fast restart, and dpproxy is killed", during: restarts(syscall.SIGINT), after: killDpproxy,
			want: []string{"PB017"}, kills: true,
		},
		{
			name: "dpproxy is killed", during: killDpproxy, want: []string{"cut"}, kills: true,
			lost: "whether they were answered is not known",
		},
	} {
		l.play(h)
	}
	standby := newLife(t, func(s *pgtemp.Server) (*pgtemp.Server, error) { return s.Standby(t.Context()) })
	standby.play(happening{name: "a standby's replay conflicts", during: conflict, want: []string{"PB017"}})
	l.print(standby.rows...)
}

func (l *life) print(more ...string) {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\n%s\n", strings.Join([]string{
		"what happens", "clients saw", "charges", "answers", "incidents", "s until all is well", "charges without an answer",
	}, "\t"))
	fmt.Fprintln(w, strings.Join(append(l.rows, more...), "\n"))
	w.Flush()
	l.t.Log(out.String())
}

// newLife starts a site whose clients have been answered. Its protected database is the server that follows from the
// first one, if there is one.
func newLife(t *testing.T, follow func(*pgtemp.Server) (*pgtemp.Server, error)) *life {
	policy := strings.Replace(analysts("bob", "eve"), "privacy_unit:",
		fmt.Sprintf("limits: {data_connections: %d, reply_grid: 0}\nprivacy_unit:", lifeClients), 1)
	l := &life{Site: sitetest.New(t, sitetest.ClinicSchema, policy), t: t}
	if follow != nil {
		l.primary = l.Data
		standby, err := follow(l.primary)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(standby.Stop)
		l.Edit(t, l.primary.URL(l.Database, pgtemp.Superuser), standby.URL(l.Database, pgtemp.Superuser))
		l.Data = standby
	}
	l.Gated(t)
	l.address = l.Gate.URL(l.Database, pgtemp.Superuser)
	var asked []string
	for i := range lifeClients {
		asked = append(asked, fmt.Sprint("SELECT count(*) FROM visits WHERE cost > ", i))
	}
	l.begin(asked)
	return l
}

// begin starts dpproxy, and has clients ask a question each.
func (l *life) begin(asked []string) {
	l.serve(l.Run(l.t))
	names := []string{"ana", "bob", "eve"}
	for i, sql := range asked {
		c := &lifeClient{life: l, analyst: names[i%len(names)], sql: sql}
		l.clients = append(l.clients, c)
		if code := c.ask(); code != "" {
			l.t.Fatalf("%s: %s", c.sql, code)
		}
	}
}

func (l *life) super() *pgx.Conn {
	return sitetest.Dial(l.t, l.Data.URL(l.Database, pgtemp.Superuser))
}

// ask returns the SQLSTATE of the reply, "cut" where the session ended without one, and nothing for an answer.
func (c *lifeClient) ask() string {
	ctx, stop := context.WithTimeout(c.life.t.Context(), 30*time.Second)
	defer stop()
	if c.conn == nil || c.conn.IsClosed() {
		var err error
		if c.conn, err = pgx.Connect(ctx, c.life.running().URL(c.analyst)); err != nil {
			return "cut"
		}
		c.life.t.Cleanup(func() { c.conn.Close(context.Background()) })
	}
	var n int64
	switch err := c.conn.QueryRow(ctx, c.sql).Scan(&n); {
	case err == nil:
		return ""
	case sitetest.SQLState(err) != "":
		return sitetest.SQLState(err)
	case errors.Is(err, context.DeadlineExceeded):
		return "no reply"
	}
	return "cut"
}

// play lets something happen while all clients ask, has them ask the same until they are answered, and compares
// charges with answers.
func (l *life) play(h happening) {
	t := l.t
	charges, _ := sitetest.Charges(t, l.Site)
	start := time.Now()
	if h.before != nil {
		h.before(l)
	}
	if h.during != nil {
		l.Gate.Shut()
	}
	replies := make(chan string, lifeClients)
	for _, c := range l.clients {
		go func() { replies <- c.ask() }()
	}
	if h.during != nil {
		l.AwaitReads(t, lifeClients)
		start = time.Now()
		h.during(l)
		l.Gate.Open()
	}
	saw := map[string]int{}
	for range l.clients {
		saw[<-replies]++
	}
	if h.after != nil {
		h.after(l)
	}
	for _, c := range l.clients {
		await.Within(t, 30*time.Second, h.name+": "+c.sql+" is answered", func() bool {
			code := c.ask()
			if code != "" && code != "PB015" && (code != "cut" || !h.kills) {
				t.Errorf("%s: %s asked again says %s", h.name, c.analyst, code)
			}
			return code == ""
		})
	}
	well := time.Since(start)
	l.judge(h, saw, charges, well)
}

func (l *life) judge(h happening, saw map[string]int, before int, well time.Duration) {
	t := l.t
	now, _ := sitetest.Charges(t, l.Site)
	charged, first := now-before, saw[""]
	answers := first + lifeClients
	for code := range saw {
		if code != "" && !slices.Contains(h.want, code) {
			t.Errorf("%s: clients saw %v, want %v", h.name, saw, h.want)
		}
	}
	if first == lifeClients {
		t.Errorf("%s: no client noticed", h.name)
	}
	if lost := charged - answers; (lost != 0) != (h.lost != "") || lost < 0 {
		t.Errorf("%s: %d charges for %d answers", h.name, charged, answers)
	}
	without := "0"
	if lost := charged - answers; lost > 0 {
		without = fmt.Sprintf("%d: %s", lost, h.lost)
	}
	l.row(h.name, saw, fmt.Sprint(charged), answers, well, without)
}

// row adds a row to the table. No client may be blamed.
func (l *life) row(name string, saw map[string]int, charged string, answers int, well time.Duration, without string) {
	l.t.Helper()
	var incidents []struct{ Shape string }
	if l.JSON(l.t, &incidents, "incidents", "list", l.Policy); len(incidents) > 0 {
		l.t.Errorf("%s: incidents %v", name, incidents)
	}
	var seen []string
	for _, code := range slices.Sorted(maps.Keys(saw)) {
		what := code
		if code == "" {
			what = "answers"
		}
		seen = append(seen, fmt.Sprintf("%d %s", saw[code], what))
	}
	l.rows = append(l.rows, fmt.Sprintf("%s\t%s\t%s\t%d\t%d\t%.1f\t%s",
		name, strings.Join(seen, ", "), charged, answers, len(incidents), well.Seconds(), without))
}

// crashOne kills the process of one read: the server ends all others.
func crashOne(l *life) {
	var pid int32
	const reading = "SELECT pid FROM pg_stat_activity WHERE application_name = 'dpproxy' AND state = 'idle in transaction' LIMIT 1"
	if err := l.super().QueryRow(l.t.Context(), reading).Scan(&pid); err != nil {
		l.t.Fatal(err)
	}
	sitetest.Signal(l.t, syscall.SIGKILL, pid)
	await.That(l.t, "the server is back", func() bool {
		conn, err := pgx.Connect(l.t.Context(), l.Data.URL(l.Database, pgtemp.Superuser))
		if err != nil {
			return false
		}
		defer conn.Close(l.t.Context())
		var n int
		return conn.QueryRow(l.t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE pid = $1", pid).Scan(&n) == nil && n == 0
	})
}

// lock locks the table until unlock.
func lock(l *life) {
	l.holder = l.super()
	sitetest.Exec(l.t, l.holder, "BEGIN; LOCK TABLE visits IN ACCESS EXCLUSIVE MODE")
}

func unlock(l *life) { sitetest.Exec(l.t, l.holder, "ROLLBACK") }

// conflict has the primary remove rows that the reads of the standby may still see.
func conflict(l *life) {
	primary := sitetest.Dial(l.t, l.primary.URL(l.Database, pgtemp.Superuser))
	sitetest.Exec(l.t, primary, "DELETE FROM labs; DELETE FROM visits WHERE id % 2 = 0")
	sitetest.Exec(l.t, primary, "VACUUM visits")
	standby := l.super()
	await.That(l.t, "the standby ends the reads", func() bool {
		var n int
		const reading = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'dpproxy' AND state = 'idle in transaction'"
		return standby.QueryRow(l.t.Context(), reading).Scan(&n) == nil && n == 0
	})
}
