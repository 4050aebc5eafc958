package parser

import (
	"errors"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5/parser"

	"dpproxy/parser/lex"
)

// Mistake returns Postgres's message about a text that does not parse, and at which character that is, from one on; an empty message of
// any other, and of one that it is not safe to parse.
func Mistake(text string) (message string, at int) {
	if len(text) > lex.MaxText || strings.IndexByte(text, 0) >= 0 {
		return "", 0
	}
	toks, _, err := lex.Scan(text)
	if err == nil && lex.Guard(toks) == nil {
		_, err = pg.ParseToProtobuf(text)
	}
	if mistake, ok := errors.AsType[*pg.Error](err); ok {
		return mistake.Message, mistake.Cursorpos
	}
	return "", 0
}
