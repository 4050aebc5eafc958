package source

import (
	"maps"
	"slices"
	"strings"

	"dpproxy/parser/ast"
	"dpproxy/planner/scalar"
)

// A frame has the meaning of names at one place of FROM.
type frame struct {
	items []*item
	// visible are the columns that a bare name or a star can mean, in order; a column
	// that USING has merged is there once.
	visible []field
	// notNull are the columns that are not NULL in the rows of this place. A join around it may
	// add rows in which they are: [scalar.Column.NotNull] says that of the rows of the level.
	notNull map[*scalar.Column]bool
}

// An item can be named by a qualifier.
type item struct {
	alias, schema string // schema is empty unless it is a table of that very name
	fields        []field
	row           *scalar.Column // in the place of a whole row; nil if none is
}

// with is the item with other fields in the places of its own.
func (it *item) with(fields []field) *item {
	out := &item{alias: it.alias, schema: it.schema, fields: fields}
	for i, x := range it.fields {
		if it.row != nil && x.column == it.row {
			out.row = fields[i].column
		}
	}
	return out
}

// A field is a name for a column, or for an expression that is computed where it is named.
type field struct {
	name     string
	column   *scalar.Column
	computed *computed // nil if it is a column
}

// A computed is an expression with a name: of a projection it is resolved, of LATERAL it has names of a frame.
type computed struct {
	x  scalar.Expr
	of ast.Expr
	in frame
}

// find returns the column that a reference means, or nil if the frame has none.
func (f frame) find(c *ast.Column) (*scalar.Column, error) {
	found, err := f.field(c)
	if err != nil || found == nil {
		return nil, err
	}
	return found.column, nil
}

// field returns the field that a reference means, likewise.
func (f frame) field(c *ast.Column) (*field, error) {
	fields := f.visible
	if c.Qualifier != "" {
		it := f.named(c.Schema, c.Qualifier)
		if it == nil {
			return nil, nil //nolint:nilnil // no such name here is no error yet: it may be one of the level around
		}
		if fields = it.fields; c.Name == ast.WholeRow && it.row != nil {
			return &field{name: c.Name, column: it.row}, nil
		}
	}
	found, err := fieldNamed(fields, c)
	if err != nil || found == nil {
		if found == nil && c.Qualifier != "" && err == nil {
			err = f.unknown(c)
		}
		return nil, err
	}
	return found, nil
}

// fieldNamed returns the field of that name, nil if there is none.
func fieldNamed(fields []field, c *ast.Column) (*field, error) {
	var found *field
	for i := range fields {
		if fields[i].name != c.Name {
			continue
		}
		if found != nil {
			return nil, notHere(c.At, "Write the relation's name before it.", "column reference %q is ambiguous", c.Name)
		}
		found = &fields[i]
	}
	return found, nil
}

func (f frame) named(schema, name string) *item {
	for _, it := range f.items {
		if it.alias == name && (schema == "" || it.schema == schema) {
			return it
		}
	}
	return nil
}

// unknown refuses a name that is nowhere in the frame.
func (f frame) unknown(c *ast.Column) error {
	const hint = "Name a column of the relations in FROM; " +
		"system columns and whole rows are not available, nor are columns of a query around the block."
	switch {
	case c.Name == ast.WholeRow:
		return notHere(c.At, hint, "the whole row %q cannot be used on protected data", c.Qualifier)
	case c.Qualifier != "" && f.named(c.Schema, c.Qualifier) == nil:
		return notHere(c.At, hint, "%q names no relation that can be used here", c.Qualifier)
	case c.Qualifier == "" && f.named("", c.Name) != nil:
		return notHere(c.At, hint, "the whole row %q cannot be used on protected data", c.Name)
	}
	return notHere(c.At, hint, "%q is no column that can be used on protected data", c.Name)
}

// beside puts two frames side by side; merged are the columns of USING.
func (f frame) beside(g frame, merged []field) frame {
	rest := func(fields []field) []field {
		if len(merged) == 0 {
			return fields
		}
		return slices.DeleteFunc(slices.Clone(fields), func(x field) bool {
			return slices.ContainsFunc(merged, func(m field) bool { return m.name == x.name })
		})
	}
	notNull := make(map[*scalar.Column]bool, len(f.notNull)+len(g.notNull))
	maps.Copy(notNull, f.notNull)
	maps.Copy(notNull, g.notNull)
	return frame{slices.Concat(f.items, g.items), slices.Concat(merged, rest(f.visible), rest(g.visible)), notNull}
}

// extended is the frame of rows to which an outer join adds some with NULL in all columns.
func (f frame) extended() frame { return frame{items: f.items, visible: f.visible} }

// star returns the columns of a star: all that are visible, or those of one item.
func (f frame) star(t ast.Target) ([]field, error) {
	if t.Qualifier == "" {
		return f.visible, nil
	}
	it := f.named("", t.Qualifier)
	if it == nil {
		return nil, notHere(t.At, "Name one of the relations in FROM.", "%q names no relation that can be used here", t.Qualifier)
	}
	return slices.DeleteFunc(slices.Clone(it.fields), field.own), nil
}

// withoutOwn leaves out of a frame what bare names and stars do not mean.
func (f frame) withoutOwn() frame {
	f.visible = slices.DeleteFunc(slices.Clone(f.visible), field.own)
	return f
}

// own reports whether a field has a name that no client has written.
func (x field) own() bool { return strings.HasPrefix(x.name, ast.OwnPrefix) }
