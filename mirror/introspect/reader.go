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
}

func newReader(tx pgx.Tx) *reader {
	return &reader{tx: tx, byOID: map[uint32]*catalog.Table{}, schema: &catalog.Schema{
		Tables: map[catalog.Name]*catalog.Table{}, Types: map[catalog.Name]*catalog.Type{},
	}}
}
