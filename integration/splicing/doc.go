// Package splicing holds no code: its test sends random statements, with release blocks
// somewhere in them, to dpproxy and to plain Postgres, and wants the same from both.
// Without noise and with groups that all have rows, a released relation has the rows of the block
// itself, so that every difference is a fault of splicing or of the wire.
package splicing
