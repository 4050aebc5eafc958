package lex

import (
	"sort"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
	pgraw "github.com/pganalyze/pg_query_go/v5/parser"
	"google.golang.org/protobuf/encoding/protowire"
)

// A Token is a lexical token that is no comment. Depth counts the brackets
// around it; a bracket has the depth outside of it.
type Token struct {
	Start, End int
	Kind       pg.Token
	Depth      int
}

// Tokens of one character, as the scanner names them.
const (
	OpenParen    = pg.Token_ASCII_40
	CloseParen   = pg.Token_ASCII_41
	OpenBracket  = pg.Token_ASCII_91
	closeBracket = pg.Token_ASCII_93
	Comma        = pg.Token_ASCII_44
	Dot          = pg.Token_ASCII_46
	Star         = pg.Token_ASCII_42
	Semicolon    = pg.Token_ASCII_59
)

// Scan splits the text into tokens and comments. It fails where Postgres's
// lexer would.
func Scan(text string) (toks, comments []Token, err error) {
	raw, err := pgraw.ScanToProtobuf(text)
	if err != nil {
		return nil, nil, err
	}
	toks = make([]Token, 0, len(text)/4)
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
		if t.Kind == pg.Token_SQL_COMMENT || t.Kind == pg.Token_C_COMMENT {
			comments = append(comments, t)
			continue
		}
		if t.Kind == pg.Token_UIDENT || t.Kind == pg.Token_USCONST {
			t.End = unicodeEnd(text, t.Start)
		}
		if t.Kind == CloseParen || t.Kind == closeBracket {
			depth--
		}
		t.Depth = depth
		if t.Kind == OpenParen || t.Kind == OpenBracket {
			depth++
		}
		toks = append(toks, t)
	}
	return toks, comments, nil
}

// Blank overwrites comments with spaces. The parser cannot see past a comment
// where its grammar looks one word ahead: NULLS /* */ LAST, NOT /* */ IN.
func Blank(text string, toks Tokens, comments []Token) string {
	if len(comments) == 0 {
		return text
	}
	out := []byte(text)
	for _, c := range comments {
		next := sort.Search(len(toks), func(i int) bool { return toks[i].Start >= c.End })
		if c.Kind == pg.Token_C_COMMENT && toks.Kind(next-1) == pg.Token_SCONST && toks.Kind(next) == pg.Token_SCONST {
			// Without it the two literals could run together into one.
			continue
		}
		for i := c.Start; i < min(c.End, len(out)); i++ {
			out[i] = ' '
		}
	}
	return string(out)
}

// Uncommented is [Blank] for a text that is not scanned yet.
func Uncommented(text string) string {
	if !strings.Contains(text, "--") && !strings.Contains(text, "/*") {
		return text
	}
	toks, comments, err := Scan(text)
	if err != nil {
		return text
	}
	return Blank(text, toks, comments)
}

func decodeToken(message []byte) Token {
	var t Token
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
			t.Start = int(value)
		case 2:
			t.End = int(value)
		case 4:
			t.Kind = pg.Token(value)
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

// Slice returns the tokens inside [start, end), their offsets counted from start.
func Slice(toks []Token, start, end int) []Token {
	from := sort.Search(len(toks), func(i int) bool { return toks[i].Start >= start })
	to := sort.Search(len(toks), func(i int) bool { return toks[i].Start >= end })
	if start == 0 {
		return toks[from:to]
	}
	out := make([]Token, to-from)
	for i, t := range toks[from:to] {
		t.Start -= start
		t.End -= start
		out[i] = t
	}
	return out
}

// Tokens is the token list of one statement.
type Tokens []Token

// IndexAt returns the index of the token that begins at the offset or holds it; -1
// if there is none.
func (ts Tokens) IndexAt(offset int) int {
	i := sort.Search(len(ts), func(i int) bool { return ts[i].End > offset })
	if i < len(ts) && ts[i].Start <= offset {
		return i
	}
	return -1
}

// Kind is that of token i; NUL if there is none.
func (ts Tokens) Kind(i int) pg.Token {
	if i < 0 || i >= len(ts) {
		return pg.Token_NUL
	}
	return ts[i].Kind
}

// Label reports whether token i stands where a name must: after a dot or AS.
// There a keyword is no keyword.
func (ts Tokens) Label(i int) bool {
	k := ts.Kind(i - 1)
	return k == Dot || k == pg.Token_AS
}

// Closing returns the index of the bracket that closes the one at i, or -1.
func (ts Tokens) Closing(i int) int {
	for j := i + 1; j < len(ts); j++ {
		if ts[j].Depth == ts[i].Depth {
			return j
		}
	}
	return -1
}

// Brackets returns the index after the bracketed list at i, or -1.
func (ts Tokens) Brackets(i int) int {
	if ts.Kind(i) != OpenParen {
		return -1
	}
	end := ts.Closing(i)
	if end < 0 {
		return -1
	}
	return end + 1
}

// EndOfSelect returns the index after the last token of the SELECT that holds
// token i.
func (ts Tokens) EndOfSelect(i, depth int) int {
	for ; i < len(ts); i++ {
		if ts[i].Depth < depth {
			return i
		}
		if ts[i].Depth > depth || ts.Label(i) {
			continue
		}
		switch ts[i].Kind {
		case Semicolon, pg.Token_UNION, pg.Token_INTERSECT, pg.Token_EXCEPT, pg.Token_RETURNING:
			return i
		case pg.Token_ON:
			after := ts.Kind(i + 2)
			if ts.Kind(i+1) == pg.Token_CONFLICT && (after == OpenParen || after == pg.Token_DO || after == pg.Token_ON) {
				return i
			}
		case pg.Token_WITH:
			switch ts.Kind(i + 1) {
			case pg.Token_DATA_P, pg.Token_NO, pg.Token_CHECK, pg.Token_LOCAL, pg.Token_CASCADED:
				return i
			}
		}
	}
	return len(ts)
}

// Name returns the index after the (possibly Unicode-escaped) name at i.
func (ts Tokens) Name(i int) int {
	if ts.Kind(i) == pg.Token_UIDENT && ts.Kind(i+1) == pg.Token_UESCAPE {
		return i + 3
	}
	return i + 1
}

// Dotted returns the index after the dotted name at i.
func (ts Tokens) Dotted(i int) int {
	i = ts.Name(i)
	for ts.Kind(i) == Dot {
		i = ts.Name(i + 1)
	}
	return i
}

// Keyword returns the index of the first token of that kind in [from, to) at
// the depth, or -1; a label is no keyword.
func (ts Tokens) Keyword(kind pg.Token, from, to, depth int) int {
	for i := from; i < to && i < len(ts); i++ {
		if ts[i].Kind == kind && ts[i].Depth == depth && !ts.Label(i) {
			return i
		}
	}
	return -1
}

// IsWord reports whether the byte can be part of an identifier, a keyword or
// a number, or opens something that would glue to one.
func IsWord(c byte) bool {
	return c == '_' || c == '$' || c == '"' || c == '\'' || c == '&' || c >= 0x80 ||
		'0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// Lower folds ASCII letters, as Postgres does in a UTF-8 database.
func Lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
