// Package accountanttest is the conformance suite of ledgers: every back end of
// [accountant.Ledger] passes [TestLedger].
package accountanttest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dpproxy/accountant"
	"dpproxy/dp"
)

// TestLedger runs the suite on one back end.
func TestLedger(t *testing.T, open OpenFunc) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, OpenFunc)
	}{
		{"limits are exact", testExact},
		{"all or nothing", testAllOrNothing},
		{"measures", testMeasures},
		{"unknown scope", testUnknownScope},
		{"malformed charges", testMalformed},
		{"debits are copied", testCopied},
		{"holds", testHolds},
		{"balances", testBalances},
		{"prepaid", testPrepaid},
		{"prepaid holds", testPrepaidHolds},
		{"race for what is prepaid", testPrepaidRace},
		{"incidents", testIncidents},
		{"context", testContext},
		{"close", testClose},
		{"race for the last of a budget", testRace},
		{"race to settle", testSettleRace},
		{"linearizable", testLinearizable},
		{"model", testModel},
		{"policies", testPolicies},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open) })
	}
}

func testExact(t *testing.T, open OpenFunc) {
	l := open(t, Limits())
	mustCharge(t, l, accountant.Debit{Scope: analyst, Loss: Pure(49)})
	wantInsufficient(t, l, accountant.InsufficientError{Scope: analyst, Requested: Pure(2), Remaining: Pure(1)},
		accountant.Debit{Scope: analyst, Loss: Pure(2)})
	mustCharge(t, l, accountant.Debit{Scope: analyst, Loss: Pure(1)})
	wantInsufficient(t, l, accountant.InsufficientError{Scope: analyst, Requested: Pure(1), Remaining: Pure(0)},
		accountant.Debit{Scope: analyst, Loss: Pure(1)})
	wantInsufficient(t, l, accountant.InsufficientError{Scope: analyst, Requested: Pure(dp.MaxPico), Remaining: Pure(0)},
		accountant.Debit{Scope: analyst, Loss: Pure(dp.MaxPico)})
	mustCharge(t, l, accountant.Debit{Scope: analyst, Loss: Pure(0)})
	wantSpent(t, l, ZCDP(0, 0), ZCDP(0, 0), Pure(50))
}

func testAllOrNothing(t *testing.T, open OpenFunc) {
	l := open(t, Limits())
	mustCharge(t, l, accountant.Debit{Scope: table, Loss: ZCDP(80, 0)})
	want := accountant.InsufficientError{Scope: table, Requested: ZCDP(1, 0), Remaining: ZCDP(0, 10)}
	short := accountant.Debit{Scope: table, Loss: ZCDP(1, 0)}
	fits := accountant.Debit{Scope: unit, Loss: ZCDP(1, 1)}
	wantInsufficient(t, l, want, fits, short)
	wantInsufficient(t, l, want, short, fits)
	wantSpent(t, l, ZCDP(0, 0), ZCDP(80, 0), Pure(0))
}

func testMeasures(t *testing.T, open OpenFunc) {
	l := open(t, Limits())
	mustCharge(t, l, accountant.Debit{Scope: unit, Loss: ZCDP(5, 10)},
		accountant.Debit{Scope: table, Loss: ZCDP(6, 4)}, accountant.Debit{Scope: analyst, Loss: Pure(7)})
	wantSpent(t, l, ZCDP(5, 10), ZCDP(6, 4), Pure(7))
	// δ is a column of its own: the unit has ρ left and no δ.
	wantInsufficient(t, l, accountant.InsufficientError{Scope: unit, Requested: ZCDP(1, 1), Remaining: ZCDP(95, 0)},
		accountant.Debit{Scope: table, Loss: ZCDP(1, 1)}, accountant.Debit{Scope: unit, Loss: ZCDP(1, 1)})
	mustCharge(t, l, accountant.Debit{Scope: unit, Loss: ZCDP(1, 0)})
	wantRefused(t, l, dp.ErrMeasure, accountant.Debit{Scope: unit, Loss: Pure(1)})
	wantRefused(t, l, dp.ErrMeasure, accountant.Debit{Scope: analyst, Loss: ZCDP(1, 0)})
	wantRefused(t, l, dp.ErrMeasure, accountant.Debit{Scope: analyst})
	wantSpent(t, l, ZCDP(6, 10), ZCDP(6, 4), Pure(7))
}

