package history

import (
	"errors"
	"fmt"
	"math/big"

	"dpproxy/accountant"
	"dpproxy/dp"
)

// rename gives a budget another name, or unites it with the one that has the name. All that was spent goes with it, and the
// former name is one of the budget's for ever.
func rename(s *State, e RenameEntry) error {
	if err := decided(e.Who, e.Reason); err != nil {
		return err
	}
	if err := checkText(e.To.Name); err != nil {
		return err
	}
	from, to := named(s, e.From), e.To
	if united, was := s.renamed[to]; was && united != from {
		to = united
	}
	_, known := s.balances[from]
	switch {
	case s.format < namedFormat:
		return errors.New("history: the format of the ledger must be raised before a budget is renamed")
	case !known:
		return fmt.Errorf("%w: %v", accountant.ErrUnknownScope, e.From)
	case from.Kind != to.Kind || to.Name == "":
		return fmt.Errorf("history: %v cannot become %v", from, to)
	case from == to:
		return fmt.Errorf("history: %v and %v are one budget already", e.From, e.To)
	}
	return unite(s, from, to)
}

// unite makes one budget of two, by the name of the second, which may not be there yet.
func unite(s *State, from, to accountant.Scope) error {
	b := s.balances[from]
	if !b.Held.IsZero() {
		return fmt.Errorf("history: statements that hold a part of %v are not settled: ask again when they have ended "+
			"(dpproxy ledger fence ends those of a proxy that is gone)", from)
	}
	with, known := s.balances[to]
	if known && len(s.surveys[surveyName(s, from.Name)]) > 0 && from.Kind == accountant.LocalScope {
		return fmt.Errorf("history: the objects of %v and %v have answered apart: two odometers cannot be one", from, to)
	}
	united, err := united(b, with)
	if err != nil {
		return fmt.Errorf("history: %v and %v: %w", from, to, err)
	}
	united.Scope = to
	drop(s, s.balances, from)
	put(s, s.balances, to, united)
	drop(s, s.renamed, to)
	for _, t := range s.links[from] {
		link(s, to, t)
	}
	drop(s, s.links, from)
	drop(s, s.kept, from)
	for former, now := range s.renamed {
		if now == from {
			put(s, s.renamed, former, to)
		}
	}
	put(s, s.renamed, from, to)
	if known && b.Retired != with.Retired {
		return revive(s, to)
	}
	return nil
}

// united returns a balance with all that was spent of two, and the lower limit. The second may be none.
func united(b, with accountant.Balance) (accountant.Balance, error) {
	if with.Scope == (accountant.Scope{}) {
		return b, nil
	}
	spent, err := inMeasure(b.Spent, with.Limit.Measure())
	if err != nil {
		return with, err
	}
	if with.Spent, err = with.Spent.Plus(spent); err != nil {
		return with, err
	}
	with.Frozen = with.Frozen || b.Frozen
	with.Retired = with.Retired && b.Retired
	if !b.Limit.Comparable(with.Limit) {
		return with, nil
	}
	lower, err := dp.NewLoss(with.Limit.Measure(), min(b.Limit.Pico(), with.Limit.Pico()), min(b.Limit.Atto(), with.Limit.Atto()))
	with.Limit = lower
	return with, err
}

// inMeasure returns a loss in another measure, rounded up: ε of pure differential privacy is ε²/2 of zCDP [Bun-Steinke 2016,
// Proposition 1.4]. A loss of zCDP has no finite ε.
func inMeasure(l dp.Loss, m dp.Measure) (dp.Loss, error) {
	if l.Measure() == dp.PureDP && m == dp.ZCDP {
		squared := new(big.Int).Mul(big.NewInt(l.Pico()), big.NewInt(l.Pico()))
		squared.Add(squared, big.NewInt(2*dp.PicoPerUnit-1)).Quo(squared, big.NewInt(2*dp.PicoPerUnit))
		if !squared.IsInt64() {
			return dp.Loss{}, dp.ErrMeasure
		}
		return dp.NewLoss(m, squared.Int64(), 0)
	}
	if l.Measure() == dp.ZCDP && m == dp.PureDP && !l.IsZero() {
		return dp.Loss{}, fmt.Errorf("the amount spent of zCDP has no finite ε: %w", dp.ErrMeasure)
	}
	return dp.NewLoss(m, l.Pico(), l.Atto())
}

// retire ends a budget: policies need not have it, and nothing is debited, until one gives it a limit again. The amount spent
// stays, and so does a freeze.
func retire(s *State, e RetireEntry) error {
	if err := decided(e.Who, e.Reason); err != nil {
		return err
	}
	scope := named(s, e.Scope)
	b, known := s.balances[scope]
	switch {
	case s.format < namedFormat:
		return errors.New("history: the format of the ledger must be raised before a budget is retired")
	case !known:
		return fmt.Errorf("%w: %v", accountant.ErrUnknownScope, e.Scope)
	case scope.Kind == accountant.UnitScope:
		return errors.New("history: the budget of the unit is the guarantee, and can only be renamed")
	case b.Retired:
		return fmt.Errorf("history: %v is retired already", scope)
	}
	b.Retired = true
	put(s, s.balances, scope, b)
	drop(s, s.kept, scope)
	return nil
}

// surveyName returns the name by which the ledger has the surveys of a local table: the one that it had at the first.
func surveyName(s *State, table string) string {
	if len(s.surveys[table]) > 0 {
		return table
	}
	scope := named(s, accountant.Scope{Kind: accountant.LocalScope, Name: table})
	for _, t := range tablesOf(s, scope) {
		if len(s.surveys[t.Name]) > 0 {
			return t.Name
		}
	}
	return table
}
