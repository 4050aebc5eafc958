package operations_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

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
		pooled := s.Variant(t, direct, pooler(t, c.server, c.settings))
		out, failed := pooled.Attempt(t, c.command, pooled.Policy)
		if !failed || !strings.Contains(out, c.want) || !strings.Contains(out, "the policy must name the server itself") {
			t.Errorf("%s says %s", c.command, out)
		}
	}
}

const pgbouncer = "/usr/sbin/pgbouncer"

// pooler starts pgbouncer in session mode before a server, and returns how it is reached.
func pooler(t *testing.T, s *pgtemp.Server, settings string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	port, ini := sitetest.FreePort(t), filepath.Join(dir, "pgbouncer.ini")
	text := fmt.Sprintf("[databases]\npostgres = host=%s port=%d dbname=postgres user=%s\n[pgbouncer]\nlisten_addr=127.0.0.1\n"+
		"listen_port=%s\nunix_socket_dir=\nauth_type=any\npool_mode=session\n%s\n", s.SocketDir, s.Port, pgtemp.Superuser, port, settings)
	if err := os.WriteFile(ini, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"-q", ini}
	if os.Geteuid() == 0 {
		args = append([]string{"-u", "postgres"}, args...)
	}
	cmd := exec.CommandContext(t.Context(), pgbouncer, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	url := fmt.Sprintf("host=127.0.0.1 port=%s dbname=postgres user=%s sslmode=disable", port, pgtemp.Superuser)
	await.That(t, "the pooler takes sessions", func() bool {
		conn, err := pgx.Connect(t.Context(), url)
		if err == nil {
			conn.Close(t.Context())
		}
		return err == nil
	})
	return url
}
