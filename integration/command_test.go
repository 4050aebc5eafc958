package integration_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dpproxy/internal/pgtemp"
	"dpproxy/wire"
)

// TestIncidents lets a read fail, and follows the incident through a restart to
// the administrator's clearing it.
func TestIncidents(t *testing.T) {
	s := newSite(t, clinicSchema, clinicPolicy).gated(t)
	shared := s.onRedis(t, startRedis(t, durable...), "")
	s.command(t, "init", shared.policy)
	for name, s := range map[string]*site{"embedded": s, "Redis": shared} {
		t.Run(name, func(t *testing.T) { testIncidents(t, s) })
	}
}

func testIncidents(t *testing.T, s *site) {
	r := s.run(t)
	ana := dial(t, r.url("ana"))
	s.gate.Break()
	if _, err := ana.Exec(t.Context(), "SELECT count(*) FROM patients"); sqlstate(err) != "PB009" {
		t.Fatalf("a read whose session ends: %v", err)
	}
	s.gate.Open()
	r.stop()

	var listed []struct {
		Charge         uint64
		Analyst, Shape string
	}
	if s.json(t, &listed, "incidents", "list", s.policy); len(listed) != 1 || listed[0].Analyst != "ana" || listed[0].Charge == 0 || listed[0].Shape == "" {
		t.Errorf("list says %+v", listed)
	}
	if out := s.command(t, "incidents", "list", s.policy); !strings.HasPrefix(out, "CHARGE  ANALYST  SHAPE\n") || strings.Count(out, "\n") != 2 {
		t.Errorf("list says %s", out)
	}
	r = s.run(t)
	if _, err := dial(t, r.url("ana")).Exec(t.Context(), "SELECT count(*) FROM patients"); sqlstate(err) != "PB011" {
		t.Errorf("a quarantined statement after a restart: %v", err)
	}
	must(t, dial(t, r.url("ana")), "SELECT count(*) FROM visits")
	r.stop()

	if out := s.command(t, "incidents", "clear", s.policy, "--reason", "the network failed"); !strings.HasPrefix(out, "cleared 1 incidents\n") {
		t.Errorf("clear says %s", out)
	}
	r = s.run(t)
	must(t, dial(t, r.url("ana")), "SELECT count(*) FROM patients")
}

// TestVerifier makes a verifier that the wire accepts.
func TestVerifier(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), program(t), "verifier")
	cmd.Stdin = strings.NewReader("correct horse\n")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := wire.CheckVerifier(strings.TrimSpace(string(out))); err != nil {
		t.Errorf("%s: %v", out, err)
	}
}

// TestDocumentedCommands checks that every dpproxy command and make target that
// the documents show exists; the commands themselves run in the other tests.
func TestDocumentedCommands(t *testing.T) {
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	docs, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile(`(?m)^    (?:bin/)?(dpproxy|make) ([a-z-]+)(?: ([a-z]+)\b)?`)
	grouped := []string{"budget", "ledger", "incidents"}
	for _, doc := range append(docs, "../README.md", "../CONTRIBUTING.md") {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range shown.FindAllStringSubmatch(string(text), -1) {
			if m[1] == "make" {
				if !strings.Contains(string(makefile), "\n"+m[2]+":") {
					t.Errorf("%s: make %s does not exist", doc, m[2])
				}
				continue
			}
			args := []string{m[2], "--help"}
			if slices.Contains(grouped, m[2]) {
				args = []string{m[2], m[3], "--help"}
			}
			if out, err := exec.CommandContext(t.Context(), program(t), args...).CombinedOutput(); err != nil {
				t.Errorf("%s: dpproxy %s: %v\n%s", doc, args, err, out)
			}
		}
	}
}

// TestCheck tells a policy that fits from one that does not, and both from one
// whose database cannot be reached.
func TestCheck(t *testing.T) {
	s := newSite(t, clinicSchema, clinicPolicy)
	text, err := os.ReadFile(s.policy)
	if err != nil {
		t.Fatal(err)
	}
	check := func(policy string, args ...string) (string, error) {
		path := filepath.Join(t.TempDir(), "policy.yaml")
		if err := os.WriteFile(path, []byte(policy), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), program(t), append([]string{"check", path}, args...)...).CombinedOutput()
		return string(out), err
	}
	if out, err := check(string(text)); err != nil || !strings.Contains(out, "it fits the database") {
		t.Errorf("a good policy: %v\n%s", err, out)
	}
	for what, c := range map[string]struct{ old, new, want string }{
		"an unknown table":  {"  hospitals:", "  clinics:", "does not exist"},
		"an unknown column": {"sex: {values", "gender: {values", `no such column`},
		"an unknown key":    {"max_rows", "max_row", "max_row"},
		"a wrong type":      {"cost: {bounds: [0, 100]}", "cost: {bounds: [2020-01-01, 2020-02-01]}", "dates as bounds"},
		"no path":           {"to: visits.id", "to: hospitals.id", "public"},
	} {
		out, err := check(strings.Replace(string(text), c.old, c.new, 1))
		if err == nil || !strings.Contains(out, c.want) || !regexp.MustCompile(`policy\.yaml:\d+`).MatchString(out) {
			t.Errorf("%s: %v\n%s", what, err, out)
		}
	}
	must(t, dial(t, s.data.URL("postgres", pgtemp.Superuser)), "CREATE VIEW ill AS SELECT id FROM patients")
	public := strings.Replace(string(text), "  hospitals:", "  ill: {public: true}\n  hospitals:", 1)
	out, err := check(public)
	if err == nil || !strings.Contains(out, "public.ill references, inherits from or is a view over the protected public.patients") {
		t.Errorf("a public view of protected rows: %v\n%s", err, out)
	}
	if err := os.WriteFile(s.policy, []byte(public), 0o600); err != nil {
		t.Fatal(err)
	}
	refused, err := exec.CommandContext(t.Context(), program(t), "sync", s.policy).CombinedOutput()
	if err == nil || !strings.HasSuffix(out, "\n"+string(refused)) {
		t.Errorf("sync: %v\n%s\ncheck:\n%s", err, refused, out)
	}
	s.data.Crash()
	if out, err := check(string(text)); err != nil || !strings.Contains(out, "NOT checked against the database") {
		t.Errorf("without a database: %v\n%s", err, out)
	}
	if out, err := check(string(text), "--online"); err == nil {
		t.Errorf("--online without a database: %s", out)
	}
}
