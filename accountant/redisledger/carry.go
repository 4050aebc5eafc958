package redisledger

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
	"dpproxy/dp"
)

// carryOver repeats the decisions of a history that Redis does not continue, where
// they protect more: budgets that Redis does not know, lower limits, freezes, and
// incidents. It returns them in words.
func (l *Ledger) carryOver(ctx context.Context, p past, who, reason string) (carried []string, err error) {
	end, err := p.state()
	if err != nil {
		return nil, err
	}
	balances, err := end.Balances()
	if err != nil {
		return nil, err
	}
	if carried, err = l.renameAsIn(ctx, p, who, reason); err != nil {
		return carried, err
	}
	for _, b := range balances {
		decisions, err := l.missing(ctx, b, who, reason)
		if err != nil {
			return carried, err
		}
		for _, e := range decisions {
			if err := l.Decide(ctx, e); err != nil {
				return carried, err
			}
			carried = append(carried, fmt.Sprintf("%v: %s", b.Scope, named(e)))
		}
	}
	incidents, err := l.Incidents(ctx)
	if err != nil {
		return carried, err
	}
	for _, in := range end.Incidents() {
		known := func(other accountant.Incident) bool { return other.Analyst == in.Analyst && other.Shape == in.Shape }
		if slices.ContainsFunc(incidents, known) {
			continue
		}
		in.Charge = 1 // its own number is of the other history
		if err := l.Decide(ctx, history.IncidentEntry(in)); err != nil {
			return carried, err
		}
		carried = append(carried, fmt.Sprintf("incident of %s, shape %s", in.Analyst, in.Shape))
	}
	return carried, nil
}

// renameAsIn repeats the decisions of a history that gave a budget of Redis another name.
func (l *Ledger) renameAsIn(ctx context.Context, p past, who, reason string) (carried []string, err error) {
	for i, line := range p.lines {
		prev, err := p.head(uint64(i))
		if err != nil {
			return carried, err
		}
		r, err := history.Decode(line, uint64(i)+1, prev)
		if err != nil {
			return carried, err
		}
		e, is := r.Entry.(history.RenameEntry)
		if !is {
			continue
		}
		now, err := l.Balances(ctx, e.From)
		if errors.Is(err, accountant.ErrUnknownScope) || err == nil && now[0].Scope != e.From {
			continue // Redis does not have the budget, or has the decision
		}
		e.Who, e.Reason = who, reason
		if err = errors.Join(err, l.Decide(ctx, e)); err != nil {
			return carried, err
		}
		carried = append(carried, fmt.Sprintf("%v: %s", e.From, named(e)))
	}
	return carried, nil
}

// state returns the state that the lines of a journal add up to.
func (p past) state() (*history.State, error) {
	s := history.NewState()
	for i, line := range p.lines {
		prev, err := p.head(uint64(i))
		if err != nil {
			return nil, err
		}
		r, err := history.Decode(line, uint64(i)+1, prev)
		if err != nil {
			return nil, err
		}
		if err := s.Apply(r.Run, r.Entry); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// missing returns the decisions that a budget lacks against another history's.
func (l *Ledger) missing(ctx context.Context, other accountant.Balance, who, reason string) ([]history.Entry, error) {
	limit := accountant.Limit{Scope: other.Scope, Loss: other.Limit}
	var missing []history.Entry
	now, err := l.Balances(ctx, other.Scope)
	switch {
	case errors.Is(err, accountant.ErrUnknownScope):
		missing, now = append(missing, history.LimitsEntry{limit}), []accountant.Balance{{Limit: other.Limit}}
	case err != nil:
		return nil, err
	}
	if have := now[0].Limit; have.Comparable(other.Limit) && !have.Fits(other.Limit) {
		limit.Loss, err = dp.NewLoss(have.Measure(), min(have.Pico(), other.Limit.Pico()), min(have.Atto(), other.Limit.Atto()))
		if err != nil {
			return nil, err
		}
		missing = append(missing, history.LowerEntry{Limit: limit, Who: who, Reason: reason})
	}
	if other.Frozen && !now[0].Frozen {
		missing = append(missing, history.FreezeEntry{Scope: other.Scope, Frozen: true, Who: who, Reason: reason})
	}
	return missing, nil
}

// named is the kind of a decision, for people.
func named(e history.Entry) string {
	switch e := e.(type) {
	case history.LimitsEntry:
		return fmt.Sprintf("a budget of %v", e[0].Loss)
	case history.LowerEntry:
		return fmt.Sprintf("lowered to %v", e.Limit.Loss)
	case history.FreezeEntry:
		return "frozen"
	case history.RenameEntry:
		return fmt.Sprintf("is %v now", e.To)
	case history.BeginEntry, history.ChargeEntry, history.VoidEntry, history.HoldEntry, history.StepEntry,
		history.SettleEntry, history.UnansweredEntry, history.IncidentEntry, history.ClearEntry, history.RaiseEntry, history.FenceEntry,
		history.RestoreEntry, history.NoteEntry, history.CheckpointEntry, history.SurveyEntry, history.EpochEntry,
		history.FormatEntry, history.PolicyEntry, history.RetireEntry:
	}
	return ""
}
