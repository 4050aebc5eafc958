package history_test

import (
	"errors"
	"slices"
	"testing"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
	"dpproxy/dp"
)

var (
	unit = accountant.Scope{Kind: accountant.UnitScope, Name: "patient"}
	ann  = accountant.Scope{Kind: accountant.AnalystScope, Name: "ann"}
)

func pure(t *testing.T, pico int64) dp.Loss { return newLoss(t, dp.PureDP, pico, 0) }

func zcdp(t *testing.T, pico, atto int64) dp.Loss { return newLoss(t, dp.ZCDP, pico, atto) }

func newLoss(t *testing.T, m dp.Measure, pico, atto int64) dp.Loss {
	t.Helper()
	l, err := dp.NewLoss(m, pico, atto)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// newState returns a state in which the unit has ρ=100 δ=10 and ann ε=50.
func newState(t *testing.T) *history.State {
	t.Helper()
	s := history.NewState()
	mustApply(t, s, history.BeginEntry{Boot: first, Sole: true})
	mustApply(t, s, history.LimitsEntry{{Scope: unit, Loss: zcdp(t, 100, 10)}, {Scope: ann, Loss: pure(t, 50)}})
	return s
}

// first is the run of newState.
const first = "first"

// by returns the run that makes an entry: administrators make theirs without.
func by(e history.Entry) string {
	switch e.(type) {
	case history.BeginEntry, history.RaiseEntry, history.LowerEntry, history.FreezeEntry, history.FenceEntry, history.NoteEntry,
		history.ClearEntry, history.RestoreEntry, history.EpochEntry, history.FormatEntry, history.RenameEntry, history.RetireEntry:
		return ""
	case history.LimitsEntry, history.ChargeEntry, history.VoidEntry, history.HoldEntry, history.StepEntry,
		history.SettleEntry, history.UnansweredEntry, history.IncidentEntry, history.CheckpointEntry,
		history.SurveyEntry, history.PolicyEntry:
	}
	return first
}

func mustApply(t *testing.T, s *history.State, e history.Entry) {
	t.Helper()
	before := s.Seq()
	if err := s.Apply(by(e), e); err != nil {
		t.Fatalf("Apply(%+v): %v", e, err)
	}
	if s.Seq() != before+1 {
		t.Fatalf("Apply went from %d to %d", before, s.Seq())
	}
}

// wantRefused expects an entry to be refused and to change nothing.
func wantRefused(t *testing.T, s *history.State, e history.Entry, target error) {
	t.Helper()
	seq, balances, incidents := s.Seq(), allBalances(t, s), s.Incidents()
	err := s.Apply(by(e), e)
	if err == nil || target != nil && !errors.Is(err, target) {
		t.Errorf("Apply(%+v): %v, want %v", e, err, target)
	}
	if s.Seq() != seq || !slices.Equal(balances, allBalances(t, s)) || !slices.Equal(incidents, s.Incidents()) {
		t.Errorf("the refused %+v changed the state", e)
	}
}

func allBalances(t *testing.T, s *history.State) []accountant.Balance {
	t.Helper()
	b, err := s.Balances()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func chargeAnn(l dp.Loss) history.ChargeEntry {
	return history.ChargeEntry{Analyst: "ann", Debits: []accountant.Debit{{Scope: ann, Loss: l}}}
}

func TestStateLimits(t *testing.T) {
	s := newState(t)
	limits := func(l ...accountant.Limit) history.LimitsEntry { return l }
	other := accountant.Scope{Kind: accountant.TableScope, Name: "public.labs"}
	fine := accountant.Limit{Scope: other, Loss: zcdp(t, 1, 1)}
	for _, bad := range []struct {
		name  string
		limit accountant.Limit
		err   error
	}{
		{"raised", accountant.Limit{Scope: ann, Loss: pure(t, 51)}, accountant.ErrLimitRaise},
		{"lower rho, higher delta", accountant.Limit{Scope: unit, Loss: zcdp(t, 1, 11)}, accountant.ErrLimitRaise},
		{"another measure", accountant.Limit{Scope: ann, Loss: zcdp(t, 1, 0)}, dp.ErrMeasure},
		{"no measure", accountant.Limit{Scope: accountant.Scope{Kind: "unit", Name: "x"}}, dp.ErrMeasure},
		{"no name", accountant.Limit{Scope: accountant.Scope{Kind: "unit"}, Loss: pure(t, 1)}, nil},
		{"no kind", accountant.Limit{Scope: accountant.Scope{Name: "x"}, Loss: pure(t, 1)}, nil},
		{"not UTF-8", accountant.Limit{Scope: accountant.Scope{Kind: "unit", Name: "\xfe"}, Loss: pure(t, 1)}, nil},
		{"twice", fine, nil},
	} {
		t.Run(bad.name, func(t *testing.T) { wantRefused(t, s, limits(fine, bad.limit), bad.err) })
	}
	mustApply(t, s, limits(fine, accountant.Limit{Scope: ann, Loss: pure(t, 50)}, accountant.Limit{Scope: unit, Loss: zcdp(t, 90, 10)}))
	want := []accountant.Balance{
		{Scope: ann, Limit: pure(t, 50), Spent: pure(t, 0), Held: pure(t, 0)},
		{Scope: other, Limit: zcdp(t, 1, 1), Spent: zcdp(t, 0, 0), Held: zcdp(t, 0, 0)},
		{Scope: unit, Limit: zcdp(t, 90, 10), Spent: zcdp(t, 0, 0), Held: zcdp(t, 0, 0)},
	}
	if got := allBalances(t, s); !slices.Equal(got, want) {
		t.Errorf("balances %v, want %v", got, want)
	}
}

func TestStateRaise(t *testing.T) {
	s := newState(t)
	raise := func(scope accountant.Scope, l dp.Loss) history.RaiseEntry {
		return history.RaiseEntry{Limit: accountant.Limit{Scope: scope, Loss: l}, Who: "carol", Reason: "study"}
	}
	wantRefused(t, s, raise(ann, pure(t, 50)), nil)
	wantRefused(t, s, raise(ann, pure(t, 49)), nil)
	wantRefused(t, s, raise(unit, zcdp(t, 101, 9)), nil)
	wantRefused(t, s, raise(ann, zcdp(t, 60, 0)), nil)
	wantRefused(t, s, raise(ann, dp.Loss{}), nil)
	wantRefused(t, s, raise(accountant.Scope{Kind: "unit", Name: "x"}, pure(t, 1)), accountant.ErrUnknownScope)
	anonymous := raise(ann, pure(t, 60))
	anonymous.Who = ""
	wantRefused(t, s, anonymous, nil)
	unexplained := raise(ann, pure(t, 60))
	unexplained.Reason = ""
	wantRefused(t, s, unexplained, nil)

	mustApply(t, s, chargeAnn(pure(t, 50)))
	wantRefused(t, s, chargeAnn(pure(t, 1)), nil)
	mustApply(t, s, raise(ann, pure(t, 51)))
	mustApply(t, s, chargeAnn(pure(t, 1)))
	mustApply(t, s, raise(unit, zcdp(t, 100, 11)))
}

// TestStateRuns keeps runs apart, and ends them.
func TestStateRuns(t *testing.T) {
	s := newState(t)
	mustApply(t, s, chargeAnn(pure(t, 7)))
	old := accountant.ChargeID(s.Seq())
	mustApply(t, s, history.BeginEntry{Boot: "second"})
	apply := func(run string, e history.Entry, want error) {
		t.Helper()
		if err := s.Apply(run, e); !errors.Is(err, want) {
			t.Errorf("%s: %+v: %v, want %v", run, e, err, want)
		}
	}
	apply("second", history.VoidEntry{Charge: old}, history.ErrNotVoidable)
	apply("second", chargeAnn(pure(t, 9)), nil)
	apply(first, history.VoidEntry{Charge: accountant.ChargeID(s.Seq())}, history.ErrNotVoidable)
	apply("second", history.VoidEntry{Charge: accountant.ChargeID(s.Seq())}, nil)
	apply("third", chargeAnn(pure(t, 1)), accountant.ErrFenced)
	wantRefused(t, s, history.BeginEntry{Boot: "\xff"}, nil)
	wantRefused(t, s, history.BeginEntry{Boot: "second"}, nil)
	wantRefused(t, s, history.BeginEntry{}, nil)
	wantRefused(t, s, history.FenceEntry{Boot: "second"}, nil)
	wantRefused(t, s, history.FenceEntry{Boot: "third", Who: "carol", Reason: "why"}, nil)
	mustApply(t, s, history.FenceEntry{Boot: "second", Who: "carol", Reason: "it hangs"})
	apply("second", chargeAnn(pure(t, 1)), accountant.ErrFenced)
	apply(first, chargeAnn(pure(t, 1)), nil)
	mustApply(t, s, history.BeginEntry{Boot: "fourth", Sole: true})
	apply(first, chargeAnn(pure(t, 1)), accountant.ErrFenced)
	if got := s.Runs(); !slices.Equal(got, []string{"fourth"}) {
		t.Errorf("runs %v", got)
	}
	if got := allBalances(t, s)[0].Spent; got != pure(t, 8) {
		t.Errorf("spent %v, want 8 picos", got)
	}
	if err := s.Apply("", chargeAnn(pure(t, 1))); err == nil {
		t.Error("a charge without a run was taken")
	}
}

func held(t *testing.T, s *history.State, want, spent dp.Loss) {
	t.Helper()
	if b := allBalances(t, s)[0]; b.Held != want || b.Spent != spent {
		t.Errorf("held %v and spent %v, want %v and %v", b.Held, b.Spent, want, spent)
	}
}

// TestStateHolds spends a hold step by step and gives the rest back.
func TestStateHolds(t *testing.T) {
	s := newState(t)
	step := func(id accountant.ChargeID, pico int64) history.StepEntry {
		return history.StepEntry{Hold: id, Events: []string{"e"}, Debits: []accountant.Debit{{Scope: ann, Loss: pure(t, pico)}}}
	}
	mustApply(t, s, history.HoldEntry(chargeAnn(pure(t, 30))))
	id := accountant.ChargeID(s.Seq())
	wantRefused(t, s, chargeAnn(pure(t, 21)), nil)
	wantRefused(t, s, history.HoldEntry(chargeAnn(pure(t, 21))), nil)
	mustApply(t, s, chargeAnn(pure(t, 20)))
	mustApply(t, s, step(id, 10))
	held(t, s, pure(t, 30), pure(t, 20)) // how much of a hold is spent shows in the end
	wantRefused(t, s, step(id, 21), accountant.ErrNotHeld)
	wantRefused(t, s, step(id+1, 1), accountant.ErrNotHeld)
	wantRefused(t, s, history.StepEntry{Hold: id}, nil)
	wantRefused(t, s, history.StepEntry{Hold: id, Debits: []accountant.Debit{{Scope: unit, Loss: zcdp(t, 1, 0)}}}, accountant.ErrNotHeld)
	wantRefused(t, s, history.VoidEntry{Charge: id}, history.ErrNotVoidable)
	mustApply(t, s, history.LimitsEntry{{Scope: ann, Loss: pure(t, 5)}})
	mustApply(t, s, step(id, 20)) // the hold's admission counts
	held(t, s, pure(t, 30), pure(t, 20))
	mustApply(t, s, history.SettleEntry{Hold: id})
	held(t, s, pure(t, 0), pure(t, 50))
	wantRefused(t, s, history.SettleEntry{Hold: id}, accountant.ErrNotHeld)
	wantRefused(t, s, step(id, 0), accountant.ErrNotHeld)
}

// TestStateHoldsOfEndedRuns gives back the unspent holds of a run that ended.
func TestStateHoldsOfEndedRuns(t *testing.T) {
	for name, end := range map[string]history.Entry{
		"begin": history.BeginEntry{Boot: "second", Sole: true},
		"fence": history.FenceEntry{Who: "carol", Reason: "why"},
	} {
		s := newState(t)
		mustApply(t, s, history.HoldEntry(chargeAnn(pure(t, 30))))
		id := accountant.ChargeID(s.Seq())
		mustApply(t, s, history.StepEntry{Hold: id, Debits: []accountant.Debit{{Scope: ann, Loss: pure(t, 10)}}})
		mustApply(t, s, end)
		held(t, s, pure(t, 0), pure(t, 10))
		if err := s.Apply(first, history.SettleEntry{Hold: id}); !errors.Is(err, accountant.ErrFenced) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestStateIncidents refuses the shape for all, and the analyst in the end.
func TestStateIncidents(t *testing.T) {
	s := newState(t)
	by := func(analyst, shape string) history.ChargeEntry {
		c := chargeAnn(pure(t, 1))
		c.Analyst, c.Shape = analyst, shape
		return c
	}
	mustApply(t, s, by("ann", "s"))
	id := accountant.ChargeID(s.Seq())
	mustApply(t, s, history.IncidentEntry{Charge: id, Analyst: "ann", Shape: "s"})
	wantRefused(t, s, by("bob", "s"), accountant.ErrQuarantined)
	wantRefused(t, s, history.HoldEntry(by("bob", "s")), accountant.ErrQuarantined)
	mustApply(t, s, by("ann", "other"))
	for range accountant.MaxIncidents - 1 {
		mustApply(t, s, history.IncidentEntry{Charge: id, Analyst: "ann", Shape: "s"})
	}
	wantRefused(t, s, by("ann", "other"), accountant.ErrSuspended)
	mustApply(t, s, by("bob", "other"))
	mustApply(t, s, history.ClearEntry{Analyst: "ann", Reason: "why"})
	mustApply(t, s, by("ann", "s"))
}

func TestStateDecisions(t *testing.T) {
	s := newState(t)
	limit := func(pico int64) accountant.Limit { return accountant.Limit{Scope: ann, Loss: pure(t, pico)} }
	wantRefused(t, s, history.LowerEntry{Limit: limit(50), Who: "carol", Reason: "why"}, nil)
	wantRefused(t, s, history.LowerEntry{Limit: limit(51), Who: "carol", Reason: "why"}, nil)
	wantRefused(t, s, history.LowerEntry{Limit: limit(40), Who: "carol"}, nil)
	mustApply(t, s, history.LowerEntry{Limit: limit(40), Who: "carol", Reason: "why"})
	wantRefused(t, s, chargeAnn(pure(t, 41)), nil)
	wantRefused(t, s, history.FreezeEntry{Scope: ann, Frozen: false, Who: "carol", Reason: "why"}, nil)
	wantRefused(t, s, history.FreezeEntry{Scope: ann, Frozen: true}, nil)
	mustApply(t, s, history.HoldEntry(chargeAnn(pure(t, 10))))
	id := accountant.ChargeID(s.Seq())
	mustApply(t, s, history.FreezeEntry{Scope: ann, Frozen: true, Who: "carol", Reason: "why"})
	wantRefused(t, s, chargeAnn(pure(t, 1)), accountant.ErrFrozen)
	wantRefused(t, s, history.HoldEntry(chargeAnn(pure(t, 1))), accountant.ErrFrozen)
	mustApply(t, s, history.StepEntry{Hold: id, Debits: []accountant.Debit{{Scope: ann, Loss: pure(t, 10)}}})
	mustApply(t, s, history.FreezeEntry{Scope: ann, Frozen: false, Who: "carol", Reason: "why"})
	mustApply(t, s, chargeAnn(pure(t, 1)))
	lost := []accountant.Debit{{Scope: ann, Loss: pure(t, 100)}}
	wantRefused(t, s, history.RestoreEntry{Debits: lost}, nil)
	mustApply(t, s, history.RestoreEntry{Debits: lost, Who: "carol", Reason: "found in a journal"})
	held(t, s, pure(t, 10), pure(t, 101))
	mustApply(t, s, history.SettleEntry{Hold: id})
	held(t, s, pure(t, 0), pure(t, 111))
	wantRefused(t, s, history.NoteEntry{Who: "carol"}, nil)
	mustApply(t, s, history.NoteEntry{Who: "carol", Text: "the server hides its settings; they were checked"})
}

// TestStateVoidBound forgets how to take back a charge that is long past.
func TestStateVoidBound(t *testing.T) {
	const bound = 1 << 12
	s := newState(t)
	mustApply(t, s, chargeAnn(pure(t, 1)))
	first := accountant.ChargeID(s.Seq())
	mustApply(t, s, chargeAnn(pure(t, 2)))
	second := accountant.ChargeID(s.Seq())
	for range bound - 1 {
		mustApply(t, s, chargeAnn(pure(t, 0)))
	}
	wantRefused(t, s, history.VoidEntry{Charge: first}, history.ErrNotVoidable)
	mustApply(t, s, history.VoidEntry{Charge: second})
	if got := allBalances(t, s)[0].Spent; got != pure(t, 1) {
		t.Errorf("spent %v, want 1 pico", got)
	}
}

// TestStateVoidAfterLowering gives back into a budget that was lowered meanwhile.
func TestStateVoidAfterLowering(t *testing.T) {
	s := newState(t)
	mustApply(t, s, chargeAnn(pure(t, 30)))
	mustApply(t, s, chargeAnn(pure(t, 20)))
	mustApply(t, s, history.LimitsEntry{{Scope: ann, Loss: pure(t, 35)}})
	wantRefused(t, s, chargeAnn(pure(t, 0)), nil)
	mustApply(t, s, history.VoidEntry{Charge: accountant.ChargeID(s.Seq() - 1)})
	mustApply(t, s, chargeAnn(pure(t, 5)))
	var short *accountant.InsufficientError
	if err := s.Apply(first, chargeAnn(pure(t, 1))); !errors.As(err, &short) || short.Remaining != pure(t, 0) {
		t.Errorf("Apply: %v, want nothing remaining", err)
	}
}

func TestInsufficientErrorText(t *testing.T) {
	err := accountant.InsufficientError{Scope: ann, Requested: pure(t, 2e12), Remaining: pure(t, 5e11)}
	if got, want := err.Error(), "accountant: analyst:ann has ε=0.5 left, ε=2 requested"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestDebitsAreCopied changes the debits of a caller after a charge and a hold: the state, whose
// digest a checkpoint has, stays as it was.
func TestDebitsAreCopied(t *testing.T) {
	for _, entry := range []func(accountant.Charge) history.Entry{
		func(c accountant.Charge) history.Entry { return history.ChargeEntry(c) },
		func(c accountant.Charge) history.Entry { return history.HoldEntry(c) },
	} {
		s := newState(t)
		debits := []accountant.Debit{{Scope: ann, Loss: pure(t, 9)}}
		mustApply(t, s, entry(accountant.Charge{Analyst: "ann", Shape: "shape", Events: []string{"event"}, Debits: debits}))
		before, err := s.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		debits[0].Loss = pure(t, 1)
		if after, err := s.Snapshot(); err != nil || string(after) != string(before) {
			t.Errorf("the state follows a caller's slice: %s, %v; it was %s", after, err, before)
		}
	}
}
