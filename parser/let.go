package parser

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/lex"
	"dpproxy/pgerr"
)

// A Let is a statement that uses results as if they were constants: let x1 = Release ..., x2 = Release ... in its body. Each binding is
// released by a statement of its own, or reads public rows alone, and its result stands in the texts that use it: those of later bindings,
// and the body.
type Let struct {
	// Bindings are the different queries whose results are used, each after those that it uses itself.
	Bindings []Binding
	body     template
}

// A Binding is a query whose result is used.
type Binding struct {
	As As
	// Public says that it reads public rows alone (constant_rows.go).
	Public bool
	// Alias is the name of the relation, of AsTable, if the statement gives it no other.
	Alias string
	// Keys are expressions of the query around it, of AsGroups and AsRanks: the first columns of the result are compared with them.
	Keys []string
	// Ranking says how the result tells a rank, of AsRanks.
	Ranking *Ranking

	query template
	at    int // the first place of its result
}

// As is what a released result is used as.
type As int

// The uses of a released result.
const (
	AsRows   As = iota // rows of a sub-select or of a WITH query
	AsTable            // rows in the place of a table
	AsList             // the values of IN (SELECT ...)
	AsArray            // the values of > ALL (SELECT ...), and of other comparisons than by = and <>
	AsValue            // one value
	AsGroups           // a value of each group
	AsRanks            // a window function that ranks rows
)

// maxBindings bounds the bindings of a statement that are released, and maxPlaces the places where results stand.
const (
	maxBindings = 4
	maxPlaces   = 32
)

// Constants are a result as it stands in a text. Of one that is not known they stand for others.
type Constants struct {
	SQL     string
	Unknown bool
}

// A Text is SQL with results in it. Unknown are the places of those that are not known.
type Text struct {
	SQL     string
	Unknown []Span
}

// Key tells texts apart.
func (t Text) Key() string {
	if len(t.Unknown) == 0 {
		return t.SQL
	}
	return fmt.Sprint(t.SQL, "\x00", t.Unknown)
}

// Query returns the text of a binding with the results of those before it.
func (b Binding) Query(results []Constants) Text { return b.query.fill(results) }

// Origin returns where a byte of that text is in the statement.
func (b Binding) Origin(at int, results []Constants) int { return b.query.origin(at, results, b.at) }

// Uses lists the bindings whose results a binding uses.
func (b Binding) Uses() []int { return b.query.holes() }

// Body returns the statement with the results of all bindings in it, or with other texts in their places.
func (l *Let) Body(results []Constants) Text { return l.body.fill(results) }

// Origin returns where a byte of that text is in the statement: of a result, where that stands.
func (l *Let) Origin(at int, results []Constants) int { return l.body.origin(at, results, 0) }

// A template is a text with holes for results.
type template []segment

// A segment is words, and perhaps the hole behind them.
type segment struct {
	words string
	at    int // the words in the statement; negative if it does not have them
	hole  int // the binding whose result stands there; negative if there is no hole
	place int // the hole in the statement
}

func (t template) fill(results []Constants) (out Text) {
	var b strings.Builder
	for _, s := range t {
		b.WriteString(s.words)
		if s.hole < 0 {
			continue
		}
		at := b.Len()
		b.WriteString(results[s.hole].SQL)
		if results[s.hole].Unknown {
			out.Unknown = append(out.Unknown, Span{at, b.Len()})
		}
	}
	out.SQL = b.String()
	return out
}

// origin is where a byte of the text is in the statement; otherwise, if it does not have that.
func (t template) origin(at int, results []Constants, otherwise int) int {
	for i, s := range t {
		if at < len(s.words) || i == len(t)-1 {
			if s.at < 0 {
				return otherwise
			}
			return s.at + at
		}
		if at -= len(s.words); s.hole < 0 {
			continue
		}
		if at < len(results[s.hole].SQL) {
			return s.place
		}
		at -= len(results[s.hole].SQL)
	}
	return otherwise
}

func (t template) holes() (list []int) {
	for _, s := range t {
		if s.hole >= 0 {
			list = append(list, s.hole)
		}
	}
	return list
}

// id tells bindings apart: of the same id the results are the same, and stand in the same words.
func (b Binding) id() string {
	var words []string
	for _, s := range b.query {
		words = append(words, s.words)
	}
	return fmt.Sprintf("%d %q %q %#v %q %d", b.As, b.Alias, b.Keys, b.Ranking, words, b.Uses())
}

// lets are the statement as a Let of what has to be one, and of all queries of public rows as well, nil if there are no more of them.
func (s *classification) lets(query *pg.Node) (let, all *Let) {
	let = seek(s.analysis, s.st.Text, query, false)
	if all = seek(s.analysis, s.st.Text, query, true); all != nil && let != nil && len(all.Bindings) == len(let.Bindings) {
		all = nil
	}
	return let, all
}

// let has a refused statement be evaluated as a Let, if it is one. One that ranks all rows, or needs public rows as constants, would be
// refused. One that might be refused has all public rows as constants in reserve.
func (s *classification) let(l, all *Let, class Class) {
	st := s.st
	if st.OnlyRows || st.Class == Relay || st.Class == Empty || s.changed != nil {
		return
	}
	if s.sets(l) {
		return
	}
	if s.sets(all) {
		all = nil
	}
	refused := st.Class == Refused || slices.ContainsFunc(st.Blocks, func(b *ast.Block) bool { return b.Err != nil })
	if all != nil && len(all.released()) <= maxBindings {
		st.Reserve = all
	}
	switch released := l.released(); {
	case l == nil, !refused && !l.isCertain():
	case len(released) > maxBindings:
		st.refuse(pgerr.New(pgerr.NotAllowed, "a statement over protected rows uses %d released results, and %d are allowed",
			len(released), maxBindings).At(released[maxBindings].at).
			WithHint("Keep some in a table first: CREATE TEMP TABLE t AS SELECT ..., and read it instead."))
	default:
		st.Class, st.Refusal, st.Let = class, nil, l
		st.Blocks, st.whole, st.inner, st.Concealed = nil, nil, nil, nil
	}
}

// isCertain reports whether the statement would be refused as it is written.
func (l *Let) isCertain() bool {
	return slices.ContainsFunc(l.Bindings, func(b Binding) bool { return b.As == AsRanks || b.Public })
}

// sets reports whether a query of public rows might set a setting of the statement: it is evaluated before that.
func (s *classification) sets(l *Let) bool {
	return l != nil && len(s.st.Assigned) > 0 && slices.ContainsFunc(l.Bindings, func(b Binding) bool { return b.Public })
}

// released are the bindings that do not read public rows alone.
func (l *Let) released() []Binding {
	if l == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(l.Bindings), func(b Binding) bool { return b.Public })
}

// leadBindings has bindings begin with the comments that the statement begins with, or the query of an EXPLAIN: they are of all.
func leadBindings(s *Statement, toks lex.Tokens) {
	if s.Let == nil && s.Reserve == nil {
		return
	}
	first := sort.Search(len(toks), func(i int) bool { return toks[i].Start >= s.Offset })
	comments := template{{words: s.Text[:toks[first].Start-s.Offset], at: -1, hole: -1}}
	for _, c := range s.Comments {
		if c.Query {
			comments = append(comments, segment{words: c.Text + "\n", at: -1, hole: -1})
		}
	}
	for _, l := range []*Let{s.Let, s.Reserve} {
		if l == nil {
			continue
		}
		for i := range l.Bindings {
			l.Bindings[i].query = slices.Concat(comments, l.Bindings[i].query)
		}
	}
}
