package parser

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
)

// An Execute is EXECUTE name(arguments), by itself or inside another statement.
type Execute struct {
	Name string
	// Args are the texts of the arguments, without comments around them.
	Args []string
	At   int
	// Explained says that it stands in EXPLAIN, Measured that EXPLAIN would run it.
	Explained, Measured bool
	// Created says that it stands in CREATE TABLE AS.
	Created bool
}

// MentionsExecute reports whether a text may hold EXECUTE.
func MentionsExecute(sql string) bool {
	const word = "execute"
	for i := 0; i+len(word) <= len(sql); i++ {
		if (sql[i] == 'e' || sql[i] == 'E') && hasPrefixFold(sql[i:], word) {
			return true
		}
	}
	return false
}

// execution recognises EXECUTE, also in EXPLAIN and CREATE TABLE AS, and reports
// whether the statement is one.
func execution(st *Statement, stmt *pg.Node, l *locator) bool {
	x := &Execute{}
	if e := stmt.GetExplainStmt(); e != nil {
		x.Explained, x.Measured = true, measures(e)
		stmt = e.Query
	}
	if c := stmt.GetCreateTableAsStmt(); c != nil {
		x.Created = true
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
	x.Name, x.At, x.Args = e.Name, l.toks[i].start, l.arguments(l.toks.name(i+1))
	st.Class, st.Execute = Execution, x
	return true
}

func (l *locator) parameterised() bool {
	return slices.ContainsFunc(l.toks, func(t token) bool { return t.kind == pg.Token_PARAM })
}

// execute returns the index of the keyword EXECUTE, or -1: of the last such word
// outside of brackets that a name follows, and then arguments or the end.
func (l *locator) execute() int {
	for i, t := range slices.Backward(l.toks) {
		if t.kind != pg.Token_EXECUTE || t.depth > 0 || l.toks.kind(i-1) == dot {
			continue
		}
		next := l.toks.name(i + 1)
		if k := l.toks.kind(next); i+1 < len(l.toks) && (next >= len(l.toks) || k == openParen || k == pg.Token_WITH) {
			return i
		}
	}
	return -1
}

// arguments returns the texts between the bracket at i and the one that closes it.
func (l *locator) arguments(i int) []string {
	end := l.toks.closing(i)
	if l.toks.kind(i) != openParen || end < 0 {
		return nil
	}
	var args []string
	from := i + 1
	for j := from; j <= end; j++ {
		if j < end && (l.toks[j].kind != comma || l.toks[j].depth != l.toks[i].depth+1) {
			continue
		}
		if j > from {
			args = append(args, l.text[l.toks[from].start:l.toks[j-1].end])
		}
		from = j + 1
	}
	return args
}

// PreparedText returns the text of the query that PREPARE name AS prepares. Text is
// what the client sent, in which that PREPARE may stand among other statements. Ok is
// false if it does not stand there, or more than once, or cannot be parsed safely.
func PreparedText(text, name string) (query string, ok bool) {
	if len(text) > maxText {
		return "", false
	}
	toks, comments, err := scan(text)
	if err != nil || guard(toks) != nil {
		return "", false
	}
	tree, err := pg.Parse(blank(text, toks, comments))
	if err != nil {
		return "", false
	}
	found := slices.DeleteFunc(tree.Stmts, func(raw *pg.RawStmt) bool {
		p := raw.Stmt.GetPrepareStmt()
		return p == nil || p.Name != name
	})
	if len(found) != 1 {
		return "", false
	}
	start, end := int(found[0].StmtLocation), len(text)
	if found[0].StmtLen > 0 {
		end = start + int(found[0].StmtLen)
	}
	own := tokens(slice(toks, start, end))
	as := own.keyword(pg.Token_AS, 2, len(own), 0)
	if as < 0 || as+1 >= len(own) {
		return "", false
	}
	return strings.TrimSpace(text[start+own[as+1].start : end]), true
}
