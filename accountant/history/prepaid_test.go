package history_test

import (
	"fmt"
	"testing"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
)

// asked is a charge for a question.
func asked(t *testing.T, question string, pico int64) history.ChargeEntry {
	t.Helper()
	e := chargeAnn(pure(t, pico))
	e.Question = question
	return e
}

// again is a charge that what is prepaid pays for.
func again(s *history.State, question string) history.ChargeEntry {
	return history.ChargeEntry{Analyst: "ann", Question: question, Prepaid: s.Prepaid(question)}
}

// TestPrepaidOutlives holds that a prepaid amount outlives the run that paid, and is used once.
func TestPrepaidOutlives(t *testing.T) {
	s := newState(t)
	mustApply(t, s, asked(t, "q", 7))
	mustApply(t, s, history.UnansweredEntry{Charge: accountant.ChargeID(s.Seq())})
	if err := s.Apply("", history.BeginEntry{Boot: "next", Sole: true}); err != nil {
		t.Fatal(err)
	}
	s, err := history.Restore(snapshot(t, s))
	if err != nil {
		t.Fatal(err)
	}
	use := again(s, "q")
	if err := s.Apply("next", use); err != nil {
		t.Fatal(err)
	}
	if err := s.Apply("next", use); err == nil {
		t.Error("what was paid once is used twice")
	}
	b, err := s.Balances(ann)
	if err != nil || b[0].Spent != pure(t, 7) {
		t.Errorf("spent %v, %v", b, err)
	}
}

// TestUnansweredByItsRun holds that a charge of a run that has ended is not left unanswered: whether something was
// drawn for it is not known.
func TestUnansweredByItsRun(t *testing.T) {
	s := newState(t)
	mustApply(t, s, asked(t, "q", 7))
	id := accountant.ChargeID(s.Seq())
	if err := s.Apply("", history.BeginEntry{Boot: "next", Sole: true}); err != nil {
		t.Fatal(err)
	}
	if err := s.Apply("next", history.UnansweredEntry{Charge: id}); err == nil {
		t.Error("another run's charge is left unanswered")
	}
}

// TestPrepaidOfFrozen holds that a frozen budget pays for nothing more, also not by an amount that it has paid.
func TestPrepaidOfFrozen(t *testing.T) {
	s := newState(t)
	mustApply(t, s, asked(t, "q", 7))
	mustApply(t, s, history.UnansweredEntry{Charge: accountant.ChargeID(s.Seq())})
	freeze := history.FreezeEntry{Scope: ann, Frozen: true, Who: "carol", Reason: "why"}
	mustApply(t, s, freeze)
	wantRefused(t, s, again(s, "q"), accountant.ErrFrozen)
	freeze.Frozen = false
	mustApply(t, s, freeze)
	mustApply(t, s, again(s, "q"))
}

// TestPrepaidIsNotVoided holds that the amount that a charge has paid before is never given back.
func TestPrepaidIsNotVoided(t *testing.T) {
	s := newState(t)
	mustApply(t, s, asked(t, "q", 7))
	wantRefused(t, s, history.VoidEntry{Charge: accountant.ChargeID(s.Seq())}, history.ErrNotVoidable)
}

// TestPrepaidIsBounded forgets the oldest of very many.
func TestPrepaidIsBounded(t *testing.T) {
	s := newState(t)
	const most = 1 << 12
	for i := range most + 1 {
		mustApply(t, s, asked(t, fmt.Sprint("q", i), 0))
		mustApply(t, s, history.UnansweredEntry{Charge: accountant.ChargeID(s.Seq())})
	}
	if p := s.Prepaid("q0"); p.Charge != 0 {
		t.Errorf("the oldest is still prepaid: %v", p)
	}
	if p := s.Prepaid("q1"); p.Charge == 0 {
		t.Error("one that is not the oldest is forgotten")
	}
}
