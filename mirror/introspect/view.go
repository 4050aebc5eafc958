package introspect

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
)

// partitions notes which of the partitions are partitions of the table that they shall be of.
func (r *reader) partitions(ctx context.Context, listed []Partition) error {
	for _, p := range listed {
		child, parent := r.schema.Tables[p.Name], r.schema.Tables[p.Of]
		if child == nil || parent == nil {
			continue
		}
		var is bool
		err := r.tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_partition_ancestors($1) AS a WHERE a.relid = $2 AND $1 <> $2)",
			child.OID, parent.OID).Scan(&is)
		if err != nil {
			return err
		}
		if is {
			child.PartitionOf = parent.Name
		}
	}
	return nil
}

// views reads the queries of the views.
func (r *reader) views(ctx context.Context, names []catalog.Name) error {
	for _, n := range names {
		t := r.schema.Tables[n]
		if t == nil || t.Kind != 'v' {
			continue
		}
		var definition string
		if err := r.tx.QueryRow(ctx, "SELECT pg_get_viewdef($1::oid)", t.OID).Scan(&definition); err != nil {
			return err
		}
		t.View = Query(definition)
	}
	return nil
}

// Query is the query that pg_get_viewdef returns, without space around it and the semicolon.
func Query(definition string) string { return strings.TrimSuffix(strings.TrimSpace(definition), ";") }

// reads lists the relations that the queries of views name. Postgres keeps no record of
// its own catalogues there.
func (r *reader) reads(ctx context.Context) error {
	var views []uint32
	for _, t := range r.byOID {
		if t.View != "" {
			views = append(views, t.OID)
		}
	}
	rows, err := r.tx.Query(ctx, `
		SELECT DISTINCT w.ev_class, n.nspname, c.relname FROM pg_rewrite w
		JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_class'::regclass
		JOIN pg_class c ON c.oid = d.refobjid JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE w.ev_class = ANY ($1) AND c.oid <> w.ev_class ORDER BY 1, 2, 3`, views)
	if err != nil {
		return err
	}
	var view uint32
	var read catalog.Name
	_, err = pgx.ForEachRow(rows, []any{&view, &read.Schema, &read.Name}, func() error {
		r.byOID[view].Reads = append(r.byOID[view].Reads, read)
		return nil
	})
	return err
}
