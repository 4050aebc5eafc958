package introspect

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
)

// FirstUserOID is FirstNormalObjectId of Postgres: smaller OIDs are assigned at
// initdb and are the same on every server of a version.
const FirstUserOID = 16384

// A pgType is a row of pg_type with the rows of other catalogues that belong to it.
type pgType struct {
	oid       uint32
	name      catalog.Name
	kind      byte
	base      uint32 // of a domain, or the subtype of a range, else 0
	baseMod   int32
	baseText  string // format_type of the base
	notNull   bool
	checks    []string // of a domain
	collation uint32
	labels    []string
	comment   string
	// ofTable says that it is the type of the rows of a table or view.
	ofTable    bool
	multirange catalog.Name
}

// typeSet holds the types that the columns use, with all types below them.
type typeSet map[uint32]pgType

// multirangeSQL is the OID of a range g's multirange, NULL before Postgres 14.
const multirangeSQL = `(to_jsonb(g) ->> 'rngmultitypid')::oid`

func readTypes(ctx context.Context, tx pgx.Tx, relations []uint32) (typeSet, error) {
	rows, err := tx.Query(ctx, `
		WITH RECURSIVE used(oid) AS (
			SELECT atttypid FROM pg_attribute WHERE attrelid = ANY ($1) AND attnum > 0 AND NOT attisdropped
			UNION
			SELECT d.oid FROM used u JOIN pg_type t ON t.oid = u.oid
			CROSS JOIN LATERAL (VALUES (t.typbasetype), (t.typelem)
				UNION ALL SELECT a.atttypid FROM pg_attribute a WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped
				UNION ALL SELECT unnest(ARRAY[g.rngtypid, g.rngsubtype]) FROM pg_range g WHERE t.oid IN (g.rngtypid, `+multirangeSQL+`)
			) AS d(oid) WHERE d.oid <> 0)
		SELECT t.oid, n.nspname, t.typname, t.typtype, coalesce(g.rngsubtype, t.typbasetype), t.typtypmod,
			CASE WHEN t.typtype IN ('d', 'r') THEN format_type(coalesce(g.rngsubtype, t.typbasetype), t.typtypmod) ELSE '' END,
			t.typnotnull, `+domainChecksSQL+`, t.typcollation,
			coalesce((SELECT array_agg(e.enumlabel::text ORDER BY e.enumsortorder) FROM pg_enum e WHERE e.enumtypid = t.oid), '{}'),
			coalesce(obj_description(t.oid, 'pg_type'), ''),
			coalesce(c.relkind, ' '), coalesce(mn.nspname, ''), coalesce(m.typname, '')
		FROM used u JOIN pg_type t ON t.oid = u.oid JOIN pg_namespace n ON n.oid = t.typnamespace
		LEFT JOIN pg_class c ON c.oid = t.typrelid LEFT JOIN pg_range g ON g.rngtypid = t.oid
		LEFT JOIN pg_type m ON m.oid = `+multirangeSQL+` LEFT JOIN pg_namespace mn ON mn.oid = m.typnamespace`, relations)
	if err != nil {
		return nil, err
	}
	types := typeSet{}
	_, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) {
		var t pgType
		var kind, relation rune
		err := row.Scan(&t.oid, &t.name.Schema, &t.name.Name, &kind, &t.base, &t.baseMod, &t.baseText,
			&t.notNull, &t.checks, &t.collation, &t.labels, &t.comment, &relation, &t.multirange.Schema, &t.multirange.Name)
		t.kind, t.ofTable = byte(kind), relation != ' ' && relation != 'c'
		types[t.oid] = t
		return struct{}{}, err
	})
	return types, err
}

// checks returns the conditions that a domain, and one that it is directly over, say of a value, in their order: those that fingerprints
// have.
func (s typeSet) checks(oid uint32) []string {
	of := s[oid]
	if of.kind != 'd' {
		return nil
	}
	return slices.Concat(of.checks, s[of.base].checks)
}

// resolve fills in the fields that follow from OID and Mod: the name, and the type below
// all domains.
func (s typeSet) resolve(ref catalog.TypeRef) catalog.TypeRef {
	t := s[ref.OID]
	ref.Name, ref.Kind = t.name, t.kind
	mod := ref.Mod
	for t.kind == 'd' {
		ref.NotNull = ref.NotNull || t.notNull
		mod = t.baseMod
		t = s[t.base]
	}
	ref.Base, ref.BaseOID, ref.BaseMod = t.name, t.oid, mod
	return ref
}

// listUser adds the types that were made by users.
func (s typeSet) listUser(into map[catalog.Name]*catalog.Type) {
	for _, t := range s {
		if t.oid < FirstUserOID || !slices.Contains([]byte("edcr"), t.kind) || t.ofTable {
			continue
		}
		found := &catalog.Type{
			Name: t.name, Kind: t.kind, Labels: t.labels, NotNull: t.notNull, Comment: t.comment, Multirange: t.multirange,
		}
		if t.kind == 'd' || t.kind == 'r' {
			found.Base = s.resolve(catalog.TypeRef{OID: t.base, Mod: t.baseMod, Display: t.baseText})
		}
		into[t.name] = found
	}
}

// attributes adds to the types that were made by users the columns of the composites.
func (s typeSet) attributes(ctx context.Context, tx pgx.Tx, into map[catalog.Name]*catalog.Type) error {
	rows, err := tx.Query(ctx, `
		SELECT n.nspname, t.typname, a.attname, a.atttypid, a.atttypmod, format_type(a.atttypid, a.atttypmod)
		FROM unnest($1::oid[]) AS u(oid) JOIN pg_type t ON t.oid = u.oid JOIN pg_namespace n ON n.oid = t.typnamespace
		JOIN pg_attribute a ON a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped
		ORDER BY t.oid, a.attnum`, slices.Sorted(maps.Keys(s)))
	if err != nil {
		return err
	}
	var of catalog.Name
	var c catalog.Column
	_, err = pgx.ForEachRow(rows, []any{&of.Schema, &of.Name, &c.Name, &c.Type.OID, &c.Type.Mod, &c.Type.Display}, func() error {
		if t := into[of]; t != nil {
			t.Attributes = append(t.Attributes, catalog.Column{Name: c.Name, Type: s.resolve(c.Type)})
		}
		return nil
	})
	return err
}
