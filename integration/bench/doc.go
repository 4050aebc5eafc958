// Package bench measures: times beside the times of plain Postgres, and the errors of answers beside
// the truth. Most of it waits to be asked for.
package bench
