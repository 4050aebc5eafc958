package clients_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dpproxy/internal/needs"
	"dpproxy/internal/sitetest"
)

// suiteOptions is a database with no more than a suite asks for.
func suiteOptions(database, analyst string) sitetest.Options {
	return sitetest.Options{
		Database: database,
		Schema:   "CREATE TABLE people (id int PRIMARY KEY)",
		Policy: `privacy_unit: {name: person, budget: {epsilon: 1}}
tables: {people: {unit: id}}
analysts: {` + analyst + `: {password: "VERIFIER", tables: [people]}}`,
	}
}

// An outcome has the tests and subtests of a suite.
type outcome struct{ passed, failed, skipped map[string]bool }

// runSuite runs the packages' tests as they are, and returns the fate of each test
// that is not a subtest, and all output.
func runSuite(t *testing.T, env []string, packages ...string) (outcome, map[string]string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"test", "-json", "-count=1", "-p=1", "-timeout=10m"}, packages...)...)
	cmd.Dir = "suites"
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	out, _ := cmd.Output() // tests that fail are counted
	o := outcome{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	printed := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var e struct{ Action, Package, Test, Output string }
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		name, _, sub := strings.Cut(e.Test, "/")
		key := strings.TrimPrefix(e.Package, "github.com/") + " " + name
		printed[key] += e.Output
		if e.Test == "" || sub {
			continue
		}
		switch e.Action {
		case "pass":
			o.passed[key] = true
		case "fail":
			o.failed[key] = true
		case "skip":
			o.skipped[key] = true
		}
	}
	return o, printed
}

// readSkips reads the tests that are known to fail: "package test: reason" per line.
func readSkips(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	skips := map[string]string{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		test, reason, ok := strings.Cut(line, ": ")
		if !ok || reason == "" {
			t.Fatalf("%s: %q has no reason", file, line)
		}
		skips[test] = reason
	}
	return skips
}

var ratchetLine = regexp.MustCompile(`(?m)^passed (\d+)$`)

// checkSuite compares an outcome with the committed list and ratchet. A test that
// fails must be listed with a reason; one that is listed must fail; and the number
// that passes may only grow.
func checkSuite(t *testing.T, name string, o outcome, printed map[string]string) {
	t.Helper()
	if dir := os.Getenv("DPPROXY_SUITE_LOG"); dir != "" {
		for key := range o.failed {
			file := filepath.Join(dir, strings.NewReplacer("/", "_", " ", "_").Replace(key)+".log")
			if err := os.WriteFile(file, []byte(printed[key]), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	skips := readSkips(t, filepath.Join("suites", name+".skip"))
	for _, key := range slices.Sorted(maps.Keys(o.failed)) {
		if skips[key] == "" {
			t.Errorf("%s fails:\n%s", key, printed[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(skips)) {
		if o.passed[key] {
			t.Errorf("%s passes now: take it out of %s.skip", key, name)
		}
	}
	file := filepath.Join("suites", name+".ratchet")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m := ratchetLine.FindSubmatch(text)
	if m == nil {
		t.Fatalf("%s has no line \"passed N\"", file)
	}
	least, _ := strconv.Atoi(string(m[1]))
	summary := fmt.Sprintf("%s: %d passed, %d failed, %d skipped by the suite", name, len(o.passed), len(o.failed), len(o.skipped))
	t.Log(summary)
	switch {
	case len(o.passed) < least:
		t.Errorf("%s; %d passed before", summary, least)
	case len(o.passed) > least:
		t.Errorf("%s; write \"passed %d\" into %s", summary, len(o.passed), file)
	}
}

// pgxObjects makes the objects of pgx's setup script, apart from its superusers.
const pgxObjects = `CREATE EXTENSION hstore; CREATE EXTENSION ltree; CREATE DOMAIN uint64 AS numeric(20,0);`

// TestPgxSuite runs the tests of pgx 5 with dpproxy in the place of Postgres.
func TestPgxSuite(t *testing.T) {
	needs.Asked(t, *long, "clients")
	s := newSite(t, suiteOptions("pgx_test", "ana"), pgxObjects)
	host, port := s.hostPort(t)
	env := []string{fmt.Sprintf("PGX_TEST_DATABASE=host=%s port=%s user=ana password=%s dbname=pgx_test", host, port, sitetest.Password)}
	const pgxModule = "github.com/jackc/pgx/v5"
	o, printed := runSuite(t, env, pgxModule, pgxModule+"/pgconn", pgxModule+"/pgxpool", pgxModule+"/stdlib",
		pgxModule+"/pgtype", pgxModule+"/pgproto3")
	checkSuite(t, "pgx", o, printed)
}

// TestPqSuite runs the tests of lib/pq with dpproxy in the place of Postgres.
func TestPqSuite(t *testing.T) {
	needs.Asked(t, *long, "clients")
	s := newSite(t, suiteOptions("pqgo", "pqgo"), "CREATE EXTENSION hstore")
	_, port := s.hostPort(t)
	passwords := filepath.Join(s.Dir, "pgpass") // tests compare the parameters of the environment with theirs
	if err := os.WriteFile(passwords, []byte("*:*:*:pqgo:"+sitetest.Password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"PGHOST=localhost", "PGPORT=" + port, "PGDATABASE=pqgo", "PGUSER=pqgo", "PGPASSFILE=" + passwords, "PGSSLMODE=disable"}
	o, printed := runSuite(t, env, "github.com/lib/pq")
	checkSuite(t, "pq", o, printed)
}
