package parser

import (
	"sort"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/lex"
	"dpproxy/pgerr"
)

// Parse splits the text of a client into statements and classifies each. An
// error is a *pgerr.Error of a text that must be refused as a whole, since
// parsing it is not safe. Text that does not parse is one statement to relay:
// Postgres reports the mistake in its own words.
func Parse(sql string, cat ast.Names) (*Script, error) { return Text{SQL: sql}.Parse(cat) }

// Parse is [Parse] of a text that may have results in it.
func (t Text) Parse(cat ast.Names) (*Script, error) {
	sql := t.SQL
	if len(sql) > lex.MaxText {
		return nil, pgerr.New(pgerr.StatementTooComplex, "statement is longer than %d bytes", lex.MaxText).
			WithHint("Split the statement.")
	}
	if strings.IndexByte(sql, 0) >= 0 {
		return relayed(sql), nil // no message of the protocol can hold it
	}
	toks, comments, err := lex.Scan(sql)
	if err != nil {
		return relayed(sql), nil //nolint:nilerr // Postgres reports it.
	}
	if refusal := lex.Guard(toks); refusal != nil {
		return nil, refusal
	}
	tree, err := pg.Parse(lex.Blank(sql, toks, comments))
	if err != nil || len(tree.Stmts) == 0 {
		return relayed(sql), nil //nolint:nilerr // Postgres reports it.
	}
	script := &Script{}
	for _, raw := range tree.Stmts {
		script.Statements = append(script.Statements, t.statement(raw, toks, cat))
	}
	script.place(sql, comments, toks)
	return script, nil
}

func relayed(sql string) *Script {
	return &Script{Statements: []*Statement{{Text: sql, Class: Relay, Inner: Span{0, len(sql)}}}}
}

// statement cuts one statement out of the text and classifies it.
func (t Text) statement(raw *pg.RawStmt, toks []lex.Token, cat ast.Names) *Statement {
	start, end := int(raw.StmtLocation), len(t.SQL)
	if raw.StmtLen > 0 {
		end = start + int(raw.StmtLen)
	}
	st := &Statement{Text: t.SQL[start:end], Offset: start, Class: Relay, Inner: Span{0, end - start}}
	for _, s := range t.Unknown {
		st.Unknown = append(st.Unknown, Span{s.Start - start, s.End - start})
	}
	st.Plans = planCalls(st.Text, raw.Stmt)
	l := &locator{text: st.Text, base: start, toks: lex.Slice(toks, start, end)}
	st.Assigned = assignments(l, raw.Stmt)
	read(st, raw.Stmt, l, cat)
	if st.Class == Relay {
		st.Estimates = estimateCalls(l, raw.Stmt)
		var refusal *pgerr.Error
		if st.Survey, refusal = surveyCall(l, raw.Stmt); refusal != nil {
			st.refuse(refusal)
		}
		if st.Survey != nil && st.Survey.Explained {
			st.Inner = l.inner(raw.Stmt)
		}
	}
	return st
}

// place gives each comment to its statement, but for those that a statement begins with. Comments
// behind the last statement are its own.
func (s *Script) place(text string, comments []lex.Token, toks lex.Tokens) {
	for _, c := range comments {
		i := len(s.Statements) - 1
		for i > 0 && s.Statements[i].Offset > c.Start {
			i--
		}
		st := s.Statements[i]
		next := sort.Search(len(toks), func(i int) bool { return toks[i].Start >= c.End })
		if next == 0 || toks[next-1].Start < st.Offset {
			continue
		}
		st.Comments = append(st.Comments, Comment{
			At: c.Start - st.Offset, Text: text[c.Start:c.End],
			Query: st.Class == Explain && next < len(toks) && toks[next].Start-st.Offset == st.Inner.Start,
		})
	}
	for _, st := range s.Statements {
		leadBindings(st, toks)
	}
}

// read classifies a statement and rewrites its blocks. It begins again as long as there
// are views to expand.
func read(st *Statement, stmt *pg.Node, l *locator, cat ast.Names) {
	var views []ast.TableRef
	for depth := 0; ; depth++ {
		if refusal := reserved(l); refusal != nil {
			st.refuse(refusal)
			return
		}
		a := newAnalysis(l, cat)
		a.protected, a.expanded, a.unknown = views, views, st.Unknown
		(&classification{a, st, stmt}).classify()
		if len(a.views) == 0 {
			return
		}
		for _, v := range a.views {
			if v.function() == nil {
				views = append(views, v.ref)
			}
		}
		if override(st, a.views); st.Class == Refused {
			return
		}
		st.Protected = views
		if depth == maxViews {
			st.refuse(a.tooDeep())
			return
		}
		var err *pgerr.Error
		if l, stmt, err = a.expand(stmt); err != nil {
			st.refuse(err)
			return
		}
	}
}
