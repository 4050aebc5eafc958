package sqltext

import (
	"iter"
	"slices"
	"strings"
)

// Unread proves that Postgres reads each relation of a statement, whatever rows the other relations have. The statement is the one that
// runs, as [Even] has written it. Unread considers the statement and its settings alone, not how they came about. It returns "", or the
// first thing that it cannot prove: then the statement must be refused. The rules:
//
//   - No query ends at a row. Postgres 16 and later read no more than the first row of DISTINCT ON, or the first rows that a condition on a
//     window's number leaves, if all expressions of DISTINCT ON or PARTITION BY are constants by a condition of the query or of one around
//     it. So one of them shows no constant ([Parted]).
//   - A query in an expression is read when the first row asks for it. So expressions have no queries but look-ups ([Look]), which find
//     rows of one unit by an index.
//   - The right side of an outer join is read if the left side surely has a row: the row that a chain begins with, or all rows of a
//     table. Both sides of a full join are read. Both sides of an inner join are read if both are all rows of tables, or joins of such
//     tables by foreign keys, which say that each row has a match.
//   - An outer join may link rows of another outer join's right side, of which conditions may leave none. Then it stays after that join:
//     Postgres joins in the order in which the joins are written.
//   - A join on the inner side of another one is linked by equalities of which Postgres concludes nothing: neither that a column is not
//     NULL nor which value it has.
//   - A public relation that no equality links is read for each row: its size is part of what a row may cost.
//   - If public rows alone decide whether a side has rows, an empty side reveals nothing about anybody.
//   - A condition on rows of joins is in a CASE that mentions all joined relations. Otherwise Postgres would apply the condition to one
//     relation first, which might have no rows then. For the same reason no condition from around a query with joins gets into it.
func Unread(q *Select, joins Joins) string {
	r := &reach{named: map[string]bool{}, ordered: joins.Ordered}
	r.query(q, true)
	return r.unread
}

// A reach is the proof of one statement.
type reach struct {
	named   map[string]bool // queries of WITH
	ordered bool            // joins run in the order in which they are written
	unread  string
}

func (r *reach) deny(what string) {
	if r.unread == "" {
		r.unread = what
	}
}

// A held is what is proved of an item.
type held struct {
	// surely says that it has a row, or all rows of a table.
	surely    bool
	protected bool
}

// query proves a query; alone says that there is no query around it.
func (r *reach) query(q *Select, alone bool) (protected bool) {
	for _, w := range q.With {
		r.query(w.Query, true)
		r.named[w.Name] = true
	}
	of := r.item(q.From)
	if of.protected && joins(q.From) {
		r.conditions(q)
		if !alone && !q.Fence {
			r.deny("conditions from around a query with joins")
		}
	}
	r.expressions(q)
	for _, u := range q.UnionAll {
		of.protected = r.query(u, alone) || of.protected
	}
	return of.protected
}

// conditions proves that conditions on rows of joins come after the joins.
func (r *reach) conditions(q *Select) {
	if q.Having != "" && !strings.HasPrefix(q.Having, afterGroups) {
		r.deny("a condition on groups of joined rows")
	}
	if !besidePublic(q.From) {
		r.after(q.Where, q.From)
	}
}

// after proves that conditions come after the joins of an item.
func (r *reach) after(conds []string, it Item) {
	for _, c := range conds {
		if !strings.HasPrefix(c, afterJoins) {
			r.deny("a condition before a join")
		}
		for _, name := range linked(it) {
			if !mentions(c, name) {
				r.deny("a condition that does not mention all relations of a join")
			}
		}
	}
}

// besidePublic reports whether an item joins one relation with public relations alone, and by no equality.
func besidePublic(it Item) bool {
	j, ok := it.(*Join)
	return !ok || len(j.Links) == 0 && (!protects(j.Left) || !protects(j.Right)) && besidePublic(j.Left) && besidePublic(j.Right)
}

// linked names the relations that equalities link, except in full joins and on the inner side of outer joins: no condition passes below
// such a join, and a CASE turns no such join into another one.
func linked(it Item) (list []string) {
	j, ok := it.(*Join)
	if !ok {
		return nil
	}
	for _, l := range j.Links {
		if j.Kind != full {
			list = append(list, l.Left.Of, l.Right.Of)
		}
	}
	if j.Kind != Left {
		list = append(list, linked(j.Right)...)
	}
	return append(list, linked(j.Left)...)
}

