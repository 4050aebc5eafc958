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
)

// TestIndexGone drops the index by which rows of a unit are looked up, while statements
// come: none looks rows up without it.
func TestIndexGone(t *testing.T) {
	var data *proxy.Data
	w := newWorldWith(t, func(c *proxy.Config) { data = c.Data })
	ana := connect(t, w.url("ana"))
	admin := connect(t, w.data.URL("postgres", pgtemp.Superuser))
	const sql = "SELECT sum(cost) FROM visits"
	looksUp := func(want bool) {
		t.Helper()
		rows, err := ana.Query(t.Context(), "EXPLAIN "+sql)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if got := strings.Contains(strings.Join(plan, "\n"), "LATERAL"); err != nil || got != want {
			t.Errorf("rows are looked up: %v, want %v, %v", got, want, err)
		}
	}
	recheck := func(wantGone, wantBack []catalog.Name) {
		t.Helper()
		gone, back, err := data.RecheckIndexes(t.Context(), admin)
		if err != nil || !slices.Equal(gone, wantGone) || !slices.Equal(back, wantBack) {
			t.Errorf("gone are %v, back are %v, %v, want %v and %v", gone, back, err, wantGone, wantBack)
		}
	}
	visits := []catalog.Name{public("visits")}

	looksUp(true)
	recheck(nil, nil)
	must(t, ana, sql)
	must(t, admin, "DROP INDEX visits_unit")
	must(t, ana, "SELECT count(*) FROM visits") // looks nothing up
	before := w.spent(t, accountant.UnitScope, "patient")
	if _, err := ana.Exec(t.Context(), sql); code(err) != "PB013" {
		t.Errorf("without the index: %v", err)
	}
	if w.spent(t, accountant.UnitScope, "patient") == before {
		t.Error("a read that was refused behind its charge cost nothing")
	}
	looksUp(false)
	must(t, ana, sql)
	must(t, admin, `CREATE INDEX ON visits USING hash (patient_id); CREATE INDEX ON visits (patient_id) WHERE cost > 1; CREATE INDEX ON visits (cost, patient_id)`)
	recheck(nil, nil)
	looksUp(false)
	must(t, admin, "CREATE INDEX another ON visits (patient_id, cost)")
	recheck(nil, visits)
	looksUp(true)
	must(t, ana, sql)
	must(t, admin, "REINDEX INDEX CONCURRENTLY another")
	must(t, ana, sql)
	must(t, admin, "DROP INDEX another")
	recheck(visits, nil)
	looksUp(false)
	must(t, ana, sql) // found out before anybody was charged
}

// TestIndexAndTableGone holds that a changed table stays off, whatever its indexes are.
func TestIndexAndTableGone(t *testing.T) {
	w := newWorld(t)
	ana := connect(t, w.url("ana"))
	admin := connect(t, w.data.URL("postgres", pgtemp.Superuser))
	must(t, admin, "DROP INDEX visits_unit; ALTER TABLE visits ALTER hospital_id DROP NOT NULL")
	for range 2 {
		if _, err := ana.Exec(t.Context(), "SELECT sum(cost) FROM visits"); code(err) != "PB013" {
			t.Errorf("of a table that has changed: %v", err)
		}
	}
}
