package accountanttest

import (
	"errors"
	"slices"
	"testing"

	"dpproxy/accountant"
	"dpproxy/dp"
)

// An OpenFunc returns a new, empty ledger with the given limits, which is closed
// when the test ends.
type OpenFunc func(t *testing.T, limits []accountant.Limit) accountant.Ledger

// The scopes of the suite. One is pure, two are zCDP.
var (
	unit    = accountant.Scope{Kind: accountant.UnitScope, Name: "patient"}
	table   = accountant.Scope{Kind: accountant.TableScope, Name: "public.labs"}
	analyst = accountant.Scope{Kind: accountant.AnalystScope, Name: "ann"}
	nobody  = accountant.Scope{Kind: accountant.AnalystScope, Name: "nobody"}
)

// Pure returns ε = pico·10⁻¹².
func Pure(pico int64) dp.Loss { return loss(dp.PureDP, pico, 0) }

// ZCDP returns ρ = pico·10⁻¹² with δ = atto·10⁻¹⁸.
func ZCDP(pico, atto int64) dp.Loss { return loss(dp.ZCDP, pico, atto) }

// loss returns the invalid zero Loss, which no ledger takes, for bad arguments.
func loss(m dp.Measure, pico, atto int64) dp.Loss {
	l, err := dp.NewLoss(m, pico, atto)
	if err != nil {
		return dp.Loss{}
	}
	return l
}

// Limits returns limits for three scopes: ρ=100 δ=10 for the unit patient, ρ=80
// δ=10 for the table public.labs, and ε=50 for the analyst ann, in the smallest
// units.
func Limits() []accountant.Limit {
	return []accountant.Limit{{Scope: unit, Loss: ZCDP(100, 10)}, {Scope: table, Loss: ZCDP(80, 10)}, {Scope: analyst, Loss: Pure(50)}}
}

// Charge returns a charge of these debits by the analyst ann.
func Charge(debits ...accountant.Debit) accountant.Charge {
	return accountant.Charge{Analyst: "ann", Shape: "shape", Events: []string{"laplace <1>"}, Debits: debits}
}

// Spent returns the loss of each of the scopes of [Limits], in their order.
func Spent(t *testing.T, l accountant.Ledger) []dp.Loss {
	t.Helper()
	balances, err := l.Balances(t.Context(), unit, table, analyst)
	if err != nil {
		t.Fatalf("Balances: %v", err)
	}
	var spent []dp.Loss
	for _, b := range balances {
		spent = append(spent, b.Spent)
	}
	return spent
}

// Held returns the loss that is held of each of the scopes of [Limits], in
// their order.
func Held(t *testing.T, l accountant.Ledger) []dp.Loss {
	t.Helper()
	balances, err := l.Balances(t.Context(), unit, table, analyst)
	if err != nil {
		t.Fatalf("Balances: %v", err)
	}
	var held []dp.Loss
	for _, b := range balances {
		held = append(held, b.Held)
	}
	return held
}

func mustCharge(t *testing.T, l accountant.Ledger, debits ...accountant.Debit) accountant.ChargeID {
	t.Helper()
	id, err := l.Charge(t.Context(), Charge(debits...))
	if err != nil {
		t.Fatalf("Charge(%v): %v", debits, err)
	}
	if id == 0 {
		t.Fatal("Charge returned the ID zero")
	}
	return id
}

func wantSpent(t *testing.T, l accountant.Ledger, want ...dp.Loss) {
	t.Helper()
	if got := Spent(t, l); !slices.Equal(got, want) {
		t.Errorf("spent %v, want %v", got, want)
	}
}

func wantHeld(t *testing.T, l accountant.Ledger, want ...dp.Loss) {
	t.Helper()
	if got := Held(t, l); !slices.Equal(got, want) {
		t.Errorf("held %v, want %v", got, want)
	}
}

func wantInsufficient(t *testing.T, l accountant.Ledger, want accountant.InsufficientError, debits ...accountant.Debit) {
	t.Helper()
	id, err := l.Charge(t.Context(), Charge(debits...))
	var got *accountant.InsufficientError
	if !errors.As(err, &got) {
		t.Fatalf("Charge(%v) = %v, %v, want an InsufficientError", debits, id, err)
	}
	if *got != want {
		t.Errorf("Charge(%v): %+v, want %+v", debits, *got, want)
	}
}

func wantRefused(t *testing.T, l accountant.Ledger, target error, debits ...accountant.Debit) {
	t.Helper()
	id, err := l.Charge(t.Context(), Charge(debits...))
	if err == nil || id != 0 {
		t.Fatalf("Charge(%v) = %v, %v, want an error", debits, id, err)
	}
	if target != nil && !errors.Is(err, target) {
		t.Errorf("Charge(%v): %v, want %v", debits, err, target)
	}
}
