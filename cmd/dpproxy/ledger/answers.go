package ledger

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
	"dpproxy/accountant/logledger"
	"dpproxy/accountant/realized"
	"dpproxy/config"
	"dpproxy/dp"
	"dpproxy/planner/policy"
	"dpproxy/survey"
)

// AnswersOf opens the answers of a local table that a ledger has, only to read them, with public columns by their IDs if there are any.
// Files that are missing or others are an error.
func AnswersOf(p *config.Policy, state *history.State, l policy.LocalTable, public ...string) (*survey.Table, error) {
	name := l.Name.String()
	surveys, epoch := history.SurveysOf(state, name)
	if len(surveys) > 0 {
		name = surveys[0].Table // the one that it had, if a decision has renamed its budget since
	}
	t, err := survey.Open(filepath.Join(p.Ledger.Dir, "local", name), name, public, surveys, epoch, true)
	if err == nil {
		err = t.Frozen()
	}
	if err != nil {
		return nil, fmt.Errorf("the answers of local table %s: %w", name, err)
	}
	return t, nil
}

// verifySurveys compares the files of local tables with the surveys that the ledger has.
func verifySurveys(p *config.Policy, state *history.State) error {
	var all error
	for _, l := range p.Local {
		_, err := AnswersOf(p, state, l)
		all = errors.Join(all, err)
	}
	return all
}

// CheckAnswers compares the files of a policy's local tables with its ledger, where there is one.
func CheckAnswers(ctx context.Context, p *config.Policy) error {
	if len(p.Local) == 0 {
		return nil
	}
	state, err := (&Books{Policy: p}).State(ctx)
	if errors.Is(err, logledger.ErrNoLedger) {
		return nil
	}
	if err != nil {
		return err
	}
	return verifySurveys(p, state)
}

// A localLoss sums up the losses of the objects of a local table.
type localLoss struct {
	objects, exhausted int
	most               int64 // of one, in 10⁻¹²
}

// withObjects puts the largest loss of an object in the place of the spent part of each budget of objects, which the ledger does not
// know. The notes say of which budgets that is.
func withObjects(
	p *config.Policy, state *history.State, balances []accountant.Balance,
) ([]accountant.Balance, map[accountant.Scope]string, error) {
	all, notes := slices.Clone(balances), map[accountant.Scope]string{}
	for i, b := range all {
		at := slices.IndexFunc(p.Local, func(l policy.LocalTable) bool { return l.Name.String() == b.Scope.Name })
		if b.Scope.Kind != accountant.LocalScope || at < 0 {
			continue
		}
		loss, err := lost(p, state, p.Local[at], b)
		if err != nil {
			notes[b.Scope] = "of each object; " + err.Error()
			continue
		}
		if all[i].Spent, err = dp.NewLoss(b.Limit.Measure(), loss.most, 0); err != nil {
			return nil, nil, err
		}
		notes[b.Scope] = fmt.Sprintf("of each object: SPENT is the most that one has lost; of %d, %d have nothing left", loss.objects,
			loss.exhausted)
	}
	return all, notes, nil
}

// lost sums up the losses of objects.
func lost(p *config.Policy, state *history.State, l policy.LocalTable, b accountant.Balance) (out localLoss, err error) {
	t, err := AnswersOf(p, state, l)
	if err != nil {
		return out, err
	}
	losses, err := t.Losses()
	if err != nil {
		return out, err
	}
	filter, err := realized.NewFilter(realized.Limit{EpsilonPico: b.Limit.Pico(), DeltaAtto: b.Limit.Atto()})
	if err != nil {
		return out, err
	}
	distinct := losses.Distinct()
	left := make([]int64, len(distinct))
	for i, spent := range distinct {
		left[i] = filter.Remaining(spent)
	}
	for i := range losses.Objects() {
		at := losses.At(i)
		out.objects++
		out.most = max(out.most, distinct[at].LossPico)
		if left[at] == 0 {
			out.exhausted++
		}
	}
	return out, nil
}
