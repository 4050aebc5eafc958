package proxy

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestNamesState holds that names of the views are found as a regular expression finds them.
func TestNamesState(t *testing.T) {
	pattern := regexp.MustCompile(`(?i)(^|[^.\w])"?(budget|tables|columns|history)\b|\b(from|join)\s+"?last\b`)
	for sql, want := range map[string]bool{
		"TABLE budget": true, `SELECT * FROM "tables"`: true, "SELECT * FROM Columns;": true, "history": true,
		"SELECT * FROM last": true, "SELECT 1 FROM a JOIN\n\"last\" ON true": true,
		"SELECT * FROM information_schema.columns": false, "SELECT count(*) FROM pgbench_history": false,
		"SELECT last, lastname FROM t": false, "SELECT a FROM t ORDER BY a NULLS LAST": false, "SELECT tables_ FROM budgets": false,
	} {
		if got := namesState(sql); got != want || pattern.MatchString(sql) != want {
			t.Errorf("%q: %t, want %t", sql, got, want)
		}
	}
	pieces := rapid.SampledFrom([]string{
		"budget", "Tables", "COLUMNS", "history", "last", "LAST", "from", "JOIN", " ",
		"\n", "\f", "\v", `"`, ".", ",", "_", "x", "9", "é", "\xff", "@", "[", "`", "{", "las",
	})
	rapid.Check(t, func(t *rapid.T) {
		sql := strings.Join(rapid.SliceOfN(pieces, 0, 8).Draw(t, "pieces"), "")
		if got, want := namesState(sql), pattern.MatchString(sql); got != want {
			t.Fatalf("%q: %t, want %t", sql, got, want)
		}
	})
}
