package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"dpproxy/accountant/logledger"
)

// incidentsCommand shows or clears failed reads of protected data. The ledger
// must not be in use by a running dpproxy.
type incidentsCommand struct {
	List  incidentsList  `cmd:"" help:"Show the incidents that are not cleared."`
	Clear incidentsClear `cmd:"" help:"Clear incidents, so that the statements and the analyst are admitted again."`
}

type incidentsList struct {
	Policy string `arg:"" help:"Policy file." type:"path"`
}

// Run implements the command.
func (c *incidentsList) Run(ctx context.Context, log *slog.Logger) (err error) {
	l, err := openLedger(ctx, c.Policy, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	open, err := l.Incidents(ctx)
	if err != nil {
		return err
	}
	for _, i := range open {
		fmt.Printf("charge %d\tanalyst %s\tshape %s\n", i.Charge, i.Analyst, i.Shape)
	}
	fmt.Printf("%d incidents\n", len(open))
	return nil
}

type incidentsClear struct {
	Policy  string `arg:"" help:"Policy file." type:"path"`
	Analyst string `help:"Clear those of one analyst only."`
	Reason  string `help:"Why, for the audit trail." required:""`
}

// Run implements the command.
func (c *incidentsClear) Run(ctx context.Context, log *slog.Logger) error {
	l, err := openLedger(ctx, c.Policy, log)
	if err != nil {
		return err
	}
	return errors.Join(l.ClearIncidents(ctx, c.Analyst, c.Reason), l.Close())
}

func openLedger(ctx context.Context, path string, log *slog.Logger) (*logledger.Ledger, error) {
	s, err := openSite(path)
	if err != nil {
		return nil, err
	}
	return s.openLedger(ctx, log)
}
