package parser

import (
	"bytes"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/lex"
	"dpproxy/parser/pgtree"
)

// An Execute is EXECUTE name(arguments), by itself or inside another statement.
type Execute struct {
	Name string
	// Args are the texts of the arguments, without comments around them.
	Args []string
	// At and End are where it begins and ends in the statement's text.
	At, End int
	// Explained says that it stands in EXPLAIN, Measured that EXPLAIN would run it, and Verbose that it shows all of the plan.
	Explained, Measured, Verbose bool
	// Created says that it stands in CREATE TABLE AS, NoData that nothing is run there.
	Created, NoData bool
}

// Mentions reports whether a text that names nothing protected may hold a statement that is
// not Postgres's alone to run: EXECUTE, ALTER of a role, or set_config.
func Mentions(sql string) bool {
	for i := range len(sql) {
		switch sql[i] {
		case 'e', 'E':
			if lex.HasPrefixFold(sql[i:], "execute") {
				return true
			}
		case 'a', 'A':
			if lex.HasPrefixFold(sql[i:], "alter") {
				return true
			}
		case 's', 'S':
			if lex.HasPrefixFold(sql[i:], "set_config") {
				return true
			}
		}
	}
	return false
}

// execution recognises EXECUTE, also in EXPLAIN and CREATE TABLE AS, and reports
// whether the statement is one.
func execution(st *Statement, stmt *pg.Node, l *locator) bool {
	x := &Execute{}
	if e := stmt.GetExplainStmt(); e != nil {
		x.Explained, x.Measured, x.Verbose = true, pgtree.Executes(e), pgtree.Verbose(e)
		stmt = e.Query
	}
	if c := stmt.GetCreateTableAsStmt(); c != nil {
		x.Created, x.NoData = true, c.Into.GetSkipData()
		st.Destination.Made = newTable(c.Into.Rel)
		stmt = c.Query
	}
	e := stmt.GetExecuteStmt()
	if e == nil || l.parameterised() {
		return false // Postgres takes no parameters here
	}
	i := l.execute()
	if i < 0 {
		return false
	}
	next := l.toks.Name(i + 1)
	x.Name, x.At, x.Args = e.Name, l.toks[i].Start, l.arguments(next)
	x.End = l.between(i, max(l.brackets(next), next)).End
	st.Class, st.Execute = Execution, x
	return true
}

func (l *locator) parameterised() bool {
	return slices.ContainsFunc(l.toks, func(t lex.Token) bool { return t.Kind == pg.Token_PARAM })
}

// execute returns the index of the keyword EXECUTE, or -1: of the last such word
// outside of brackets that a name follows, and then arguments or the end.
func (l *locator) execute() int {
	for i, t := range slices.Backward(l.toks) {
		if t.Kind != pg.Token_EXECUTE || t.Depth > 0 || l.toks.Kind(i-1) == lex.Dot {
			continue
		}
		next := l.toks.Name(i + 1)
		if k := l.toks.Kind(next); i+1 < len(l.toks) && (next >= len(l.toks) || k == lex.OpenParen || k == pg.Token_WITH) {
			return i
		}
	}
	return -1
}

// arguments returns the texts between the bracket at i and the one that closes it.
func (l *locator) arguments(i int) []string {
	end := l.toks.Closing(i)
	if l.toks.Kind(i) != lex.OpenParen || end < 0 {
		return nil
	}
	var args []string
	from := i + 1
	for j := from; j <= end; j++ {
		if j < end && (l.toks[j].Kind != lex.Comma || l.toks[j].Depth != l.toks[i].Depth+1) {
			continue
		}
		if j > from {
			args = append(args, l.text[l.toks[from].Start:l.toks[j-1].End])
		}
		from = j + 1
	}
	return args
}

// Creating returns the text before and behind the query in the CREATE TABLE AS that does as
// s does, a CREATE TABLE AS EXECUTE of that query. Ok is false if no text does, as of a query that
// is no SELECT: the texts are put together with the query, parsed, and compared with the trees of
// both.
func (s *Statement) Creating(query *Statement) (before, after string, ok bool) {
	before, after = s.Text[:s.Execute.At], "\n"+s.Text[s.Execute.End:]
	spliced := query.Splice(func(int) string { return "(SELECT)" })
	inner, isOne := pgtree.CanonicalText(spliced)
	original, execution := createTableAs(s.Text)
	rewritten, created := createTableAs(before + spliced + after)
	if !isOne || query.Form != Query || execution == nil || created == nil {
		return "", "", false
	}
	put, _, _ := pgtree.Canonical(&pg.RawStmt{Stmt: created.Query})
	created.Query = execution.Query
	got, _, _ := pgtree.Canonical(&pg.RawStmt{Stmt: rewritten.Stmt})
	want, _, _ := pgtree.Canonical(&pg.RawStmt{Stmt: original.Stmt})
	return before, after, bytes.Equal(put, inner) && bytes.Equal(got, want)
}

// createTableAs returns the only statement of the text, if that is CREATE TABLE AS.
func createTableAs(text string) (*pg.RawStmt, *pg.CreateTableAsStmt) {
	tree, err := pg.Parse(lex.Uncommented(text))
	if err != nil || len(tree.Stmts) != 1 {
		return nil, nil
	}
	return tree.Stmts[0], tree.Stmts[0].Stmt.GetCreateTableAsStmt()
}

// Prepared returns the text of the query that PREPARE prepares; ok is false of all other statements.
func Prepared(text string) (query string, ok bool) {
	span, ok := PreparedSpan(text)
	return text[span.Start:span.End], ok
}

// PreparedSpan is where that query stands.
func PreparedSpan(text string) (query Span, ok bool) {
	if !lex.HasPrefixFold(strings.TrimSpace(lex.Uncommented(text)), "prepare") {
		return Span{}, false
	}
	tree, err := pg.Parse(lex.Uncommented(text))
	if err != nil || len(tree.Stmts) != 1 || tree.Stmts[0].Stmt.GetPrepareStmt() == nil {
		return Span{}, false
	}
	return preparedSpan(text, tree.Stmts[0].Stmt.GetPrepareStmt().Name)
}

// PreparedText returns the text of the query that PREPARE name AS prepares. Text is
// the message that the client sent, in which that PREPARE may stand among other statements. Ok is
// false if it does not stand there, or more than once, or cannot be parsed safely.
func PreparedText(text, name string) (query string, ok bool) {
	span, ok := preparedSpan(text, name)
	return text[span.Start:span.End], ok
}

func preparedSpan(text, name string) (query Span, ok bool) {
	if len(text) > lex.MaxText {
		return Span{}, false
	}
	toks, comments, err := lex.Scan(text)
	if err != nil || lex.Guard(toks) != nil {
		return Span{}, false
	}
	tree, err := pg.Parse(lex.Blank(text, toks, comments))
	if err != nil {
		return Span{}, false
	}
	found := slices.DeleteFunc(tree.Stmts, func(raw *pg.RawStmt) bool {
		p := raw.Stmt.GetPrepareStmt()
		return p == nil || p.Name != name
	})
	if len(found) != 1 {
		return Span{}, false
	}
	start, end := int(found[0].StmtLocation), len(text)
	if found[0].StmtLen > 0 {
		end = start + int(found[0].StmtLen)
	}
	own := lex.Tokens(lex.Slice(toks, start, end))
	as := own.Keyword(pg.Token_AS, 2, len(own), 0)
	if as < 0 || as+1 >= len(own) {
		return Span{}, false
	}
	query = Span{start + own[as+1].Start, end}
	query.End = query.Start + len(strings.TrimSpace(text[query.Start:end]))
	return query, true
}
