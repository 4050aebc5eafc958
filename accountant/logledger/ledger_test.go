package logledger_test

import (
	"testing"

	"dpproxy/accountant"
	"dpproxy/accountant/accountanttest"
	"dpproxy/accountant/logledger"
)

func TestLedger(t *testing.T) {
	accountanttest.TestLedger(t, func(t *testing.T, limits []accountant.Limit) accountant.Ledger {
		return mustOpen(t, t.TempDir(), limits)
	})
}

// mustOpen opens, or creates, the ledger in dir and closes it when the test ends.
func mustOpen(t testing.TB, dir string, limits []accountant.Limit) *logledger.Ledger {
	t.Helper()
	l, err := logledger.Open(t.Context(), dir, limits, logledger.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}
