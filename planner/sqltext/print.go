package sqltext

import (
	"slices"
	"strconv"
	"strings"
)

// SQL prints the query in one line.
func (q *Select) SQL() string {
	p := &printer{}
	p.query(q)
	return p.String()
}

type printer struct {
	strings.Builder
	// meaning says that conditions are printed in an order of their own, each once, and those of inner joins with those of WHERE.
	meaning bool
}

func (p *printer) write(texts ...string) {
	for _, t := range texts {
		p.WriteString(t)
	}
}

func (p *printer) list(texts []string, between string) {
	for i, t := range texts {
		if i > 0 {
			p.WriteString(between)
		}
		p.WriteString(t)
	}
}

func (p *printer) query(q *Select) { p.queries(q, len(q.UnionAll) > 0) }

// queries prints a query and the queries united with it. A fence or an order of one of several queries needs parentheses.
func (p *printer) queries(q *Select, several bool) {
	for i, w := range q.With {
		if i == 0 {
			p.write("WITH ")
		} else {
			p.write(", ")
		}
		p.write(w.Name, " AS (")
		p.query(w.Query)
		p.write(")")
	}
	if len(q.With) > 0 {
		p.write(" ")
	}
	if several && (q.Fence || len(q.OrderBy) > 0) {
		p.write("(")
		p.core(q)
		p.write(")")
	} else {
		p.core(q)
	}
	for _, u := range q.UnionAll {
		p.write(" UNION ALL ")
		p.queries(u, true)
	}
}

// core prints one branch.
func (p *printer) core(q *Select) {
	if q.Distinct {
		p.different(q)
	} else {
		p.rows(q)
	}
	if q.Fence {
		p.write(" OFFSET 0")
	}
}

// different prints the different rows of a query as its groups by all columns. SELECT DISTINCT could stop: if a condition makes its columns
// constants, Postgres 16 and later read rows until the first one comes.
func (p *printer) different(q *Select) {
	names := make([]string, len(q.Columns))
	for i, c := range q.Columns {
		names[i] = c.As
	}
	p.write("SELECT ")
	p.list(names, ", ")
	p.write(" FROM (")
	p.rows(q)
	p.write(") AS d GROUP BY ")
	p.list(names, ", ")
}

func (p *printer) rows(q *Select) {
	p.write("SELECT ")
	if len(q.First) > 0 {
		p.write("DISTINCT ON (")
		p.list(q.First, ", ")
		p.write(") ")
	}
	for i, c := range q.Columns {
		if i > 0 {
			p.write(", ")
		}
		p.write(c.SQL)
		p.named(c.As)
	}
	p.write(" FROM ")
	from, where := q.From, q.Where
	if p.meaning {
		var met []string
		from, met = lifted(from)
		where = slices.Concat(where, met)
	}
	p.item(from)
	if where != nil {
		p.write(" WHERE ")
		p.conditions(where)
	}
	if len(q.GroupBy) > 0 {
		p.write(" GROUP BY ")
		p.list(q.GroupBy, ", ")
	}
	if q.Having != "" {
		p.write(" HAVING ", q.Having)
	}
	if len(q.OrderBy) > 0 {
		p.write(" ORDER BY ")
		p.list(q.OrderBy, ", ")
	}
	if q.Limit > 0 {
		p.write(" LIMIT ", strconv.Itoa(q.Limit))
	}
}

func (p *printer) named(as string) {
	if as != "" {
		p.write(" AS ", as)
	}
}

func (p *printer) conditions(conds []string) {
	if len(conds) == 0 {
		p.write(always)
	}
	if p.meaning {
		conds = slices.Compact(slices.Sorted(slices.Values(conds)))
	}
	p.list(conds, and)
}

// SQL prints the sub-select. Its other conditions mention the key, so that no other index can find rows. Because of the fence, Postgres
// looks rows up and does not join. The key is also compared with the other side by >= and <=, so that Postgres expects few rows, whatever
// it knows of the table. If Postgres expected many rows, it would read the table, in the hope that a row comes soon.
func (l *Look) SQL() string {
	p := &printer{}
	p.write("EXISTS (SELECT 1 FROM ")
	p.item(l.Table)
	p.write(" WHERE ", l.By)
	for _, bound := range []string{">=", "<="} {
		p.write(" AND ", l.Key, " OPERATOR(pg_catalog.", bound, ") ", l.Other)
	}
	if len(l.Where) > 0 {
		p.write(" AND CASE WHEN ", l.Key, " IS NULL THEN FALSE ELSE ")
		p.list(l.Where, and)
		p.write(" END")
	}
	p.write(" OFFSET 0)")
	return p.String()
}

const (
	always = "TRUE"
	and    = " AND "
)

func (p *printer) item(it Item) {
	switch it := it.(type) {
	case *Table:
		p.write(it.SQL)
		p.named(it.As)
	case *Query:
		p.write("(")
		p.query(it.Select)
		p.write(")")
		p.named(it.As)
	case *Join:
		p.join(it)
	case *Listed:
		if it.On == "" {
			p.join(&Join{Left: it.Item, Right: it.List})
		} else {
			p.join(&Join{Kind: Left, Left: it.Item, Right: it.List, On: []string{it.On}})
		}
	}
}

func (p *printer) join(j *Join) {
	p.item(j.Left)
	switch {
	case j.Kind == Left:
		p.write(" LEFT JOIN ")
	case j.Kind == full:
		p.write(" FULL JOIN ")
	case len(j.On) == 0:
		p.write(" CROSS JOIN ")
	default:
		p.write(" JOIN ")
	}
	if _, nested := j.Right.(*Join); nested {
		p.write("(")
		p.item(j.Right)
		p.write(")")
	} else {
		p.item(j.Right)
	}
	switch {
	case len(j.On) > 0:
		p.write(" ON ")
		p.conditions(j.On)
	case j.Kind != Inner:
		p.write(" ON ", always)
	}
}
