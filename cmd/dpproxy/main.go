// Command dpproxy is a Postgres proxy that enforces differential-privacy budgets.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// commands are the verbs of the command line.
type commands struct {
	Init      initCommand      `cmd:"" help:"Make the ledger and the secret of a policy, once."`
	Run       runCommand       `cmd:"" help:"Serve analysts, as the policy says."`
	Suggest   suggestCommand   `cmd:"" help:"Make a first policy from a database's catalogue."`
	Check     checkCommand     `cmd:"" help:"Check a policy, and with a reachable database also that it fits."`
	Advise    adviseCommand    `cmd:"" help:"Print what would make the protected tables fast: indexes and table options."`
	Sync      syncCommand      `cmd:"" help:"Make or refresh the mirror from the protected database's schema."`
	Demo      demoCommand      `cmd:"" help:"Serve a throwaway clinic to your own psql until Ctrl-C."`
	Verifier  verifierCommand  `cmd:"" help:"Turn a password into the verifier that the policy holds."`
	Budget    budgetCommand    `cmd:"" help:"Show budgets, raise, lower, freeze or thaw them."`
	Local     localCommand     `cmd:"" help:"Decide about tables of the local model."`
	Ledger    ledgerCommand    `cmd:"" help:"Verify, export or mend the ledger."`
	Incidents incidentsCommand `cmd:"" help:"Show or clear failed reads of protected data."`
	Version   versionCommand   `cmd:"" help:"Print what this dpproxy was built from."`
}

func main() {
	var c commands
	if len(os.Args) == 1 {
		os.Args = append(os.Args, "--help")
	}
	parse := kong.Parse(&c,
		kong.Name("dpproxy"),
		kong.Description("A Postgres proxy that enforces differential-privacy budgets."),
	)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	parse.BindTo(ctx, (*context.Context)(nil))
	if err := parse.Run(log); err != nil {
		fmt.Fprintf(os.Stderr, "dpproxy: %v\n", err)
		os.Exit(1) //nolint:gocritic // nothing is left to be stopped
	}
}
