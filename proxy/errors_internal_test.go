package proxy

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"dpproxy/accountant"
	"dpproxy/pgerr"
)

// A ledger that is asked on behalf of a client who has given up says so: it is not the ledger
// that fails.
func TestChargeErrorOfCancel(t *testing.T) {
	for err, want := range map[error]pgerr.Code{
		fmt.Errorf("ledger: %w", context.Canceled): pgerr.QueryCanceled,
		context.DeadlineExceeded:                   pgerr.LedgerUnavailable,
		accountant.ErrUnavailable:                  pgerr.LedgerUnavailable,
	} {
		if got, ok := errors.AsType[*pgerr.Error](chargeError(err)); !ok || got.Code != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
}
