package source

import (
	"slices"

	"dpproxy/catalog"
	"dpproxy/parser/ast"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
)

// alwaysFound returns a LEFT JOIN as the inner join that it is, if a foreign key says that each row of the left side has its match: the
// columns of the right side are NULL then only where the table has NULL, and a test for rows without a match can be true of none.
//
//	FROM visits v LEFT JOIN patients p ON p.id = v.patient_id
//
// The row that is found must count: one that belongs to nobody has no part in a join.
func alwaysFound(sc scope, f *ast.Join, left frame) *ast.Join {
	right, ok := f.Right.(*ast.Table)
	if !ok || f.Kind != ast.Left || len(right.Columns) > 0 {
		return f
	}
	name := catalog.Name{Schema: right.Ref.Resolved.Schema, Name: right.Ref.Resolved.Name}
	t := sc.resolved.model.Table(name)
	if t == nil || !counts(t) || right.Only && t.Source.Kind == 'p' {
		return f
	}
	ref, key := tiedBy(f, left, rightOf{right.Alias, t})
	if ref == nil {
		return f
	}
	from, err := left.field(ref)
	if err != nil || from == nil || from.column == nil || from.column.Outer {
		return f
	}
	of, column := sc.resolved.stored(from.column)
	if of == nil || of.Public || !of.Finds(column, name, key) || !sameType(of, column, t, key) {
		return f
	}
	inner := *f
	inner.Kind = ast.Inner
	return &inner
}

// counts reports whether each row of a table counts.
func counts(t *policy.Table) bool {
	if t.Public || t.Reference {
		return true
	}
	c, ok := t.Source.Column(t.Unit.Column)
	return ok && len(t.Unit.Steps) == 0 && c.NotNull
}

// A rightOf is a table on the right side of a join, and its name there.
type rightOf struct {
	alias string
	table *policy.Table
}

// has reports whether a reference means a column of the table, and none of the left side.
func (r rightOf) has(c *ast.Column, left frame) bool {
	if c.Qualifier != "" {
		return c.Qualifier == r.alias && c.Schema == ""
	}
	_, own := r.table.Source.Column(c.Name)
	known, err := left.field(c)
	return own && !r.table.Hides(c.Name) && known == nil && err == nil
}

// tiedBy returns the column of the left side and the column of the table on the right that the condition of a join compares, if it compares
// nothing else.
func tiedBy(f *ast.Join, left frame, right rightOf) (ref *ast.Column, key string) {
	if len(f.Using) == 1 && f.On == nil {
		return &ast.Column{Name: f.Using[0], At: f.At}, f.Using[0]
	}
	op, ok := f.On.(*ast.Op)
	if !ok || op.Name != "=" || f.Natural || f.Using != nil {
		return nil, ""
	}
	l, plain := op.Left.(*ast.Column)
	r, also := op.Right.(*ast.Column)
	switch {
	case !plain || !also || right.has(l, left) == right.has(r, left):
		return nil, ""
	case right.has(l, left):
		return r, l.Name
	}
	return l, r.Name
}

// sameType reports whether columns of two tables have the same type, so that = compares them as the foreign key does.
func sameType(a *policy.Table, column string, b *policy.Table, key string) bool {
	l, found := a.Source.Column(column)
	r, also := b.Source.Column(key)
	return found && also && l.Type.OID == r.Type.OID
}

// stored returns the table that a column of a level is of, and its name there; nil if it is computed, or of a query.
func (r *resolved) stored(c *scalar.Column) (*policy.Table, string) {
	home := r.home[c]
	switch {
	case home == nil || home.listed:
		return nil, ""
	case home.rows == nil:
		return home.table, c.Name
	}
	b := home.rows.branches[0]
	below, plain := scalar.PlainColumn(b.targets[slices.Index(home.columns, c)])
	if b.elements == nil || !plain { // elements stand beside the rows of a table as they are
		return nil, ""
	}
	return b.source.stored(below)
}
