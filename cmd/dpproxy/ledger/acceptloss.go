package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
	"dpproxy/accountant/logledger"
	"dpproxy/accountant/redisledger"
	"dpproxy/accountant/witness"
	"dpproxy/cmd/dpproxy/site"
)

// A mendable ledger takes decisions, budgets that it does not know, and a mark.
type mendable interface {
	decider
	witness.Ledger
	Balances(ctx context.Context, scopes ...accountant.Scope) ([]accountant.Balance, error)
}

// errLatest says that there is nothing to accept.
var errLatest = errors.New("the ledger has the entries of all its marks: nothing is lost, and nothing was changed")

// acceptLoss has a ledger that is older than its marks count all that they prove. After journals were put back, the entry of
// a mark may be in one of them: its charges are counted then.
func acceptLoss(ctx context.Context, log *slog.Logger, s *Books, of *site.Site, c *ledgerRepair, who string) error {
	marks, closePlaces := openWitness(s, log, func() *site.Site { return of })
	defer closePlaces(ctx)
	var behind *witness.BehindError
	l, err := openOlder(ctx, log, s, func(ctx context.Context, p history.Past) error {
		err := marks.Confirm(ctx, p)
		older, is := errors.AsType[*witness.BehindError](err)
		switch {
		case is && (c.AcceptLoss || inJournals(ctx, c.Journal, older.Mark)):
			behind = older
			return nil
		case err == nil && len(c.Journal) == 0:
			return errLatest
		}
		return err
	})
	if err != nil {
		return s.advise(err)
	}
	if behind != nil {
		if inJournals(ctx, c.Journal, behind.Mark) {
			behind.Lost = nil
		}
		if err := mend(ctx, l, behind, who, c.Reason); err != nil {
			return errors.Join(err, l.Close())
		}
	}
	return errors.Join(marks.Mark(ctx, l), l.Close())
}

// inJournals reports whether one of the journals has the entry of a mark.
func inJournals(ctx context.Context, journals []string, m witness.Mark) bool {
	for _, dir := range journals {
		if has, err := logledger.HasEntry(ctx, dir, m.Seq, m.Head); err == nil && has {
			return true
		}
	}
	return false
}

// openOlder opens the ledger to mend it.
func openOlder(ctx context.Context, log *slog.Logger, s *Books, accept confirm) (mendable, error) {
	if !s.Shared() {
		return logledger.Open(ctx, s.Policy.Ledger.Dir, nil, logledger.Options{Log: log, Confirm: accept})
	}
	o, err := s.redisOptions(log)
	if err != nil {
		return nil, err
	}
	o.Confirm = accept
	return redisledger.OpenReader(ctx, o, func(history.Record) {})
}

// mend charges what a mark proves, and repeats the decisions that it knows and that protect more.
func mend(ctx context.Context, l mendable, e *witness.BehindError, who, reason string) error {
	const what = "an older ledger was accepted: "
	// First of all nobody charges any more, whatever becomes of the rest.
	if shared, ok := l.(*redisledger.Ledger); ok {
		if err := shared.Decide(ctx, history.FenceEntry{Who: who, Reason: what + reason}); err != nil {
			return err
		}
	}
	has, err := l.Balances(ctx)
	if err != nil {
		return err
	}
	limits, decisions, err := e.Decisions(has, who, what+reason)
	if err != nil {
		return err
	}
	if len(limits) > 0 {
		if err := addBudgets(ctx, l, limits); err != nil {
			return err
		}
	}
	for _, d := range decisions {
		if err := l.Decide(ctx, d); err != nil {
			return err
		}
	}
	note := fmt.Sprintf("%s the mark of entry %d, on %s; there were %d entries", what+reason+";", e.Mark.Seq, e.Place, e.Has)
	if err := l.Decide(ctx, history.NoteEntry{Who: who, Text: note}); err != nil {
		return err
	}
	for _, d := range e.Lost {
		fmt.Printf("charged again: %v to %v\n", d.Loss, d.Scope)
	}
	fmt.Printf("the ledger counts all that the mark of entry %d on %s proves; what was charged in the seconds behind that mark, "+
		"and failed reads since the copy, nobody knows\n", e.Mark.Seq, e.Place)
	return nil
}

// addBudgets adds budgets that the ledger does not know.
func addBudgets(ctx context.Context, l mendable, limits []accountant.Limit) error {
	if own, ok := l.(*logledger.Ledger); ok {
		return own.SetLimits(ctx, limits)
	}
	return l.Decide(ctx, history.LimitsEntry(limits))
}