// parted proves that the expressions of DISTINCT ON and of windows are not all constants.
func (r *reach) parted(q *Select) {
	if len(q.First) > 0 && (len(q.First) == 1 || !strings.HasPrefix(q.First[1], apart)) {
		r.deny("rows that end at the first one")
	}
	for _, c := range q.Columns {
		for i, w := range strings.Split(c.SQL, " OVER (") {
			if i > 0 && !strings.Contains(w, ", "+apart) {
				r.deny("a window that ends at its first rows")
			}
		}
	}
}

// expressions proves that the expressions have no queries.
func (r *reach) expressions(q *Select) {
	r.parted(q)
	list := slices.Concat(q.First, q.Where, q.GroupBy, []string{q.Having}, q.OrderBy, on(q.From))
	for _, c := range q.Columns {
		list = append(list, c.SQL)
	}
	for _, x := range list {
		for _, l := range q.Looks {
			x = strings.ReplaceAll(x, l.SQL(), "")
		}
		if hasWord(x, "SELECT") {
			r.deny("a query in an expression")
		}
	}
}

// on lists the conditions of joins.
func on(it Item) []string {
	switch it := it.(type) {
	case *Join:
		return slices.Concat(on(it.Left), on(it.Right), it.On)
	case *Listed:
		return append(on(it.Item), it.On)
	case *Table, *Query:
	}
	return nil
}

func (r *reach) item(it Item) held {
	switch it := it.(type) {
	case *Table:
		if hasWord(it.SQL, "FROM") && strings.Contains(strings.ToUpper(it.SQL), `FROM "`) {
			r.deny("a table in a text")
		}
		return held{surely: !r.named[it.SQL], protected: it.Protected}
	case *Query:
		return held{protected: r.query(it.Select, false)}
	case *Join:
		return r.join(it)
	case *Listed:
		return held{protected: r.item(it.Item).protected}
	}
	return held{}
}

func (r *reach) join(j *Join) held {
	left, right := r.item(j.Left), r.item(j.Right)
	of := held{protected: left.protected || right.protected}
	unlinked := len(j.Links) == 0 && (!right.protected || !left.protected)
	if right.protected && j.Kind != Inner && joins(j.Right) {
		links, rest := j.conditions()
		r.after(rest, j.Right)
		if slices.ContainsFunc(links, func(l string) bool { return j.Kind == Left && !strings.HasPrefix(l, obscured) }) {
			r.deny("a link that tells of the rows of a join")
		}
	}
	switch j.Kind {
	case full:
		of.surely = left.surely || right.surely
	case Left:
		if of.surely = left.surely; !left.surely && left.protected && !unlinked {
			r.deny("the right side of an outer join")
		}
		if !r.ordered && of.protected && j.follows() {
			r.deny("the right side of an outer join behind another")
		}
	case Inner:
		of.surely = left.surely && right.surely && len(j.On) == 1 && len(j.Links) == 1 && j.Links[0].leads() && !j.Links[0].null()
		if of.protected && !unlinked && (!left.surely || !right.surely) {
			r.deny("a side of an inner join")
		}
	}
	return of
}

// leads reports whether each row of one side has a match.
func (k Link) leads() bool { return k.Left.Foreign || k.Right.Foreign }

// hasWord reports whether a text has a word, in any case, outside of quotes.
func hasWord(text, word string) bool {
	for w := range words(text) {
		if strings.EqualFold(w, word) {
			return true
		}
	}
	return false
}

// mentions reports whether a text has a column of the relation, outside of quotes.
func mentions(text, relation string) bool {
	for w := range words(text) {
		if strings.HasPrefix(w, relation+".") {
			return true
		}
	}
	return false
}

// words yields the words and the qualified names of a text, outside of quotes.
func words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := 0; i < len(text); i++ {
			switch c := text[i]; {
			case c == '\'' || c == '"':
				i += 1 + strings.IndexByte(text[i+1:], c)
			case isLetter(c):
				end := i + 1
				for end < len(text) && (isLetter(text[end]) || text[end] >= '0' && text[end] <= '9') {
					end++
				}
				if !yield(text[i:end]) {
					return
				}
				i = end - 1
			}
		}
	}
}
