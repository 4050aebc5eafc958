package source

import (
	"slices"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/scalar"
)

// A semijoin is a sub-select in a condition: IN or EXISTS. Whether it is true depends on
// the row, on rows of the same unit, and on public rows.
type semijoin struct {
	// query is the condition; inner are the rows of the sub-select.
	query *scalar.Query
	inner *Source
	at    int
	// units says that it was written as NOT IN: both sides must be units.
	units bool
}

// subselect resolves a condition with a query inside, wherever it stands.
func (s *Source) subselect(e ast.Expr) (scalar.Expr, error) {
	switch e := e.(type) { //nolint:gochecksumtype // the others have no query inside
	case *ast.InQuery:
		return s.inQuery(e, false)
	case *ast.Exists:
		return s.resolveExists(e)
	}
	return nil, pgerr.New(pgerr.Internal, "a condition without a query").At(e.Pos())
}

// subLevel begins the level of a sub-select.
func (s *Source) subLevel() (inner *Source, done func()) {
	s.b.inside++
	inner = newSource(s.b)
	inner.outer = s
	return inner, func() { s.b.inside-- }
}

// resolveExists resolves EXISTS.
func (s *Source) resolveExists(e *ast.Exists) (scalar.Expr, error) {
	sel, ok := e.Query.(*ast.Select)
	if !ok || len(sel.Groups) > 0 || sel.Having != nil || sel.From == nil {
		return nil, notHere(e.At, "Use IN: patient_id IN (SELECT patient_id ... GROUP BY patient_id HAVING ...).",
			"EXISTS on protected data takes a plain SELECT without GROUP BY and UNION")
	}
	inner, done := s.subLevel()
	defer done()
	if err := inner.build(sel.From, sel.Where); err != nil {
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
	j := &semijoin{inner: inner, at: e.At}
	return s.semijoin(j)
}

// inQuery resolves X IN (query) and X NOT IN (query). Where it must be true, NULL is as good as
// false.
func (s *Source) inQuery(e *ast.InQuery, mustBeTrue bool) (scalar.Expr, error) {
	inner, done := s.subLevel()
	defer done()
	left, err := s.comparedByIn(e, inner)
	if err != nil {
		return nil, err
	}
	right, where, err := inner.selectedByIn(e)
	if err != nil {
		return nil, err
	}
	inner.outer = nil // only the condition may refer to the level around
	inner.match, err = inner.Resolver().Boolean(&ast.Op{Name: "=", Left: left, Right: right, At: e.At})
	inner.outer = s
	if err != nil {
		return nil, err
	}
	if err := inner.resolveWhere(where); err != nil {
		return nil, err
	}
	inner.tie(inner.match)
	inner.unmatched = !e.Not && !mustBeTrue && !inner.neverNull()
	if err := inner.finish(); err != nil {
		return nil, err
	}
	j := &semijoin{inner: inner, at: e.At, units: e.Not}
	if inner.unmatched && s.inside { // it is written twice
		return nil, notHere(e.At, "Use EXISTS with an equality.", "IN (SELECT ...) of values that may be NULL cannot be nested on protected data")
	}
	return s.semijoin(j)
}

// comparedByIn resolves the left side of IN: a column of the level around, or a constant.
func (s *Source) comparedByIn(e *ast.InQuery, inner *Source) (ast.Expr, error) {
	ref, ok := e.X.(*ast.Column)
	if !ok {
		if ast.ColumnFree(e.X) {
			return e.X, nil
		}
		return nil, notHere(e.X.Pos(), "Compute the expression in a sub-select in FROM and compare its column.", "IN (SELECT ...) on protected data takes a plain column on its left")
	}
	col, err := s.localColumn(ref)
	if err != nil {
		return nil, err
	}
	pin := &ast.Column{Name: ref.Name, At: ref.At}
	inner.pinned[pin] = col
	inner.foreign = append(inner.foreign, col)
	return pin, nil
}

// selectedByIn resolves FROM of the query of IN, and returns what it selects and its WHERE. A
// query that is more than a plain SELECT of one column is a derived table.
func (s *Source) selectedByIn(e *ast.InQuery) (x, where ast.Expr, err error) {
	sel, ok := e.Query.(*ast.Select)
	if ok && len(sel.Groups) == 0 && sel.Having == nil && sel.From != nil && len(sel.Targets) == 1 && sel.Targets[0].X != nil {
		return sel.Targets[0].X, sel.Where, s.resolveFrom(sel.From)
	}
	if err := s.resolveFrom(&ast.Derived{Query: e.Query, At: e.At}); err != nil {
		return nil, nil, err
	}
	fields := s.frame.visible
	if len(fields) != 1 {
		return nil, nil, notHere(e.At, "Select the column that is compared.", "the sub-select of IN has %d columns", len(fields))
	}
	ref := &ast.Column{Name: fields[0].name, At: e.At}
	s.pinned[ref] = fields[0].column
	return ref, nil, nil
}

// correlation allows references to the level around in equalities of plain columns alone.
func (s *Source) correlation(x scalar.Expr) error {
	if s.outer == nil || !slices.ContainsFunc(x.Columns(), s.isForeign) || s.tie(x) {
		return nil
	}
	return notHere(x.Pos(), "Compare a column of the sub-select with one of the query around it by =.",
		"a sub-select on protected data refers to the query around it by more than an equality of columns")
}

func (s *Source) isForeign(c *scalar.Column) bool { return s.home[c] == nil }

// tie notes an equality of a column with one of the level around.
func (s *Source) tie(x scalar.Expr) bool {
	a, b, ok := scalar.Equality(x)
	if !ok || s.isForeign(a) == s.isForeign(b) {
		return false
	}
	if s.isForeign(a) {
		a, b = b, a
	}
	s.ties = append(s.ties, pair{a, b})
	return true
}

// semijoin makes the condition. Its ties to the unit can be judged only when the level
// around is known; conditions above it come later.
func (s *Source) semijoin(j *semijoin) (scalar.Expr, error) {
	j.query = &scalar.Query{Uses: j.inner.foreign, At: j.at}
	s.semijoins = append(s.semijoins, j)
	if s.finished {
		return j.query, j.checkSameUnit(s)
	}
	return j.query, nil
}

// checkSameUnit refuses a sub-select whose rows need not be of the unit of the row around it.
func (j *semijoin) checkSameUnit(s *Source) error {
	inner := j.inner
	unit := s.b.model.Unit()
	switch {
	case inner.declares:
		return notHere(j.at, "Use INNER JOIN there.", "a public relation that is outer-joined with protected rows can only stand in FROM of the aggregate itself")
	case !inner.Protected() && len(inner.ties) == 0 && inner.match == nil:
		return notHere(j.at, "Compare a column of the sub-select with one of the query around it by =.", "a sub-select on protected data that says nothing of the row cannot be used")
	case !inner.Protected() && !j.units:
		return nil
	case inner.Protected() && !s.Protected():
		return pgerr.New(pgerr.Ownership, "whether a public row is kept depends on protected rows").At(j.at).
			WithHint("Join the protected rows in FROM.")
	}
	if j.units && !j.comparesUnits(s) {
		return notHere(j.at, "Use NOT EXISTS with an equality, or IN.", "NOT IN (SELECT ...) on protected data takes columns that identify the %s on both sides", unit)
	}
	c := newClasses(slices.Concat(inner.equal, s.equal), slices.Concat(region(inner.root), region(s.root)))
	if !c.same(inner.Unit(), s.Unit()) {
		return pgerr.New(pgerr.Ownership, "rows of a sub-select need not belong to the same %s as the row around it", unit).At(j.at).
			WithHint("Compare the columns that identify the %s on both sides.", unit)
	}
	follow(region(inner.root), region(s.root), c)
	return nil
}

// comparesUnits reports whether both sides of IN identify the unit, each by what its own
// level says: neither is NULL then.
func (j *semijoin) comparesUnits(s *Source) bool {
	inner := j.inner
	if !inner.Protected() || len(inner.match.Columns()) != 2 {
		return false
	}
	a, b, ok := scalar.Equality(inner.match)
	if !ok {
		return false
	}
	if inner.isForeign(b) {
		a, b = b, a
	}
	return s.classes.same(a, s.Unit()) && inner.selectsUnit(b)
}

// selectsUnit reports whether the column is the unit by what the level says, IN aside.
func (s *Source) selectsUnit(c *scalar.Column) bool {
	return s.Protected() && newClasses(slices.Concat(holds(s.root), equalities(s.where)), region(s.root)).same(c, s.Unit())
}

// neverNull reports whether what IN compares is never NULL.
func (s *Source) neverNull() bool {
	return !slices.ContainsFunc(s.match.Columns(), func(c *scalar.Column) bool {
		if s.isForeign(c) {
			return !c.NotNull && !s.outer.hasValue(c)
		}
		return !c.NotNull && !s.hasValue(c)
	})
}

// hasValue reports whether a column is not NULL on every row by what the level says so far: it
// equals another, or is the unit.
func (s *Source) hasValue(c *scalar.Column) bool {
	if s.root == nil {
		return false
	}
	same := func(x *scalar.Column) bool { return x != nil && x.Base() == c.Base() }
	pairs := slices.Concat(holds(s.root), equalities(s.where))
	return slices.ContainsFunc(pairs, func(p pair) bool { return same(p.a) || same(p.b) }) ||
		slices.ContainsFunc(region(s.root), func(r *relation) bool { return same(r.unit) })
}

// WriteQuery writes a sub-select in a condition on the rows of the level.
func (s *Source) WriteQuery(w *scalar.Writer, q *scalar.Query) (string, error) {
	j := s.semijoins[slices.IndexFunc(s.semijoins, func(j *semijoin) bool { return j.query == q })]
	switch {
	case j.units:
		sql, err := j.inner.existsSQL(w)
		return "(NOT " + sql + ")", err
	case j.inner.unmatched:
		return j.inner.inSQL(w)
	}
	return j.inner.existsSQL(w)
}

// writer writes expressions over the rows of the level.
func (s *Source) writer(w *scalar.Writer) *scalar.Writer {
	own := *w
	own.Query = s.WriteQuery
	return &own
}

// existsSQL writes that there is a row.
func (s *Source) existsSQL(w *scalar.Writer) (string, error) {
	from, where, err := s.Write(w, nil)
	return "EXISTS (SELECT 1 FROM " + from + " WHERE " + where + s.fence() + ")", err
}

// inSQL writes IN with the values that it has: NULL where no row is equal and the
// comparison with some is NULL.
func (s *Source) inSQL(w *scalar.Writer) (string, error) {
	equal, err := s.existsSQL(w)
	if err != nil {
		return "", err
	}
	from, where, err := s.writeLevel(w, nil) // without the comparison
	if err != nil {
		return "", err
	}
	match, err := s.writer(w).Expr(s.match)
	return "(CASE WHEN " + equal + " THEN TRUE WHEN EXISTS (SELECT 1 FROM " + from + " WHERE " + where +
		" AND (" + match + ") IS NULL" + s.fence() + ") THEN NULL ELSE FALSE END)", err
}
