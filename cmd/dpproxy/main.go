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

	"dpproxy/cmd/dpproxy/demo"
	"dpproxy/cmd/dpproxy/ledger"
	"dpproxy/cmd/dpproxy/local"
	"dpproxy/cmd/dpproxy/serve"
	"dpproxy/cmd/dpproxy/setup"
)

// commands are the verbs of the command line.
type commands struct {
	Init      ledger.Init      `cmd:"" help:"Make the ledger and the secret of a policy, once."`
	Run       serve.Command    `cmd:"" help:"Serve analysts, as the policy says."`
	Suggest   setup.Suggest    `cmd:"" help:"Make a first policy from a database's catalogue."`
	Check     setup.Check      `cmd:"" help:"Check a policy, and with a reachable database also that it fits."`
	Advise    setup.Advise     `cmd:"" help:"Print what would make the protected tables fast: indexes and table options."`
	Sync      setup.Sync       `cmd:"" help:"Make or refresh the mirror from the protected database's schema."`
	Demo      demo.Command     `cmd:"" help:"Serve a throwaway clinic to your own psql until Ctrl-C."`
	Verifier  setup.Verifier   `cmd:"" help:"Turn a password into the verifier that the policy holds."`
	Budget    ledger.Budget    `cmd:"" help:"Show budgets, raise, lower, freeze or thaw them."`
	Local     local.Command    `cmd:"" help:"Decide about tables of the local model."`
	Ledger    ledger.Command   `cmd:"" help:"Verify, export or mend the ledger."`
	Incidents ledger.Incidents `cmd:"" help:"Show or clear failed reads of protected data."`
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
