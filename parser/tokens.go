package parser

import (
	"sort"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
	pgraw "github.com/pganalyze/pg_query_go/v5/parser"
	"google.golang.org/protobuf/encoding/protowire"
)

// A token is a lexical token that is no comment. Depth counts the brackets
// around it; a bracket has the depth outside of it.
type token struct {
	start, end int
	kind       pg.Token
	depth      int
}

const (
	openParen    = pg.Token_ASCII_40
	closeParen   = pg.Token_ASCII_41
	openBracket  = pg.Token_ASCII_91
	closeBracket = pg.Token_ASCII_93
	comma        = pg.Token_ASCII_44
	dot          = pg.Token_ASCII_46
	star         = pg.Token_ASCII_42
	semicolon    = pg.Token_ASCII_59
)

// scan splits the text into tokens and comments. It fails where Postgres's
// lexer would.
func scan(text string) (toks, comments []token, err error) {
	raw, err := pgraw.ScanToProtobuf(text)
	if err != nil {
		return nil, nil, err
	}
	toks = make([]token, 0, len(text)/4)
	depth := 0
	for len(raw) > 0 {
		field, kind, n := protowire.ConsumeTag(raw)
		raw = raw[max(n, 0):]
		if kind != protowire.BytesType {
			raw = raw[max(protowire.ConsumeFieldValue(field, kind, raw), 0):]
			continue
		}
		message, n := protowire.ConsumeBytes(raw)
		raw = raw[max(n, 0):]
		t := decodeToken(message)
		if t.kind == pg.Token_SQL_COMMENT || t.kind == pg.Token_C_COMMENT {
			comments = append(comments, t)
			continue
		}
		if t.kind == pg.Token_UIDENT || t.kind == pg.Token_USCONST {
			t.end = unicodeEnd(text, t.start)
		}
		if t.kind == closeParen || t.kind == closeBracket {
			depth--
		}
		t.depth = depth
		if t.kind == openParen || t.kind == openBracket {
			depth++
		}
		toks = append(toks, t)
	}
	return toks, comments, nil
}

// blank overwrites comments with spaces. The parser cannot see past a comment
// where its grammar looks one word ahead: NULLS /* */ LAST, NOT /* */ IN.
func blank(text string, toks tokens, comments []token) string {
	if len(comments) == 0 {
		return text
	}
	out := []byte(text)
	for _, c := range comments {
		next := sort.Search(len(toks), func(i int) bool { return toks[i].start >= c.end })
		if c.kind == pg.Token_C_COMMENT && toks.kind(next-1) == pg.Token_SCONST && toks.kind(next) == pg.Token_SCONST {
			// Without it the two literals could run together into one.
			continue
		}
		for i := c.start; i < min(c.end, len(out)); i++ {
			out[i] = ' '
		}
	}
	return string(out)
}

// uncommented is blank for a text that is not scanned yet.
func uncommented(text string) string {
	if !strings.Contains(text, "--") && !strings.Contains(text, "/*") {
		return text
	}
	toks, comments, err := scan(text)
	if err != nil {
		return text
	}
	return blank(text, toks, comments)
}

func decodeToken(message []byte) token {
	var t token
	for len(message) > 0 {
		field, _, n := protowire.ConsumeTag(message)
		message = message[max(n, 0):]
		value, n := protowire.ConsumeVarint(message)
		if n < 0 {
			break
		}
		message = message[n:]
		switch field {
		case 1:
			t.start = int(value)
		case 2:
			t.end = int(value)
		case 4:
			t.kind = pg.Token(value)
		}
	}
	return t
}

// unicodeEnd finds the end of U&'..' or U&"..", for which the scanner reports
// a wrong one.
func unicodeEnd(text string, start int) int {
	open := start + 2
	if open >= len(text) {
		return len(text)
	}
	quote := text[open]
	for i := open + 1; i < len(text); i++ {
		if text[i] != quote {
			continue
		}
		if i+1 < len(text) && text[i+1] == quote {
			i++
			continue
		}
		return i + 1
	}
	return len(text)
}

// slice returns the tokens inside [start, end), their offsets counted from start.
func slice(toks []token, start, end int) []token {
	from := sort.Search(len(toks), func(i int) bool { return toks[i].start >= start })
	to := sort.Search(len(toks), func(i int) bool { return toks[i].start >= end })
	if start == 0 {
		return toks[from:to]
	}
	out := make([]token, to-from)
	for i, t := range toks[from:to] {
		t.start -= start
		t.end -= start
		out[i] = t
	}
	return out
}

// tokens is the token list of one statement.
type tokens []token

// indexAt returns the index of the token that begins at the offset or holds it; -1
// if there is none.
func (ts tokens) indexAt(offset int) int {
	i := sort.Search(len(ts), func(i int) bool { return ts[i].end > offset })
	if i < len(ts) && ts[i].start <= offset {
		return i
	}
	return -1
}

func (ts tokens) kind(i int) pg.Token {
	if i < 0 || i >= len(ts) {
		return pg.Token_NUL
	}
	return ts[i].kind
}

// label reports whether token i stands where a name must: after a dot or AS.
// There a keyword is no keyword.
func (ts tokens) label(i int) bool {
	k := ts.kind(i - 1)
	return k == dot || k == pg.Token_AS
}

// closing returns the index of the bracket that closes the one at i, or -1.
func (ts tokens) closing(i int) int {
	for j := i + 1; j < len(ts); j++ {
		if ts[j].depth == ts[i].depth {
			return j
		}
	}
	return -1
}

// name returns the index after the (possibly Unicode-escaped) name at i.
func (ts tokens) name(i int) int {
	if ts.kind(i) == pg.Token_UIDENT && ts.kind(i+1) == pg.Token_UESCAPE {
		return i + 3
	}
	return i + 1
}

// dotted returns the index after the dotted name at i.
func (ts tokens) dotted(i int) int {
	i = ts.name(i)
	for ts.kind(i) == dot {
		i = ts.name(i + 1)
	}
	return i
}

// keyword returns the index of the first token of that kind in [from, to) at
// the depth, or -1; a label is no keyword.
func (ts tokens) keyword(kind pg.Token, from, to, depth int) int {
	for i := from; i < to && i < len(ts); i++ {
		if ts[i].kind == kind && ts[i].depth == depth && !ts.label(i) {
			return i
		}
	}
	return -1
}

// isWord reports whether the byte can be part of an identifier, a keyword or
// a number, or opens something that would glue to one.
func isWord(c byte) bool {
	return c == '_' || c == '$' || c == '"' || c == '\'' || c == '&' || c >= 0x80 ||
		'0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// lower folds ASCII letters, as Postgres does in a UTF-8 database.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
