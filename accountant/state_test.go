package accountant_test

import (
	"errors"
	"slices"
	"testing"

	"dpproxy/accountant"
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
func newState(t *testing.T) *accountant.State {
	t.Helper()
	s := accountant.NewState()
	mustApply(t, s, accountant.LimitsEntry{{Scope: unit, Loss: zcdp(t, 100, 10)}, {Scope: ann, Loss: pure(t, 50)}})
	return s
}

func mustApply(t *testing.T, s *accountant.State, e accountant.Entry) {
	t.Helper()
	before := s.Seq()
	if err := s.Apply(e); err != nil {
		t.Fatalf("Apply(%+v): %v", e, err)
	}
	if s.Seq() != before+1 {
		t.Fatalf("Apply went from %d to %d", before, s.Seq())
	}
}

// wantRefused expects an entry to be refused and to change nothing.
func wantRefused(t *testing.T, s *accountant.State, e accountant.Entry, target error) {
	t.Helper()
	seq, balances, incidents := s.Seq(), allBalances(t, s), s.Incidents()
	err := s.Apply(e)
	if err == nil || target != nil && !errors.Is(err, target) {
		t.Errorf("Apply(%+v): %v, want %v", e, err, target)
	}
	if s.Seq() != seq || !slices.Equal(balances, allBalances(t, s)) || !slices.Equal(incidents, s.Incidents()) {
		t.Errorf("the refused %+v changed the state", e)
	}
}

func allBalances(t *testing.T, s *accountant.State) []accountant.Balance {
	t.Helper()
	b, err := s.Balances()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func chargeAnn(l dp.Loss) accountant.ChargeEntry {
	return accountant.ChargeEntry{Analyst: "ann", Debits: []accountant.Debit{{Scope: ann, Loss: l}}}
}

func TestStateLimits(t *testing.T) {
	s := newState(t)
	limits := func(l ...accountant.Limit) accountant.LimitsEntry { return l }
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
		{Scope: ann, Limit: pure(t, 50), Spent: pure(t, 0)},
		{Scope: other, Limit: zcdp(t, 1, 1), Spent: zcdp(t, 0, 0)},
		{Scope: unit, Limit: zcdp(t, 90, 10), Spent: zcdp(t, 0, 0)},
	}
	if got := allBalances(t, s); !slices.Equal(got, want) {
		t.Errorf("balances %v, want %v", got, want)
	}
}

func TestStateRaise(t *testing.T) {
	s := newState(t)
	raise := func(scope accountant.Scope, l dp.Loss) accountant.RaiseEntry {
		return accountant.RaiseEntry{Limit: accountant.Limit{Scope: scope, Loss: l}, Who: "carol", Reason: "study"}
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

// TestStateRun ends the time in which charges can be taken back.
func TestStateRun(t *testing.T) {
	s := newState(t)
	mustApply(t, s, chargeAnn(pure(t, 7)))
	old := accountant.ChargeID(s.Seq())
	mustApply(t, s, accountant.RunEntry{Boot: "second"})
	wantRefused(t, s, accountant.VoidEntry{Charge: old}, accountant.ErrNotVoidable)
	mustApply(t, s, chargeAnn(pure(t, 9)))
	mustApply(t, s, accountant.VoidEntry{Charge: accountant.ChargeID(s.Seq())})
	if got := allBalances(t, s)[0].Spent; got != pure(t, 7) {
		t.Errorf("spent %v, want 7 picos", got)
	}
	wantRefused(t, s, accountant.RunEntry{Boot: "\xff"}, nil)
}

// TestStateVoidBound forgets how to take back what is long past.
func TestStateVoidBound(t *testing.T) {
	const bound = 1 << 16
	s := newState(t)
	mustApply(t, s, chargeAnn(pure(t, 1)))
	first := accountant.ChargeID(s.Seq())
	mustApply(t, s, chargeAnn(pure(t, 2)))
	second := accountant.ChargeID(s.Seq())
	for range bound - 1 {
		mustApply(t, s, chargeAnn(pure(t, 0)))
	}
	wantRefused(t, s, accountant.VoidEntry{Charge: first}, accountant.ErrNotVoidable)
	mustApply(t, s, accountant.VoidEntry{Charge: second})
	if got := allBalances(t, s)[0].Spent; got != pure(t, 1) {
		t.Errorf("spent %v, want 1 pico", got)
	}
}

// TestStateVoidAfterLowering gives back into a budget that was lowered meanwhile.
func TestStateVoidAfterLowering(t *testing.T) {
	s := newState(t)
	mustApply(t, s, chargeAnn(pure(t, 30)))
	mustApply(t, s, chargeAnn(pure(t, 20)))
	mustApply(t, s, accountant.LimitsEntry{{Scope: ann, Loss: pure(t, 35)}})
	wantRefused(t, s, chargeAnn(pure(t, 0)), nil)
	mustApply(t, s, accountant.VoidEntry{Charge: accountant.ChargeID(s.Seq() - 1)})
	mustApply(t, s, chargeAnn(pure(t, 5)))
	var short *accountant.InsufficientError
	if err := s.Apply(chargeAnn(pure(t, 1))); !errors.As(err, &short) || short.Remaining != pure(t, 0) {
		t.Errorf("Apply: %v, want nothing remaining", err)
	}
}

func TestInsufficientErrorText(t *testing.T) {
	err := accountant.InsufficientError{Scope: ann, Requested: pure(t, 2e12), Remaining: pure(t, 5e11)}
	if got, want := err.Error(), "accountant: analyst:ann has ε=0.5 left, ε=2 requested"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
