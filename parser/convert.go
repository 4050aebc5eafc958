package parser

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/pgtree"
	"dpproxy/pgerr"
)

// A conversion turns the content of a block into our own trees. Syntax that is not on
// its list of node types becomes nil and leaves the reason in err.
type conversion struct {
	a   *analysis
	err *pgerr.Error
	// exists is the sub-select of the EXISTS that is being converted.
	exists *pg.SelectStmt
	// fields are the keys of fields.
	fields [][]string
	// offsets are parameters after OFFSET.
	offsets []ast.Expr
	// queries counts those that take the place of others.
	queries int
	// wanted are the sub-selects of conditions that must be true: false is as good as NULL.
	wanted map[*pg.SubLink]bool
}

// A queryConverter converts the queries, and items of FROM, of one level: that of the block, or
// one below it.
type queryConverter struct {
	*conversion
	level *level // nil in the block's own
	depth int    // levels that enclose this one, the block's own aside
	// moved is a function of the targets that stands in FROM instead, and movedTo its column.
	moved   *pg.FuncCall
	movedTo *ast.Column
	// windows are set where window functions may stand.
	windows *windowClause
	each    *each
}

// An exprConverter converts expressions of a query.
type exprConverter struct {
	*queryConverter
	grouped bool // aggregates of the level may stand here
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
	v := &queryConverter{conversion: &conversion{a: a}, each: &each{scope: c.scope}}
	row := exprConverter{v, false}
	b := &ast.Block{
		At: a.l.client(c.at), Grouped: len(m.groupNodes) > 0 || m.sets != nil,
		Sets: m.sets, Groupings: m.groupings, Concealed: a.l.concealed(c.at), Counts: c.counts, Summed: c.summed, Present: c.present,
	}
	b.From = v.selectedElements(v.from(c.sel), m.groupNodes)
	if c.sel.WhereClause != nil {
		b.Where = condition{row}.where(c.sel.WhereClause)
	}
	b.Groups = row.exprs(m.groupNodes)
	for _, n := range m.aggregateNodes {
		b.Aggregates = append(b.Aggregates, row.aggregate(n))
	}
	row.weigh(b.Aggregates, m)
	b.Top, b.Having = v.top(c, m), row.exprs(settled(c.sel.HavingClause))
	v.strays(m)
	b.Running = runningOf(a, m)
	b.Err, b.Offsets, b.Fields = v.err, v.offsets, v.fields
	return b
}

// settled returns the conditions of HAVING that compare constants and parameters alone.
func settled(having *pg.Node) []*pg.Node {
	return slices.DeleteFunc(slices.Clone(pgtree.Conjuncts(having)), func(condition *pg.Node) (varies bool) {
		pgtree.Every(condition, func(n *pg.Node) {
			switch e := n.Node.(type) {
			case *pg.Node_AConst, *pg.Node_ParamRef, *pg.Node_TypeCast, *pg.Node_String_, *pg.Node_BoolExpr, *pg.Node_NullTest:
			case *pg.Node_AExpr:
				varies = varies || !slices.Contains([]string{"=", "<>", "<", "<=", ">", ">="}, pgtree.OperatorName(e.AExpr))
			default:
				varies = true
			}
		})
		return varies
	})
}

// strays refuses expressions above the grouping that are neither grouped nor aggregated.
// Postgres takes a column that depends on a grouped key.
func (v *conversion) strays(m *matcher) {
	if m.stray != nil {
		names, _ := pgtree.Strings(m.stray.Fields)
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

func (v *conversion) fail(e *pgerr.Error) {
	if v.err == nil {
		v.err = e
	}
}

// failAt is fail with a position.
func (v *conversion) failAt(location int32, e *pgerr.Error) { v.fail(v.refusal(location, e)) }

// refusal is an error with a position. In the query of a view that no client may see, its message would tell of that.
func (v *conversion) refusal(location int32, e *pgerr.Error) *pgerr.Error {
	if view := v.a.l.concealed(v.a.offsetOf(location)); view != "" {
		e = ConcealedRefusal(view)
	}
	return e.At(v.a.pos(location))
}

// ConcealedRefusal refuses a view because of something in a query that no client may see.
func ConcealedRefusal(view string) *pgerr.Error {
	return pgerr.New(pgerr.NotAllowed, "what the definition of view %q holds cannot be used on protected rows, or not here", view).
		WithHint("The definition is not shown: ask the administrator, or use another table.")
}

// notAllowed refuses a construct by its name.
func (v *conversion) notAllowed(location int32, what string) ast.Expr {
	v.forbid(location, what, withoutIt)
	return nil
}

const withoutIt = "Write the query without it, or apply it to the result of the aggregate."

func (v *conversion) forbid(location int32, what, hint string) {
	v.failAt(location, forbidden(what, hint))
}

// forbidden refuses a construct.
func forbidden(what, hint string) *pgerr.Error {
	return pgerr.New(pgerr.NotAllowed, "%s cannot be used on protected rows", what).WithHint("%s", hint)
}

// notYet refuses a construct that could be supported but is not.
func (v *conversion) notYet(location int32, what, hint string) {
	v.failAt(location, pgerr.New(pgerr.FeatureNotSupported, "%s over protected rows is not supported", what).WithHint("%s", hint))
}

// tooLarge refuses a block that is too large when its WITH queries stand at each reference.
func (v *conversion) tooLarge(location int32) {
	v.fail(pgerr.New(pgerr.StatementTooComplex, "a query over protected rows is too large").
		At(v.a.pos(location)).WithHint("Split the statement, or refer to its WITH queries less often."))
}
