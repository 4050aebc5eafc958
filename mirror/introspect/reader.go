package introspect

import (
	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
)

// A reader collects one schema; its steps run in the order of [Read].
type reader struct {
	tx     pgx.Tx
	schema *catalog.Schema
	byOID  map[uint32]*catalog.Table
	oids   []uint32
	known  map[catalog.Name]*catalog.Table
	// parts are the tables that are partitioned into a relation, by its OID, and leaves the OIDs of the partitions of a table
	// that hold its rows.
	parts  map[uint32][]*catalog.Table
	leaves map[*catalog.Table][]uint32
}

func newReader(tx pgx.Tx, known map[catalog.Name]*catalog.Table) *reader {
	return &reader{
		tx: tx, known: known, byOID: map[uint32]*catalog.Table{},
		parts: map[uint32][]*catalog.Table{}, leaves: map[*catalog.Table][]uint32{},
		schema: &catalog.Schema{Tables: map[catalog.Name]*catalog.Table{}, Types: map[catalog.Name]*catalog.Type{}},
	}
}
