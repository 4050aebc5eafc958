package corpora_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/demo"
	"dpproxy/internal/needs"
	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

var (
	refusedBlock  = regexp.MustCompile("(?ms)^```sql refused\n(.*?)^```$")
	codeBehind    = regexp.MustCompile(`; -- [0-9A-Z]{5}$`)
	goldenRefusal = regexp.MustCompile(`(?ms)^plan[^\n]*\n(.*?)^----$`)
	demoBudget    = regexp.MustCompile(`budget: \{[^}]*\}`)
)

// clinicPlayer asks the demonstration, with a budget for hundreds of answers.
func clinicPlayer(t *testing.T) *player {
	t.Helper()
	g, err := demo.Generate(1, demo.Size{Patients: *people, Visits: 10 * *people, Labs: 20 * *people})
	if err != nil {
		t.Fatal(err)
	}
	data := sitetest.StartServer(t, pgtemp.Options{})
	conn := sitetest.Dial(t, data.URL("postgres", pgtemp.Superuser))
	if err := demo.Load(t.Context(), conn, g, nil); err != nil {
		t.Fatal(err)
	}
	text, err := demo.Clinic.Policy(demo.PolicyValues{Analyst: "ana", Verifier: "VERIFIER"})
	if err != nil {
		t.Fatal(err)
	}
	_, rules, _ := strings.Cut(string(text), "\nprivacy_unit:")
	policy := "privacy_unit:" + demoBudget.ReplaceAllString(rules, "budget: {epsilon: 9000, delta: 1e-6}")
	return playerOf(t, sitetest.Make(t, sitetest.Options{Data: data, Policy: policy}))
}

// refusals are the statements that docs/sql.md says are refused, and those that stand in golden files of the planner.
func refusals(t *testing.T) (all []string) {
	t.Helper()
	files, _ := filepath.Glob("../../planner/testdata/unsupported/*")
	for _, name := range append(files, "../../docs/sql.md") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range refusedBlock.FindAllStringSubmatch(string(text), -1) {
			for line := range strings.Lines(block[1]) {
				all = append(all, codeBehind.ReplaceAllString(strings.TrimSpace(line), ""))
			}
		}
		for _, m := range goldenRefusal.FindAllStringSubmatch(string(text), -1) {
			all = append(all, strings.TrimSpace(m[1]))
		}
	}
	return all
}

// TestRefusals asks all that the hints of refusals suggest, as far as the tables of the demonstration have the columns, and compares it
// with the truth.
func TestRefusals(t *testing.T) {
	needs.Asked(t, *people > 0, "corpora")
	p := clinicPlayer(t)
	all, suggested := refusals(t), 0
	for _, sql := range all {
		_, err := p.ours.PgConn().Exec(t.Context(), sql).ReadAll()
		refusal, ok := errors.AsType[*pgconn.PgError](err)
		if !ok {
			continue
		}
		if _, try, found := strings.Cut(refusal.Hint, "Try: "); found {
			suggested++
			if _, err := p.follow(t, "of "+sql, strings.TrimSuffix(try, ".")); err != nil {
				t.Errorf("%s\nhas %s\nwhich is refused: %v", sql, try, err)
			}
		}
	}
	t.Logf("%d refused statements, %d with another to ask instead", len(all), suggested)
	p.tell(t)
}
