package parser_test

import (
	"fmt"
	"strconv"
	"strings"

	"dpproxy/parser/ast"
)

// printed returns the SQL text of an expression. Operators and functions are
// those of pg_catalog whatever the search path; every operation is in parentheses.
func printed(x ast.Expr) string {
	var p printer
	p.expr(x)
	return p.String()
}

type printer struct{ strings.Builder }

func (p *printer) put(parts ...string) {
	for _, s := range parts {
		p.WriteString(s)
	}
}

// seq prints the parts in turn: strings as they are, expressions and queries printed.
func (p *printer) seq(parts ...any) {
	for _, part := range parts {
		switch x := part.(type) {
		case string:
			p.put(x)
		case ast.Expr:
			p.expr(x)
		case ast.Rows:
			p.rows(x)
		}
	}
}

func (p *printer) expr(x ast.Expr) {
	switch x := x.(type) {
	case *ast.Column:
		for _, part := range []string{x.Schema, x.Qualifier} {
			if part != "" {
				p.put(ast.QuoteIdent(part), ".")
			}
		}
		p.put(ast.QuoteIdent(x.Name))
	case *ast.Const:
		p.put(x.SQL())
	case *ast.Param:
		p.put("$", strconv.Itoa(x.N))
	case *ast.Cast:
		p.seq("CAST(", x.X, " AS ", printType(x.Type), ")")
	case *ast.Op:
		p.operator(x)
	case *ast.Bool:
		p.boolean(x)
	case *ast.In:
		p.seq("(", x.X, not(x.Not), " IN (")
		p.list(x.List, ", ")
		p.put("))")
	case *ast.Between:
		p.seq("(", x.X, not(x.Not), " BETWEEN ", word(x.Symmetric, "SYMMETRIC "), x.Low, " AND ", x.High, ")")
	case *ast.Field:
		p.seq("(", x.X)
		for i, k := range x.Keys {
			p.put(" OPERATOR(pg_catalog.->", word(x.Text && i == len(x.Keys)-1, ">"), ") ", ast.Quote(k))
		}
		p.put(")")
	case *ast.IsNull:
		p.seq("(", x.X, " IS", not(x.Not), " NULL)")
	case *ast.Searched:
		p.seq(x.X)
	case *ast.BoolTest:
		p.seq("(", x.X, " IS ", x.Kind, ")")
	case *ast.Distinct:
		p.seq("(", x.Left, " IS", not(x.Not), " DISTINCT FROM ", x.Right, ")")
	case *ast.Func:
		p.call(x)
	case *ast.ValueFunc:
		p.put(x.Name)
	case *ast.Case:
		p.conditional(x)
	case *ast.Array:
		p.put("ARRAY[")
		p.list(x.Elems, ", ")
		p.put("]")
	case *ast.AnyOf:
		p.seq("(", x.Left, " OPERATOR(pg_catalog.", x.Op, ") ", quantifier(x.All), " (", x.Array, "))")
	case *ast.InQuery:
		p.seq("(", x.X, not(x.Not), " IN (", x.Query, "))")
	case *ast.Exists:
		p.seq("EXISTS (", x.Query, ")")
	case *ast.ValueQuery:
		p.seq("(", x.Query, ")")
	case *ast.Quantified:
		p.seq("(", x.X, " OPERATOR(pg_catalog.", x.Op, ") ", quantifier(x.All), " (", x.Query, "))")
	case *ast.Subquery:
		p.put(x.Text)
	case *ast.Aggregate:
		p.aggregate(x)
	case *ast.Window:
		p.window(x)
	}
}

func quantifier(all bool) string {
	if all {
		return "ALL"
	}
	return "ANY"
}

func word(yes bool, w string) string {
	if yes {
		return w
	}
	return ""
}

func not(yes bool) string { return word(yes, " NOT") }

func (p *printer) list(list []ast.Expr, between string) {
	for i, x := range list {
		if i > 0 {
			p.put(between)
		}
		p.expr(x)
	}
}

