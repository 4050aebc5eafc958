package integration_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/pgtemp"
)

var benchmarks = flag.Bool("bench", false, "run the benchmarks")

const benchTime = 4 * time.Second

// TestBenchRelay measures a relayed statement: SELECT 1 straight to the mirror's
// server, through pgbouncer, and through dpproxy, in one run, by pgbench.
func TestBenchRelay(t *testing.T) {
	if !*benchmarks {
		return // a measurement, not a test: make bench runs it
	}
	s := newSite(t, clinicSchema, clinicPolicy)
	r := s.run(t)
	bouncer := startBouncer(t, s.mirror)
	for _, mode := range []string{"simple", "extended", "prepared"} {
		for _, clients := range []int{1, 16} {
			direct := pgbench(t, mode, clients, "-h", s.mirror.SocketDir, "-p", fmt.Sprint(s.mirror.Port), "-U", pgtemp.Superuser)
			through := pgbench(t, mode, clients, "-h", "127.0.0.1", "-p", bouncer, "-U", pgtemp.Superuser)
			host, port, _ := strings.Cut(r.addr, ":")
			ours := pgbench(t, mode, clients, "-h", host, "-p", port, "-U", "ana")
			t.Logf("SELECT 1, %-8s %2d clients: direct %6.0f/s, pgbouncer %6.0f/s (%.2f), dpproxy %6.0f/s (%.2f of direct, %.2f of pgbouncer)",
				mode, clients, direct, through, through/direct, ours, ours/direct, ours/through)
		}
	}
}

var tps = regexp.MustCompile(`tps = ([0-9.]+)`)

func pgbench(t *testing.T, mode string, clients int, args ...string) float64 {
	t.Helper()
	bin, err := pgtemp.Bin()
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "one.sql")
	if err := os.WriteFile(script, []byte("SELECT 1;\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "pgbench"), append([]string{
		"-n", "-M", mode, "-f", script, "-c", fmt.Sprint(clients), "-j", "1",
		"-T", fmt.Sprint(int(benchTime.Seconds())),
	}, append(args, "postgres")...)...)
	cmd.Env = append(os.Environ(), "PGPASSWORD="+password)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("pgbench: %v\n%s", err, out)
	}
	var n float64
	if _, err := fmt.Sscan(tps.FindStringSubmatch(string(out))[1], &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// startBouncer starts pgbouncer in session mode before a server and returns its port.
func startBouncer(t *testing.T, s *pgtemp.Server) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	ini := filepath.Join(dir, "pgbouncer.ini")
	text := fmt.Sprintf("[databases]\npostgres = host=%s port=%d dbname=postgres\n[pgbouncer]\nlisten_addr=127.0.0.1\nlisten_port=%s\nauth_type=any\nunix_socket_dir=\npool_mode=session\nmax_client_conn=100\ndefault_pool_size=50\n",
		s.SocketDir, s.Port, port)
	text = strings.Replace(text, "dbname=postgres", "dbname=postgres user="+pgtemp.Superuser, 1)
	if err := os.WriteFile(ini, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{ini}
	if os.Geteuid() == 0 {
		args = append([]string{"-u", "postgres"}, args...)
	}
	cmd := exec.Command("/usr/sbin/pgbouncer", args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	for {
		conn, err := pgx.Connect(ctx, "host=127.0.0.1 port="+port+" dbname=postgres sslmode=disable user="+pgtemp.Superuser)
		if err == nil {
			conn.Close(ctx)
			return port
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

// TestBenchProtected measures a protected count over 1,000 rows against the same
// statement straight to the protected database.
func TestBenchProtected(t *testing.T) {
	if !*benchmarks {
		return
	}
	s := newSite(t, clinicSchema, clinicPolicy)
	r := s.run(t)
	for _, c := range []struct{ name, sql string }{
		{"count", "SELECT count(*) FROM patients"},
		{"grouped count", "SELECT region, count(*) FROM patients GROUP BY region"},
		{"grouped avg, bounded", "SELECT diagnosis, avg(cost) FROM visits GROUP BY diagnosis"},
	} {
		for _, clients := range []int{1, 16} {
			direct := latencies(t, s.data.URL("postgres", pgtemp.Superuser), c.sql, clients)
			ours := latencies(t, r.url("ana"), c.sql, clients)
			t.Logf("%s, %2d clients, no reply grid: direct p50 %v p99 %v; dpproxy p50 %v p99 %v; p50 within %v of direct",
				c.name, clients, at(direct, 50), at(direct, 99), at(ours, 50), at(ours, 99), at(ours, 50)-at(direct, 50))
		}
	}
}

func latencies(t *testing.T, url, sql string, clients int) []time.Duration {
	t.Helper()
	var mu sync.Mutex
	var all []time.Duration
	var done sync.WaitGroup
	for range clients {
		conn := dial(t, url)
		if _, err := conn.Exec(t.Context(), "SET dp.epsilon = '0.0001'; SET dp.notice = off"); err != nil {
			t.Fatal(err)
		}
		done.Go(func() {
			var mine []time.Duration
			for end := time.Now().Add(benchTime); time.Now().Before(end); {
				start := time.Now()
				if _, err := conn.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
					t.Errorf("%s: %v", sql, err)
					return
				}
				mine = append(mine, time.Since(start))
			}
			mu.Lock()
			all = append(all, mine...)
			mu.Unlock()
		})
	}
	done.Wait()
	slices.Sort(all)
	return all
}

func at(sorted []time.Duration, percent int) time.Duration {
	return sorted[len(sorted)*percent/100].Round(time.Microsecond)
}
