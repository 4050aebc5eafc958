package redisledger_test

import (
	"errors"
	"testing"
	"time"

	"dpproxy/accountant"
	"dpproxy/accountant/accountanttest"
	"dpproxy/accountant/redisledger"
)

// TestSettingsChange takes a required setting away from a Redis that is in use: nothing is acknowledged until it is back, and
// the charge that landed meanwhile is prepaid for its question.
func TestSettingsChange(t *testing.T) {
	s := startRedis(t)
	o := s.options(t)
	o.Patience = 1500 * time.Millisecond
	l := initAndOpen(t, o, accountanttest.Limits())
	set := func(value string) {
		t.Helper()
		if err := s.Client.ConfigSet(t.Context(), "appendfsync", value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	asked := ofUnit(7)
	asked.Question = "q"
	if _, err := l.Charge(t.Context(), ofUnit(1)); err != nil {
		t.Fatal(err)
	}
	set("everysec")
	for range 2 {
		var bad *redisledger.DurabilityError
		if _, err := l.Charge(t.Context(), asked); !errors.Is(err, accountant.ErrUnavailable) || !errors.As(err, &bad) {
			t.Errorf("a charge on a server that syncs each second: %v", err)
		}
	}
	set("always")
	paid, err := l.Prepaid(t.Context(), "q")
	if err != nil {
		t.Fatal(err)
	}
	again := accountant.Charge{Analyst: "ann", Question: "q", Prepaid: paid}
	if _, err := l.Charge(t.Context(), again); err != nil {
		t.Errorf("the question asked again: %v", err)
	}
	if got := accountanttest.Spent(t, l)[0]; got != accountanttest.ZCDP(8, 0) {
		t.Errorf("%v is spent for two answers, of 1 and 7", got)
	}
}
