package parser

import (
	"slices"
	"sort"
	"strings"

	"dpproxy/parser/ast"
	"dpproxy/parser/lex"
)

// A Prior is a query whose released result a block uses as if it were constants. It is answered before, as a
// statement of its own, and its result takes its place.
type Prior struct {
	// Form is what its result stands for.
	Form PriorForm
	// Uses are the Priors whose results stand in its text, by their places in the statement; all are before it.
	Uses []int
	// Keys are expressions of the query around it, of PriorGroups and PriorRanks: the first columns of its result are compared with them.
	Keys []string
	// Ranking says how its result tells a rank, of PriorRanks.
	Ranking *Ranking

	// parts are its text, around the results that it uses.
	parts []string
	// lead is the length of the comments that it begins with.
	lead int
	// span is its place in the statement: of a value with its brackets.
	span Span
	// verbatim says that its text is what stands there.
	verbatim bool
	// inside says that it stands in another one, and nowhere else.
	inside bool
}

// PriorForm is what the result of a Prior stands for.
type PriorForm int

// The forms of a Prior.
const (
	PriorRows   PriorForm = iota // rows of a sub-select or of a WITH query
	PriorList                    // the values of IN (SELECT ...)
	PriorValue                   // one value
	PriorGroups                  // a value of each group
	PriorRanks                   // a window function that ranks rows
)

// SQL returns its text, with the results of the Priors of the statement that are before it.
func (p Prior) SQL(results []string) string {
	var b strings.Builder
	for i, part := range p.parts {
		b.WriteString(part)
		if i < len(p.Uses) {
			b.WriteString(results[p.Uses[i]])
		}
	}
	return b.String()
}

// Before returns where a byte of its text is in the statement.
func (p Prior) Before(at int) int {
	if at -= p.lead; !p.verbatim || at < 0 || p.span.Start+at >= p.span.End {
		return p.span.Start
	}
	return p.span.Start + at
}

// maxPriors bounds the different queries that are answered before a statement, and maxFound the places where their results stand.
const (
	maxPriors = 4
	maxFound  = 16
)

// Priors are those of a statement, each behind those that it uses.
type Priors []Prior

// places lists those that stand in no other one, in text order.
func (ps Priors) places() (list []int) {
	for i, p := range ps {
		if !p.inside {
			list = append(list, i)
		}
	}
	slices.SortFunc(list, func(i, j int) int { return ps[i].span.Start - ps[j].span.Start })
	return list
}

// Twin returns the first that has the same form, the same text and the same results in it.
func (ps Priors) Twin(i int) int {
	for j, p := range ps[:i] {
		if ps[i].same(p, ps) {
			return j
		}
	}
	return i
}

func (p Prior) same(q Prior, ps Priors) bool {
	twins := func(i, j int) bool { return ps.Twin(i) == ps.Twin(j) }
	return p.Form == q.Form && slices.Equal(p.parts, q.parts) && slices.Equal(p.Keys, q.Keys) && p.Ranking.same(q.Ranking) &&
		slices.EqualFunc(p.Uses, q.Uses, twins)
}

// With returns the text of the statement with other texts in their places: values, or queries.
func (ps Priors) With(text string, results []string) string {
	var b strings.Builder
	at := 0
	for _, i := range ps.places() {
		b.WriteString(text[at:ps[i].span.Start])
		b.WriteString(results[i])
		at = ps[i].span.End
	}
	return b.String() + text[at:]
}

// Before returns where a byte of the text with results stood in the statement: in a result, where that takes its place.
func (ps Priors) Before(at int, results []string) int {
	moved := 0
	for _, i := range ps.places() {
		p := ps[i]
		start := p.span.Start + moved
		end := start + len(results[i])
		switch {
		case at < start:
			return at - moved
		case at < end:
			return p.span.Start
		}
		moved = end - p.span.End
	}
	return at - moved
}

// stage has a refused statement be answered after its Priors, if it has some. One that ranks all rows would be refused.
func (s *classification) stage(found []Prior, class Class) {
	st := s.st
	refused := st.Class == Refused || slices.ContainsFunc(st.Blocks, func(b *ast.Block) bool { return b.Err != nil })
	ranks := slices.ContainsFunc(found, func(p Prior) bool { return p.Form == PriorRanks })
	if len(found) == 0 || !refused && !ranks || st.OnlyRows || st.Class == Relay || st.Class == Empty || s.changed != nil {
		return
	}
	st.Class, st.Refusal, st.Priors = class, nil, found
	st.Blocks, st.whole, st.inner, st.Concealed = nil, nil, nil, nil
}

// leadPriors has them begin with the comments that the statement begins with, or the query of an EXPLAIN: they are of all.
func leadPriors(s *Statement, toks lex.Tokens) {
	if len(s.Priors) == 0 {
		return
	}
	first := sort.Search(len(toks), func(i int) bool { return toks[i].Start >= s.Offset })
	var comments strings.Builder
	comments.WriteString(s.Text[:toks[first].Start-s.Offset])
	for _, c := range s.Comments {
		if c.Query {
			comments.WriteString(c.Text + "\n")
		}
	}
	for i := range s.Priors {
		s.Priors[i].lead = comments.Len()
		s.Priors[i].parts[0] = comments.String() + s.Priors[i].parts[0]
	}
}
