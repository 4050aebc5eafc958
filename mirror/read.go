package mirror

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
)

// snapshot is how both the catalogue and public rows are read.
var snapshot = pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}

// Read returns what the catalogue behind conn says about the relations of the plan,
// from one snapshot. Those that do not exist are missing in it. Whether they are what
// the plan takes them for, [Plan.Problems] says.
func (p Plan) Read(ctx context.Context, conn *pgx.Conn) (*catalog.Schema, error) {
	tx, err := conn.BeginTx(ctx, snapshot)
	if err != nil {
		return nil, fmt.Errorf("mirror: read the catalogue: %w", err)
	}
	defer tx.Rollback(ctx)
	s, err := p.read(ctx, tx)
	if err == nil {
		s.TimeZones, err = readTimeZones(ctx, tx)
	}
	if err != nil {
		return nil, fmt.Errorf("mirror: read the catalogue: %w", err)
	}
	return s, nil
}

// A reader collects one schema; its steps run in the order of read.
type reader struct {
	plan   Plan
	tx     pgx.Tx
	schema *catalog.Schema
	byOID  map[uint32]*catalog.Table
	oids   []uint32
}

func (p Plan) read(ctx context.Context, tx pgx.Tx) (*catalog.Schema, error) {
	r := &reader{plan: p, tx: tx, byOID: map[uint32]*catalog.Table{}, schema: &catalog.Schema{
		Tables: map[catalog.Name]*catalog.Table{}, Types: map[catalog.Name]*catalog.Type{},
	}}
	if err := r.begin(ctx); err != nil {
		return nil, err
	}
	if err := r.tables(ctx, p.names()); err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context) error{r.columns, r.collations, r.keys, r.constraints, r.indexes, r.sorted, r.foreignKeys, r.links, r.partitions, r.views, r.reads, r.fingerprints} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return r.schema, nil
}

// plainText makes the texts of the catalogue the same whatever the session's defaults
// are: with an empty search_path every name is qualified that is not of pg_catalog.
const plainText = `SET LOCAL search_path = ''; SET LOCAL DateStyle = 'ISO, MDY'; SET LOCAL IntervalStyle = 'postgres';
	SET LOCAL TimeZone = 'UTC'; SET LOCAL extra_float_digits = 1; SET LOCAL bytea_output = 'hex'; SET LOCAL quote_all_identifiers = off`

func (r *reader) begin(ctx context.Context) error {
	if _, err := r.tx.Conn().PgConn().Exec(ctx, plainText).ReadAll(); err != nil {
		return err
	}
	err := r.tx.QueryRow(ctx, "SELECT pg_catalog.current_database(), pg_catalog.current_setting('server_version_num')::int").
		Scan(&r.schema.Database, &r.schema.ServerVersion)
	if err != nil {
		return err
	}
	return checkData(r.schema.ServerVersion)
}

func (r *reader) tables(ctx context.Context, names []catalog.Name) error {
	schemas, tables := make([]string, len(names)), make([]string, len(names))
	for i, n := range names {
		schemas[i], tables[i] = n.Schema, n.Name
	}
	rows, err := r.tx.Query(ctx, `
		SELECT c.oid, n.nspname, c.relname, c.relkind, coalesce(obj_description(c.oid, 'pg_class'), ''), row_security_active(c.oid)
		FROM unnest($1::text[], $2::text[]) AS want(s, t)
		JOIN pg_namespace n ON n.nspname = s JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = t
		WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')`, schemas, tables)
	if err != nil {
		return err
	}
	t, kind := catalog.Table{}, rune(0)
	_, err = pgx.ForEachRow(rows, []any{&t.OID, &t.Name.Schema, &t.Name.Name, &kind, &t.Comment, &t.RowSecurity}, func() error {
		found := t
		found.Kind = byte(kind)
		r.schema.Tables[t.Name], r.byOID[t.OID] = &found, &found
		r.oids = append(r.oids, t.OID)
		return nil
	})
	return err
}

