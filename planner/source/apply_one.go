package source

import "dpproxy/parser/ast"

// ApplyRows: LATERAL is a join with all its rows, or groups of them and of the ties. Rows that a key alone ties to the row around, and no
// unit, are joined in groups.
//
//	FROM patients p LEFT JOIN LATERAL (SELECT v.cost FROM visits v WHERE v.patient_id = p.id AND v.cost > 5) x ON true
//
//	FROM patients p LEFT JOIN (SELECT v.patient_id, v.cost FROM visits v WHERE v.cost > 5) x ON x.patient_id = p.id
func lateralRows(q *perRow, f lateral) (*ast.Select, []ast.Target) {
	if q.query.Limit != nil || !q.ofOwnRows(f.frame) || len(q.query.Groups) == 0 && !q.tiedByUnit() {
		return nil, nil
	}
	return q.all(), nil
}

// ApplyOne: a sub-select that has one row at most for each value of its ties to the row around is an outer join with all its rows.
// Package core proves that there is no second one.
//
//	WITH f AS (SELECT patient_id, min(day) AS first FROM visits GROUP BY 1)
//
//	FROM visits v WHERE v.day = (SELECT f.first FROM f WHERE f.patient_id = v.patient_id)
//
//	FROM visits v LEFT JOIN f ON f.patient_id = v.patient_id WHERE v.day = f.first
func applyOne(a *applied, e ast.Expr) (ast.Expr, *ast.Join) {
	of, ok := e.(*ast.ValueQuery)
	if !ok || !leavesFirst(of.Query.Limit) {
		return nil, nil
	}
	return a.rowOf(of, func(q *perRow) *ast.Select {
		if !q.proved.Fixes(q.tiedColumns()) {
			return nil
		}
		all := q.all()
		all.Distinct = false // of one row
		return all
	})
}
