package serve

import (
	"context"
	"fmt"

	"dpproxy/accountant/history"
)

// decide makes a decision about the ledger durable, and applies it to running sessions.
func (v *service) decide(ctx context.Context, decision history.Entry) error {
	if err := v.ledger.Decide(ctx, decision); err != nil {
		return err
	}
	switch e := decision.(type) { //nolint:gochecksumtype // no other decision changes memory
	case history.ClearEntry:
		v.front.Now().ClearIncidents(e.Analyst)
	case history.RenameEntry, history.RetireEntry:
		if err := v.front.Now().ReloadBudgets(ctx); err != nil {
			v.log.Warn("the budgets were not read anew: the next statement does", "error", err)
		}
	}
	v.log.Info("a decision about the ledger", "kind", fmt.Sprintf("%T", decision))
	return nil
}
