package wire

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strconv"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgproto3"

	"dpproxy/pgerr"
)

// The causes of a session's end, and of a connection's before there is one.
var (
	// errDone ends a connection that has got all it asked for.
	errDone       = errors.New("wire: nothing more to do")
	errClientGone = errors.New("wire: the client went away")
	errTerminate  = errors.New("wire: the client said good-bye")
	errMirrorLost = fatal(pgerr.AdminShutdown, "terminating connection: the mirror session has ended")
	errOutOfStep  = fatal(pgerr.Internal, "the mirror session is out of step")
	errShutdown   = fatal(pgerr.AdminShutdown, "terminating connection due to administrator command")
)

// raisedCode is the SQLSTATE of dp.raise; its message is a refusal's nonce.
const raisedCode = "PB000"

// A MirrorError is an ErrorResponse of the mirror to a private question. It
// quotes nothing that the client may not read: the mirror has no protected rows.
type MirrorError struct {
	Code    string // SQLSTATE
	Message string
	message []byte // the whole ErrorResponse as the client may see it
}

// Error names the SQLSTATE alone, since the message may quote SQL.
func (e *MirrorError) Error() string { return "wire: the mirror refused: SQLSTATE " + e.Code }

// errorEdit says how an ErrorResponse is changed on its way to the client.
type errorEdit struct {
	shift   int  // characters that the client's text has before the mirror's
	private bool // the text was ours: positions and context mean nothing
	// widened is the text that took the place of the client's; nil for that itself.
	widened *Widened
}

// A refusal is the ErrorResponse that takes the place of that of dp.raise.
type refusal struct {
	nonce   string // that dp.raise is called with
	message []byte
}

func newRefusal(message []byte) *refusal {
	return &refusal{nonce: rand.Text(), message: message}
}

func (f *refusal) sql() string { return "SELECT dp.raise('" + f.nonce + "')" }

func (f *refusal) replaces(e mirrorReport) bool { return e.code == raisedCode && e.message == f.nonce }

// mirrorReport is an ErrorResponse or NoticeResponse with the fields that are looked at.
type mirrorReport struct {
	severity, code, message string
	routine                 string // of the server's source that made it
	raw                     []byte
}

func readReport(raw []byte) mirrorReport {
	e := mirrorReport{raw: raw}
	eachField(raw, func(code byte, value string) {
		switch code {
		case 'V':
			e.severity = value
		case 'C':
			e.code = value
		case 'M':
			e.message = value
		case 'R':
			e.routine = value
		}
	})
	return e
}

// ends reports whether the mirror closes the session after this error.
func (e mirrorReport) ends() bool { return e.severity == "FATAL" || e.severity == "PANIC" }

// logged reports whether a notice is for the server's log, and not raised by a statement.
func (e mirrorReport) logged() bool {
	return (e.severity == "DEBUG" || e.severity == "LOG") && e.routine != "exec_stmt_raise"
}

func eachField(raw []byte, f func(code byte, value string)) {
	b := raw[headerBytes:]
	for len(b) > 1 && b[0] != 0 {
		value, rest, ok := cstring(b[1:])
		if !ok {
			return
		}
		f(b[0], value)
		b = rest
	}
}

// edit returns a copy of an ErrorResponse as the client may see it.
func (d errorEdit) edit(raw []byte) []byte {
	if d == (errorEdit{}) {
		return bytes.Clone(raw)
	}
	out := append(make([]byte, 0, len(raw)+8), 'E', 0, 0, 0, 0)
	eachField(raw, func(code byte, value string) {
		switch {
		case d.private && bytes.IndexByte([]byte("PpqW"), code) >= 0:
			return
		case code == 'P':
			if n, err := strconv.Atoi(value); err == nil {
				n += d.shift
				if d.widened != nil {
					n = d.widened.back(n)
				}
				value = strconv.Itoa(n)
			}
		}
		out = append(append(append(out, code), value...), 0)
	})
	out = append(out, 0)
	return finishMessage(out)
}

// withHint returns an ErrorResponse with another hint.
func withHint(raw []byte, hint string) []byte {
	out := append(make([]byte, 0, len(raw)+len(hint)+2), raw[0], 0, 0, 0, 0)
	eachField(raw, func(code byte, value string) {
		if code != 'H' {
			out = append(append(append(out, code), value...), 0)
		}
	})
	out = append(append(append(append(out, 'H'), hint...), 0), 0)
	return finishMessage(out)
}

// finishMessage writes the length of a message into its header.
func finishMessage(m []byte) []byte {
	n := len(m) - 1
	m[1], m[2], m[3], m[4] = byte(n>>24), byte(n>>16), byte(n>>8), byte(n)
	return m
}

// encodeError writes e for the client. Text is the client's whole message and
// offset the place in it that e's position counts from, in bytes.
func encodeError(e *pgerr.Error, text string, offset int) []byte {
	m := report("ERROR", e)
	if e.Position > 0 {
		m.Position = int32(characters(text, offset+e.Position-1) + 1)
	}
	return encode(nil, m)
}

func encodeFatal(e *pgerr.Error) []byte { return encode(nil, report("FATAL", e)) }

func report(severity string, e *pgerr.Error) *pgproto3.ErrorResponse {
	return &pgproto3.ErrorResponse{
		Severity: severity, SeverityUnlocalized: severity,
		Code: e.Code.String(), Message: e.Message, Detail: e.Detail, Hint: e.Hint,
	}
}

// characters counts the characters in the first n bytes of text.
func characters(text string, n int) int {
	return utf8.RuneCountInString(text[:max(0, min(n, len(text)))])
}

// A fatalError ends the session; the client is told why.
type fatalError struct{ told *pgerr.Error }

func fatal(c pgerr.Code, format string, args ...any) error {
	return &fatalError{pgerr.New(c, format, args...)}
}

// Error is the error that the client reads.
func (e *fatalError) Error() string { return e.told.Error() }

// logDefect logs where a panic came from, but not its value, which may quote
// a client's text, nor the arguments of the calls.
func logDefect(log *slog.Logger, where string) {
	const deepest = 32
	callers := make([]uintptr, deepest)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	var stack []string
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		stack = append(stack, fmt.Sprintf("%s:%d", f.Function, f.Line))
	}
	log.Error("a connection was ended by a defect", "where", where, "stack", stack)
}

func internalError() *pgerr.Error { return pgerr.New(pgerr.Internal, "internal error") }
