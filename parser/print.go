package parser

import (
	"fmt"
	"strconv"
	"strings"
)

// Quote returns the literal as an SQL string, right under both settings of
// standard_conforming_strings.
func Quote(literal string) string {
	quoted := "'" + strings.ReplaceAll(literal, "'", "''") + "'"
	if strings.Contains(literal, `\`) {
		return "E" + strings.ReplaceAll(quoted, `\`, `\\`)
	}
	return quoted
}

// QuoteIdent returns the name as a quoted identifier.
func QuoteIdent(name string) string {
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// Print returns the SQL text of an expression. Operators and functions are
// those of pg_catalog whatever the search path; every operation is in parentheses.
func Print(x Expr) string {
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
		case Expr:
			p.expr(x)
		case Rows:
			p.rows(x)
		}
	}
}

func (p *printer) expr(x Expr) {
	switch x := x.(type) {
	case *Column:
		for _, part := range []string{x.Schema, x.Qualifier} {
			if part != "" {
				p.put(QuoteIdent(part), ".")
			}
		}
		p.put(QuoteIdent(x.Name))
	case *Const:
		p.literal(x)
	case *Param:
		p.put("$", strconv.Itoa(x.N))
	case *Cast:
		p.seq("CAST(", x.X, " AS ", printType(x.Type), ")")
	case *Op:
		p.operator(x)
	case *Bool:
		p.boolean(x)
	case *In:
		p.seq("(", x.X, not(x.Not), " IN (")
		p.list(x.List, ", ")
		p.put("))")
	case *Between:
		p.seq("(", x.X, not(x.Not), " BETWEEN ", word(x.Symmetric, "SYMMETRIC "), x.Low, " AND ", x.High, ")")
	case *IsNull:
		p.seq("(", x.X, " IS", not(x.Not), " NULL)")
	case *BoolTest:
		p.seq("(", x.X, " IS ", x.Kind, ")")
	case *Distinct:
		p.seq("(", x.Left, " IS", not(x.Not), " DISTINCT FROM ", x.Right, ")")
	case *Func:
		p.call(x)
	case *ValueFunc:
		p.put(x.Name)
	case *Case:
		p.conditional(x)
	case *Array:
		p.put("ARRAY[")
		p.list(x.Elems, ", ")
		p.put("]")
	case *AnyOf:
		p.seq("(", x.Left, " OPERATOR(pg_catalog.", x.Op, ") ", quantifier(x.All), " (", x.Array, "))")
	case *InQuery:
		p.seq("(", x.X, not(x.Not), " IN (", x.Query, "))")
	case *Exists:
		p.seq("EXISTS (", x.Query, ")")
	case *Subquery:
		p.put(x.Text)
	case *Aggregate:
		p.aggregate(x)
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

func (p *printer) list(list []Expr, between string) {
	for i, x := range list {
		if i > 0 {
			p.put(between)
		}
		p.expr(x)
	}
}

func (p *printer) literal(x *Const) {
	switch x.Kind {
	case Integer, Number:
		if strings.HasPrefix(x.Text, "-") {
			p.put("(", x.Text, ")")
			return
		}
		p.put(x.Text)
	case String:
		p.put(Quote(x.Text))
	case Boolean:
		p.put(strings.ToUpper(x.Text))
	case Null:
		p.put("NULL")
	}
}

func (p *printer) operator(x *Op) {
	p.put("(")
	if x.Left != nil {
		p.seq(x.Left, " ")
	}
	p.seq("OPERATOR(pg_catalog.", x.Name, ") ", x.Right, ")")
}

func (p *printer) boolean(x *Bool) {
	p.put("(")
	switch x.Kind {
	case Not:
		p.put("NOT ")
		p.list(x.Args, " ")
	case And:
		p.list(x.Args, " AND ")
	case Or:
		p.list(x.Args, " OR ")
	}
	p.put(")")
}

// call prints a function call. The four that are syntax and no functions are
// found in no schema.
func (p *printer) call(x *Func) {
	switch x.Name {
	case "coalesce", "nullif", "greatest", "least":
		p.put(strings.ToUpper(x.Name), "(")
	default:
		p.put("pg_catalog.", QuoteIdent(x.Name), "(")
	}
	p.list(x.Args, ", ")
	p.put(")")
}

func (p *printer) conditional(x *Case) {
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

func (p *printer) aggregate(x *Aggregate) {
	p.put("pg_catalog.", QuoteIdent(x.Func), "(", word(x.Star, "*"), word(x.Distinct, "DISTINCT "))
	p.list(x.Args, ", ")
	p.put(")")
	if x.Within != nil {
		p.seq(" WITHIN GROUP (ORDER BY ", x.Within, word(x.Descending, " DESC"), ")")
	}
	if x.Filter != nil {
		p.seq(" FILTER (WHERE ", x.Filter, ")")
	}
}

func printType(t TypeName) string {
	var b strings.Builder
	if t.Schema != "" {
		b.WriteString(QuoteIdent(t.Schema) + ".")
	}
	b.WriteString(QuoteIdent(t.Name))
	for i, m := range t.Mods {
		fmt.Fprintf(&b, "%s%d", []string{"(", ", "}[min(i, 1)], m)
	}
	b.WriteString(word(len(t.Mods) > 0, ")") + word(t.Array, "[]"))
	return b.String()
}
