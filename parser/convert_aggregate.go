package parser

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/pgtree"
	"dpproxy/pgerr"
)

const otherAggregate = "Use an aggregate of Postgres itself without this clause, such as count, sum or avg."

// aggregate converts an aggregate call of the block's level or of the one below it that is being converted.
func (v exprConverter) aggregate(n *pg.Node) *ast.Aggregate {
	f := n.GetFuncCall()
	if f == nil {
		v.forbid(pgtree.FirstLocation(n), "an SQL/JSON aggregate", otherAggregate)
		return &ast.Aggregate{}
	}
	switch {
	case pgtree.IsReport(f):
		return v.report(f)
	case pgtree.IsWeight(f):
		return v.weighed(f)
	}
	row := exprConverter{v.queryConverter, false}
	schema, name := pgtree.Callee(f)
	out := &ast.Aggregate{Func: name, Star: f.AggStar, Distinct: f.AggDistinct, At: v.a.pos(f.Location)}
	switch {
	case schema != "" && schema != "pg_catalog":
		v.forbid(f.Location, "an aggregate of schema "+schema, otherAggregate)
	case f.AggWithinGroup:
		out.Within, out.Descending = row.within(f)
	case len(f.AggOrder) > 0:
		v.forbid(f.Location, "ORDER BY in an aggregate", otherAggregate)
	case f.FuncVariadic:
		v.notAllowed(f.Location, "VARIADIC")
	}
	if v.level != nil && !v.level.owns(n) {
		v.forbid(f.Location, "an aggregate with a sub-select or with columns of the query around it",
			"Compute it in the query whose columns it needs, from columns alone.")
	}
	out.Args = arguments(row, name, f)
	if f.AggFilter != nil {
		out.Filter = row.expr(f.AggFilter)
	}
	return out
}

// arguments converts those of an aggregate. Whole rows can only be counted.
func arguments(v exprConverter, name string, f *pg.FuncCall) []ast.Expr {
	if name == "count" && len(f.Args) == 1 && !f.AggDistinct && f.Args[0].GetColumnRef() != nil {
		if it, ok := v.each.scope.wholeRow(f.Args[0].GetColumnRef()); ok {
			return []ast.Expr{&ast.Column{Qualifier: it.name, Name: ast.WholeRow, At: v.a.pos(f.Args[0].GetColumnRef().Location)}}
		}
	}
	return v.exprs(f.Args)
}

// owns reports whether all columns in the aggregate call are of this level. An aggregate
// of columns of another level belongs to that one, whatever query it stands in; columns in
// a sub-select count as well.
func (l *level) owns(aggregate *pg.Node) bool {
	foreign := func(n *pg.Node) bool {
		ref := n.GetColumnRef()
		return n.GetSubLink() != nil || ref != nil && l.scope.reach(ref) != 0
	}
	return !pgtree.Holds(foreign, aggregate)
}

// within converts WITHIN GROUP (ORDER BY x [DESC]).
func (v exprConverter) within(f *pg.FuncCall) (x ast.Expr, descending bool) {
	by := f.AggOrder[0].GetSortBy()
	switch {
	case len(f.AggOrder) > 1:
		v.forbid(f.Location, "WITHIN GROUP of several expressions", otherAggregate)
	case by.GetSortbyDir() == pg.SortByDir_SORTBY_USING:
		v.forbid(f.Location, "ORDER BY USING", "Write ASC or DESC.")
	}
	return v.expr(by.GetNode()), by.GetSortbyDir() == pg.SortByDir_SORTBY_DESC
}

// report converts a call that asks for the error of an aggregate.
func (v exprConverter) report(f *pg.FuncCall) *ast.Aggregate {
	out := v.aggregate(f.Args[0])
	_, name := pgtree.Callee(f)
	switch {
	case out.Report != "":
		v.forbid(f.Location, "the error of an error", "Write dp."+name+"(count(*)).")
	case len(f.Args) > 2 || len(f.Args) == 2 && !pgtree.Reports[name]:
		v.forbid(f.Location, "dp."+name+" with these arguments", "Write dp."+name+"(count(*)).")
	case len(f.Args) == 2:
		out.Level = v.expr(f.Args[1])
	}
	out.Report = name
	return out
}

// weigh gives the aggregates of a block their weights, which hold wherever an aggregate stands in it.
func (v exprConverter) weigh(all []*ast.Aggregate, m *matcher) {
	for i, of := range m.of {
		if weight := m.weights[of]; weight != nil {
			all[i].Weight = v.expr(weight.Args[1])
		}
	}
	if m.twice != nil {
		v.failAt(m.twice.Location, pgerr.New(pgerr.InvalidParameterValue, "an aggregate has one weight in a query").
			WithHint("Write dp.weight around it once: it holds wherever the same aggregate stands."))
	}
}

const weighLikeThis = "Write dp.weight(count(*), 3): an aggregate of the query, and a number."

// weighed converts a call that weighs an aggregate.
func (v exprConverter) weighed(f *pg.FuncCall) *ast.Aggregate {
	inner := f.Args[0]
	switch call := inner.GetFuncCall(); {
	case v.level != nil:
		v.forbid(f.Location, "dp.weight below the aggregate that is released", "Weigh the aggregates of the query around it.")
	case call != nil && pgtree.IsWeight(call):
		v.forbid(f.Location, "the weight of a weight", weighLikeThis)
	case call != nil && pgtree.IsReport(call):
		v.forbid(f.Location, "the weight of an error", "Weigh the aggregate: dp.error(dp.weight(count(*), 3)).")
	case !pgtree.IsPlainWeight(f):
		v.forbid(f.Location, "dp.weight with these arguments", weighLikeThis)
	}
	return v.aggregate(inner)
}
