package operations_test

import (
	"fmt"
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
	s.Refuses(t, "say which database", "suggest", "--yes")

	// Where it is not clear whom to protect, nothing is written, and the choices are said.
	prepare(t, url, `CREATE TABLE members (id int PRIMARY KEY, first_name text, birth_date date, sex text, email text); `+
		`CREATE TABLE votes (id int PRIMARY KEY, member_id int REFERENCES members); `+
		`CREATE TABLE dues (id int PRIMARY KEY, member_id int REFERENCES members)`)
	path := filepath.Join(t.TempDir(), "policy.yaml")
	s.Refuses(t, "Say --unit=Students or --unit=members.", "suggest", url, "--yes", "-o", path)
	if _, err := os.Stat(path); err == nil {
		t.Error("a policy was written")
	}
	s.Command(t, "suggest", url, "--yes", "-o", path, "--unit", "Students.id", "--public", "clear")
	s.Says(t, "it fits the database", "check", path, "--online")
}

// TestSuggestAsks holds the conversation at a terminal, and asks for bounds later.
func TestSuggestAsks(t *testing.T) {
	url := startUniversity(t)
	path := filepath.Join(t.TempDir(), "policy.yaml")
	out := atTerminal(t, sitetest.Program(t)+" suggest '"+url+"' -o "+path,
		"",            // whose messages are
		"Departments", // what is public
		"3",           // the budget
	)
	for _, want := range []string{
		"Person        Students.id: called student; ", "Whose is it? messages: sender.", "may tell of those behind receiver",
		"Make them public", "-> about ", "Public        Departments; 1 more could be", "Unprotected   Students.mentor, messages.receiver",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	policy, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"  messages:\n    unit: sender\n", "    not_protected: [receiver]", "commute_km: {}",
		"  Departments: {public: true}", "  # courses: {public: true}", "epsilon: 3,",
	} {
		if !strings.Contains(string(policy), want) {
			t.Errorf("no %q in\n%s", want, policy)
		}
	}
	s := &sitetest.Site{}
	s.Says(t, "it fits the database", "check", path, "--online")
}

// TestSuggestLater asks for bounds of a policy's columns, says what they do, and proposes a file that fits; then it proposes what has
// come since, and nothing else.
func TestSuggestLater(t *testing.T) {
	url := startUniversity(t)
	path := filepath.Join(t.TempDir(), "policy.yaml")
	s := &sitetest.Site{}
	s.Command(t, "suggest", url, "--yes", "-o", path)
	cmd := exec.CommandContext(t.Context(), sitetest.Program(t), "suggest", "--bounds", path)
	cmd.Stdin = strings.NewReader("2020-01-01, 2029-12-31\n1, 0\n0, 100\n.\n")
	var said strings.Builder
	cmd.Stderr = &said
	diff, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	for _, want := range []string{
		"Between which days are nearly all dates, as 2010-01-01, 2025-12-31? They bound payments.paid_at, submissions.handed_in " +
			"[none; Enter: none, each is asked about]",
		"(1 of 4) Bounds of Students.commute_km (double precision)", "two ends, the lower first", "sum(commute_km) at epsilon 0.1: ",
		"one student adds ",
	} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("no %q in\n%s", want, said.String())
		}
	}
	patched(t, path, string(diff), "+      commute_km: {bounds: [0, 100]}\n", "-# defaults: {dates: [2010-01-01, 2025-12-31]}\n",
		"+defaults: {dates: [2020-01-01, 2029-12-31]}\n")
	s.Says(t, "\nbounds by defaults.dates, from 2020-01-01 to 2029-12-31: handed_in\n", "check", path, "--explain")
	if out := s.Command(t, "suggest", "--update", path); !strings.Contains(out, "nothing is new") {
		t.Errorf("of the same database: %s", out)
	}
	prepare(t, url, `ALTER TABLE "Students" ADD phone text, ADD hall text, ADD since date; CREATE TABLE fees (id int PRIMARY KEY, `+
		`student uuid NOT NULL REFERENCES "Students", amount int); CREATE TABLE rooms (id int PRIMARY KEY, floor int); `+
		`CREATE TABLE club_log (id int PRIMARY KEY)`)
	s.Says(t, "it does not mention 3 of the database's tables and views (public.club_log, public.fees, public.rooms)",
		"check", path, "--online")
	diff, err = exec.CommandContext(t.Context(), sitetest.Program(t), "suggest", "--update", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	patched(t, path, string(diff), "+      phone: hidden # how to reach somebody\n", "+      hall: {}\n", "+      since: {}\n",
		"+  fees:\n+    unit: student\n", "+  # rooms: {public: true}\n", "+  # club_log: {public: true} # ? it is called log\n")
	s.Says(t, "it fits the database", "check", path, "--online")
	if out := s.Command(t, "suggest", "--update", path); !strings.Contains(out, "nothing is new") {
		t.Errorf("after it was taken over: %s", out)
	}
}

// patched applies a diff, which has lines.
func patched(t *testing.T, path, diff string, lines ...string) {
	t.Helper()
	for _, want := range lines {
		if !strings.Contains(diff, want) {
			t.Errorf("no %q in\n%s", want, diff)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, after := strings.SplitAfter(string(text), "\n"), ""
	for line := range strings.Lines(diff) {
		switch from := 0; {
		case strings.HasPrefix(line, "---"), strings.HasPrefix(line, "+++"):
		case strings.HasPrefix(line, "@@"):
			if _, err := fmt.Sscanf(line, "@@ -%d", &from); err != nil {
				t.Fatal(err)
			}
			for ; strings.Count(string(text), "\n")-len(before)+1 < from-1; before = before[1:] {
				after += before[0]
			}
		case line[0] == '+':
			after += line[1:]
		case before[0] != line[1:]:
			t.Fatalf("the diff has %q, the file %q", line[1:], before[0])
		default:
			if line[0] == ' ' {
				after += line[1:]
			}
			before = before[1:]
		}
	}
	if err := os.WriteFile(path, []byte(after+strings.Join(before, "")), 0o600); err != nil {
		t.Fatal(err)
	}
}

// atTerminal plays answers at a terminal.
func atTerminal(t *testing.T, command string, answers ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "script", "-qec", command, "/dev/null")
	cmd.Stdin = strings.NewReader(strings.Join(answers, "\n") + "\n")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}
