package local

import (
	"context"
	"errors"
	"fmt"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
	"dpproxy/accountant/logledger"
	"dpproxy/accountant/realized"
	"dpproxy/cmd/dpproxy/ledger"
	"dpproxy/mirror"
	"dpproxy/proxy/survey"
)

// ShowAnswers has the mirror show the answers of local tables that it does not show at all, such as after it was made anew. Others are
// left to the dpproxy that serves.
func (s Site) ShowAnswers(ctx context.Context, report func(string)) error {
	tables, _, err := s.tables(ctx)
	if err != nil || len(tables) == 0 {
		return err
	}
	b := &ledger.Books{Policy: s.Policy}
	state, err := b.State(ctx)
	if errors.Is(err, logledger.ErrNoLedger) {
		return nil // nothing was asked
	}
	if err != nil {
		return err
	}
	r, err := ledger.ReadRuling(ctx, s.Site)
	if err != nil {
		return err
	}
	others, err := s.OtherObjects(ctx, r, history.LinksOf(state))
	if err != nil {
		return err
	}
	down, err := s.ConnectMirror(ctx)
	if err != nil {
		return err
	}
	defer down.Close(ctx)
	for _, l := range tables {
		if other := others[l.Name]; other != nil {
			report(fmt.Sprintf("%slocal.%s is not shown: %v", mirror.Warning, l.Name.Name, other))
			continue
		}
		if shown, err := mirror.LocalState(ctx, down, l.Name.Name); err != nil || shown != "" {
			if err != nil {
				return err
			}
			continue
		}
		answers, err := ledger.AnswersOf(s.Policy, state, l.LocalTable, l.PublicIDs()...)
		if err != nil {
			return err
		}
		if len(answers.Surveys()) == 0 {
			continue
		}
		balances, err := state.Balances(accountant.Scope{Kind: accountant.LocalScope, Name: l.Name.String()})
		if err != nil {
			return err
		}
		limit := realized.Limit{
			EpsilonPico: min(l.BudgetPico, balances[0].Limit.Pico()), DeltaAtto: min(l.DeltaAtto, balances[0].Limit.Atto()),
		}
		if err := survey.Show(ctx, l, answers, s.Readers()[l.Name], limit, s.ConnectMirror); err != nil {
			return err
		}
		report(fmt.Sprintf("local.%s: made from the answers to %d surveys", l.Name.Name, len(answers.Surveys())))
	}
	return nil
}