func testUnknownScope(t *testing.T, open OpenFunc) {
	l := open(t, Limits())
	wantRefused(t, l, accountant.ErrUnknownScope, accountant.Debit{Scope: nobody, Loss: Pure(0)})
	wantRefused(t, l, accountant.ErrUnknownScope,
		accountant.Debit{Scope: analyst, Loss: Pure(1)}, accountant.Debit{Scope: nobody, Loss: Pure(1)})
	wantSpent(t, l, ZCDP(0, 0), ZCDP(0, 0), Pure(0))
	empty := open(t, nil)
	wantRefused(t, empty, accountant.ErrUnknownScope, accountant.Debit{Scope: unit, Loss: ZCDP(1, 0)})
}

func testMalformed(t *testing.T, open OpenFunc) {
	l := open(t, Limits())
	one := accountant.Debit{Scope: analyst, Loss: Pure(1)}
	wantRefused(t, l, nil)
	wantRefused(t, l, nil, one, one)
	if _, err := l.Charge(t.Context(), accountant.Charge{Analyst: "\xff", Debits: []accountant.Debit{one}}); err == nil {
		t.Error("an analyst whose name is not UTF-8 was charged")
	}
	wantSpent(t, l, ZCDP(0, 0), ZCDP(0, 0), Pure(0))
}

