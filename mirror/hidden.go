package mirror

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/mirror/ddl"
	"dpproxy/mirror/quote"
)

// This file leaves out of the mirror each column that the policy hides, and all that names it or
// is of use to it alone.

// hidden returns the columns of a relation that the mirror does not have. Columns that the plan does not list are taken from the forms
// of the relation, each of which may be nil.
func (p Plan) hidden(n catalog.Name, forms ...*catalog.Table) []string {
	for _, t := range p.Protected {
		if t.Name == n {
			return t.hidden(forms)
		}
	}
	for _, v := range p.Views {
		if v.Name == n {
			return v.Hidden
		}
	}
	return p.Withheld[n]
}

func (t Protected) hidden(forms []*catalog.Table) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(t.Columns)) {
		if t.Columns[name].Hidden {
			names = append(names, name)
		}
	}
	for _, form := range forms {
		if form == nil || !t.HidesUnlisted {
			continue
		}
		for _, c := range form.Columns {
			if _, listed := t.Columns[c.Name]; !listed && !slices.Contains(names, c.Name) {
				names = append(names, c.Name)
			}
		}
	}
	return names
}

// visible returns the schema as the mirror has it: without hidden columns, the keys,
// indexes and foreign keys that are about one, and the types that nothing else uses. A
// generated column whose expression names a hidden one is a plain column.
func (p Plan) visible(s *catalog.Schema) *catalog.Schema {
	hidden := func(n catalog.Name) []string { return p.hidden(n, s.Tables[n]) }
	if !slices.ContainsFunc(p.names(), func(n catalog.Name) bool { return len(hidden(n)) > 0 }) {
		return s
	}
	rest := *s
	rest.Tables, rest.Types = map[catalog.Name]*catalog.Table{}, map[catalog.Name]*catalog.Type{}
	for n, t := range s.Tables {
		rest.Tables[n] = visibleTable(t, hidden)
	}
	for _, t := range rest.Tables {
		for _, c := range t.Columns {
			addTypes(rest.Types, c.Type.Display, s.Types)
		}
	}
	return &rest
}

func visibleTable(t *catalog.Table, hidden func(catalog.Name) []string) *catalog.Table {
	names := hidden(t.Name)
	rest := apart(t, hidden)
	rest.Columns = nil
	for _, c := range t.Columns {
		c.Generated = c.Generated && !anyOf(c.From, names)
		if !slices.Contains(names, c.Name) {
			rest.Columns = append(rest.Columns, c)
		}
	}
	return rest
}

func anyOf(columns, of []string) bool {
	return slices.ContainsFunc(columns, func(c string) bool { return slices.Contains(of, c) })
}

// apart returns the table without the keys, indexes and foreign keys that are about one of
// some columns of their relations.
func apart(t *catalog.Table, of func(catalog.Name) []string) *catalog.Table {
	names := of(t.Name)
	about := func(d catalog.Definition) bool { return anyOf(d.Columns, names) }
	rest := *t
	rest.Keys = slices.DeleteFunc(slices.Clone(t.Keys), func(k catalog.Key) bool {
		gone := func(d catalog.Definition) bool { return d.Name == k.Name && about(d) }
		return anyOf(k.Columns, names) || slices.ContainsFunc(slices.Concat(t.Constraints, t.Indexes), gone)
	})
	rest.Constraints = slices.DeleteFunc(slices.Clone(t.Constraints), about)
	rest.Indexes = slices.DeleteFunc(slices.Clone(t.Indexes), about)
	rest.Foreign = slices.DeleteFunc(slices.Clone(t.Foreign), func(f catalog.ForeignKey) bool {
		return anyOf(f.Columns, names) || anyOf(f.Target, of(f.References))
	})
	return &rest
}

// addTypes adds the user types that a type's text mentions, and those they are made of.
func addTypes(into map[catalog.Name]*catalog.Type, display string, all map[catalog.Name]*catalog.Type) {
	for _, n := range ddl.TypesIn(display, all) {
		if into[n] != nil {
			continue
		}
		into[n] = all[n]
		addTypes(into, all[n].Base.Display, all)
		for _, a := range all[n].Attributes {
			addTypes(into, a.Type.Display, all)
		}
	}
}

// OtherForms returns the relations of the plan that are otherwise on the mirror than the plan has them, in the order of the plan:
// with other columns, as a relation of another kind, or not at all. The mirror was made for another policy then.
func (p Plan) OtherForms(ctx context.Context, mirror *pgx.Conn, s *catalog.Schema) ([]catalog.Name, error) {
	rows, err := mirror.Query(ctx, `SELECT n.nspname, c.relname, c.relkind = 'v', c.relrowsecurity,
			coalesce(array_agg(a.attname::text ORDER BY a.attnum) FILTER (WHERE a.attnum > 0 AND NOT a.attisdropped), '{}')
		FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
		WHERE c.relkind IN ('r', 'v') GROUP BY n.nspname, c.relname, c.relkind, c.relrowsecurity`)
	if err != nil {
		return nil, fmt.Errorf("mirror: read its columns: %w", err)
	}
	type form struct{ view, secured bool }
	forms, have := map[catalog.Name]form{}, map[catalog.Name][]string{}
	var n catalog.Name
	var f form
	var columns []string
	_, err = pgx.ForEachRow(rows, []any{&n.Schema, &n.Name, &f.view, &f.secured, &columns}, func() error {
		forms[n], have[n] = f, slices.Clone(columns)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("mirror: read its columns: %w", err)
	}
	visible := p.visible(s)
	return slices.DeleteFunc(p.names(), func(n catalog.Name) bool {
		var want []string
		if t := visible.Tables[n]; t != nil {
			for _, c := range t.Columns {
				want = append(want, c.Name)
			}
		}
		view := slices.ContainsFunc(p.Views, func(v View) bool { return v.Name == n })
		return slices.Equal(want, have[n]) && forms[n] == form{view: view, secured: !view && !slices.Contains(p.Public, n)}
	}), nil
}

// unseen proves on the mirror that no relation of the plan has a hidden column.
func unseen(ctx context.Context, tx pgx.Tx, p Plan, s *catalog.Schema) error {
	for _, n := range p.names() {
		var found *string
		err := tx.QueryRow(ctx, "SELECT min(attname::text) FROM pg_attribute WHERE attrelid = to_regclass($1) AND attname = ANY ($2)",
			quote.Name(n), p.hidden(n, s.Tables[n])).Scan(&found)
		if err != nil {
			return err
		}
		if found != nil {
			return fmt.Errorf("self-test: %v has the hidden column %s", n, *found)
		}
	}
	return nil
}
