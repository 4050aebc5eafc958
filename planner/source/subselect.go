package source

import (
	"slices"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/scalar"
)

// subselect resolves a condition with a query inside, wherever it stands.
func (sc scope) subselect(e ast.Expr) (scalar.Expr, error) {
	if sc.ended {
		return nil, errEnded(e)
	}
	switch e := e.(type) { //nolint:gochecksumtype // the others have no query inside
	case *ast.InQuery:
		return sc.inQuery(e, false)
	case *ast.Exists:
		return sc.resolveExists(e)
	}
	return nil, pgerr.New(pgerr.Internal, "a condition without a query").At(e.Pos())
}

// subLevel begins the level of a sub-select.
func (sc scope) subLevel() scope {
	at := sc.resolved.place
	at.inside = true
	inner := sc.shared.newLevel(at)
	inner.outer = &sc
	return inner
}

// resolveExists resolves EXISTS.
func (sc scope) resolveExists(e *ast.Exists) (scalar.Expr, error) {
	sel, ok := e.Query.(*ast.Select)
	if !ok || len(sel.Groups) > 0 || sel.Having != nil || sel.From == nil {
		return nil, notHere(e.At, "Use IN: patient_id IN (SELECT patient_id ... GROUP BY patient_id HAVING ...).",
			"EXISTS on protected data takes a plain SELECT without GROUP BY and UNION")
	}
	sel, over := ownSelect(sel)
	inner, err := sc.subLevel().resolveItems(sel.From, over)
	if err != nil {
		return nil, err
	}
	inner.frame = inner.frame.withoutOwn()
	if err := inner.resolveWhere(sel.Where); err != nil {
		return nil, err
	}
	out, err := takeOut(&sc.shared.terms, inner.resolved)
	if err != nil {
		return nil, err
	}
	if err := proveWithin(inner, sc); err != nil {
		return nil, err
	}
	for _, t := range sel.Targets {
		if t.X == nil {
			continue
		}
		if _, err := inner.Resolver().Expr(t.X); err != nil {
			return nil, err
		}
	}
	if e.Alike {
		t := inner.resolved.ties[0]
		sc.resolved.alike = sc.resolved.alike || !inner.frame.notNull[t.a] && !sc.frame.notNull[t.b]
	}
	return sc.semijoin(inner, &semijoin{at: e.At}, out)
}

// inQuery resolves X IN (query) and X NOT IN (query). Where it must be true, NULL is as good as
// false.
func (sc scope) inQuery(e *ast.InQuery, mustBeTrue bool) (scalar.Expr, error) {
	inner := sc.subLevel()
	left, err := sc.comparedByIn(e, inner)
	if err != nil {
		return nil, err
	}
	inner, right, where, err := inner.selectedByIn(e)
	if err != nil {
		return nil, err
	}
	alone := inner
	alone.outer = nil // only the condition may refer to the level around
	inner.resolved.match, err = alone.Resolver().Boolean(&ast.Op{Name: "=", Left: left, Right: right, At: e.At})
	if err != nil {
		return nil, err
	}
	if err := inner.resolveWhere(where); err != nil {
		return nil, err
	}
	correlated := inner.resolved.refersOut()
	inner.tie(inner.resolved.match)
	hasValues := isValue(left) && inner.isValue(right) && inner.neverNull()
	// NOT IN of rows that are tied to the row around is the opposite of IN, which looks for a NULL among them.
	not := e.Not && !correlated
	inner.resolved.unmatched = !not && !mustBeTrue && !hasValues
	if inner.resolved.unmatched && inner.resolved.alike {
		return nil, notHere(e.At, "Write x IN (...) AND x IN (...) for INTERSECT, and x IN (...) AND NOT EXISTS (...) for EXCEPT.",
			"IN of INTERSECT or EXCEPT cannot be NULL on protected data, and both sides may have NULL")
	}
	out, err := takeOut(&sc.shared.terms, inner.resolved)
	if err != nil {
		return nil, err
	}
	if err := proveWithin(inner, sc); err != nil {
		return nil, err
	}
	if inner.resolved.unmatched && sc.resolved.inside { // it is written twice
		return nil, notHere(e.At, "Use EXISTS with an equality.",
			"IN (SELECT ...) of values that may be NULL cannot be nested on protected data")
	}
	_, column := e.X.(*ast.Column)
	x, err := sc.semijoin(inner, &semijoin{at: e.At, not: not, valued: column && hasValues}, out)
	if e.Not && !not && err == nil {
		x = scalar.Opposite(x)
	}
	return x, err
}

// comparedByIn resolves the columns on the left side of IN, which are of the level around.
func (sc scope) comparedByIn(e *ast.InQuery, inner scope) (left ast.Expr, err error) {
	if !ofOneRow(e.X) {
		return nil, notHere(e.X.Pos(), "Compute it in a sub-select in FROM and compare its column.",
			"IN (SELECT ...) on protected data takes an expression without a sub-select on its left")
	}
	left = ast.Replace(e.X, func(x ast.Expr) ast.Expr {
		ref, column := x.(*ast.Column)
		if !column || err != nil {
			return nil
		}
		var col *scalar.Column
		if col, err = sc.localColumn(ref); err != nil {
			return nil
		}
		if !slices.Contains(inner.outerColumns, col) {
			inner.outerColumns = append(inner.outerColumns, col)
		}
		return inner.pin(&ast.Column{Name: ref.Name, At: ref.At}, col)
	})
	return left, err
}

