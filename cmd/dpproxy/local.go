package main

import (
	"context"
	"log/slog"
	"path/filepath"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
	"dpproxy/catalog"
	"dpproxy/mechanisms"
	"dpproxy/mirror/introspect"
	"dpproxy/mirror/steady"
	"dpproxy/planner/policy"
	"dpproxy/proxy/survey"
)

// localSite is the part of a site that is of the local model.
type localSite struct{ *site }

// localOf returns a site with its local tables.
func localOf(s *site) localSite { return localSite{s} }

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

// surveys are recorded in a ledger only as long as it is marked.
type surveys struct{ *marked }

// Survey implements [survey.Ledger].
func (l surveys) Survey(ctx context.Context, s accountant.Survey) error {
	if err := l.unmarked(); err != nil {
		return err
	}
	return l.marked.Survey(ctx, s)
}

// CloseEpoch implements [survey.Ledger].
func (l surveys) CloseEpoch(ctx context.Context, table, reason string) error {
	return l.Decide(ctx, history.EpochEntry{Table: table, Who: "dpproxy", Reason: reason})
}

// openDesk opens the surveys of the policy's local tables, nil if it has none.
func (s localSite) openDesk(ctx context.Context, l *marked, r ruling, log *slog.Logger) (*survey.Desk, error) {
	tables, before14, err := s.tables(ctx)
	if err != nil || len(tables) == 0 {
		return nil, err
	}
	links, err := l.Links(ctx)
	if err != nil {
		return nil, err
	}
	others, err := s.otherObjects(ctx, r, links)
	if err != nil {
		return nil, err
	}
	return survey.Open(ctx, survey.Config{
		Tables: tables, Others: others, Readers: s.readers(), Dir: s.dir(), Ledger: surveys{l},
		Data: s.connectData, Mirror: s.connectMirror,
		Source: mechanisms.NewSource(), Log: log, Before14: before14,
	})
}
