package operations_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"dpproxy/internal/sitetest"
)

// answered finds the notices of psql that tell what an answer has cost.
var answered = regexp.MustCompile(`NOTICE:  (?:.*; )?cost `)

// An example is a statement of a document. Code is the SQLSTATE that it is refused with, ""
// if it is answered.
type example struct{ sql, code string }

var (
	sqlBlock = regexp.MustCompile("(?ms)^```sql( refused)?\n(.*?)^```$")
	coded    = regexp.MustCompile(`(?m)^(.*); -- ([0-9A-Z]{5})$`)
)

// readExamples returns the statements of a document: a statement ends with a semicolon at
// the end of a line.
func readExamples(t *testing.T, document string) []example {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	var all []example
	for _, block := range sqlBlock.FindAllStringSubmatch(string(text), -1) {
		if block[1] == "" {
			for sql := range strings.SplitSeq(strings.TrimSuffix(block[2], ";\n"), ";\n") {
				all = append(all, example{sql, ""})
			}
			continue
		}
		refused := coded.FindAllStringSubmatch(block[2], -1)
		if len(refused) != strings.Count(block[2], "\n") {
			t.Fatalf("%s: not each line is a statement and its code:\n%s", document, block[2])
		}
		for _, m := range refused {
			all = append(all, example{m[1], m[2]})
		}
	}
	return all
}

// TestDocumentedSQL runs all examples of docs/sql.md on the clinic of the demonstration, one
// after the other in one session, as a reader would. A refused statement costs nothing.
func TestDocumentedSQL(t *testing.T) {
	conn := sitetest.Dial(t, sitetest.StartDemo(t, "--small").Analyst)
	sitetest.Exec(t, conn, "SET dp.epsilon = 0.002") // the budget is for a few questions
	examples := readExamples(t, "../../docs/sql.md")
	if len(examples) < 90 {
		t.Errorf("docs/sql.md has %d examples", len(examples))
	}
	for _, e := range examples {
		before := sitetest.Spent(t, conn)
		_, err := conn.PgConn().Exec(t.Context(), e.sql).ReadAll()
		switch code := sitetest.SQLState(err); {
		case code != e.code:
			t.Errorf("%s\nis %q: %v", e.sql, code, err)
		case code != "" && sitetest.Spent(t, conn) != before:
			t.Errorf("%s\nis refused and costs", e.sql)
		}
	}
}

// TestDocumentedFunctions holds that each function that docs/sql.md lists stands in an
// example.
func TestDocumentedFunctions(t *testing.T) {
	text, err := os.ReadFile("../../docs/sql.md")
	if err != nil {
		t.Fatal(err)
	}
	var examples strings.Builder
	for _, e := range readExamples(t, "../../docs/sql.md") {
		if e.code == "" {
			examples.WriteString(e.sql + "\n")
		}
	}
	listed := regexp.MustCompile(`(?m)^\| (?:numbers|texts|times) \|.*$`).FindAllString(string(text), -1)
	names := regexp.MustCompile("`([a-z_0-9]+)`").FindAllStringSubmatch(strings.Join(listed, "\n"), -1)
	if len(listed) != 3 || len(names) < 30 {
		t.Errorf("%d rows list %d functions", len(listed), len(names))
	}
	for _, m := range names {
		if !regexp.MustCompile(`\b` + m[1] + `\(`).MatchString(examples.String()) {
			t.Errorf("%s stands in no example", m[1])
		}
	}
}

// TestReadme plays the session that README.md begins with.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	conn := sitetest.Dial(t, sitetest.StartDemo(t, "--small").Analyst)
	prompts := regexp.MustCompile(`(?m)^    demo=> (.*);$`).FindAllStringSubmatch(string(text), -1)
	if len(prompts) < 3 {
		t.Fatalf("README.md has %d statements", len(prompts))
	}
	for _, m := range prompts {
		_, shown, _ := strings.Cut(string(text), m[0]+"\n")
		want := ""
		if strings.HasPrefix(shown, "    ERROR:") {
			want = "PB002"
		}
		results, err := conn.PgConn().Exec(t.Context(), m[1]).ReadAll()
		if sitetest.SQLState(err) != want {
			t.Errorf("%s: %v", m[1], err)
			continue
		}
		if want != "" {
			message := strings.TrimSpace(strings.TrimPrefix(strings.SplitN(shown, "\n", 2)[0], "    ERROR:"))
			if !strings.Contains(err.Error(), message) {
				t.Errorf("%s is refused with %v, README.md says %s", m[1], err, message)
			}
			continue
		}
		for _, field := range results[0].FieldDescriptions {
			if !regexp.MustCompile(`(?m)^ +.*\b` + field.Name + `\b`).MatchString(strings.SplitN(shown, "rows)", 2)[0]) {
				t.Errorf("%s has a column %s that README.md does not show", m[1], field.Name)
			}
		}
	}
}

// TestDemo plays the demo with less data: the conversation must go as its text
// says, to the end.
func TestDemo(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), sitetest.Program(t), "demo", "--play", "--small").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"List of relations", "clamped to", "NOTICE:  count ± ", "cannot be read", "QUERY PLAN", "has no room for the statement", "analyst",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	// Each statement that was answered stands at the end again, with the truth.
	_, beside, _ := strings.Cut(string(out), "The truth beside the answers")
	if got, want := strings.Count(beside, "\nSELECT "), len(answered.FindAllString(string(out), -1)); got != want || want < 5 {
		t.Errorf("%d of %d answers have the truth beside them:\n%s", got, want, beside)
	}
	if !regexp.MustCompile(`FROM patients;\ncount ± [0-9]+\ncount +truth\n[0-9]+ +2000\n`).MatchString(beside) {
		t.Errorf("there are 2000 patients, and the demo says\n%s", beside)
	}
}
