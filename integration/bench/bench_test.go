package bench_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
	"dpproxy/proxy/settings"
)

var (
	benchmarks = flag.Bool("bench", false, "run the benchmarks")
	benchTime  = flag.Duration("benchfor", 3*time.Second, "how long each round of a benchmark takes")
)

// benchRounds is how often the things that are compared take turns; medians count.
const benchRounds = 3

// benchSchema adds a public table for point reads.
const benchSchema = sitetest.ClinicSchema + `
CREATE TABLE accounts (aid int PRIMARY KEY, abalance int NOT NULL, filler char(84));
INSERT INTO accounts SELECT g, g % 1000, '' FROM generate_series(1, 100000) g;
ANALYZE;`

var benchPolicy = "\nlimits: {connections: 250, reply_grid: 0}\n" +
	strings.Replace(sitetest.ClinicPolicy, "hospitals: {public: true}", "hospitals: {public: true}\n  accounts: {public: true}", 1)

// contestant is one way to the mirror's server.
type contestant struct {
	name string
	args []string // of pgbench
	pid  int      // of the program between; 0 for none
}

// figures are the measurements of one round of a contestant.
type figures struct {
	rate    float64       // statements per second
	p50     time.Duration // of a statement
	cpuEach time.Duration // of the program between, per statement
}

// TestBenchRelay measures a relayed point read, by pgbench: straight to the mirror's
// server, through pgbouncer, and through dpproxy, which take turns.
func TestBenchRelay(t *testing.T) {
	if !*benchmarks {
		return // a measurement, not a test: make bench runs it
	}
	s := sitetest.New(t, benchSchema, benchPolicy)
	r := s.Run(t)
	port, bouncer := startBouncer(t, s.Mirror)
	host, ours, _ := strings.Cut(r.Addr, ":")
	ways := []contestant{
		{"direct", []string{"-h", s.Mirror.SocketDir, "-p", strconv.Itoa(s.Mirror.Port), "-U", pgtemp.Superuser}, 0},
		{"pgbouncer", []string{"-h", "127.0.0.1", "-p", port, "-U", pgtemp.Superuser}, bouncer},
		{"dpproxy", []string{"-h", host, "-p", ours, "-U", "ana"}, r.Cmd.Process.Pid},
	}
	t.Logf("%-8s %7s  %-9s %9s %9s %9s  %s", "protocol", "clients", "way", "per s", "p50", "CPU each", "rate beside pgbouncer's")
	for _, mode := range []string{"simple", "prepared"} {
		for _, clients := range []int{1, 16, 64} {
			got := make([][]figures, len(ways))
			for range benchRounds {
				for i, w := range ways {
					got[i] = append(got[i], pgbench(t, mode, clients, w))
				}
			}
			base := median(got[1]).rate
			for i, w := range ways {
				m := median(got[i])
				t.Logf("%-8s %7d  %-9s %9.0f %9v %9v  %.2f", mode, clients, w.name, m.rate, m.p50, m.cpuEach, m.rate/base)
			}
		}
	}
}

// median takes the median of each figure.
func median(all []figures) figures {
	middle := func(of func(figures) float64) float64 {
		var v []float64
		for _, f := range all {
			v = append(v, of(f))
		}
		slices.Sort(v)
		return v[len(v)/2]
	}
	return figures{
		rate:    middle(func(f figures) float64 { return f.rate }),
		p50:     time.Duration(middle(func(f figures) float64 { return float64(f.p50) })),
		cpuEach: time.Duration(middle(func(f figures) float64 { return float64(f.cpuEach) })),
	}
}

var (
	tps       = regexp.MustCompile(`tps = ([0-9.]+)`)
	processed = regexp.MustCompile(`actually processed: ([0-9]+)`)
)

// pgbench runs one round.
func pgbench(t *testing.T, mode string, clients int, w contestant) figures {
	t.Helper()
	bin, err := pgtemp.Bin()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := filepath.Join(dir, "read.sql")
	if err := os.WriteFile(script, []byte("\\set aid random(1, 100000)\nSELECT abalance FROM accounts WHERE aid = :aid;\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "pgbench"), append([]string{
		"-n", "-M", mode, "-f", script, "-c", strconv.Itoa(clients), "-j", "1", "-T", fmt.Sprint(int(benchTime.Seconds())),
		"-l", "--sampling-rate=0.1", "--log-prefix=" + filepath.Join(dir, "log"),
	}, append(w.args, "postgres")...)...)
	cmd.Env = append(os.Environ(), "PGPASSWORD="+sitetest.Password)
	before := processorTime(t, w.pid)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("pgbench: %v\n%s", err, out)
	}
	used := processorTime(t, w.pid) - before
	return figures{
		rate: number64(t, tps, out), p50: loggedMedian(t, dir),
		cpuEach: (used / time.Duration(number64(t, processed, out))).Round(100 * time.Nanosecond),
	}
}

// number64 finds a number in the output of pgbench. It says none if its time is over before all
// clients are connected.
func number64(t *testing.T, what *regexp.Regexp, out []byte) float64 {
	t.Helper()
	match := what.FindSubmatch(out)
	if match == nil {
		t.Fatalf("pgbench did nothing:\n%s", out)
	}
	n, err := strconv.ParseFloat(string(match[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// loggedMedian reads the times of statements that pgbench logged.
func loggedMedian(t *testing.T, dir string) time.Duration {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "log.*"))
	if err != nil {
		t.Fatal(err)
	}
	var all []time.Duration
	for _, name := range logs {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			micros, err := strconv.Atoi(strings.Fields(line)[2])
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, time.Duration(micros)*time.Microsecond)
		}
	}
	slices.Sort(all)
	return percentile(all, 50)
}

