package proxy

import (
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/mirror"
	"dpproxy/pgerr"
	"dpproxy/planner"
)

// RecheckIndexes looks whether the indexes are there by which plans look up the rows of a
// unit. Statements about a table without its index are planned without looking up, and with
// it again once there is one. It returns the tables whose index is gone and those where one
// is back, each since the last time.
//
// A read makes sure of the indexes that its plan relies on too, in its own transaction, but
// after its charge.
func (d *Data) RecheckIndexes(ctx context.Context, conn *pgx.Conn) (gone, back []catalog.Name, err error) {
	lookups := d.catalog.Lookups()
	missing, err := d.missing(ctx, conn, lookups)
	if err != nil {
		return nil, nil, err
	}
	gone, back = d.noteIndexes(lookups, missing)
	return gone, back, nil
}

// noteIndexes remembers which of the tables have no index on the unit now.
func (d *Data) noteIndexes(lookups []planner.Lookup, missing []catalog.Name) (gone, back []catalog.Name) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range lookups {
		was, is := d.unindexed[l.Table], slices.Contains(missing, l.Table)
		switch {
		case is && !was:
			d.unindexed[l.Table] = true
			gone = append(gone, l.Table)
		case was && !is:
			delete(d.unindexed, l.Table)
			back = append(back, l.Table)
		}
	}
	return gone, back
}

// withoutIndex returns the tables whose index on the unit is gone, sorted.
func (d *Data) withoutIndex() []catalog.Name {
	d.mu.Lock()
	defer d.mu.Unlock()
	var names []catalog.Name
	for n := range d.unindexed {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b catalog.Name) int { return strings.Compare(a.String(), b.String()) })
	return names
}

// columns returns the unit's column of each table by its OID.
func (d *Data) columns(lookups []planner.Lookup) map[uint32]string {
	columns := map[uint32]string{}
	for _, l := range lookups {
		columns[d.catalog.Source(l.Table).OID] = l.Column
	}
	return columns
}

// missing returns those of the tables that have no index on the unit.
func (d *Data) missing(ctx context.Context, conn *pgx.Conn, lookups []planner.Lookup) ([]catalog.Name, error) {
	if len(lookups) == 0 {
		return nil, nil
	}
	rows, err := conn.Query(ctx, mirror.Unindexed(d.columns(lookups)))
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
func indexGone(t catalog.Name) error {
	return pgerr.New(pgerr.SchemaChanged, "the index is gone by which rows of %s were to be looked up", t).
		WithDetail(chargeStays).
		WithHint("From now on statements about the table are planned without it.")
}
