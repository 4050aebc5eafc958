package mirror_test

import (
	"slices"
	"strings"
	"testing"

	"dpproxy/mirror"
)

// TestAsideRoles holds that each analyst's role has one beside it that may take it and do nothing
// else; that a mirror without them gets them, and one that has been changed is put right; that a
// second sync changes nothing; and that they go with their password.
func TestAsideRoles(t *testing.T) {
	p := twoServers(t)
	old := plan()
	p.sync(t, old)
	with := plan()
	for i := range with.Analysts {
		with.Analysts[i].AsidePassword = "aside of " + with.Analysts[i].Name
	}
	role := mirror.AsideRole("ana")
	recreated := func(c string) bool { return strings.HasPrefix(c, "recreate") }
	if changes := p.sync(t, with); !slices.Contains(changes, "create role "+role) || slices.ContainsFunc(changes, recreated) {
		t.Errorf("the sync of an old mirror changes %q", changes)
	}
	sound := func() {
		t.Helper()
		const asked = `SELECT concat_ws(' ', rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolbypassrls, rolreplication, rolconnlimit,
			(SELECT string_agg(roleid::regrole::text, ',') FROM pg_auth_members WHERE member = r.oid),
			(SELECT count(*) FROM pg_auth_members WHERE roleid = r.oid))
			FROM pg_roles r WHERE rolname = 'dpproxy_aside_ana'`
		if got := value(t, p.mirror, asked); got != "f f f f f f 2 ana 0" {
			t.Errorf("the role is %s", got)
		}
		if changes := p.sync(t, with); len(changes) > 0 {
			t.Errorf("a second sync changes %q", changes)
		}
	}
	sound()
	for _, change := range []string{
		"ALTER ROLE dpproxy_aside_ana CREATEROLE", "GRANT \"Bob's\" TO dpproxy_aside_ana", "GRANT dpproxy_aside_ana TO \"Bob's\"",
		"GRANT ana TO dpproxy_aside_ana WITH ADMIN OPTION",
		"REVOKE ana FROM dpproxy_aside_ana", "ALTER ROLE dpproxy_aside_ana PASSWORD 'x'", "DROP OWNED BY ana; DROP ROLE ana",
	} {
		run(t, p.mirror, change)
		if changes := p.sync(t, with); len(changes) == 0 {
			t.Errorf("%s stays", change)
		}
		sound()
	}
	p.sync(t, old)
	if got := value(t, p.mirror, "SELECT count(*) FROM pg_roles WHERE rolname LIKE 'dpproxy_aside%'"); got != "0" {
		t.Errorf("%s roles stay", got)
	}
	if long := strings.Repeat("a", 60); len(mirror.AsideRole(long)) > 63 || mirror.AsideRole(long) == mirror.AsideRole(long+"b") {
		t.Errorf("a long name makes %s", mirror.AsideRole(long))
	}
}
