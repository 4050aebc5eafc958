// Package splicing holds no code: its test sends random statements, with release blocks
// somewhere in them, to dpproxy and to plain Postgres, and wants the same from both.
// Without noise and with groups that all have rows, a released relation is what the block
// itself would have given, so whatever differs was done by splicing or by the wire.
package splicing
