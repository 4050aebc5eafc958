package source

import (
	"slices"

	"dpproxy/parser/ast"
	"dpproxy/planner/scalar"
)

// A sub-select of a condition that reads a projection of one table reads the table itself:
//
//	EXISTS (SELECT 1 FROM (SELECT v.patient_id AS i, v.cost * 2 AS c FROM visits v WHERE v.cost > 5) q WHERE q.i = p.id AND q.c < 90)
//
//	EXISTS (SELECT 1 FROM visits v WHERE v.cost > 5 AND v.patient_id = p.id AND v.cost * 2 < 90)
//
// So an index may find its rows as it finds those of the table (subselect_by_index.go). Only whether there is a row matters there: DISTINCT
// changes nothing, if rows that are equal look the same.

// projection returns a projection of one table, and its query; nil if the item is none. plain says that all of its columns must be
// ones of the table.
func projection(f ast.From, plain bool) (*ast.Derived, *ast.Select) {
	d, ok := f.(*ast.Derived)
	if !ok || d.Concealed != "" {
		return nil, nil
	}
	sel, ok := d.Query.(*ast.Select)
	if !ok || len(sel.Groups) > 0 || sel.Having != nil || len(sel.First) > 0 || holdsValue(sel.Where) {
		return nil, nil
	}
	plain = plain || sel.Distinct
	if slices.ContainsFunc(sel.Targets, func(t ast.Target) bool {
		return computes(t) && (plain || untyped(t.X) || !ofOneRow(t.X))
	}) {
		return nil, nil
	}
	if _, table := sel.From.(*ast.Table); table {
		return d, sel
	}
	if below, _ := projection(sel.From, plain || !ofOneRow(sel.Where)); below == nil {
		return nil, nil
	}
	return d, sel
}

// computes reports whether a target is no column, and no star.
func computes(t ast.Target) bool { return t.X != nil && !isColumn(t.X) }

// ofOneRow reports whether an expression needs nothing but the row that it is computed for.
func ofOneRow(e ast.Expr) bool {
	switch e.(type) { //nolint:gochecksumtype // the others are computed of their operands
	case *ast.InQuery, *ast.Exists, *ast.ValueQuery, *ast.Quantified, *ast.Aggregate, *ast.Window:
		return false
	}
	return !slices.ContainsFunc(ast.Operands(e), func(o ast.Expr) bool { return !ofOneRow(o) })
}

// equatesComputed reports whether a condition equates another column with what a projection computes: of the row around that must be a
// column, as it is while the projection is a table of its own.
func equatesComputed(where ast.Expr, from ast.From) bool {
	names := computedNames(from)
	return slices.ContainsFunc(conjunction(where), func(e ast.Expr) bool {
		eq, ok := e.(*ast.Op)
		if !ok || eq.Name != "=" || eq.Left == nil {
			return false
		}
		named := func(x ast.Expr) bool { c, ok := x.(*ast.Column); return ok && slices.Contains(names, c.Name) }
		return (named(eq.Left) || named(eq.Right)) && !ast.ColumnFree(eq.Left) && !ast.ColumnFree(eq.Right)
	})
}

// computedNames are the names of columns of a projection that are computed, at any depth.
func computedNames(f ast.From) (names []string) {
	d, ok := f.(*ast.Derived)
	if !ok {
		return nil
	}
	sel, ok := d.Query.(*ast.Select)
	if !ok {
		return nil
	}
	below, star := computedNames(sel.From), false
	for i, t := range sel.Targets {
		c, column := t.X.(*ast.Column)
		switch {
		case t.X == nil:
			names, star = append(names, below...), true
		case !column, slices.Contains(below, c.Name):
			if i < len(d.Columns) {
				names = append(names, d.Columns[i])
			}
			names = append(names, t.Name)
		}
	}
	if star && len(names) > 0 {
		names = append(names, d.Columns...) // whichever they are of
	}
	return names
}

// resolveAsked resolves FROM of a sub-select of a condition. plain says that what its columns stand for must be columns.
func resolveAsked(sc scope, from ast.From, plain bool) (scope, error) {
	d, sel := projection(from, plain)
	if d == nil {
		return sc.resolveFrom(from)
	}
	below, err := resolveAsked(sc, sel.From, plain || !ofOneRow(sel.Where))
	if err != nil {
		return sc, err
	}
	where := sel.Where
	if below, err = joinApplied(below, sel.From, []*ast.Expr{&where}); err != nil {
		return sc, err
	}
	below.frame, below.outer = below.frame.withoutOwn(), nil // it is no LATERAL
	if err := below.resolveWhere(where); err != nil {
		return sc, err
	}
	it := &item{alias: d.Alias}
	if it.fields, err = projected(below, sel); err == nil {
		err = it.rename(d.Columns, d.At)
	}
	sc.frame = frame{[]*item{it}, slices.Clone(it.fields), below.frame.notNull}
	return sc, err
}

