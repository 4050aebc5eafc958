package operations_test

import (
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"dpproxy/internal/await"
	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// authSchema has the objects that an administrator makes for auth_query: a role that can call one
// function, and nothing else.
const authSchema = sitetest.ClinicSchema + `
CREATE ROLE ana LOGIN PASSWORD 'secret'; CREATE ROLE carol LOGIN PASSWORD 'secret'; CREATE ROLE dpproxy_auth LOGIN PASSWORD 'secret';
CREATE TABLE notes (patient_id int NOT NULL, note text NOT NULL) PARTITION BY LIST (patient_id);
CREATE TABLE notes_old PARTITION OF notes DEFAULT;
CREATE SCHEMA auth;
CREATE TABLE auth.analysts (role name PRIMARY KEY);
INSERT INTO auth.analysts VALUES ('ana'), ('carol'), ('dpproxy_auth');
CREATE FUNCTION auth.verifier(name) RETURNS TABLE (verifier text, valid_until timestamptz)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog
	AS 'SELECT passwd, valuntil FROM pg_shadow JOIN auth.analysts ON role = usename WHERE usename = $1';
REVOKE ALL ON FUNCTION auth.verifier FROM PUBLIC;
GRANT USAGE ON SCHEMA auth TO dpproxy_auth;
GRANT EXECUTE ON FUNCTION auth.verifier TO dpproxy_auth;`

// newAuthSite has ana, whom the query finds, bob, whose verifier is in the policy, and eve,
// who has no role. Carol has a role, and is not in the policy.
func newAuthSite(t *testing.T) *sitetest.Site {
	t.Helper()
	data := sitetest.StartPostgres(t)
	policy := strings.NewReplacer(`{password: "VERIFIER", `, "{",
		"  hospitals: {public: true}\n", "  hospitals: {public: true}\n  notes: {unit: patient_id, max_rows: 1}\n",
	).Replace(sitetest.ClinicPolicy) + `  bob: {password: "VERIFIER"}
  eve: {tables: [patients]}
health: 127.0.0.1:0
limits: {failed_logins: 1000, reply_grid: 0}
auth_query: {connection: "` + data.URL("postgres", "dpproxy_auth") + `", query: "SELECT * FROM auth.verifier($1)"}
`
	return sitetest.Make(t, sitetest.Options{Data: data, Schema: authSchema, Policy: policy})
}

// TestAuthQuery logs in with passwords that the protected database knows.
func TestAuthQuery(t *testing.T) {
	t.Parallel()
	s := newAuthSite(t)
	out := s.Command(t, "check", s.Policy)
	for _, want := range []string{
		"auth_query has verifiers for 1 of 2 analysts", "eve cannot log in with a password: the query returns 0 rows\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	r := s.Run(t)
	if !strings.Contains(r.Log.String(), `cannot log in with a password" user=eve`) {
		t.Errorf("the log reads\n%s", r.Log)
	}
	if _, text := r.Page(t, "/readyz"); !strings.HasSuffix(text, "\nauth_query ok\n") {
		t.Errorf("it is ready by %q", text)
	}
	ana := sitetest.Dial(t, r.URL("ana"))
	sitetest.Exec(t, ana, sitetest.CountPatients)
	checkLogin(t, r, "ana", "wrong", denied("ana"))
	checkLogin(t, r, "bob", "secret", "")
	checkLogin(t, r, "bob", "wrong", denied("bob"))
	for _, user := range []string{"eve", "carol", "dpproxy_auth", "nobody", "n\xff\xfe", "' OR true --"} {
		checkLogin(t, r, user, "secret", denied(user))
	}
	for _, user := range []string{"ana", "bob", "eve", "carol", "nobody"} {
		first, again := challenge(t, r, user), challenge(t, r, user)
		if first != again || len(first) != len(challenge(t, r, "ana")) || !strings.HasSuffix(first, ",i=4096") {
			t.Errorf("%s is shown %s, then %s", user, first, again)
		}
	}
	t.Run("changes", func(t *testing.T) { authQueryChanges(t, s, r) })
	sitetest.Exec(t, ana, sitetest.CountPatients) // who has logged in goes on, as in Postgres
	if log := r.Log.String(); strings.Contains(log, "SCRAM-SHA-256$") || strings.Contains(log, "secret") ||
		strings.Contains(log, "changed") {
		t.Errorf("the log tells secrets:\n%s", log)
	}
	t.Run("outage", func(t *testing.T) { authQueryOutage(t, s, r) })
}

// authQueryChanges changes a role, which holds from the next log-in on.
func authQueryChanges(t *testing.T, s *sitetest.Site, r *sitetest.Running) {
	admin := sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser))
	for _, c := range []struct{ change, password, want string }{
		{"ALTER ROLE ana PASSWORD 'changed'", "secret", denied("ana")},
		{"", "changed", ""},
		{"ALTER ROLE ana VALID UNTIL '2001-01-01'", "changed", denied("ana")},
		{"ALTER ROLE ana VALID UNTIL 'infinity'", "changed", ""},
		{"ALTER ROLE ana PASSWORD 'md5aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'", "changed", denied("ana")},
		{"ALTER ROLE ana PASSWORD NULL", "changed", denied("ana")},
		{"ALTER ROLE ana PASSWORD 'secret'", "secret", ""},
		{"DROP ROLE ana", "secret", denied("ana")},
		{"CREATE ROLE ana LOGIN PASSWORD 'secret'", "secret", ""},
	} {
		if c.change != "" {
			sitetest.Exec(t, admin, c.change)
		}
		checkLogin(t, r, "ana", c.password, c.want)
	}
}

