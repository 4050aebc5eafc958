package mirror

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
)

// collations reads the collations of columns. What they consist of differs between the
// versions of Postgres: ICU's locale has had three places.
func (r *reader) collations(ctx context.Context) error {
	rows, err := r.tx.Query(ctx, `
		SELECT n.nspname, l.collname, l.collprovider, l.collisdeterministic, coalesce(l.collcollate, ''), coalesce(l.collctype, ''),
			coalesce(to_jsonb(l) ->> 'colllocale', to_jsonb(l) ->> 'colliculocale', l.collcollate, ''), coalesce(to_jsonb(l) ->> 'collicurules', '')
		FROM pg_collation l JOIN pg_namespace n ON n.oid = l.collnamespace
		WHERE (n.nspname, l.collname) NOT IN (('pg_catalog', 'default'), ('pg_catalog', 'C'), ('pg_catalog', 'POSIX'))
			AND l.oid IN (SELECT attcollation FROM pg_attribute WHERE attrelid = ANY ($1) AND attnum > 0 AND NOT attisdropped)`, r.oids)
	if err != nil {
		return err
	}
	r.schema.Collations = map[catalog.Name]*catalog.Collation{}
	_, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) {
		var c catalog.Collation
		var provider rune
		err := row.Scan(&c.Name.Schema, &c.Name.Name, &provider, &c.Deterministic, &c.Collate, &c.Ctype, &c.Locale, &c.Rules)
		c.Provider = byte(provider)
		r.schema.Collations[c.Name] = &c
		return struct{}{}, err
	})
	return err
}

func collationKey(n catalog.Name) key { return key{"collation", n.String()} }

// usedCollations returns those that columns of the plan's relations have.
func (p Plan) usedCollations(s *catalog.Schema) []*catalog.Collation {
	used := map[catalog.Name]*catalog.Collation{}
	for _, n := range p.names() {
		for _, c := range s.Tables[n].Columns {
			if l := s.Collations[c.Collation]; l != nil {
				used[l.Name] = l
			}
		}
	}
	var list []*catalog.Collation
	for _, n := range slices.SortedFunc(maps.Keys(used), byName) {
		list = append(list, used[n])
	}
	return list
}

func (p Plan) collationObjects(s *catalog.Schema) []object {
	var objects []object
	for _, l := range p.usedCollations(s) {
		objects = append(objects, collationObject(l))
	}
	return objects
}

// collationObject is a collation of the same name, whatever the server can make of it. One
// of pg_catalog is the server's own, unless its system lacks the locale: it then gets it,
// and keeps it.
func collationObject(l *catalog.Collation) object {
	name, exists, drop := qualified(l.Name), "", "DROP COLLATION "+qualified(l.Name)+" CASCADE"
	own := fmt.Sprintf(";\nALTER COLLATION %s OWNER TO %s", name, Owner)
	if l.Name.Schema == "pg_catalog" {
		exists, drop, own = "IF NOT EXISTS ", "SELECT", ""
	}
	return object{
		key:    collationKey(l.Name),
		create: fmt.Sprintf("CREATE COLLATION %s%s (%s)%s", exists, name, collationSQL(l), own),
		otherwise: fmt.Sprintf("DO %s%s", literal(fmt.Sprintf(
			"BEGIN EXECUTE (SELECT format('CREATE COLLATION %%s (LC_COLLATE = %%L, LC_CTYPE = %%L)', %s, datcollate, datctype) FROM pg_database WHERE datname = current_database()); END",
			literal(name))), own),
		loss: "it sorts and compares as the mirror's database does",
		drop: drop,
		state: fmt.Sprintf(`SELECT CASE WHEN n.nspname = 'pg_catalog' THEN %s ELSE l.collowner::regrole::text END, true
			FROM pg_collation l JOIN pg_namespace n ON n.oid = l.collnamespace WHERE n.nspname = %s AND l.collname = %s
				AND l.collencoding IN (-1, (SELECT encoding FROM pg_database WHERE datname = current_database()))`,
			literal(Owner), literal(l.Name.Schema), literal(l.Name.Name)),
	}
}

// collationSQL writes what CREATE COLLATION makes it from.
func collationSQL(l *catalog.Collation) string {
	parts := []string{"PROVIDER = " + provider(l.Provider)}
	if l.Provider == 'c' {
		parts = append(parts, "LC_COLLATE = "+literal(l.Collate), "LC_CTYPE = "+literal(l.Ctype))
	} else {
		parts = append(parts, "LOCALE = "+literal(l.Locale))
	}
	if !l.Deterministic {
		parts = append(parts, "DETERMINISTIC = false")
	}
	if l.Rules != "" {
		parts = append(parts, "RULES = "+literal(l.Rules))
	}
	return strings.Join(parts, ", ")
}

func provider(code byte) string {
	switch code {
	case 'i':
		return "icu"
	case 'b':
		return "builtin"
	}
	return "libc"
}
