package operations_test

import (
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// TestSharedMirror holds that two dpproxies with ledgers and secrets of their own do not take the roles of one mirror's server from
// each other: the second is refused, and goes on where its analysts have other names.
func TestSharedMirror(t *testing.T) {
	t.Parallel()
	first := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy)
	running := first.Run(t)
	ana := sitetest.Dial(t, running.URL("ana"))
	ask := func(conn *pgx.Conn) {
		t.Helper()
		sitetest.Exec(t, conn, sitetest.CountPatients)
	}
	ask(ana)

	second := first.Variant(t, filepath.Join(first.Dir, "ledger"), filepath.Join(t.TempDir(), "ledger"))
	second.Says(t, "it has the budgets of this policy from now on", "init", second.Policy)
	for _, command := range []string{"sync", "check", "run"} {
		second.Refuses(t, `the mirror, database "postgres", is that of another dpproxy`, command, second.Policy)
	}
	sitetest.Exec(t, sitetest.Dial(t, first.Mirror.URL("postgres", pgtemp.Superuser)), "CREATE DATABASE other")
	second.Edit(t, first.Mirror.URL("postgres", pgtemp.Superuser), first.Mirror.URL("other", pgtemp.Superuser))
	second.Refuses(t, `the role "ana" of the mirror's server is in use by another dpproxy, whose mirror is the database "postgres"`,
		"sync", second.Policy)
	ask(sitetest.Dial(t, running.URL("ana")))

	second.Edit(t, "  ana: {", "  ann: {")
	second.Command(t, "sync", second.Policy)
	beside := second.Run(t)
	ann := sitetest.Dial(t, beside.URL("ann"))
	for range 2 {
		ask(ann)
		ask(ana)
	}

	// The first is no more. Its mirror is the second's from now on.
	running.Stop()
	beside.Stop()
	second.Edit(t, first.Mirror.URL("other", pgtemp.Superuser), first.Mirror.URL("postgres", pgtemp.Superuser))
	second.Edit(t, "  ann: {", "  ana: {")
	second.Command(t, "sync", second.Policy, "--take-over")
	ask(sitetest.Dial(t, second.Run(t).URL("ana")))
	first.Refuses(t, "is that of another dpproxy", "run", first.Policy)
}