// authQueryOutage takes the database away: it does not answer, then it is down. Everybody is
// told the same.
func authQueryOutage(t *testing.T, s *sitetest.Site, r *sitetest.Running) {
	admin := sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser))
	const unavailable = "FATAL 57P03 passwords cannot be checked now"
	users := []string{"ana", "bob", "eve", "nobody"}
	sitetest.Exec(t, admin, "BEGIN; LOCK TABLE auth.analysts")
	t.Run("locked", func(t *testing.T) {
		for _, user := range users {
			t.Run(user, func(t *testing.T) {
				t.Parallel()
				checkLogin(t, r, user, "secret", unavailable)
			})
		}
	})
	sitetest.Exec(t, admin, "ROLLBACK")
	checkLogin(t, r, "ana", "secret", "")
	sitetest.Crash(t, s.Data)
	for _, user := range users {
		checkLogin(t, r, user, "secret", unavailable)
	}
	s.Data = sitetest.Restart(t, s.Data)
	checkLogin(t, r, "ana", "secret", "")
	checkLogin(t, r, "nobody", "secret", denied("nobody"))
}

func checkLogin(t *testing.T, r *sitetest.Running, user, password, want string) {
	t.Helper()
	if got := login(t, r, user, password); got != want {
		t.Errorf("%s with %q: %s, want %s", user, password, got, want)
	}
}

// login returns the error of a log-in, if it fails.
func login(t *testing.T, r *sitetest.Running, user, password string) string {
	t.Helper()
	cfg, err := pgx.ParseConfig(r.URL("nobody"))
	if err != nil {
		t.Fatal(err)
	}
	cfg.User, cfg.Password = user, password
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err == nil {
		conn.Close(t.Context())
		return ""
	}
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		return refused.Severity + " " + refused.Code + " " + refused.Message
	}
	return err.Error()
}

func denied(user string) string {
	return "FATAL 28P01 password authentication failed for user " + strconv.Quote(user)
}

