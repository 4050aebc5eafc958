package operations_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dpproxy/internal/await"
	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// university is a folder with a database that was not made for dpproxy: capitals, uuids, keys of several columns,
// partitions, views, documents.
const university = "testdata/university/"

// startUniversity starts a server with the schema of the university, and returns its address.
func startUniversity(t *testing.T) (url string) {
	t.Helper()
	schema, err := os.ReadFile(university + "schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	server := sitetest.StartServer(t, pgtemp.Options{})
	url = server.URL("postgres", pgtemp.Superuser)
	prepare(t, url, string(schema))
	return url
}

// prepare runs statements in a session of their own, whose statistics are complete when it has ended.
func prepare(t *testing.T, url, sql string) {
	t.Helper()
	conn := sitetest.Dial(t, url)
	sitetest.Exec(t, conn, sql)
	if err := conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// suggested returns the policy that dpproxy suggest prints, without the address of the server.
func suggested(t *testing.T, url string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), sitetest.Program(t), append([]string{"suggest", url, "--yes"}, args...)...)
	var failure strings.Builder
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, failure.String())
	}
	before, rest, _ := strings.Cut(string(out), "\ndata: ")
	_, after, found := strings.Cut(rest, "\n")
	if !found || strings.Contains(string(out), "password=") {
		t.Fatalf("it is no policy:\n%s", out)
	}
	return before + "\ndata: postgres://reader@db/university\n" + after
}

// TestSuggest makes a policy from a catalogue alone: it is the one of the folder, whatever rows there are, none
// of which it reads.
func TestSuggest(t *testing.T) {
	url := startUniversity(t)
	golden := university + "policy.yaml"
	got := suggested(t, url)
	if sitetest.Rewriting() {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	prepare(t, url, `INSERT INTO "Departments" VALUES (1, 'Logic', 'Arts'); INSERT INTO "Students" (id, "FamilyName", born, `+
		`degree, department) SELECT gen_random_uuid(), 'x', '2000-01-01', 'master', 1 FROM generate_series(1, 1000); ANALYZE`)
	conn := sitetest.Dial(t, url)
	scans := func() string {
		await.That(t, "nobody else is connected", func() bool {
			return sitetest.Rows(t, conn, "SELECT count(*)::text FROM pg_stat_activity WHERE backend_type = 'client backend'") == "1"
		})
		return sitetest.Rows(t, conn, "SELECT sum(seq_scan)::text, sum(idx_scan)::text FROM pg_stat_user_tables")
	}
	before := scans()
	if d := cmp.Diff(string(want), suggested(t, url)); d != "" {
		t.Errorf("rows change it: -want +got:\n%s", d)
	}
	if after := scans(); after != before {
		t.Errorf("tables were scanned: %s, before %s", after, before)
	}
}

// TestSuggestFits checks policies of several choices.
func TestSuggestFits(t *testing.T) {
	url := startUniversity(t)
	s := &sitetest.Site{}
	for n, args := range [][]string{
		{},
		{"--public", "courses", "--public", "Departments"},
		{"--unit", "messages"},
	} {
		path := filepath.Join(t.TempDir(), "policy.yaml")
		s.Command(t, append([]string{"suggest", url, "--yes", "-o", path}, args...)...)
		if out := s.Command(t, "check", path, "--online"); !strings.Contains(out, "it fits the database") {
			t.Errorf("%d: %s", n, out)
		}
		s.Refuses(t, "exists", "suggest", url, "--yes", "-o", path)
	}
	s.Refuses(t, "there is no table public.nothing", "suggest", url, "--unit", "nothing")
	s.Refuses(t, "belong together", "suggest", url, "--analyst", "ana")
}

// TestSuggestAsks holds the conversation at a terminal.
func TestSuggestAsks(t *testing.T) {
	url := startUniversity(t)
	path := filepath.Join(t.TempDir(), "policy.yaml")
	answers := []string{
		"", "", // the unit
		"sender", // whose messages are
		"y", "n", // Departments, courses
		"", "20", "auto", "", "", // rows
		"0, 100", ".", // bounds
		"3",
	}
	cmd := exec.CommandContext(t.Context(), "script", "-qec", sitetest.Program(t)+" suggest '"+url+"' -o "+path, "/dev/null")
	cmd.Stdin = strings.NewReader(strings.Join(answers, "\n") + "\n")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"1. Students: ", "-> answers hardly change", "those behind receiver are not protected", "-> its rows are copied",
		"-> courses does not exist for analysts", "one student adds at most 20 rows; error at 95 %: ± ",
		"sum(commute_km) at epsilon 0.1: ",
		"-> about ", "protected tables, 1 public",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	policy, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"  messages:\n    unit: sender\n", "    not_protected: [receiver]", "max_rows_per_group: 20", "commute_km: {bounds: [0, 100]}",
		"  Departments: {public: true}", "  # courses: {public: true}", "epsilon: 3,",
	} {
		if !strings.Contains(string(policy), want) {
			t.Errorf("no %q in\n%s", want, policy)
		}
	}
	(&sitetest.Site{}).Says(t, "it fits the database", "check", path, "--online")
}
