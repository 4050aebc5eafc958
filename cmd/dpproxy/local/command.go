package local

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"dpproxy/accountant/history"
	"dpproxy/cmd/dpproxy/ledger"
)

// Command is about tables of the local model.
type Command struct {
	Epoch localEpoch `cmd:"" help:"Say that values may have changed under values_change: never."`
}

type localEpoch struct {
	Policy          string `arg:"" help:"Policy file." type:"path"`
	Table           string `arg:"" help:"A table of the local model."`
	ledger.Decision `embed:""`
}

// Run implements the command.
func (c *localEpoch) Run(ctx context.Context, log *slog.Logger) error {
	s, err := ledger.Load(c.Policy)
	if err != nil {
		return err
	}
	who, err := c.Decider()
	if err != nil {
		return err
	}
	name := c.Table
	if !strings.Contains(name, ".") {
		name = "public." + name
	}
	found := false
	for _, t := range s.Policy.Local {
		found = found || t.Name.String() == name
	}
	if !found {
		return errors.New("no table of the local model is called " + c.Table)
	}
	state, err := s.Decide(ctx, log, history.EpochEntry{Table: name, Who: who, Reason: c.Reason})
	if err != nil {
		return err
	}
	surveys, epoch := history.SurveysOf(state, name)
	fmt.Printf("epoch %d of %s is closed after %d surveys\n", epoch, c.Table, len(surveys))
	return nil
}
