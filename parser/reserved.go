package parser

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/lex"
	"dpproxy/pgerr"
)

// reserved refuses a text with a name that begins as those do which dpproxy makes up: in a tree of package ast nothing else tells them
// from a client's.
func reserved(l *locator) *pgerr.Error {
	for i, t := range l.toks {
		if (t.Kind == pg.Token_IDENT || t.Kind == pg.Token_UIDENT) && strings.HasPrefix(nameAt(l, i), ast.OwnPrefix) {
			return pgerr.New(pgerr.ReservedName, "names that begin with %s are dpproxy's own", ast.OwnPrefix).At(l.client(t.Start)).
				WithHint("Choose another name.")
		}
	}
	return nil
}

// nameAt is the name that the token at i means.
func nameAt(l *locator, i int) string {
	written := l.text[min(l.toks[i].Start, len(l.text)):min(l.toks[i].End, len(l.text))]
	switch {
	case l.toks[i].Kind == pg.Token_UIDENT: // its escapes are Postgres's business
		name := l.between(i, l.toks.Name(i))
		if tree, err := pg.Parse("SELECT FROM " + l.text[name.Start:name.End]); err == nil {
			return tree.Stmts[0].Stmt.GetSelectStmt().FromClause[0].GetRangeVar().GetRelname()
		}
	case strings.HasPrefix(written, `"`):
		return written[1:]
	}
	return lex.Lower(written)
}
