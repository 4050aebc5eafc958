// Package pgerr is the error a client reads: a SQLSTATE as a type, a message,
// and where possible the position in the client's text, a detail and a hint.
//
// A [Code] is declared in codes.go, which is also the source of
// docs/errors.md. Nothing here ever holds text that came from the database
// behind the proxy.
package pgerr
