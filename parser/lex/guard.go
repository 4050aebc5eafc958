package lex

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/pgerr"
)

// The C parser recurses once per link of a chain of operators and has no stack
// guard, so a long chain would take the process down. It is safe from about
// 1,000 links on a stack of 1 MiB; brackets and prefixes are stopped by the
// grammar itself, but are bounded here so that the steps behind stay cheap.
const (
	MaxText  = 256 << 10 // of a statement, in bytes
	maxChain = 1000
	maxDepth = 250
)

// Guard refuses text that must not reach the parser. Literals and the commas
// between them do not count, so a long IN list passes.
func Guard(toks []Token) *pgerr.Error {
	links := 0
	for i, t := range toks {
		if t.Kind == Semicolon && t.Depth <= 0 {
			links = 0
		}
		if t.Depth > maxDepth {
			return tooComplex(t, "brackets are nested deeper than %d", maxDepth)
		}
		if chains(toks, i) {
			links++
		}
		if links > maxChain {
			return tooComplex(t, "statement has more than %d operators", maxChain)
		}
	}
	return nil
}

func tooComplex(t Token, format string, limit int) *pgerr.Error {
	return pgerr.New(pgerr.StatementTooComplex, format, limit).At(t.Start).
		WithHint("Split the statement, or use IN (...) or a temporary table instead of a chain of conditions.")
}

func chains(toks []Token, i int) bool {
	switch k := toks[i].Kind; k {
	case pg.Token_ASCII_43, pg.Token_ASCII_45, Star:
		// A sign after a bracket or a comma begins an operand: (-1, -2); so
		// does the star of count(*).
		before := Tokens(toks).Kind(i - 1)
		return before != OpenParen && before != OpenBracket && before != Comma && before != Dot
	case pg.Token_Op, pg.Token_ASCII_37, pg.Token_ASCII_47, pg.Token_ASCII_60, pg.Token_ASCII_61,
		pg.Token_ASCII_62, pg.Token_ASCII_63, pg.Token_ASCII_94, pg.Token_LESS_EQUALS, pg.Token_GREATER_EQUALS,
		pg.Token_NOT_EQUALS, pg.Token_TYPECAST, pg.Token_COLON_EQUALS, pg.Token_EQUALS_GREATER:
		return true
	case pg.Token_COLLATE, pg.Token_AT, pg.Token_IS, pg.Token_ISNULL, pg.Token_NOTNULL, pg.Token_AND, pg.Token_OR,
		pg.Token_NOT, pg.Token_UNION, pg.Token_INTERSECT, pg.Token_EXCEPT, pg.Token_JOIN, pg.Token_CASE,
		pg.Token_LIKE, pg.Token_ILIKE, pg.Token_SIMILAR, pg.Token_BETWEEN, pg.Token_IN_P, pg.Token_OVERLAPS,
		pg.Token_OPERATOR, pg.Token_ESCAPE:
		return true
	}
	return false
}
