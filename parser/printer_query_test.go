package parser_test

import (
	"strconv"
	"strings"

	"dpproxy/parser/ast"
)

// printedFrom returns the SQL text of an item of FROM, its tables named as the client did.
func printedFrom(f ast.From) string {
	var p printer
	p.from(f)
	return p.String()
}

func (p *printer) rows(r ast.Rows) {
	switch x := r.(type) {
	case *ast.Select:
		p.query(x)
	case *ast.UnionAll:
		p.seq("(", x.Left, ") UNION ALL (", x.Right, ")")
	}
}

func (p *printer) query(s *ast.Select) {
	p.put("SELECT", word(s.Distinct, " DISTINCT"))
	if len(s.First) > 0 {
		p.put(" DISTINCT ON (")
		p.list(s.First, ", ")
		p.put(")")
	}
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
	if len(s.Order) > 0 {
		p.put(" ORDER BY ")
		p.sorts(s.Order)
	}
	if l := s.Limit; l != nil {
		p.put(" OFFSET ", strconv.Itoa(l.Skipped), " FETCH FIRST ", strconv.Itoa(l.Rows), " ROWS ",
			word(l.WithTies, "WITH TIES"), word(!l.WithTies, "ONLY"))
	}
}

func (p *printer) target(t ast.Target) {
	switch {
	case t.X != nil:
		p.seq(t.X, " AS ", ast.QuoteIdent(t.Name))
	case t.Qualifier != "":
		p.put(ast.QuoteIdent(t.Qualifier), ".*")
	default:
		p.put("*")
	}
}

func (p *printer) from(f ast.From) {
	switch x := f.(type) {
	case *ast.Table:
		p.put(word(x.Only, "ONLY "))
		if x.Ref.Schema != "" {
			p.put(ast.QuoteIdent(x.Ref.Schema), ".")
		}
		p.put(ast.QuoteIdent(x.Ref.Name))
		if x.Alias != x.Ref.Name || x.Columns != nil {
			p.alias(x.Alias, x.Columns)
		}
	case *ast.Derived:
		p.seq("(", x.Query, ")")
		if x.Alias != "" {
			p.alias(x.Alias, x.Columns)
		}
	case *ast.Lateral:
		p.seq("LATERAL (", x.Query, ")")
		p.alias(x.Alias, x.Columns)
	case *ast.Row:
		p.put(word(x.Lateral, "LATERAL "), "(SELECT")
		for i, t := range x.Targets {
			p.put(word(i > 0, ","), " ")
			p.target(t)
		}
		p.put(")")
		p.alias(x.Alias, x.Columns)
	case *ast.Join:
		p.join(x)
	case *ast.Listed:
		p.listed(x)
	case *ast.Elements:
		p.seq("unnest(", x.Array, ")")
		p.alias(x.Alias, []string{x.Name})
	}
}

// listed prints a relation of constants as one function for each column.
func (p *printer) listed(x *ast.Listed) {
	p.put("ROWS FROM (")
	var names []string
	for i, l := range x.Lists {
		p.put(word(i > 0, ", "))
		names = append(names, l.Name)
		switch {
		case l.Query != "":
			p.put("unnest(ARRAY(", l.Query, "))")
		case l.Array != nil:
			p.seq("unnest(", l.Array, ")")
		default:
			p.put("generate_series(")
			p.list(l.Series, ", ")
			p.put(")")
		}
	}
	p.put(")")
	p.alias(x.Alias, names)
}

func (p *printer) alias(name string, columns []string) {
	p.put(" AS ", ast.QuoteIdent(name))
	if columns != nil {
		p.put("(", quoteList(columns), ")")
	}
}

func (p *printer) join(x *ast.Join) {
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

func joinWord(k ast.JoinKind) string {
	switch k {
	case ast.Inner:
		return "JOIN"
	case ast.Left:
		return "LEFT JOIN"
	case ast.Right:
		return "RIGHT JOIN"
	case ast.Full:
		return "FULL JOIN"
	case ast.Cross:
		return "CROSS JOIN"
	}
	return ""
}

func quoteList(names []string) string {
	quoted := make([]string, 0, len(names))
	for _, n := range names {
		quoted = append(quoted, ast.QuoteIdent(n))
	}
	return strings.Join(quoted, ", ")
}
