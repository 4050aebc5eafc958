package mirror

import (
	"context"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
)

// firstUserOID is FirstNormalObjectId of Postgres: smaller OIDs are assigned at
// initdb and are the same on every server of a version.
const firstUserOID = 16384

// A pgType is a row of pg_type with what belongs to it.
type pgType struct {
	oid       uint32
	name      catalog.Name
	kind      byte
	base      uint32 // of a domain, else 0
	baseMod   int32
	baseText  string // format_type of the base
	notNull   bool
	collation uint32
	labels    []string
	comment   string
}

// typeSet holds the types that the columns use, with all types below them.
type typeSet map[uint32]pgType

func readTypes(ctx context.Context, tx pgx.Tx, relations []uint32) (typeSet, error) {
	rows, err := tx.Query(ctx, `
		WITH RECURSIVE used(oid) AS (
			SELECT atttypid FROM pg_attribute WHERE attrelid = ANY ($1) AND attnum > 0 AND NOT attisdropped
			UNION
			SELECT d.oid FROM used u JOIN pg_type t ON t.oid = u.oid
			CROSS JOIN LATERAL (VALUES (t.typbasetype), (t.typelem)) AS d(oid) WHERE d.oid <> 0)
		SELECT t.oid, n.nspname, t.typname, t.typtype, t.typbasetype, t.typtypmod,
			CASE WHEN t.typtype = 'd' THEN format_type(t.typbasetype, t.typtypmod) ELSE '' END,
			t.typnotnull, t.typcollation,
			coalesce((SELECT array_agg(e.enumlabel::text ORDER BY e.enumsortorder) FROM pg_enum e WHERE e.enumtypid = t.oid), '{}'),
			coalesce(obj_description(t.oid, 'pg_type'), '')
		FROM used u JOIN pg_type t ON t.oid = u.oid JOIN pg_namespace n ON n.oid = t.typnamespace`, relations)
	if err != nil {
		return nil, err
	}
	types := typeSet{}
	_, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) {
		var t pgType
		var kind rune
		err := row.Scan(&t.oid, &t.name.Schema, &t.name.Name, &kind, &t.base, &t.baseMod, &t.baseText,
			&t.notNull, &t.collation, &t.labels, &t.comment)
		t.kind = byte(kind)
		types[t.oid] = t
		return struct{}{}, err
	})
	return types, err
}

// resolve fills in what follows from OID and Mod: the name, and the type below
// all domains.
func (s typeSet) resolve(ref catalog.TypeRef) catalog.TypeRef {
	t := s[ref.OID]
	ref.Name, ref.Kind = t.name, t.kind
	mod := ref.Mod
	for t.kind == 'd' {
		mod = t.baseMod
		t = s[t.base]
	}
	ref.Base, ref.BaseOID, ref.BaseMod = t.name, t.oid, mod
	return ref
}

// listUser adds the enums and domains that were made by users.
func (s typeSet) listUser(into map[catalog.Name]*catalog.Type) {
	for _, t := range s {
		if t.oid < firstUserOID || t.kind != 'e' && t.kind != 'd' {
			continue
		}
		found := &catalog.Type{Name: t.name, Kind: t.kind, Labels: t.labels, NotNull: t.notNull, Comment: t.comment}
		if t.kind == 'd' {
			found.Base = s.resolve(catalog.TypeRef{OID: t.base, Mod: t.baseMod, Display: t.baseText})
		}
		into[t.name] = found
	}
}
