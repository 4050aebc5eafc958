package parser_test

import (
	"strings"
	"testing"

	"dpproxy/parser"
)

func TestPreparedText(t *testing.T) {
	for _, test := range []struct{ text, name, want string }{
		{"PREPARE p AS SELECT 1", "p", "SELECT 1"},
		{"prepare P (int, numeric(3, 1)) as -- a comment\n select $1 ;", "p", "select $1"},
		{`PREPARE "Größe" AS SELECT 'AS'`, "Größe", "SELECT 'AS'"},
		{`/* ö */ SELECT 1; PREPARE p AS SELECT 2 AS x; PREPARE q AS SELECT 3`, "p", "SELECT 2 AS x"},
		{`PREPARE U&"\0070" AS VALUES (1)`, "p", "VALUES (1)"},
		{`PREPARE p AS INSERT INTO t SELECT 1`, "p", "INSERT INTO t SELECT 1"},
		{"PREPARE p AS SELECT 1", "q", ""},
		{"PREPARE p AS SELECT 1; DEALLOCATE p; PREPARE p AS SELECT 2", "p", ""},
		{"SELECT 1", "p", ""},
		{"SELECT 1", "", ""},
		{"PREPARE p AS SELEKT", "p", ""},
		{"PREPARE p AS SELECT 'open", "p", ""},
		{"PREPARE p AS SELECT 1" + strings.Repeat("+1", 30_000), "p", ""},
		{"PREPARE p AS SELECT '" + strings.Repeat("x", 2<<20) + "'", "p", ""},
	} {
		got, ok := parser.PreparedText(test.text, test.name)
		if got != test.want || ok != (test.want != "") {
			t.Errorf("%.60s: %q, %t, want %q", test.text, got, ok, test.want)
		}
	}
}

func TestMentions(t *testing.T) {
	for sql, want := range map[string]bool{
		"alter/**/user x": true, "SELECT 1;\nAlTeR ROLE x": true, "ALTE R": false, "SELECT altered": true, "al ter": false,
		"EXECUTE p": true, "/**/ExEcUtE p": true, "SELECT 1; execute p": true, "execut": false, "": false, "SELECT exec, ute": false,
	} {
		if got := parser.Mentions(sql); got != want {
			t.Errorf("%s: %t", sql, got)
		}
	}
}
