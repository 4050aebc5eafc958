package history

import (
	"slices"

	"dpproxy/accountant"
	"dpproxy/dp"
)

// catchUp has a budget that a policy makes one of a table begin with the most that another budget of the table has spent: one of them was
// debited for every release of the table, whatever it was called. Amounts that are held count too, since they may be spent yet.
// The links are all that the policy makes.
func catchUp(s *State, links []accountant.Link) error {
	sharing := map[accountant.Table][]accountant.Scope{}
	for _, l := range links {
		if l.Scope.Kind == accountant.TableScope {
			sharing[l.Table] = append(sharing[l.Table], l.Scope)
		}
	}
	next := balances{}
	for _, l := range links {
		if slices.Contains(s.links[l.Scope], l.Table) {
			continue
		}
		for _, other := range sharing[l.Table] {
			if other == l.Scope || other.Kind != l.Scope.Kind {
				continue
			}
			if err := atLeast(s, next, l.Scope, usedOf(s, other, l.Scope)); err != nil {
				return err
			}
		}
	}
	s.putBalances(next)
	return nil
}

// revive has budgets that were retired, or that were united with a retired one, catch up with the others of their tables: they have
// missed charges of them.
func revive(s *State, scopes ...accountant.Scope) error {
	next := balances{}
	for _, scope := range scopes {
		if s.format < sharedFormat || scope.Kind != accountant.TableScope {
			continue
		}
		for other := range s.balances {
			of := func(t accountant.Table) bool { return isOf(s, other, t) }
			if other == scope || other.Kind != scope.Kind || !slices.ContainsFunc(tablesOf(s, scope), of) {
				continue
			}
			if err := atLeast(s, next, scope, usedOf(s, other, scope)); err != nil {
				return err
			}
		}
	}
	s.putBalances(next)
	return nil
}

// addUp has the budgets that share a table in a ledger of an earlier format catch up. Nobody noted which of their charges were the same,
// so that each has spent the sum.
func addUp(s *State) error {
	next := balances{}
	for scope, tables := range s.links {
		if scope.Kind != accountant.TableScope {
			continue
		}
		for _, t := range tables {
			if err := atLeast(s, next, scope, sumOf(s, scope, t)); err != nil {
				return err
			}
		}
	}
	s.putBalances(next)
	return nil
}

// sumOf returns the amount that a budget has spent, with the amounts that the others of a table have spent or hold.
func sumOf(s *State, scope accountant.Scope, t accountant.Table) dp.Loss {
	sum := s.balances[scope].Spent
	for other := range s.balances {
		if other == scope || other.Kind != scope.Kind || !isOf(s, other, t) {
			continue
		}
		var err error
		if sum, err = sum.Plus(usedOf(s, other, scope)); err != nil {
			return s.balances[scope].Limit // more than a ledger can hold
		}
	}
	return sum
}

// spread has the budgets that share a table with one of the debits spend as much more: a charge that a repair found missing can have been
// of that table. next has the balances after the debits.
func spread(s *State, next balances, debits []accountant.Debit) error {
	debits, err := current(s, debits)
	if err != nil {
		return err
	}
	for _, d := range debits {
		for scope, b := range s.balances {
			if scope == d.Scope || scope.Kind != accountant.TableScope || scope.Kind != d.Scope.Kind || !share(s, scope, d.Scope) {
				continue
			}
			spent, err := b.Spent.Plus(told(b, d.Loss))
			if err != nil {
				return err
			}
			if err := atLeast(s, next, scope, spent); err != nil {
				return err
			}
		}
	}
	return nil
}

// share reports whether a policy has given one budget a table that is another's too.
func share(s *State, scope, other accountant.Scope) bool {
	return slices.ContainsFunc(s.links[scope], func(t accountant.Table) bool { return isOf(s, other, t) })
}

// usedOf returns the amount that a budget has spent or holds, as it counts for another one.
func usedOf(s *State, scope, as accountant.Scope) dp.Loss {
	used, err := s.balances[scope].Spent.Plus(s.balances[scope].Held)
	if err != nil {
		return s.balances[as].Limit // more than a ledger can hold
	}
	return told(s.balances[as], used)
}

// told returns a loss as it counts for a budget: all of its limit if its measure cannot tell it, such as ρ in ε.
func told(b accountant.Balance, loss dp.Loss) dp.Loss {
	in, err := inMeasure(loss, b.Limit.Measure())
	if err != nil {
		return b.Limit
	}
	return in
}

// atLeast has a budget spend no less than a loss. next has the balances so far.
func atLeast(s *State, next balances, scope accountant.Scope, spent dp.Loss) (err error) {
	b, changed := next[scope]
	if !changed {
		b = s.balances[scope]
	}
	b.Spent, err = dp.NewLoss(b.Limit.Measure(), max(b.Spent.Pico(), spent.Pico()), max(b.Spent.Atto(), spent.Atto()))
	next[scope] = b
	return err
}
