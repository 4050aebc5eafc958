package reader

import (
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"
)

// TestFailure holds that only the listed causes are interruptions.
func TestFailure(t *testing.T) {
	said := func(state string) error { return fmt.Errorf("reading: %w", &pgconn.PgError{Code: state}) }
	reset := &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	interrupted := map[string]*InterruptedError{
		"57P01": {Class: "57P01"}, "57P03": {Class: "57P03"}, "57P04": {Class: "57P04"}, "25006": {Class: "25006"},
		"08006": {Class: "08"}, "40001": {Class: "40"}, "40P01": {Class: "40"},
		"57P02": {Class: "57P02", Suspect: true}, "58030": {Class: "58", Suspect: true}, "58P01": {Class: "58", Suspect: true},
	}
	for state, want := range interrupted {
		if d := cmp.Diff(error(want), failure(said(state))); d != "" {
			t.Errorf("%s:\n%s", state, d)
		}
	}
	for name, err := range map[string]error{"EOF": io.EOF, "cut": io.ErrUnexpectedEOF, "closed": net.ErrClosed, "reset": reset} {
		want := error(&InterruptedError{Class: "08", Suspect: true})
		if d := cmp.Diff(want, failure(lost(fmt.Errorf("receive: %w", err)))); d != "" {
			t.Errorf("%s:\n%s", name, d)
		}
	}
	// Any other cause may be due to a row: memory and disk, locks, time, values, defects, and unknown causes.
	for _, state := range []string{
		"53100", "53200", "53300", "55P03", "55000", "57014", "57000", "57P05", "25P03", "25001", "22012", "22P02", "54001", "42883",
		"72000", "XX000", "XX001", "XX002", "P0001", "F0000", "00000", "ZZ999",
	} {
		if d := cmp.Diff(error(&FailedError{Class: state[:2]}), failure(said(state))); d != "" {
			t.Errorf("%s:\n%s", state, d)
		}
	}
	for _, err := range []error{nil, errors.New("what came is no number"), said(""), said("5")} {
		if d := cmp.Diff(error(&FailedError{Class: "defect"}), failure(err)); d != "" {
			t.Errorf("%v:\n%s", err, d)
		}
	}
}
