package pgerr

import "fmt"

// An Error has the fields of an ErrorResponse to a client.
type Error struct {
	Code    Code
	Message string // one line, lower case, no full stop
	Detail  string
	Hint    string // a way out, for the client
	// Position is the byte offset of the refused thing in the text it came in,
	// plus one; zero means none. The wire turns it into Postgres's count of
	// characters.
	Position int
}

// New returns an error with a formatted message.
func New(c Code, format string, args ...any) *Error {
	return &Error{Code: c, Message: fmt.Sprintf(format, args...)}
}

// At returns e with the position set to the byte offset, counted from zero.
func (e *Error) At(offset int) *Error {
	f := *e
	f.Position = offset + 1
	return &f
}

// WithHint returns e with a formatted hint.
func (e *Error) WithHint(format string, args ...any) *Error {
	f := *e
	f.Hint = fmt.Sprintf(format, args...)
	return &f
}

// WithDetail returns e with a formatted detail.
func (e *Error) WithDetail(format string, args ...any) *Error {
	f := *e
	f.Detail = fmt.Sprintf(format, args...)
	return &f
}

// Error writes code and message.
func (e *Error) Error() string { return e.Code.String() + ": " + e.Message }

// A Code is a SQLSTATE. Only the codes declared in this package exist.
type Code struct{ state string }

// String returns the five characters of the SQLSTATE.
func (c Code) String() string { return c.state }
