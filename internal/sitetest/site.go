package sitetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"dpproxy/internal/await"
	"dpproxy/internal/pgtemp"
	"dpproxy/wire"
)

// A Site is a dpproxy installation: two servers, a policy, a ledger.
type Site struct {
	Dir          string
	Data, Mirror *pgtemp.Server
	Database     string       // on both servers
	Policy       string       // the file
	Gate         *pgtemp.Gate // between dpproxy and the protected database, if gated
	Authority    *Authority   // of dpproxy's certificate, if it has one
}

// Password is that of every analyst.
const Password = "secret"

// Options of a site.
type Options struct {
	// Data is a server that runs, with rows perhaps, for the protected database; nil starts one.
	Data *pgtemp.Server
	// Database is made on both servers; empty: it is postgres, which every server has.
	Database string
	// Schema is run in the protected database, by its superuser.
	Schema string
	// Policy lacks the addresses. VERIFIER in it stands for the verifier of [Password].
	Policy string
	// MirrorSettings are passed to the mirror's server, as in [pgtemp.Options].
	MirrorSettings []string
	// TCP has the servers that are started listen on ports of 127.0.0.1 as well.
	TCP bool
	// TLS has dpproxy show a certificate of the site's authority.
	TLS bool
}

// New makes a site with a schema and a policy, and nothing else that is special.
func New(t testing.TB, schema, policy string) *Site {
	t.Helper()
	return Make(t, Options{Schema: schema, Policy: policy})
}

// checked has the schemas and policies of this process that dpproxy check was asked about: it would find the same again.
var checked sync.Map

// Make makes a site that is ready to run: its ledger is made, and its mirror synchronised.
func Make(t testing.TB, o Options) *Site {
	t.Helper()
	server := pgtemp.Options{}
	if o.TCP {
		server.Port = -1
	}
	s := &Site{Dir: t.TempDir(), Database: o.Database, Data: o.Data}
	schema := o.Schema
	if s.Data == nil {
		data := server
		if rest, begins := strings.CutPrefix(schema, ClinicSchema); begins && o.Database == "" {
			data.From, schema = clinicFiles(t), rest
		}
		s.Data = StartServer(t, data)
	}
	server.Mirror, server.Settings = true, o.MirrorSettings
	s.Mirror = StartServer(t, server)
	if s.Database == "" {
		s.Database = "postgres"
	} else {
		for _, server := range []*pgtemp.Server{s.Data, s.Mirror} {
			Exec(t, Dial(t, server.URL("postgres", pgtemp.Superuser)), "CREATE DATABASE "+s.Database)
		}
	}
	if schema != "" {
		Exec(t, Dial(t, s.Data.URL(s.Database, pgtemp.Superuser)), schema)
	}
	if o.TLS {
		s.Authority = NewAuthority(t)
	}
	s.Policy = filepath.Join(s.Dir, "policy.yaml")
	s.write(t, s.complete(t, o.Policy))
	if _, known := checked.LoadOrStore([2]string{o.Schema, o.Policy}, true); !known || o.Data != nil {
		s.Command(t, "check", s.Policy)
	}
	for _, command := range []string{"init", "sync"} {
		s.Command(t, command, s.Policy)
	}
	return s
}

// complete returns the text of a policy with the addresses of the site.
func (s *Site) complete(t testing.TB, policy string) string {
	t.Helper()
	verifier, err := wire.MakeVerifier(Password, 4096)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("listen: 127.0.0.1:0\ndata: %q\nmirror: %q\nledger: {dir: %q}\n",
		s.Data.URL(s.Database, pgtemp.Superuser), s.Mirror.URL(s.Database, pgtemp.Superuser), filepath.Join(s.Dir, "ledger"))
	if s.Authority != nil {
		cert, key := s.Authority.Server(t)
		text += fmt.Sprintf("tls: {cert: %q, key: %q}\n", cert, key)
	}
	text += strings.ReplaceAll(policy, "VERIFIER", verifier)
	if !strings.Contains(policy, "\nlimits:") {
		text += "\nlimits: {reply_grid: 0}\n" // tests ask many small questions, and have no use for waiting
	}
	if !strings.Contains(policy, "\nanswers:") {
		text += "\nanswers: {remember: false}\n" // most tests want noise of its own for each answer
	}
	return text
}

func (s *Site) read(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(s.Policy)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (s *Site) write(t testing.TB, policy string) {
	t.Helper()
	if err := os.WriteFile(s.Policy, []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Gated puts a gate before the protected database, for a dpproxy that is not yet started.
func (s *Site) Gated(t testing.TB) *Site {
	t.Helper()
	gate, err := s.Data.Gate(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gate.Close)
	s.Gate = gate
	s.Edit(t, s.Data.URL(s.Database, pgtemp.Superuser), gate.URL(s.Database, pgtemp.Superuser))
	return s
}

// StopReads makes reads wait once they are charged, until let is called.
func (s *Site) StopReads() (let func()) {
	s.Gate.Shut()
	return s.Gate.Open
}

// WaitingReads counts the reads that wait at the gate.
func (s *Site) WaitingReads() int { return s.Gate.Waiting() }

// AwaitReads waits until n reads wait at the gate.
func (s *Site) AwaitReads(t *testing.T, n int) {
	t.Helper()
	await.That(t, fmt.Sprintf("%d reads wait", n), func() bool { return s.WaitingReads() == n })
}

// Edit changes the policy where a text stands first.
func (s *Site) Edit(t testing.TB, before, after string) {
	t.Helper()
	s.write(t, strings.Replace(s.read(t), before, after, 1))
}

// Variant returns the site with another policy: a list of pairs old, new.
func (s *Site) Variant(t testing.TB, edits ...string) *Site {
	t.Helper()
	text := s.read(t)
	edited := strings.NewReplacer(edits...).Replace(text)
	if edited == text {
		t.Fatalf("nothing to edit: %q", edits)
	}
	v := *s
	v.Policy = filepath.Join(t.TempDir(), "policy.yaml")
	v.write(t, edited)
	return &v
}
