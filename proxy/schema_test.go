package proxy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/accountant"
	"dpproxy/catalog"
	"dpproxy/internal/pgtemp"
	"dpproxy/proxy"
	"dpproxy/proxy/reader"
)

// besideOff asks about patients, with rows of hospitals beside them, which are off. The copy on the mirror is as it was, and an analyst can
// keep it by another name.
func besideOff(t *testing.T, ana *pgx.Conn) {
	t.Helper()
	must(t, ana, "CREATE TEMP VIEW named AS SELECT * FROM hospitals; CREATE TEMP VIEW twice AS SELECT * FROM named")
	for _, sql := range []string{
		"SELECT count(*) FROM patients JOIN (SELECT id FROM hospitals ORDER BY id LIMIT 3) h USING (id)",
		"EXPLAIN SELECT count(*) FROM patients JOIN (SELECT id FROM hospitals ORDER BY id LIMIT 3) h USING (id)",
		"WITH h AS (SELECT max(id) AS most FROM hospitals) SELECT count(*) FROM patients, h WHERE id > h.most",
		"SELECT count(*) FROM patients WHERE id > (SELECT max(id) FROM hospitals)",
		"SELECT count(*) FROM patients WHERE id IN (SELECT id FROM hospitals)",
		"SELECT count(*) FROM patients JOIN twice USING (id)",
		"SELECT h.name, n FROM (SELECT sex, count(*) AS n FROM patients GROUP BY 1) s JOIN hospitals h ON h.id < 3",
	} {
		if _, err := ana.Exec(t.Context(), sql); code(err) != "PB013" || !strings.Contains(err.Error(), "public.hospitals") {
			t.Errorf("%s: %v", sql, err)
		}
	}
	must(t, ana, "CREATE TEMP TABLE kept AS SELECT * FROM hospitals; CREATE TEMP TABLE hospitals AS SELECT 7 AS id")
	for _, sql := range []string{
		"SELECT count(*) FROM patients JOIN kept USING (id)",
		"SELECT count(*) FROM patients JOIN (SELECT id FROM hospitals ORDER BY id LIMIT 3) h USING (id)",
	} {
		must(t, ana, sql)
	}
	must(t, ana, "DROP TABLE pg_temp.hospitals")
}

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
	besideOff(t, ana)
	must(t, admin, "DROP TABLE labs")
	recheck(public("labs"))
}