// processorTime returns a process's use of the processors, in steps of 10 ms.
func processorTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	if pid == 0 {
		return 0
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	const tick = 10 * time.Millisecond
	var sum time.Duration
	for _, f := range strings.Fields(rest)[11:13] { // utime, stime
		n, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		sum += time.Duration(n) * tick
	}
	return sum
}

// startBouncer starts pgbouncer in session mode before a server and returns its port and
// its process.
func startBouncer(t *testing.T, s *pgtemp.Server) (port string, pid int) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	port = sitetest.FreePort(t)
	ini := filepath.Join(dir, "pgbouncer.ini")
	text := fmt.Sprintf("[databases]\npostgres = host=%s port=%d dbname=postgres\n[pgbouncer]\nlisten_addr=127.0.0.1\n"+
		"listen_port=%s\nauth_type=any\nunix_socket_dir=\npool_mode=session\nmax_client_conn=100\ndefault_pool_size=90\n",
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
			return port, cmd.Process.Pid
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

// TestBenchProtected measures protected statements over small tables beside the same
// statements straight to the protected database; the two take turns.
func TestBenchProtected(t *testing.T) {
	if !*benchmarks {
		return
	}
	s := sitetest.New(t, benchSchema, benchPolicy)
	r := s.Run(t)
	direct, ours := sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser)), sitetest.Dial(t, r.URL("ana"))
	sitetest.Exec(t, ours, "SET dp.epsilon = '0.0001'; SET dp.notice = off")
	t.Logf("no reply grid, embedded ledger")
	t.Logf("%-22s %-9s %9s %9s %9s %9s", "statement", "protocol", "direct", "dpproxy", "added p50", "CPU each")
	for _, c := range []struct{ name, sql string }{
		{"count", "SELECT count(*) FROM patients"},
		{"count, two conditions", "SELECT count(*) FROM patients WHERE birth_year > 1970 AND sex = 'f'"},
		{"grouped count", "SELECT region, count(*) FROM patients GROUP BY region"},
		{"grouped avg, bounded", "SELECT diagnosis, avg(cost) FROM visits GROUP BY diagnosis"},
	} {
		for name, mode := range map[string]pgx.QueryExecMode{
			"simple":   pgx.QueryExecModeSimpleProtocol,
			"prepared": pgx.QueryExecModeCacheStatement,
		} {
			var plain, proxied []time.Duration
			before := processorTime(t, r.Cmd.Process.Pid)
			for end := time.Now().Add(*benchTime); time.Now().Before(end); {
				plain = append(plain, timed(t, direct, c.sql, mode))
				proxied = append(proxied, timed(t, ours, c.sql, mode))
			}
			used := processorTime(t, r.Cmd.Process.Pid) - before
			slices.Sort(plain)
			slices.Sort(proxied)
			t.Logf("%-22s %-9s %9v %9v %9v %9v", c.name, name, percentile(plain, 50), percentile(proxied, 50),
				percentile(proxied, 50)-percentile(plain, 50),
				(used / time.Duration(len(proxied))).Round(time.Microsecond))
		}
	}
}

// timed runs a statement to its end. Exec would send one without parameters as a Query, whatever the mode.
func timed(t *testing.T, conn *pgx.Conn, sql string, mode pgx.QueryExecMode) time.Duration {
	t.Helper()
	start := time.Now()
	rows, err := conn.Query(t.Context(), sql, mode)
	if err == nil {
		rows.Close()
		err = rows.Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	return time.Since(start)
}

// TestBenchSessions measures connecting, with SCRAM and to the first answer, also to a mirror whose server knows the
// settings of dpproxy, and the memory of a session that does nothing.
func TestBenchSessions(t *testing.T) {
	if !*benchmarks {
		return
	}
	s := sitetest.New(t, benchSchema, benchPolicy)
	r := s.Run(t)
	var known []string
	for _, name := range settings.Names() {
		known = append(known, "dp."+name+"=")
	}
	told := sitetest.Make(t, sitetest.Options{Data: s.Data, Policy: benchPolicy, MirrorSettings: known}).Run(t)
	var direct, ours, faster []time.Duration
	for range 100 {
		direct = append(direct, connectTime(t, s.Mirror.URL("postgres", pgtemp.Superuser)))
		ours = append(ours, connectTime(t, r.URL("ana")))
		faster = append(faster, connectTime(t, told.URL("ana")))
	}
	slices.Sort(direct)
	slices.Sort(ours)
	slices.Sort(faster)
	t.Logf("connect, log in, SELECT 1: direct, without a password, p50 %v p99 %v; dpproxy, SCRAM, p50 %v p99 %v; "+
		"with the settings in postgresql.conf of the mirror p50 %v p99 %v",
		percentile(direct, 50), percentile(direct, 99), percentile(ours, 50), percentile(ours, 99),
		percentile(faster, 50), percentile(faster, 99))
	const sessions = 200
	before := sitetest.ResidentKiB(t, r)
	for range sessions {
		sitetest.Exec(t, sitetest.Dial(t, r.URL("ana")), "SELECT 1")
	}
	after := sitetest.ResidentKiB(t, r)
	t.Logf("%d sessions, idle after SELECT 1: resident memory %d kB -> %d kB, %d kB each", sessions, before, after, (after-before)/sessions)
}

func connectTime(t *testing.T, url string) time.Duration {
	t.Helper()
	start := time.Now()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	sitetest.Exec(t, conn, "SELECT 1")
	took := time.Since(start)
	conn.Close(t.Context())
	return took
}

func percentile(sorted []time.Duration, percent int) time.Duration {
	return sorted[len(sorted)*percent/100].Round(time.Microsecond)
}
