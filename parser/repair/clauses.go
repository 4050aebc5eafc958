package repair

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/lex"
	"dpproxy/parser/pgtree"
)

// A clause is a part of a SELECT.
type clause int

// The clauses, as they follow each other. The content of DISTINCT and LIMIT begins with these words.
const (
	distinct clause = iota
	targets
	into
	from
	where
	groups
	having
	windows
	order
	limit
	clauses // how many there are
)

// words are written before a clause.
var words = [clauses]string{
	distinct: "", targets: "", into: "INTO", from: "FROM", where: "WHERE", groups: "GROUP BY", having: "HAVING", windows: "WINDOW",
	order: "ORDER BY", limit: "",
}

// A query is a SELECT with the places of its clauses.
type query struct {
	*pg.SelectStmt
	*statement
	whole pgtree.Span // with WITH before it
	pgtree.Span
	parts [clauses]part
}

// A part is where a clause is: all of it, from the end of the clause before, and its content without its words. Of an absent clause both
// are empty, and lie where it would begin.
type part struct{ all, content pgtree.Span }

// located returns a SELECT; nil if its clauses are not found, as in VALUES or UNION. The search begins at the first item of its list or, if
// the list is empty, of FROM.
func (t *statement) located(sel *pg.SelectStmt) *query {
	first := -1
	if len(sel.GetTargetList()) > 0 {
		first = t.toks.IndexAt(int(sel.TargetList[0].GetResTarget().GetLocation()))
	} else if items := itemsOf(sel.GetFromClause()); len(items) > 0 {
		first = t.toks.IndexAt(t.item(items[0]).Start)
	}
	if first <= 0 {
		return nil
	}
	depth := t.toks[first].Depth
	begin := first - 1
	for begin >= 0 && (t.toks[begin].Depth > depth || t.toks[begin].Depth == depth && t.toks[begin].Kind != pg.Token_SELECT) {
		begin--
	}
	if begin < 0 || t.toks[begin].Depth < depth {
		return nil
	}
	q := &query{SelectStmt: sel, statement: t, Span: t.between(begin, t.toks.EndOfSelect(first, depth))}
	q.whole = q.Span
	if sel.WithClause != nil {
		q.whole.Start = int(sel.WithClause.Location)
	}
	q.divide()
	return q
}

// divide finds the clauses.
func (q *query) divide() {
	begin, end := q.tokens(q.Span)
	depth := q.toks[begin].Depth
	now, opened, content := targets, begin, begin+1
	for c := range clauses {
		q.parts[c] = q.none(begin)
	}
	ends := func(to int) {
		q.parts[now] = part{pgtree.Span{Start: q.toks[opened].End, End: q.toks[to-1].End}, q.none(to - 1).content}
		if content < to {
			q.parts[now].content = q.between(content, to)
		}
		for c := now + 1; c < clauses; c++ {
			q.parts[c] = q.none(to - 1)
		}
		opened = to - 1
	}
	if q.toks.Kind(content) == pg.Token_DISTINCT {
		now = distinct
		first := content + 1
		if q.toks.Kind(first) == pg.Token_ON {
			first = q.toks.Brackets(first + 1)
		}
		ends(first)
		now, content = targets, first
	}
	for i := content; i < end; i++ {
		next, length := q.clauseAt(i)
		if q.toks[i].Depth != depth || next <= now {
			continue
		}
		ends(i)
		now, content = next, i+length
		i += length
	}
	ends(end)
}

// none is the place of an absent clause, after a token.
func (q *query) none(token int) part {
	at := pgtree.Span{Start: q.toks[token].End, End: q.toks[token].End}
	return part{at, at}
}

// clauseAt returns the clause that begins with token i, 0 if none does, and how many words it has before its content.
func (q *query) clauseAt(i int) (c clause, length int) {
	if q.toks.Label(i) {
		return 0, 0
	}
	switch q.toks[i].Kind {
	case pg.Token_INTO:
		return into, 1
	case pg.Token_FROM:
		if q.toks.Kind(i-1) != pg.Token_DISTINCT {
			return from, 1
		}
	case pg.Token_WHERE:
		return where, 1
	case pg.Token_GROUP_P:
		if q.toks.Kind(i+1) == pg.Token_BY {
			return groups, 2
		}
	case pg.Token_HAVING:
		return having, 1
	case pg.Token_WINDOW:
		return windows, 1
	case pg.Token_ORDER:
		return order, 2
	case pg.Token_LIMIT, pg.Token_OFFSET, pg.Token_FETCH, pg.Token_FOR:
		return limit, 0
	}
	return 0, 0
}

// has reports whether a query has a clause.
func (q *query) has(c clause) bool { return q.parts[c].content.End > q.parts[c].content.Start }

// clause returns the text of a clause without its words.
func (q *query) clause(c clause) string {
	return q.sql[q.parts[c].content.Start:q.parts[c].content.End]
}

// items are the places of the items of the SELECT list, with their names.
func (q *query) items() []pgtree.Span {
	var out []pgtree.Span
	from, to := q.tokens(q.parts[targets].content)
	begin := from
	for i := from; i < to; i++ {
		if q.toks[i].Kind == lex.Comma && q.toks[i].Depth == q.toks[from].Depth {
			out = append(out, q.between(begin, i))
			begin = i + 1
		}
	}
	if out = append(out, q.between(begin, to)); len(out) != len(q.TargetList) {
		q.nowhere()
		return make([]pgtree.Span, len(q.TargetList))
	}
	return out
}
