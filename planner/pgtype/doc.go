// Package pgtype names the built-in types of Postgres that may meet protected rows.
package pgtype
