package work_test

import (
	"context"
	"errors"
	"testing"

	"dpproxy/pgerr"
	"dpproxy/planner/plannertest"
	"dpproxy/planner/work"
)

func TestBudget(t *testing.T) {
	m := work.New(t.Context(), 10_000)
	for range 100 {
		if err := m.Spend(100); err != nil {
			t.Fatal(err)
		}
	}
	err := m.Spend(1)
	var refused *pgerr.Error
	if !errors.As(err, &refused) || refused.Code != pgerr.StatementTooComplex || refused.Hint == "" {
		t.Errorf("%v", err)
	}
	if again := m.Spend(0); !errors.Is(again, err) || !errors.Is(m.Err(), err) || m.Spent() != 10_001 {
		t.Errorf("%v, %v, %d steps", again, m.Err(), m.Spent())
	}
}

// The context is looked at before anything is counted, and again after a number of steps, however many are counted at once.
func TestContext(t *testing.T) {
	for _, steps := range []int{1, 7, 999, 1000, 5000} {
		for looks := range 5 {
			m := work.New(plannertest.EndsAt(t.Context(), looks), 1<<40)
			for m.Spend(steps) == nil {
				if m.Spent() > int64(10_000*(looks+1)) {
					t.Fatalf("%d steps at once: %d steps without a look", steps, m.Spent())
				}
			}
			if err := m.Spend(1); !errors.Is(err, context.Canceled) {
				t.Errorf("%d steps at once: %v", steps, err)
			}
		}
	}
}

func TestNobodyCounts(t *testing.T) {
	var m *work.Meter
	if err := m.Spend(1 << 30); err != nil || m.Err() != nil {
		t.Error(err)
	}
}
