package mirror_test

import (
	"fmt"
	"slices"
	"testing"

	"dpproxy/catalog"
	"dpproxy/mirror"
	"dpproxy/mirror/introspect"
)

// TestCopies changes public rows of the real database: which copies are outdated is found, and found to be over.
func TestCopies(t *testing.T) {
	p := twoServers(t)
	run(t, p.upstream, "CREATE TABLE tenths (id int PRIMARY KEY, x numeric(4,1)) PARTITION BY RANGE (id); "+
		"CREATE TABLE tenths_low PARTITION OF tenths FOR VALUES FROM (0) TO (100); INSERT INTO tenths VALUES (1, 0.1), (2, 0.2); "+
		"CREATE VIEW halves AS SELECT id, x / 2 AS half FROM tenths")
	public := plan()
	public.Public = append(public.Public, name("tenths"), name("halves"))
	p.sync(t, public)
	copies := mirror.NewCopies(t.Context(), p.mirror, p.tables(t, public.Public))
	for _, c := range []struct{ sql, outdated string }{
		{"SELECT 1", "[]"},
		{"UPDATE hospitals SET id = id", "[]"},
		{"DELETE FROM tenths WHERE id = 1; INSERT INTO tenths VALUES (1, 0.3)", "[public.tenths public.halves]"},
		{"UPDATE tenths SET x = 0.1 WHERE id = 1", "[]"},
		{"INSERT INTO tenths VALUES (3, NULL)", "[public.tenths public.halves]"},
		{"DELETE FROM tenths WHERE id = 3", "[]"},
		{"TRUNCATE tenths", "[public.tenths public.halves]"},
		{"ALTER TABLE tenths DROP COLUMN x CASCADE", "[public.tenths public.halves]"},
	} {
		run(t, p.upstream, c.sql)
		for _, when := range []string{"at first", "again"} {
			if got := fmt.Sprint(copies.Outdated(t.Context(), p.upstream)); got != c.outdated {
				t.Errorf("after %s, %s: %s are outdated, want %s", c.sql, when, got, c.outdated)
			}
		}
	}
}

// TestCopiedRowsAreNews has a sync that copies rows alone: whoever serves the mirror learns of it by its name, and the record is the same.
func TestCopiedRowsAreNews(t *testing.T) {
	p := twoServers(t)
	p.sync(t, plan())
	record := recorded(t, p)
	var names []string
	for _, sql := range []string{"SELECT 1", "INSERT INTO regions VALUES ('new', 'New')", "UPDATE regions SET code = code"} {
		run(t, p.upstream, sql)
		p.sync(t, plan())
		name, err := mirror.ConfirmedAs(t.Context(), p.mirror)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if names[0] == names[1] || names[1] != names[2] || recorded(t, p) != record {
		t.Errorf("the mirror had the names %v, and the record is the same: %t", names, recorded(t, p) == record)
	}
}

// tables are public tables as the real database has them.
func (p pair) tables(t *testing.T, names []catalog.Name) (all []*catalog.Table) {
	t.Helper()
	tx, err := p.upstream.BeginTx(t.Context(), introspect.Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	s, err := introspect.Read(t.Context(), tx, introspect.Relations{Names: slices.Clone(names)})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		all = append(all, s.Tables[n])
	}
	return all
}
