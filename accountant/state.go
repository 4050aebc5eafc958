package accountant

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"dpproxy/dp"
)

// An Entry is one step in the history of a ledger. A ledger is the sequence of
// its entries; everything else about it follows by [State.Apply].
//
//sumtype:decl
type Entry interface{ entry() }

// A RunEntry begins a process run. Charges of earlier runs can no longer be
// taken back: their queries may have been sent.
type RunEntry struct {
	Boot string // random, different in each run
}

// A LimitsEntry is what a configuration says: it creates budgets and lowers
// limits, all or none of them. Scopes it does not name keep theirs.
type LimitsEntry []Limit

// A RaiseEntry is an administrator's decision to raise one limit.
type RaiseEntry struct {
	Limit       Limit
	Who, Reason string
}

// A ChargeEntry is a charge.
type ChargeEntry Charge

// A VoidEntry takes a charge back.
type VoidEntry struct{ Charge ChargeID }

// An IncidentEntry is an incident.
type IncidentEntry Incident

// A ClearEntry clears the incidents of one analyst, or all when it is empty.
type ClearEntry struct{ Analyst, Reason string }

func (RunEntry) entry()      {}
func (LimitsEntry) entry()   {}
func (RaiseEntry) entry()    {}
func (ChargeEntry) entry()   {}
func (VoidEntry) entry()     {}
func (IncidentEntry) entry() {}
func (ClearEntry) entry()    {}

// A Limit is the most that one scope may ever spend.
type Limit struct {
	Scope Scope
	Loss  dp.Loss
}

// maxVoidable is how many charges, the latest ones, can still be taken back.
// A charge is taken back moments after it was made or never, so the bound only
// keeps the memory of a long run small.
const maxVoidable = 1 << 16

// A State is what the entries of a ledger add up to. It is pure: it reads no
// clock and no file, so a ledger that records, one that recovers and one that
// verifies reach the same State. Its methods are not safe for concurrent use.
type State struct {
	seq       uint64
	balances  map[Scope]Balance
	voidable  map[ChargeID][]Debit
	recent    []ChargeID // the keys of voidable and some former ones, oldest first
	incidents []Incident
}

// NewState returns the state before the first entry: no scope has a budget.
func NewState() *State {
	return &State{balances: map[Scope]Balance{}, voidable: map[ChargeID][]Debit{}}
}

// Seq returns how many entries were applied. A charge's ID is the Seq after it.
func (s *State) Seq() uint64 { return s.seq }

// Apply takes one step. On an error nothing has changed.
func (s *State) Apply(e Entry) error {
	if err := s.apply(e); err != nil {
		return err
	}
	s.seq++
	return nil
}

func (s *State) apply(e Entry) error {
	switch e := e.(type) {
	case RunEntry:
		return s.beginRun(e)
	case LimitsEntry:
		return s.setLimits(e)
	case RaiseEntry:
		return s.raise(e)
	case ChargeEntry:
		return s.charge(Charge(e))
	case VoidEntry:
		return s.void(e.Charge)
	case IncidentEntry:
		return s.addIncident(Incident(e))
	case ClearEntry:
		return s.clearIncidents(e)
	}
	return fmt.Errorf("accountant: unknown entry %T", e)
}

func (s *State) beginRun(e RunEntry) error {
	if err := checkText(e.Boot); err != nil {
		return err
	}
	clear(s.voidable)
	s.recent = nil
	return nil
}

func (s *State) setLimits(limits []Limit) error {
	next := make(map[Scope]Balance, len(limits))
	for _, l := range limits {
		if _, twice := next[l.Scope]; twice {
			return fmt.Errorf("accountant: %v has two limits", l.Scope)
		}
		b, err := s.withLimit(l)
		if err != nil {
			return err
		}
		next[l.Scope] = b
	}
	maps.Copy(s.balances, next)
	return nil
}

// withLimit returns the balance of l's scope under l, which may create a budget
// or lower its limit, even below what is spent.
func (s *State) withLimit(l Limit) (Balance, error) {
	if err := checkText(string(l.Scope.Kind), l.Scope.Name); err != nil {
		return Balance{}, err
	}
	measure := l.Loss.Measure()
	b, known := s.balances[l.Scope]
	switch {
	case l.Scope.Kind == "" || l.Scope.Name == "":
		return Balance{}, fmt.Errorf("accountant: the scope %q has no kind or no name", l.Scope)
	case measure != dp.PureDP && measure != dp.ZCDP:
		return Balance{}, fmt.Errorf("accountant: the limit of %v: %w", l.Scope, dp.ErrMeasure)
	case !known:
		return Balance{Scope: l.Scope, Limit: l.Loss, Spent: dp.Zero(measure)}, nil
	case measure != b.Limit.Measure():
		return Balance{}, fmt.Errorf("accountant: %v is counted in %v and cannot change to %v: %w",
			l.Scope, b.Limit.Measure(), measure, dp.ErrMeasure)
	case !l.Loss.Fits(b.Limit):
		return Balance{}, fmt.Errorf("%w: %v is limited to %v, %v is more and takes an explicit raise with a reason",
			ErrLimitRaise, l.Scope, b.Limit, l.Loss)
	}
	b.Limit = l.Loss
	return b, nil
}

