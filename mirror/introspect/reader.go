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
}

func newReader(tx pgx.Tx, known map[catalog.Name]*catalog.Table) *reader {
	return &reader{tx: tx, known: known, byOID: map[uint32]*catalog.Table{}, schema: &catalog.Schema{
		Tables: map[catalog.Name]*catalog.Table{}, Types: map[catalog.Name]*catalog.Type{},
	}}
}
