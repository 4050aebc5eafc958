package attacks_test

import (
	"os/exec"
	"strings"
	"testing"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// TestLockingOut has an analyst change their own role on the mirror, in every way that
// Postgres has: visible changes are refused, and nothing changes a session that begins later.
func TestLockingOut(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy)
	r := s.Run(t)
	ana := sitetest.Dial(t, r.URL("ana"))
	for _, sql := range []string{
		"ALTER ROLE ana PASSWORD 'mine'", "ALTER USER ana PASSWORD 'SCRAM-SHA-256$4096:x'",
		"ALTER ROLE CURRENT_USER SET statement_timeout = 1", "ALTER USER SESSION_USER SET dp.epsilon = 1",
		"ALTER ROLE ana IN DATABASE postgres RESET ALL", "ALTER ROLE ALL SET work_mem = '1MB'",
		"SELECT 1; /* x */ aLtEr/**/RoLe ana PASSWORD NULL", `ALTER ROLE "ana" RESET statement_timeout`,
		"EXPLAIN SELECT 1; ALTER USER ana SET search_path = dp",
	} {
		_, err := ana.PgConn().Exec(t.Context(), sql).ReadAll()
		if sitetest.SQLState(err) != "42501" || !strings.Contains(err.Error(), "roles cannot be altered here") {
			t.Errorf("%s: %v", sql, err)
		}
	}
	for _, what := range []string{
		"PASSWORD NULL", "PASSWORD 'mine'", "SET statement_timeout = 1", "SET local_preload_libraries = 'nothing'",
		"SET role = 'dpproxy_owner'", "IN DATABASE postgres SET client_encoding = latin1",
		"SET standard_conforming_strings = off", "SET search_path = nowhere",
	} {
		sitetest.Exec(t, ana, "DO $$ BEGIN EXECUTE 'ALTER RO' || 'LE ana "+strings.ReplaceAll(what, "'", "''")+"'; END $$")
		again := sitetest.Dial(t, r.URL("ana"))
		sitetest.Exec(t, again, sitetest.CountPatients)
		if got := sitetest.Rows(t, again, "SELECT current_setting('search_path'), current_user"); got != `"$user", public|ana` {
			t.Errorf("after %s a session has %s", what, got)
		}
	}
	if !strings.Contains(r.Log.String(), "was changed, and has been put right") {
		t.Errorf("the log says nothing:\n%s", r.Log)
	}
	sitetest.Exec(t, ana, "SELECT pg_advisory_lock(hashtext('dpproxy'))")
	if out := s.Command(t, "sync", s.Policy); !strings.Contains(out, "0 changes") {
		t.Errorf("the sync says\n%s", out)
	}
}

// TestMirrorOnTheSameServer holds that check and sync warn of a mirror beside the real database.
func TestMirrorOnTheSameServer(t *testing.T) {
	t.Parallel()
	const warning = "warning: the mirror is on the server of the protected database"
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy)
	if out := s.Command(t, "check", s.Policy) + s.Command(t, "sync", s.Policy); strings.Contains(out, warning) {
		t.Errorf("two servers:\n%s", out)
	}
	sitetest.Exec(t, sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser)), "CREATE DATABASE mirror")
	s.Edit(t, "mirror: \""+s.Mirror.URL("postgres", pgtemp.Superuser), "mirror: \""+s.Data.URL("mirror", pgtemp.Superuser))
	for _, command := range []string{"check", "sync"} {
		out, err := exec.CommandContext(t.Context(), sitetest.Program(t), command, s.Policy).CombinedOutput()
		if err != nil || !strings.Contains(string(out), warning) {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
}
