package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"dpproxy/accountant/logledger"
	"dpproxy/config"
)

// initCommand makes the ledger and the secret. It is a step of its own, so that
// a ledger that was lost is never replaced by a fresh one in passing.
type initCommand struct {
	Policy string `arg:"" help:"Policy file." type:"path"`
}

// Run implements the command.
func (c *initCommand) Run(ctx context.Context, log *slog.Logger) error {
	policy, err := config.Load(c.Policy)
	if err != nil {
		return err
	}
	if err := (&site{policy: policy}).init(ctx, log); err != nil {
		return err
	}
	fmt.Printf("made the ledger in %s and the secret in %s; back up neither alone\n", policy.LedgerDir, policy.SecretFile)
	return nil
}

func (s *site) init(ctx context.Context, log *slog.Logger) error {
	switch l, err := s.ledger(ctx, log, false); {
	case err == nil:
		return errors.Join(fmt.Errorf("there is a ledger in %s already", s.policy.LedgerDir), l.Close())
	case !errors.Is(err, logledger.ErrNoLedger):
		return err
	}
	if err := makeSecret(s.policy.SecretFile); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	l, err := s.ledger(ctx, log, true)
	if err != nil {
		return err
	}
	return l.Close()
}
