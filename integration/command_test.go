package integration_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dpproxy/internal/pgtemp"
	"dpproxy/wire"
)

// TestIncidents lets a read fail, and follows the incident through a restart to
// the administrator's clearing it.
func TestIncidents(t *testing.T) {
	s := newSite(t, clinicSchema, clinicPolicy)
	r := s.run(t)
	admin, ana := dial(t, s.data.URL("postgres", pgtemp.Superuser)), dial(t, r.url("ana"))
	must(t, admin, "BEGIN; LOCK TABLE patients IN ACCESS EXCLUSIVE MODE")
	if _, err := ana.Exec(t.Context(), "SELECT count(*) FROM patients"); sqlstate(err) != "PB009" {
		t.Fatalf("a read that meets a lock: %v", err)
	}
	must(t, admin, "ROLLBACK")
	r.stop()

	if out := s.command(t, "incidents", "list", s.policy); !strings.Contains(out, "analyst ana") || !strings.Contains(out, "1 incidents") {
		t.Errorf("list says %s", out)
	}
	r = s.run(t)
	if _, err := dial(t, r.url("ana")).Exec(t.Context(), "SELECT count(*) FROM patients"); sqlstate(err) != "PB011" {
		t.Errorf("a quarantined statement after a restart: %v", err)
	}
	must(t, dial(t, r.url("ana")), "SELECT count(*) FROM visits")
	r.stop()

	s.command(t, "incidents", "clear", s.policy, "--reason", "a lock was held")
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
	shown := regexp.MustCompile("(?m)^    (?:bin/)?(dpproxy|make) ([a-z-]+)")
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
			if out, err := exec.CommandContext(t.Context(), program(t), m[2], "--help").CombinedOutput(); err != nil {
				t.Errorf("%s: dpproxy %s: %v\n%s", doc, m[2], err, out)
			}
		}
	}
}
