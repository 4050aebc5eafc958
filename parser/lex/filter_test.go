package lex_test

import (
	"strings"
	"testing"

	"dpproxy/parser/lex"
)

func TestFilter(t *testing.T) {
	f := lex.NewFilter([]string{"visits", "Größe", `a"b`, ""})
	for sql, want := range map[string]bool{
		"SELECT 1":                     false,
		"":                             false,
		"SELECT count(*) FROM visits":  true,
		"select * from VISITS":         true,
		`SELECT * FROM "ViSiTs2"`:      true,
		"SELECT visit":                 false,
		"visit":                        false,
		`SELECT U&"\0076isits"`:        true,
		`SELECT u&'x'`:                 false,
		"SET dp.epsilon = 1":           true,
		"SET DP.epsilon = 1":           true,
		"SELECT dp":                    false,
		"SELECT * FROM größe":          true,
		`SELECT * FROM "a""b"`:         true,
		`SELECT * FROM "a" "b"`:        false,
		strings.Repeat("v", 3) + "isi": false,
	} {
		if got := f.Matches(sql); got != want {
			t.Errorf("%q: %t", sql, got)
		}
	}
}

func TestFilterAllocatesNothing(t *testing.T) {
	f := lex.NewFilter([]string{"visits", "patients"})
	sql := strings.Repeat("SELECT 1 + 2, ", 7)
	if n := testing.AllocsPerRun(100, func() { f.Matches(sql) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkFilter(b *testing.B) {
	f := lex.NewFilter([]string{"visits", "patients", "cust", "orders", "items"})
	sql := "SELECT n.nspname, c.relname, c.relkind FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
	for b.Loop() {
		f.Matches(sql)
	}
}
