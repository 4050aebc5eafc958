package parser

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
)

// A converter turns the content of a block into our own trees. Syntax that is not on
// its list of node types becomes nil and leaves the reason in err.
type converter struct {
	a   *analysis
	err *pgerr.Error
	// level is the query level below the block that is being converted, nil in the block's own.
	level *level
	// grouped says that aggregates of that level may stand here.
	grouped bool
	depth   int // levels that enclose this one, the block's own aside
	// exists is the sub-select of the EXISTS that is being converted.
	exists *pg.SelectStmt
	// offsets are parameters after OFFSET.
	offsets []ast.Expr
}

// Limits on the blocks of a statement in all, and on how deep queries may be nested in one.
// A WITH query counts at each of its references.
const (
	maxNodes  = 200_000 // expressions
	maxTables = 2000    // items of FROM
	maxLevels = 50
)

// convert makes the Block of a candidate.
func convert(a *analysis, c *candidate, m *matcher) *ast.Block {
	v := &converter{a: a}
	b := &ast.Block{
		At: a.l.client(c.at), Grouped: len(m.groupNodes) > 0 || m.sets != nil,
		Sets: m.sets, Groupings: m.groupings, Concealed: a.l.concealed(c.at),
	}
	b.From = v.fromItems(c.sel.FromClause)
	if c.sel.WhereClause != nil {
		b.Where = v.expr(c.sel.WhereClause)
	}
	b.Groups = v.exprs(m.groupNodes)
	for _, n := range m.aggregateNodes {
		b.Aggregates = append(b.Aggregates, v.aggregate(n))
	}
	v.strays(m)
	b.Err, b.Offsets = v.err, v.offsets
	return b
}

// strays refuses expressions above the grouping that are neither grouped nor aggregated.
// Postgres takes a column that depends on a grouped key.
func (v *converter) strays(m *matcher) {
	if m.stray != nil {
		names, _ := stringsOf(m.stray.Fields)
		name := "*"
		if len(names) > 0 {
			name = names[len(names)-1]
		}
		v.failAt(m.stray.Location, pgerr.New(pgerr.NotAllowed, "column %q is neither grouped nor aggregated", name).
			WithHint("Add the column to GROUP BY."))
	}
	if m.ungrouped != nil {
		v.forbid(m.ungrouped.Location, "GROUPING of what is not grouped", "Name up to 31 grouping expressions.")
	}
}

func (v *converter) fail(e *pgerr.Error) {
	if v.err == nil {
		v.err = e
	}
}

// failAt is fail, but for a message that would tell of the query of a view that no client may see.
func (v *converter) failAt(location int32, e *pgerr.Error) {
	if view := v.a.l.concealed(v.a.offsetOf(location)); view != "" {
		e = ConcealedRefusal(view)
	}
	v.fail(e.At(v.a.pos(location)))
}

// ConcealedRefusal refuses a view because of something in a query that no client may see.
func ConcealedRefusal(view string) *pgerr.Error {
	return pgerr.New(pgerr.NotAllowed, "what the definition of view %q holds cannot be used on protected rows, or not here", view).
		WithHint("The definition is not shown: ask the administrator, or use another table.")
}

// notAllowed refuses a construct by its name.
func (v *converter) notAllowed(location int32, what string) ast.Expr {
	v.forbid(location, what, "Write the query without it, or apply it to the result of the aggregate.")
	return nil
}

func (v *converter) forbid(location int32, what, hint string) {
	v.failAt(location, pgerr.New(pgerr.NotAllowed, "%s cannot be used on protected rows", what).WithHint("%s", hint))
}

// notYet refuses a construct that could be supported but is not.
func (v *converter) notYet(location int32, what, hint string) {
	v.failAt(location, pgerr.New(pgerr.FeatureNotSupported, "%s over protected rows is not supported", what).WithHint("%s", hint))
}

// tooLarge refuses a block that is too large when its WITH queries stand at each reference.
func (v *converter) tooLarge(location int32) {
	v.fail(pgerr.New(pgerr.StatementTooComplex, "a query over protected rows is too large").
		At(v.a.pos(location)).WithHint("Split the statement, or refer to its WITH queries less often."))
}

const otherAggregate = "Use an aggregate of Postgres itself without this clause, such as count, sum or avg."

// aggregate converts an aggregate call of the block's level or of the one below it that is being converted.
func (v *converter) aggregate(n *pg.Node) *ast.Aggregate {
	f := n.GetFuncCall()
	if f == nil {
		v.forbid(firstLocation(n), "an SQL/JSON aggregate", otherAggregate)
		return &ast.Aggregate{}
	}
	if isReport(f) {
		return v.report(f)
	}
	grouped := v.grouped
	v.grouped = false
	defer func() { v.grouped = grouped }()
	schema, name := callee(f)
	out := &ast.Aggregate{Func: name, Star: f.AggStar, Distinct: f.AggDistinct, At: v.a.pos(f.Location)}
	switch {
	case schema != "" && schema != "pg_catalog":
		v.forbid(f.Location, "an aggregate of schema "+schema, otherAggregate)
	case f.AggWithinGroup:
		out.Within, out.Descending = v.within(f)
	case len(f.AggOrder) > 0:
		v.forbid(f.Location, "ORDER BY in an aggregate", otherAggregate)
	case f.FuncVariadic:
		v.notAllowed(f.Location, "VARIADIC")
	}
	if v.level != nil && !v.level.owns(n) {
		v.forbid(f.Location, "an aggregate with a sub-select or with columns of the query around it",
			"Compute it in the query whose columns it needs, from columns alone.")
	}
	out.Args = v.exprs(f.Args)
	if f.AggFilter != nil {
		out.Filter = v.expr(f.AggFilter)
	}
	return out
}

// owns reports whether all columns in the aggregate call are of this level. An aggregate
// of columns of another level belongs to that one, whatever query it stands in; columns in
// a sub-select count as well.
func (l *level) owns(aggregate *pg.Node) bool {
	foreign := func(n *pg.Node) bool {
		ref := n.GetColumnRef()
		return n.GetSubLink() != nil || ref != nil && l.scope.reach(ref) != 0
	}
	return !holds(foreign, aggregate)
}

// within converts WITHIN GROUP (ORDER BY x [DESC]).
func (v *converter) within(f *pg.FuncCall) (x ast.Expr, descending bool) {
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
func (v *converter) report(f *pg.FuncCall) *ast.Aggregate {
	out := v.aggregate(f.Args[0])
	_, name := callee(f)
	switch {
	case out.Report != "":
		v.forbid(f.Location, "the error of an error", "Write dp."+name+"(count(*)).")
	case len(f.Args) > 2 || len(f.Args) == 2 && name != "lower" && name != "upper":
		v.forbid(f.Location, "dp."+name+" with these arguments", "Write dp."+name+"(count(*)).")
	case len(f.Args) == 2:
		out.Level = v.expr(f.Args[1])
	}
	out.Report = name
	return out
}