// projected are the columns of a projection.
func projected(sc scope, sel *ast.Select) (fields []field, err error) {
	out, err := sc.targets(sel.Targets, sc.Resolver())
	if err != nil {
		return nil, err
	}
	for _, o := range out {
		f := field{name: o.name, computed: &computed{x: o.x}}
		if c, column := scalar.PlainColumn(o.x); column {
			f = field{name: o.name, column: c}
		}
		if sel.Distinct && !scalar.OneSpelling(o.x) {
			return nil, notHere(o.at, castHint, "DISTINCT on protected rows cannot compare %s", o.x.Type())
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// A sub-select that asks, of one column of its table, for another sub-select is two beside each other, if that column is the one that
// ties it to the row around:
//
//	p.id IN (SELECT v.patient_id FROM visits v WHERE v.cost > 5 AND NOT EXISTS (SELECT 1 FROM bills b WHERE b.patient_id = v.patient_id))
//
//	p.id IN (SELECT v.patient_id FROM visits v WHERE v.cost > 5) AND NOT EXISTS (SELECT 1 FROM bills b WHERE b.patient_id = p.id)
//
// INTERSECT and EXCEPT of tables are such sub-selects (package parser). An index may find the rows of each (subselect_by_index.go).

// takenOut are conditions that have been taken out of a sub-select, and what they ask for.
type takenOut struct {
	conds []scalar.Expr
	asked []*semijoin
}

// takeOut takes out of a level, before it is proved, the conditions that can stand beside it.
func takeOut(t *terms, r *resolved) (out takenOut, err error) {
	home, table := r.root.(*relation)
	if !table || home.rows != nil || len(r.ties) != 1 || r.unmatched || !scalar.SameType(r.ties[0].a, r.ties[0].b) {
		return out, nil
	}
	where := r.where
	r.where = nil
	for _, c := range where {
		list := askedBy(r, c)
		if len(list) == 0 || slices.ContainsFunc(list, func(j *semijoin) bool { return !tiedTo(j.inner, r.ties[0].a) }) {
			r.where = append(r.where, c)
			continue
		}
		out.conds = append(out.conds, c.x)
		for _, j := range list {
			r.subselects = slices.DeleteFunc(r.subselects, func(o *semijoin) bool { return o == j })
			if j, err = tiedAnew(t, j, r.ties[0]); err != nil {
				return out, err
			}
			out.asked = append(out.asked, j)
		}
	}
	return out, nil
}

// askedBy returns the sub-selects of a condition that asks for nothing else.
func askedBy(r *resolved, c condition) (list []*semijoin) {
	queries, _ := scalar.Asked(c.x)
	for _, j := range r.subselects {
		if slices.Contains(queries, j.query) {
			list = append(list, j)
		}
	}
	return list
}

// tiedTo reports whether nothing but equalities with one column ties the level to the row around.
func tiedTo(l *level, c *scalar.Column) bool {
	other := func(t pair) bool { return t.b != c }
	if len(l.ties) == 0 || l.unmatched || slices.ContainsFunc(l.ties, other) {
		return false
	}
	_, _, tied := scalar.Equality(l.match)
	return l.match == nil || tied
}

// tiedAnew is the sub-select with the column that another ties to, in the place of its own.
func tiedAnew(t *terms, j *semijoin, to pair) (*semijoin, error) {
	anew := func(x scalar.Expr) scalar.Expr {
		if a, b, ok := scalar.Equated(x); ok && (isColumnOf(a, to.a) || isColumnOf(b, to.a)) {
			if isColumnOf(b, to.a) {
				a = b
			}
			return scalar.Replaced(x, a, &scalar.Ref{Column: to.b, At: a.Pos()})
		}
		return x
	}
	names := *j.inner.resolved
	names.where = slices.Clone(names.where)
	for i, c := range names.where {
		names.where[i].x = anew(c.x)
	}
	if names.match != nil {
		names.match = anew(names.match)
	}
	names.ties = slices.Clone(names.ties)
	for i := range names.ties {
		names.ties[i].b = to.b
	}
	p, err := prove(t, &names)
	if err != nil {
		return nil, err
	}
	inner := *j.inner
	inner.bounded, err = boundJoins(t, p)
	out := *j
	out.inner = &inner
	j.query.Uses = []*scalar.Column{to.b}
	return &out, err
}

func isColumnOf(x scalar.Expr, c *scalar.Column) bool {
	col, ok := scalar.PlainColumn(x)
	return ok && col == c
}
