package history

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"dpproxy/accountant"
)

// maxVoidable is how many charges, the latest ones, a [VoidEntry] can take back. A charge that
// an earlier version took back had been made moments before, so the bound only keeps a state
// small. The digests of checkpoints cover these charges, so that every state keeps them.
const maxVoidable = 1 << 12

// A State is the sum of the entries of a ledger. Its methods are not safe for
// concurrent use.
type State struct {
	seq      uint64
	runs     map[string]bool // those that go on
	balances balances
	voidable map[accountant.ChargeID]open
	recent   []accountant.ChargeID // the keys of voidable and some former ones, oldest first
	holds    map[accountant.ChargeID]open
	// unanswered are the charges that are prepaid, the latest last.
	unanswered []prepaid
	incidents  []accountant.Incident
	// surveys are those of local tables, by table, and epochs how many of its epochs are over.
	surveys map[string][]accountant.Survey
	epochs  map[string]int64
	// format is 0 until it is raised. ruled says that a policy was set since.
	format int
	ruled  bool
	// links are the tables of budgets, beside the budgets' names. renamed has the budgets of former names. kept are budgets that
	// policies left out before the format was raised, and may go on to leave out.
	links   map[accountant.Scope][]accountant.Table
	renamed map[accountant.Scope]accountant.Scope
	kept    map[accountant.Scope]bool
	trial   bool
	undo    []func() // of the steps of a trial, in their order
}

// An open charge or hold belongs to a run. Of a charge, debits are all that was paid for its question. Of a
// hold, they are the amounts that no step has spent, and stepped those of the steps that this state has
// seen: a snapshot leaves the latter out.
type open struct {
	run             string
	debits, stepped []accountant.Debit
	question        string
	// paid is all that was paid for the question of a hold, by its steps and before it.
	paid []accountant.Debit
}

// prepaid is an unanswered charge.
type prepaid struct {
	id       accountant.ChargeID
	question string
	debits   []accountant.Debit
}

// balances are the balances of some scopes after a change.
type balances = map[accountant.Scope]accountant.Balance

// NewState returns the state before the first entry: no scope has a budget and
// no process runs.
func NewState() *State {
	return &State{
		runs:     map[string]bool{},
		balances: balances{},
		voidable: map[accountant.ChargeID]open{},
		holds:    map[accountant.ChargeID]open{},
		surveys:  map[string][]accountant.Survey{},
		epochs:   map[string]int64{},
		links:    map[accountant.Scope][]accountant.Table{},
		renamed:  map[accountant.Scope]accountant.Scope{},
		kept:     map[accountant.Scope]bool{},
	}
}

// Seq returns how many entries were applied. The ID of a charge or a hold is the
// Seq after it.
func (s *State) Seq() uint64 { return s.seq }

// Try begins a trial: steps from here on are taken back by [State.Rollback] or
// kept by [State.Keep].
func (s *State) Try() { s.trial, s.undo = true, nil }

// Keep ends a trial and keeps its steps.
func (s *State) Keep() { s.trial, s.undo = false, nil }

// Rollback ends a trial and takes its steps back.
func (s *State) Rollback() {
	for _, undo := range slices.Backward(s.undo) {
		undo()
	}
	s.Keep()
}

// atomically takes the changes of a step back if it fails.
func atomically(s *State, step func() error) error {
	outer, first := s.trial, len(s.undo)
	s.trial = true
	err := step()
	if err != nil {
		for _, undo := range slices.Backward(s.undo[first:]) {
			undo()
		}
		s.undo = s.undo[:first]
	}
	if s.trial = outer; !outer {
		s.undo = nil
	}
	return err
}

// change sets a part of the state. Every change goes through it, put or drop.
func change[T any](s *State, part *T, value T) {
	if s.trial {
		old := *part
		s.undo = append(s.undo, func() { *part = old })
	}
	*part = value
}

// put sets a key of a map of the state.
func put[K comparable, V any](s *State, m map[K]V, key K, value V) {
	remember(s, m, key)
	m[key] = value
}

// drop deletes a key of a map of the state.
func drop[K comparable, V any](s *State, m map[K]V, key K) {
	remember(s, m, key)
	delete(m, key)
}

func remember[K comparable, V any](s *State, m map[K]V, key K) {
	if !s.trial {
		return
	}
	old, was := m[key]
	s.undo = append(s.undo, func() {
		if was {
			m[key] = old
		} else {
			delete(m, key)
		}
	})
}

func (s *State) putBalances(next balances) {
	for scope, b := range next {
		put(s, s.balances, scope, b)
	}
}

// decided checks that a decision says who made it and why.
func decided(who, why string) error {
	if err := checkText(who, why); err != nil {
		return err
	}
	if who == "" || why == "" {
		return errors.New("history: a decision must say who made it and why")
	}
	return nil
}

// checkText refuses text that is not UTF-8, because an encoder could map two
// such names to one.
func checkText(texts ...string) error {
	for _, t := range texts {
		if !utf8.ValidString(t) {
			return fmt.Errorf("history: %q is not UTF-8", t)
		}
	}
	return nil
}

// Balances returns the balances of the given scopes in their order, or of all,
// ordered by kind and name, when none is given.
func (s *State) Balances(scopes ...accountant.Scope) ([]accountant.Balance, error) {
	if len(scopes) == 0 {
		for _, b := range slices.SortedFunc(maps.Values(s.balances), byScope) {
			scopes = append(scopes, b.Scope)
		}
	}
	all := make([]accountant.Balance, 0, len(scopes))
	for _, scope := range scopes {
		b, known := s.balances[named(s, scope)]
		if !known {
			return nil, fmt.Errorf("%w: %v", accountant.ErrUnknownScope, scope)
		}
		all = append(all, s.shown(b))
	}
	return all, nil
}

// named returns the budget that has a name, or had it before a decision.
func named(s *State, scope accountant.Scope) accountant.Scope {
	if now, was := s.renamed[scope]; was {
		return now
	}
	return scope
}

// shown returns a balance as it was before the steps of the holds that go on.
func (s *State) shown(b accountant.Balance) accountant.Balance {
	for _, h := range s.holds {
		for _, d := range h.stepped {
			if named(s, d.Scope) != b.Scope {
				continue
			}
			spent, err := b.Spent.Minus(d.Loss)
			held, err2 := b.Held.Plus(d.Loss)
			if err == nil && err2 == nil { // always: the steps moved it from one to the other
				b.Spent, b.Held = spent, held
			}
		}
	}
	return b
}

func byScope(a, b accountant.Balance) int { return byName(a.Scope, b.Scope) }

func byName(a, b accountant.Scope) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}

// Incidents returns the incidents that were not cleared, oldest first.
func (s *State) Incidents() []accountant.Incident { return slices.Clone(s.incidents) }

// Runs returns the runs that go on, in the order of their names.
func (s *State) Runs() []string { return slices.Sorted(maps.Keys(s.runs)) }
