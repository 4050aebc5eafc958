package operations_test

import (
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// TestOperations are the steps of an administrator, the wrong ones too.
func TestOperations(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy)
	for _, c := range []struct {
		name string
		test func(*testing.T, *sitetest.Site)
	}{
		{"two at once", testTwoAtOnce},
		{"init", testInit},
		{"sync", testSync},
		{"log in", testLogIn},
		{"TLS", testTLS},
		{"budgets", testBudgets}, // the last: lowered budgets stay
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, s) })
	}
}

func testTwoAtOnce(t *testing.T, s *sitetest.Site) {
	r := s.Run(t)
	defer r.Stop()
	for _, args := range [][]string{
		{"run", s.Policy},
		{"init", s.Policy},
	} {
		if out, failed := s.Attempt(t, args...); !failed || !strings.Contains(out, "another process has the ledger open") ||
			!strings.Contains(out, "stop dpproxy first") {
			t.Errorf("dpproxy %s beside one that runs: %s", args, out)
		}
	}
	for _, args := range [][]string{
		{"incidents", "list"},
		{"budget", "list"},
		{"ledger", "verify"},
		{"ledger", "export"},
		{"incidents", "clear", "--reason", "x"},
		{"budget", "freeze", "--scope", "unit:patient", "--reason", "x"},
		{"budget", "thaw", "--scope", "unit:patient", "--reason", "x"},
	} {
		s.Command(t, append(args, s.Policy)...)
	}
	sitetest.Exec(t, sitetest.Dial(t, r.URL("ana")), sitetest.CountPatients)
}

func testInit(t *testing.T, s *sitetest.Site) {
	if out, failed := s.Attempt(t, "init", s.Policy); !failed || !strings.Contains(out, "there is a ledger") {
		t.Errorf("init, twice: %s", out)
	}
	bare := s.Variant(t, filepath.Join(s.Dir, "ledger"), filepath.Join(t.TempDir(), "ledger"))
	for _, command := range []string{"run", "sync"} {
		if out, failed := bare.Attempt(t, command, bare.Policy); !failed || !strings.Contains(out, "dpproxy init makes it, once") {
			t.Errorf("%s without init: %s", command, out)
		}
	}
	// The secret alone does not make a ledger.
	other := s.Variant(t, filepath.Join(s.Dir, "ledger"), filepath.Join(t.TempDir(), "ledger")+", secret_file: x")
	if out, failed := other.Attempt(t, "run", other.Policy); !failed {
		t.Errorf("run with a policy that does not parse: %s", out)
	}
	lost := filepath.Join(s.Dir, "ledger", "secret")
	alone := s.Variant(t, filepath.Join(s.Dir, "ledger"), filepath.Join(t.TempDir(), "ledger"),
		"privacy_unit:", "secret_file: "+lost+"\nprivacy_unit:")
	if out, failed := alone.Attempt(t, "run", alone.Policy); !failed || !strings.Contains(out, "dpproxy init makes it, once") {
		t.Errorf("run with a ledger that vanished: %s", out)
	}
	if out, failed := alone.Attempt(t, "init", alone.Policy); !failed || !strings.Contains(out, "there was a ledger") {
		t.Errorf("init with the secret of a ledger that vanished: %s", out)
	}
}

// A second sync finds nothing to do; one that runs beside dpproxy does no harm.
func testSync(t *testing.T, s *sitetest.Site) {
	r := s.Run(t)
	defer r.Stop()
	ana := sitetest.Dial(t, r.URL("ana"))
	sitetest.Exec(t, ana, sitetest.CountPatients)
	const warned = "is a superuser: it needs SELECT alone (docs/operations.md)\n" +
		"warning: columns that the policy does not list are open: " +
		"public.patients (id), public.visits (id, patient_id, hospital_id), public.labs (id, visit_id); "
	const want = "\nthe mirror is in order, 0 changes\n"
	for range 2 {
		out := s.Command(t, "sync", s.Policy)
		if !strings.Contains(out, warned) || !strings.HasSuffix(out, want) || strings.Count(out, "\n") != 3 {
			t.Errorf("a second sync says %q", out)
		}
	}
	sitetest.Exec(t, ana, sitetest.CountPatients)
	super := sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser))
	sitetest.Exec(t, super, "ALTER TABLE visits ALTER diagnosis DROP NOT NULL")
	_, err := ana.Exec(t.Context(), "SELECT count(*) FROM visits WHERE diagnosis = 'flu'")
	sitetest.Fails(t, err, "PB013", "schema of public.visits")
	sitetest.Exec(t, ana, sitetest.CountPatients)
	sitetest.Exec(t, super, "ALTER TABLE visits ALTER diagnosis SET NOT NULL")
}

