package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"dpproxy/mirror/ddl"
	"dpproxy/mirror/quote"
)

// A records is a text that dpproxy keeps on the mirror for itself, in a large object that its comment names. Only superusers read and
// write it. It is no relation, so no tool lists it among tables.
type records string

const (
	// madeRecords is a JSON list: each [record] in the order of creation.
	madeRecords records = "made"
	// confirmedRecords is the JSON of a [confirmation].
	confirmedRecords records = "confirmed"
	// copiedRecords is empty. It is written when public rows are copied, and has another OID then.
	copiedRecords records = "copied"
)

// comment is the one by which the large object is found. Analysts may read it.
func (r records) comment() string { return ddl.Records + "." + string(r) }

// where selects the OID of the large object. Each text has an OID of its own.
func (r records) where() string {
	return fmt.Sprintf(`SELECT l.oid FROM pg_catalog.pg_largeobject_metadata l JOIN pg_catalog.pg_roles o ON o.oid = l.lomowner
		WHERE o.rolname = %s AND pg_catalog.obj_description(l.oid, 'pg_largeobject') = %s`,
		quote.Literal(ddl.Owner), quote.Literal(r.comment()))
}

// read returns the text, nil if there is none.
func (r records) read(ctx context.Context, q querier) (text []byte, err error) {
	err = q.QueryRow(ctx, "SELECT pg_catalog.lo_get(l.oid) FROM ("+r.where()+") AS l").Scan(&text)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return text, err
}

// write replaces the text.
func (r records) write(ctx context.Context, tx pgx.Tx, text []byte) error {
	if _, err := tx.Exec(ctx, "SELECT pg_catalog.lo_unlink(l.oid) FROM ("+r.where()+") AS l"); err != nil {
		return err
	}
	var oid uint32
	if err := tx.QueryRow(ctx, "SELECT pg_catalog.lo_from_bytea(0, $1)", text).Scan(&oid); err != nil {
		return err
	}
	script := fmt.Sprintf("ALTER LARGE OBJECT %[1]d OWNER TO %[2]s; COMMENT ON LARGE OBJECT %[1]d IS %[3]s", oid, ddl.Owner,
		quote.Literal(r.comment()))
	_, err := tx.Conn().PgConn().Exec(ctx, script).ReadAll()
	return err
}

// Earlier versions kept the texts in tables, in the schema [ddl.Records] or, before that, in the schema dp. The next sync or start moves
// them.

// formerTexts select the texts from those tables, NULL if there is none.
var formerTexts = map[records]string{
	madeRecords: `SELECT pg_catalog.json_agg(pg_catalog.json_build_object('Kind', kind, 'Name', name, 'Digest', digest, 'Drop', remove,
		'State', state) ORDER BY seq)::pg_catalog.text FROM %s.made`,
	confirmedRecords: "SELECT (SELECT definition FROM %s.confirmed)",
}

// former returns the schema in which an earlier version keeps the text, empty if none does. A text in a table is newer than one in a large
// object, since that version has made the mirror last.
func (r records) former(ctx context.Context, q querier) (schema string, err error) {
	err = q.QueryRow(ctx, `SELECT n.nspname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		JOIN pg_catalog.pg_roles o ON o.oid = c.relowner
		WHERE c.relname = $1 AND c.relkind = 'r' AND n.nspname IN ($2, $3) AND o.rolname = $4 ORDER BY n.nspname = $2 DESC LIMIT 1`,
		string(r), ddl.Records, ddl.Reserved, ddl.Owner).Scan(&schema)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return schema, err
}

// readFormer returns the text that an earlier version keeps in a schema, nil if there is none.
func (r records) readFormer(ctx context.Context, q querier, schema string) (text []byte, err error) {
	err = q.QueryRow(ctx, fmt.Sprintf(formerTexts[r], schema)).Scan(&text)
	return text, err
}

// moveRecords puts the texts of an earlier version into large objects, as they are.
func moveRecords(ctx context.Context, tx pgx.Tx, report func(string)) error {
	var schemas []string
	for _, r := range []records{madeRecords, confirmedRecords} {
		schema, err := r.former(ctx, tx)
		if err != nil {
			return err
		}
		if schema == "" {
			continue
		}
		text, err := r.readFormer(ctx, tx, schema)
		if err != nil {
			return err
		}
		if text != nil {
			if err := r.write(ctx, tx, text); err != nil {
				return err
			}
		}
		report(fmt.Sprintf("move %s.%s, of an earlier dpproxy, into a large object", schema, r))
		if _, err := tx.Exec(ctx, fmt.Sprintf("DROP TABLE %s.%s", schema, r)); err != nil {
			return err
		}
		schemas = append(schemas, schema)
	}
	if !slices.Contains(schemas, ddl.Records) {
		return nil
	}
	_, err := tx.Exec(ctx, "DROP SCHEMA "+ddl.Records)
	return err
}
