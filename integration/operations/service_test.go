package operations_test

import (
	"bytes"
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/await"
	"dpproxy/internal/sitetest"
	"dpproxy/wire"
)

// TestHealth asks how dpproxy is while it serves, without its mirror, and while it
// stops; systemd is told too.
func TestHealth(t *testing.T) {
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy+"health: 127.0.0.1:0\n").Gated(t)
	socket := filepath.Join(t.TempDir(), "notify")
	systemd, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer systemd.Close()
	systemd.SetReadDeadline(time.Now().Add(time.Minute))
	told := func() string {
		state := make([]byte, 100)
		n, err := systemd.Read(state)
		if err != nil {
			t.Fatal(err)
		}
		return string(state[:n])
	}
	t.Setenv("NOTIFY_SOCKET", socket)
	r := s.Run(t)
	if got := told(); got != "READY=1" {
		t.Errorf("systemd is told %q", got)
	}
	for name, want := range map[string]string{"/livez": "ok\n", "/readyz": "ledger ok\ndata ok\nmirror ok\n"} {
		if status, text := r.Page(t, name); status != 200 || text != want {
			t.Errorf("%s: %d %q", name, status, text)
		}
	}
	if status, _ := r.Page(t, "/"); status != 404 {
		t.Errorf("another page: %d", status)
	}
	busy := sitetest.Dial(t, r.URL("ana"))
	unlock := s.StopReads()
	answered := sitetest.InBackground(t, busy, sitetest.CountPatients)
	s.AwaitReads(t, 1)
	sitetest.Signal(t, syscall.SIGTERM, int32(r.Cmd.Process.Pid))
	if got := told(); got != "STOPPING=1" {
		t.Errorf("systemd is told %q", got)
	}
	if status, text := r.Page(t, "/readyz"); status != 503 || text != "stopping\n" {
		t.Errorf("while it stops: %d %q", status, text)
	}
	if status, _ := r.Page(t, "/livez"); status != 200 {
		t.Errorf("while it stops it lives: %d", status)
	}
	unlock()
	if err := <-answered; err != nil {
		t.Error(err)
	}
	<-r.Exited

	r = s.Run(t)
	s.Mirror.Stop()
	await.That(t, "the mirror is missed", func() bool {
		status, text := r.Page(t, "/readyz")
		return status == 503 && text == "ledger ok\ndata ok\nmirror failed\n"
	})
}

// TestReloadBudgets adds and lowers budgets of a dpproxy that runs.
func TestReloadBudgets(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy+"  bob: {password: \"VERIFIER\", tables: [patients]}\n")
	r := s.Run(t)
	ana, bob := sitetest.Dial(t, r.URL("ana")), sitetest.Dial(t, r.URL("bob"))
	sitetest.Exec(t, bob, sitetest.CountPatients)
	s.Edit(t, "tables: [patients]}", "tables: [patients], budget: {epsilon: 0.01}}")
	s.Edit(t, "epsilon: 9000", "epsilon: 9001")
	r.HangUp(t, "dpproxy budget raise does that")
	sitetest.Exec(t, bob, sitetest.CountPatients)
	s.Edit(t, "epsilon: 9001", "epsilon: 8999")
	r.HangUp(t, "the policy was reloaded")
	if log := r.Log.String(); !strings.Contains(log, `msg="the policy lowers a budget" budget=unit:patient from="ε=9000" to="ε=8999"`) {
		t.Errorf("the log does not say that a budget was lowered: %s", log)
	}
	_, err := bob.Exec(t.Context(), sitetest.CountPatients)
	if pg := sitetest.Fails(t, err, "PB001", `budget of analyst "bob" has no room`); !strings.Contains(pg.Detail, "ε=0.01 is left") {
		t.Errorf("detail %q", pg.Detail)
	}
	sitetest.Exec(t, ana, sitetest.CountPatients)
	s.Says(t, "unit:patient  ε=8999", "budget", "list", s.Policy)

	// A policy cannot leave out a budget of the ledger, or give it another name.
	s.Edit(t, "tables: [patients], budget: {epsilon: 0.01}}", "tables: [patients]}")
	const retire = "dpproxy budget retire --scope analyst:bob --reason"
	r.HangUp(t, retire)
	s.Refuses(t, retire, "check", s.Policy)
	_, err = bob.Exec(t.Context(), sitetest.CountPatients)
	sitetest.Fails(t, err, "PB001", `budget of analyst "bob" has no room`)
	s.Says(t, "is retired", "budget", "retire", s.Policy, "--scope", "analyst:bob", "--reason", "no limit of his own")
	r.HangUp(t, "the policy was reloaded")
	sitetest.Exec(t, bob, sitetest.CountPatients)

	s.Edit(t, "name: patient,", "name: person,")
	const rename = "dpproxy budget rename --scope unit:patient --to unit:person --reason"
	s.Refuses(t, rename, "check", s.Policy)
	r.Stop()
	s.Refuses(t, rename, "run", s.Policy)
	s.Says(t, "is unit:person now", "budget", "rename", s.Policy, "--scope", "unit:patient", "--to", "unit:person", "--reason", "a word")
	spent := s.Command(t, "budget", "list", s.Policy)
	if !strings.Contains(spent, "unit:person") || strings.Contains(spent, "ε=8999   ε=0 ") {
		t.Errorf("the budget under its new name: %s", spent)
	}
	sitetest.Exec(t, sitetest.Dial(t, s.Run(t).URL("ana")), sitetest.CountPatients)
}

