package sqltext_test

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"dpproxy/planner/sqltext"
)

// TestLines breaks statements into lines. Each statement is written in one line.
func TestLines(t *testing.T) {
	datadriven.RunTest(t, "testdata/lines", func(t *testing.T, d *datadriven.TestData) string {
		sql := strings.Join(strings.Fields(d.Input), " ")
		lines := sqltext.Lines(sql)
		if words(lines) != words(sql) {
			t.Errorf("%s: the text has changed", d.Pos)
		}
		return lines
	})
}

// words removes the blanks that are not between quotes. A doubled quote ends a text and begins the next.
func words(sql string) string {
	var out strings.Builder
	var quote rune
	for _, c := range sql {
		switch {
		case quote == 0 && (c == ' ' || c == '\n'):
			continue
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == quote:
			quote = 0
		}
		out.WriteRune(c)
	}
	return out.String()
}

// FuzzLines breaks any text, even if it is no SQL.
func FuzzLines(f *testing.F) {
	f.Add(`SELECT 'a' || "b""c d" FROM (SELECT CASE WHEN x THEN 'it''s, AND' ELSE y END) AS r WHERE a AND b`)
	f.Add(`) END , WHEN (`)
	f.Fuzz(func(t *testing.T, sql string) {
		wide := strings.ReplaceAll(sql, "a", strings.Repeat("a", 60))
		if lines := sqltext.Lines(wide); strings.Count(wide, "'")%2 == 0 && !strings.Contains(wide, `"`) && words(lines) != words(wide) {
			t.Errorf("%q\n%q", wide, lines)
		}
	})
}
