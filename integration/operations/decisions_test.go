package operations_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"dpproxy/internal/sitetest"
)

// TestDecisionsWhileItRuns has a dpproxy with an embedded ledger take decisions: they hold at once, and also after
// it was killed.
func TestDecisionsWhileItRuns(t *testing.T) {
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy).Gated(t)
	r := s.Run(t)
	ana := sitetest.Dial(t, r.URL("ana"))
	asks := func(want string) {
		t.Helper()
		if _, err := ana.Exec(t.Context(), "SELECT count(*) FROM visits"); sitetest.SQLState(err) != want {
			t.Errorf("a statement: %v, want %q", err, want)
		}
	}
	decide := func(command, scope string, more ...string) []string {
		return append([]string{"budget", command, s.Policy, "--scope", scope, "--reason", "a study", "--who", "carol"}, more...)
	}
	asks("")
	s.Says(t, "unit:patient is frozen", decide("freeze", "unit:patient")...)
	asks("PB001")
	s.Says(t, "unit:patient is charged again", decide("thaw", "unit:patient")...)
	asks("")
	s.Says(t, "unit:patient is limited to", decide("lower", "unit:patient", "--epsilon", "0.001")...)
	asks("PB001")
	s.Says(t, "unit:patient is limited to", decide("raise", "unit:patient", "--epsilon", "9000")...)
	asks("")
	s.Refuses(t, "dpproxy budget list shows the budgets", decide("freeze", "analyst:nobody")...)
	s.Refuses(t, "the running dpproxy refuses: history: unit:patient is not frozen", decide("thaw", "unit:patient")...)
	s.Refuses(t, "must say who made it and why", append(decide("freeze", "unit:patient"), "--reason", "")...)

	// Incidents are cleared beside it too.
	s.Gate.Fail("53200")
	asks("PB009")
	s.Gate.Open()
	asks("PB011")
	s.Says(t, "cleared 1 incidents", "incidents", "clear", s.Policy, "--reason", "memory was added")
	asks("")
	s.Says(t, "incidents", "ledger", "verify", s.Policy)
	alien(t, s)

	// A decision that was acknowledged outlives the process, whose socket is left over.
	s.Says(t, "unit:patient is frozen", decide("freeze", "unit:patient")...)
	sitetest.Signal(t, syscall.SIGKILL, int32(r.Cmd.Process.Pid))
	<-r.Exited
	s.Says(t, "frozen", "budget", "list", s.Policy)
	s.Says(t, "unit:patient is charged again", decide("thaw", "unit:patient")...)
	again := s.Run(t)
	ana = sitetest.Dial(t, again.URL("ana"))
	asks("")
	s.Says(t, "unit:patient is frozen", decide("freeze", "unit:patient")...)
	asks("PB001")
	again.Stop()
	if _, err := os.Stat(socketOf(s)); err == nil {
		t.Error("the socket is there when dpproxy has ended")
	}
}

func socketOf(s *sitetest.Site) string { return filepath.Join(s.Dir, "ledger", "decisions.sock") }

// alien looks at the rights of the socket, and has another account try to decide, even where these were widened.
func alien(t *testing.T, s *sitetest.Site) {
	t.Helper()
	info, err := os.Stat(socketOf(s))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the socket: %v, %v", info, err)
	}
	if os.Geteuid() != 0 {
		return // no other account can be had
	}
	for path, mode := range map[string]os.FileMode{socketOf(s): 0o666, filepath.Dir(socketOf(s)): 0o755, s.Policy: 0o644} {
		before, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(path, before.Mode().Perm())
	}
	for dir := s.Dir; dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(s.Dir, "alien")
	text, err := os.ReadFile(sitetest.Program(t))
	if err == nil {
		err = os.WriteFile(program, text, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	const nobody = 65534
	cmd := exec.CommandContext(t.Context(), program, "budget", "freeze", s.Policy, "--scope", "unit:patient", "--reason", "x", "--who", "x")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "the account 65534 may not decide about this ledger") {
		t.Errorf("another account decides: %v, %s", err, out)
	}
}
