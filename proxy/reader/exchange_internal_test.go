package reader

import (
	"errors"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestLost holds that the error is the server's last word, if there is one.
func TestLost(t *testing.T) {
	said := &pgconn.PgError{Code: "57P01"}
	if err := lost(said); !errors.Is(err, said) {
		t.Errorf("a session that was terminated: %v", err)
	}
	var gone *lostError
	if err := lost(io.EOF); !errors.As(err, &gone) || !errors.Is(err, io.EOF) {
		t.Errorf("a session that was cut: %v", err)
	}
	other := errors.New("no message of the protocol")
	if err := lost(other); errors.As(err, &gone) || !errors.Is(err, other) {
		t.Errorf("a session that does not follow the protocol: %v", err)
	}
}
