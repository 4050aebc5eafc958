package parser

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// children calls visit with each node directly below n. The nodes that fill
// most statements are spelled out; all others go by reflection, so that nothing
// is overlooked. A SELECT below n is handed over as one node.
func children(n *pg.Node, visit func(*pg.Node)) {
	if n == nil || n.Node == nil {
		return
	}
	switch x := n.Node.(type) {
	case *pg.Node_ColumnRef, *pg.Node_AConst, *pg.Node_ParamRef, *pg.Node_String_, *pg.Node_TypeName,
		*pg.Node_SqlvalueFunction, *pg.Node_RangeVar, *pg.Node_Integer, *pg.Node_AStar:
	case *pg.Node_ResTarget:
		visitNodes(x.ResTarget.Indirection, visit)
		visitNode(x.ResTarget.Val, visit)
	case *pg.Node_AExpr:
		visitNode(x.AExpr.Lexpr, visit)
		visitNode(x.AExpr.Rexpr, visit)
	case *pg.Node_BoolExpr:
		visitNodes(x.BoolExpr.Args, visit)
	case *pg.Node_List:
		visitNodes(x.List.Items, visit)
	case *pg.Node_TypeCast:
		visitNode(x.TypeCast.Arg, visit)
	case *pg.Node_NullTest:
		visitNode(x.NullTest.Arg, visit)
	case *pg.Node_BooleanTest:
		visitNode(x.BooleanTest.Arg, visit)
	case *pg.Node_SortBy:
		visitNode(x.SortBy.Node, visit)
	case *pg.Node_CoalesceExpr:
		visitNodes(x.CoalesceExpr.Args, visit)
	case *pg.Node_CaseExpr:
		visitNode(x.CaseExpr.Arg, visit)
		visitNodes(x.CaseExpr.Args, visit)
		visitNode(x.CaseExpr.Defresult, visit)
	case *pg.Node_CaseWhen:
		visitNode(x.CaseWhen.Expr, visit)
		visitNode(x.CaseWhen.Result, visit)
	case *pg.Node_FuncCall:
		callChildren(x.FuncCall, visit)
	case *pg.Node_SubLink:
		visitNode(x.SubLink.Testexpr, visit)
		visitNode(x.SubLink.Subselect, visit)
	default:
		reflected(n.ProtoReflect(), visit)
	}
}

func callChildren(f *pg.FuncCall, visit func(*pg.Node)) {
	visitNodes(f.Args, visit)
	visitNodes(f.AggOrder, visit)
	visitNode(f.AggFilter, visit)
	if f.Over != nil {
		windowChildren(f.Over, visit)
	}
}

func windowChildren(w *pg.WindowDef, visit func(*pg.Node)) {
	visitNodes(w.PartitionClause, visit)
	visitNodes(w.OrderClause, visit)
	visitNode(w.StartOffset, visit)
	visitNode(w.EndOffset, visit)
}

func visitNode(n *pg.Node, visit func(*pg.Node)) {
	if n != nil && n.Node != nil {
		visit(n)
	}
}

func visitNodes(list []*pg.Node, visit func(*pg.Node)) {
	for _, n := range list {
		visitNode(n, visit)
	}
}

// reflected visits the nearest nodes below a message of any type.
func reflected(m protoreflect.Message, visit func(*pg.Node)) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil || f.IsMap():
		case f.IsList():
			for i := range v.List().Len() {
				reflectedOne(v.List().Get(i).Message(), visit)
			}
		default:
			reflectedOne(v.Message(), visit)
		}
		return true
	})
}

func reflectedOne(m protoreflect.Message, visit func(*pg.Node)) {
	switch x := m.Interface().(type) {
	case *pg.Node:
		visitNode(x, visit)
	case *pg.SelectStmt:
		visit(&pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: x}})
	default:
		reflected(m, visit)
	}
}

// stringsOf returns the contents of String nodes; ok is false if there is any
// other node, such as a star.
func stringsOf(list []*pg.Node) (out []string, ok bool) {
	out = make([]string, 0, len(list))
	for _, n := range list {
		s := n.GetString_()
		if s == nil {
			return out, false
		}
		out = append(out, s.Sval)
	}
	return out, true
}

// columnName returns the name of a bare column reference of one part.
func columnName(n *pg.Node) (string, bool) {
	ref := n.GetColumnRef()
	if ref == nil || len(ref.Fields) != 1 || ref.Fields[0].GetString_() == nil {
		return "", false
	}
	return ref.Fields[0].GetString_().Sval, true
}

// position returns the value of an integer literal.
func position(n *pg.Node) (int, bool) {
	c, ok := n.GetNode().(*pg.Node_AConst)
	if !ok || c.AConst.Isnull {
		return 0, false
	}
	i, ok := c.AConst.Val.(*pg.A_Const_Ival)
	if !ok {
		return 0, false
	}
	return int(i.Ival.GetIval()), true
}

// intoClause returns the INTO clause of SELECT INTO, which belongs to its first SELECT.
func intoClause(sel *pg.SelectStmt) *pg.IntoClause {
	for sel.Larg != nil {
		sel = sel.Larg
	}
	return sel.IntoClause
}

// everyNode visits a node and all below it, those of sub-selects too.
func everyNode(n *pg.Node, visit func(*pg.Node)) {
	if n == nil || n.Node == nil {
		return
	}
	visit(n)
	if sel := n.GetSelectStmt(); sel != nil {
		reflected(sel.ProtoReflect(), func(m *pg.Node) { everyNode(m, visit) })
		return
	}
	children(n, func(m *pg.Node) { everyNode(m, visit) })
}

// conjuncts are the conditions that AND connects.
func conjuncts(n *pg.Node) []*pg.Node {
	if b := n.GetBoolExpr(); b != nil && b.Boolop == pg.BoolExprType_AND_EXPR {
		return b.Args
	}
	if n == nil {
		return nil
	}
	return []*pg.Node{n}
}

// allOf connects conditions with AND.
func allOf(list ...*pg.Node) *pg.Node {
	list = slices.DeleteFunc(list, func(n *pg.Node) bool { return n == nil })
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	return &pg.Node{Node: &pg.Node_BoolExpr{BoolExpr: &pg.BoolExpr{Boolop: pg.BoolExprType_AND_EXPR, Args: list}}}
}

// isTrue reports whether a condition is the word TRUE.
func isTrue(n *pg.Node) bool {
	c := n.GetAConst()
	return c.GetBoolval().GetBoolval()
}
