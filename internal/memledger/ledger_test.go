package memledger_test

import (
	"testing"

	"dpproxy/accountant"
	"dpproxy/accountant/accountanttest"
	"dpproxy/internal/memledger"
)

func open(t *testing.T, limits []accountant.Limit) accountant.Ledger {
	l, err := memledger.New(limits)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func TestLedger(t *testing.T) { accountanttest.TestLedger(t, open) }

func TestNewRefuses(t *testing.T) {
	twice := append(accountanttest.Limits(), accountanttest.Limits()...)
	if _, err := memledger.New(twice); err == nil {
		t.Error("New took two limits for one scope")
	}
}
