package mirror_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"dpproxy/catalog"
	"dpproxy/mirror"
)

// TestProve makes the mirror for one policy, and has others ask whether it shows more than they permit.
func TestProve(t *testing.T) {
	p := twoServers(t)
	made := plan()
	made.Protected[0].Columns["sex"] = mirror.Column{AllLabels: true}
	p.sync(t, made)
	was := p.confirmed(t)
	prove := func(what string, plan mirror.Plan, want string) {
		t.Helper()
		now, err := mirror.ReadOrigins(t.Context(), p.upstream, was.Schema)
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(mirror.Prove(t.Context(), p.mirror, plan, was.Schema, now),
			mirror.ProveShown(t.Context(), p.mirror, plan, was.Schema, now))
		if want == "" && err != nil || want != "" && (err == nil || strings.Count(err.Error(), want) != 2) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
		if _, unsafe := errors.AsType[*mirror.UnsafeError](err); unsafe != (want != "") {
			t.Errorf("%s: %T", what, err)
		}
	}
	prove("the policy that it was made for", made, "")
	if !was.IsOf(made) || was.IsOf(plan()) {
		t.Error("the record is of another policy")
	}
	prove("fewer labels", plan(), "shows labels of the type public.sex_t, which the policy does not list")
	local := made
	local.Public, local.Local = []catalog.Name{name("regions")}, []mirror.Local{{Name: name("hospitals")}}
	prove("a local table", local, "rows of public.hospitals, which is of the local model in the policy")
	more := made
	more.Public = append(more.Public, name("unknown"))
	more.Analysts = append(more.Analysts, mirror.Analyst{Name: "new", Password: "x"})
	prove("a table and an analyst that the mirror lacks", more, "")
	run(t, p.upstream, "ALTER TYPE sex_t RENAME VALUE 'f' TO 'w'")
	prove("a label that has another name by now", made, "")
	was.Schema.Tables[name("regions")].Children = []catalog.Name{name("detached")}
	more.Protected = append(slices.Clip(made.Protected), mirror.Protected{Name: name("detached")})
	prove("a partition that was detached", more, "rows of public.detached, which the policy protects, with those of public.regions")
}

// TestSyncEndsSessions holds that a sync for another policy, which changes what is shown, leaves no session of analysts, that others
// do, and that who logs in meanwhile waits for it.
func TestSyncEndsSessions(t *testing.T) {
	p := twoServers(t)
	p.sync(t, plan())
	less := plan()
	less.Public = less.Public[:1]
	relabelled := plan()
	relabelled.Protected[0].Comment = "another text"
	for _, c := range []struct {
		name, change string
		plan         mirror.Plan
		ended        bool
	}{
		{"a comment", "", relabelled, false},
		{"rows", "INSERT INTO regions VALUES ('new', 'New')", relabelled, false},
		{"a public table less", "", less, true},
		{"a public table more", "", plan(), true},
		{"the same policy", "CREATE TABLE unlisted (k int)", plan(), false},
	} {
		ana := p.as(t, "ana")
		run(t, ana, "CREATE TEMP VIEW seen AS TABLE hospitals")
		before := recorded(t, p)
		run(t, p.upstream, c.change)
		p.sync(t, c.plan)
		_, err := ana.Exec(t.Context(), "SELECT 1")
		if ended := err != nil; ended != c.ended {
			t.Errorf("%s: the session ends with %v", c.name, err)
		}
		if other := recorded(t, p) != before; other != c.ended {
			t.Errorf("%s: the record is another one: %t", c.name, other)
		}
	}
	tx, err := p.mirror.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := mirror.ChangeRecord(t.Context(), tx); err != nil {
		t.Fatal(err)
	}
	other := connect(t, p.server.URL(p.database, "postgres"))
	run(t, other, "SET lock_timeout = '10ms'")
	if _, err := mirror.RecordedAs(t.Context(), other); err == nil || !strings.Contains(err.Error(), "55P03") {
		t.Errorf("a log-in does not wait for a sync: %v", err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func recorded(t *testing.T, p pair) string {
	t.Helper()
	name, err := mirror.RecordedAs(t.Context(), p.mirror)
	if err != nil {
		t.Fatal(err)
	}
	return name
}
