package repair

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/lex"
	"dpproxy/parser/pgtree"
)

// A draft is a query that is edited.
type draft struct {
	*query
	contents [clauses]*string // of clauses that get another content
	edits    []edit           // of the rest
}

// draft begins with the text of a query.
func (q *query) draft() *draft { return &draft{query: q} }

// with begins with some clauses of a query. The other ones are left out, or set later.
func (q *query) with(keep ...clause) *draft {
	d := q.draft()
	for c := range clauses {
		if c != targets && !slices.Contains(keep, c) {
			d.set(c, "")
		}
	}
	return d
}

// set gives a clause another content. Without a content it is left out.
func (d *draft) set(c clause, content string) { d.contents[c] = &content }

// String writes the query.
func (d *draft) String() string {
	edits := slices.Clone(d.edits)
	for c, p := range d.parts {
		content := d.contents[c]
		switch {
		case content == nil:
		case *content == "":
			edits = append(edits, edit{p.all, ""})
		case d.has(clause(c)):
			edits = append(edits, edit{p.content, *content})
		default:
			edits = append(edits, edit{p.all, strings.TrimRight(" "+words[c], " ") + " " + *content})
		}
	}
	return d.edited(d.Span, edits...)
}

// changes reports whether anything is edited.
func (d *draft) changes() bool {
	return len(d.edits) > 0 || slices.ContainsFunc(d.contents[:], func(c *string) bool { return c != nil })
}

// put replaces a range.
func (d *draft) put(s pgtree.Span, by string) { d.edits = append(d.edits, edit{s, by}) }

// before and after put text beside a range.
func (d *draft) before(s pgtree.Span, by string) {
	d.put(pgtree.Span{Start: s.Start, End: s.Start}, by)
}

func (d *draft) after(s pgtree.Span, by string) { d.put(pgtree.Span{Start: s.End, End: s.End}, by) }

// replace puts text in the place of an expression.
func (d *draft) replace(n *pg.Node, by string) { d.edits = append(d.edits, d.instead(n, by)) }

// append puts text at the end of a clause that is present.
func (d *draft) append(c clause, by string) { d.after(d.parts[c].content, by) }

// require adds a condition to WHERE.
func (d *draft) require(condition string) {
	switch {
	case condition == "":
	case !d.has(where):
		d.set(where, condition)
	case isOr(d.WhereClause):
		d.before(d.parts[where].content, "(")
		d.append(where, ") AND "+condition)
	default:
		d.append(where, " AND "+condition)
	}
}

// without removes a condition from WHERE, with the AND beside it.
func (d *draft) without(n *pg.Node) {
	all := d.parts[where].content
	from, to := d.tokens(d.place(n))
	for d.toks.Kind(from-1) == lex.OpenParen && d.toks.Kind(to) == lex.CloseParen && d.toks[from-1].Start >= all.Start {
		from, to = from-1, to+1
	}
	s := d.between(from, to)
	switch {
	case s == all:
		d.set(where, "")
	case d.toks.Kind(from-1) == pg.Token_AND:
		d.put(pgtree.Span{Start: d.toks[from-2].End, End: s.End}, "")
	case d.toks.Kind(to) == pg.Token_AND:
		d.put(pgtree.Span{Start: s.Start, End: d.toks[to+1].Start}, "")
	default:
		d.nowhere()
	}
}

func isOr(n *pg.Node) bool { return n.GetBoolExpr().GetBoolop() == pg.BoolExprType_OR_EXPR }
