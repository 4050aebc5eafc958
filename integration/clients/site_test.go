package clients_test

import (
	"context"
	"flag"
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

	"dpproxy/internal/logtest"
	"dpproxy/internal/pgtemp"
	"dpproxy/wire"
)

// long runs what takes minutes.
var long = flag.Bool("clients", false, "run the drivers' own test suites too, and fail where a client is not installed")

var built = struct {
	sync.Once
	path string
	err  error
}{}

// program builds the command once for all tests.
func program(t *testing.T) string {
	t.Helper()
	built.Do(func() {
		dir, err := os.MkdirTemp("", "dpproxy-bin")
		if err != nil {
			built.err = err
			return
		}
		built.path = filepath.Join(dir, "dpproxy")
		if out, err := exec.Command("go", "build", "-o", built.path, "dpproxy/cmd/dpproxy").CombinedOutput(); err != nil {
			built.err = fmt.Errorf("%w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

func TestMain(m *testing.M) {
	status := m.Run()
	if built.path != "" {
		os.RemoveAll(filepath.Dir(built.path))
	}
	os.Exit(status)
}

// A setup says what a site is made from.
type setup struct {
	// database is its name on both servers.
	database string
	// schema is run in the protected database, onMirror by the superuser in the
	// mirror after it was made.
	schema, onMirror string
	// policy is completed with addresses; VERIFIER stands for the password's.
	policy string
	tls    bool
}

// A site is a dpproxy that serves, between two servers.
type site struct {
	setup
	dir          string
	data, mirror *pgtemp.Server
	policyFile   string
	authority    *authority
	addr         string
	log          logtest.Buffer
}

// password is that of all analysts here.
const password = "secret"

func newSite(t *testing.T, o setup) *site {
	t.Helper()
	s := &site{setup: o, dir: t.TempDir(), data: startPostgres(t, false), mirror: startPostgres(t, true)}
	s.policyFile = filepath.Join(s.dir, "policy.yaml")
	s.createDatabases(t)
	s.writePolicy(t)
	for _, command := range []string{"check", "init", "sync"} {
		s.command(t, command)
	}
	if o.onMirror != "" {
		script(t, dial(t, s.mirror.URL(o.database, pgtemp.Superuser)), o.onMirror)
	}
	s.serve(t)
	return s
}

func startPostgres(t *testing.T, mirror bool) *pgtemp.Server {
	t.Helper()
	s, err := pgtemp.Start(t.Context(), pgtemp.Options{Port: -1, Mirror: mirror})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

func (s *site) createDatabases(t *testing.T) {
	t.Helper()
	for _, server := range []*pgtemp.Server{s.data, s.mirror} {
		script(t, dial(t, server.URL("postgres", pgtemp.Superuser)), "CREATE DATABASE "+s.database)
	}
	script(t, dial(t, s.data.URL(s.database, pgtemp.Superuser)), s.schema)
}

func (s *site) writePolicy(t *testing.T) {
	t.Helper()
	verifier, err := wire.MakeVerifier(password, 4096)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("listen: 127.0.0.1:0\ndata: %q\nmirror: %q\nledger: {dir: %q}\n",
		s.data.URL(s.database, pgtemp.Superuser), s.mirror.URL(s.database, pgtemp.Superuser), filepath.Join(s.dir, "ledger"))
	if s.tls {
		s.authority = newAuthority(t, s.dir)
		text += fmt.Sprintf("tls: {cert: %q, key: %q}\n", s.authority.certificate, s.authority.key)
	}
	text += strings.ReplaceAll(s.policy, "VERIFIER", verifier)
	text += "\nlimits: {reply_grid: 0, connections: 200}\nanswers: {remember: false}\n"
	if err := os.WriteFile(s.policyFile, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// command runs dpproxy to its end.
func (s *site) command(t *testing.T, name string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program(t), name, s.policyFile).CombinedOutput()
	if err != nil {
		t.Fatalf("dpproxy %s: %v\n%s", name, err, out)
	}
}

var serving = regexp.MustCompile(`msg=serving address=(\S+)`)

// serve starts dpproxy and returns when it takes connections.
func (s *site) serve(t *testing.T) {
	t.Helper()
	cmd := exec.Command(program(t), "run", s.policyFile)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Stderr = &s.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // its log says how it ended
		close(exited)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have exited
		<-exited
	})
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for s.addr == "" {
		select {
		case <-exited:
			t.Fatalf("dpproxy run ended:\n%s", s.log.String())
		case <-tick.C:
			if m := serving.FindStringSubmatch(s.log.String()); m != nil {
				s.addr = m[1]
			}
		}
	}
}

// hostPort of dpproxy.
func (s *site) hostPort(t *testing.T) (host, port string) {
	t.Helper()
	host, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		t.Fatal(err)
	}
	return host, port
}

// url for the analyst ana.
func (s *site) url() string {
	mode := "sslmode=disable"
	if s.tls {
		mode = "sslmode=verify-full&sslrootcert=" + s.authority.root
	}
	return fmt.Sprintf("postgres://ana:%s@%s/%s?%s", password, s.addr, s.database, mode)
}

func dial(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// script runs statements in one message.
func script(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.PgConn().Exec(t.Context(), sql).ReadAll(); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// realEnv leads to the real database, in the way of libpq.
func (s *site) realEnv() []string {
	return []string{
		"PGHOST=127.0.0.1", fmt.Sprintf("PGPORT=%d", s.data.Port), "PGDATABASE=" + s.database,
		"PGUSER=ana", "PGPASSWORD=" + password, "PGSSLMODE=disable",
	}
}
