package integration_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dpproxy/wire"
)

var healthy = regexp.MustCompile(`msg=health address=(\S+)`)

// page reads a page of health.
func (r *running) page(t *testing.T, name string) (status int, text string) {
	t.Helper()
	address := healthy.FindStringSubmatch(r.log.String())
	if address == nil {
		t.Fatalf("there is no health page:\n%s", r.log)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address[1]+name, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// TestHealth asks how dpproxy is while it serves, without its mirror, and while it
// stops; systemd is told too.
func TestHealth(t *testing.T) {
	s := newSite(t, clinicSchema, clinicPolicy+"health: 127.0.0.1:0\n").gated(t)
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
	r := s.run(t)
	if got := told(); got != "READY=1" {
		t.Errorf("systemd is told %q", got)
	}
	for name, want := range map[string]string{"/livez": "ok\n", "/readyz": "ledger ok\ndata ok\nmirror ok\n"} {
		if status, text := r.page(t, name); status != 200 || text != want {
			t.Errorf("%s: %d %q", name, status, text)
		}
	}
	if status, _ := r.page(t, "/"); status != 404 {
		t.Errorf("another page: %d", status)
	}
	busy := dial(t, r.url("ana"))
	unlock := stopReads(s)
	answered := make(chan error, 1)
	go func() {
		_, err := busy.Exec(t.Context(), count)
		answered <- err
	}()
	eventually(t, "the read waits", func() bool { return readers(s) == 1 })
	signal(t, syscall.SIGTERM, int32(r.cmd.Process.Pid))
	if got := told(); got != "STOPPING=1" {
		t.Errorf("systemd is told %q", got)
	}
	if status, text := r.page(t, "/readyz"); status != 503 || text != "stopping\n" {
		t.Errorf("while it stops: %d %q", status, text)
	}
	if status, _ := r.page(t, "/livez"); status != 200 {
		t.Errorf("while it stops it lives: %d", status)
	}
	unlock()
	if err := <-answered; err != nil {
		t.Error(err)
	}
	<-r.exited

	r = s.run(t)
	s.mirror.Stop()
	eventually(t, "the mirror is missed", func() bool {
		status, text := r.page(t, "/readyz")
		return status == 503 && text == "ledger ok\ndata ok\nmirror failed\n"
	})
}

// hangUp sends SIGHUP and waits for the line in the log that says what came of it.
func (r *running) hangUp(t *testing.T, want string) {
	t.Helper()
	before := len(r.log.String())
	signal(t, syscall.SIGHUP, int32(r.cmd.Process.Pid))
	eventually(t, "the policy is read anew: "+want, func() bool {
		log := r.log.String()[before:]
		if strings.Contains(log, "reloaded") && !strings.Contains(log, want) {
			t.Fatalf("the log says %s, want %s", log, want)
		}
		return strings.Contains(log, want)
	})
}

// TestReload changes the policy of a dpproxy that runs.
func TestReload(t *testing.T) {
	t.Parallel()
	s := newSite(t, clinicSchema, clinicPolicy+"  bob: {password: \"VERIFIER\", tables: [patients]}\n")
	text, err := os.ReadFile(s.policy)
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
		if err := os.WriteFile(s.policy, []byte(edited), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := s.run(t)
	ana, bob := dial(t, r.url("ana")), dial(t, r.url("bob"))
	if _, err := bob.Prepare(t.Context(), "p", count); err != nil {
		t.Fatal(err)
	}
	must(t, bob, "p")

	// What cannot be, and what cannot change, leaves everything as it is.
	write("privacy_unit:", "colour: red\nprivacy_unit:")
	r.hangUp(t, "policy.yaml:6:1: unknown key \\\"colour\\\"")
	write("9000", "8000", "max_rows: 5", "max_rows: 4")
	r.hangUp(t, "privacy_unit, tables changed: that needs a restart")
	write("tables: [patients]}", "tables: [patients], budget: {epsilon: 1}}")
	r.hangUp(t, "budget of an analyst changed: that needs a restart")
	write("privacy_unit:", "tls: {cert: /nowhere, key: /nowhere}\nprivacy_unit:")
	r.hangUp(t, "tls.cert /nowhere")
	must(t, bob, "p")

	// A table that is taken away is gone from sessions and prepared statements too.
	write("tables: [patients]}", "tables: [visits]}")
	r.hangUp(t, "the policy was reloaded")
	if _, err := bob.Exec(t.Context(), "p"); sqlstate(err) != "42501" {
		t.Errorf("a table that was taken away: %v", err)
	}
	must(t, ana, count)

	// A password that changed ends the sessions of its analyst, and no others.
	verifier, err := wire.MakeVerifier("new", 4096)
	if err != nil {
		t.Fatal(err)
	}
	_, bobs, _ := strings.Cut(original, "\n  bob:")
	bobs, _, _ = strings.Cut(bobs, "\n")
	write("bob:"+bobs, "bob: {password: \""+verifier+"\", tables: [patients]}")
	r.hangUp(t, "the policy was reloaded")
	_, err = bob.Exec(t.Context(), "SELECT 1")
	fails(t, err, "57P01", "administrator command")
	must(t, ana, count)
	if _, err := pgx.Connect(t.Context(), r.url("bob")); sqlstate(err) != "28P01" {
		t.Errorf("the old password: %v", err)
	}
	must(t, dial(t, strings.Replace(r.url("bob"), password, "new", 1)), count)

	// An analyst who is gone.
	write("\n  bob:", "\n  carol:")
	r.hangUp(t, "the policy was reloaded")
	if _, err := pgx.Connect(t.Context(), strings.Replace(r.url("bob"), password, "new", 1)); sqlstate(err) != "28P01" {
		t.Errorf("an analyst who is gone: %v", err)
	}
}

// TestClientCertificates logs in with a certificate that the policy names, and renews
// the server's own while it runs.
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t)
	ca, sign := authority(t)
	policy := strings.Replace(clinicPolicy, "privacy_unit:", "tls: {cert: "+cert+", key: "+key+", client_ca: "+ca+"}\nprivacy_unit:", 1)
	policy += "  dashboard: {certificates: [grafana.example], tables: [patients]}\n"
	s := newSite(t, clinicSchema, policy)
	r := s.run(t)
	connect := func(user, password string, shown ...tls.Certificate) (*pgx.Conn, error) {
		config, err := pgx.ParseConfig(r.url(user) + "?sslmode=require")
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
		{"dashboard", password, "ana", "28P01"},
		{"ana", password, "grafana.example", ""},
		{"ana", "", "grafana.example", "28P01"},
	} {
		conn, err := connect(c.user, c.password, sign(c.name))
		if sqlstate(err) != c.want || c.want == "" && err != nil {
			t.Errorf("%s with the certificate of %s: %v", c.user, c.name, err)
		}
		if err == nil {
			must(t, conn, count)
			conn.Close(t.Context())
		}
	}
	// A new certificate of the server, in the same files.
	served := func() []byte {
		conn, err := connect("ana", password)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		return conn.PgConn().Conn().(*tls.Conn).ConnectionState().PeerCertificates[0].Raw
	}
	before := served()
	newCert, newKey := certificate(t)
	for from, to := range map[string]string{newCert: cert, newKey: key} {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	r.hangUp(t, "the policy was reloaded")
	if bytes.Equal(served(), before) {
		t.Error("the old certificate is shown after a reload")
	}
}

// authority writes the certificate of an authority, and returns what signs with it.
func authority(t *testing.T) (file string, sign func(name string) tls.Certificate) {
	t.Helper()
	issue := func(template, parent *x509.Certificate, signer *ecdsa.PrivateKey) ([]byte, *ecdsa.PrivateKey) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if signer == nil {
			signer = key
		}
		der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
		if err != nil {
			t.Fatal(err)
		}
		return der, key
	}
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, rootKey := issue(root, root, nil)
	file = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, func(name string) tls.Certificate {
		leaf, key := issue(&x509.Certificate{
			SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
			KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}, root, rootKey)
		return tls.Certificate{Certificate: [][]byte{leaf}, PrivateKey: key}
	}
}
