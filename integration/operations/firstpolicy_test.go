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

// TestFirstPolicy plays docs/first-policy.md, from a database without a policy to ten answers.
func TestFirstPolicy(t *testing.T) {
	const document = "../../docs/first-policy.md"
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	url := startUniversity(t)
	rows, err := os.ReadFile(university + "rows.sql")
	if err != nil {
		t.Fatal(err)
	}
	prepare(t, url, string(rows))
	dir := t.TempDir()
	s := &sitetest.Site{
		Dir: dir, Database: "postgres", Policy: filepath.Join(dir, "policy.yaml"),
		Mirror: sitetest.StartServer(t, pgtemp.Options{Mirror: true}),
	}
	began := time.Now()
	for command := range strings.SplitSeq(strings.TrimSpace(block(t, string(text), "sh")), "\n") {
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", command)
		cmd.Env = append(os.Environ(), "DATA="+url, "MIRROR="+s.Mirror.URL("postgres", pgtemp.Superuser), "DIR="+dir,
			"PATH="+filepath.Dir(sitetest.Program(t))+":"+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
	policy, err := os.ReadFile(s.Policy)
	if err != nil {
		t.Fatal(err)
	}
	have := regexp.MustCompile(` # .*`).ReplaceAllString(string(policy), "")
	for _, table := range regexp.MustCompile(`(?m)^  \S.*\n(    .*\n)*`).FindAllString(block(t, string(text), "yaml"), -1) {
		if !strings.Contains(have, table) {
			t.Errorf("the policy lacks\n%s in\n%s", table, have)
		}
	}
	examples := readExamples(t, document)
	var script strings.Builder
	for _, e := range examples {
		script.WriteString(e.sql + ";\n")
	}
	out := sitetest.Psql(t, s.Run(t), script.String())
	if n := len(answered.FindAllString(out, -1)); n != len(examples) || n != 10 || strings.Contains(out, "ERROR") {
		t.Errorf("%d of %d statements are answered:\n%s", n, len(examples), out)
	}
	t.Logf("from suggest to the last answer: %v\n%s", time.Since(began), out)
	if d := cmp.Diff(block(t, string(text), "summary"), summaryOfClinic(t, url)); d != "" {
		t.Errorf("the summary of the clinic: -want +got:\n%s", d)
	}
}

// summaryOfClinic is the summary that suggest prints of a clinical schema, which becomes a database of the server.
func summaryOfClinic(t *testing.T, url string) string {
	t.Helper()
	schema, err := os.ReadFile("../../suggest/testdata/schemas/clinic.sql")
	if err != nil {
		t.Fatal(err)
	}
	prepare(t, url, "CREATE DATABASE clinic")
	clinic := strings.Replace(url, "dbname=postgres", "dbname=clinic", 1)
	prepare(t, clinic, string(schema))
	cmd := exec.CommandContext(t.Context(), sitetest.Program(t), "suggest", clinic, "--yes")
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	return said.String()
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
