package property_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"dpproxy/internal/sqlgen"
)

// changes are parts of statements and others that mean something else in most places.
var changes = [][2]string{
	{" JOIN ", " LEFT JOIN "}, {" LEFT JOIN ", " JOIN "}, {" RIGHT JOIN ", " LEFT JOIN "}, {" RIGHT JOIN ", " JOIN "},
	{" LEFT JOIN ", " FULL JOIN "}, {"DISTINCT ", ""}, {"UNION ALL", "UNION"}, {" WHERE ", " WHERE false AND "},
	{" HAVING count(*) > 1", ""}, {" > 1", " >= 1"}, {" > ", " < "}, {" AND ", " OR "}, {"NOT ", ""}, {"IS NULL", "IS NOT NULL"},
	{" IN (", " NOT IN ("}, {"= 'a'", "= 'b'"}, {"max(", "min("}, {"count(*)", "count(*) FILTER (WHERE true)"},
}

var qualified = regexp.MustCompile(`\b[dse][0-9]*\.\w+`)

// changed are a statement with one change each, or with one column in the place of another.
func changed(sql string) (all []string) {
	for _, c := range changes {
		for from := 0; ; from += len(c[1]) {
			i := strings.Index(sql[from:], c[0])
			if i < 0 {
				break
			}
			from += i
			all = append(all, sql[:from]+c[1]+sql[from+len(c[0]):])
			from += len(c[0]) - len(c[1])
		}
	}
	columns := qualified.FindAllStringIndex(sql, -1)
	for i, at := range columns {
		if other := columns[(i*7+3)%len(columns)]; sql[at[0]:at[1]] != sql[other[0]:other[1]] {
			all = append(all, sql[:at[0]]+sql[other[0]:other[1]]+sql[at[1]:])
		}
	}
	return all
}

// questionOf is all that an answer is remembered by.
func questionOf(p *planned) string {
	var b strings.Builder
	for _, block := range p.plan.Blocks {
		fmt.Fprintf(&b, "%q|", block.Question())
	}
	return b.String()
}

// TestQuestions changes statements a little: those that are one question to the planner have the same exact numbers.
func TestQuestions(t *testing.T) {
	first, want := seed(t), max(1, pairs(t)/10)
	tried, same := 0, 0
	for n := uint64(0); tried < want; n++ {
		w := newWorld(t, first+n, sqlgen.Adversarial)
		for range 5 * statementsPerWorld {
			st := w.gen.Statement(w.schema)
			p, err := w.plan(st.SQL, fixed)
			if err != nil {
				continue
			}
			known := map[string]*planned{questionOf(p): p}
			for _, sql := range changed(st.SQL) {
				other, err := w.plan(sql, fixed)
				if err != nil {
					continue
				}
				tried++
				if of := known[questionOf(other)]; of != nil {
					same++
					oneQuestion(t, first+n, of, other)
				}
				known[questionOf(other)] = other
			}
			if tried >= want {
				break
			}
		}
		w.close()
	}
	t.Logf("%d changes, %d ask the same", tried, same)
	if tried >= 100 && same == 0 {
		t.Error("no change asks the same")
	}
}

func oneQuestion(t *testing.T, seed uint64, p, other *planned) {
	t.Helper()
	a, err := p.exact()
	b, also := other.exact()
	switch {
	case err != nil || also != nil:
		t.Errorf("seed %d: %v, %v\n%s\n%s", seed, err, also, p.stmt.Text, other.stmt.Text)
	case differ(a, b) != "":
		t.Errorf("seed %d: one question has two answers: %s\n%s\n%s", seed, differ(a, b), p.stmt.Text, other.stmt.Text)
	}
}
