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
	Bonds
}

// Bonds say which rows belong together: a query can group such rows below a block, or read them for each row of the query around it.
// Groups of any others are a release block. So the answers decide which SELECT is a block, and prove nothing: all that is below a block is
// proved when the block is planned.
type Bonds interface {
	// Grouped says what rows have in common that agree in columns of tables.
	Grouped(by []Origin) Bond
	// Tied reports whether a row belongs to another one if each pair of their columns is equal.
	Tied(pairs [][2]Origin) bool
}

// An Origin is the column of a table from which a value comes.
type Origin struct{ Schema, Table, Column string }

// A Bond is what rows have in common that agree in some columns.
type Bond uint8

const (
	// Apart means that the rows need not belong together.
	Apart Bond = iota
	// Together means that they do.
	Together
	// Named means that they do since one of the columns names to whom they belong. A group that is so named is never shown.
	Named
)

// Strangers are [Bonds] of rows none of which belong together.
type Strangers struct{}

// Grouped implements [Bonds].
func (Strangers) Grouped([]Origin) Bond { return Apart }

// Tied implements [Bonds].
func (Strangers) Tied([][2]Origin) bool { return false }

// A Suggester is [Names] that know queries which suggest bounds.
type Suggester interface {
	// SuggestBounds returns the query that suggests bounds of a column; the schema is empty if the client wrote none.
	SuggestBounds(schema, table, column string) (query string, refusal *pgerr.Error)
}
