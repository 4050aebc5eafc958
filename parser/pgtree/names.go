package pgtree

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/lex"
)

// OutputName is the name that Postgres gives the column of a target. It is not
// known when it is that of a star in a sub-select.
func OutputName(t *pg.ResTarget) (name string, known bool) {
	if t.Name != "" {
		return t.Name, true
	}
	name, strength, known := figureName(t.Val)
	if strength == 0 {
		name = "?column?"
	}
	return name, known
}

// Titles reports whether a target has a name of the statement's own: by AS, or that of a column of a sub-select which has one.
func Titles(t *pg.ResTarget) bool {
	name, strength, _ := figureName(t.Val)
	return t.Name != "" || t.Val.GetColumnRef() != nil && strength > 0 && !IsAggregateName(name)
}

// figureName follows FigureColnameInternal of Postgres: strength 0 means no
// name, 1 a weak one (a type, "case") that gives way to any other, 2 a good one.
func figureName(n *pg.Node) (name string, strength int, known bool) {
	switch x := n.GetNode().(type) {
	case *pg.Node_ColumnRef:
		return last(x.ColumnRef.Fields)
	case *pg.Node_AIndirection:
		if name, strength, _ := last(x.AIndirection.Indirection); strength > 0 {
			return name, strength, true
		}
		return figureName(x.AIndirection.Arg)
	case *pg.Node_FuncCall:
		return last(x.FuncCall.Funcname)
	case *pg.Node_AExpr:
		if x.AExpr.Kind == pg.A_Expr_Kind_AEXPR_NULLIF {
			return "nullif", 2, true
		}
	case *pg.Node_TypeCast:
		return castName(x.TypeCast)
	case *pg.Node_CollateClause:
		return figureName(x.CollateClause.Arg)
	case *pg.Node_CaseExpr:
		name, strength, known := figureName(x.CaseExpr.Defresult)
		if strength <= 1 && known {
			return "case", 1, true
		}
		return name, strength, known
	case *pg.Node_SubLink:
		return subLinkName(x.SubLink)
	case *pg.Node_XmlExpr:
		return xmlName(x.XmlExpr)
	case *pg.Node_SqlvalueFunction:
		return lex.Lower(ValueFunctionName(x.SqlvalueFunction.Op)), 2, true
	}
	name = KeywordName(n)
	if name != "" {
		return name, 2, true
	}
	return "", 0, true
}

// KeywordName is the name of the constructs that are named by their keyword.
func KeywordName(n *pg.Node) string {
	switch x := n.GetNode().(type) {
	case *pg.Node_GroupingFunc:
		return "grouping"
	case *pg.Node_AArrayExpr:
		return "array"
	case *pg.Node_RowExpr:
		return "row"
	case *pg.Node_CoalesceExpr:
		return "coalesce"
	case *pg.Node_MinMaxExpr:
		if x.MinMaxExpr.Op == pg.MinMaxOp_IS_LEAST {
			return "least"
		}
		return "greatest"
	case *pg.Node_XmlSerialize:
		return "xmlserialize"
	case *pg.Node_JsonArrayAgg:
		return "json_arrayagg"
	case *pg.Node_JsonObjectAgg:
		return "json_objectagg"
	}
	return ""
}

// last returns the last string of the list, skipping stars and subscripts.
func last(list []*pg.Node) (string, int, bool) {
	for _, n := range slices.Backward(list) {
		if s := n.GetString_(); s != nil {
			return s.Sval, 2, true
		}
	}
	return "", 0, true
}

func castName(c *pg.TypeCast) (string, int, bool) {
	name, strength, known := figureName(c.Arg)
	if strength <= 1 && known && c.TypeName != nil {
		if name, strength, _ := last(c.TypeName.Names); strength > 0 {
			return name, 1, true
		}
	}
	return name, strength, known
}

func subLinkName(l *pg.SubLink) (string, int, bool) {
	switch l.SubLinkType {
	case pg.SubLinkType_EXISTS_SUBLINK:
		return "exists", 2, true
	case pg.SubLinkType_ARRAY_SUBLINK:
		return "array", 2, true
	case pg.SubLinkType_EXPR_SUBLINK:
		sel := l.Subselect.GetSelectStmt()
		for sel.GetLarg() != nil {
			sel = sel.Larg
		}
		switch {
		case len(sel.GetValuesLists()) > 0:
			return "column1", 2, true
		case len(sel.GetTargetList()) == 0 || IsStar(sel.TargetList[0].GetResTarget().GetVal()):
			return "", 2, false
		}
		name, known := OutputName(sel.TargetList[0].GetResTarget())
		return name, 2, known
	}
	return "", 0, true
}

// IsStar reports whether the target is * or t.*.
func IsStar(n *pg.Node) bool {
	if fields := n.GetColumnRef().GetFields(); len(fields) > 0 {
		return fields[len(fields)-1].GetAStar() != nil
	}
	if list := n.GetAIndirection().GetIndirection(); len(list) > 0 {
		return list[len(list)-1].GetAStar() != nil
	}
	return false
}

func xmlName(x *pg.XmlExpr) (string, int, bool) {
	switch x.Op {
	case pg.XmlExprOp_IS_XMLCONCAT, pg.XmlExprOp_IS_XMLELEMENT, pg.XmlExprOp_IS_XMLFOREST,
		pg.XmlExprOp_IS_XMLPARSE, pg.XmlExprOp_IS_XMLPI, pg.XmlExprOp_IS_XMLROOT:
		return lex.Lower(strings.TrimPrefix(x.Op.String(), "IS_")), 2, true
	default:
		return "", 0, true
	}
}

// ValueFunctionName is the keyword of CURRENT_DATE and its kin.
func ValueFunctionName(op pg.SQLValueFunctionOp) string {
	return strings.TrimSuffix(strings.TrimPrefix(op.String(), "SVFOP_"), "_N")
}
