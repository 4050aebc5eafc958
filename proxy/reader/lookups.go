package reader

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/mirror/introspect"
	"dpproxy/pgerr"
	"dpproxy/planner/policy"
)

// RecheckIndexes looks whether the indexes are there by which plans look up the rows of a
// unit. Statements about a table without its index are planned without looking up, and with
// it again once there is one. It returns the tables whose index is gone and the tables where one
// is back, each since the last time.
//
// A read makes sure of the indexes that its plan relies on too, in its own transaction.
func (d *Data) RecheckIndexes(ctx context.Context, conn *pgx.Conn) (gone, back []catalog.Name, err error) {
	look, err := d.lookAtIndexes(ctx, conn, d.catalog.Lookups())
	return look.gone, look.back, err
}

// An indexLook is the outcome of one look at the indexes on the unit.
type indexLook struct {
	missing    []catalog.Name // tables without one
	gone, back []catalog.Name // tables of which that was not known
}

// lookAtIndexes finds out which of the tables have no index on the unit, and remembers it.
func (d *Data) lookAtIndexes(ctx context.Context, conn *pgx.Conn, lookups []policy.Lookup) (look indexLook, err error) {
	begun := d.beginLook()
	if look.missing, err = d.missing(ctx, conn, lookups); err != nil {
		return indexLook{}, err
	}
	look.gone, look.back = d.noteIndexes(begun, lookups, look.missing)
	return look, nil
}

// beginLook returns the number of a look at indexes that begins now.
func (d *Data) beginLook() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.looks++
	return d.looks
}

// noteIndexes remembers which of the tables have no index on the unit, as a look has found
// it. One that began before another noted that an index is gone may have seen it still, and
// does not bring it back.
func (d *Data) noteIndexes(begun int, lookups []policy.Lookup, missing []catalog.Name) (gone, back []catalog.Name) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range lookups {
		noted, was := d.unindexed[l.Table]
		switch is := slices.Contains(missing, l.Table); {
		case is:
			d.unindexed[l.Table] = d.looks
			if !was {
				gone = append(gone, l.Table)
			}
		case was && begun > noted:
			delete(d.unindexed, l.Table)
			back = append(back, l.Table)
		}
	}
	return gone, back
}

// WithoutIndex returns the tables whose index on the unit is gone, sorted.
func (d *Data) WithoutIndex() []catalog.Name {
	d.mu.Lock()
	defer d.mu.Unlock()
	var names []catalog.Name
	for n := range d.unindexed {
		names = append(names, n)
	}
	slices.SortFunc(names, catalog.Name.Compare)
	return names
}

// columns returns the unit's column of each table by its OID.
func (d *Data) columns(lookups []policy.Lookup) map[uint32]string {
	columns := map[uint32]string{}
	for _, l := range lookups {
		columns[d.catalog.Source(l.Table).OID] = l.Column
	}
	return columns
}

// missing returns the tables that have no index on the unit.
func (d *Data) missing(ctx context.Context, conn *pgx.Conn, lookups []policy.Lookup) ([]catalog.Name, error) {
	if len(lookups) == 0 {
		return nil, nil
	}
	rows, err := conn.Query(ctx, introspect.Unindexed(d.columns(lookups)))
	if err != nil {
		return nil, err
	}
	oids, err := pgx.CollectRows(rows, pgx.RowTo[uint32])
	var names []catalog.Name
	for _, l := range lookups {
		if slices.Contains(oids, d.catalog.Source(l.Table).OID) {
			names = append(names, l.Table)
		}
	}
	return names, err
}

// indexGone refuses a statement whose plan relies on an index that is gone. Without it, each
// unit with too many rows would cost a scan of the table, which the time would tell.
func indexGone(called string) error {
	return pgerr.New(pgerr.SchemaChanged, "the index is gone by which rows of %s were to be looked up", called).
		WithHint("From now on statements about the table are planned without it.")
}
