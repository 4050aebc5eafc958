package history

import (
	"fmt"

	"dpproxy/accountant"
	"dpproxy/dp"
)

func (s *State) setLimits(limits []accountant.Limit) error {
	next := make(balances, len(limits))
	for _, l := range limits {
		l.Scope = named(s, l.Scope)
		if _, twice := next[l.Scope]; twice {
			return fmt.Errorf("history: %v has two limits", l.Scope)
		}
		b, err := s.withLimit(l)
		if err != nil {
			return err
		}
		next[l.Scope] = b
	}
	s.putBalances(next)
	return nil
}

// withLimit returns the balance of l's scope under l, which may create a budget
// or lower its limit, even below the amount spent.
func (s *State) withLimit(l accountant.Limit) (accountant.Balance, error) {
	if err := checkText(string(l.Scope.Kind), l.Scope.Name); err != nil {
		return accountant.Balance{}, err
	}
	measure := l.Loss.Measure()
	b, known := s.balances[l.Scope]
	switch {
	case l.Scope.Kind == "" || l.Scope.Name == "":
		return accountant.Balance{}, fmt.Errorf("history: the scope %q has no kind or no name", l.Scope)
	case measurable(l) != nil:
		return accountant.Balance{}, measurable(l)
	case !known && l.Scope.Kind == accountant.UnitScope && s.format >= namedFormat && len(unitsOf(s)) > 0:
		return accountant.Balance{}, &accountant.MissingError{Scope: unitsOf(s)[0], Stated: l.Scope}
	case !known:
		return accountant.Balance{Scope: l.Scope, Limit: l.Loss, Spent: dp.Zero(measure), Held: dp.Zero(measure)}, nil
	case !l.Loss.Comparable(b.Limit):
		return accountant.Balance{}, fmt.Errorf("history: %v is counted in %v and cannot change to %v: %w",
			l.Scope, b.Limit.Measure(), measure, dp.ErrMeasure)
	case !l.Loss.Fits(b.Limit):
		return accountant.Balance{}, fmt.Errorf("%w: %v is limited to %v, %v is more and takes an explicit raise with a reason",
			accountant.ErrLimitRaise, l.Scope, b.Limit, l.Loss)
	}
	return limited(b, l.Loss)
}

// unitsOf returns the budgets of units: one, since the format was raised.
func unitsOf(s *State) (all []accountant.Scope) {
	for scope := range s.balances {
		if scope.Kind == accountant.UnitScope {
			all = append(all, scope)
		}
	}
	return all
}

// limited returns a balance under another limit, which may have a δ where the former one had none, or none any more.
func limited(b accountant.Balance, limit dp.Loss) (accountant.Balance, error) {
	var err error
	if b.Spent, err = dp.NewLoss(limit.Measure(), b.Spent.Pico(), b.Spent.Atto()); err != nil {
		return b, err
	}
	b.Held, err = dp.NewLoss(limit.Measure(), b.Held.Pico(), b.Held.Atto())
	b.Limit = limit
	return b, err
}

// putLimit puts a balance under another limit.
func putLimit(s *State, b accountant.Balance, limit dp.Loss) error {
	b, err := limited(b, limit)
	if err == nil {
		put(s, s.balances, b.Scope, b)
	}
	return err
}

// measurable refuses a limit in a measure that its scope cannot have.
func measurable(l accountant.Limit) error {
	m := l.Loss.Measure()
	if m == dp.PureDP || m == dp.ZCDP || m == dp.ApproximateDP && l.Scope.Kind == accountant.LocalScope {
		return nil
	}
	return fmt.Errorf("history: the limit of %v: %w", l.Scope, dp.ErrMeasure)
}

func (s *State) raise(e RaiseEntry) error {
	b, err := s.decidedLimit(e.Limit, e.Who, e.Reason)
	if err != nil {
		return err
	}
	switch old, limit := b.Limit, e.Limit.Loss; {
	case old.Measure() == dp.ZCDP && limit.Measure() == dp.PureDP:
		return fmt.Errorf("history: %v is limited to %v, and %v is not a raise of it: give --delta as well, as the policy has",
			b.Scope, old, limit)
	case !old.Fits(limit) || old == limit:
		return fmt.Errorf("history: %v is limited to %v, and %v is not a raise of it", b.Scope, old, limit)
	}
	return putLimit(s, b, e.Limit.Loss)
}

func (s *State) lower(e LowerEntry) error {
	b, err := s.decidedLimit(e.Limit, e.Who, e.Reason)
	if err != nil {
		return err
	}
	if !e.Limit.Loss.Fits(b.Limit) || b.Limit == e.Limit.Loss {
		return fmt.Errorf("history: %v is limited to %v, and %v does not lower it", b.Scope, b.Limit, e.Limit.Loss)
	}
	return putLimit(s, b, e.Limit.Loss)
}

// decidedLimit returns the balance whose limit an administrator changes.
func (s *State) decidedLimit(l accountant.Limit, who, reason string) (accountant.Balance, error) {
	if err := decided(who, reason); err != nil {
		return accountant.Balance{}, err
	}
	b, known := s.balances[named(s, l.Scope)]
	if !known {
		return accountant.Balance{}, fmt.Errorf("%w: %v", accountant.ErrUnknownScope, l.Scope)
	}
	return b, measurable(l)
}

func (s *State) freeze(e FreezeEntry) error {
	if err := decided(e.Who, e.Reason); err != nil {
		return err
	}
	b, known := s.balances[named(s, e.Scope)]
	switch {
	case !known:
		return fmt.Errorf("%w: %v", accountant.ErrUnknownScope, e.Scope)
	case b.Frozen && e.Frozen:
		return fmt.Errorf("history: %v is frozen already", e.Scope)
	case b.Frozen == e.Frozen:
		return fmt.Errorf("history: %v is not frozen", e.Scope)
	}
	b.Frozen = e.Frozen
	put(s, s.balances, b.Scope, b)
	return nil
}
