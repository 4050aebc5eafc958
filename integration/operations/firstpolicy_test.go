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
		firstPolicy(t, url, ofUniversity)
	})
	t.Run("clinic", func(t *testing.T) {
		url := data.URL("clinic", pgtemp.Superuser)
		runFiles(t, url, "../../suggest/testdata/schemas/clinic.sql", "testdata/clinic/rows.sql")
		said, want := firstPolicy(t, url, ofClinic), block(t, ofClinic, "summary")
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

// firstPolicy plays a part of the document: its commands, its policy and its ten statements. It returns what the commands have said.
func firstPolicy(t *testing.T, url, text string) (said string) {
	t.Helper()
	dir := t.TempDir()
	s := &sitetest.Site{
		Dir: dir, Database: "postgres", Policy: filepath.Join(dir, "policy.yaml"),
		Mirror: sitetest.StartServer(t, pgtemp.Options{Mirror: true}),
	}
	began := time.Now()
	for command := range strings.SplitSeq(strings.TrimSpace(block(t, text, "sh")), "\n") {
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", command)
		cmd.Env = append(os.Environ(), "DATA="+url, "MIRROR="+s.Mirror.URL("postgres", pgtemp.Superuser), "DIR="+dir,
			"PATH="+filepath.Dir(sitetest.Program(t))+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		said += string(out)
	}
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
	out := sitetest.Psql(t, s.Run(t), strings.Join(statements, ";\n")+";")
	if n := len(answered.FindAllString(out, -1)); n != len(statements) || n != 10 || strings.Contains(out, "ERROR") {
		t.Errorf("%d of %d statements are answered:\n%s", n, len(statements), out)
	}
	t.Logf("from suggest to the last answer: %v\n%s", time.Since(began), out)
	return said
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