// A budget can be lowered and never raised.
func testBudgets(t *testing.T, s *sitetest.Site) {
	lower := s.Variant(t, "epsilon: 9000", "epsilon: 8000")
	r := lower.Run(t)
	var limit string
	err := sitetest.Dial(t, r.URL("ana")).QueryRow(t.Context(),
		`SELECT "limit"::text FROM dp.budget WHERE kind = 'unit'`).Scan(&limit)
	if err != nil || !strings.HasPrefix(limit, "8000") {
		t.Errorf("the lowered budget is %s, %v", limit, err)
	}
	r.Stop()
	for _, epsilon := range []string{"9000", "8000.000000000001"} {
		raised := s.Variant(t, "epsilon: 9000", "epsilon: "+epsilon+" ")
		if out, failed := raised.Attempt(t, "run", raised.Policy); !failed || !strings.Contains(out, "rais") {
			t.Errorf("a budget raised to %s: %s", epsilon, out)
		}
	}
	// Of a budget below its spent part nothing is left, but nothing is lost either.
	spentOut := s.Variant(t, "epsilon: 9000", "epsilon: 0.15")
	r = spentOut.Run(t)
	_, err = sitetest.Dial(t, r.URL("ana")).Exec(t.Context(), sitetest.CountPatients)
	sitetest.Fails(t, err, "PB001", "exhausted")
	r.Stop()
}

// A wrong password and an unknown user look the same.
func testLogIn(t *testing.T, s *sitetest.Site) {
	r := s.Run(t)
	defer r.Stop()
	messages := map[string]bool{}
	for _, user := range []string{"ana", "nobody", "postgres", "dpproxy_owner", "ana "} {
		url := strings.Replace(r.URL("ana"), "ana:"+sitetest.Password, "ana:wrong", 1)
		cfg, err := pgx.ParseConfig(url + "?sslmode=disable")
		if err != nil {
			t.Fatal(err)
		}
		cfg.User = user
		_, err = pgx.ConnectConfig(t.Context(), cfg)
		pg := sitetest.Fails(t, err, "28P01", "password authentication failed")
		messages[strings.ReplaceAll(pg.Message, user, "USER")+pg.Detail+pg.Hint] = true
	}
	if len(messages) != 1 {
		t.Errorf("different words for different users: %v", messages)
	}
	r.Silent(t)
}

func testTLS(t *testing.T, s *sitetest.Site) {
	authority := sitetest.NewAuthority(t)
	cert, key := authority.Server(t)
	secure := s.Variant(t, "privacy_unit:", "tls: {cert: "+cert+", key: "+key+"}\nprivacy_unit:")
	r := secure.Run(t)
	host, port, err := net.SplitHostPort(r.Addr)
	if err != nil {
		t.Fatal(err)
	}
	address := "host=" + host + " port=" + port + " dbname=postgres user=ana password=" + sitetest.Password
	// With TLS, psql binds its password proof to the certificate.
	for _, c := range []struct{ options, want string }{
		{"sslmode=require channel_binding=require", "TLSv1.3"},
		{"sslmode=verify-ca sslrootcert=" + authority.Root, "TLSv1.3"},
		{"sslmode=require ssl_min_protocol_version=TLSv1.2 ssl_max_protocol_version=TLSv1.2", "TLSv1.2"},
		{"sslmode=verify-full sslrootcert=" + authority.Root + " host=localhost", "TLSv1.3"},
	} {
		out, err := tryPsql(t, address+" "+c.options, "\\conninfo\nSELECT 1 AS one;")
		if err != nil || !strings.Contains(out, c.want) || !strings.Contains(out, "one") {
			t.Errorf("psql with %s: %v\n%s", c.options, err, out)
		}
	}
	if out, err := tryPsql(t, address+" sslmode=disable", "SELECT 1;"); err == nil {
		t.Errorf("psql without TLS where there is a certificate:\n%s", out)
	}
	if out, err := tryPsql(t, address+" sslmode=disable", "SELECT 1;"); err == nil || !strings.Contains(out, "encrypted connections only") {
		t.Errorf("psql without TLS: %v\n%s", err, out)
	}
	r.Stop()

	plain := s.Run(t)
	defer plain.Stop()
	host, port, err = net.SplitHostPort(plain.Addr)
	if err != nil {
		t.Fatal(err)
	}
	address = "host=" + host + " port=" + port + " dbname=postgres user=ana password=" + sitetest.Password
	if out, err := tryPsql(t, address+" sslmode=require", "SELECT 1;"); err == nil || !strings.Contains(out, "does not support SSL") {
		t.Errorf("psql asks for TLS that is not there: %v\n%s", err, out)
	}
	if out, err := tryPsql(t, address+" sslmode=prefer gssencmode=prefer", "SELECT 1;"); err != nil {
		t.Errorf("psql prefers TLS: %v\n%s", err, out)
	}
}

// tryPsql runs psql, which may fail.
func tryPsql(t *testing.T, conninfo, script string) (string, error) {
	t.Helper()
	bin, err := pgtemp.Bin()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "psql"), "--no-psqlrc", "--pset=pager=off", conninfo)
	cmd.Stdin = strings.NewReader(script)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
