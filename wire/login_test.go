package wire_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/await"
	"dpproxy/pgerr"
	"dpproxy/wire"
)

// code returns the SQLSTATE and message of an error of pgx.
func code(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Severity + " " + e.Code + " " + e.Message
	}
	return fmt.Sprint(err)
}

func connectError(t *testing.T, url string) string {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err == nil {
		c.Close(t.Context())
		return ""
	}
	return code(err)
}

// TestLoginIsScram logs in with the right password, a wrong one and as nobody:
// the two failures must read the same.
func TestLoginIsScram(t *testing.T) {
	p := start(t, nil)
	if got := queryInt(t, p.connect(t), "SELECT 1"); got != "1" {
		t.Errorf("SELECT 1 = %s", got)
	}
	wrong := strings.Replace(p.url(""), password, "wrong", 1)
	if got, want := connectError(t, wrong), `FATAL 28P01 password authentication failed for user "ana"`; got != want {
		t.Errorf("a wrong password: %s, want %s", got, want)
	}
	nobody := strings.Replace(p.url(""), "user=ana", "user=nobody", 1)
	if got, want := connectError(t, nobody), `FATAL 28P01 password authentication failed for user "nobody"`; got != want {
		t.Errorf("an unknown user: %s, want %s", got, want)
	}
	long := strings.Repeat("n", 1000)
	connectError(t, strings.Replace(p.url(""), "user=ana", "user="+long, 1))
	log := p.log.String()
	if !strings.Contains(log, "user=nobody") || strings.Contains(log, "wrong") || strings.Contains(log, long[:64]) {
		t.Errorf("the log reads %s", log)
	}
}

// TestUnknownUserLooksKnown asks for the challenge of an unknown user twice:
// its salt must be the same, as that of a known one is.
func TestUnknownUserLooksKnown(t *testing.T) {
	p := start(t, nil)
	for _, user := range []string{"ana", "nobody"} {
		first, second := challenge(t, p, user), challenge(t, p, user)
		if first == "" || first != second {
			t.Errorf("%s: salt and iterations are %q, then %q", user, first, second)
		}
	}
	if challenge(t, p, "nobody") == challenge(t, p, "nobody2") {
		t.Error("two unknown users have the same salt")
	}
}

// TestVerifierFails holds that everybody is told the same when verifiers cannot be read, and
// that nobody is blamed for it.
func TestVerifierFails(t *testing.T) {
	var asked []string
	p := start(t, func(c *wire.Config) {
		c.Verifier = func(_ context.Context, user string) (string, bool, error) {
			asked = append(asked, user)
			return "", false, errors.New("the reason")
		}
		c.Limits.FailedLogins = 1
	})
	users := []string{"ana", "nobody", "ana", "nobody"}
	for _, user := range users {
		got := connectError(t, strings.Replace(p.url(""), "user=ana", "user="+user, 1))
		if want := "FATAL 57P03 passwords cannot be checked now"; got != want {
			t.Errorf("%s: %s, want %s", user, got, want)
		}
	}
	if diff := cmp.Diff(users, asked); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
	if log := p.log.String(); !strings.Contains(log, `error="the reason"`) {
		t.Errorf("the log reads %s", log)
	}
}

// challenge returns salt and iterations of the first SCRAM message for a user.
func challenge(t *testing.T, p *proxy, user string) string {
	t.Helper()
	c := p.dialTCP(t)
	c.Write(startupPacket(3<<16, "user", user))
	readMessage(t, c)
	first := append([]byte("SCRAM-SHA-256\x00\x00\x00\x00\x20"), []byte("n,,n=,r=abcdefghijklmnopqrstuvwx")...)
	c.Write(packet('p', first))
	_, body := readMessage(t, c)
	_, rest, _ := strings.Cut(string(body), ",")
	return rest
}

// TestPsqlLogsIn uses the client that everybody has.
func TestPsqlLogsIn(t *testing.T) {
	p := start(t, nil)
	out, err := psql(t, p, password, "sslmode=prefer", "SELECT 'it is ' || current_user")
	if err != nil || strings.TrimSpace(out) != "it is ana" {
		t.Errorf("psql: %v\n%s", err, out)
	}
	out, err = psql(t, p, "wrong", "sslmode=disable", "SELECT 1")
	if err == nil || !strings.Contains(out, `FATAL:  password authentication failed for user "ana"`) {
		t.Errorf("psql with a wrong password: %v\n%s", err, out)
	}
}

