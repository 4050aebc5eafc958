package parser

import "strings"

// PrintRows returns the SQL text of a query below a block.
func PrintRows(r Rows) string {
	var p printer
	p.rows(r)
	return p.String()
}

// PrintFrom returns the SQL text of an item of FROM, its tables named as the client did.
func PrintFrom(f From) string {
	var p printer
	p.from(f)
	return p.String()
}

func (p *printer) rows(r Rows) {
	switch x := r.(type) {
	case *Select:
		p.query(x)
	case *UnionAll:
		p.seq("(", x.Left, ") UNION ALL (", x.Right, ")")
	}
}

func (p *printer) query(s *Select) {
	p.put("SELECT", word(s.Distinct, " DISTINCT"))
	for i, t := range s.Targets {
		p.put(word(i > 0, ","), " ")
		p.target(t)
	}
	if s.From != nil {
		p.put(" FROM ")
		p.from(s.From)
	}
	if s.Where != nil {
		p.seq(" WHERE ", s.Where)
	}
	if len(s.Groups) > 0 {
		p.put(" GROUP BY ")
		p.list(s.Groups, ", ")
	}
	if s.Having != nil {
		p.seq(" HAVING ", s.Having)
	}
}

func (p *printer) target(t Target) {
	switch {
	case t.X != nil:
		p.seq(t.X, " AS ", QuoteIdent(t.Name))
	case t.Qualifier != "":
		p.put(QuoteIdent(t.Qualifier), ".*")
	default:
		p.put("*")
	}
}

func (p *printer) from(f From) {
	switch x := f.(type) {
	case *Table:
		p.put(word(x.Only, "ONLY "))
		if x.Ref.Schema != "" {
			p.put(QuoteIdent(x.Ref.Schema), ".")
		}
		p.put(QuoteIdent(x.Ref.Name))
		if x.Alias != x.Ref.Name || x.Columns != nil {
			p.alias(x.Alias, x.Columns)
		}
	case *Derived:
		p.seq("(", x.Query, ")")
		if x.Alias != "" {
			p.alias(x.Alias, x.Columns)
		}
	case *Join:
		p.join(x)
	}
}

func (p *printer) alias(name string, columns []string) {
	p.put(" AS ", QuoteIdent(name))
	if columns != nil {
		p.put("(", quoteList(columns), ")")
	}
}

func (p *printer) join(x *Join) {
	p.put("(")
	p.from(x.Left)
	p.put(word(x.Natural, " NATURAL"), " ", joinWord(x.Kind), " ")
	p.from(x.Right)
	if x.On != nil {
		p.seq(" ON ", x.On)
	}
	if x.Using != nil {
		p.put(" USING (", quoteList(x.Using), ")")
	}
	p.put(")")
}

func joinWord(k JoinKind) string {
	switch k {
	case Inner:
		return "JOIN"
	case Left:
		return "LEFT JOIN"
	case Right:
		return "RIGHT JOIN"
	case Full:
		return "FULL JOIN"
	case Cross:
		return "CROSS JOIN"
	}
	return ""
}

func quoteList(names []string) string {
	quoted := make([]string, 0, len(names))
	for _, n := range names {
		quoted = append(quoted, QuoteIdent(n))
	}
	return strings.Join(quoted, ", ")
}
