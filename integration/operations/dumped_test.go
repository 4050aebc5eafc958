package operations_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
	"dpproxy/mirror/mirrortest"
)

// TestDumpedMirror holds that a mirror of this version, or of an earlier one, that pg_dump and pg_restore have put into another database
// of its name serves as it is, and that a sync makes nothing there.
func TestDumpedMirror(t *testing.T) {
	t.Parallel()
	s := sitetest.Make(t, sitetest.Options{Database: "clinic", Schema: sitetest.ClinicSchema, Policy: sitetest.ClinicPolicy})
	serves := func() {
		t.Helper()
		r := s.Run(t)
		sitetest.Exec(t, sitetest.Dial(t, r.URL("ana")), sitetest.CountPatients)
		r.Stop()
		s.Says(t, "the mirror is in order, 0 changes", "sync", s.Policy)
	}
	for _, from := range []string{"this version", "an earlier version"} {
		super := sitetest.Dial(t, s.Mirror.URL("clinic", pgtemp.Superuser))
		record := sitetest.Rows(t, super, mirrortest.Record)
		if from == "an earlier version" {
			sitetest.Exec(t, super, mirrortest.ListRecords)
		}
		restore(t, s.Mirror, "clinic")
		serves()
		super = sitetest.Dial(t, s.Mirror.URL("clinic", pgtemp.Superuser))
		if got := sitetest.Rows(t, super, mirrortest.Record); got != record {
			t.Errorf("of %s the record is %s, and was %s", from, got, record)
		}
		if got := sitetest.Rows(t, super, "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'dp%'"); got != "dp" {
			t.Errorf("of %s there are the schemas %s", from, got)
		}
	}
}

// restore dumps a database, drops it, and restores it.
func restore(t *testing.T, on *pgtemp.Server, database string) {
	t.Helper()
	dump := filepath.Join(t.TempDir(), "dump")
	run := func(program string, args ...string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v\n%s", program, args, err, out)
		}
	}
	run("pg_dump", "--format=custom", "--file="+dump, on.URL(database, pgtemp.Superuser))
	other := sitetest.Dial(t, on.URL("postgres", pgtemp.Superuser))
	sitetest.Exec(t, other, "DROP DATABASE "+database+" WITH (FORCE)")
	run("pg_restore", "--create", "--exit-on-error", "--dbname="+on.URL("postgres", pgtemp.Superuser), dump)
}
