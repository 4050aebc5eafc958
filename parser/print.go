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

// seq prints the parts in turn: strings as they are, expressions printed.
func (p *printer) seq(parts ...any) {
	for _, part := range parts {
		switch x := part.(type) {
		case string:
			p.put(x)
		case Expr:
			p.expr(x)
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
	}
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

// operands returns the expressions directly below x.
func operands(x Expr) []Expr {
	switch x := x.(type) {
	case *Column, *Const, *Param, *ValueFunc:
		return nil
	case *Cast:
		return []Expr{x.X}
	case *Op:
		if x.Left == nil {
			return []Expr{x.Right}
		}
		return []Expr{x.Left, x.Right}
	case *Bool:
		return x.Args
	case *In:
		return append([]Expr{x.X}, x.List...)
	case *Between:
		return []Expr{x.X, x.Low, x.High}
	case *IsNull:
		return []Expr{x.X}
	case *BoolTest:
		return []Expr{x.X}
	case *Distinct:
		return []Expr{x.Left, x.Right}
	case *Func:
		return x.Args
	}
	return nil
}

// ColumnFree reports whether no column occurs in x: its value is the same for
// all rows.
func ColumnFree(x Expr) bool {
	if _, ok := x.(*Column); ok {
		return false
	}
	for _, o := range operands(x) {
		if !ColumnFree(o) {
			return false
		}
	}
	return true
}
