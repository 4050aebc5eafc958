package parser

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/pgtree"
)

// elementsAlias is the name of unnest of a column that stands among the targets of a SELECT.
const elementsAlias = "dp$elements"

// arrayColumn returns the column whose elements a call lists: the argument of unnest; nil of any other call.
func arrayColumn(call *pg.FuncCall) *pg.ColumnRef {
	if pgtree.ListFunction(call) != "unnest" {
		return nil
	}
	return call.Args[0].GetColumnRef()
}

// elements converts unnest of a column in FROM. Its column is called as the relation, if it has no other name.
func (v *queryConverter) elements(call *pg.FuncCall, alias *pg.Alias) ast.From {
	column, ok := exprConverter{v, false}.column(arrayColumn(call)).(*ast.Column)
	if !ok {
		return nil
	}
	out := &ast.Elements{Array: column, Alias: "unnest", At: v.a.pos(call.Location)}
	if alias != nil {
		out.Alias = alias.Aliasname
	}
	out.Name = out.Alias
	switch names := columnNames(alias.GetColnames()); {
	case len(names) > 1:
		v.notAllowed(call.Location, "more names than columns")
	case len(names) == 1:
		out.Name = names[0]
	}
	return out
}

// selectedElements moves unnest of a column from an expression that rows are grouped by, or from the targets of a SELECT without
// groups, into FROM: Postgres has a row for each element as well.
func (v *queryConverter) selectedElements(from ast.From, list []*pg.Node) ast.From {
	i := slices.IndexFunc(list, func(n *pg.Node) bool { return arrayColumn(n.GetFuncCall()) != nil })
	if i < 0 || from == nil {
		return from
	}
	call := list[i].GetFuncCall()
	elements, ok := v.elements(call, &pg.Alias{Aliasname: elementsAlias}).(*ast.Elements)
	if !ok {
		return from
	}
	elements.Hidden = true
	v.moved, v.movedTo = call, &ast.Column{Qualifier: elementsAlias, Name: elementsAlias, At: elements.At}
	return &ast.Join{Kind: ast.Cross, Left: from, Right: elements, At: elements.At}
}

// selected lists the targets of a SELECT of which unnest has a row for each element before anything else is done with them.
func selected(sel *pg.SelectStmt) (list []*pg.Node) {
	for _, n := range sel.TargetList {
		x, window := n.GetResTarget().GetVal(), false
		pgtree.Every(x, func(m *pg.Node) { window = window || pgtree.IsWindowCall(m) })
		if window || pgtree.IsDistinctOn(sel) {
			return nil
		}
		list = append(list, x)
	}
	return list
}
