package advice

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
)

// A Relation is the catalogue's description of how a table is stored.
type Relation struct {
	SQL     string // its name, qualified and quoted
	Kind    byte   // pg_class.relkind
	Columns map[string]Column
	Indexes []Index
	// Leaves are the tables that hold the rows: the table itself, or its partitions.
	Leaves []Leaf
}

// A Column of a relation.
type Column struct {
	SQL     string // its name, quoted
	NotNull bool
	// Narrow says that no value is too long for an index.
	Narrow bool
}

// An Index is a valid B-tree without condition or expressions, in the order of the
// types of its columns.
type Index struct {
	Columns []string // key columns, then those beside them
	Keys    int
	Unique  bool
}

// A Leaf is a table that holds rows.
type Leaf struct {
	SQL         string
	InsertScale float64 // autovacuum_vacuum_insert_scale_factor
	Autovacuum  bool    // not switched off for the table
	Serial      bool    // parallel_workers is 0
}

// unique reports whether an index proves the column unique, NULLs aside.
func (r *Relation) unique(column string) bool {
	return slices.ContainsFunc(r.Indexes, func(i Index) bool { return i.Unique && i.Keys == 1 && i.Columns[0] == column })
}

// covers reports whether an index begins with a column and has all the others.
func (r *Relation) covers(first string, others []string) bool {
	return slices.ContainsFunc(r.Indexes, func(i Index) bool {
		return i.Columns[0] == first && !slices.ContainsFunc(others, func(c string) bool { return !slices.Contains(i.Columns, c) })
	})
}

// Read returns the tables' relations from the catalogue behind conn, in one
// snapshot. A table that does not exist has none.
func Read(ctx context.Context, conn *pgx.Conn, names []catalog.Name) (map[catalog.Name]*Relation, error) {
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, fmt.Errorf("advice: read the catalogue: %w", err)
	}
	defer tx.Rollback(ctx)
	if _, err := tx.Exec(ctx, "SET LOCAL search_path = ''"); err != nil {
		return nil, fmt.Errorf("advice: read the catalogue: %w", err)
	}
	relations := map[catalog.Name]*Relation{}
	for _, n := range names {
		r, err := readRelation(ctx, tx, n)
		if err != nil {
			return nil, fmt.Errorf("advice: read the catalogue of %v: %w", n, err)
		}
		if r != nil {
			relations[n] = r
		}
	}
	return relations, nil
}

// readRelation returns nil for a relation that does not exist.
func readRelation(ctx context.Context, tx pgx.Tx, n catalog.Name) (*Relation, error) {
	r := &Relation{Columns: map[string]Column{}}
	var oid uint32
	rows, err := tx.Query(ctx, `SELECT c.oid, c.relkind, c.oid::regclass::text FROM pg_class c
		JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relname = $2 AND c.relkind IN ('r', 'p')`, n.Schema, n.Name)
	if err != nil {
		return nil, err
	}
	kind := rune(0)
	tag, err := pgx.ForEachRow(rows, []any{&oid, &kind, &r.SQL}, func() error { return nil })
	if err != nil || tag.RowsAffected() == 0 {
		return nil, err
	}
	r.Kind = byte(kind)
	for _, read := range []func(context.Context, pgx.Tx, uint32) error{r.readColumns, r.readIndexes, r.readLeaves} {
		if err := read(ctx, tx, oid); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// readColumns takes a type for narrow if it has a fixed length, is numeric, or is a text
// of at most 100 characters.
func (r *Relation) readColumns(ctx context.Context, tx pgx.Tx, oid uint32) error {
	rows, err := tx.Query(ctx, `SELECT a.attname, quote_ident(a.attname), a.attnotnull,
			a.attlen > 0 OR a.atttypid = 'numeric'::regtype
				OR a.atttypid IN ('varchar'::regtype, 'bpchar'::regtype) AND a.atttypmod BETWEEN 0 AND 104
		FROM pg_attribute a WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped`, oid)
	if err != nil {
		return err
	}
	var name string
	var c Column
	_, err = pgx.ForEachRow(rows, []any{&name, &c.SQL, &c.NotNull, &c.Narrow}, func() error {
		r.Columns[name] = c
		return nil
	})
	return err
}

// readIndexes leaves out those whose first column is ordered otherwise than its type is.
func (r *Relation) readIndexes(ctx context.Context, tx pgx.Tx, oid uint32) error {
	rows, err := tx.Query(ctx, `SELECT i.indisunique AND i.indimmediate, i.indnkeyatts, array_agg(a.attname::text ORDER BY k.n)
		FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
		CROSS JOIN generate_series(0, i.indnatts - 1) AS k(n)
		JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[k.n]
		JOIN pg_attribute f ON f.attrelid = i.indrelid AND f.attnum = i.indkey[0]
		JOIN pg_opclass o ON o.oid = i.indclass[0]
		WHERE i.indrelid = $1 AND i.indisvalid AND i.indisready AND i.indislive AND i.indpred IS NULL AND i.indexprs IS NULL
			AND m.amname = 'btree' AND o.opcdefault AND i.indcollation[0] = f.attcollation
		GROUP BY i.indexrelid, i.indisunique, i.indimmediate, i.indnkeyatts ORDER BY i.indexrelid`, oid)
	if err != nil {
		return err
	}
	var keys int16
	var i Index
	_, err = pgx.ForEachRow(rows, []any{&i.Unique, &keys, &i.Columns}, func() error {
		r.Indexes = append(r.Indexes, Index{Columns: slices.Clone(i.Columns), Keys: int(keys), Unique: i.Unique})
		return nil
	})
	return err
}

func (r *Relation) readLeaves(ctx context.Context, tx pgx.Tx, oid uint32) error {
	rows, err := tx.Query(ctx, `SELECT c.oid::regclass::text,
			coalesce(max(o.option_value) FILTER (WHERE o.option_name = 'autovacuum_vacuum_insert_scale_factor'),
				current_setting('autovacuum_vacuum_insert_scale_factor'))::float8,
			coalesce(bool_and(o.option_value::bool) FILTER (WHERE o.option_name = 'autovacuum_enabled'), true),
			coalesce(bool_or(o.option_value = '0') FILTER (WHERE o.option_name = 'parallel_workers'), false)
		FROM (SELECT relid FROM pg_partition_tree($1) WHERE isleaf UNION SELECT $1 WHERE $2) AS t
		JOIN pg_class c ON c.oid = t.relid AND c.relkind = 'r'
		LEFT JOIN pg_options_to_table(c.reloptions) AS o ON true
		GROUP BY c.oid ORDER BY 1`, oid, r.Kind == 'r')
	if err != nil {
		return err
	}
	r.Leaves, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Leaf])
	return err
}
