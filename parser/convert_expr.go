package parser

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/pgtree"
)

// operators are those that a block may use; each must be that of pg_catalog.
var operators = []string{"=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "^", "||", "~~", "!~~", "~~*", "!~~*", "@>", "<@", "&&"}

// expr converts an expression by the type of its node.
func (v exprConverter) expr(n *pg.Node) ast.Expr {
	if v.a.nodes++; v.a.nodes > maxNodes {
		v.tooLarge(-1)
		return nil
	}
	switch x := n.GetNode().(type) {
	case *pg.Node_ColumnRef:
		return v.column(x.ColumnRef)
	case *pg.Node_AConst:
		return v.literal(x.AConst)
	case *pg.Node_ParamRef:
		if x.ParamRef.Number == 0 {
			return v.notAllowed(x.ParamRef.Location, "a ? parameter")
		}
		return &ast.Param{N: int(x.ParamRef.Number), At: v.a.pos(x.ParamRef.Location)}
	case *pg.Node_TypeCast:
		return v.cast(x.TypeCast)
	case *pg.Node_AExpr:
		return v.operation(x.AExpr)
	case *pg.Node_BoolExpr:
		return v.boolean(x.BoolExpr)
	case *pg.Node_NullTest:
		not := x.NullTest.Nulltesttype == pg.NullTestType_IS_NOT_NULL
		return &ast.IsNull{X: v.expr(x.NullTest.Arg), Not: not, At: v.a.pos(x.NullTest.Location)}
	case *pg.Node_BooleanTest:
		kind := strings.ReplaceAll(strings.TrimPrefix(x.BooleanTest.Booltesttype.String(), "IS_"), "_", " ")
		return &ast.BoolTest{X: v.expr(x.BooleanTest.Arg), Kind: kind, At: v.a.pos(x.BooleanTest.Location)}
	case *pg.Node_FuncCall:
		return v.call(n, x.FuncCall)
	case *pg.Node_CoalesceExpr:
		return v.syntaxCall("coalesce", x.CoalesceExpr.Args, x.CoalesceExpr.Location)
	case *pg.Node_MinMaxExpr:
		return v.syntaxCall(pgtree.KeywordName(n), x.MinMaxExpr.Args, x.MinMaxExpr.Location)
	case *pg.Node_SqlvalueFunction:
		return v.valueFunction(x.SqlvalueFunction)
	case *pg.Node_CaseExpr:
		return v.conditional(x.CaseExpr)
	case *pg.Node_AArrayExpr:
		return &ast.Array{Elems: v.exprs(x.AArrayExpr.Elements), At: v.a.pos(x.AArrayExpr.Location)}
	case *pg.Node_SubLink:
		return v.subLink(x.SubLink)
	case *pg.Node_AIndirection:
		return subscripts(v, n, x.AIndirection)
	}
	return v.other(n)
}

// other names a construct that is not on the list.
func (v exprConverter) other(n *pg.Node) ast.Expr {
	at := pgtree.FirstLocation(n)
	switch x := n.GetNode().(type) {
	case *pg.Node_CollateClause:
		v.forbid(x.CollateClause.Location, "COLLATE",
			"Leave it out: texts compare in the collation of their column. ORDER BY above the aggregate can have one.")
		return nil
	case *pg.Node_RowExpr:
		v.forbid(x.RowExpr.Location, "a row value", columnsOneByOne)
		return nil
	case *pg.Node_GroupingFunc:
		return v.notAllowed(x.GroupingFunc.Location, "GROUPING")
	}
	return v.notAllowed(at, "this expression")
}

func (v exprConverter) column(ref *pg.ColumnRef) ast.Expr {
	names, plain := pgtree.Strings(ref.Fields)
	if !plain {
		return v.notAllowed(ref.Location, "a whole row")
	}
	out := &ast.Column{Name: names[len(names)-1], At: v.a.pos(ref.Location)}
	switch len(names) {
	case 1:
	case 2:
		out.Qualifier = names[0]
	case 3:
		out.Schema, out.Qualifier = names[0], names[1]
	default:
		out.Schema, out.Qualifier = names[1], names[2]
	}
	return out
}

func (v exprConverter) literal(c *pg.A_Const) ast.Expr {
	at := v.a.pos(c.Location)
	unknown := slices.ContainsFunc(v.a.unknown, func(s Span) bool { return s.Start <= at && at < s.End })
	out := &ast.Const{Kind: ast.Null, Unknown: unknown, At: at}
	switch x := c.Val.(type) {
	case *pg.A_Const_Ival:
		out.Kind, out.Text = ast.Integer, strconv.Itoa(int(x.Ival.GetIval()))
	case *pg.A_Const_Fval:
		out.Kind, out.Text = ast.Number, x.Fval.GetFval()
	case *pg.A_Const_Sval:
		out.Kind, out.Text = ast.String, x.Sval.GetSval()
	case *pg.A_Const_Boolval:
		out.Kind, out.Text = ast.Boolean, strconv.FormatBool(x.Boolval.GetBoolval())
	case *pg.A_Const_Bsval:
		return v.notAllowed(c.Location, "a bit string")
	}
	return out
}

func (v exprConverter) cast(c *pg.TypeCast) ast.Expr {
	t, ok := typeName(c.TypeName)
	if !ok {
		return v.notAllowed(c.TypeName.GetLocation(), "this type")
	}
	at := c.Location
	if at < 0 {
		at = c.TypeName.Location
	}
	return &ast.Cast{X: v.expr(c.Arg), Type: t, At: v.a.pos(at)}
}

func typeName(t *pg.TypeName) (ast.TypeName, bool) {
	names, plain := pgtree.Strings(t.GetNames())
	if !plain || len(names) == 0 || len(names) > 2 || t.Setof || t.PctType || len(t.ArrayBounds) > 1 {
		return ast.TypeName{}, false
	}
	out := ast.TypeName{Name: names[len(names)-1], Array: len(t.ArrayBounds) == 1}
	if len(names) == 2 {
		out.Schema = names[0]
	}
	for _, m := range t.Typmods {
		i, ok := pgtree.Position(m)
		if !ok {
			return ast.TypeName{}, false
		}
		out.Mods = append(out.Mods, int32(i))
	}
	return out, true
}

func (v exprConverter) operation(e *pg.A_Expr) ast.Expr {
	if e.Kind == pg.A_Expr_Kind_AEXPR_OP || e.Kind == pg.A_Expr_Kind_AEXPR_SIMILAR {
		if s, ok := searchOf(e); ok {
			return v.search(s, e.Location)
		}
	}
	if e.Kind == pg.A_Expr_Kind_AEXPR_OP && steps[pgtree.OperatorName(e)] != nil {
		return stepInto(v, e)
	}
	switch e.Kind {
	case pg.A_Expr_Kind_AEXPR_OP, pg.A_Expr_Kind_AEXPR_LIKE, pg.A_Expr_Kind_AEXPR_ILIKE:
		return v.operator(e)
	case pg.A_Expr_Kind_AEXPR_DISTINCT, pg.A_Expr_Kind_AEXPR_NOT_DISTINCT:
		return v.distinct(e)
	case pg.A_Expr_Kind_AEXPR_NULLIF:
		return v.syntaxCall("nullif", []*pg.Node{e.Lexpr, e.Rexpr}, e.Location)
	case pg.A_Expr_Kind_AEXPR_IN:
		return v.inTest(e)
	case pg.A_Expr_Kind_AEXPR_BETWEEN, pg.A_Expr_Kind_AEXPR_NOT_BETWEEN,
		pg.A_Expr_Kind_AEXPR_BETWEEN_SYM, pg.A_Expr_Kind_AEXPR_NOT_BETWEEN_SYM:
		return v.between(e)
	case pg.A_Expr_Kind_AEXPR_OP_ANY, pg.A_Expr_Kind_AEXPR_OP_ALL:
		return v.anyOf(e)
	case pg.A_Expr_Kind_AEXPR_SIMILAR:
		return v.notAllowed(e.Location, "SIMILAR TO")
	default:
		return v.notAllowed(e.Location, "this operator")
	}
}

// listed refuses an operator that is not on the list.
func (v exprConverter) listed(e *pg.A_Expr) (name string, ok bool) {
	name = pgtree.OperatorName(e)
	if slices.Contains(operators, name) {
		return name, true
	}
	names, _ := pgtree.Strings(e.Name)
	if strings.HasPrefix(name, "?") || name == "@?" {
		v.forbid(e.Location, "operator "+strings.Join(names, "."), askForFields)
		return "", false
	}
	v.forbid(e.Location, "operator "+strings.Join(names, "."), "These can: "+strings.Join(operators[:13], " ")+" LIKE ILIKE IN BETWEEN IS.")
	return "", false
}

func (v exprConverter) anyOf(e *pg.A_Expr) ast.Expr {
	name, ok := v.listed(e)
	switch {
	case !ok:
		return nil
	case strings.Contains(name, "~"):
		return v.anyPattern(name, e)
	}
	return &ast.AnyOf{
		Op: name, Left: v.expr(e.Lexpr), Array: v.expr(e.Rexpr),
		All: e.Kind == pg.A_Expr_Kind_AEXPR_OP_ALL, At: v.a.pos(e.Location),
	}
}

func (v exprConverter) conditional(c *pg.CaseExpr) ast.Expr {
	out := &ast.Case{At: v.a.pos(c.Location)}
	if c.Arg != nil {
		out.X = v.expr(c.Arg)
	}
	for _, n := range c.Args {
		w := n.GetCaseWhen()
		out.Whens = append(out.Whens, ast.When{If: v.expr(w.GetExpr()), Then: v.expr(w.GetResult())})
	}
	if c.Defresult != nil {
		out.Else = v.expr(c.Defresult)
	}
	return out
}

func (v exprConverter) operator(e *pg.A_Expr) ast.Expr {
	name, ok := v.listed(e)
	switch {
	case !ok:
		return nil
	case e.Lexpr.GetRowExpr() != nil && e.Rexpr.GetRowExpr() != nil:
		return v.rowComparison(name, e.Lexpr, e.Rexpr, e.Location)
	}
	out := &ast.Op{Name: name, Right: v.expr(e.Rexpr), At: v.a.pos(e.Location)}
	if e.Lexpr != nil {
		out.Left = v.expr(e.Lexpr)
	}
	return out
}

func (v exprConverter) between(e *pg.A_Expr) ast.Expr {
	limits := v.exprs(e.Rexpr.GetList().GetItems())
	if len(limits) != 2 {
		return v.notAllowed(e.Location, "this BETWEEN")
	}
	return &ast.Between{
		X: v.expr(e.Lexpr), Low: limits[0], High: limits[1], At: v.a.pos(e.Location),
		Not:       e.Kind == pg.A_Expr_Kind_AEXPR_NOT_BETWEEN || e.Kind == pg.A_Expr_Kind_AEXPR_NOT_BETWEEN_SYM,
		Symmetric: e.Kind == pg.A_Expr_Kind_AEXPR_BETWEEN_SYM || e.Kind == pg.A_Expr_Kind_AEXPR_NOT_BETWEEN_SYM,
	}
}

func (v exprConverter) boolean(b *pg.BoolExpr) ast.Expr {
	out := &ast.Bool{Kind: ast.And, Args: v.exprs(b.Args), At: v.a.pos(b.Location)}
	switch b.Boolop {
	case pg.BoolExprType_OR_EXPR:
		out.Kind = ast.Or
	case pg.BoolExprType_NOT_EXPR:
		out.Kind = ast.Not
		if in, ok := out.Args[0].(*ast.InQuery); ok && !in.Not {
			in.Not = true // the grammar has no NOT IN (query) of its own
			return in
		}
	}
	return out
}

func (v exprConverter) exprs(list []*pg.Node) []ast.Expr {
	if len(list) == 0 {
		return nil
	}
	out := make([]ast.Expr, 0, len(list))
	for _, n := range list {
		out = append(out, v.expr(n))
	}
	return out
}

func (v exprConverter) call(n *pg.Node, f *pg.FuncCall) ast.Expr {
	schema, name := pgtree.Callee(f)
	switch {
	case f == v.moved: // nil is none: f is a call
		return v.movedTo
	case pgtree.IsAggregate(n) && v.grouped:
		return v.aggregate(n)
	case pgtree.IsAggregate(n):
		return v.notAllowed(f.Location, "an aggregate inside another clause or aggregate")
	case pgtree.CallsWeight(f):
		v.forbid(f.Location, "dp.weight of what is no aggregate", weighLikeThis)
		return nil
	case f.Over != nil:
		return v.window(n, f)
	case schema != "" && schema != "pg_catalog":
		return v.notAllowed(f.Location, fmt.Sprintf("function %s.%s", schema, name))
	case f.FuncVariadic:
		return v.notAllowed(f.Location, "VARIADIC")
	case isSyntaxCall(name):
		return v.notAllowed(f.Location, fmt.Sprintf("function %q", name))
	case extracts[name]:
		return extract(v, name, f)
	case name == "string_to_array":
		if list := splitText(f, v.a.pos(f.Location)); list != nil {
			return list
		}
	}
	return &ast.Func{Name: name, Args: v.exprs(f.Args), At: v.a.pos(f.Location)}
}

// isSyntaxCall names syntax that looks like a function in Func.
func isSyntaxCall(name string) bool {
	switch name {
	case "coalesce", "nullif", "greatest", "least":
		return true
	}
	return false
}

func (v exprConverter) syntaxCall(name string, args []*pg.Node, location int32) ast.Expr {
	return &ast.Func{Name: name, Args: v.exprs(args), At: v.a.pos(location)}
}

func (v exprConverter) valueFunction(f *pg.SQLValueFunction) ast.Expr {
	name := pgtree.ValueFunctionName(f.Op)
	if strings.HasSuffix(f.Op.String(), "_N") {
		name += "(" + strconv.Itoa(int(f.Typmod)) + ")"
	}
	return &ast.ValueFunc{Name: name, At: v.a.pos(f.Location)}
}