func psql(t *testing.T, p *proxy, password, more, sql string) (string, error) {
	t.Helper()
	host, port, _ := net.SplitHostPort(p.addr)
	cmd := exec.CommandContext(t.Context(), "psql", "-X", "-A", "-t", "-c", sql,
		fmt.Sprintf("host=%s port=%s dbname=mirror user=ana %s", host, port, more))
	cmd.Env = append(cmd.Environ(), "PGPASSWORD="+password, "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestVerifierIsPostgres exchanges verifiers with Postgres both ways.
func TestVerifierIsPostgres(t *testing.T) {
	ctx := t.Context()
	c, err := pgx.Connect(ctx, postgres.URL("postgres", "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	ours, err := wire.MakeVerifier("x", 5000)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Exec(ctx, "CREATE ROLE ours PASSWORD '"+ours+"'"); err != nil {
		t.Fatal(err)
	}
	defer c.Exec(context.Background(), "DROP ROLE ours, theirs")
	if _, err := c.Exec(ctx, "CREATE ROLE theirs PASSWORD '"+password+"'"); err != nil {
		t.Fatal(err)
	}
	stored := func(role string) (v string) {
		if err := c.QueryRow(ctx, "SELECT rolpassword FROM pg_authid WHERE rolname = $1", role).Scan(&v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	if got := stored("ours"); got != ours {
		t.Errorf("Postgres took the verifier for a password: %s", got)
	}
	theirs := stored("theirs")
	if err := wire.CheckVerifier(theirs); err != nil {
		t.Fatal(err)
	}
	p := start(t, func(c *wire.Config) {
		c.Verifier = func(context.Context, string) (string, bool, error) { return theirs, true, nil }
	})
	p.connect(t)
}

func TestCheckVerifierRefuses(t *testing.T) {
	good, err := wire.MakeVerifier("x", 1)
	if err != nil || wire.CheckVerifier(good) != nil {
		t.Fatalf("%q: %v", good, err)
	}
	for _, bad := range []string{
		"", "md5abc", "x" + good, good + "$", strings.Replace(good, "$1:", "$0:", 1),
		strings.Replace(good, "$1:", "$x:", 1), good[:len(good)-3], strings.Replace(good, ":", ";", 2),
	} {
		if wire.CheckVerifier(bad) == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// certificate makes a self-signed one for 127.0.0.1.
func certificate(t testing.TB) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "proxy"},
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func TestTLS(t *testing.T) {
	certificate := certificate(t)
	p := start(t, func(c *wire.Config) {
		c.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
		c.RequireTLS = true
		c.Handler = newFakeHandler()
	})
	for _, more := range []string{"sslmode=require", "sslmode=require channel_binding=require"} {
		out, err := psql(t, p, password, more, "SELECT name FROM secret WHERE id = 2")
		if err != nil || strings.TrimSpace(out) != "zwei" {
			t.Errorf("psql %s: %v\n%s", more, err, out)
		}
	}
	encrypted := strings.Replace(p.url(""), "sslmode=disable", "sslmode=require", 1)
	c, err := pgx.Connect(t.Context(), encrypted)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	// The watch for a client that goes away must not hurt the TLS connection.
	for range 3 {
		if got := queryInt(t, c, "SELECT count(*) FROM secret"); got != "3" {
			t.Errorf("count = %s", got)
		}
	}
	want := "FATAL 28000 this server takes encrypted connections only"
	if got := connectError(t, p.url("")); got != want {
		t.Errorf("without TLS: %s, want %s", got, want)
	}
}

// TestPlaintextBehindSSLRequest sends a start-up packet in the same breath as
// the SSLRequest: it must not count as said inside TLS.
func TestPlaintextBehindSSLRequest(t *testing.T) {
	certificate := certificate(t)
	p := start(t, func(c *wire.Config) { c.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}} })
	c := p.dialTCP(t)
	c.Write(append(requestPacket(80877103), startupPacket(3<<16, "user", "ana")...))
	all, _ := io.ReadAll(c)
	if len(all) == 0 || all[0] != 'S' || strings.Contains(string(all), "SCRAM") {
		t.Errorf("the answer is %q", all)
	}
}

func TestDialErrors(t *testing.T) {
	for _, test := range []struct {
		err  error
		want string
	}{
		{errors.New("connection refused to 10.1.2.3"), "FATAL 57P03 the mirror database cannot be reached"},
		{
			&pgconn.PgError{Code: "3D000", Message: "database \"internal\" does not exist"},
			"FATAL 57P03 the mirror database cannot be reached",
		},
		{&pgconn.PgError{Code: "28000"}, "FATAL 57P03 the mirror has no role for you"},
		{&pgconn.PgError{Code: "53300"}, "FATAL 53300 sorry, too many clients already"},
		{pgerr.New(pgerr.InvalidAuthorization, "not today"), "FATAL 28000 not today"},
	} {
		p := start(t, func(c *wire.Config) {
			c.Dial = func(context.Context, wire.Login) (*pgconn.PgConn, error) { return nil, test.err }
		})
		if got := connectError(t, p.url("")); got != test.want {
			t.Errorf("%v: the client reads %s, want %s", test.err, got, test.want)
		}
	}
}

func TestStartupParameters(t *testing.T) {
	p := start(t, nil)
	options := `options='-c dp.epsilon=0.5 -csearch_path=pg_catalog --statement-timeout=7s -c a.thing=1 -c enable_sort=off' ` +
		`application_name=test timezone=Asia/Tokyo`
	c, err := pgx.Connect(t.Context(), p.url(options))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	for name, want := range map[string]string{
		"dp.epsilon": "0.5", "search_path": "pg_catalog", "statement_timeout": "7s", "role": "none", "a.thing": "1", "enable_sort": "off",
		"application_name": "test", "TimeZone": "Asia/Tokyo", "session_replication_role": "origin",
	} {
		var got string
		if err := c.QueryRow(t.Context(), "SHOW "+name).Scan(&got); err != nil || got != want {
			t.Errorf("%s = %q (%v), want %q", name, got, err, want)
		}
	}
	if got := c.PgConn().ParameterStatus("is_superuser"); got != "off" {
		t.Errorf("is_superuser = %q", got)
	}
	for params, want := range map[string]string{
		"timezone=Nowhere":                                `FATAL 22023 invalid value for parameter "TimeZone": "Nowhere"`,
		"unknown_thing=1":                                 `FATAL 42704 unrecognized configuration parameter "unknown_thing"`,
		"options='-c nonsense=1'":                         `FATAL 42704 unrecognized configuration parameter "nonsense"`,
		"options='-c user=postgres'":                      `FATAL 42704 unrecognized configuration parameter "user"`,
		"User=postgres":                                   `FATAL 42704 unrecognized configuration parameter "User"`,
		"options='-c session_replication_role=replica'":   `FATAL 42501 permission denied to set parameter "session_replication_role"`,
		"options='-c wal_level=minimal'":                  `FATAL 55P02 parameter "wal_level" cannot be changed at log-in`,
		"options='-c post-auth-delay=100'":                `FATAL 55P02 parameter "post_auth_delay" cannot be changed at log-in`,
		"Local_Preload_Libraries=x":                       `FATAL 55P02 parameter "local_preload_libraries" cannot be changed at log-in`,
		"options='-c role=postgres'":                      `FATAL 22023 a start-up parameter has an invalid value, or must not be set`,
		"options='-c session_authorization=postgres'":     `FATAL 22023 a start-up parameter has an invalid value, or must not be set`,
		"options='-c transaction_isolation=serializable'": `FATAL 22023 a start-up parameter has an invalid value, or must not be set`,
		"options='-x'":                                    `FATAL 42601 invalid command-line argument for server process: -x`,
		"options='-c work_mem'":                           `FATAL 42601 -c work_mem requires a value`,
	} {
		if got := connectError(t, p.url(params)); got != want {
			t.Errorf("%s: %s, want %s", params, got, want)
		}
	}
}

func TestRequestedSettings(t *testing.T) {
	got, err := wire.RequestedSettings(map[string]string{
		"user": "u", "database": "d", "DateStyle": "ISO", "DP.Error": "5", "options": `-c a=1 -c search_path=a\ b\\c`,
	})
	want := map[string]string{"datestyle": "ISO", "dp.error": "5", "search_path": `a b\c`, "a": "1"}
	if err != nil || !maps.Equal(got, want) {
		t.Error(cmp.Diff(want, got), err)
	}
	for _, params := range []map[string]string{
		{"dp.": "x"}, {"USER": "postgres"}, {"a b": "1"}, {"options": "-c replication=true"}, {"options": "-c"}, {"options": "a=1"},
	} {
		if got, err := wire.RequestedSettings(params); err == nil {
			t.Errorf("%v is taken as %v", params, got)
		}
	}
}

func TestTooManyConnections(t *testing.T) {
	p := start(t, func(c *wire.Config) { c.Limits.Connections = 1 })
	first := p.connect(t)
	if got, want := connectError(t, p.url("")), "FATAL 53300 sorry, too many clients already"; got != want {
		t.Errorf("the second: %s, want %s", got, want)
	}
	first.Close(t.Context())
	await.That(t, "the first session ends", func() bool { return p.Sessions() == 0 })
	p.connect(t)
}

func TestLoginDeadline(t *testing.T) {
	p := start(t, func(c *wire.Config) { c.Limits.LoginTime = 20 * time.Millisecond })
	c := p.dialTCP(t)
	c.Write(startupPacket(3<<16, "user", "ana"))
	if _, err := io.ReadAll(c); err != nil {
		t.Errorf("the connection stays open: %v", err)
	}
}

// authority signs certificates of clients.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pool        *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{key: key, pool: x509.NewCertPool()}
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.pool.AddCert(a.certificate)
	return a
}

// sign makes a client's certificate.
func (a *authority) sign(t *testing.T, name string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
