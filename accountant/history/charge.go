package history

import (
	"errors"
	"fmt"
	"slices"

	"dpproxy/accountant"
	"dpproxy/dp"
)

func (s *State) charge(run string, c accountant.Charge) error {
	next, err := s.reserve(run, c, func(b *accountant.Balance) *dp.Loss { return &b.Spent })
	if err != nil {
		return err
	}
	paid, err := joined(c.Prepaid.Debits, c.Debits)
	if err != nil {
		return err
	}
	s.putBalances(next)
	s.usePrepaid(c)
	s.keepVoidable(accountant.ChargeID(s.seq+1), open{run: run, debits: paid, question: c.Question})
	return nil
}

func (s *State) hold(run string, c accountant.Charge) error {
	var err error
	if c.Debits, err = current(s, c.Debits); err != nil {
		return err
	}
	next, err := s.reserve(run, c, func(b *accountant.Balance) *dp.Loss { return &b.Held })
	if err != nil {
		return err
	}
	s.putBalances(next)
	s.usePrepaid(c)
	h := open{run: run, debits: slices.Clone(c.Debits), question: c.Question}
	if c.Question != "" {
		h.paid = slices.Clone(c.Prepaid.Debits)
	}
	put(s, s.holds, accountant.ChargeID(s.seq+1), h)
	return nil
}

// reserve returns the balances after adding a charge's debits to the given part
// of them, if every scope has that much left. A prepaid amount was added before.
func (s *State) reserve(run string, c accountant.Charge, part func(*accountant.Balance) *dp.Loss) (balances, error) {
	if err := checkText(append([]string{c.Analyst, c.Shape, c.Question}, c.Events...)...); err != nil {
		return nil, err
	}
	if run == "" {
		return nil, errors.New("history: a charge without a run")
	}
	if err := s.Admit(run, c.Analyst, c.Shape); err != nil {
		return nil, err
	}
	if err := s.checkPrepaid(c); err != nil {
		return nil, err
	}
	if err := checkCover(s, c); err != nil {
		return nil, err
	}
	if len(c.Debits) == 0 && c.Prepaid.Charge != 0 {
		return nil, nil
	}
	return s.each(c.Debits, func(b *accountant.Balance, loss dp.Loss) error { return addWithin(b, part(b), loss) })
}

// addWithin adds a loss to a part of a balance, if that much is left.
func addWithin(b *accountant.Balance, part *dp.Loss, loss dp.Loss) error {
	if b.Frozen {
		return fmt.Errorf("%w: %v", accountant.ErrFrozen, b.Scope)
	}
	sum, err := part.Plus(loss)
	if errors.Is(err, dp.ErrMeasure) {
		return fmt.Errorf("history: %v is counted in %v: %w", b.Scope, b.Limit.Measure(), err)
	}
	short := &accountant.InsufficientError{Scope: b.Scope, Requested: loss, Remaining: b.Remaining()}
	if err != nil {
		return short // a sum that overflows is more than any limit
	}
	*part = sum
	total, err := b.Spent.Plus(b.Held)
	if err != nil || !total.Fits(b.Limit) {
		return short
	}
	return nil
}

// Admit refuses a run that has ended, and an analyst and a shape with incidents: a
// read that failed may have depended on a row.
func (s *State) Admit(run, analyst, shape string) error {
	if !s.runs[run] {
		return fmt.Errorf("%w: the run %q", accountant.ErrFenced, run)
	}
	caused := 0
	for _, in := range s.incidents {
		if in.Shape == shape && shape != "" {
			return fmt.Errorf("%w: %s", accountant.ErrQuarantined, shape)
		}
		if named(s, analystScope(in.Analyst)) == named(s, analystScope(analyst)) {
			caused++
		}
	}
	if caused >= accountant.MaxIncidents {
		return fmt.Errorf("%w: %s", accountant.ErrSuspended, analyst)
	}
	return nil
}

func analystScope(name string) accountant.Scope {
	return accountant.Scope{Kind: accountant.AnalystScope, Name: name}
}

