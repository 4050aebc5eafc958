package source

import (
	"slices"

	"dpproxy/parser/ast"
	"dpproxy/planner/scalar"
)

// A frame is what names can mean at one place of FROM.
type frame struct {
	items []*item
	// visible are the columns that a bare name or a star can mean, in order; a column
	// that USING has merged is there once.
	visible []field
}

// An item is what a qualifier can name.
type item struct {
	alias, schema string // schema is empty unless it is a table of that very name
	fields        []field
}

// A field is a name for a column.
type field struct {
	name   string
	column *scalar.Column
}

// reference resolves a column reference of the level, or of the level around it.
func (s *Source) reference(c *ast.Column) (*scalar.Column, error) {
	if col, ok := s.pinned[c]; ok {
		s.noteUse(col)
		return col, nil
	}
	col, err := s.lookup(s.frame, c)
	switch {
	case col != nil || err != nil:
		return col, err
	case s.outer == nil:
		return nil, s.frame.unknown(c)
	}
	if col, err = s.outer.localColumn(c); err == nil && !slices.Contains(s.foreign, col) {
		s.foreign = append(s.foreign, col)
	}
	return col, err
}

// localColumn resolves a reference that must be of this level.
func (s *Source) localColumn(c *ast.Column) (*scalar.Column, error) {
	col, err := s.lookup(s.frame, c)
	if col == nil && err == nil {
		return nil, s.frame.unknown(c)
	}
	return col, err
}

// lookup returns the column that a reference means, or nil if the frame has none.
func (s *Source) lookup(f frame, c *ast.Column) (*scalar.Column, error) {
	fields := f.visible
	if c.Qualifier != "" {
		it := f.named(c.Schema, c.Qualifier)
		if it == nil {
			return nil, nil //nolint:nilnil // no such name here is no error yet: it may be one of the level around
		}
		fields = it.fields
	}
	found, err := fieldNamed(fields, c)
	if err != nil || found == nil {
		if found == nil && c.Qualifier != "" && err == nil {
			err = f.unknown(c)
		}
		return nil, err
	}
	s.noteUse(found.column)
	return found.column, nil
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
	const hint = "Name a column of the relations in FROM; system columns and whole rows are not available, nor are columns of a query around the block."
	switch {
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
		return slices.DeleteFunc(slices.Clone(fields), func(x field) bool {
			return slices.ContainsFunc(merged, func(m field) bool { return m.name == x.name })
		})
	}
	return frame{slices.Concat(f.items, g.items), slices.Concat(merged, rest(f.visible), rest(g.visible))}
}

// star returns what a star stands for: all that is visible, or the columns of one item.
func (f frame) star(t ast.Target) ([]field, error) {
	if t.Qualifier == "" {
		return f.visible, nil
	}
	it := f.named("", t.Qualifier)
	if it == nil {
		return nil, notHere(t.At, "Name one of the relations in FROM.", "%q names no relation that can be used here", t.Qualifier)
	}
	return it.fields, nil
}