// TestReload changes the policy of a dpproxy that runs.
func TestReload(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy+"  bob: {password: \"VERIFIER\", tables: [patients]}\n")
	text, err := os.ReadFile(s.Policy)
	if err != nil {
		t.Fatal(err)
	}
	original := string(text)
	write := func(edits ...string) {
		t.Helper()
		edited := strings.NewReplacer(edits...).Replace(original)
		if len(edits) > 0 && edited == original {
			t.Fatalf("nothing to edit: %q", edits)
		}
		if err := os.WriteFile(s.Policy, []byte(edited), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := s.Run(t)
	ana, bob := sitetest.Dial(t, r.URL("ana")), sitetest.Dial(t, r.URL("bob"))
	if _, err := bob.Prepare(t.Context(), "p", sitetest.CountPatients); err != nil {
		t.Fatal(err)
	}
	sitetest.Exec(t, bob, "p")

	// A policy that is wrong, or changes keys that cannot change, leaves everything as it is.
	write("privacy_unit:", "colour: red\nprivacy_unit:")
	r.HangUp(t, "policy.yaml:6:1: unknown key \\\"colour\\\"")
	write("max_rows: 5", "max_rows: 4", "listen: 127.0.0.1:0", "listen: 127.0.0.1:1")
	r.HangUp(t, "that needs a restart: listen was 127.0.0.1:0, and is 127.0.0.1:1\"")
	write("name: patient,", "name: person,")
	r.HangUp(t, "that needs a restart: privacy_unit.name was patient, and is person")
	write("privacy_unit:", "tls: {cert: /nowhere, key: /nowhere}\nprivacy_unit:")
	r.HangUp(t, "tls.cert /nowhere")
	sitetest.Exec(t, bob, "p")

	// A table that is taken away is gone from sessions and prepared statements too.
	write("tables: [patients]}", "tables: [visits]}")
	r.HangUp(t, "the policy was reloaded")
	if _, err := bob.Exec(t.Context(), "p"); sitetest.SQLState(err) != "42501" {
		t.Errorf("a table that was taken away: %v", err)
	}
	sitetest.Exec(t, ana, sitetest.CountPatients)

	// A password that changed ends the sessions of its analyst, and no others.
	verifier, err := wire.MakeVerifier("new", 4096)
	if err != nil {
		t.Fatal(err)
	}
	_, bobs, _ := strings.Cut(original, "\n  bob:")
	bobs, _, _ = strings.Cut(bobs, "\n")
	write("bob:"+bobs, "bob: {password: \""+verifier+"\", tables: [patients]}")
	r.HangUp(t, "the policy was reloaded")
	_, err = bob.Exec(t.Context(), "SELECT 1")
	sitetest.Fails(t, err, "57P01", "administrator command")
	sitetest.Exec(t, ana, sitetest.CountPatients)
	if _, err := pgx.Connect(t.Context(), r.URL("bob")); sitetest.SQLState(err) != "28P01" {
		t.Errorf("the old password: %v", err)
	}
	sitetest.Exec(t, sitetest.Dial(t, strings.Replace(r.URL("bob"), sitetest.Password, "new", 1)), sitetest.CountPatients)

	// An analyst who is gone.
	write("\n  bob:", "\n  carol:")
	r.HangUp(t, "the policy was reloaded")
	if _, err := pgx.Connect(t.Context(), strings.Replace(r.URL("bob"), sitetest.Password, "new", 1)); sitetest.SQLState(err) != "28P01" {
		t.Errorf("an analyst who is gone: %v", err)
	}
}

// TestClientCertificates logs in with a certificate that the policy names, and renews
// the server's own while it runs.
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	authority := sitetest.NewAuthority(t)
	cert, key := authority.Server(t)
	policy := strings.Replace(sitetest.ClinicPolicy, "privacy_unit:",
		"tls: {cert: "+cert+", key: "+key+", client_ca: "+authority.Root+"}\nprivacy_unit:", 1)
	policy += "  dashboard: {certificates: [grafana.example], tables: [patients]}\n"
	s := sitetest.New(t, sitetest.ClinicSchema, policy)
	r := s.Run(t)
	connect := func(user, password string, shown ...tls.Certificate) (*pgx.Conn, error) {
		config, err := pgx.ParseConfig(r.URL(user) + "?sslmode=require")
		if err != nil {
			t.Fatal(err)
		}
		config.Password, config.TLSConfig.Certificates = password, shown
		return pgx.ConnectConfig(t.Context(), config)
	}
	for _, c := range []struct {
		user, password, name, want string
	}{
		{"ana", "", "ana", ""},
		{"dashboard", "", "grafana.example", ""},
		{"dashboard", "", "dashboard", "28P01"},
		{"dashboard", sitetest.Password, "ana", "28P01"},
		{"ana", sitetest.Password, "grafana.example", ""},
		{"ana", "", "grafana.example", "28P01"},
	} {
		conn, err := connect(c.user, c.password, authority.Client(t, c.name))
		if sitetest.SQLState(err) != c.want || c.want == "" && err != nil {
			t.Errorf("%s with the certificate of %s: %v", c.user, c.name, err)
		}
		if err == nil {
			sitetest.Exec(t, conn, sitetest.CountPatients)
			conn.Close(t.Context())
		}
	}
	// A new certificate of the server, in the same files.
	served := func() []byte {
		conn, err := connect("ana", sitetest.Password)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		return conn.PgConn().Conn().(*tls.Conn).ConnectionState().PeerCertificates[0].Raw
	}
	before := served()
	newCert, newKey := authority.Server(t)
	for from, to := range map[string]string{newCert: cert, newKey: key} {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	r.HangUp(t, "the policy was reloaded")
	if bytes.Equal(served(), before) {
		t.Error("the old certificate is shown after a reload")
	}
}
