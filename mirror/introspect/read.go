package introspect

import (
	"context"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
)

// Snapshot is how both the catalogue and public rows are read.
var Snapshot = pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}

// PlainText makes the texts of the catalogue the same whatever the session's defaults
// are: with an empty search_path every name is qualified that is not of pg_catalog. And nothing is compiled: the statements are long and
// read little, so that the compiler took nine tenths of the time where there are 1,000 tables.
const PlainText = `SET LOCAL search_path = ''; SET LOCAL DateStyle = 'ISO, MDY'; SET LOCAL IntervalStyle = 'postgres';
	SET LOCAL TimeZone = 'UTC'; SET LOCAL extra_float_digits = 1; SET LOCAL bytea_output = 'hex'; SET LOCAL quote_all_identifiers = off;
	SET LOCAL jit = off`

// Relations are those that a catalogue is asked for.
type Relations struct {
	// Names are those of all relations, views and partitions among them.
	Names []catalog.Name
	// Views are the relations whose queries are read as well.
	Views []catalog.Name
	// Partitions are the relations that shall be partitions, at whatever depth, of another.
	Partitions []Partition
	// Known are relations as they were confirmed: columns, keys and CHECK constraints that have come since are left out, as if
	// they were not there, unless the relation is another one by now.
	Known map[catalog.Name]*catalog.Table
}

// A Partition is a relation with one that is partitioned into it.
type Partition struct{ Name, Of catalog.Name }

// Read returns the schema of the relations. Relations that do not exist are missing in it; it has no
// time zones ([TimeZones]). A server of a version that is not served ends in a [VersionError].
func Read(ctx context.Context, tx pgx.Tx, of Relations) (*catalog.Schema, error) {
	r := newReader(tx, of.Known)
	if err := r.begin(ctx); err != nil {
		return nil, err
	}
	if err := r.relations(ctx, of.Names); err != nil {
		return nil, err
	}
	if err := r.columns(ctx); err != nil {
		return nil, err
	}
	var err error
	if r.schema.Collations, err = collations(ctx, tx, r.oids); err != nil {
		return nil, err
	}
	parts := func(ctx context.Context) error { return below(ctx, r) }
	foreign := func(ctx context.Context) error { return foreignKeys(ctx, r) }
	admitted := func(ctx context.Context) error { return checks(ctx, r) }
	for _, step := range []func(context.Context) error{r.links, parts, r.keys, admitted, r.constraints, r.indexes, r.sorted, foreign} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	if err := r.partitions(ctx, of.Partitions); err != nil {
		return nil, err
	}
	if err := r.views(ctx, of.Views); err != nil {
		return nil, err
	}
	if err := r.reads(ctx); err != nil {
		return nil, err
	}
	r.leaveOut()
	return r.schema, r.fingerprints(ctx)
}
