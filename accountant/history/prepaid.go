package history

import (
	"errors"
	"fmt"
	"slices"

	"dpproxy/accountant"
)

// maxUnanswered is how many unanswered charges, the latest ones, are prepaid. An older one is spent for
// nothing: the bound keeps a state small.
const maxUnanswered = 1 << 12

// Prepaid returns the latest amount that is prepaid for a question, the zero value if nothing is.
func (s *State) Prepaid(question string) accountant.Prepaid {
	for _, p := range slices.Backward(s.unanswered) {
		if p.question == question && question != "" {
			return accountant.Prepaid{Charge: p.id, Debits: slices.Clone(p.debits)}
		}
	}
	return accountant.Prepaid{}
}

// unanswer makes the amount that a charge or a hold has spent prepaid for its question. It ends the time in which
// a [VoidEntry] can take the charge back.
func (s *State) unanswer(run string, id accountant.ChargeID) error {
	refused := fmt.Errorf("%w: %d is not an open charge of this run", accountant.ErrNotPrepaid, id)
	p := prepaid{id: id}
	if o, ok := s.voidable[id]; ok && o.run == run && o.question != "" {
		p.question, p.debits = o.question, o.debits
		drop(s, s.voidable, id)
	} else if h, ok := s.holds[id]; ok && h.run == run && h.question != "" {
		p.question, p.debits = h.question, h.paid
		s.giveBack(id)
	} else {
		return refused
	}
	if len(p.debits) == 0 {
		return nil
	}
	all := append(slices.Clip(s.unanswered), p)
	change(s, &s.unanswered, all[max(0, len(all)-maxUnanswered):])
	return nil
}

// checkPrepaid refuses a charge that names an amount as prepaid that is not, or that a frozen budget has paid: nothing
// is drawn then that needs it.
func (s *State) checkPrepaid(c accountant.Charge) error {
	if c.Prepaid.Charge == 0 {
		if len(c.Prepaid.Debits) > 0 {
			return errors.New("history: a charge is prepaid by no other")
		}
		return nil
	}
	i := indexOf(s.unanswered, c.Prepaid.Charge)
	if i < 0 || s.unanswered[i].question != c.Question || !slices.Equal(s.unanswered[i].debits, c.Prepaid.Debits) {
		return fmt.Errorf("%w: %d", accountant.ErrNotPrepaid, c.Prepaid.Charge)
	}
	for _, d := range c.Prepaid.Debits {
		if s.balances[named(s, d.Scope)].Frozen {
			return fmt.Errorf("%w: %v", accountant.ErrFrozen, d.Scope)
		}
	}
	return nil
}

func indexOf(all []prepaid, id accountant.ChargeID) int {
	return slices.IndexFunc(all, func(p prepaid) bool { return p.id == id })
}

// usePrepaid uses up the amount that a charge names as prepaid.
func (s *State) usePrepaid(c accountant.Charge) {
	if i := indexOf(s.unanswered, c.Prepaid.Charge); i >= 0 {
		change(s, &s.unanswered, slices.Delete(slices.Clone(s.unanswered), i, i+1))
	}
}

// joined adds debits to others, each scope once.
func joined(some, more []accountant.Debit) ([]accountant.Debit, error) {
	all := slices.Clone(some)
	for _, d := range more {
		i := slices.IndexFunc(all, func(other accountant.Debit) bool { return other.Scope == d.Scope })
		if i < 0 {
			all = append(all, d)
			continue
		}
		sum, err := all[i].Loss.Plus(d.Loss)
		if err != nil {
			return nil, fmt.Errorf("history: what %v has paid: %w", d.Scope, err)
		}
		all[i].Loss = sum
	}
	return all, nil
}
