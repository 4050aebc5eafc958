package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"dpproxy/accountant/history"
	"dpproxy/accountant/logledger"
	"dpproxy/accountant/redisledger"
	"dpproxy/catalog"
)

// checkRuling refuses budgets of the policy that the ledger would refuse, if there is one that can be read.
func (c *checkCommand) checkRuling(ctx context.Context, s *site) error {
	r, err := readRuling(ctx, s)
	if err != nil {
		return err
	}
	b := &books{policy: s.policy}
	state, err := b.state(ctx)
	switch {
	case errors.Is(err, logledger.ErrNoLedger), errors.Is(err, redisledger.ErrNoLedger):
		return nil
	case err != nil:
		fmt.Fprintf(os.Stderr, "%s: NOT checked against the ledger: %v\n", c.Policy, err)
		return nil
	}
	if err := allows(b, state, r); err != nil {
		return err
	}
	others, err := localOf(s).otherObjects(ctx, r, history.LinksOf(state))
	for _, n := range slices.SortedFunc(maps.Keys(others), catalog.Name.Compare) {
		err = errors.Join(err, fmt.Errorf("local table %v: %w", n, others[n]))
	}
	return err
}