// selectedByIn resolves FROM of the query of IN, and returns its column and its WHERE. A
// query that is more than a plain SELECT of one column is a derived table.
func (sc scope) selectedByIn(e *ast.InQuery) (_ scope, x, where ast.Expr, err error) {
	sel, ok := e.Query.(*ast.Select)
	plain := ok && len(sel.Groups) == 0 && sel.Having == nil && len(sel.First) == 0
	if plain && sel.From != nil && len(sel.Targets) == 1 && sel.Targets[0].X != nil {
		sel, over := ownSelect(sel)
		sc, err = sc.resolveItems(sel.From, over)
		return sc, sel.Targets[0].X, sel.Where, err
	}
	sc.draft.plain = true
	if sc, err = sc.resolveFrom(&ast.Derived{Query: e.Query, At: e.At}); err != nil {
		return sc, nil, nil, err
	}
	fields := sc.frame.visible
	if len(fields) != 1 {
		return sc, nil, nil, notHere(e.At, "Select the column that is compared.", "the sub-select of IN has %d columns", len(fields))
	}
	return sc, sc.pin(&ast.Column{Name: fields[0].name, At: e.At}, fields[0].column), nil, nil
}

// correlation allows references to the level around in equalities alone, with expressions over the level.
func (sc scope) correlation(x scalar.Expr) error {
	if sc.outer == nil || !slices.ContainsFunc(x.Columns(), sc.resolved.isOuter) || sc.tie(x) || sc.comparesApart(x) {
		return nil
	}
	return notHere(x.Pos(), "Compare a column of the sub-select with one of the query around it by =.",
		"a sub-select on protected data refers to the query around it by more than an equality of columns")
}

// comparesApart reports whether a condition is an equality of an expression over the level with one over the level around.
func (sc scope) comparesApart(x scalar.Expr) bool {
	a, b, ok := scalar.Equated(x)
	if !ok || len(scalar.Queries(x)) > 0 {
		return false
	}
	outer := func(e scalar.Expr) (some, all bool) {
		list := e.Columns()
		n := len(slices.DeleteFunc(slices.Clone(list), func(c *scalar.Column) bool { return !sc.resolved.isOuter(c) }))
		return n > 0, n == len(list)
	}
	someA, allA := outer(a)
	someB, allB := outer(b)
	return someA && allA && !someB || someB && allB && !someA
}

// tie notes an equality of a column with one of the level around.
func (d *draft) tie(x scalar.Expr) bool {
	a, b, ok := scalar.Equality(x)
	if !ok || d.resolved.isOuter(a) == d.resolved.isOuter(b) {
		return false
	}
	if d.resolved.isOuter(a) {
		a, b = b, a
	}
	d.resolved.ties = append(d.resolved.ties, pair{a, b})
	return true
}

// semijoin makes the condition, with those that were taken out of it.
func (d *draft) semijoin(inner scope, j *semijoin, out takenOut) (scalar.Expr, error) {
	j.inner, j.query = inner.end(), &scalar.Query{Uses: inner.outerColumns, At: j.at}
	for _, j := range append([]*semijoin{j}, out.asked...) {
		if err := d.ask(j); err != nil {
			return j.query, err
		}
	}
	x := scalar.AllOf(append([]scalar.Expr{j.query}, out.conds...)...)
	if j.not {
		x = scalar.Opposite(x)
	}
	return x, nil
}

// ask adds a sub-select to the level. Whose rows it reads can be judged only when the level around is proved: expressions over its
// rows come later.
func (d *draft) ask(j *semijoin) error {
	if d.proved == nil {
		d.resolved.subselects = append(d.resolved.subselects, j)
		return nil
	}
	part, err := d.proved.ofSameUnit(&d.shared.terms, j)
	d.later = append(d.later, part)
	return err
}

// isValue reports whether an expression is NULL only as its column is: what is computed of a column that has a value can be NULL.
func isValue(x ast.Expr) bool {
	if _, column := x.(*ast.Column); column {
		return true
	}
	if cast, ok := x.(*ast.Cast); ok {
		x = cast.X
	}
	constant, ok := x.(*ast.Const)
	return ok && constant.Kind != ast.Null
}

// isValue reports the same of an expression over the level.
func (sc scope) isValue(x ast.Expr) bool {
	c, column := x.(*ast.Column)
	if column && isValue(x) {
		computed, err := sc.computed(c)
		return computed == nil && err == nil
	}
	return isValue(x)
}

// neverNull reports whether the columns that IN compares are never NULL.
func (sc scope) neverNull() bool {
	return !slices.ContainsFunc(sc.resolved.match.Columns(), func(c *scalar.Column) bool {
		if sc.resolved.isOuter(c) {
			return !sc.outer.hasValue(c)
		}
		return !sc.hasValue(c)
	})
}

// hasValue reports whether a column is not NULL on any row, as far as the level is resolved.
func (sc scope) hasValue(c *scalar.Column) bool {
	if sc.frame.notNull[c] || sc.resolved.root == nil {
		return sc.frame.notNull[c]
	}
	p := &proof{resolved: sc.resolved}
	_ = p.judge(&sc.shared.terms)
	return p.alone.Valued(col(c))
}
