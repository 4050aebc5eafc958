package truth_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"dpproxy/internal/tpch"
)

var (
	selectList = regexp.MustCompile(`(?s)^(select\n)(.*?)(\nfrom\n.*)$`)
	separator  = regexp.MustCompile(`,\n\t\b`) // deeper ones are within an item
	aggregate  = regexp.MustCompile(`\b(sum|avg|count)\(`)
	percentage = regexp.MustCompile(`(?s)^100\.00 \* (.*) / (sum\(.*\)) as \w+$`)
)

// questionsOfShop are the benchmark's queries, and those that have a bound of one customer's sum with it
// as well.
func questionsOfShop(t testing.TB) []question {
	t.Helper()
	var all []question
	for _, query := range tpch.Queries() {
		parts := selectList.FindStringSubmatch(strings.TrimSpace(query.SQL))
		if parts == nil {
			t.Fatalf("no list of values in %s", query.SQL)
		}
		sql := parts[1] + inBraces(parts[2]) + parts[3]
		all = append(all, question{name: query.Name, asked: sql, truth: sql})
		if query.MaxSum != "" {
			bounded := fmt.Sprintf("/* dp: max_sum=%s */\n%s", query.MaxSum, sql)
			name := fmt.Sprintf("%s of at most %s each", query.Name, query.MaxSum)
			all = append(all, question{name: name, asked: bounded, truth: bounded})
		}
	}
	return all
}

// inBraces puts the values of a list in braces.
func inBraces(list string) string {
	items := separator.Split(strings.TrimPrefix(list, "\t"), -1)
	for i, text := range items {
		switch quotient := percentage.FindStringSubmatch(text); {
		case quotient != nil:
			items[i] = fmt.Sprintf("{%s | 100 | %s | %s}", text, quotient[1], quotient[2])
		case aggregate.MatchString(text):
			items[i] = "{" + text + "}"
		}
	}
	return "\t" + strings.Join(items, ",\n\t")
}

// TestQuestionsOfShop reads the benchmark's queries with their values in braces.
func TestQuestionsOfShop(t *testing.T) {
	questions := questionsOfShop(t)
	if len(questions) != 9 {
		t.Errorf("%d questions", len(questions))
	}
	for _, query := range tpch.Queries() {
		values := 1
		if query.Name == "Q1" {
			values = 8
		}
		for _, q := range questions {
			name, _, bounded := strings.Cut(q.name, " ")
			text := plain(q.asked)
			if bounded {
				_, text, _ = strings.Cut(text, "\n")
			}
			if name == query.Name && (!strings.EqualFold(text, strings.TrimSpace(query.SQL)) || len(q.marks()) != values) {
				t.Errorf("%s has %d values:\n%s", q.name, len(q.marks()), q.asked)
			}
			if name == "Q14" && q.marks()[0].low == "" {
				t.Errorf("%s has no interval of a quotient:\n%s", q.name, q.asked)
			}
		}
	}
}