// challenge returns the salt and the iterations that a user is shown.
func challenge(t *testing.T, r *sitetest.Running, user string) string {
	t.Helper()
	conn, err := net.Dial("tcp", r.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	f := pgproto3.NewFrontend(conn, conn)
	f.Send(&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": user}})
	f.Send(&pgproto3.SASLInitialResponse{AuthMechanism: "SCRAM-SHA-256", Data: []byte("n,,n=,r=abcdefghijklmnopqrstuvwx")})
	if err := f.Flush(); err != nil {
		t.Fatal(err)
	}
	for {
		m, err := f.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := m.(*pgproto3.AuthenticationSASLContinue); ok {
			_, shown, _ := strings.Cut(string(c.Data), ",")
			return shown
		}
	}
}

// TestAuthQueryPolicies checks queries, with dpproxy check and by starting.
func TestAuthQueryPolicies(t *testing.T) {
	t.Parallel()
	s := newAuthSite(t)
	for query, want := range map[string]string{
		"SELECT verifier FROM auth.verifier('ana')":                              "takes the parameter $1",
		"SELECT verifier FROM auth.verifier($1) WHERE $2 = ''":                   "takes the parameter $1",
		"SELECT * FROM auth.verifier($1); SELECT 1":                              "one SELECT",
		"DELETE FROM auth.analysts WHERE role = $1 RETURNING role":               "one SELECT",
		"SELECT name FROM patients WHERE name = $1":                              "must not read patients, which is protected",
		"SELECT v.verifier FROM auth.verifier($1) v, public.visits":              "must not read visits, which is protected",
		"SELECT verifier FROM auth.verifier($1) WHERE EXISTS (SELECT FROM labs)": "must not read labs, which is protected",
		"SELECT note FROM notes_old WHERE note = $1": "must not read notes_old, " +
			"which has rows of a protected table",
		"SELECT passwd FROM pg_shadow WHERE usename = $1":                 "passwords that have expired would log in",
		"SELECT rolpassword FROM pg_catalog.pg_authid WHERE rolname = $1": "passwords that have expired would log in",
		"SELECT nothing FROM auth.verifier($1)": "Postgres refuses the query: " +
			"column nothing does not exist (42703)",
		"SELECT valid_until FROM auth.verifier($1)": "the first column must be the verifier",
	} {
		v := s.Variant(t, "SELECT * FROM auth.verifier($1)", query)
		if out, failed := v.Attempt(t, "check", v.Policy); !failed || !strings.Contains(out, "auth_query.query: ") ||
			!strings.Contains(strings.ReplaceAll(out, `"`, ""), want) {
			t.Errorf("%s is checked: %s, want %s", query, out, want)
		}
		if r := v.Start(t); r.Addr != "" {
			t.Errorf("%s: dpproxy serves", query)
		}
	}
	forbidden := s.Variant(t, `, query: "SELECT * FROM auth.verifier($1)"`, "")
	if out, failed := forbidden.Attempt(t, "check", forbidden.Policy); !failed ||
		!strings.Contains(out, "auth_query.query: Postgres refused the query with SQLSTATE 42501\n") {
		t.Errorf("without the right to read pg_shadow: %s", out)
	}
	down := s.Variant(t, "user=dpproxy_auth", "user=dpproxy_auth port=1")
	if out, failed := down.Attempt(t, "check", down.Policy); !failed || !strings.Contains(out, "connecting for auth_query") {
		t.Errorf("without a database: %s", out)
	}
	s.Command(t, "check", "--offline", down.Policy)
}

// TestAuthQueryReload takes analysts out of the policy, and shares a connection.
func TestAuthQueryReload(t *testing.T) {
	t.Parallel()
	s := newAuthSite(t)
	shared := s.Variant(t, s.Data.URL("postgres", "dpproxy_auth"), "data", `, query: "SELECT * FROM auth.verifier($1)"`, "")
	r := shared.Run(t)
	ana := sitetest.Dial(t, r.URL("ana")) // by the query that is the default
	sitetest.Exec(t, ana, sitetest.CountPatients)
	sitetest.Exec(t, sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser)), "CREATE ROLE eve LOGIN PASSWORD 'secret'")
	sitetest.Exec(t, sitetest.Dial(t, r.URL("eve")), "SELECT 1")
	edit := func(old, with string) {
		t.Helper()
		text, err := os.ReadFile(shared.Variant(t, old, with).Policy)
		if err == nil {
			err = os.WriteFile(shared.Policy, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	edit(`{connection: "data"}`, `{connection: mirror, query: "SELECT 'x' WHERE $1 = ''"}`)
	r.HangUp(t, "the policy was reloaded")
	checkLogin(t, r, "eve", sitetest.Password, denied("eve"))
	sitetest.Exec(t, ana, "SELECT 1")
	edit(`{connection: mirror, query: "SELECT 'x' WHERE $1 = ''"}`, "{connection: data}")
	edit("  ana: {", "  dora: {")
	r.HangUp(t, "the policy was reloaded")
	await.That(t, "ana is disconnected", func() bool { _, err := ana.Exec(t.Context(), "SELECT 1"); return err != nil })
	checkLogin(t, r, "ana", sitetest.Password, denied("ana"))
	sitetest.Exec(t, sitetest.Dial(t, r.URL("eve")), "SELECT 1")
}
