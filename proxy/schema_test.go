package proxy_test

import (
	"slices"
	"testing"

	"dpproxy/accountant"
	"dpproxy/catalog"
	"dpproxy/internal/pgtemp"
	"dpproxy/proxy"
	"dpproxy/proxy/reader"
)

// TestRecheck finds a change before anybody asks about the table, so that nobody pays for it.
func TestRecheck(t *testing.T) {
	var data *reader.Data
	w := newWorldWith(t, func(c *proxy.Config) { data = c.Data })
	ana := connect(t, w.url("ana"))
	admin := connect(t, w.data.URL("postgres", pgtemp.Superuser))
	recheck := func(want ...catalog.Name) {
		t.Helper()
		changed, err := data.Recheck(t.Context(), admin)
		if err != nil || !slices.Equal(changed, want) {
			t.Errorf("changed are %v, %v, want %v", changed, err, want)
		}
	}
	recheck()
	must(t, ana, "SELECT count(*) FROM visits")
	must(t, admin, "ALTER TABLE visits ALTER hospital_id DROP NOT NULL; ALTER TABLE hospitals DROP CONSTRAINT hospitals_pkey CASCADE")
	recheck(public("hospitals"), public("visits"))
	recheck()
	before := w.spent(t, accountant.UnitScope, "patient")
	for _, sql := range []string{
		"SELECT count(*) FROM visits", "SELECT count(*) FROM labs", "SELECT count(nothing) FROM visits",
		"EXPLAIN SELECT count(*) FROM visits", "SELECT count(*) FROM visits JOIN hospitals h ON h.id = hospital_id",
	} {
		if _, err := ana.Exec(t.Context(), sql); code(err) != "PB013" && code(err) != "42703" {
			t.Errorf("%s: %v", sql, err)
		}
	}
	if w.spent(t, accountant.UnitScope, "patient") != before {
		t.Error("a table that is off was charged for")
	}
	must(t, ana, "SELECT count(*) FROM patients")
	must(t, ana, "SELECT count(*) FROM hospitals") // its copy on the mirror
	must(t, admin, "DROP TABLE labs")
	recheck(public("labs"))
}
