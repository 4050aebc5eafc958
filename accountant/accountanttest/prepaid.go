package accountanttest

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"dpproxy/accountant"
	"dpproxy/dp"
)

// asking is a charge for a question.
func asking(question string, prepaid accountant.Prepaid, debits ...accountant.Debit) accountant.Charge {
	c := Charge(debits...)
	c.Question, c.Prepaid = question, prepaid
	return c
}

func wantPrepaid(t *testing.T, l accountant.Ledger, question string, want accountant.Prepaid) {
	t.Helper()
	got, err := l.Prepaid(t.Context(), question)
	if err != nil || got.Charge != want.Charge || !slices.Equal(got.Debits, want.Debits) {
		t.Errorf("prepaid for %q is %v, %v, want %v", question, got, err, want)
	}
}

// testPrepaid leaves charges unanswered: each is one other charge's of the same question, at most.
func testPrepaid(t *testing.T, open OpenFunc) {
	l := open(t, Limits())
	ten := accountant.Debit{Scope: unit, Loss: ZCDP(10, 1)}
	five := accountant.Debit{Scope: table, Loss: ZCDP(5, 0)}
	take := func(c accountant.Charge) accountant.ChargeID {
		t.Helper()
		id, err := l.Charge(t.Context(), c)
		if err != nil {
			t.Fatalf("Charge(%v): %v", c, err)
		}
		return id
	}
	refused := func(what string, c accountant.Charge, want error) {
		t.Helper()
		if _, err := l.Charge(t.Context(), c); err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	unanswered := func(id accountant.ChargeID, want error) {
		t.Helper()
		if err := l.Unanswered(t.Context(), id); !errors.Is(err, want) {
			t.Errorf("Unanswered(%d) = %v, want %v", id, err, want)
		}
	}
	none := accountant.Prepaid{}
	first := take(asking("q", none, ten))
	wantPrepaid(t, l, "q", none)
	unanswered(first, nil)
	unanswered(first, accountant.ErrNotPrepaid)
	unanswered(mustCharge(t, l, accountant.Debit{Scope: analyst, Loss: Pure(1)}), accountant.ErrNotPrepaid)
	unanswered(0, accountant.ErrNotPrepaid)
	paid := accountant.Prepaid{Charge: first, Debits: []accountant.Debit{ten}}
	wantPrepaid(t, l, "q", paid)
	wantPrepaid(t, l, "", none)
	wantPrepaid(t, l, "other", none)
	wantSpent(t, l, ZCDP(10, 1), ZCDP(0, 0), Pure(1))
	refused("another question", asking("other", paid), accountant.ErrNotPrepaid)
	refused("more than was paid", asking("q", accountant.Prepaid{
		Charge: first, Debits: []accountant.Debit{{Scope: unit, Loss: ZCDP(11, 1)}},
	}), accountant.ErrNotPrepaid)
	refused("paid by no charge", asking("q", accountant.Prepaid{Debits: paid.Debits}), nil)
	refused("nothing", asking("q", none), nil)
	refused("more beside it than is left", asking("q", paid, accountant.Debit{Scope: table, Loss: ZCDP(81, 0)}), nil)

	second := take(asking("q", paid, five))
	wantSpent(t, l, ZCDP(10, 1), ZCDP(5, 0), Pure(1))
	refused("what was used", asking("q", paid), accountant.ErrNotPrepaid)
	wantPrepaid(t, l, "q", none)
	unanswered(second, nil)
	both := accountant.Prepaid{Charge: second, Debits: []accountant.Debit{ten, five}}
	wantPrepaid(t, l, "q", both)
	third := take(asking("q", both, ten))
	unanswered(third, nil)
	wantPrepaid(t, l, "q", accountant.Prepaid{Charge: third, Debits: []accountant.Debit{{Scope: unit, Loss: ZCDP(20, 2)}, five}})
	wantSpent(t, l, ZCDP(20, 2), ZCDP(5, 0), Pure(1))
}

// testPrepaidHolds leaves a hold unanswered: its steps are prepaid, and the rest is given back.
func testPrepaidHolds(t *testing.T, open OpenFunc) {
	l := open(t, Limits())
	debit := func(pico int64) []accountant.Debit { return []accountant.Debit{{Scope: unit, Loss: ZCDP(pico, 0)}} }
	hold := func(p accountant.Prepaid, pico int64) accountant.ChargeID {
		t.Helper()
		id, err := l.Hold(t.Context(), asking("q", p, debit(pico)...))
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	step := func(id accountant.ChargeID, pico int64) {
		t.Helper()
		if err := l.Step(t.Context(), id, []string{"step"}, debit(pico)); err != nil {
			t.Fatal(err)
		}
	}
	first := hold(accountant.Prepaid{}, 60)
	step(first, 20)
	if err := l.Unanswered(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	wantSpent(t, l, ZCDP(20, 0), ZCDP(0, 0), Pure(0))
	wantHeld(t, l, ZCDP(0, 0), ZCDP(0, 0), Pure(0))
	if err := l.Settle(t.Context(), first); !errors.Is(err, accountant.ErrNotHeld) {
		t.Errorf("an unanswered hold is settled again: %v", err)
	}
	paid := accountant.Prepaid{Charge: first, Debits: debit(20)}
	wantPrepaid(t, l, "q", paid)
	second := hold(paid, 40)
	step(second, 5)
	wantPrepaid(t, l, "q", accountant.Prepaid{})
	if err := l.Unanswered(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	wantPrepaid(t, l, "q", accountant.Prepaid{Charge: second, Debits: debit(25)})
	wantSpent(t, l, ZCDP(25, 0), ZCDP(0, 0), Pure(0))

	// Nothing is prepaid of a hold that has spent nothing.
	empty, err := l.Hold(t.Context(), asking("empty", accountant.Prepaid{}, debit(1)...))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Unanswered(t.Context(), empty); err != nil {
		t.Fatal(err)
	}
	wantPrepaid(t, l, "empty", accountant.Prepaid{})
}

// testPrepaidRace lets charges race for a prepaid amount: one gets it.
func testPrepaidRace(t *testing.T, open OpenFunc) {
	l := open(t, Limits())
	for range 8 {
		id, err := l.Charge(t.Context(), asking("q", accountant.Prepaid{}, accountant.Debit{Scope: unit, Loss: ZCDP(1, 0)}))
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Unanswered(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		paid, err := l.Prepaid(t.Context(), "q")
		if err != nil {
			t.Fatal(err)
		}
		var used atomic.Int64
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				switch _, err := l.Charge(t.Context(), asking("q", paid)); {
				case err == nil:
					used.Add(1)
				case !errors.Is(err, accountant.ErrNotPrepaid):
					t.Errorf("Charge: %v", err)
				}
			})
		}
		wg.Wait()
		if used.Load() != 1 {
			t.Fatalf("%d charges have used what was paid once", used.Load())
		}
	}
	wantSpent(t, l, ZCDP(8, 0), dp.Zero(dp.ZCDP), Pure(0))
}
