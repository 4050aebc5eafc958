package integration_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/logtest"
	"dpproxy/internal/pgtemp"
	"dpproxy/wire"
)

var binary = struct {
	sync.Once
	path string
	err  error
}{}

// program builds the command once for all tests.
func program(t testing.TB) string {
	t.Helper()
	binary.Do(func() {
		dir, err := os.MkdirTemp("", "dpproxy-bin")
		if err != nil {
			binary.err = err
			return
		}
		binary.path = filepath.Join(dir, "dpproxy")
		if out, err := exec.Command("go", "build", "-o", binary.path, "dpproxy/cmd/dpproxy").CombinedOutput(); err != nil {
			binary.err = fmt.Errorf("%w\n%s", err, out)
		}
	})
	if binary.err != nil {
		t.Fatal(binary.err)
	}
	return binary.path
}

func TestMain(m *testing.M) {
	status := m.Run()
	if binary.path != "" {
		os.RemoveAll(filepath.Dir(binary.path))
	}
	os.Exit(status)
}

// site is a dpproxy installation: two servers, a policy, a ledger.
type site struct {
	dir          string
	data, mirror *pgtemp.Server
	policy       string
	gate         *pgtemp.Gate // between dpproxy and the protected database, if gated
}

const password = "secret"

// newSite loads the schema into a protected database and makes the mirror. The
// policy's text is completed with addresses.
func newSite(t testing.TB, schema, policy string) *site {
	t.Helper()
	return newSiteOn(t, startPostgres(t), policy, func(conn *pgx.Conn) { must(t, conn, schema) })
}

// newSiteOn makes a site with a protected database on a server that runs.
func newSiteOn(t testing.TB, data *pgtemp.Server, policy string, fill func(*pgx.Conn)) *site {
	t.Helper()
	s := &site{dir: t.TempDir(), data: data, mirror: startMirror(t)}
	s.policy = filepath.Join(s.dir, "policy.yaml")
	fill(dial(t, s.data.URL("postgres", pgtemp.Superuser)))
	verifier, err := wire.MakeVerifier(password, 4096)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("listen: 127.0.0.1:0\ndata: %q\nmirror: %q\nledger: {dir: %q}\n",
		s.data.URL("postgres", pgtemp.Superuser), s.mirror.URL("postgres", pgtemp.Superuser), filepath.Join(s.dir, "ledger"))
	text += strings.ReplaceAll(policy, "VERIFIER", verifier)
	if !strings.Contains(policy, "\nlimits:") {
		text += "\nlimits: {reply_grid: 0}\n" // tests ask many small questions, and have no use for waiting
	}
	if !strings.Contains(policy, "\nanswers:") {
		text += "\nanswers: {remember: false}\n" // most tests want noise of its own for each answer
	}
	if err := os.WriteFile(s.policy, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.command(t, "check", s.policy)
	s.command(t, "init", s.policy)
	s.command(t, "sync", s.policy)
	return s
}

// gated puts a gate before the protected database, for a dpproxy that is not yet started.
func (s *site) gated(t testing.TB) *site {
	t.Helper()
	gate, err := s.data.Gate(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gate.Close)
	text, err := os.ReadFile(s.policy)
	if err != nil {
		t.Fatal(err)
	}
	s.gate = gate
	through := strings.Replace(string(text), s.data.URL("postgres", pgtemp.Superuser), gate.URL("postgres", pgtemp.Superuser), 1)
	if err := os.WriteFile(s.policy, []byte(through), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

func startPostgres(t testing.TB) *pgtemp.Server { return startServer(t, pgtemp.Options{}) }

func startMirror(t testing.TB) *pgtemp.Server {
	return startServer(t, pgtemp.Options{Mirror: true})
}

func startServer(t testing.TB, o pgtemp.Options) *pgtemp.Server {
	t.Helper()
	s, err := pgtemp.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// command runs dpproxy to its end and returns its output.
func (s *site) command(t testing.TB, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program(t), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("dpproxy %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// running is a dpproxy process that serves.
type running struct {
	cmd    *exec.Cmd
	addr   string
	log    *logtest.Buffer
	exited chan struct{}
}

var serving = regexp.MustCompile(`msg=serving address=(\S+)`)

// run starts dpproxy and waits until it serves.
func (s *site) run(t testing.TB) *running {
	t.Helper()
	r := s.start(t)
	if r.addr == "" {
		t.Fatalf("dpproxy run ended:\n%s", r.log)
	}
	return r
}

// start starts dpproxy and waits until it serves, or ends: then it has no address.
func (s *site) start(t testing.TB) *running {
	t.Helper()
	r := &running{cmd: exec.Command(program(t), "run", s.policy), log: &logtest.Buffer{}, exited: make(chan struct{})}
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	r.cmd.Stderr = r.log
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { r.cmd.Wait(); close(r.exited) }()
	t.Cleanup(r.stop)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-r.exited:
			return r
		case <-tick.C:
			if m := serving.FindStringSubmatch(r.log.String()); m != nil {
				r.addr = m[1]
				return r
			}
		}
	}
}

func (r *running) stop() {
	r.cmd.Process.Signal(syscall.SIGTERM)
	<-r.exited
}

// kill ends the process as a crash would.
func (r *running) kill() {
	r.cmd.Process.Kill()
	<-r.exited
}

func (r *running) url(user string) string {
	return fmt.Sprintf("postgres://%s:%s@%s/postgres", user, password, r.addr)
}

func dial(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func must(t testing.TB, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// sqlstate returns the code of an error of Postgres, or "".
func sqlstate(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code
	}
	return ""
}

// freePort returns a TCP port that was free a moment ago.
func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