func testCopied(t *testing.T, open OpenFunc) {
	l := open(t, Limits())
	debits := []accountant.Debit{{Scope: analyst, Loss: Pure(9)}}
	id, err := l.Hold(t.Context(), Charge(debits...))
	if err != nil {
		t.Fatal(err)
	}
	debits[0].Loss = Pure(1)
	if err := l.Settle(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	wantHeld(t, l, ZCDP(0, 0), ZCDP(0, 0), Pure(0))
	wantSpent(t, l, ZCDP(0, 0), ZCDP(0, 0), Pure(0))
}

// testHolds spends a hold in steps. It counts in full until it is settled, and until then
// nothing shows how much of it is spent.
func testHolds(t *testing.T, open OpenFunc) {
	l := open(t, Limits())
	debits := func(pico, epsilon int64) []accountant.Debit {
		return []accountant.Debit{{Scope: unit, Loss: ZCDP(pico, 0)}, {Scope: analyst, Loss: Pure(epsilon)}}
	}
	id, err := l.Hold(t.Context(), Charge(debits(60, 30)...))
	if err != nil {
		t.Fatalf("Hold: %v", err)
	}
	wantSpent(t, l, ZCDP(0, 0), ZCDP(0, 0), Pure(0))
	wantInsufficient(t, l, accountant.InsufficientError{Scope: unit, Requested: ZCDP(41, 0), Remaining: ZCDP(40, 10)},
		accountant.Debit{Scope: unit, Loss: ZCDP(41, 0)})
	if err := l.Step(t.Context(), id, []string{"first"}, debits(20, 10)); err != nil {
		t.Fatalf("Step: %v", err)
	}
	wantSpent(t, l, ZCDP(0, 0), ZCDP(0, 0), Pure(0))
	wantHeld(t, l, ZCDP(60, 0), ZCDP(0, 0), Pure(30))
	for name, step := range map[string][]accountant.Debit{
		"more than is held": debits(41, 1), "a scope that is not": {{Scope: table, Loss: ZCDP(1, 0)}},
	} {
		if err := l.Step(t.Context(), id, nil, step); !errors.Is(err, accountant.ErrNotHeld) {
			t.Errorf("a step of %s: %v, want ErrNotHeld", name, err)
		}
	}
	if err := l.Settle(t.Context(), id); err != nil {
		t.Fatalf("Settle: %v", err)
	}
	wantSpent(t, l, ZCDP(20, 0), ZCDP(0, 0), Pure(10))
	wantHeld(t, l, ZCDP(0, 0), ZCDP(0, 0), Pure(0))
	charge := mustCharge(t, l, debits(1, 1)...)
	if charge == id {
		t.Errorf("the ID %d was used twice", id)
	}
	for name, err := range map[string]error{
		"a second Settle":               l.Settle(t.Context(), id),
		"a Settle of none":              l.Settle(t.Context(), 0),
		"a Settle of an unknown charge": l.Settle(t.Context(), charge+1000),
		"a Settle of a charge":          l.Settle(t.Context(), charge),
		"a step after it":               l.Step(t.Context(), id, nil, debits(0, 0)),
		"a step of a charge":            l.Step(t.Context(), charge, nil, debits(0, 0)),
	} {
		if !errors.Is(err, accountant.ErrNotHeld) {
			t.Errorf("%s: %v, want ErrNotHeld", name, err)
		}
	}
	mustCharge(t, l, debits(79, 39)...)
	wantSpent(t, l, ZCDP(100, 0), ZCDP(0, 0), Pure(50))
}

func testBalances(t *testing.T, open OpenFunc) {
	l := open(t, Limits())
	mustCharge(t, l, accountant.Debit{Scope: table, Loss: ZCDP(2, 1)})
	all, err := l.Balances(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []accountant.Balance{
		{Scope: analyst, Limit: Pure(50), Spent: Pure(0), Held: Pure(0)},
		{Scope: table, Limit: ZCDP(80, 10), Spent: ZCDP(2, 1), Held: ZCDP(0, 0)},
		{Scope: unit, Limit: ZCDP(100, 10), Spent: ZCDP(0, 0), Held: ZCDP(0, 0)},
	}
	if !slices.Equal(all, want) {
		t.Errorf("Balances() = %v, want %v", all, want)
	}
	some, err := l.Balances(t.Context(), unit, table)
	if err != nil || !slices.Equal(some, []accountant.Balance{want[2], want[1]}) {
		t.Errorf("Balances(unit, table) = %v, %v", some, err)
	}
	if _, err := l.Balances(t.Context(), unit, nobody); !errors.Is(err, accountant.ErrUnknownScope) {
		t.Errorf("Balances of an unknown scope: %v, want ErrUnknownScope", err)
	}
}

func testIncidents(t *testing.T, open OpenFunc) {
	l := open(t, Limits())
	id := mustCharge(t, l, accountant.Debit{Scope: analyst, Loss: Pure(1)})
	ann := accountant.Incident{Charge: id, Analyst: "ann", Shape: "s1"}
	bob := accountant.Incident{Charge: id, Analyst: "bob", Shape: "s2"}
	for _, in := range []accountant.Incident{ann, bob, ann} {
		if err := l.Incident(t.Context(), in); err != nil {
			t.Fatalf("Incident: %v", err)
		}
	}
	wantIncidents(t, l, ann, bob, ann)
	for name, bad := range map[string]accountant.ChargeID{"no": 0, "a future": id + 1000} {
		if err := l.Incident(t.Context(), accountant.Incident{Charge: bad, Analyst: "ann"}); err == nil {
			t.Errorf("an incident of %s charge was taken", name)
		}
	}
	if err := l.ClearIncidents(t.Context(), "ann", ""); err == nil {
		t.Error("incidents were cleared without a reason")
	}
	wantIncidents(t, l, ann, bob, ann)
	for _, tt := range []struct {
		analyst, shape string
		want           error
	}{
		{"ann", "other", nil},
		{"carol", "s1", accountant.ErrQuarantined},
		{"carol", "", nil},
	} {
		if err := l.Admit(t.Context(), tt.analyst, tt.shape); !errors.Is(err, tt.want) {
			t.Errorf("Admit(%q, %q) = %v, want %v", tt.analyst, tt.shape, err, tt.want)
		}
	}
	if err := l.Incident(t.Context(), ann); err != nil {
		t.Fatal(err)
	}
	if err := l.Admit(t.Context(), "ann", "other"); !errors.Is(err, accountant.ErrSuspended) {
		t.Errorf("Admit of an analyst with three incidents: %v", err)
	}
	clearIncidents(t, l, "ann")
	wantIncidents(t, l, bob)
	clearIncidents(t, l, "")
	wantIncidents(t, l)
	wantSpent(t, l, ZCDP(0, 0), ZCDP(0, 0), Pure(1))
}

func clearIncidents(t *testing.T, l accountant.Ledger, analyst string) {
	t.Helper()
	if err := l.ClearIncidents(t.Context(), analyst, "looked into"); err != nil {
		t.Fatalf("ClearIncidents(%q): %v", analyst, err)
	}
}

func wantIncidents(t *testing.T, l accountant.Ledger, want ...accountant.Incident) {
	t.Helper()
	got, err := l.Incidents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("incidents differ: %s", cmp.Diff(want, got))
	}
}

func testContext(t *testing.T, open OpenFunc) {
	l := open(t, Limits())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Charge(ctx, Charge(accountant.Debit{Scope: analyst, Loss: Pure(1)})); !errors.Is(err, context.Canceled) {
		t.Errorf("Charge with a context that has ended: %v", err)
	}
	wantSpent(t, l, ZCDP(0, 0), ZCDP(0, 0), Pure(0))
}

func testClose(t *testing.T, open OpenFunc) {
	l := open(t, Limits())
	for range 2 {
		if err := l.Close(); err != nil {
			t.Fatalf("Close: %v", err)
		}
	}
	wantRefused(t, l, accountant.ErrUnavailable, accountant.Debit{Scope: analyst, Loss: Pure(1)})
	_, balances := l.Balances(t.Context())
	_, incidents := l.Incidents(t.Context())
	_, prepaid := l.Prepaid(t.Context(), "q")
	for name, err := range map[string]error{
		"Balances": balances, "Incidents": incidents, "Prepaid": prepaid,
		"Admit":          l.Admit(t.Context(), "ann", "shape"),
		"Step":           l.Step(t.Context(), 1, nil, []accountant.Debit{{Scope: analyst, Loss: Pure(1)}}),
		"Settle":         l.Settle(t.Context(), 1),
		"Unanswered":     l.Unanswered(t.Context(), 1),
		"Incident":       l.Incident(t.Context(), accountant.Incident{Charge: 1}),
		"ClearIncidents": l.ClearIncidents(t.Context(), "", "why"),
	} {
		if !errors.Is(err, accountant.ErrUnavailable) {
			t.Errorf("%s after Close: %v, want ErrUnavailable", name, err)
		}
	}
}

// testRace lets 64 goroutines race for a budget that 14 charges of 7 use up.
func testRace(t *testing.T, open OpenFunc) {
	l := open(t, Limits())
	var taken atomic.Int64
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range 3 {
				_, err := l.Charge(t.Context(), Charge(accountant.Debit{Scope: unit, Loss: ZCDP(7, 0)}))
				var short *accountant.InsufficientError
				switch {
				case err == nil:
					taken.Add(1)
				case !errors.As(err, &short):
					t.Errorf("Charge: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if taken.Load() != 100/7 {
		t.Errorf("%d charges succeeded, want %d", taken.Load(), 100/7)
	}
	wantSpent(t, l, ZCDP(98, 0), ZCDP(0, 0), Pure(0))
}

// testSettleRace settles every hold from two goroutines at once: exactly one of them may
// succeed.
func testSettleRace(t *testing.T, open OpenFunc) {
	l := open(t, Limits())
	var settled atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		id, err := l.Hold(t.Context(), Charge(accountant.Debit{Scope: unit, Loss: ZCDP(3, 0)}))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			wg.Go(func() {
				err := l.Settle(t.Context(), id)
				switch {
				case err == nil:
					settled.Add(1)
				case !errors.Is(err, accountant.ErrNotHeld):
					t.Errorf("Settle: %v", err)
				}
			})
		}
	}
	wg.Wait()
	if settled.Load() != 16 {
		t.Errorf("%d holds were settled, want 16", settled.Load())
	}
	wantHeld(t, l, ZCDP(0, 0), ZCDP(0, 0), Pure(0))
	wantSpent(t, l, ZCDP(0, 0), ZCDP(0, 0), Pure(0))
}
