package mirror_test

import (
	"fmt"
	"slices"
	"testing"

	"dpproxy/catalog"
	"dpproxy/mirror"
	"dpproxy/mirror/introspect"
)

// TestCopies changes public rows on either side: which copies are outdated is found, and found to be over.
func TestCopies(t *testing.T) {
	p := twoServers(t)
	run(t, p.upstream, "CREATE TABLE tenths (id int PRIMARY KEY, x numeric(4,1)) PARTITION BY RANGE (id); "+
		"CREATE TABLE tenths_low PARTITION OF tenths FOR VALUES FROM (0) TO (100); INSERT INTO tenths VALUES (1, 0.1), (2, 0.2); "+
		"CREATE VIEW halves AS SELECT id, x / 2 AS half FROM tenths")
	public := plan()
	public.Public = append(public.Public, name("tenths"), name("halves"))
	p.sync(t, public)
	copies := mirror.NewCopies(p.tables(t, public.Public))
	for _, c := range []struct {
		sql      string
		mirrored bool
		outdated string
	}{
		{"SELECT 1", false, "[]"},
		{"UPDATE hospitals SET id = id", false, "[]"},
		{"DELETE FROM tenths WHERE id = 1; INSERT INTO tenths VALUES (1, 0.3)", false, "[public.tenths public.halves]"},
		{"UPDATE tenths SET x = 0.3 WHERE id = 1", true, "[public.halves]"},
		{"UPDATE halves SET half = 0.15 WHERE id = 1", true, "[public.halves]"}, // numeric(4,1) / 2 has more digits
		{"INSERT INTO tenths VALUES (3, NULL)", false, "[public.tenths public.halves]"},
		{"DELETE FROM tenths WHERE id = 3", false, "[public.halves]"},
		{"TRUNCATE tenths", false, "[public.tenths public.halves]"},
		{"ALTER TABLE tenths DROP COLUMN x CASCADE", false, "[public.tenths public.halves]"},
	} {
		conn := p.upstream
		if c.mirrored {
			conn = p.mirror
		}
		run(t, conn, c.sql)
		for _, when := range []string{"at first", "again"} {
			if got := fmt.Sprint(copies.Outdated(t.Context(), p.upstream, p.mirror)); got != c.outdated {
				t.Errorf("after %s, %s: %s are outdated, want %s", c.sql, when, got, c.outdated)
			}
		}
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
