package parser

import (
	"strconv"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
)

// maxDistinct bounds the texts that are told apart as they are written: of longer ones comparisons do not
// see all.
const maxDistinct = 1000

// listed names the columns of a relation of constants: the first have names of their own.
func (v *queryConverter) listed(lists []ast.List, alias string, names []string, location int32) ast.From {
	out := &ast.Listed{Lists: lists, Alias: alias, At: v.a.pos(location)}
	if len(names) > len(lists) {
		v.notAllowed(location, "more names than columns")
		return nil
	}
	for i, name := range names {
		lists[i].Name = name
	}
	return out
}

// listedValues converts VALUES in FROM, or that of a WITH query.
func (v *queryConverter) listedValues(sel *pg.SelectStmt, alias string, names []string, location int32) ast.From {
	v.tail(sel, location)
	at := v.a.pos(location)
	lists := make([]ast.List, len(sel.ValuesLists[0].GetList().GetItems()))
	columns := make([][]ast.Expr, len(lists))
	for _, n := range sel.ValuesLists {
		row := n.GetList().GetItems()
		if len(row) != len(lists) {
			v.notAllowed(location, "VALUES lists of different lengths")
			return nil
		}
		for i, cell := range row {
			columns[i] = append(columns[i], exprConverter{v, false}.expr(cell))
		}
	}
	for i, list := range columns {
		lists[i] = ast.List{Name: "column" + strconv.Itoa(i+1), Array: &ast.Array{Elems: list, At: at}}
		lists[i].NotNull, lists[i].Distinct = literals(list)
	}
	return v.listed(lists, alias, names, location)
}

// literals reports whether all values are literals and not NULL, and whether as literals of one kind they are different.
func literals(list []ast.Expr) (notNull, distinct bool) {
	seen := map[string]bool{}
	distinct = true
	for _, x := range list {
		c, ok := x.(*ast.Const)
		if !ok || c.Kind == ast.Null {
			return false, false
		}
		same := c.Kind == list[0].(*ast.Const).Kind && (c.Kind == ast.Integer || c.Kind == ast.String)
		distinct = distinct && same && !seen[c.Text] && len(c.Text) <= maxDistinct
		seen[c.Text] = true
	}
	return true, distinct
}

// series converts a function in FROM: generate_series, or unnest of an array.
func (v *queryConverter) series(f *pg.RangeFunction) ast.From {
	var call *pg.FuncCall
	if len(f.Functions) == 1 {
		if items := f.Functions[0].GetList().GetItems(); len(items) > 0 {
			call = items[0].GetFuncCall()
		}
	}
	at := firstLocation(f.GetFunctions()[0])
	name := listFunction(call)
	if name == "" || f.Lateral || f.Ordinality || f.IsRowsfrom || len(f.Coldeflist) > 0 {
		v.forbid(at, "a function in FROM",
			"generate_series() and unnest() of constants can be there. Write other tables and sub-selects in FROM of the aggregate.")
		return nil
	}
	alias := name
	if f.Alias != nil {
		alias = f.Alias.Aliasname
	}
	return v.listed([]ast.List{v.listOf(call, alias)}, alias, columnNames(f.Alias.GetColnames()), at)
}

// listFunction names the function of a call that lists values: generate_series, or unnest of one array; "" for others.
func listFunction(call *pg.FuncCall) string {
	if call == nil || call.FuncVariadic || call.AggDistinct || call.AggStar || call.Over != nil {
		return ""
	}
	schema, name := callee(call)
	switch {
	case schema != "" && schema != "pg_catalog":
	case name == "generate_series", name == "unnest" && len(call.Args) == 1:
		return name
	}
	return ""
}

// listOf converts the call of such a function.
func (v *queryConverter) listOf(call *pg.FuncCall, name string) ast.List {
	args := exprConverter{v, false}.exprs(call.Args)
	if listFunction(call) != "unnest" {
		return ast.List{Name: name, Series: args, Distinct: true, NotNull: true}
	}
	list := ast.List{Name: name, Array: args[0]}
	if a, ok := args[0].(*ast.Array); ok && len(a.Elems) > 0 {
		list.NotNull, list.Distinct = literals(a.Elems)
	}
	return list
}

// selectedSeries moves such a function from the targets of a SELECT without FROM into one; nil if there is none, or several.
func (v *queryConverter) selectedSeries(targets []*pg.Node) ast.From {
	var calls []*pg.FuncCall
	for _, n := range targets {
		everyNode(n.GetResTarget().GetVal(), func(m *pg.Node) {
			if listFunction(m.GetFuncCall()) != "" {
				calls = append(calls, m.GetFuncCall())
			}
		})
	}
	if len(calls) != 1 {
		return nil
	}
	const alias, name = "dp$list", "value"
	at := calls[0].Location
	out := v.listed([]ast.List{v.listOf(calls[0], name)}, alias, nil, at)
	v.moved = calls[0]
	v.movedTo = &ast.Column{Qualifier: alias, Name: name, At: v.a.pos(at)}
	return out
}

// recursion converts a recursive WITH query of one column that reads nothing but itself, such as a calendar: the mirror runs it.
// Its column has the type of the query that it begins with.
func (v *queryConverter) recursion(with *cte, alias string, names []string, location int32) ast.From {
	forbid := func() ast.From {
		v.forbid(location, "a recursive WITH query that is not of one column and of itself alone",
			"Write generate_series(), or a table or sub-select that is not recursive.")
		return nil
	}
	sel := with.node.Ctequery.GetSelectStmt()
	first := sel.GetLarg()
	if with.escape >= 0 || first == nil || len(first.TargetList) != 1 || len(first.FromClause) > 0 || !readsItself(v.a.cteRefs, with) {
		return forbid()
	}
	text, ok := v.a.l.withQuery(with.node)
	if !ok {
		return forbid()
	}
	name := ast.QuoteIdent(with.node.Ctename)
	list := ast.List{
		Query: "WITH RECURSIVE " + text + " SELECT * FROM " + name,
		Like:  exprConverter{v, false}.expr(first.TargetList[0].GetResTarget().GetVal()),
	}
	list.Name, _ = outputName(first.TargetList[0].GetResTarget())
	return v.listed([]ast.List{list}, alias, names, location)
}

// readsItself reports whether a WITH query names no relation but itself.
func readsItself(refs map[*pg.RangeVar]*cte, with *cte) bool {
	itself := true
	everyNode(with.node.Ctequery, func(n *pg.Node) {
		if r := n.GetRangeVar(); r != nil {
			itself = itself && refs[r] == with
		}
		itself = itself && n.GetCommonTableExpr() == nil
	})
	return itself
}
