package pgtree

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/lex"
)

// ErrorSides are the functions of dp that tell a side of the error of an aggregate. A column that has one of another column is named after
// both.
var ErrorSides = []string{"lower", "upper", "stderr", "error"}

// Kept returns the text by which a column says that it keeps the place of something: it is NULL unless that is put there, or what the
// first argument of COALESCE is.
func Kept(value *pg.Node) (of string, coalesced, ok bool) {
	if args := value.GetCoalesceExpr().GetArgs(); len(args) == 2 {
		value, coalesced = args[1], true
	}
	x := value.GetTypeCast().GetArg().GetAExpr()
	if x.GetKind() != pg.A_Expr_Kind_AEXPR_NULLIF {
		return "", false, false
	}
	first, second := x.Lexpr.GetAConst().GetSval(), x.Rexpr.GetAConst().GetSval()
	if first == nil || second == nil || first.Sval != second.Sval {
		return "", false, false
	}
	return first.Sval, coalesced, true
}

// IsAggregated reports whether the SELECT is aggregated.
func IsAggregated(sel *pg.SelectStmt) bool {
	return len(sel.GroupClause) > 0 || sel.HavingClause != nil || Holds(IsAggregate, sel.TargetList...) ||
		Holds(IsAggregate, sel.SortClause...) || Holds(IsAggregate, sel.DistinctClause...) || Holds(IsAggregate, sel.WindowClause...)
}

// IsDistinct reports SELECT DISTINCT without ON.
func IsDistinct(sel *pg.SelectStmt) bool {
	return len(sel.DistinctClause) == 1 && sel.DistinctClause[0].GetNode() == nil
}

// IsDistinctOn reports SELECT DISTINCT ON.
func IsDistinctOn(sel *pg.SelectStmt) bool { return len(sel.DistinctClause) > 0 && !IsDistinct(sel) }

// IsWindowCall reports whether the node is a call with OVER.
func IsWindowCall(n *pg.Node) bool { return n.GetFuncCall().GetOver() != nil }

// TargetNamed returns the target whose column has the name; nil if there is none.
func TargetNamed(sel *pg.SelectStmt, name string) *pg.ResTarget {
	for _, n := range sel.TargetList {
		t := n.GetResTarget()
		if t == nil || IsStar(t.Val) {
			continue
		}
		if output, known := OutputName(t); known && output == name {
			return t
		}
	}
	return nil
}

// OperatorName is the symbol of an operator, "" if it is of a schema other than pg_catalog.
func OperatorName(e *pg.A_Expr) string {
	names, _ := Strings(e.Name)
	return BuiltIn(names)
}

// BuiltIn is the symbol of an operator that is named so, "" if it is of a schema other than pg_catalog.
func BuiltIn(names []string) string {
	if len(names) == 1 || len(names) == 2 && names[0] == "pg_catalog" {
		return names[len(names)-1]
	}
	return ""
}

// Executes reports whether EXPLAIN would execute the query.
func Executes(e *pg.ExplainStmt) bool { return explains(e, "analyze") }

// Verbose reports whether EXPLAIN shows all of a plan.
func Verbose(e *pg.ExplainStmt) bool { return explains(e, "verbose") }

// explains reports whether an option of EXPLAIN is on.
func explains(e *pg.ExplainStmt, option string) bool {
	on := false
	for _, n := range e.Options {
		d := n.GetDefElem()
		if d.GetDefname() != option {
			continue
		}
		switch x := d.GetArg().GetNode().(type) {
		case *pg.Node_String_:
			value := lex.Lower(x.String_.Sval)
			on = value != "false" && value != "off"
		case *pg.Node_Integer:
			on = x.Integer.Ival != 0
		case *pg.Node_Boolean:
			on = x.Boolean.Boolval
		default:
			on = true
		}
	}
	return on
}
