package survey

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestInterruptions holds that a read which failed for a reason that lies in no row is none that stops surveys of the table.
func TestInterruptions(t *testing.T) {
	for code, want := range map[string]bool{
		// The server, or another session.
		"08006": true, "40001": true, "40P01": true, "53200": true, "55P03": true, "57014": true, "57P01": true,
		// Perhaps a row.
		"22003": false, "22P02": false, "XX000": false, "P0001": false, "23505": false,
	} {
		if got := lostConnection(&pgconn.PgError{Code: code}); got != want {
			t.Errorf("%s: %t", code, got)
		}
	}
	if !lostConnection(errors.New("unexpected EOF")) {
		t.Error("a connection that breaks is none")
	}
}
