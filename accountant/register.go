package accountant

import (
	"context"
	"fmt"
	"slices"

	"dpproxy/dp"
)

// A Register is what a ledger says of its budgets: which there are, and of what. It decides which ones a charge debits; no policy
// does.
type Register struct {
	balances []Balance // those that count, ordered by kind and name
	links    []Link
}

// ReadRegister reads that of a ledger.
func ReadRegister(ctx context.Context, l Ledger) (*Register, error) {
	balances, err := l.Balances(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the ledger: %w", err)
	}
	links, err := l.Links(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the ledger: %w", err)
	}
	balances = slices.DeleteFunc(balances, func(b Balance) bool { return !b.Counts() })
	return &Register{balances, links}, nil
}

// Measure returns that of a budget, if there is one.
func (r *Register) Measure(s Scope) (dp.Measure, bool) {
	i := slices.IndexFunc(r.balances, func(b Balance) bool { return b.Scope == s })
	if i < 0 {
		return 0, false
	}
	return r.balances[i].Limit.Measure(), true
}

// Unit returns the budget of the unit, if there is one.
func (r *Register) Unit() (Scope, bool) {
	i := slices.IndexFunc(r.balances, func(b Balance) bool { return b.Scope.Kind == UnitScope })
	if i < 0 {
		return Scope{}, false
	}
	return r.balances[i].Scope, true
}

// Of returns the budgets of a table or, by its name alone, of an analyst.
func (r *Register) Of(kind ScopeKind, t Table) (scopes []Scope) {
	for _, l := range r.links {
		_, counts := r.Measure(l.Scope)
		if counts && l.Scope.Kind == kind && l.Table.Is(t) && !slices.Contains(scopes, l.Scope) {
			scopes = append(scopes, l.Scope)
		}
	}
	return scopes
}

// Names returns the names that a budget has and had.
func (r *Register) Names(s Scope) (names []string) {
	for _, l := range r.links {
		if l.Scope == s && !slices.Contains(names, l.Table.Name) {
			names = append(names, l.Table.Name)
		}
	}
	return names
}
