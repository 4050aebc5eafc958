package operations_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// TestFirstPolicy plays docs/first-policy.md, from databases without a policy to ten answers of each.
func TestFirstPolicy(t *testing.T) {
	text, err := os.ReadFile("../../docs/first-policy.md")
	if err != nil {
		t.Fatal(err)
	}
	ofUniversity, ofClinic, ok := strings.Cut(string(text), "\n## A clinic")
	if !ok {
		t.Fatal("the document has no clinic")
	}
	data := sitetest.StartServer(t, pgtemp.Options{})
	for _, name := range []string{"university", "clinic"} {
		prepare(t, data.URL("postgres", pgtemp.Superuser), "CREATE DATABASE "+name)
	}
	t.Run("university", func(t *testing.T) {
		url := data.URL("university", pgtemp.Superuser)
		runFiles(t, url, university+"schema.sql", university+"rows.sql")
		_, s, r := firstPolicy(t, url, ofUniversity)
		refusedAtFirst(t, s, r, url, ofUniversity)
		unlisted(t, s, r, url)
	})
	t.Run("clinic", func(t *testing.T) {
		url := data.URL("clinic", pgtemp.Superuser)
		runFiles(t, url, "../../suggest/testdata/schemas/clinic.sql", "testdata/clinic/rows.sql")
		said, _, _ := firstPolicy(t, url, ofClinic)
		want := block(t, ofClinic, "summary")
		if !strings.HasPrefix(said, want) {
			t.Errorf("the summary of the clinic: -want +got:\n%s", cmp.Diff(want, said))
		}
		if n := strings.Count(said, "rows that lead to one of another patient: no"); n != 5 {
			t.Errorf("check --data says %d times that there are none:\n%s", n, said)
		}
	})
}

// runFiles runs files in a database.
func runFiles(t *testing.T, url string, files ...string) {
	t.Helper()
	for _, name := range files {
		sql, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		prepare(t, url, string(sql))
	}
}

// refusedAtFirst asks the question of the document that is refused, and asks it again after the remedy.
func refusedAtFirst(t *testing.T, s *sitetest.Site, r *sitetest.Running, url, text string) {
	t.Helper()
	question, refusal, _ := strings.Cut(block(t, text, "refused"), "\n")
	out := sitetest.Psql(t, r, question)
	for line := range strings.Lines(refusal) {
		if !strings.Contains(out, strings.TrimSpace(line)) {
			t.Errorf("no %q in\n%s", line, out)
		}
	}
	const bounded = "bounds by defaults.dates, from 2022-01-01 to 2026-12-31"
	if said := commands(t, s, url, block(t, text, "remedy")); !strings.Contains(said, bounded) {
		t.Errorf("the remedy says\n%s", said)
	}
	r.HangUp(t, "the policy was reloaded")
	if out := sitetest.Psql(t, r, question); !answered.MatchString(out) || strings.Contains(out, "ERROR") {
		t.Errorf("with bounds %s is\n%s", question, out)
	}
}

// unlisted adds a column to the database and deletes the line of another from the policy: analysts have neither, until the policy no longer
// says that such columns are hidden. Then check and sync name them.
func unlisted(t *testing.T, s *sitetest.Site, r *sitetest.Running, url string) {
	t.Helper()
	const question = `SELECT full_name, count(*) FROM "Students" GROUP BY 1; SELECT abroad, count(*) FROM "Students" GROUP BY 1`
	prepare(t, url, `ALTER TABLE "Students" ADD full_name text; UPDATE "Students" SET full_name = 'Ann'`)
	edit := func(line, now string) {
		t.Helper()
		text, err := os.ReadFile(s.Policy)
		m := regexp.MustCompile(line)
		if err != nil || len(m.FindAll(text, -1)) != 1 {
			t.Fatalf("the policy has not one line %s: %v", line, err)
		}
		if err := os.WriteFile(s.Policy, m.ReplaceAll(text, []byte(now)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const open = "warning: columns that the policy does not list are open: public.Students (abroad, full_name)"
	edit(`(?m)^      abroad: .*\n`, "")
	for _, c := range []struct {
		hides bool
		names int
	}{{true, 0}, {false, 1}} {
		if !c.hides {
			edit(`(?m)^unlisted: hidden\n`, "")
		}
		for _, command := range []string{"check", "sync"} {
			if out := s.Command(t, command, s.Policy); strings.Count(out, open) != c.names {
				t.Errorf("hidden %v: %s says\n%s", c.hides, command, out)
			}
		}
		r.HangUp(t, "the policy was reloaded")
		out := sitetest.Psql(t, r, question+`; SELECT * FROM "Students"`)
		for _, column := range []string{"full_name", "abroad"} {
			if strings.Contains(out, `column "`+column+`" does not exist`) != c.hides {
				t.Errorf("hidden %v: %s is answered by\n%s", c.hides, question, out)
			}
		}
		if !c.hides && !answered.MatchString(out) {
			t.Errorf("open columns are answered by\n%s", out)
		}
	}
}

// commands runs commands of the document, and returns what they say.
func commands(t *testing.T, s *sitetest.Site, url, lines string) (said string) {
	t.Helper()
	for command := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", command)
		cmd.Env = append(os.Environ(), "DATA="+url, "MIRROR="+s.Mirror.URL("postgres", pgtemp.Superuser), "DIR="+s.Dir,
			"PATH="+filepath.Dir(sitetest.Program(t))+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		said += string(out)
	}
	return said
}

// firstPolicy plays a part of the document: its commands, its policy and its ten statements. It returns what the commands have said, and
// the dpproxy that runs then.
func firstPolicy(t *testing.T, url, text string) (said string, s *sitetest.Site, r *sitetest.Running) {
	t.Helper()
	dir := t.TempDir()
	s = &sitetest.Site{
		Dir: dir, Database: "postgres", Policy: filepath.Join(dir, "policy.yaml"),
		Mirror: sitetest.StartServer(t, pgtemp.Options{Mirror: true}),
	}
	began := time.Now()
	said = commands(t, s, url, block(t, text, "sh"))
	policy, err := os.ReadFile(s.Policy)
	if err != nil {
		t.Fatal(err)
	}
	have := regexp.MustCompile(` # .*`).ReplaceAllString(string(policy), "")
	for _, table := range regexp.MustCompile(`(?m)^  \S.*\n(    .*\n)*`).FindAllString(block(t, text, "yaml"), -1) {
		if !strings.Contains(have, table) {
			t.Errorf("the policy lacks\n%s in\n%s", table, have)
		}
	}
	statements := strings.Split(strings.TrimSuffix(block(t, text, "sql"), ";\n"), ";\n")
	r = s.Run(t)
	out := sitetest.Psql(t, r, strings.Join(statements, ";\n")+";")
	if n := len(answered.FindAllString(out, -1)); n != len(statements) || n != 10 || strings.Contains(out, "ERROR") {
		t.Errorf("%d of %d statements are answered:\n%s", n, len(statements), out)
	}
	t.Logf("from suggest to the last answer: %v\n%s", time.Since(began), out)
	return said, s, r
}

// block returns the one block of a document in a language.
func block(t *testing.T, text, language string) string {
	t.Helper()
	m := regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(text, -1)
	if len(m) != 1 {
		t.Fatalf("there are %d blocks of %s", len(m), language)
	}
	return m[0][1]
}
