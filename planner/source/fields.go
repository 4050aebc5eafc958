package source

import (
	"slices"

	"dpproxy/parser/ast"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
)

// A field of a column of documents is one more column of the relation, which no name means: a statement has it by its keys. Of a table it
// is computed of the column where it is used. A query in FROM that passes the column on passes on the fields that the block names as well.

// newFields are the fields of a column of a table, behind all that the table has.
func newFields(of *scalar.Column, fields []policy.Field) []*scalar.Column {
	for _, f := range fields {
		c := scalar.NewField(of, f.Keys, typeOf(&f.Column))
		c.Bounds, c.Values, c.Step, c.Untold = scalarBounds(f.Bounds), f.Values, f.Step, of.Untold
		of.Fields = append(of.Fields, c)
	}
	return of.Fields
}

// useField notes that a field of a column is used, of the level or of the one around it. Documents of public rows are read on the mirror
// alone.
func useField(sc scope, of, field *scalar.Column, at int) error {
	in := sc
	if sc.resolved.home[of] == nil && sc.outer != nil {
		in = *sc.outer
	}
	switch home := in.resolved.home[of]; {
	case home != nil && !home.protected():
		return notHere(at, "Compute it in a sub-select of public rows: JOIN (SELECT id, info ->> 'key' AS x FROM t) t ON t.id = ....",
			"a field of a public table cannot be computed beside protected rows")
	case field == nil:
		return nil
	}
	in.mention(field)
	if in.draft != sc.draft && !slices.Contains(sc.outerColumns, field) {
		sc.outerColumns = append(sc.outerColumns, field)
	}
	return nil
}

// passFields mentions the fields of columns that a query in FROM passes on, as far as the block names them.
func passFields(sc scope, out []outputColumn) {
	for i := range out {
		for _, f := range fieldsOf(sc.shared, out[i]) {
			sc.mention(f)
		}
	}
}

// fieldsOf are the fields of a column that the block names.
func fieldsOf(b *shared, o outputColumn) (list []*scalar.Column) {
	c, plain := scalar.PlainColumn(o.x)
	if !plain {
		return nil
	}
	for _, f := range c.Fields {
		if slices.ContainsFunc(b.fields, func(keys []string) bool { return slices.Equal(keys, f.Path) }) {
			list = append(list, f)
		}
	}
	return list
}

// withFields adds the fields of the columns of the branches, which all of them have, to their outputs. It returns which column each is of.
func withFields(b *shared, outputs [][]outputColumn) (all [][]outputColumn, of []int) {
	all = slices.Clone(outputs)
	for i, o := range outputs[0] {
		for _, f := range fieldsOf(b, o) {
			fields := inAll(b, outputs, i, f)
			for n, c := range fields {
				own := outputColumn{name: ast.OwnPrefix + c.Name, x: &scalar.Ref{Column: c, At: o.at}, at: o.at}
				all[n] = append(slices.Clip(all[n]), own)
			}
			if fields != nil {
				of = append(of, i)
			}
		}
	}
	return all, of
}

// inAll are the fields of the i-th column of all branches that have the keys and the type of one; nil if some branch has none.
func inAll(b *shared, outputs [][]outputColumn, i int, f *scalar.Column) (list []*scalar.Column) {
	for _, out := range outputs {
		if len(out) != len(outputs[0]) {
			return nil
		}
		fields := fieldsOf(b, out[i])
		n := slices.IndexFunc(fields, func(c *scalar.Column) bool { return slices.Equal(c.Path, f.Path) && c.Type == f.Type })
		if n < 0 {
			return nil
		}
		list = append(list, fields[n])
	}
	return list
}

// linkFields makes columns of a relation, from a first one on, the fields of others.
func linkFields(r *relation, first int, of []int) {
	for n, i := range of {
		c := r.columns[first+n]
		below, _ := scalar.PlainColumn(c.Of[0])
		c.Name, c.Path = scalar.FieldName(r.columns[i].Name, below.Path), below.Path
		r.columns[i].Fields = append(r.columns[i].Fields, c)
	}
}
