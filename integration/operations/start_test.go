package operations_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/await"
	"dpproxy/internal/sitetest"
)

// TestStartWaits starts dpproxy before its databases, as a machine does that comes up, and has it read its policy anew meanwhile.
func TestStartWaits(t *testing.T) {
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy)
	sitetest.Crash(t, s.Data)
	sitetest.Crash(t, s.Mirror)
	out, failed := s.Attempt(t, "run", "--wait", "0s", s.Policy)
	if !failed || !strings.Contains(out, "connecting to the protected database") {
		t.Errorf("without waiting it says %s", out)
	}
	r := s.Launch(t)
	const waits = `msg=waiting for="the protected database" "at most"=1m0s`
	await.That(t, "it waits", func() bool { return strings.Contains(r.Log.String(), waits) })
	if err := r.Cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	sitetest.Restart(t, s.Data)
	sitetest.Restart(t, s.Mirror)
	if r.Serve(); r.Addr == "" {
		t.Fatalf("it says\n%s", r.Log)
	}
	await.That(t, "the policy is read anew", func() bool { return strings.Contains(r.Log.String(), "the policy was reloaded") })
	sitetest.Exec(t, sitetest.Dial(t, r.URL("ana")), sitetest.CountPatients)
	fixesNothing(t, s, r)
}

// fixesNothing starts policies with a lower budget and one more, which never get to serve: they change no budget.
func fixesNothing(t *testing.T, s *sitetest.Site, r *sitetest.Running) {
	t.Helper()
	r.Stop()
	budgets := func() string { return s.Command(t, "budget", "list", "-o", "json", s.Policy) }
	was := budgets()
	held, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	const listen, taken = "listen: 127.0.0.1:0", "address already in use"
	for edited, want := range map[string]string{
		"listen: " + held.Addr().String():                                 taken,
		listen + "\nhealth: " + held.Addr().String():                      taken,
		listen + "\ntls: {cert: " + s.Policy + ", key: " + s.Policy + "}": "tls.cert",
	} {
		v := s.Variant(t, listen, edited, "epsilon: 9000", "epsilon: 8999", "ana: {password", "ana: {budget: {epsilon: 7}, password")
		v.Refuses(t, want, "run", v.Policy)
		if now := budgets(); now != was {
			t.Errorf("%s: a policy that has never served has made the budgets\n%s\nof\n%s", edited, now, was)
		}
	}
	s.Run(t) // it would be refused as a raise
}

// TestStartWithAWrongPassword holds that nobody waits for a password to become right, and that it is said where it comes from.
func TestStartWithAWrongPassword(t *testing.T) {
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy)
	down := sitetest.Dial(t, s.Mirror.URL("postgres", "postgres"))
	hba := filepath.Join(s.Mirror.SocketDir, "data", "pg_hba.conf")
	if err := os.WriteFile(hba, []byte("local all all scram-sha-256\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	sitetest.Exec(t, down, "SELECT pg_reload_conf()")
	await.That(t, "the mirror asks for a password", func() bool {
		conn, err := pgx.Connect(t.Context(), s.Mirror.URL("postgres", "postgres"))
		if err == nil {
			conn.Close(t.Context())
		}
		return err != nil
	})
	s.Refuses(t, "neither DPPROXY_MIRROR_PASSWORD nor mirror_password_file is set", "run", s.Policy)
	t.Setenv("DPPROXY_MIRROR_PASSWORD", "wrong")
	s.Refuses(t, "the password is that of DPPROXY_MIRROR_PASSWORD", "run", s.Policy)
}

// TestDemoKeepsItsPolicy runs a demo twice in a folder, and changes its policy between.
func TestDemoKeepsItsPolicy(t *testing.T) {
	dir, err := os.MkdirTemp("", "dpproxy-demo") // t.TempDir is closed to the account that Postgres runs as
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	play := func() string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), sitetest.Program(t), "demo", "--play", "--small", "--keep", dir).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	play()
	path := filepath.Join(dir, "policy.yaml")
	made, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	kept := strings.Replace(string(made), "defaults: {epsilon: 0.1,", "# mine\ndefaults: {epsilon: 0.12,", 1)
	if err := os.WriteFile(path, []byte(kept), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := play(); !strings.Contains(out, "NOTICE:  count ± 16; cost 2.5 % of ") {
		t.Errorf("the second demo does not go by the policy:\n%s", out)
	}
	if again, err := os.ReadFile(path); err != nil || string(again) != kept {
		t.Errorf("%v; the policy is now\n%s", err, again)
	}
}
