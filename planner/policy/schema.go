package policy

import (
	"slices"

	"dpproxy/catalog"
	"dpproxy/parser/repair"
)

// Schema is the model as statements in hints may mention it: it names nothing that analysts cannot see.
func (m *Model) Schema() repair.Schema { return schema{m} }

type schema struct{ model *Model }

// Table implements repair.Schema.
func (s schema) Table(namespace, name string) (repair.Table, bool) {
	r, known := s.model.Relation(namespace, name)
	out := repair.Table{Columns: r.Columns, Protected: r.Protected, View: r.View != "", Parents: map[string]repair.Key{}}
	t := s.model.tables[catalog.Name{Schema: r.Schema, Name: r.Name}]
	if t == nil {
		return out, known
	}
	if len(t.Unit.Steps) == 0 && !t.Hides(t.Unit.Column) && t.Counting == nil {
		out.Unit = t.Unit.Column
	}
	for i := range t.Columns {
		if t.Tells(t.Columns[i].Name) {
			out.Keys = append(out.Keys, t.Columns[i].Name)
		}
	}
	for _, fk := range t.Source.Foreign {
		if t.always(fk) {
			out.Parents[fk.Columns[0]] = repair.Key{Schema: fk.References.Schema, Table: fk.References.Name, Column: fk.Target[0]}
		}
	}
	out.Ways = waysOf(t)
	return out, known
}

// waysOf returns the keys of several columns, all of which analysts can see, by which rows of a table lead to rows of people.
func waysOf(t *Table) (list []repair.Way) {
	steps := slices.Clone(t.Unit.Steps[:min(1, len(t.Unit.Steps))])
	for _, r := range t.References {
		steps = append(steps, Step{From: r.From, To: r.To, Key: r.Key})
	}
	for _, st := range steps {
		if len(st.From) > 1 && !slices.ContainsFunc(st.From, t.Hides) && !slices.ContainsFunc(st.Key, st.To.Hides) {
			to := repair.Key{Schema: st.To.Name.Schema, Table: st.To.Name.Name}
			list = append(list, repair.Way{Columns: st.From, Keys: st.Key, To: to})
		}
	}
	return list
}

// Suggested implements repair.Schema.
func (s schema) Suggested(namespace, table, column string) (typ string, unknown bool) {
	return s.model.suggestedType(namespace, table, column)
}
