package ledger

import (
	"context"
	"fmt"
	"log/slog"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
)

type budgetRename struct {
	scopeArgs `embed:""`
	To        string `help:"The name that it has by now." required:"" placeholder:"KIND:NAME"`
}

// Run implements the command.
func (c *budgetRename) Run(ctx context.Context, log *slog.Logger) error {
	to, err := parseScope("--to", c.To)
	if err != nil {
		return err
	}
	_, _, b, err := c.decide(ctx, log, func(from accountant.Scope, who string) (history.Entry, error) {
		return history.RenameEntry{From: from, To: to, Who: who, Reason: c.Reason}, nil
	})
	if err != nil {
		return err
	}
	fmt.Printf("the budget is %v now; %v of %v is spent\n", b.Scope, b.Spent, b.Limit)
	return nil
}

type budgetRetire struct {
	scopeArgs `embed:""`
}

// Run implements the command.
func (c *budgetRetire) Run(ctx context.Context, log *slog.Logger) error {
	_, _, b, err := c.decide(ctx, log, func(scope accountant.Scope, who string) (history.Entry, error) {
		return history.RetireEntry{Scope: scope, Who: who, Reason: c.Reason}, nil
	})
	if err != nil {
		return err
	}
	switch {
	case b.Frozen:
		fmt.Printf("%v is retired: a policy can leave it out; it is frozen, and refuses until it is thawed\n", b.Scope)
	default:
		fmt.Printf("%v is retired: a policy can leave it out, and nothing more is charged to it; %v of %v is spent, and counts again "+
			"if a policy gives it a limit\n", b.Scope, b.Spent, b.Limit)
	}
	return nil
}
