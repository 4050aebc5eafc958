package parser_test

import (
	"testing"

	"dpproxy/parser"
	"dpproxy/parser/parsertest"
)

// TestFingerprint holds that comments and constants change nothing, also where the grammar
// looks one word ahead.
func TestFingerprint(t *testing.T) {
	digest := func(sql string) string {
		t.Helper()
		script, err := parser.Parse(sql, parsertest.Clinic)
		if err != nil {
			t.Fatal(err)
		}
		f, err := script.Statements[0].Fingerprint()
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		return f
	}
	plain := digest("SELECT a FROM b WHERE c NOT IN (1, 2) ORDER BY a NULLS LAST")
	if got := digest("SELECT a /* x */ FROM b WHERE c NOT /* IN */ IN (3, 4) ORDER BY a NULLS --\nLAST"); got != plain {
		t.Errorf("comments make %s of %s", got, plain)
	}
	if got := digest("SELECT a FROM b WHERE c NOT IN (1, 2) ORDER BY a NULLS FIRST"); got == plain {
		t.Error("another order has the same fingerprint")
	}
}
