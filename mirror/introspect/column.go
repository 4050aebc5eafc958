package introspect

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
)

// serialSQL selects the sequence of a serial column a: it belongs to the column, and the
// default asks it and does nothing else.
const serialSQL = `SELECT s.relname FROM pg_attrdef d
	JOIN pg_depend o ON o.refobjid = a.attrelid AND o.refobjsubid = a.attnum AND o.deptype = 'a'
		AND o.classid = 'pg_class'::regclass AND o.refclassid = 'pg_class'::regclass
	JOIN pg_class s ON s.oid = o.objid AND s.relkind = 'S'
	WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum
		AND pg_get_expr(d.adbin, d.adrelid) = format('nextval(%L::regclass)', s.oid::regclass)`

// fromSQL selects the names of the columns that the expression of a generated column a names.
// Its dependencies are recorded of the column, or of its expression.
const fromSQL = `SELECT array_agg(DISTINCT f.attname::text) FROM pg_depend d
	JOIN pg_attribute f ON f.attrelid = d.refobjid AND f.attnum = d.refobjsubid
	WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = a.attrelid AND d.refobjsubid <> a.attnum AND a.attgenerated <> ''
		AND (d.classid = 'pg_class'::regclass AND d.objid = a.attrelid AND d.objsubid = a.attnum
			OR d.classid = 'pg_attrdef'::regclass AND d.objid = (SELECT x.oid FROM pg_attrdef x ` +
	`WHERE x.adrelid = a.attrelid AND x.adnum = a.attnum))`

// notNullSQL holds for a column a without NULL. From Postgres 18 on, attnotnull alone is also
// set by a constraint that the rows from before were never checked against.
const notNullSQL = `a.attnotnull AND NOT EXISTS (SELECT FROM pg_constraint k
	WHERE k.conrelid = a.attrelid AND k.contype = 'n' AND NOT k.convalidated AND a.attnum = ANY (k.conkey))`

func (r *reader) columns(ctx context.Context) error {
	types, err := readTypes(ctx, r.tx, r.oids)
	if err != nil {
		return err
	}
	rows, err := r.tx.Query(ctx, `
		SELECT a.attrelid, a.attnum, a.attname, a.atttypid, a.atttypmod, format_type(a.atttypid, a.atttypmod), `+notNullSQL+`,
			coalesce(col_description(a.attrelid, a.attnum), ''), a.attgenerated <> '', a.attgenerated = 'v',
			CASE a.attidentity WHEN 'a' THEN 'ALWAYS' WHEN 'd' THEN 'BY DEFAULT' ELSE '' END,
			a.attcollation, coalesce(n.nspname, ''), coalesce(l.collname, ''), coalesce(l.collisdeterministic, true), `+
		`coalesce((`+serialSQL+`), ''), (`+fromSQL+`)
		FROM pg_attribute a
		LEFT JOIN pg_collation l ON l.oid = a.attcollation LEFT JOIN pg_namespace n ON n.oid = l.collnamespace
		WHERE a.attrelid = ANY ($1) AND a.attnum > 0 AND NOT a.attisdropped
		ORDER BY a.attrelid, a.attnum`, r.oids)
	if err != nil {
		return err
	}
	var relation, collation uint32
	var c catalog.Column
	into := []any{
		&relation, &c.Number, &c.Name, &c.Type.OID, &c.Type.Mod, &c.Type.Display, &c.NotNull, &c.Comment, &c.Generated, &c.Virtual,
		&c.Identity, &collation, &c.Collation.Schema, &c.Collation.Name, &c.Deterministic, &c.Serial, &c.From,
	}
	_, err = pgx.ForEachRow(rows, into, func() error {
		t := r.byOID[relation]
		if was, limited := r.before(t); limited && c.Number > was.columns {
			return nil
		}
		found := c
		found.From = slices.Clone(c.From)
		found.Type = types.resolve(c.Type)
		found.Checks = types.checks(c.Type.OID)
		if collation == types[found.Type.BaseOID].collation {
			found.Collation = catalog.Name{}
		}
		t.Columns = append(t.Columns, found)
		return nil
	})
	if err != nil {
		return err
	}
	types.listUser(r.schema.Types)
	return types.attributes(ctx, r.tx, r.schema.Types)
}
