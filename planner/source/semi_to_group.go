package source

import (
	"slices"
	"strconv"

	"dpproxy/catalog"
	"dpproxy/parser/ast"
	"dpproxy/planner/policy"
)

// SemiToGroup: EXISTS whose sub-select compares its rows with the row around it by more than equality, as in "another visit within 30
// days", would have Postgres look at all rows of a unit for each of them. It is a join instead, of which the rules of
// joins hold: one side is cut to so many rows of a unit, and the clock knows it. The rows that have another one are
// told by their key, and joined once more:
//
//	FROM visits a WHERE EXISTS (SELECT 1 FROM visits b WHERE b.patient_id = a.patient_id AND b.day > a.day)
//
//	FROM visits a
//	  LEFT JOIN (SELECT DISTINCT a.patient_id, a.id FROM visits a, visits b WHERE b.patient_id = a.patient_id AND b.day > a.day) AS x
//	  ON x.patient_id = a.patient_id AND x.id = a.id
//	WHERE x.id IS NOT NULL
func semiToGroup(a *applied, e ast.Expr) (ast.Expr, *ast.Join) {
	exists, not := existsOf(e)
	if exists == nil || a.resolved.inside {
		return nil, nil
	}
	inner, ok := exists.Query.(*ast.Select)
	if !ok {
		return nil, nil
	}
	table, where := a.compared(inner)
	if table == nil {
		return nil, nil
	}
	keys := rowKey(a.resolved.model, table)
	if keys == nil {
		return nil, nil
	}
	a.shared.perRow++
	told := &ast.Select{Distinct: true, From: inner.From, Where: where, At: exists.At}
	join, there := comparedJoin(table, keys, told, comparedPrefix+strconv.Itoa(a.shared.perRow))
	return &ast.IsNull{X: there, Not: !not, At: exists.At}, join
}

// comparedPrefix begins the names of such sub-selects, and of their columns.
const comparedPrefix = ast.OwnPrefix + "exists"

// existsOf returns the EXISTS that an expression is, and whether it is NOT EXISTS.
func existsOf(e ast.Expr) (exists *ast.Exists, not bool) {
	if b, ok := e.(*ast.Bool); ok && b.Kind == ast.Not && len(b.Args) == 1 {
		exists, _ = b.Args[0].(*ast.Exists)
		return exists, true
	}
	exists, _ = e.(*ast.Exists)
	return exists, false
}

// compared returns the table around a sub-select with which a condition of it compares by more than an equality of columns, if it is
// the only one that the sub-select refers to, and the conditions as they are beside that table; else nil.
func (a *applied) compared(inner *ast.Select) (*ast.Table, ast.Expr) {
	named := func(t ast.Target) bool { return t.X != nil && !ast.ColumnFree(t.X) }
	if inner.From == nil || inner.Where == nil || len(inner.Groups) > 0 || inner.Having != nil || len(inner.First) > 0 ||
		slices.ContainsFunc(inner.Targets, named) {
		return nil, nil
	}
	c, compares := &comparison{applied: a, inner: inner.From}, false
	var where []ast.Expr
	for _, e := range conjunction(inner.Where) {
		before := c.refers
		where = append(where, ast.Replace(e, c.named))
		compares = compares || c.refers > before && !isColumnEquality(e) && !c.equatesApart(e)
	}
	if c.other || !compares || slices.Contains(tablesIn(inner.From), c.table.Alias) {
		return nil, nil
	}
	return c.table, allOf(where, asIs)
}

// A comparison is between the rows of a sub-select and a table around it.
type comparison struct {
	*applied
	inner ast.From
	// table is the one to which columns refer, and refers counts them. other says that conditions are of anything else.
	table  *ast.Table
	refers int
	other  bool
}

// named writes the table before a column of it: a bare name is one of the sub-select before it is one of the level around.
func (c *comparison) named(e ast.Expr) ast.Expr {
	switch e := e.(type) { //nolint:gochecksumtype // the others have columns only below
	case *ast.Exists, *ast.InQuery:
		c.other = true
	case *ast.Column:
		if mayHave(c.resolved.model, c.inner, e) {
			return nil
		}
		kept := keptTables(c.from)
		i := slices.IndexFunc(kept, func(t *ast.Table) bool { return mayHave(c.resolved.model, t, e) })
		if f, err := c.frame.field(e); i < 0 || f == nil || err != nil || c.table != nil && c.table != kept[i] {
			c.other = true
			return nil
		}
		c.table = kept[i]
		c.refers++
		return &ast.Column{Schema: e.Schema, Qualifier: c.table.Alias, Name: e.Name, At: e.At}
	}
	return nil
}

