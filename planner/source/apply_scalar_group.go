package source

import (
	"slices"

	"dpproxy/parser/ast"
)

// ApplyScalarGroup: a sub-select of an aggregate that equalities tie to the row around it is an outer join with the groups of its sides of
// them. Without rows there is no group: a count is zero then, and any other aggregate NULL, as it is of no rows.
//
//	SELECT (SELECT count(*) FROM visits v WHERE v.patient_id = p.id AND v.cost > 5), count(*) FROM patients p GROUP BY 1
//
//	SELECT coalesce(x.n, 0), count(*) FROM patients p
//	  LEFT JOIN (SELECT v.patient_id, count(*) AS n FROM visits v WHERE v.cost > 5 GROUP BY v.patient_id) AS x ON x.patient_id = p.id
//	GROUP BY 1
//
// A value may be computed of several aggregates and of columns of the row around.
func applyScalarGroup(a *applied, e ast.Expr) (ast.Expr, *ast.Join) {
	of, ok := e.(*ast.ValueQuery)
	if !ok || len(of.Query.Targets) != 1 || !hasOneGroup(of.Query) {
		return nil, nil
	}
	if known := a.known(of); known != nil {
		return known, nil
	}
	q := a.try(of, of.Query, of.Refusal)
	if q == nil || !q.ofGroup(a.frame, q.query.Targets[0].X) {
		return nil, nil
	}
	all := q.grouped()
	q.value = q.aroundGroup(all, q.query.Targets[0].X)
	return q.value, q.join(a, all)
}

// lateralGroup is ApplyScalarGroup of LATERAL. An outer join around it would not put NULL in the place of a zero.
func lateralGroup(q *perRow, f lateral) (*ast.Select, []ast.Target) {
	other := func(t ast.Target) bool { return !q.ofGroup(f.frame, t.X) }
	if !hasOneGroup(q.query) || f.nullable || f.On != nil && !isTrue(f.On) || slices.ContainsFunc(q.query.Targets, other) {
		return nil, nil
	}
	all, computed := q.grouped(), slices.Clone(q.query.Targets)
	for i := range computed {
		computed[i].X = q.aroundGroup(all, computed[i].X)
	}
	return all, computed
}

// aroundGroup is an expression of aggregates of a group, which are columns of it, around the join.
func (q *perRow) aroundGroup(all *ast.Select, e ast.Expr) ast.Expr {
	return ast.Replace(e, func(x ast.Expr) ast.Expr {
		g, ok := x.(*ast.Aggregate)
		if !ok {
			return nil
		}
		column := q.add(all, g, q.field())
		if g.Func != "count" && g.Func != "regr_count" {
			return column
		}
		zero := &ast.Const{Kind: ast.Integer, Text: "0", At: q.at}
		return &ast.Func{Name: "coalesce", Args: []ast.Expr{column, zero}, At: q.at}
	})
}

// hasOneGroup reports whether a query has one row of aggregates, whatever its rows are.
func hasOneGroup(sel *ast.Select) bool {
	star := func(t ast.Target) bool { return t.X == nil }
	aggregate := func(t ast.Target) bool { return holdsAggregate(t.X) }
	return !slices.ContainsFunc(sel.Targets, star) && slices.ContainsFunc(sel.Targets, aggregate) &&
		len(sel.Groups) == 0 && sel.Having == nil && !sel.Distinct && leavesFirst(sel.Limit)
}

func holdsAggregate(e ast.Expr) bool {
	_, ok := e.(*ast.Aggregate)
	return ok || slices.ContainsFunc(ast.Operands(e), holdsAggregate)
}

// ofGroup reports whether an expression is computed of aggregates over the query, and of columns of the row around.
func (q *perRow) ofGroup(level frame, e ast.Expr) bool {
	operands := ast.Operands(e)
	switch e.(type) { //nolint:gochecksumtype // the others have columns only below
	case *ast.Aggregate: // its columns are ones of the query
		return true
	case *ast.Column:
		return q.sides(level, e) == around
	case *ast.Exists, *ast.InQuery, *ast.ValueQuery, *ast.Quantified, *ast.Window:
		return false
	}
	return !slices.ContainsFunc(operands, func(o ast.Expr) bool { return !q.ofGroup(level, o) })
}
