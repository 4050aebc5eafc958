package reader

import (
	"errors"
	"io"
	"net"

	"github.com/jackc/pgx/v5/pgconn"
)

// A FailedError says that a read failed, perhaps because of a value in a row.
type FailedError struct {
	// Class is the class of the SQLSTATE, or "defect" if the reply does not fit the requests.
	Class string
}

// Error implements error.
func (e *FailedError) Error() string { return "reader: the read failed: " + e.Class }

// An InterruptedError says that a read was interrupted, and gave nothing.
type InterruptedError struct {
	// Class is the class of the SQLSTATE, or the whole SQLSTATE if other SQLSTATEs of its class are failures.
	Class string
	// Suspect says that the read itself may be the cause. A server that crashed ends all of its sessions, and does not say which one was
	// the cause.
	Suspect bool
}

// Error implements error.
func (e *InterruptedError) Error() string { return "reader: the read was interrupted: " + e.Class }

// A lostError says that a session ended without a word.
type lostError struct{ error }

// Unwrap returns the error of the connection.
func (e *lostError) Unwrap() error { return e.error }

// lost marks the errors of a connection that was cut. An error that the server sent stays as it is.
func lost(err error) error {
	var said *pgconn.PgError
	var broken *net.OpError
	switch {
	case errors.As(err, &said):
		return said
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed), errors.As(err, &broken):
		return &lostError{err}
	}
	return err
}

// ended reports whether an SQLSTATE says that the server ends the session.
func ended(sqlstate string) bool {
	switch sqlstate {
	case "57P01", "57P02", "57P03", "57P04":
		return true
	}
	return false
}

// failure classifies the error of a read. Only the causes listed here are interruptions: for them a server ends sessions whatever they
// read.
func failure(err error) error {
	var said *pgconn.PgError
	var gone *lostError
	switch {
	case errors.As(err, &gone):
		return &InterruptedError{Class: "08", Suspect: true}
	case !errors.As(err, &said) || len(said.Code) != len("00000"):
		return &FailedError{Class: "defect"}
	}
	class := said.Code[:2]
	switch {
	case said.Code == "57P02":
		// Another process of the server has crashed, perhaps one that this read uses.
		return &InterruptedError{Class: said.Code, Suspect: true}
	case class == "58":
		// A page cannot be read, and the read needs it.
		return &InterruptedError{Class: class, Suspect: true}
	case ended(said.Code), said.Code == "25006":
		return &InterruptedError{Class: said.Code}
	case class == "08", class == "40":
		return &InterruptedError{Class: class}
	}
	return &FailedError{Class: class}
}
