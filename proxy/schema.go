package proxy

import (
	"context"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/mirror"
)

// TurnOff refuses a table, before anything is charged, until dpproxy is started anew.
func (d *Data) TurnOff(t catalog.Name) { d.turnOff(t) }

// Recheck compares the schema of every table of the policy with the one that the policy
// was checked against, and turns off the tables that changed. It returns those that it
// turned off now. A read compares them too, in its own snapshot, but after its charge.
//
// It takes a connection of the caller's, so that no statement waits for it.
func (d *Data) Recheck(ctx context.Context, conn *pgx.Conn) ([]catalog.Name, error) {
	tables := append(d.catalog.Protected(), d.catalog.Public()...)
	oids := make([]uint32, len(tables))
	for i, t := range tables {
		oids[i] = d.catalog.Source(t).OID
	}
	rows, err := conn.Query(ctx, mirror.FingerprintOf(oids))
	if err != nil {
		return nil, err
	}
	have := map[uint32]string{}
	var oid uint32
	var digest string
	if _, err := pgx.ForEachRow(rows, []any{&oid, &digest}, func() error {
		have[oid] = digest
		return nil
	}); err != nil {
		return nil, err
	}
	var changed []catalog.Name
	for i, t := range tables {
		if have[oids[i]] == d.catalog.Source(t).Fingerprint {
			continue
		}
		if _, off := d.turnedOff([]catalog.Name{t}); !off {
			changed = append(changed, t)
		}
		d.turnOff(t)
	}
	return changed, nil
}
