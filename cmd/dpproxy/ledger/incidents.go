package ledger

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"dpproxy/accountant/history"
	"dpproxy/cmd/dpproxy/listing"
)

// Incidents shows or clears failed reads of protected data.
type Incidents struct {
	List  incidentsList  `cmd:"" help:"Show the incidents that are not cleared."`
	Clear incidentsClear `cmd:"" help:"Clear incidents, so that the statements and the analyst are admitted again."`
}

type incidentsList struct {
	Policy          string `arg:"" help:"Policy file." type:"path"`
	listing.Options `embed:""`
}

// An incidentJSON is an incident, as JSON.
type incidentJSON struct {
	Charge  uint64 `json:"charge"`
	Analyst string `json:"analyst"`
	Shape   string `json:"shape"`
	// Earlier versions noted none of these.
	Time      time.Time `json:"time,omitzero"`
	Tables    string    `json:"tables,omitempty"`
	Class     string    `json:"class,omitempty"`
	Statement string    `json:"statement,omitempty"`
}

// Run implements the command.
func (c *incidentsList) Run(ctx context.Context, log *slog.Logger) error {
	s, err := Load(c.Policy)
	if err != nil {
		return err
	}
	a, err := s.audit(ctx, log)
	if err != nil {
		return err
	}
	all := []incidentJSON{}
	rows := [][]string{{"CHARGE", "TIME", "ANALYST", "TABLES", "CLASS", "STATEMENT"}}
	for _, in := range a.state.Incidents() {
		at := a.failed[in]
		all = append(all, incidentJSON{uint64(in.Charge), in.Analyst, in.Shape, at, in.Tables, in.Class, in.Statement})
		rows = append(rows, []string{
			fmt.Sprint(in.Charge), at.Format(time.RFC3339), in.Analyst, in.Tables, in.Class, cmp.Or(in.Statement, "of shape "+in.Shape),
		})
	}
	if c.Output == "json" {
		return listing.WriteJSON(all)
	}
	return listing.Table(rows...)
}

type incidentsClear struct {
	Policy  string `arg:"" help:"Policy file." type:"path"`
	Analyst string `help:"Clear those of one analyst only."`
	Reason  string `help:"Why, for the audit trail." required:""`
}

// Run implements the command.
func (c *incidentsClear) Run(ctx context.Context, log *slog.Logger) error {
	s, err := Load(c.Policy)
	if err != nil {
		return err
	}
	before, err := s.audit(ctx, log)
	if err != nil {
		return err
	}
	after, err := s.Decide(ctx, log, history.ClearEntry{Analyst: c.Analyst, Reason: c.Reason})
	if err != nil {
		return err
	}
	fmt.Printf("cleared %d incidents\n", max(0, len(before.state.Incidents())-len(after.Incidents())))
	if s.Shared() {
		fmt.Println("a proxy that runs admits these statements after its next start")
	}
	return nil
}