func (s *State) raise(e RaiseEntry) error {
	if err := checkText(e.Who, e.Reason); err != nil {
		return err
	}
	if e.Who == "" || e.Reason == "" {
		return errors.New("accountant: a raise must say who decided it and why")
	}
	b, known := s.balances[e.Limit.Scope]
	if !known {
		return fmt.Errorf("%w: %v", ErrUnknownScope, e.Limit.Scope)
	}
	if !b.Limit.Fits(e.Limit.Loss) || b.Limit == e.Limit.Loss {
		return fmt.Errorf("accountant: %v is limited to %v, and %v is not a raise of it", b.Scope, b.Limit, e.Limit.Loss)
	}
	b.Limit = e.Limit.Loss
	s.balances[b.Scope] = b
	return nil
}

func (s *State) charge(c Charge) error {
	if err := checkText(append([]string{c.Analyst, c.Shape}, c.Events...)...); err != nil {
		return err
	}
	if len(c.Debits) == 0 {
		return errors.New("accountant: a charge without a debit")
	}
	next := make(map[Scope]Balance, len(c.Debits))
	for _, d := range c.Debits {
		if _, twice := next[d.Scope]; twice {
			return fmt.Errorf("accountant: a charge debits %v twice", d.Scope)
		}
		b, err := s.withDebit(d)
		if err != nil {
			return err
		}
		next[d.Scope] = b
	}
	maps.Copy(s.balances, next)
	s.keepVoidable(ChargeID(s.seq+1), c.Debits)
	return nil
}

// withDebit returns the balance of d's scope after d.
func (s *State) withDebit(d Debit) (Balance, error) {
	b, known := s.balances[d.Scope]
	if !known {
		return Balance{}, fmt.Errorf("%w: %v", ErrUnknownScope, d.Scope)
	}
	spent, err := b.Spent.Plus(d.Loss)
	if errors.Is(err, dp.ErrMeasure) {
		return Balance{}, fmt.Errorf("accountant: %v is counted in %v: %w", d.Scope, b.Limit.Measure(), err)
	}
	// A sum that overflows is more than any limit.
	if err != nil || !spent.Fits(b.Limit) {
		return Balance{}, &InsufficientError{Scope: d.Scope, Requested: d.Loss, Remaining: b.remaining()}
	}
	b.Spent = spent
	return b, nil
}

// remaining returns what may still be spent: nothing, in a parameter whose
// limit was lowered below what had been spent.
func (b Balance) remaining() dp.Loss {
	pico := max(0, b.Limit.Pico()-b.Spent.Pico())
	atto := max(0, b.Limit.Atto()-b.Spent.Atto())
	left, err := dp.NewLoss(b.Limit.Measure(), pico, atto)
	if err != nil {
		return dp.Zero(b.Limit.Measure())
	}
	return left
}

func (s *State) keepVoidable(id ChargeID, debits []Debit) {
	s.voidable[id] = slices.Clone(debits)
	s.recent = append(s.recent, id)
	if len(s.recent) > maxVoidable {
		delete(s.voidable, s.recent[0])
		s.recent = s.recent[1:]
	}
}

func (s *State) void(id ChargeID) error {
	debits, ok := s.voidable[id]
	if !ok {
		return fmt.Errorf("%w: %d is not an open charge of this run", ErrNotVoidable, id)
	}
	next := make(map[Scope]Balance, len(debits))
	for _, d := range debits {
		b := s.balances[d.Scope]
		spent, err := b.Spent.Minus(d.Loss)
		if err != nil {
			return fmt.Errorf("%w: %d: %w", ErrNotVoidable, id, err)
		}
		b.Spent = spent
		next[d.Scope] = b
	}
	maps.Copy(s.balances, next)
	delete(s.voidable, id)
	return nil
}

// addIncident also ends the time in which the charge can be taken back: its
// query was sent.
func (s *State) addIncident(in Incident) error {
	if err := checkText(in.Analyst, in.Shape); err != nil {
		return err
	}
	if in.Charge == 0 || uint64(in.Charge) > s.seq {
		return fmt.Errorf("accountant: an incident of the charge %d, which does not exist", in.Charge)
	}
	s.incidents = append(s.incidents, in)
	delete(s.voidable, in.Charge)
	return nil
}

func (s *State) clearIncidents(e ClearEntry) error {
	if err := checkText(e.Analyst, e.Reason); err != nil {
		return err
	}
	if e.Reason == "" {
		return errors.New("accountant: incidents are cleared with a reason")
	}
	s.incidents = slices.DeleteFunc(s.incidents, func(in Incident) bool {
		return e.Analyst == "" || in.Analyst == e.Analyst
	})
	return nil
}

// checkText refuses text that is not UTF-8, because an encoder could map two
// such names to one.
func checkText(texts ...string) error {
	for _, t := range texts {
		if !utf8.ValidString(t) {
			return fmt.Errorf("accountant: %q is not UTF-8", t)
		}
	}
	return nil
}

// Balances returns the balances of the given scopes in their order, or of all,
// ordered by kind and name, when none is given.
func (s *State) Balances(scopes ...Scope) ([]Balance, error) {
	if len(scopes) == 0 {
		return slices.SortedFunc(maps.Values(s.balances), byScope), nil
	}
	balances := make([]Balance, 0, len(scopes))
	for _, scope := range scopes {
		b, known := s.balances[scope]
		if !known {
			return nil, fmt.Errorf("%w: %v", ErrUnknownScope, scope)
		}
		balances = append(balances, b)
	}
	return balances, nil
}

func byScope(a, b Balance) int {
	return cmp.Or(cmp.Compare(a.Scope.Kind, b.Scope.Kind), cmp.Compare(a.Scope.Name, b.Scope.Name))
}

// Incidents returns the incidents that were not cleared, oldest first.
func (s *State) Incidents() []Incident { return slices.Clone(s.incidents) }
