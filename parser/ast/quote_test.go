package ast_test

import (
	"testing"

	"dpproxy/parser/ast"
)

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"":        "''",
		"it's":    "'it''s'",
		`a\b`:     `E'a\\b'`,
		`\'`:      `E'\\'''`,
		"$$;--/*": "'$$;--/*'",
	} {
		if got := ast.Quote(in); got != want {
			t.Errorf("%q: %s", in, got)
		}
	}
	if got := ast.QuoteIdent(`a"b`); got != `"a""b"` {
		t.Error(got)
	}
}
