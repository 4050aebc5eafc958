package witness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
	"dpproxy/dp"
)

// A BehindError says that a ledger is not the latest: a mark names an entry that it does not have.
type BehindError struct {
	Place string // of the mark
	Mark  Mark
	Has   uint64 // how many entries the ledger has
	// Lost are the losses that the ledger has to be charged again, so that it counts all that the mark proves.
	Lost []accountant.Debit
}

// Forked reports whether the ledger went on without the entries that it lacks.
func (e *BehindError) Forked() bool { return e.Has >= e.Mark.Seq }

// Error implements error.
func (e *BehindError) Error() string {
	var lost []string
	for _, d := range e.Lost {
		lost = append(lost, fmt.Sprintf("%v of %v", d.Loss, d.Scope))
	}
	what := "nothing that budgets count"
	if len(lost) > 0 {
		what = strings.Join(lost, ", ")
	}
	if e.Forked() {
		return fmt.Sprintf("the ledger is an older copy that went on: %s has the mark of another entry %d. "+
			"To be charged again, at most: %s", e.Place, e.Mark.Seq, what)
	}
	return fmt.Sprintf("the ledger is an older copy: it ends with entry %d, and %s has the mark of entry %d, %d later. "+
		"To be charged again: %s", e.Has, e.Place, e.Mark.Seq, e.Mark.Seq-e.Has, what)
}

// confirm compares a ledger with a mark that was read before. Both move, and each entry is in the ledger before a mark names
// it. So the ledger is looked at after the mark, and once more before it is believed to be an older copy.
func confirm(ctx context.Context, place string, m Mark, p history.Past) (err error) {
	for range 2 {
		if p, err = p.Now(ctx); err != nil {
			return err
		}
		if err = compare(ctx, place, m, p); !isBehind(err) {
			return err
		}
	}
	return err
}

func isBehind(err error) bool {
	_, is := errors.AsType[*BehindError](err)
	return is
}

// compare returns a [*BehindError] where a ledger does not contain the entry of a mark.
func compare(ctx context.Context, place string, m Mark, p history.Past) error {
	if m.Seq <= p.Seq {
		head, err := p.HeadOf(ctx, m.Seq)
		if err == nil && head == m.Head {
			return nil
		}
		if err != nil && !errors.Is(err, history.ErrNoEntry) {
			return err
		}
	}
	e := &BehindError{Place: place, Mark: m, Has: p.Seq}
	var err error
	e.Lost, err = lost(m, p, e.Forked())
	return errors.Join(err, e)
}

// lost returns the losses that a ledger has to be charged so that it counts all that a mark proves. Amounts held at the mark
// may have been spent since, and those prepaid in the ledger may have been used since. Of a ledger that went on nobody
// knows which part of the mark's charges it has: all of them are charged.
func lost(m Mark, p history.Past, forked bool) ([]accountant.Debit, error) {
	var all []accountant.Debit
	from, to, other := otherUnit(p.Balances, m.Balances)
	for _, b := range m.Balances {
		lacks, err := b.Spent.Plus(b.Held)
		if err != nil {
			return nil, err
		}
		has, known := balanceOf(p.Balances, b.Scope)
		if other && b.Scope == to.Scope {
			has, known = from, from.Limit.Measure() == to.Limit.Measure()
		}
		if known && !forked {
			if lacks, err = above(lacks, has.Spent); err != nil {
				return nil, err
			}
		}
		for _, d := range p.Prepaid {
			if d.Scope != b.Scope {
				continue
			}
			if lacks, err = lacks.Plus(d.Loss); err != nil {
				return nil, err
			}
		}
		if !lacks.IsZero() {
			all = append(all, accountant.Debit{Scope: b.Scope, Loss: lacks})
		}
	}
	return all, nil
}

func balanceOf(all []accountant.Balance, s accountant.Scope) (accountant.Balance, bool) {
	for _, b := range all {
		if b.Scope == s {
			return b, true
		}
	}
	return accountant.Balance{}, false
}

// above returns how much a loss is more than another, in each of its parameters.
func above(l, than dp.Loss) (dp.Loss, error) {
	return dp.NewLoss(l.Measure(), max(0, l.Pico()-than.Pico()), max(0, l.Atto()-than.Atto()))
}

// otherUnit returns the one budget of a unit that a ledger has under another name than the one of a mark.
func otherUnit(has, marked []accountant.Balance) (from, to accountant.Balance, other bool) {
	from, one := unitOf(has)
	to, marks := unitOf(marked)
	return from, to, one && marks && from.Scope != to.Scope
}

// unitOf returns the budget of the unit, if there is one and no more.
func unitOf(all []accountant.Balance) (unit accountant.Balance, one bool) {
	n := 0
	for _, b := range all {
		if b.Scope.Kind == accountant.UnitScope {
			unit = b
			n++
		}
	}
	return unit, n == 1
}

// Decisions returns the entries that make a ledger count all that the mark proves, in their order: budgets that it does not
// know, names of the unit, lower limits, freezes and charges. Nothing is raised or thawed.
func (e *BehindError) Decisions(has []accountant.Balance, who, reason string) (
	limits []accountant.Limit, decisions []history.Entry, err error,
) {
	if from, to, other := otherUnit(has, e.Mark.Balances); other {
		decisions = append(decisions, history.RenameEntry{From: from.Scope, To: to.Scope, Who: who, Reason: reason})
		from.Scope = to.Scope
		has = append(slices.Clone(has), from)
	}
	for _, b := range e.Mark.Balances {
		now, known := balanceOf(has, b.Scope)
		if !known {
			limits = append(limits, accountant.Limit{Scope: b.Scope, Loss: b.Limit})
			now = accountant.Balance{Limit: b.Limit}
		}
		if now.Limit.Comparable(b.Limit) && !now.Limit.Fits(b.Limit) {
			lower, err := dp.NewLoss(b.Limit.Measure(), min(now.Limit.Pico(), b.Limit.Pico()), min(now.Limit.Atto(), b.Limit.Atto()))
			if err != nil {
				return nil, nil, err
			}
			limit := accountant.Limit{Scope: b.Scope, Loss: lower}
			decisions = append(decisions, history.LowerEntry{Limit: limit, Who: who, Reason: reason})
		}
		if b.Frozen && !now.Frozen {
			decisions = append(decisions, history.FreezeEntry{Scope: b.Scope, Frozen: true, Who: who, Reason: reason})
		}
	}
	if len(e.Lost) > 0 {
		decisions = append(decisions, history.RestoreEntry{Debits: e.Lost, Who: who, Reason: reason})
	}
	return limits, decisions, nil
}
