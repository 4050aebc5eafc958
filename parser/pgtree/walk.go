package pgtree

import (
	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Children calls visit with each node directly below n. The nodes that fill
// most statements are spelled out; all others go by reflection, so that nothing
// is overlooked. A SELECT below n is handed over as one node.
func Children(n *pg.Node, visit func(*pg.Node)) {
	if n == nil || n.Node == nil {
		return
	}
	switch x := n.Node.(type) {
	case *pg.Node_ColumnRef, *pg.Node_AConst, *pg.Node_ParamRef, *pg.Node_String_, *pg.Node_TypeName,
		*pg.Node_SqlvalueFunction, *pg.Node_RangeVar, *pg.Node_Integer, *pg.Node_AStar:
	case *pg.Node_ResTarget:
		VisitAll(x.ResTarget.Indirection, visit)
		Visit(x.ResTarget.Val, visit)
	case *pg.Node_AExpr:
		Visit(x.AExpr.Lexpr, visit)
		Visit(x.AExpr.Rexpr, visit)
	case *pg.Node_BoolExpr:
		VisitAll(x.BoolExpr.Args, visit)
	case *pg.Node_List:
		VisitAll(x.List.Items, visit)
	case *pg.Node_TypeCast:
		Visit(x.TypeCast.Arg, visit)
	case *pg.Node_NullTest:
		Visit(x.NullTest.Arg, visit)
	case *pg.Node_BooleanTest:
		Visit(x.BooleanTest.Arg, visit)
	case *pg.Node_SortBy:
		Visit(x.SortBy.Node, visit)
	case *pg.Node_CoalesceExpr:
		VisitAll(x.CoalesceExpr.Args, visit)
	case *pg.Node_CaseExpr:
		Visit(x.CaseExpr.Arg, visit)
		VisitAll(x.CaseExpr.Args, visit)
		Visit(x.CaseExpr.Defresult, visit)
	case *pg.Node_CaseWhen:
		Visit(x.CaseWhen.Expr, visit)
		Visit(x.CaseWhen.Result, visit)
	case *pg.Node_FuncCall:
		callChildren(x.FuncCall, visit)
	case *pg.Node_SubLink:
		Visit(x.SubLink.Testexpr, visit)
		Visit(x.SubLink.Subselect, visit)
	default:
		Others(n.ProtoReflect(), visit)
	}
}

func callChildren(f *pg.FuncCall, visit func(*pg.Node)) {
	VisitAll(f.Args, visit)
	VisitAll(f.AggOrder, visit)
	Visit(f.AggFilter, visit)
	if f.Over != nil {
		windowChildren(f.Over, visit)
	}
}

func windowChildren(w *pg.WindowDef, visit func(*pg.Node)) {
	VisitAll(w.PartitionClause, visit)
	VisitAll(w.OrderClause, visit)
	Visit(w.StartOffset, visit)
	Visit(w.EndOffset, visit)
}

// Visit calls visit with the node, if there is one.
func Visit(n *pg.Node, visit func(*pg.Node)) {
	if n != nil && n.Node != nil {
		visit(n)
	}
}

// VisitAll calls visit with each node of the list.
func VisitAll(list []*pg.Node, visit func(*pg.Node)) {
	for _, n := range list {
		Visit(n, visit)
	}
}

// Others visits the nearest nodes below a message of any type.
func Others(m protoreflect.Message, visit func(*pg.Node)) {
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
		Visit(x, visit)
	case *pg.SelectStmt:
		visit(&pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: x}})
	default:
		Others(m, visit)
	}
}

// Strings returns the contents of String nodes; ok is false if there is any
// other node, such as a star.
func Strings(list []*pg.Node) (out []string, ok bool) {
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

// ColumnName returns the name of a bare column reference of one part.
func ColumnName(n *pg.Node) (string, bool) {
	ref := n.GetColumnRef()
	if ref == nil || len(ref.Fields) != 1 || ref.Fields[0].GetString_() == nil {
		return "", false
	}
	return ref.Fields[0].GetString_().Sval, true
}

// Position returns the value of an integer literal.
func Position(n *pg.Node) (int, bool) {
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

// IntoClause returns the INTO clause of SELECT INTO, which belongs to its first SELECT.
func IntoClause(sel *pg.SelectStmt) *pg.IntoClause {
	for sel.Larg != nil {
		sel = sel.Larg
	}
	return sel.IntoClause
}

// Every visits a node and all below it, those of sub-selects too.
func Every(n *pg.Node, visit func(*pg.Node)) {
	if n == nil || n.Node == nil {
		return
	}
	visit(n)
	if sel := n.GetSelectStmt(); sel != nil {
		Others(sel.ProtoReflect(), func(m *pg.Node) { Every(m, visit) })
		return
	}
	Children(n, func(m *pg.Node) { Every(m, visit) })
}

// Conjuncts are the conditions that AND connects.
func Conjuncts(n *pg.Node) []*pg.Node {
	if b := n.GetBoolExpr(); b != nil && b.Boolop == pg.BoolExprType_AND_EXPR {
		return b.Args
	}
	if n == nil {
		return nil
	}
	return []*pg.Node{n}
}

// IsTrue reports whether a condition is the word TRUE.
func IsTrue(n *pg.Node) bool {
	c := n.GetAConst()
	return c.GetBoolval().GetBoolval()
}
