package introspect

import (
	"context"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
)

func (r *reader) begin(ctx context.Context) error {
	if _, err := r.tx.Conn().PgConn().Exec(ctx, PlainText).ReadAll(); err != nil {
		return err
	}
	err := r.tx.QueryRow(ctx, `SELECT pg_catalog.current_database(), pg_catalog.current_setting('server_version_num')::int,
			pg_catalog.version(), ARRAY(SELECT extname::text FROM pg_catalog.pg_extension ORDER BY 1)`).
		Scan(&r.schema.Database, &r.schema.ServerVersion, &r.schema.Engine.Version, &r.schema.Engine.Extensions)
	if err != nil {
		return err
	}
	return checkData(r.schema.ServerVersion)
}

func (r *reader) relations(ctx context.Context, names []catalog.Name) error {
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
		if t := r.byOID[parent]; t != nil && t.Kind != 'p' { // see below
			t.Children, t.ChildOIDs = append(t.Children, childName), append(t.ChildOIDs, child)
		}
		return nil
	})
	return err
}

// fingerprints takes those of the relations, narrowed to what was known of them.
func (r *reader) fingerprints(ctx context.Context) error {
	before := map[uint32]string{}
	for oid, t := range r.byOID {
		before[oid] = ""
		if _, limited := r.before(t); limited {
			before[oid] = r.known[t.Name].Fingerprint
		}
	}
	rows, err := r.tx.Query(ctx, FingerprintOf(before))
	if err != nil {
		return err
	}
	var oid uint32
	var fingerprint string
	_, err = pgx.ForEachRow(rows, []any{&oid, &fingerprint}, func() error {
		r.byOID[oid].Fingerprint = fingerprint
		return nil
	})
	return err
}
