package redisledger_test

import (
	"slices"
	"testing"

	"dpproxy/accountant"
	"dpproxy/accountant/accountanttest"
	"dpproxy/accountant/redisledger"
)

// TestForkOfPrepaid loses the charge that has used up a prepaid amount, so that another proxy uses it again: the
// repair charges it a second time, as two draws were made.
func TestForkOfPrepaid(t *testing.T) {
	s := startRedis(t)
	o := s.options(t)
	first := initAndOpen(t, o, accountanttest.Limits())
	asked := ofUnit(7)
	asked.Question = "q"
	id, err := first.Charge(t.Context(), asked)
	if err == nil {
		err = first.Unanswered(t.Context(), id)
	}
	if err != nil {
		t.Fatal(err)
	}
	other := another(t, o)
	second := open(t, other, accountanttest.Limits())
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	old := s.save(t, o)
	again := func(l *redisledger.Ledger) {
		t.Helper()
		paid, err := l.Prepaid(t.Context(), "q")
		if err == nil {
			_, err = l.Charge(t.Context(), accountant.Charge{Analyst: "ann", Question: "q", Prepaid: paid})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	again(first)
	s.restore(t, o, old)
	second = open(t, other, accountanttest.Limits())
	again(second)
	wantDiverged(t, first, o)
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	rep, err := redisledger.RepairFrom(t.Context(), o, []string{o.Dir, other.Dir}, "carol", "failover")
	if err != nil || !slices.Equal(rep.Restored, ofUnit(7).Debits) {
		t.Fatalf("%+v, %v", rep, err)
	}
}
