package lex

import (
	"strings"
	"unicode"

	pg "github.com/pganalyze/pg_query_go/v5"
)

// mostWords bounds the text of a statement in words, in bytes.
const mostWords = 2000

// Words returns a statement without its constants and comments: a question mark stands for
// each constant. Of a long one it is the beginning. A text that has no tokens has no words.
func Words(sql string) string {
	toks, _, err := Scan(sql)
	if err != nil {
		return ""
	}
	var out strings.Builder
	end := 0
	for i, t := range toks {
		if out.Len() > mostWords {
			return out.String() + " ..."
		}
		if i > 0 && t.Start > end {
			out.WriteByte(' ')
		}
		end = t.End
		switch t.Kind {
		case pg.Token_SCONST, pg.Token_USCONST, pg.Token_XCONST, pg.Token_BCONST, pg.Token_ICONST, pg.Token_FCONST:
			out.WriteByte('?')
		default:
			out.WriteString(strings.Map(shown, strings.ToValidUTF8(sql[t.Start:t.End], "?")))
		}
	}
	return out.String()
}

// shown is a letter of a quoted name as it is shown: none that a terminal obeys.
func shown(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return '?'
}
