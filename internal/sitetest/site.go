package sitetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/pgtemp"
	"dpproxy/wire"
)

// Edit changes the policy.
func (s *Site) Edit(t *testing.T, before, after string) {
	t.Helper()
	text, err := os.ReadFile(s.Policy)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.Policy, []byte(strings.Replace(string(text), before, after, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// StopReads makes reads wait that are charged.
func StopReads(s *Site) (let func()) {
	s.Gate.Shut()
	return s.Gate.Open
}

// WaitingReads counts the reads that wait.
func WaitingReads(s *Site) int { return s.Gate.Waiting() }

// A Site is a dpproxy installation: two servers, a policy, a ledger.
type Site struct {
	Dir          string
	Data, Mirror *pgtemp.Server
	Policy       string
	Gate         *pgtemp.Gate // between dpproxy and the protected database, if gated
}

// Password is that of every analyst.
const Password = "secret"

// New loads the schema into a protected database and makes the mirror. The
// policy's text is completed with addresses.
func New(t testing.TB, schema, policy string) *Site {
	t.Helper()
	return NewOn(t, StartPostgres(t), policy, func(conn *pgx.Conn) { Exec(t, conn, schema) })
}

// NewOn makes a site with a protected database on a server that runs.
func NewOn(t testing.TB, data *pgtemp.Server, policy string, fill func(*pgx.Conn)) *Site {
	t.Helper()
	s := &Site{Dir: t.TempDir(), Data: data, Mirror: StartMirror(t)}
	s.Policy = filepath.Join(s.Dir, "policy.yaml")
	fill(Dial(t, s.Data.URL("postgres", pgtemp.Superuser)))
	verifier, err := wire.MakeVerifier(Password, 4096)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("listen: 127.0.0.1:0\ndata: %q\nmirror: %q\nledger: {dir: %q}\n",
		s.Data.URL("postgres", pgtemp.Superuser), s.Mirror.URL("postgres", pgtemp.Superuser), filepath.Join(s.Dir, "ledger"))
	text += strings.ReplaceAll(policy, "VERIFIER", verifier)
	if !strings.Contains(policy, "\nlimits:") {
		text += "\nlimits: {reply_grid: 0}\n" // tests ask many small questions, and have no use for waiting
	}
	if !strings.Contains(policy, "\nanswers:") {
		text += "\nanswers: {remember: false}\n" // most tests want noise of its own for each answer
	}
	if err := os.WriteFile(s.Policy, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Command(t, "check", s.Policy)
	s.Command(t, "init", s.Policy)
	s.Command(t, "sync", s.Policy)
	return s
}

// Gated puts a gate before the protected database, for a dpproxy that is not yet started.
func (s *Site) Gated(t testing.TB) *Site {
	t.Helper()
	gate, err := s.Data.Gate(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gate.Close)
	text, err := os.ReadFile(s.Policy)
	if err != nil {
		t.Fatal(err)
	}
	s.Gate = gate
	through := strings.Replace(string(text), s.Data.URL("postgres", pgtemp.Superuser), gate.URL("postgres", pgtemp.Superuser), 1)
	if err := os.WriteFile(s.Policy, []byte(through), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// Variant returns the site with another policy: a list of pairs old, new.
func (s *Site) Variant(t *testing.T, edits ...string) *Site {
	t.Helper()
	text, err := os.ReadFile(s.Policy)
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.NewReplacer(edits...).Replace(string(text))
	if edited == string(text) {
		t.Fatalf("nothing to edit: %q", edits)
	}
	v := *s
	v.Policy = filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(v.Policy, []byte(edited), 0o600); err != nil {
		t.Fatal(err)
	}
	return &v
}
