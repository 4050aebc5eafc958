package parser

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/lex"
)

// inner returns where the query inside the statement stands; it is the whole
// text of a statement that is a query itself.
func (l *locator) inner(stmt *pg.Node) Span {
	from, to := l.innerTokens(stmt, 0)
	if from < 0 || from >= to {
		return Span{0, len(l.text)}
	}
	if from == 0 && to == len(l.toks) {
		return Span{0, len(l.text)}
	}
	return l.between(from, to)
}

// innerTokens returns the tokens of the query of a statement that begins at
// token i and ends with the text.
func (l *locator) innerTokens(stmt *pg.Node, i int) (from, to int) {
	end := len(l.toks)
	switch x := stmt.GetNode().(type) {
	case *pg.Node_CopyStmt:
		// COPY ( query ) TO ...
		return i + 2, l.toks.Closing(i + 1)
	case *pg.Node_DeclareCursorStmt:
		return l.toks.Keyword(pg.Token_FOR, i+1, end, 0) + 1, end
	case *pg.Node_CreateTableAsStmt:
		from := i
		for from < end && (l.toks[from].Kind != pg.Token_AS || l.toks[from].Depth > 0) {
			from++
		}
		return from + 1, l.withoutData(end)
	case *pg.Node_ExplainStmt:
		return l.innerTokens(x.ExplainStmt.Query, l.explained(i+1, x.ExplainStmt))
	}
	return i, end
}

// explained returns the index after EXPLAIN and its options.
func (l *locator) explained(i int, e *pg.ExplainStmt) int {
	if len(e.Options) > 0 && l.toks.Kind(i) == lex.OpenParen {
		return l.toks.Closing(i) + 1
	}
	for range e.Options {
		switch l.toks.Kind(i) {
		case pg.Token_ANALYZE, pg.Token_ANALYSE, pg.Token_VERBOSE:
			i++
		}
	}
	return i
}

// withoutData returns the end without a trailing WITH DATA.
func (l *locator) withoutData(end int) int {
	if l.toks.Kind(end-1) == pg.Token_DATA_P && l.toks.Kind(end-2) == pg.Token_WITH {
		return end - 2
	}
	return end
}

// into returns the span of INTO [TEMP] [TABLE] name in SELECT INTO.
func (l *locator) into(clause *pg.IntoClause) Span {
	name := l.toks.IndexAt(int(clause.Rel.GetLocation()) - l.base)
	for i := name - 1; i >= 0; i-- {
		if l.toks[i].Kind == pg.Token_INTO {
			return l.between(i, l.toks.Dotted(name))
		}
	}
	return Span{}
}

// withQuery returns where a WITH query stands with its name: name (columns) AS (query).
func (l *locator) withQuery(c *pg.CommonTableExpr) (Span, bool) {
	from := l.toks.IndexAt(int(c.Location) - l.base)
	if from < 0 {
		return Span{}, false
	}
	i := l.toks.Keyword(pg.Token_AS, from+1, len(l.toks), l.toks[from].Depth)
	for i > 0 && i < len(l.toks) && l.toks.Kind(i) != lex.OpenParen {
		i++
	}
	end := l.brackets(i)
	if i < 0 || end < 0 {
		return Span{}, false
	}
	return l.between(from, end), true
}

// enclosed is the text of a sub-select between its brackets.
func (l *locator) enclosed(sel *pg.SelectStmt) (Span, bool) {
	i := l.toks.IndexAt(int(selectLocation(sel)) - l.base)
	if i < 0 {
		return Span{}, false
	}
	for j := i - 1; j >= 0; j-- {
		if l.toks[j].Kind != lex.OpenParen || l.toks[j].Depth != l.toks[i].Depth-1 {
			continue
		}
		end := l.toks.Closing(j)
		if k := l.toks.Kind(j + 1); end < 0 || k != pg.Token_SELECT && k != pg.Token_WITH {
			return Span{}, false
		}
		return Span{l.toks[j].End, l.toks[end].Start}, true
	}
	return Span{}, false
}
