package local

import (
	"context"
	"log/slog"
	"path/filepath"

	"dpproxy/accountant/history"
	"dpproxy/catalog"
	"dpproxy/cmd/dpproxy/ledger"
	"dpproxy/cmd/dpproxy/site"
	"dpproxy/mechanisms"
	"dpproxy/mirror/introspect"
	"dpproxy/mirror/steady"
	"dpproxy/planner/policy"
	"dpproxy/proxy/survey"
)

// Site is the part of a site that is of the local model.
type Site struct{ *site.Site }

// Of returns a site with its local tables.
func Of(s *site.Site) Site { return Site{s} }

// tables checks the local tables of the policy against the protected database.
func (s Site) tables(ctx context.Context) (tables []*policy.Local, before14 bool, err error) {
	if len(s.Policy.Local) == 0 {
		return nil, false, nil
	}
	conn, err := s.ConnectData(ctx)
	if err != nil {
		return nil, false, err
	}
	defer conn.Close(ctx)
	var names []catalog.Name
	for _, t := range s.Policy.Local {
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
	for _, t := range s.Policy.Local {
		l, problems := policy.CheckLocal(t, schema)
		all = append(all, problems...)
		tables = append(tables, l)
	}
	return tables, schema.ServerVersion < 140000, s.Annotate(all)
}

// dir has the answers.
func (s Site) dir() string { return filepath.Join(s.Policy.Ledger.Dir, "local") }

// Readers are the analysts of each local table.
func (s Site) Readers() map[catalog.Name][]string {
	readers := map[catalog.Name][]string{}
	for _, a := range s.Policy.Analysts {
		for _, n := range a.Local {
			readers[n] = append(readers[n], a.Name)
		}
	}
	return readers
}

// surveys are recorded in the ledger.
type surveys struct{ *ledger.Marked }

// CloseEpoch implements [survey.Ledger].
func (l surveys) CloseEpoch(ctx context.Context, table, reason string) error {
	return l.Decide(ctx, history.EpochEntry{Table: table, Who: "dpproxy", Reason: reason})
}

// OpenDesk opens the surveys of the policy's local tables, nil if it has none.
func (s Site) OpenDesk(ctx context.Context, l *ledger.Marked, r ledger.Ruling, log *slog.Logger) (*survey.Desk, error) {
	tables, before14, err := s.tables(ctx)
	if err != nil || len(tables) == 0 {
		return nil, err
	}
	links, err := l.Links(ctx)
	if err != nil {
		return nil, err
	}
	others, err := s.OtherObjects(ctx, r, links)
	if err != nil {
		return nil, err
	}
	return survey.Open(ctx, survey.Config{
		Tables: tables, Others: others, Readers: s.Readers(), Dir: s.dir(), Ledger: surveys{l},
		Data: s.ConnectData, Mirror: s.ConnectMirror,
		Source: mechanisms.NewSource(), Log: log, Before14: before14,
	})
}
