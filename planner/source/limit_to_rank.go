package source

import "dpproxy/parser/ast"

// LimitToRank: IN, ANY and ALL of the first rows that equalities tie to the row around it are ones of the first rows of all groups of the
// ties, among which the equalities find those of the row. LIMIT numbers rows then, and nothing else depends on how many there are: NULL is
// found among them as it is in any sub-select.
//
//	FROM visits v WHERE v.cost IN (SELECT w.cost FROM visits w WHERE w.patient_id = v.patient_id ORDER BY w.day LIMIT 3)
//
//	FROM visits v WHERE v.cost IN (SELECT x.cost FROM (
//	  SELECT y.patient_id, y.cost FROM (
//	    SELECT w.patient_id, w.cost, row_number() OVER (PARTITION BY w.patient_id ORDER BY w.day) AS n FROM visits w
//	  ) AS y WHERE y.n <= 3
//	) AS x WHERE x.patient_id = v.patient_id)
func limitToRank(a *applied, e ast.Expr) (ast.Expr, *ast.Join) {
	of, ok := e.(*ast.Quantified)
	if !ok || of.Query.Limit == nil {
		return nil, nil
	}
	q := a.try(of, of.Query, of.Refusal)
	if q == nil || !q.ofOwnRows(a.frame) || !q.numbered() {
		return nil, nil
	}
	rows := q.first()
	value := ast.Target{X: q.valueOf(rows), Name: q.field(), At: q.at}
	first := &ast.Select{
		From:    &ast.Derived{Query: rows, Alias: q.alias, At: q.at},
		Targets: []ast.Target{value}, Where: allOf(q.equalities(q.alias, rows), asIs), At: q.at,
	}
	if of.Op == "=" && !of.All || of.Op == "<>" && of.All {
		return &ast.InQuery{X: of.X, Query: first, Not: of.All, At: of.At}, nil
	}
	return compareToExtreme(a, &ast.Quantified{X: of.X, Op: of.Op, All: of.All, Query: first, Refusal: of.Refusal, At: of.At})
}
