package sitetest

import (
	"path/filepath"
	"strings"
	"testing"

	"dpproxy/internal/redistemp"
)

// OnRedis returns another proxy of the site: the same databases and the same secret,
// a journal of its own, and the ledger "clinic" in Redis.
func (s *Site) OnRedis(t testing.TB, r *redistemp.Server, user string, more ...string) *Site {
	t.Helper()
	var lines []string
	dir := t.TempDir()
	for line := range strings.Lines(s.read(t)) {
		if strings.HasPrefix(line, "ledger:") {
			line = "ledger: {" + strings.Join(append([]string{
				"dir: " + filepath.Join(dir, "journal"), `redis: "` + r.URL(user) + `"`, "name: clinic",
			}, more...), ", ") + "}\nsecret_file: " + filepath.Join(s.Dir, "ledger", "secret") + "\n"
		}
		if !strings.HasPrefix(line, "secret_file:") {
			lines = append(lines, line)
		}
	}
	v := *s
	v.Policy = filepath.Join(dir, "policy.yaml")
	v.write(t, strings.Join(lines, ""))
	return &v
}

// InitAgain makes the ledger of a site whose secret another one had: no ledger of that secret may run meanwhile.
func (s *Site) InitAgain(t testing.TB) {
	t.Helper()
	s.Command(t, "init", s.Policy, "--again", "--reason", "the test goes on with another ledger")
}
