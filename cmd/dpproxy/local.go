package main

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"reflect"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
	"dpproxy/accountant/witness"
	"dpproxy/catalog"
	"dpproxy/config"
	"dpproxy/mechanisms"
	"dpproxy/mirror/introspect"
	"dpproxy/mirror/steady"
	"dpproxy/planner/policy"
	"dpproxy/proxy/survey"
)

// localSite is the part of a site that is of the local model.
type localSite struct{ *site }

// tables checks the local tables of the policy against the protected database.
func (s localSite) tables(ctx context.Context) (tables []*policy.Local, before14 bool, err error) {
	if len(s.policy.Local) == 0 {
		return nil, false, nil
	}
	conn, err := s.connectData(ctx)
	if err != nil {
		return nil, false, err
	}
	defer conn.Close(ctx)
	var names []catalog.Name
	for _, t := range s.policy.Local {
		names = append(names, t.Name)
	}
	tx, err := steady.Open(ctx, conn, names)
	if err != nil {
		return nil, false, err
	}
	defer tx.Rollback(ctx)
	schema, err := introspect.Read(ctx, tx, introspect.Relations{Names: names})
	if err != nil {
		return nil, false, err
	}
	var all []policy.Problem
	for _, t := range s.policy.Local {
		l, problems := policy.CheckLocal(t, schema)
		all = append(all, problems...)
		tables = append(tables, l)
	}
	return tables, schema.ServerVersion < 140000, s.annotate(all)
}

// witnessedSurveys are recorded only as long as the ledger is marked.
type witnessedSurveys struct {
	surveyLedger
	marks  *witness.Witness
	decide func(ctx context.Context, decision history.Entry) error
}

// A surveyLedger records surveys.
type surveyLedger interface {
	Survey(ctx context.Context, s accountant.Survey) error
	Surveys(ctx context.Context, table string) (all []accountant.Survey, epoch int64, err error)
	Balances(ctx context.Context, scopes ...accountant.Scope) ([]accountant.Balance, error)
}

// Survey implements [survey.Ledger].
func (l witnessedSurveys) Survey(ctx context.Context, s accountant.Survey) error {
	if err := l.marks.Err(); err != nil {
		return err
	}
	return l.surveyLedger.Survey(ctx, s)
}

// CloseEpoch implements [survey.Ledger].
func (l witnessedSurveys) CloseEpoch(ctx context.Context, table, reason string) error {
	return l.decide(ctx, history.EpochEntry{Table: table, Who: "dpproxy", Reason: reason})
}

// openDesk opens the surveys of the policy's local tables, nil if it has none.
func (s localSite) openDesk(
	ctx context.Context, ledger accountant.Ledger, marks *witness.Witness, r ruling, log *slog.Logger,
) (*survey.Desk, error) {
	tables, before14, err := s.tables(ctx)
	if err != nil || len(tables) == 0 {
		return nil, err
	}
	own, ok := ledger.(interface {
		surveyLedger
		Decide(ctx context.Context, decision history.Entry) error
	})
	if !ok {
		return nil, fmt.Errorf("a %T has no surveys", ledger)
	}
	links, err := ledger.Links(ctx)
	if err != nil {
		return nil, err
	}
	others, err := s.otherObjects(ctx, r, links)
	if err != nil {
		return nil, err
	}
	return survey.Open(ctx, survey.Config{
		Tables: tables, Others: others, Readers: s.readers(), Dir: s.dir(), Ledger: witnessedSurveys{own, marks, own.Decide},
		Data: s.connectData, Mirror: s.connectMirror,
		Source: mechanisms.NewSource(), Log: log, Before14: before14,
	})
}

// dir has the answers.
func (s localSite) dir() string { return filepath.Join(s.policy.Ledger.Dir, "local") }

// readers are the analysts of each local table.
func (s localSite) readers() map[catalog.Name][]string {
	readers := map[catalog.Name][]string{}
	for _, a := range s.policy.Analysts {
		for _, n := range a.Local {
			readers[n] = append(readers[n], a.Name)
		}
	}
	return readers
}

// sameLocal reports whether two policies have the same local tables.
func sameLocal(a, b *config.Policy) bool { return reflect.DeepEqual(a.Local, b.Local) }
