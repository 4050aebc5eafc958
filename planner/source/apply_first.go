package source

import (
	"slices"
	"strconv"

	"dpproxy/parser/ast"
)

// ApplyFirst: a sub-select of the first row that equalities tie to the row around it is an outer join with the first rows of all groups of
// its sides of them: those that DISTINCT ON has, or that a window function numbers.
//
//	FROM patients p WHERE (SELECT v.diagnosis FROM visits v WHERE v.patient_id = p.id ORDER BY v.day LIMIT 1) = 'flu'
//
//	FROM patients p
//	  LEFT JOIN (SELECT DISTINCT ON (v.patient_id) v.patient_id, v.diagnosis FROM visits v ORDER BY v.patient_id, v.day) AS x
//	  ON x.patient_id = p.id
//	WHERE x.diagnosis = 'flu'
//
// An OFFSET skips rows of each group. The first of groups is one by their order.
func applyFirst(a *applied, e ast.Expr) (ast.Expr, *ast.Join) {
	of, ok := e.(*ast.ValueQuery)
	if !ok || of.Query.Limit == nil || of.Query.Limit.Rows != 1 {
		return nil, nil
	}
	return a.rowOf(of, func(q *perRow) *ast.Select {
		if !q.numbered() {
			return nil
		}
		return q.first()
	})
}

// lateralFirst is ApplyFirst of LATERAL, of any number of rows.
func lateralFirst(q *perRow, f lateral) (*ast.Select, []ast.Target) {
	if q.query.Limit == nil || !q.ofOwnRows(f.frame) || !q.numbered() {
		return nil, nil
	}
	return q.first(), nil
}

// rowOf joins a query that has one row at most for each row around, as a query of all rows; nothing if that is nil.
func (a *applied) rowOf(of *ast.ValueQuery, all func(*perRow) *ast.Select) (ast.Expr, *ast.Join) {
	if len(of.Query.Targets) != 1 || of.Query.Targets[0].X == nil {
		return nil, nil
	}
	if known := a.known(of); known != nil {
		return known, nil
	}
	q := a.try(of, of.Query, of.Refusal)
	if q == nil || !q.ofOwnRows(a.frame) {
		return nil, nil
	}
	rows := all(q)
	if rows == nil {
		return nil, nil
	}
	q.value = q.valueOf(rows)
	return q.value, q.join(a, rows)
}

// valueOf gives the first column of a query of all rows a name of our own.
func (q *perRow) valueOf(rows *ast.Select) *ast.Column {
	value := &rows.Targets[0]
	if value.X == nil { // a star of the rows below
		value.X = q.column(q.query.Targets[0].Name)
	}
	value.Name = q.field()
	return q.column(value.Name)
}

// numbered reports whether the rows that LIMIT numbers can be told. Rows that a key alone ties to the row around, and no unit, are told by
// DISTINCT ON.
func (q *perRow) numbered() bool {
	l := q.query.Limit
	one := l.Rows == 1 && l.Skipped == 0 && !l.WithTies && len(q.query.Groups) == 0
	return !q.query.Distinct && (one && q.ofOneUnit() || q.tiedByUnit())
}

// first is the query of the rows of each group of the ties that LIMIT and OFFSET number.
func (q *perRow) first() *ast.Select {
	out, order := q.all(), slices.Clone(q.query.Order)
	var ties []ast.Expr
	for _, t := range q.ties {
		ties = append(ties, t.inner)
	}
	if len(q.query.Groups) > 0 {
		out, ties = q.overGroups(out, order)
	}
	l := q.query.Limit
	if l.Rows == 1 && l.Skipped == 0 && !l.WithTies {
		out.First = ties
		for _, x := range ties {
			out.Order = append(out.Order, ast.Sort{X: x})
		}
		out.Order = append(out.Order, order...)
		return out
	}
	number := &ast.Window{Func: "row_number", Partition: ties, Order: order, At: q.at}
	if l.WithTies {
		number.Func = "rank"
	}
	place := q.add(out, number, q.field())
	out = q.over(out)
	out.Where = q.counted(place, l)
	return out
}

// counted is the condition that LIMIT and OFFSET have a row of that number.
func (q *perRow) counted(number ast.Expr, l *ast.Limit) ast.Expr {
	compared := func(operator string, n int) ast.Expr {
		to := &ast.Const{Kind: ast.Integer, Text: strconv.Itoa(n), At: q.at}
		return &ast.Op{Name: operator, Left: number, Right: to, At: q.at}
	}
	switch {
	case l.Skipped == 0:
		return compared("<=", l.Rows)
	case l.Rows == 1:
		return compared("=", l.Skipped+1)
	}
	return allOf([]ast.Expr{compared(">", l.Skipped), compared("<=", l.Skipped+l.Rows)}, asIs)
}

// overGroups has groups as rows, ordered by columns of theirs, and returns their ties.
func (q *perRow) overGroups(groups *ast.Select, order []ast.Sort) (out *ast.Select, ties []ast.Expr) {
	for i := range order {
		order[i].X = q.add(groups, order[i].X, q.field())
	}
	for _, t := range q.ties {
		ties = append(ties, q.column(t.name))
	}
	return q.over(groups), ties
}

// over is a query of the rows of another one. Its star has the columns of the client.
func (q *perRow) over(below *ast.Select) *ast.Select {
	out := &ast.Select{
		From: &ast.Derived{Query: below, Alias: q.alias, At: q.at}, Targets: []ast.Target{{At: q.at}}, At: q.at,
	}
	for _, t := range q.ties {
		q.add(out, q.column(t.name), t.name)
	}
	return out
}
