package parser

import (
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
		each(x.ResTarget.Indirection, visit)
		one(x.ResTarget.Val, visit)
	case *pg.Node_AExpr:
		one(x.AExpr.Lexpr, visit)
		one(x.AExpr.Rexpr, visit)
	case *pg.Node_BoolExpr:
		each(x.BoolExpr.Args, visit)
	case *pg.Node_List:
		each(x.List.Items, visit)
	case *pg.Node_TypeCast:
		one(x.TypeCast.Arg, visit)
	case *pg.Node_NullTest:
		one(x.NullTest.Arg, visit)
	case *pg.Node_BooleanTest:
		one(x.BooleanTest.Arg, visit)
	case *pg.Node_SortBy:
		one(x.SortBy.Node, visit)
	case *pg.Node_CoalesceExpr:
		each(x.CoalesceExpr.Args, visit)
	case *pg.Node_CaseExpr:
		one(x.CaseExpr.Arg, visit)
		each(x.CaseExpr.Args, visit)
		one(x.CaseExpr.Defresult, visit)
	case *pg.Node_CaseWhen:
		one(x.CaseWhen.Expr, visit)
		one(x.CaseWhen.Result, visit)
	case *pg.Node_FuncCall:
		callChildren(x.FuncCall, visit)
	case *pg.Node_SubLink:
		one(x.SubLink.Testexpr, visit)
		one(x.SubLink.Subselect, visit)
	default:
		reflected(n.ProtoReflect(), visit)
	}
}

func callChildren(f *pg.FuncCall, visit func(*pg.Node)) {
	each(f.Args, visit)
	each(f.AggOrder, visit)
	one(f.AggFilter, visit)
	if f.Over != nil {
		windowChildren(f.Over, visit)
	}
}

func windowChildren(w *pg.WindowDef, visit func(*pg.Node)) {
	each(w.PartitionClause, visit)
	each(w.OrderClause, visit)
	one(w.StartOffset, visit)
	one(w.EndOffset, visit)
}

func one(n *pg.Node, visit func(*pg.Node)) {
	if n != nil && n.Node != nil {
		visit(n)
	}
}

func each(list []*pg.Node, visit func(*pg.Node)) {
	for _, n := range list {
		one(n, visit)
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
		one(x, visit)
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