// complete refuses a schema in which a named relation is missing.
func complete(s *catalog.Schema, names []catalog.Name) error {
	var missing []string
	for _, n := range names {
		if s.Tables[n] == nil {
			missing = append(missing, n.String())
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return fmt.Errorf("database %s has no table %s", s.Database, strings.Join(missing, ", "))
}

// serialSQL selects the sequence of a serial column a: it belongs to the column, and the
// default asks it and does nothing else.
const serialSQL = `SELECT s.relname FROM pg_attrdef d
	JOIN pg_depend o ON o.refobjid = a.attrelid AND o.refobjsubid = a.attnum AND o.deptype = 'a'
		AND o.classid = 'pg_class'::regclass AND o.refclassid = 'pg_class'::regclass
	JOIN pg_class s ON s.oid = o.objid AND s.relkind = 'S'
	WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum
		AND pg_get_expr(d.adbin, d.adrelid) = format('nextval(%L::regclass)', s.oid::regclass)`

// fromSQL selects the names of the columns that the expression of a generated column a names.
// What it depends on is recorded of the column, or of its expression.
const fromSQL = `SELECT array_agg(DISTINCT f.attname::text) FROM pg_depend d
	JOIN pg_attribute f ON f.attrelid = d.refobjid AND f.attnum = d.refobjsubid
	WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = a.attrelid AND d.refobjsubid <> a.attnum AND a.attgenerated <> ''
		AND (d.classid = 'pg_class'::regclass AND d.objid = a.attrelid AND d.objsubid = a.attnum
			OR d.classid = 'pg_attrdef'::regclass AND d.objid = (SELECT x.oid FROM pg_attrdef x WHERE x.adrelid = a.attrelid AND x.adnum = a.attnum))`

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
		SELECT a.attrelid, a.attname, a.atttypid, a.atttypmod, format_type(a.atttypid, a.atttypmod), `+notNullSQL+`,
			coalesce(col_description(a.attrelid, a.attnum), ''), a.attgenerated <> '', a.attgenerated = 'v',
			CASE a.attidentity WHEN 'a' THEN 'ALWAYS' WHEN 'd' THEN 'BY DEFAULT' ELSE '' END,
			a.attcollation, coalesce(n.nspname, ''), coalesce(l.collname, ''), coalesce(l.collisdeterministic, true), coalesce((`+serialSQL+`), ''), (`+fromSQL+`)
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
		&relation, &c.Name, &c.Type.OID, &c.Type.Mod, &c.Type.Display, &c.NotNull, &c.Comment, &c.Generated, &c.Virtual, &c.Identity,
		&collation, &c.Collation.Schema, &c.Collation.Name, &c.Deterministic, &c.Serial, &c.From,
	}
	_, err = pgx.ForEachRow(rows, into, func() error {
		found := c
		found.From = slices.Clone(c.From)
		found.Type = types.resolve(c.Type)
		if collation == types[found.Type.BaseOID].collation {
			found.Collation = catalog.Name{}
		}
		t := r.byOID[relation]
		t.Columns = append(t.Columns, found)
		return nil
	})
	if err != nil {
		return err
	}
	types.listUser(r.schema.Types)
	return r.attributes(ctx, types)
}

// keys lists what proves uniqueness. An index with an operator class or collation
// of its own may call other values equal than the column's type does; that of a temporal
// key (WITHOUT OVERLAPS) says only that periods do not overlap.
func (r *reader) keys(ctx context.Context) error {
	rows, err := r.tx.Query(ctx, `
		SELECT i.indrelid, c.relname, i.indisprimary, array_agg(a.attname::text ORDER BY k.n)
		FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
		CROSS JOIN generate_series(0, i.indnkeyatts - 1) AS k(n)
		JOIN pg_opclass o ON o.oid = i.indclass[k.n]
		JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[k.n]
		WHERE i.indrelid = ANY ($1) AND i.indisunique AND i.indisvalid AND i.indisready AND i.indislive AND i.indimmediate
			AND NOT i.indisexclusion AND i.indpred IS NULL AND i.indexprs IS NULL
		GROUP BY i.indexrelid, i.indrelid, c.relname, i.indisprimary
		HAVING bool_and(o.opcdefault AND i.indcollation[k.n] = a.attcollation)
		ORDER BY i.indrelid, i.indisprimary DESC, c.relname`, r.oids)
	if err != nil {
		return err
	}
	var relation uint32
	var k catalog.Key
	_, err = pgx.ForEachRow(rows, []any{&relation, &k.Name, &k.Primary, &k.Columns}, func() error {
		t := r.byOID[relation]
		t.Keys = append(t.Keys, catalog.Key{Name: k.Name, Primary: k.Primary, Columns: slices.Clone(k.Columns)})
		return nil
	})
	return err
}

