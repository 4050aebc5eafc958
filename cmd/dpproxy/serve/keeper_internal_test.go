package serve

import (
	"context"
	"errors"
	"testing"
)

// Log-ins of one analyst take turns, and wait for nobody else's.
func TestTurnsOfLogins(t *testing.T) {
	k := &keeper{}
	end, err := k.turn(t.Context(), "ana")
	if err != nil {
		t.Fatal(err)
	}
	if endOther, err := k.turn(t.Context(), "bob"); err != nil {
		t.Errorf("another analyst: %v", err)
	} else {
		endOther()
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := k.turn(ended, "ana"); !errors.Is(err, context.Canceled) {
		t.Errorf("a second log-in of the analyst: %v", err)
	}
	end()
	if end, err = k.turn(t.Context(), "ana"); err != nil {
		t.Fatalf("the next log-in: %v", err)
	}
	end()
}
