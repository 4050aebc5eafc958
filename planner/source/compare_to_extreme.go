package source

import "dpproxy/parser/ast"

// CompareToExtreme: a comparison with all rows of a sub-select, or with any of them, is one with the least or the greatest of the group
// that equalities tie to the row around it. Without rows it is true of all. A NULL among them makes it NULL, unless the others decide it.
//
//	FROM visits v WHERE v.cost >= ALL (SELECT w.cost FROM visits w WHERE w.patient_id = v.patient_id)
//
//	FROM visits v
//	  LEFT JOIN (SELECT w.patient_id, count(*) AS n, count(w.cost) AS valued, max(w.cost) AS greatest FROM visits w GROUP BY 1) AS x
//	  ON x.patient_id = v.patient_id
//	WHERE CASE WHEN x.n IS NULL THEN true ELSE v.cost >= x.greatest AND CASE WHEN x.n = x.valued THEN true END END
//
// It is true of any row if the opposite is not true of all. The left side is written once for each extreme, so that it has no query in it.
func compareToExtreme(a *applied, e ast.Expr) (ast.Expr, *ast.Join) {
	of, ok := e.(*ast.Quantified)
	if !ok || of.Query.Limit != nil || len(of.Query.Groups) > 0 || !ofOneRow(of.X) {
		return nil, nil
	}
	operator := of.Op
	if !of.All {
		operator = opposites[operator]
	}
	if extremes[operator] == nil {
		return nil, nil
	}
	if known := a.known(of); known != nil {
		return known, nil
	}
	q := a.try(of, of.Query, of.Refusal)
	if q == nil || !q.ofOwnRows(a.frame) || !q.ofOneUnit() {
		return nil, nil
	}
	all := q.grouped()
	aggregate := func(name string, args ...ast.Expr) ast.Expr {
		return q.add(all, &ast.Aggregate{Func: name, Star: args == nil, Args: args, At: q.at}, q.field())
	}
	value, yes := q.query.Targets[0].X, &ast.Const{Kind: ast.Boolean, Text: "true", At: q.at}
	count, valued := aggregate("count"), aggregate("count", value)
	var parts []ast.Expr
	for _, name := range extremes[operator] {
		parts = append(parts, &ast.Op{Name: operator, Left: of.X, Right: aggregate(name, value), At: q.at})
	}
	noNull := &ast.Op{Name: "=", Left: count, Right: valued, At: q.at}
	parts = append(parts, &ast.Case{Whens: []ast.When{{If: noNull, Then: yes}}, At: q.at})
	none := ast.When{If: &ast.IsNull{X: count, At: q.at}, Then: yes}
	q.value = &ast.Case{Whens: []ast.When{none}, Else: allOf(parts, asIs), At: q.at}
	if !of.All {
		q.value = &ast.Bool{Kind: ast.Not, Args: []ast.Expr{q.value}, At: q.at}
	}
	return q.value, q.join(a, all)
}

// extremes are the aggregates with which a comparison with all values compares.
var extremes = map[string][]string{"<": {"min"}, "<=": {"min"}, ">": {"max"}, ">=": {"max"}, "=": {"min", "max"}}

// opposites are the comparisons that are true where others are false.
var opposites = map[string]string{"<": ">=", "<=": ">", ">": "<=", ">=": "<", "<>": "="}