// foreignKeys lists foreign keys: those that hold are validated ones whose triggers all fire.
// One that is not enforced is never validated; one of periods (PERIOD) says that rows cover
// a time, not that there is one. A key to a partitioned table has one more entry for each
// partition; those are left out.
func (r *reader) foreignKeys(ctx context.Context) error {
	rows, err := r.tx.Query(ctx, `
		SELECT k.conrelid, k.conname, n.nspname, c.relname,
			(SELECT array_agg(a.attname::text ORDER BY u.i) FROM unnest(k.conkey) WITH ORDINALITY u(num, i)
				JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.num),
			(SELECT array_agg(a.attname::text ORDER BY u.i) FROM unnest(k.confkey) WITH ORDINALITY u(num, i)
				JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = u.num),
			pg_get_constraintdef(k.oid),
			k.convalidated AND to_jsonb(k) ->> 'conperiod' IS DISTINCT FROM 'true'
				AND NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgconstraint = k.oid AND t.tgenabled NOT IN ('O', 'A'))
		FROM pg_constraint k JOIN pg_class c ON c.oid = k.confrelid JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE k.conrelid = ANY ($1) AND k.contype = 'f'
			AND NOT EXISTS (SELECT FROM pg_constraint up WHERE up.oid = k.conparentid AND up.conrelid = k.conrelid)
		ORDER BY k.conrelid, k.conname`, r.oids)
	if err != nil {
		return err
	}
	var relation uint32
	var f catalog.ForeignKey
	var holds bool
	into := []any{&relation, &f.Name, &f.References.Schema, &f.References.Name, &f.Columns, &f.Target, &f.Definition, &holds}
	_, err = pgx.ForEachRow(rows, into, func() error {
		found := f
		found.Columns, found.Target = slices.Clone(f.Columns), slices.Clone(f.Target)
		t := r.byOID[relation]
		if holds {
			t.Foreign = append(t.Foreign, found)
		} else {
			t.Loose = append(t.Loose, found)
		}
		return nil
	})
	return err
}

func (r *reader) links(ctx context.Context) error {
	rows, err := r.tx.Query(ctx, `
		SELECT h.inhrelid, h.inhparent, cn.nspname, c.relname, pn.nspname, p.relname FROM pg_inherits h
		JOIN pg_class c ON c.oid = h.inhrelid JOIN pg_namespace cn ON cn.oid = c.relnamespace
		JOIN pg_class p ON p.oid = h.inhparent JOIN pg_namespace pn ON pn.oid = p.relnamespace
		WHERE h.inhrelid = ANY ($1) OR h.inhparent = ANY ($1) ORDER BY 3, 4, 5, 6`, r.oids)
	if err != nil {
		return err
	}
	var child, parent uint32
	var childName, parentName catalog.Name
	into := []any{&child, &parent, &childName.Schema, &childName.Name, &parentName.Schema, &parentName.Name}
	_, err = pgx.ForEachRow(rows, into, func() error {
		if t := r.byOID[child]; t != nil {
			t.Parents = append(t.Parents, parentName)
		}
		if t := r.byOID[parent]; t != nil {
			t.Children = append(t.Children, childName)
		}
		return nil
	})
	return err
}

func (r *reader) fingerprints(ctx context.Context) error {
	rows, err := r.tx.Query(ctx, fingerprintSQL, r.oids)
	if err != nil {
		return err
	}
	var oid uint32
	var digest string
	_, err = pgx.ForEachRow(rows, []any{&oid, &digest}, func() error {
		r.byOID[oid].Fingerprint = digest
		return nil
	})
	return err
}
