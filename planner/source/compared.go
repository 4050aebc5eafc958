package source

import (
	"slices"
	"strconv"

	"dpproxy/catalog"
	"dpproxy/parser/ast"
	"dpproxy/planner/policy"
)

// EXISTS whose sub-select compares its rows with the row around it by more than equality, as in "another visit within 30
// days", would have Postgres look at all rows of a unit for each of them. It is a join instead, of which the rules of
// joins hold: one side is cut to so many rows of a unit, and the clock knows it. The rows that have another one are
// told by their key, and joined once more:
//
//	FROM visits a LEFT JOIN (SELECT DISTINCT a.patient_id, a.id FROM visits a CROSS JOIN visits b WHERE ...) AS x
//	  ON x.patient_id = a.patient_id AND x.id = a.id
//	WHERE x.id IS NOT NULL

// comparedPrefix begins the names of such sub-selects, and of their columns.
const comparedPrefix = ast.OwnPrefix + "exists"

// joinCompared replaces such conditions of a level, and joins what stands for them with FROM.
func joinCompared(sc scope, from ast.From, where ast.Expr) (_ scope, _ ast.Expr, err error) {
	if sc.resolved.inside {
		return sc, where, nil
	}
	conds := conjunction(where)
	for i, e := range conds {
		exists, not := existsOf(e)
		if exists == nil {
			continue
		}
		inner, ok := exists.Query.(*ast.Select)
		if !ok {
			continue
		}
		table := comparedTable(from, inner)
		if table == nil {
			continue
		}
		keys := rowKey(sc.resolved.model, table)
		if keys == nil {
			continue
		}
		conds = slices.Clone(conds)
		var join *ast.Join
		join, conds[i] = comparedJoin(table, keys, inner, exists.At, not)
		if sc, err = sc.attached(join); err != nil {
			return sc, nil, err
		}
		where = &ast.Bool{Kind: ast.And, Args: conds, At: where.Pos()}
	}
	return sc, where, nil
}

// existsOf returns the EXISTS that a condition is, and whether it is NOT EXISTS.
func existsOf(e ast.Expr) (exists *ast.Exists, not bool) {
	if b, ok := e.(*ast.Bool); ok && b.Kind == ast.Not && len(b.Args) == 1 {
		exists, _ = b.Args[0].(*ast.Exists)
		return exists, true
	}
	exists, _ = e.(*ast.Exists)
	return exists, false
}

// comparedTable returns the table around a sub-select with which a condition of it compares by more than an equality of columns, if
// it is the only one that the sub-select refers to; else nil.
func comparedTable(from ast.From, inner *ast.Select) *ast.Table {
	named := func(t ast.Target) bool { return t.X != nil && !ast.ColumnFree(t.X) }
	if inner.From == nil || inner.Where == nil || len(inner.Groups) > 0 || inner.Having != nil || len(inner.First) > 0 ||
		slices.ContainsFunc(inner.Targets, named) {
		return nil
	}
	own := tablesIn(inner.From)
	table, compares := "", false
	for _, c := range conjunction(inner.Where) {
		refs, plain := qualifiers(c)
		if !plain {
			return nil
		}
		refs = slices.DeleteFunc(refs, func(q string) bool { return slices.Contains(own, q) })
		if len(refs) == 0 {
			continue
		}
		if table != "" && table != refs[0] || len(slices.Compact(refs)) > 1 {
			return nil
		}
		table, compares = refs[0], compares || !isColumnEquality(c)
	}
	if !compares {
		return nil
	}
	return keptTable(from, table)
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
	case *ast.Listed:
		return []string{f.Alias}
	case *ast.Elements:
		return []string{f.Alias}
	case *ast.Join:
		return slices.Concat(tablesIn(f.Left), tablesIn(f.Right))
	}
	return nil
}

// qualifiers lists those of columns in an expression; plain is false if there is a sub-select in it.
func qualifiers(e ast.Expr) (list []string, plain bool) {
	switch e := e.(type) { //nolint:gochecksumtype // the others have columns only below
	case *ast.Column:
		if e.Qualifier != "" {
			list = append(list, e.Qualifier)
		}
	case *ast.Exists, *ast.InQuery:
		return nil, false
	}
	for _, o := range ast.Operands(e) {
		below, ok := qualifiers(o)
		if !ok {
			return nil, false
		}
		list = append(list, below...)
	}
	return list, true
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

// keptTable finds a table by its alias that has a row in every row of FROM; nil if there is none.
func keptTable(f ast.From, alias string) *ast.Table {
	switch f := f.(type) {
	case *ast.Table:
		if f.Alias == alias && len(f.Columns) == 0 {
			return f
		}
	case *ast.Join:
		var found *ast.Table
		if f.Kind != ast.Right && f.Kind != ast.Full {
			found = keptTable(f.Left, alias)
		}
		if found == nil && (f.Kind == ast.Inner || f.Kind == ast.Cross) {
			found = keptTable(f.Right, alias)
		}
		return found
	case *ast.Derived, *ast.Lateral, *ast.Listed, *ast.Elements:
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

// comparedJoin writes the join, and the condition that takes the place of EXISTS.
func comparedJoin(table *ast.Table, keys []string, inner *ast.Select, at int, not bool) (*ast.Join, ast.Expr) {
	alias := comparedPrefix + strconv.Itoa(at)
	told := &ast.Select{
		Distinct: true, At: at, Where: inner.Where,
		From: &ast.Join{Kind: ast.Cross, Left: table, Right: inner.From, At: at},
	}
	var on []ast.Expr
	for i, k := range keys {
		name := comparedPrefix + strconv.Itoa(i+1)
		column := func() ast.Expr { return &ast.Column{Qualifier: table.Alias, Name: k, At: at} }
		told.Targets = append(told.Targets, ast.Target{X: column(), Name: name, At: at})
		on = append(on, &ast.Op{Name: "=", Left: &ast.Column{Qualifier: alias, Name: name, At: at}, Right: column(), At: at})
	}
	join := &ast.Join{
		Kind: ast.Left, Right: &ast.Derived{Query: told, Alias: alias, At: at},
		On: &ast.Bool{Kind: ast.And, Args: on, At: at}, At: at,
	}
	return join, &ast.IsNull{X: &ast.Column{Qualifier: alias, Name: comparedPrefix + "1", At: at}, Not: !not, At: at}
}
