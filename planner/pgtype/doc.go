// Package pgtype has the knowledge of Postgres's types that resolves expressions: OIDs, families,
// types with their modifiers, implicit casts and overload resolution; and how dates, timestamps and
// numbers are counted, rounded and written.
package pgtype
