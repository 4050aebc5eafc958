package setup

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
	"dpproxy/cmd/dpproxy/ledger"
	"dpproxy/cmd/dpproxy/local"
	"dpproxy/cmd/dpproxy/site"
)

// checkRuling refuses budgets of the policy that the ledger would refuse, if there is one that can be read.
func (c *Check) checkRuling(ctx context.Context, s *site.Site) error {
	r, err := ledger.ReadRuling(ctx, s)
	if err != nil {
		return err
	}
	b := &ledger.Books{Policy: s.Policy}
	state, err := b.State(ctx)
	switch {
	case errors.Is(err, logledger.ErrNoLedger), errors.Is(err, redisledger.ErrNoLedger):
		return nil
	case err != nil:
		fmt.Fprintf(os.Stderr, "%s: NOT checked against the ledger: %v\n", c.Policy, err)
		return nil
	}
	if err := ledger.Allows(b, state, r); err != nil {
		return err
	}
	others, err := local.Of(s).OtherObjects(ctx, r, history.LinksOf(state))
	for _, n := range slices.SortedFunc(maps.Keys(others), catalog.Name.Compare) {
		err = errors.Join(err, fmt.Errorf("local table %v: %w", n, others[n]))
	}
	return err
}
