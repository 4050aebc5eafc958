package lex_test

import (
	"strings"
	"testing"

	"dpproxy/parser/lex"
)

// TestWords holds that no constant and no comment is among the words of a statement.
func TestWords(t *testing.T) {
	const constants = "SELECT E'zebra', $$zebra$$, U&'zebra', B'01', X'fe', 1.5e3, .5, $1 FROM \"Visits\" v"
	const commented = "SELECT count(*)\n  FROM visits -- zebra\n WHERE cost > 19771 /* zebra */ AND name = 'zebra'"
	for sql, want := range map[string]string{
		constants:                  `SELECT ?, ?, ?, ?, ?, ?, ?, $1 FROM "Visits" v`,
		commented:                  "SELECT count(*) FROM visits WHERE cost > ? AND name = ?",
		"SELECT 'ze'\n'bra'":       "SELECT ?",
		"SELECT \"a\x1b[2Jb\xff\"": `SELECT "a?[2Jb?"`,
		"SELECT 'zebra":            "",
		"":                         "",
	} {
		if got := lex.Words(sql); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", sql, got, want)
		}
	}
	long := lex.Words("SELECT " + strings.Repeat("x + ", 10_000) + "x")
	if len(long) > 2100 || !strings.HasSuffix(long, " ...") {
		t.Errorf("%d bytes of a long statement", len(long))
	}
}
