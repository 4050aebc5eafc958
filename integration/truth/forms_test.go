package truth_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/sitetest"
)

// suggested matches the statement that a hint gives.
var suggested = regexp.MustCompile(`(?s)\bTry: (.*)\.$`)

// A form is a question that an analyst asks in some form of SQL, and what becomes of it.
type form struct{ name, sql, outcome string }

// outcomes are those of questions by the words behind their names.
var outcomes = map[string]string{
	"": answered, " (refused)": refusedWithStatement, " (refused without a statement)": refusedWithout,
}

// formName matches the name of a question and the words behind it.
var formName = regexp.MustCompile(`^-- (.*?)( \([^)]*\))?$`)

// formsOf reads the questions of a domain.
func formsOf(t *testing.T, domain string) []form {
	t.Helper()
	text, err := os.ReadFile("testdata/forms/" + domain + ".sql")
	if err != nil {
		t.Fatal(err)
	}
	var all []form
	for block := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		title, sql, ok := strings.Cut(block, "\n")
		name := formName.FindStringSubmatch(title)
		if !ok || name == nil || outcomes[name[2]] == "" {
			t.Fatalf("no question: %s", block)
		}
		all = append(all, form{domain + ": " + name[1], strings.TrimSuffix(strings.TrimSpace(sql), ";"), outcomes[name[2]]})
	}
	return all
}

// formsBlock matches statements of docs/sql.md over the arrays of visits and the documents of events, which the demonstration has not.
var formsBlock = regexp.MustCompile("(?ms)^```sql (?:arrays|documents)\n(.*?)^```$")

// documentedForms are these statements.
func documentedForms(t *testing.T) (all []form) {
	t.Helper()
	text, err := os.ReadFile("../../docs/sql.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range formsBlock.FindAllStringSubmatch(string(text), -1) {
		for sql := range strings.SplitSeq(strings.TrimSuffix(block[1], ";\n"), ";\n") {
			all = append(all, form{"docs: " + sql, sql, answered})
		}
	}
	if len(all) < 8 {
		t.Errorf("docs/sql.md has %d statements over arrays and documents", len(all))
	}
	return all
}

// TestForms asks what analysts of clinics, shops and universities ask, in the SQL that they write it in.
// Each question is one that Postgres answers. dpproxy answers it too, or refuses it with a hint that has a statement which, pasted,
// is answered.
func TestForms(t *testing.T) {
	s := formsSite(t)
	truth, ours := s.truth, s.ours[0]
	count := map[string]int{}
	var table strings.Builder
	all := documentedForms(t)
	for _, domain := range []string{"clinic", "shop", "university"} {
		all = append(all, formsOf(t, domain)...)
	}
	for _, f := range all {
		sitetest.Exec(t, truth, "BEGIN; "+f.sql+"; ROLLBACK")
		outcome, detail := f.ask(t, ours)
		count[outcome]++
		fmt.Fprintf(&table, "| %s | %s | %s |\n", f.name, outcome, detail)
		if outcome != f.outcome {
			t.Errorf("%s is %s: %s\n%s", f.name, outcome, detail, f.sql)
		}
	}
	t.Logf("%d questions: %d %s, %d %s, %d %s\n%s", len(all), count[answered], answered, count[refusedWithStatement], refusedWithStatement,
		count[refusedWithout], refusedWithout, &table)
	if len(all) < 100 {
		t.Errorf("only %d questions", len(all))
	}
}

// formsSite has the tables of the questions, small.
func formsSite(t *testing.T) site {
	t.Helper()
	policy, err := os.ReadFile("testdata/forms/policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := os.ReadFile("testdata/forms/schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	data := sitetest.StartPostgres(t)
	sitetest.Exec(t, sitetest.Dial(t, data.URL("postgres", "postgres")), string(schema))
	return serve(t, data, string(policy))
}

// The outcomes of a question.
const (
	answered             = "answered"
	refusedWithStatement = "refused with a statement that works"
	refusedWithout       = "refused without one"
)

// ask asks the question, and what the hint of its refusal says instead.
func (f form) ask(t *testing.T, s *session) (outcome, detail string) {
	t.Helper()
	err := s.run(t, f.sql)
	var refusal *pgconn.PgError
	if !errors.As(err, &refusal) {
		return answered, ""
	}
	detail = fmt.Sprintf("%s %s (%s)", refusal.Code, refusal.Message, refusal.Hint)
	instead := suggested.FindStringSubmatch(refusal.Hint)
	if instead == nil {
		return refusedWithout, detail
	}
	if err := s.run(t, instead[1]); err != nil {
		return refusedWithout, fmt.Sprintf("%s; and that is refused: %v", detail, err)
	}
	return refusedWithStatement, detail
}

// run runs a statement in a transaction that is rolled back.
func (s *session) run(t *testing.T, sql string) error {
	t.Helper()
	if _, err := s.PgConn().Exec(t.Context(), "BEGIN").ReadAll(); err != nil {
		t.Fatal(err)
	}
	_, err := s.PgConn().Exec(t.Context(), sql).ReadAll()
	if _, err := s.PgConn().Exec(t.Context(), "ROLLBACK").ReadAll(); err != nil {
		t.Fatal(err)
	}
	return err
}