func (p *printer) operator(x *ast.Op) {
	p.put("(")
	if x.Left != nil {
		p.seq(x.Left, " ")
	}
	p.seq("OPERATOR(pg_catalog.", x.Name, ") ", x.Right, ")")
}

func (p *printer) boolean(x *ast.Bool) {
	p.put("(")
	switch x.Kind {
	case ast.Not:
		p.put("NOT ")
		p.list(x.Args, " ")
	case ast.And:
		p.list(x.Args, " AND ")
	case ast.Or:
		p.list(x.Args, " OR ")
	}
	p.put(")")
}

// call prints a function call. The four that are syntax and no functions are
// found in no schema.
func (p *printer) call(x *ast.Func) {
	switch x.Name {
	case "coalesce", "nullif", "greatest", "least":
		p.put(strings.ToUpper(x.Name), "(")
	default:
		p.put("pg_catalog.", ast.QuoteIdent(x.Name), "(")
	}
	p.list(x.Args, ", ")
	p.put(")")
}

func (p *printer) conditional(x *ast.Case) {
	p.put("(CASE")
	if x.X != nil {
		p.seq(" ", x.X)
	}
	for _, w := range x.Whens {
		p.seq(" WHEN ", w.If, " THEN ", w.Then)
	}
	if x.Else != nil {
		p.seq(" ELSE ", x.Else)
	}
	p.put(" END)")
}

func (p *printer) aggregate(x *ast.Aggregate) {
	p.put("pg_catalog.", ast.QuoteIdent(x.Func), "(", word(x.Star, "*"), word(x.Distinct, "DISTINCT "))
	p.list(x.Args, ", ")
	p.put(")")
	if x.Within != nil {
		p.seq(" WITHIN GROUP (ORDER BY ", x.Within, word(x.Descending, " DESC"), ")")
	}
	if x.Filter != nil {
		p.seq(" FILTER (WHERE ", x.Filter, ")")
	}
}

func (p *printer) window(x *ast.Window) {
	p.aggregate(&ast.Aggregate{Func: x.Func, Star: x.Star, Args: x.Args, Filter: x.Filter})
	p.put(" OVER (")
	if len(x.Partition) > 0 {
		p.put("PARTITION BY ")
		p.list(x.Partition, ", ")
	}
	if len(x.Order) > 0 {
		p.put(word(len(x.Partition) > 0, " "), "ORDER BY ")
		p.sorts(x.Order)
	}
	if x.Frame != nil {
		p.put(" ROWS BETWEEN ", edge(x.Frame.From), " AND ", edge(x.Frame.To))
	}
	p.put(")")
}

func (p *printer) sorts(list []ast.Sort) {
	for i, s := range list {
		p.seq(word(i > 0, ", "), s.X, word(s.Descending, " DESC"), word(s.NullsFirst, " NULLS FIRST"), word(!s.NullsFirst, " NULLS LAST"))
	}
}

func edge(row int) string {
	switch {
	case row == ast.FirstRow:
		return "UNBOUNDED PRECEDING"
	case row == ast.LastRow:
		return "UNBOUNDED FOLLOWING"
	case row < 0:
		return strconv.Itoa(-row) + " PRECEDING"
	case row > 0:
		return strconv.Itoa(row) + " FOLLOWING"
	}
	return "CURRENT ROW"
}

func printType(t ast.TypeName) string {
	var b strings.Builder
	if t.Schema != "" {
		b.WriteString(ast.QuoteIdent(t.Schema) + ".")
	}
	b.WriteString(ast.QuoteIdent(t.Name))
	for i, m := range t.Mods {
		fmt.Fprintf(&b, "%s%d", []string{"(", ", "}[min(i, 1)], m)
	}
	b.WriteString(word(len(t.Mods) > 0, ")") + word(t.Array, "[]"))
	return b.String()
}
