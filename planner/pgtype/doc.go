// Package pgtype has what is fixed of Postgres's built-in types: their OIDs, and how dates,
// timestamps and numbers are counted and rounded.
package pgtype
