package scalar

import (
	"strconv"
	"strings"

	"dpproxy/parser/ast"
	"dpproxy/planner/pgtype"
)

// Native writes an expression as the client meant it, with Postgres's own semantics, for the mirror: it may raise there, before anything is
// charged. column writes the columns; ok is false for expressions that only the protected database can evaluate, and for expressions with
// a released result that is not known yet.
func Native(e Expr, column func(*Column) string, constants Inlined) (sql string, ok bool) {
	p := &printer{column: column, constants: constants, ok: true}
	sql = p.expr(e)
	return sql, p.ok
}

// mirrorSQL writes an expression without columns for the mirror.
func mirrorSQL(e Expr) string { return new(printer).expr(e) }

type printer struct {
	column    func(*Column) string
	constants Inlined
	ok        bool
}

func (p *printer) expr(e Expr) string {
	switch e := e.(type) { //nolint:gochecksumtype // the others consist of their operands
	case *Ref:
		p.ok = p.ok && !p.constants.unsettled(e)
		return p.column(e.Column)
	case *term:
		return e.sql
	case *constant:
		p.ok = p.ok && !p.constants.unsettled(e)
		return p.constants.SQL(e.fold)
	case *Query, *aggregate, *bounded:
		p.ok = false
		return "NULL"
	}
	list := operands(e)
	parts := make([]string, len(list))
	for i, o := range list {
		parts[i] = p.expr(o)
	}
	return composed(e, parts)
}

// composed writes an expression with its operands as they are written.
func composed(e Expr, parts []string) string {
	switch e := e.(type) { //nolint:gochecksumtype // the others have no operands, or are for the protected database only
	case *call:
		return e.fn.sql(parts...)
	case *cast:
		return "CAST(" + parts[0] + " AS " + withModifiers(e.typ.SQL(), e.mods) + ")"
	case *logic:
		return logicSQL(e.kind, parts)
	case *choice:
		if e.kind == caseWhen {
			return caseSQL(e.x != nil, parts)
		}
		return string(e.kind) + "(" + strings.Join(parts, ", ") + ")"
	}
	return "NULL"
}

// sql writes a call.
func (f *function) sql(args ...string) string {
	switch {
	case f.syntax != nil:
		return f.syntax(f.name, args)
	case !f.operator:
		return "pg_catalog." + ast.QuoteIdent(f.name) + "(" + strings.Join(args, ", ") + ")"
	case len(args) == 1:
		return "(OPERATOR(pg_catalog." + f.name + ") " + args[0] + ")"
	}
	return "(" + args[0] + " OPERATOR(pg_catalog." + f.name + ") " + args[1] + ")"
}

// Calls with a syntax of their own.

func postfixSQL(word string, args []string) string { return "(" + args[0] + " " + word + ")" }

func infixSQL(word string, args []string) string {
	return "(" + args[0] + " " + word + " " + args[1] + ")"
}

func listSQL(word string, args []string) string {
	return "(" + args[0] + " " + word + " (" + strings.Join(args[1:], ", ") + "))"
}

func rangeSQL(word string, args []string) string {
	return "(" + args[0] + " " + word + " " + args[1] + " AND " + args[2] + ")"
}

// elementsSQL writes a comparison with the elements of an array, for a word such as "= ANY".
func elementsSQL(word string, args []string) string {
	op, quantifier, _ := strings.Cut(word, " ")
	return "(" + args[0] + " OPERATOR(pg_catalog." + op + ") " + quantifier + " (" + args[1] + "))"
}

func arraySQL(word string, args []string) string { return word + "[" + strings.Join(args, ", ") + "]" }

func logicSQL(kind ast.BoolKind, parts []string) string {
	switch kind {
	case ast.Not:
		return "(NOT " + parts[0] + ")"
	case ast.And:
		return "(" + strings.Join(parts, " AND ") + ")"
	case ast.Or:
	}
	return "(" + strings.Join(parts, " OR ") + ")"
}

// caseSQL writes CASE: its operand if there is one, conditions with results, and the ELSE.
func caseSQL(operand bool, parts []string) string {
	var b strings.Builder
	b.WriteString("CASE")
	if operand {
		b.WriteString(" " + parts[0])
		parts = parts[1:]
	}
	for ; len(parts) > 1; parts = parts[2:] {
		b.WriteString(" WHEN " + parts[0] + " THEN " + parts[1])
	}
	return b.String() + " ELSE " + parts[0] + " END"
}

func negated(not bool, word string) string {
	if not {
		return "NOT " + word
	}
	return word
}

func castSQL(sql string, t pgtype.Type) string { return "CAST(" + sql + " AS " + t.SQL() + ")" }

// withModifiers writes the modifiers of a type after its name.
func withModifiers(name string, mods []int32) string {
	if len(mods) == 0 {
		return name
	}
	words := make([]string, len(mods))
	for i, m := range mods {
		words[i] = strconv.Itoa(int(m))
	}
	bare, array := strings.CutSuffix(name, "[]")
	name = bare + "(" + strings.Join(words, ", ") + ")"
	if array {
		name += "[]"
	}
	return name
}

// operatorSQL writes a binary operator.
func operatorSQL(op, left, right string, t pgtype.Type) fragment {
	return fragment{sql: "(" + left + " OPERATOR(pg_catalog." + op + ") " + right + ")", typ: t}
}
