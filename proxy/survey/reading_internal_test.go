package survey

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestInterruptions holds that a read which failed for a reason that lies in no row is none that stops surveys of the table.
func TestInterruptions(t *testing.T) {
	for code, want := range map[string]struct{ before, begun bool }{
		// The server, or another session.
		"08006": {true, true}, "40001": {true, true}, "40P01": {true, true}, "57014": {true, true}, "57P01": {true, true},
		// The server before rows are read, and perhaps one of them after that.
		"53200": {true, false}, "53100": {true, false}, "55P03": {true, false},
		// Perhaps a row.
		"22003": {}, "22P02": {}, "XX000": {}, "P0001": {}, "23505": {},
	} {
		err := &pgconn.PgError{Code: code}
		if before, begun := lostConnection(err, false), lostConnection(err, true); before != want.before || begun != want.begun {
			t.Errorf("%s: %t before rows are read, %t after that", code, before, begun)
		}
	}
	for _, begun := range []bool{false, true} {
		if !lostConnection(errors.New("unexpected EOF"), begun) {
			t.Error("a connection that breaks is none")
		}
	}
}