// current returns debits of the budgets that have their names by now: those of two names of one budget are added up.
func current(s *State, debits []accountant.Debit) ([]accountant.Debit, error) {
	if !slices.ContainsFunc(debits, func(d accountant.Debit) bool { return named(s, d.Scope) != d.Scope }) {
		return debits, nil
	}
	var all []accountant.Debit
	for _, d := range debits {
		var err error
		if all, err = joined(all, []accountant.Debit{{Scope: named(s, d.Scope), Loss: d.Loss}}); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// each returns the balances after a change for each debit, or why there is none.
func (s *State) each(debits []accountant.Debit, change func(*accountant.Balance, dp.Loss) error) (balances, error) {
	if len(debits) == 0 {
		return nil, errors.New("history: a charge without a debit")
	}
	debits, err := current(s, debits)
	if err != nil {
		return nil, err
	}
	next := make(balances, len(debits))
	for _, d := range debits {
		if _, twice := next[d.Scope]; twice {
			return nil, fmt.Errorf("history: a charge debits %v twice", d.Scope)
		}
		b, known := s.balances[d.Scope]
		if !known {
			return nil, fmt.Errorf("%w: %v", accountant.ErrUnknownScope, d.Scope)
		}
		if err := change(&b, d.Loss); err != nil {
			return nil, err
		}
		next[d.Scope] = b
	}
	return next, nil
}

func (s *State) restore(e RestoreEntry) error {
	if err := decided(e.Who, e.Reason); err != nil {
		return err
	}
	next, err := s.each(e.Debits, func(b *accountant.Balance, loss dp.Loss) (err error) {
		b.Spent, err = b.Spent.Plus(loss)
		return err
	})
	if err == nil && s.format >= sharedFormat {
		err = spread(s, next, e.Debits)
	}
	if err != nil {
		return err
	}
	s.putBalances(next)
	return nil
}

func (s *State) keepVoidable(id accountant.ChargeID, o open) {
	put(s, s.voidable, id, o)
	change(s, &s.recent, append(s.recent, id))
	if len(s.recent) > maxVoidable {
		drop(s, s.voidable, s.recent[0])
		change(s, &s.recent, s.recent[1:])
	}
}

func (s *State) void(run string, id accountant.ChargeID) error {
	o, ok := s.voidable[id]
	if !ok || o.run != run || o.question != "" { // whoever wrote one of these knew no question
		return fmt.Errorf("%w: %d is not an open charge of this run", ErrNotVoidable, id)
	}
	next, err := s.each(o.debits, func(b *accountant.Balance, loss dp.Loss) (err error) {
		b.Spent, err = b.Spent.Minus(loss)
		return err
	})
	if err != nil {
		return fmt.Errorf("%w: %d: %w", ErrNotVoidable, id, err)
	}
	s.putBalances(next)
	drop(s, s.voidable, id)
	return nil
}

// step moves part of a hold to the amount spent. Its admission was the hold's: a
// limit that was lowered since, or a scope that was frozen, does not stop a chain
// whose answers may already have been seen.
func (s *State) step(run string, e StepEntry) error {
	if err := checkText(e.Events...); err != nil {
		return err
	}
	h, ok := s.holds[e.Hold]
	if !ok || h.run != run {
		return fmt.Errorf("%w: %d is not a hold of this run", accountant.ErrNotHeld, e.Hold)
	}
	left := slices.Clone(h.debits)
	next, err := s.each(e.Debits, func(b *accountant.Balance, loss dp.Loss) (err error) {
		i := slices.IndexFunc(left, func(d accountant.Debit) bool { return d.Scope == b.Scope })
		if i < 0 {
			return fmt.Errorf("%w: the hold %d has nothing of %v", accountant.ErrNotHeld, e.Hold, b.Scope)
		}
		if left[i].Loss, err = left[i].Loss.Minus(loss); err != nil {
			return fmt.Errorf("%w: the hold %d: %w", accountant.ErrNotHeld, e.Hold, err)
		}
		if b.Held, err = b.Held.Minus(loss); err != nil {
			return err
		}
		b.Spent, err = b.Spent.Plus(loss)
		return err
	})
	if err != nil {
		return err
	}
	h.debits, h.stepped = left, slices.Concat(h.stepped, e.Debits)
	if h.question != "" {
		if h.paid, err = joined(h.paid, e.Debits); err != nil {
			return err
		}
	}
	s.putBalances(next)
	put(s, s.holds, e.Hold, h)
	return nil
}

func (s *State) settle(run string, id accountant.ChargeID) error {
	if h, ok := s.holds[id]; !ok || h.run != run {
		return fmt.Errorf("%w: %d is not a hold of this run", accountant.ErrNotHeld, id)
	}
	s.giveBack(id)
	return nil
}

// giveBack ends a hold.
func (s *State) giveBack(id accountant.ChargeID) {
	for _, d := range s.holds[id].debits {
		b, known := s.balances[named(s, d.Scope)]
		if held, err := b.Held.Minus(d.Loss); known && err == nil { // always: the amount held is the sum of the holds
			b.Held = held
			put(s, s.balances, b.Scope, b)
		}
	}
	drop(s, s.holds, id)
}
