package operations_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/await"
	"dpproxy/internal/needs"
	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// ignored are the settings of our sessions, for a pooler that is told to pass them over.
const ignored = "ignore_startup_parameters=default_transaction_read_only,default_transaction_isolation,default_transaction_deferrable," +
	"search_path,extra_float_digits,IntervalStyle,bytea_output,row_security,lock_timeout,idle_in_transaction_session_timeout," +
	"transform_null_equals,array_nulls,jit,parallel_tuple_cost,enable_mergejoin,enable_material,enable_bitmapscan,statement_timeout"

// TestPoolerBehind holds that a pooler between dpproxy and one of its databases is refused, with the reason.
func TestPoolerBehind(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(pgbouncer); err != nil {
		needs.Missing(t, "there is no pgbouncer", "pgbouncer")
	}
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy)
	for _, c := range []struct {
		server   *pgtemp.Server
		settings string
		command  string
		want     string
	}{
		{s.Data, "", "check", "unsupported startup parameter"},
		{s.Data, "", "run", "unsupported startup parameter"},
		{s.Data, ignored, "check", "does not let dpproxy set"},
		{s.Data, ignored, "run", "does not let dpproxy set"},
		{s.Mirror, "", "run", "unsupported startup parameter"},
		{s.Mirror, ignored, "run", "the mirror's sessions are not as they were asked for"},
	} {
		direct := c.server.URL("postgres", pgtemp.Superuser)
		pooled := s.Variant(t, direct, behind(t, c.server, c.settings))
		out, failed := pooled.Attempt(t, c.command, pooled.Policy)
		if !failed || !strings.Contains(out, c.want) || !strings.Contains(out, "the policy must name the server itself") {
			t.Errorf("%s says %s", c.command, out)
		}
	}
}

// TestPoolerInFront holds that no setting of one client holds for another behind a pooler that gives sessions away after each
// transaction, where the policy says that there is one. Where it does not, a SET of the one is the other's.
func TestPoolerInFront(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(pgbouncer); err != nil {
		needs.Missing(t, "there is no pgbouncer", "pgbouncer")
	}
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy)
	clients := func(running *sitetest.Running) (one, other *pgx.Conn) {
		host, port, _ := strings.Cut(running.Addr, ":")
		server := fmt.Sprintf("host=%s port=%s dbname=postgres user=ana password=%s", host, port, sitetest.Password)
		url := pooler(t, server, "pool_mode=transaction\ndefault_pool_size=1\n") + " default_query_exec_mode=simple_protocol"
		return sitetest.Dial(t, url), sitetest.Dial(t, url)
	}
	shows := func(conn *pgx.Conn, want string) {
		t.Helper()
		var got string
		if err := conn.QueryRow(t.Context(), "SHOW dp.epsilon").Scan(&got); err != nil || strings.TrimSpace(got) != want {
			t.Errorf("dp.epsilon is %q, not %q: %v", got, want, err)
		}
	}
	running := s.Run(t)
	one, other := clients(running)
	sitetest.Exec(t, one, "SET dp.epsilon = 0.5")
	shows(other, "0.5") // without the policy's word: why it is needed

	running.Stop()
	s.Edit(t, "  ana: {", "  ana: {pooled: true, ")
	one, other = clients(s.Run(t))
	for _, set := range []string{"SET dp.epsilon = 0.5", "set session dp.epsilon to 0.5", "BEGIN; SET dp.epsilon = 0.5"} {
		_, err := one.Exec(t.Context(), set)
		refused, ok := errors.AsType[*pgconn.PgError](err)
		if !ok || !strings.HasPrefix(refused.Message, "SET dp.epsilon would hold for other clients too") ||
			!strings.Contains(refused.Hint, "SET LOCAL dp.epsilon") {
			t.Errorf("%s: %v", set, err)
		}
		one.Exec(t.Context(), "ROLLBACK")
	}
	sitetest.Exec(t, one, "BEGIN; SET LOCAL dp.epsilon = 0.5; "+sitetest.CountPatients)
	shows(one, "0.5")
	sitetest.Exec(t, one, "COMMIT")
	shows(other, "0.1")
	sitetest.Exec(t, one, "/* dp: epsilon=0.25 */ "+sitetest.CountPatients)
	sitetest.Exec(t, one, "RESET dp.epsilon")
	shows(other, "0.1")
}

const pgbouncer = "/usr/sbin/pgbouncer"

// behind starts pgbouncer in session mode before a server, and returns how it is reached.
func behind(t *testing.T, s *pgtemp.Server, settings string) string {
	t.Helper()
	server := fmt.Sprintf("host=%s port=%d dbname=postgres user=%s", s.SocketDir, s.Port, pgtemp.Superuser)
	return pooler(t, server, "pool_mode=session\n"+settings)
}

// pooler starts pgbouncer before a server, and returns how it is reached.
func pooler(t *testing.T, server, settings string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	ini := filepath.Join(dir, "pgbouncer.ini")
	args := []string{"-q", ini}
	if os.Geteuid() == 0 {
		args = append([]string{"-u", "postgres"}, args...)
	}
	for range 5 {
		port := sitetest.FreePort(t)
		text := fmt.Sprintf("[databases]\npostgres = %s\n[pgbouncer]\nlisten_addr=127.0.0.1\n"+
			"listen_port=%s\nunix_socket_dir=\nauth_type=any\n%s\n", server, port, settings)
		if err := os.WriteFile(ini, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		url := fmt.Sprintf("host=127.0.0.1 port=%s dbname=postgres user=%s sslmode=disable", port, pgtemp.Superuser)
		if takesSessions(t, args, url) {
			return url
		}
	}
	t.Fatal("the pooler takes no sessions")
	return ""
}

// takesSessions starts pgbouncer, and reports whether it takes sessions. It ends if its port was taken a moment ago.
func takesSessions(t *testing.T, args []string, url string) (takes bool) {
	t.Helper()
	cmd, ended := exec.CommandContext(t.Context(), pgbouncer, args...), make(chan struct{})
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { cmd.Wait(); close(ended) }()
	t.Cleanup(func() { cmd.Process.Kill(); <-ended })
	await.That(t, "the pooler takes sessions, or has ended", func() bool {
		select {
		case <-ended:
			return true
		default:
		}
		conn, err := pgx.Connect(t.Context(), url)
		if takes = err == nil; takes {
			conn.Close(t.Context())
		}
		return takes
	})
	return takes
}
