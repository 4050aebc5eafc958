package scalar

import (
	"fmt"
	"strings"

	"dpproxy/parser/ast"
)

// Native writes an expression as the client meant it, with Postgres's own semantics, for
// the mirror: it may raise there, before anything is charged. Column writes the columns;
// ok is false for expressions that only the protected database can evaluate.
func Native(e Expr, column func(*Column) string, constants Inlined) (sql string, ok bool) {
	n := &native{column: column, constants: constants, ok: true}
	sql = n.expr(e)
	return sql, n.ok
}

type native struct {
	column    func(*Column) string
	constants Inlined
	ok        bool
}

func (n *native) exprs(list []Expr, between string) string {
	out := make([]string, len(list))
	for i, e := range list {
		out[i] = n.expr(e)
	}
	return strings.Join(out, between)
}

func (n *native) expr(e Expr) string {
	switch e := e.(type) {
	case *Ref:
		return n.column(e.Column)
	case *constant:
		return n.constants.SQL(e.fold)
	case *comparison:
		return "(" + n.expr(e.left) + " OPERATOR(pg_catalog." + e.op + ") " + n.expr(e.right) + ")"
	case *distinct:
		return "(" + n.expr(e.left) + " IS" + not(e.not) + " DISTINCT FROM " + n.expr(e.right) + ")"
	case *among:
		return "(" + n.expr(e.x) + not(e.not) + " IN (" + n.exprs(e.list, ", ") + "))"
	case *between:
		return n.between(e)
	case *logic:
		return n.logic(e)
	case *null:
		return "(" + n.expr(e.x) + " IS" + not(e.not) + " NULL)"
	case *truth:
		return "(" + n.expr(e.x) + " IS " + e.kind + ")"
	case *call:
		args := make([]string, len(e.args))
		for i, a := range e.args {
			args[i] = n.expr(a)
		}
		return e.fn.sql(args...)
	case *cast:
		return "CAST(" + n.expr(e.x) + " AS " + e.typ.Modified() + ")"
	case *choice:
		return strings.ToUpper(e.kind) + "(" + n.exprs(e.args, ", ") + ")"
	case *nullIf:
		return "NULLIF(" + n.expr(e.left) + ", " + n.expr(e.right) + ")"
	case *branches:
		return n.branches(e)
	case *anyOf:
		quantifier := " ANY ("
		if e.all {
			quantifier = " ALL ("
		}
		return "(" + n.expr(e.x) + " OPERATOR(pg_catalog." + e.op + ")" + quantifier + n.expr(e.array) + "))"
	case *like:
		return n.like(e)
	case *Query, *aggregate:
	}
	n.ok = false
	return "NULL"
}

func not(yes bool) string {
	if yes {
		return " NOT"
	}
	return ""
}

func (n *native) between(e *between) string {
	symmetric := ""
	if e.symmetric {
		symmetric = "SYMMETRIC "
	}
	return "(" + n.expr(e.x) + not(e.not) + " BETWEEN " + symmetric + n.expr(e.low) + " AND " + n.expr(e.high) + ")"
}

func (n *native) like(e *like) string {
	return "(" + n.expr(e.x) + " OPERATOR(pg_catalog." + e.op + ") " + n.expr(e.pattern) + ")"
}

func (n *native) logic(e *logic) string {
	switch e.kind {
	case ast.Not:
		return "(NOT " + n.expr(e.args[0]) + ")"
	case ast.And:
		return "(" + n.exprs(e.args, " AND ") + ")"
	case ast.Or:
	}
	return "(" + n.exprs(e.args, " OR ") + ")"
}

func (n *native) branches(e *branches) string {
	var b strings.Builder
	b.WriteString("CASE")
	if e.x != nil {
		b.WriteString(" " + n.expr(e.x))
	}
	for _, w := range e.whens {
		b.WriteString(" WHEN " + n.expr(w.cond) + " THEN " + n.expr(w.then))
	}
	if e.otherwise != nil {
		b.WriteString(" ELSE " + n.expr(e.otherwise))
	}
	return b.String() + " END"
}

// Modified writes the type with its modifier, as a cast to it takes it.
func (t Type) Modified() string {
	if t.Mod < 0 || t.Array || t.Undeclared {
		return t.SQL()
	}
	switch t.OID {
	case oidVarchar, oidBpchar:
		return fmt.Sprintf("%s(%d)", t.SQL(), t.Mod-4)
	case oidNumeric:
		return fmt.Sprintf("%s(%d, %d)", t.SQL(), (t.Mod-4)>>16, signedScale(t))
	case oidTimestamp, oidTimestamptz, oidTime:
		return fmt.Sprintf("%s(%d)", t.SQL(), t.Mod)
	}
	return t.SQL()
}

// Format is the format that the value of the fold is asked for in: binary, which no
// setting of a session changes, but for values of user-defined types.
func (f Fold) Format() int16 {
	if f.Type.wire() == 0 {
		return 0
	}
	return 1
}
