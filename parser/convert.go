package parser

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/pgerr"
)

// A converter turns the content of a block into our own trees. What is not on
// its list of node types becomes nil and leaves the reason in err.
type converter struct {
	a   *analysis
	err *pgerr.Error
}

// convert makes the Block of a candidate.
func (a *analysis) convert(c *candidate, m *matcher) *Block {
	v := &converter{a: a}
	b := &Block{At: c.at, Grouped: len(c.sel.GroupClause) > 0}
	b.From = v.from(c.sel.FromClause)
	if c.sel.WhereClause != nil {
		b.Where = v.expr(c.sel.WhereClause)
	}
	for _, g := range m.groupNodes {
		b.Groups = append(b.Groups, v.expr(g))
	}
	for _, n := range m.aggregateNodes {
		b.Aggregates = append(b.Aggregates, v.aggregate(n))
	}
	if m.stray != nil {
		v.stray(m.stray)
	}
	if m.grouping != nil {
		v.other(m.grouping)
	}
	b.Err = v.err
	return b
}

// stray refuses a column that is neither grouped nor aggregated; Postgres takes
// one that depends on a grouped key.
func (v *converter) stray(ref *pg.ColumnRef) {
	names, _ := stringsOf(ref.Fields)
	name := "*"
	if len(names) > 0 {
		name = names[len(names)-1]
	}
	v.fail(pgerr.New(pgerr.NotAllowed, "column %q is neither grouped nor aggregated", name).At(v.a.at(ref.Location)).
		WithHint("Add the column to GROUP BY."))
}

func (v *converter) fail(e *pgerr.Error) {
	if v.err == nil {
		v.err = e
	}
}

// notAllowed refuses a construct by its name.
func (v *converter) notAllowed(location int32, what string) Expr {
	v.forbid(location, what, "Write the query without it, or apply it to the result of the aggregate.")
	return nil
}

func (v *converter) forbid(location int32, what, hint string) {
	v.fail(pgerr.New(pgerr.NotAllowed, "%s cannot be used on protected rows", what).
		At(max(v.a.at(location), 0)).WithHint("%s", hint))
}

// notYet refuses a construct that could be supported but is not.
func (v *converter) notYet(location int32, what, hint string) {
	v.fail(pgerr.New(pgerr.FeatureNotSupported, "%s over protected rows is not supported", what).
		At(max(v.a.at(location), 0)).WithHint("%s", hint))
}

func (v *converter) aggregate(n *pg.Node) *Aggregate {
	f := n.GetFuncCall()
	if f == nil {
		v.forbid(firstLocation(n), "an SQL/JSON aggregate", "Use count, sum or avg.")
		return &Aggregate{}
	}
	const known = "Use count, sum or avg."
	schema, name := callee(f)
	out := &Aggregate{Func: name, Star: f.AggStar, Distinct: f.AggDistinct, At: v.a.at(f.Location)}
	switch {
	case schema != "" && schema != "pg_catalog":
		v.forbid(f.Location, "an aggregate of schema "+schema, known)
	case f.AggWithinGroup:
		v.forbid(f.Location, "the ordered-set aggregate "+name, known)
	case len(f.AggOrder) > 0:
		v.forbid(f.Location, "ORDER BY in an aggregate", known)
	case f.FuncVariadic:
		v.notAllowed(f.Location, "VARIADIC")
	}
	for _, arg := range f.Args {
		out.Args = append(out.Args, v.expr(arg))
	}
	if f.AggFilter != nil {
		out.Filter = v.expr(f.AggFilter)
	}
	return out
}

func (v *converter) from(list []*pg.Node) From {
	var out From
	for i, n := range list {
		next := v.fromItem(n)
		if i == 0 {
			out = next
			continue
		}
		out = &Join{Kind: Cross, Left: out, Right: next, At: fromPosition(next)}
	}
	return out
}

func fromPosition(f From) int {
	switch x := f.(type) {
	case *Table:
		return x.Ref.At
	case *Join:
		return x.At
	case *Derived:
		return x.At
	}
	return 0
}

func (v *converter) fromItem(n *pg.Node) From {
	const rewrite = "Write the tables themselves in FROM of the aggregate."
	switch x := n.GetNode().(type) {
	case *pg.Node_RangeVar:
		return v.tableItem(x.RangeVar)
	case *pg.Node_JoinExpr:
		return v.join(x.JoinExpr)
	case *pg.Node_RangeSubselect:
		v.notYet(firstLocation(n), "a sub-select in FROM", rewrite)
	case *pg.Node_RangeFunction:
		v.forbid(firstLocation(n), "a function in FROM", rewrite)
	case *pg.Node_RangeTableSample:
		v.forbid(x.RangeTableSample.Location, "TABLESAMPLE", "Leave it out: the answer is for all rows.")
	default:
		v.forbid(firstLocation(n), "this item of FROM", rewrite)
	}
	return nil
}

// firstLocation is the smallest location in a tree that has none of its own.
func firstLocation(n *pg.Node) int32 {
	_, first, _ := canonical(n)
	return int32(first)
}

func (v *converter) tableItem(r *pg.RangeVar) From {
	t := &Table{
		Ref:   TableRef{Schema: r.Schemaname, Name: r.Relname, At: v.a.at(r.Location)},
		Alias: r.Relname, Only: !r.Inh,
	}
	if r.Schemaname == "" && v.a.isCTE(r) {
		v.notYet(r.Location, "a WITH query in FROM", "Write the tables themselves in FROM of the aggregate.")
		return t
	}
	if r.Catalogname != "" {
		v.notAllowed(r.Location, "a table name with a database")
	}
	if resolved, known := v.a.cat.Relation(r.Schemaname, r.Relname); known {
		t.Ref.Resolved = resolved
	}
	if r.Alias != nil {
		t.Alias = r.Alias.Aliasname
		if len(r.Alias.Colnames) > 0 {
			v.notYet(r.Location, "a list of column aliases", "Use the names of the table's columns.")
		}
	}
	return t
}

func (v *converter) join(j *pg.JoinExpr) From {
	out := &Join{Left: v.fromItem(j.Larg), Right: v.fromItem(j.Rarg)}
	out.At = fromPosition(out.Right)
	at := int32(out.At + v.a.base)
	switch j.Jointype {
	case pg.JoinType_JOIN_INNER:
		out.Kind = Inner
		if j.Quals == nil && len(j.UsingClause) == 0 {
			out.Kind = Cross
		}
	case pg.JoinType_JOIN_LEFT:
		out.Kind = Left
	case pg.JoinType_JOIN_RIGHT:
		out.Kind = Right
	case pg.JoinType_JOIN_FULL:
		out.Kind = Full
	default:
		v.notAllowed(at, "this join")
	}
	if j.IsNatural {
		v.notYet(at, "NATURAL JOIN", "Write USING (...) with the columns.")
	}
	if j.Alias != nil || j.JoinUsingAlias != nil {
		v.notYet(at, "an alias of a join", "Give the tables aliases instead.")
	}
	out.Using, _ = stringsOf(j.UsingClause)
	if len(out.Using) == 0 {
		out.Using = nil
	}
	if j.Quals != nil {
		out.On = v.expr(j.Quals)
	}
	return out
}

// isCTE reports whether the range variable was found to name a CTE.
func (a *analysis) isCTE(r *pg.RangeVar) bool { return slices.Contains(a.cteRefs, r) }
