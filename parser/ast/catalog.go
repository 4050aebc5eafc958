package ast

import (
	"dpproxy/pgerr"
)

// Names tell the parser which relations are protected and which columns
// relations have. A name that it does not know is a relation of the mirror
// (a system catalogue, a temporary table) and public.
type Names interface {
	// Relation returns the relation that a range variable
	// names. Schema is empty when the client did not write one; then ok is true
	// if a relation of that name is known in any schema, a protected one first.
	// Whether the name really means that relation is checked in the session,
	// before anything is charged.
	Relation(schema, name string) (r Relation, ok bool)
}

// A Suggester is [Names] that know queries which suggest bounds.
type Suggester interface {
	// SuggestBounds returns the query that suggests bounds of a column; the schema is empty if the client wrote none.
	SuggestBounds(schema, table, column string) (query string, refusal *pgerr.Error)
}
