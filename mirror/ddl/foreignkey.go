package ddl

import (
	"fmt"
	"slices"

	"dpproxy/catalog"
	"dpproxy/mirror/quote"
)

// ForeignKeys are the foreign keys of t to relations of the mirror.
func ForeignKeys(t *catalog.Table, s *catalog.Schema) []Object {
	var objects []Object
	for _, f := range t.Foreign {
		target := s.Tables[f.References]
		if f.Definition == "" || target == nil || !provesUnique(target, f.Target) {
			continue
		}
		name := quote.Name(t.Name)
		objects = append(objects, Object{
			Key:    Key{KindForeignKey, t.Name.String() + "." + f.Name},
			Create: fmt.Sprintf("ALTER TABLE %s ADD CONSTRAINT %s %s", name, quote.Ident(f.Name), f.Definition),
			Drop:   fmt.Sprintf("ALTER TABLE %s DROP CONSTRAINT %s", name, quote.Ident(f.Name)),
			State: fmt.Sprintf(`SELECT c.relowner::regrole::text, true FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
				WHERE c.oid = to_regclass(%s) AND k.conname = %s AND k.contype = 'f'`, quote.Literal(name), quote.Literal(f.Name)),
			Needs: []Key{tableKey(t.Name), tableKey(f.References)},
		})
	}
	return objects
}

// provesUnique reports whether the columns, in any order, are a key of t.
func provesUnique(t *catalog.Table, columns []string) bool {
	want := slices.Sorted(slices.Values(columns))
	return slices.ContainsFunc(t.Keys, func(k catalog.Key) bool {
		return slices.Equal(slices.Sorted(slices.Values(k.Columns)), want)
	})
}
