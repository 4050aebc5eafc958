package policy

import (
	"slices"

	"dpproxy/catalog"
	"dpproxy/parser/ast"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// A Field is a place in the documents of a column, to which keys lead, with its policy. Statements name it by these keys alone, as in
// data -> 'a' ->> 'b'. It is a column in all other respects.
type Field struct {
	Keys []string
	Column
}

// FieldTypes returns the names of the types that a field can have.
func FieldTypes() (names []string) {
	for _, t := range scalar.FieldTypes {
		names = append(names, t.Name)
	}
	return names
}

// FieldKeys reads the keys that lead to a field, as a policy writes them; ok is false of a path that is none.
func FieldKeys(path string) (keys []string, ok bool) { return ast.KeysOf(path) }

// fieldsOf joins the fields of a column with its type.
func fieldsOf(c *checker, p *TablePolicy, src catalog.Column, said ColumnPolicy, at []string) (list []Field) {
	if of := pgtype.OfColumn(src.Type, catalog.Name{}, true); len(said.Fields) > 0 && !scalar.HasFields(of) {
		c.problemAt(p.Name, append(slices.Clip(at), "fields"), "fields of a column of type %s: only jsonb has fields", src.Type.Display)
		return nil
	}
	table := c.schema.Tables[p.Name]
	for _, f := range said.Fields {
		typ := scalar.FieldTypes[max(0, slices.IndexFunc(scalar.FieldTypes, func(t scalar.FieldType) bool { return t.Name == f.Type }))]
		where := append(slices.Clip(at), "fields", f.Path)
		as := catalog.Column{Name: scalar.FieldName(src.Name, f.Keys), Deterministic: true, Type: typ.InCatalog()}
		if _, clash := table.Column(as.Name); clash {
			c.problemAt(p.Name, where, "the table has a column of the name %s", as.Name)
		}
		list = append(list, Field{f.Keys, c.stated(p, as, f.ColumnPolicy, where)})
	}
	return list
}
