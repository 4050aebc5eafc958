package truth_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// A question is SQL with values in braces.
type question struct {
	name string
	// asked is the question; truth has the rows to compare with, and is often the same text.
	asked, truth string
	// unasserted questions may have the truth outside more often than is stated.
	unasserted bool
}

// A mark is a value in braces.
type mark struct {
	value     string // the expression
	as        string // the name of its column; "" if it has none
	low, high string // its interval, if it is written out
	ignored   bool   // it is compared with nothing
}

var (
	marked = regexp.MustCompile(`\{([^{}]*)\}`)
	bar    = regexp.MustCompile(`\s\|\s`)
	named  = regexp.MustCompile(`(?is)^(.*\S)\s+AS\s+([a-z_][a-z0-9_]*)$`)
	column = regexp.MustCompile(`^([a-z_][a-z0-9_]*\.)?([a-z_][a-z0-9_]*)$`)
	// adds matches values that are zero where there are no rows.
	adds = regexp.MustCompile(`(?i)^(count|sum|coalesce)\(`)
)

// questionsAbout reads the questions about a set of data.
func questionsAbout(t testing.TB, data string) []question {
	t.Helper()
	return readQuestions(t, "testdata/"+data+".sql")
}

// readQuestions reads a file of questions.
func readQuestions(t testing.TB, file string) []question {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var questions []question
	for block := range strings.SplitSeq(string(text), "\n\n") {
		title, sql, _ := strings.Cut(strings.TrimSpace(block), "\n")
		name, ok := strings.CutPrefix(title, "-- ")
		statements := strings.Split(strings.TrimSuffix(strings.TrimSpace(sql), ";"), ";\n")
		if !ok || len(statements) > 2 || !marked.MatchString(sql) {
			t.Fatalf("no question: %s", block)
		}
		questions = append(questions, question{name: name, asked: statements[0], truth: statements[len(statements)-1]})
	}
	return questions
}

// readMark reads the text between braces.
func readMark(text string) mark {
	parts := bar.Split(text, -1)
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	m := mark{value: parts[0]}
	if n := named.FindStringSubmatch(m.value); n != nil {
		m.value, m.as = n[1], n[2]
	}
	switch len(parts) {
	case 2:
		m.ignored = true
	case 3:
		m.low, m.high = parts[1], parts[2]
	case 4:
		m.low, m.high = quotientEnds(parts[1], parts[2], parts[3])
	}
	return m
}

// quotientEnds returns the interval of k·a/b, k > 0, that those of a and b allow: NULL if b may be 0.
func quotientEnds(k, a, b string) (low, high string) {
	end := func(choose, of string) string {
		return fmt.Sprintf("CASE WHEN dp.lower(%[1]s) > 0 THEN %[2]s * %[3]s(dp.%[4]s(%[5]s) / dp.lower(%[1]s), "+
			"dp.%[4]s(%[5]s) / dp.upper(%[1]s)) END", b, k, choose, of, a)
	}
	return end("least", "lower"), end("greatest", "upper")
}

// marks returns the values of the question, in order.
func (q question) marks() []mark {
	var all []mark
	for _, found := range marked.FindAllStringSubmatch(q.asked, -1) {
		all = append(all, readMark(found[1]))
	}
	return all
}

// plain returns a text without its braces.
func plain(sql string) string {
	return marked.ReplaceAllStringFunc(sql, func(found string) string { return readMark(found[1 : len(found)-1]).plain() })
}

// withEnds returns a text with each value followed by its interval, as dpproxy states it.
func withEnds(sql string) string {
	return marked.ReplaceAllStringFunc(sql, func(found string) string {
		m := readMark(found[1 : len(found)-1])
		return m.followed(m.ends())
	})
}

// withoutEnds has the columns of [withEnds], with NULL for the ends: a database knows no interval.
func withoutEnds(sql string) string {
	return marked.ReplaceAllStringFunc(sql, func(found string) string {
		m := readMark(found[1 : len(found)-1])
		if column.MatchString(m.value) {
			return m.followed(m.ends())
		}
		return m.followed("NULL::float8", "NULL::float8")
	})
}

func (m mark) plain() string {
	if m.as == "" {
		return m.value
	}
	return m.value + " AS " + m.as
}

// ends returns the interval of a value.
func (m mark) ends() (low, high string) {
	switch {
	case m.low != "":
		return m.low, m.high
	case column.MatchString(m.value):
		return m.value + "_low", m.value + "_high"
	}
	return "dp.lower(" + m.value + ")", "dp.upper(" + m.value + ")"
}

// name is that of the columns for the interval, without its ending.
func (m mark) name() string {
	switch c := column.FindStringSubmatch(m.value); {
	case m.as != "":
		return m.as
	case c != nil:
		return c[2]
	}
	return "value"
}

func (m mark) followed(low, high string) string {
	if m.ignored {
		return m.plain()
	}
	return fmt.Sprintf("%s, %s AS %s_low, %s AS %[3]s_high", m.plain(), low, m.name(), high)
}

// additive reports whether the column of a name has values that are zero where there are no rows.
func (q question) additive(name string) bool {
	for _, m := range q.marks() {
		if c := column.FindStringSubmatch(m.value); m.name() == name && (c == nil || c[2] != name) {
			return adds.MatchString(m.value) || c != nil && q.additive(c[2])
		}
	}
	return false
}