// equatesApart reports whether a condition is an equality of an expression over the sub-select with one over the row around it.
func (c *comparison) equatesApart(e ast.Expr) bool {
	op, ok := e.(*ast.Op)
	if !ok || op.Name != "=" || op.Left == nil || !ofOneRow(e) {
		return false
	}
	inner, outer := false, false
	of := func(e ast.Expr) {
		inner, outer = false, false
		ast.Replace(e, func(x ast.Expr) ast.Expr {
			if column, ok := x.(*ast.Column); ok {
				own := mayHave(c.resolved.model, c.inner, column)
				inner, outer = inner || own, outer || !own
			}
			return nil
		})
	}
	of(op.Left)
	left, around := inner, outer
	of(op.Right)
	return !(left && around) && !(inner && outer) && left != inner && around != outer
}

// tablesIn lists the aliases of FROM.
func tablesIn(f ast.From) []string {
	switch f := f.(type) {
	case *ast.Table:
		return []string{f.Alias}
	case *ast.Derived:
		return []string{f.Alias}
	case *ast.Lateral:
		return []string{f.Alias}
	case *ast.Row:
		return []string{f.Alias}
	case *ast.Listed:
		return []string{f.Alias}
	case *ast.Elements:
		return []string{f.Alias}
	case *ast.Join:
		return slices.Concat(tablesIn(f.Left), tablesIn(f.Right))
	}
	return nil
}

// isColumnEquality reports whether a condition is an equality of columns, perhaps with casts: it is one by which a sub-select may be
// tied to the row around it.
func isColumnEquality(e ast.Expr) bool {
	op, ok := e.(*ast.Op)
	return ok && op.Name == "=" && op.Left != nil && isColumn(op.Left) && isColumn(op.Right)
}

func isColumn(e ast.Expr) bool {
	for {
		c, ok := e.(*ast.Cast)
		if !ok {
			break
		}
		e = c.X
	}
	_, ok := e.(*ast.Column)
	return ok
}

// keptTables lists the tables that have a row in every row of FROM.
func keptTables(f ast.From) []*ast.Table {
	switch f := f.(type) {
	case *ast.Table:
		if len(f.Columns) == 0 {
			return []*ast.Table{f}
		}
	case *ast.Join:
		switch f.Kind {
		case ast.Inner, ast.Cross:
			return append(keptTables(f.Left), keptTables(f.Right)...)
		case ast.Left:
			return keptTables(f.Left)
		case ast.Right, ast.Full:
		}
	case *ast.Derived, *ast.Lateral, *ast.Row, *ast.Listed, *ast.Elements:
	}
	return nil
}

// rowKey returns the columns that identify a row of a protected table, the one of the unit first; nil if analysts cannot name
// some, or if they are not in the table.
func rowKey(model *policy.Model, f *ast.Table) []string {
	t := model.Table(catalog.Name{Schema: f.Ref.Resolved.Schema, Name: f.Ref.Resolved.Name})
	if t == nil || t.Public || t.Reference || len(t.Unit.Steps) > 0 {
		return nil
	}
	for _, key := range (&relation{table: t}).keys() {
		names := []string{t.Unit.Column}
		for _, i := range key {
			if c := t.Columns[i].Name; c != t.Unit.Column {
				names = append(names, c)
			}
		}
		if !slices.ContainsFunc(names, t.Hides) {
			return names
		}
	}
	return nil
}

// comparedJoin writes the join with those rows of a sub-select that a table has beside it, and a column that is NULL where there is none.
func comparedJoin(table *ast.Table, keys []string, told *ast.Select, alias string) (*ast.Join, ast.Expr) {
	at, beside := told.At, *table
	beside.Hidden = true
	told.From = &ast.Join{Kind: ast.Cross, Left: &beside, Right: told.From, At: at}
	var on []ast.Expr
	for i, k := range keys {
		name := comparedPrefix + strconv.Itoa(i+1)
		column := func() ast.Expr { return &ast.Column{Qualifier: table.Alias, Name: k, At: at} }
		told.Targets = append(told.Targets, ast.Target{X: column(), Name: name, At: at})
		on = append(on, &ast.Op{Name: "=", Left: &ast.Column{Qualifier: alias, Name: name, At: at}, Right: column(), At: at})
	}
	join := &ast.Join{Kind: ast.Left, Right: &ast.Derived{Query: told, Alias: alias, At: at}, On: allOf(on, asIs), At: at}
	return join, &ast.Column{Qualifier: alias, Name: comparedPrefix + "1", At: at}
}
