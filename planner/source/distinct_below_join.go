package source

import (
	"slices"

	"dpproxy/catalog"
	"dpproxy/parser/ast"
	"dpproxy/planner/policy"
)

// DistinctBelowJoin: where all aggregates count different values, rows that are alike count once. Of a table that is joined with itself its
// different rows are joined then, of the columns that are used: they are fewer, so that the limit of the join leaves out less.
//
//	SELECT count(DISTINCT a.patient_id) FROM visits a JOIN visits b ON b.patient_id = a.patient_id AND a.diagnosis < b.diagnosis
//
//	FROM (SELECT DISTINCT patient_id, diagnosis FROM visits) a JOIN (SELECT DISTINCT patient_id, diagnosis FROM visits) b ON ...
func distinctBelowJoin(model *policy.Model, b *ast.Block) *ast.Block {
	counts := func(a *ast.Aggregate) bool { return a.Func == "count" && a.Distinct }
	if b.Concealed != "" || len(b.Aggregates) == 0 || slices.ContainsFunc(b.Aggregates, func(a *ast.Aggregate) bool { return !counts(a) }) {
		return b
	}
	u := &usedColumns{}
	if !u.items(model, b.From) || !u.repeats() {
		return b
	}
	list := slices.Clone(b.Groups)
	for _, a := range b.Aggregates {
		list = append(list, a)
	}
	if b.Where != nil {
		list = append(list, b.Where)
	}
	if !u.expressions(list...) || slices.ContainsFunc(u.tables, u.unlike) {
		return b
	}
	out := *b
	out.From = u.distinct(b.From)
	return &out
}

// A usedTable is a table in FROM, with the names of its columns that are used.
type usedTable struct {
	from  *ast.Table
	table *policy.Table
	names []string
}

// usedColumns are those of the tables of a block.
type usedColumns struct {
	tables []*usedTable
	merged []string // names of USING
	on     []ast.Expr
}

// items lists the tables of FROM; false if there is anything else in it.
func (u *usedColumns) items(model *policy.Model, f ast.From) bool {
	switch f := f.(type) {
	case *ast.Table:
		t := model.Table(catalog.Name{Schema: f.Ref.Resolved.Schema, Name: f.Ref.Resolved.Name})
		u.tables = append(u.tables, &usedTable{from: f, table: t})
		return t != nil && len(f.Columns) == 0 && f.Ref.Concealed == ""
	case *ast.Join:
		if f.On != nil {
			u.on = append(u.on, f.On)
		}
		u.merged = append(u.merged, f.Using...)
		return !f.Natural && f.Kind != ast.Full && u.items(model, f.Left) && u.items(model, f.Right)
	case *ast.Derived, *ast.Lateral, *ast.Listed, *ast.Elements:
	}
	return false
}

// repeats reports whether a protected table that has the unit's own column is there more than once.
func (u *usedColumns) repeats() bool { return slices.ContainsFunc(u.tables, u.repeated) }

func (u *usedColumns) repeated(t *usedTable) bool {
	return !t.table.Public && !t.table.Reference && len(t.table.Unit.Steps) == 0 && !t.table.Hides(t.table.Unit.Column) &&
		t.table.Counting == nil && slices.ContainsFunc(u.tables, func(o *usedTable) bool { return o != t && o.table == t.table })
}

// expressions notes the columns of expressions, and of the joins; false if some cannot be told, or are in a sub-select.
func (u *usedColumns) expressions(list ...ast.Expr) bool {
	for _, name := range u.merged {
		u.note("", name)
	}
	return !slices.ContainsFunc(append(slices.Clip(list), u.on...), func(e ast.Expr) bool { return !u.expression(e) })
}

func (u *usedColumns) expression(e ast.Expr) bool {
	switch e := e.(type) { //nolint:gochecksumtype // the others have columns only below
	case *ast.Column:
		n := u.note(e.Qualifier, e.Name)
		return n == 1 || n > 1 && e.Qualifier == "" && slices.Contains(u.merged, e.Name)
	case *ast.Exists, *ast.InQuery, *ast.ValueQuery, *ast.Quantified:
		return false
	}
	return !slices.ContainsFunc(ast.Operands(e), func(o ast.Expr) bool { return !u.expression(o) })
}

// note notes a column of the tables of that alias, or of all that have it, and returns how many these are.
func (u *usedColumns) note(qualifier, name string) (n int) {
	for _, t := range u.tables {
		if qualifier != "" && qualifier != t.from.Alias || t.column(name) == nil {
			continue
		}
		n++
		if !slices.Contains(t.names, name) {
			t.names = append(t.names, name)
		}
	}
	return n
}

// column is the one of that name that a statement can name, nil if there is none.
func (t *usedTable) column(name string) *policy.Column {
	for i := range t.table.Columns {
		if c := &t.table.Columns[i]; c.Name == name && !c.Hidden {
			return c
		}
	}
	return nil
}

// unlike reports whether a table that is there more than once has no rows that are alike, or none that can be told to be.
func (u *usedColumns) unlike(t *usedTable) bool {
	if !u.repeated(t) {
		return false
	}
	r := &relation{table: t.table}
	for _, c := range t.table.Columns {
		r.columns = append(r.columns, newColumn(r, &c))
	}
	used := func(i int) bool { return slices.Contains(t.selected(), t.table.Columns[i].Name) }
	whole := func(key []int) bool { return !slices.ContainsFunc(key, func(i int) bool { return !used(i) }) }
	for i, c := range r.columns {
		if used(i) && !c.OneSpelling() {
			return true
		}
	}
	return slices.ContainsFunc(r.keys(), whole)
}

// selected are the names of the columns that its different rows have: the unit's, and those that are used.
func (t *usedTable) selected() []string {
	unit := t.table.Unit.Column
	return append([]string{unit}, slices.DeleteFunc(slices.Clone(t.names), func(name string) bool { return name == unit })...)
}

// distinct writes FROM with the different rows of tables that are there more than once.
func (u *usedColumns) distinct(f ast.From) ast.From {
	switch f := f.(type) {
	case *ast.Join:
		out := *f
		out.Left, out.Right = u.distinct(f.Left), u.distinct(f.Right)
		return &out
	case *ast.Table:
		i := slices.IndexFunc(u.tables, func(t *usedTable) bool { return t.from == f })
		if !u.repeated(u.tables[i]) {
			return f
		}
		rows := &ast.Select{Distinct: true, From: f, At: f.Ref.At}
		for _, name := range u.tables[i].selected() {
			rows.Targets = append(rows.Targets, ast.Target{
				X: &ast.Column{Qualifier: f.Alias, Name: name, At: f.Ref.At}, Name: name, At: f.Ref.At,
			})
		}
		return &ast.Derived{Query: rows, Alias: f.Alias, At: f.Ref.At}
	case *ast.Derived, *ast.Lateral, *ast.Listed, *ast.Elements:
	}
	return f
}
