package proxy_test

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/accountant"
	"dpproxy/catalog"
	"dpproxy/internal/logtest"
	"dpproxy/internal/pgtemp"
	"dpproxy/proxy"
	"dpproxy/proxy/reader"
)

// TestIndexGone drops the index by which rows of a unit are looked up, while statements
// come: none looks rows up without it.
func TestIndexGone(t *testing.T) {
	var data *reader.Data
	w := newWorldWith(t, func(c *proxy.Config) { data = c.Data })
	if !w.reliesOnIndexes(t) {
		return
	}
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
	if w.spent(t, accountant.UnitScope, "patient") != before {
		t.Error("a statement cost something that read no row")
	}
	looksUp(false)
	must(t, ana, sql)
	must(t, admin, `CREATE INDEX ON visits USING hash (patient_id); CREATE INDEX ON visits (patient_id) WHERE cost > 1; `+
		`CREATE INDEX ON visits (cost, patient_id)`)
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

// TestIndexGoneIsLogged holds that the log warns also where a statement finds an index gone
// before the look does, once.
func TestIndexGoneIsLogged(t *testing.T) {
	var out logtest.Buffer
	w := newWorldWith(t, func(c *proxy.Config) { c.Log = slog.New(slog.NewTextHandler(&out, nil)) })
	if !w.reliesOnIndexes(t) {
		return
	}
	exec(t, w.data, "DROP INDEX visits_unit")
	ana := connect(t, w.url("ana"))
	if _, err := ana.Exec(t.Context(), "SELECT sum(cost) FROM visits"); code(err) != "PB013" {
		t.Errorf("without the index: %v", err)
	}
	must(t, ana, "SELECT sum(cost) FROM visits")
	const want = `level=WARN msg="a statement found the index on the unit of a table gone: ` +
		`statements about it take longer" table=public.visits`
	if got := out.String(); strings.Count(got, want) != 1 || strings.Contains(got, "SELECT") {
		t.Errorf("the log reads\n%s", got)
	}
}

// TestChangedAndBack holds that a table stays on whose schema, or index, is as it was checked
// again when a statement compares it.
func TestChangedAndBack(t *testing.T) {
	for change, back := range map[string]string{
		"DROP INDEX visits_unit":                             "CREATE INDEX another ON visits (patient_id)",
		"ALTER TABLE visits ALTER hospital_id DROP NOT NULL": "ALTER TABLE visits ALTER hospital_id SET NOT NULL",
	} {
		var once sync.Once
		var w *world
		p := &tap{before: func(sql string) {
			if strings.HasPrefix(sql, "ROLLBACK") {
				once.Do(func() { exec(t, w.data, back) })
			}
		}}
		w = newWorldOver(t, p.put, func(*proxy.Config) {})
		if !w.reliesOnIndexes(t) {
			return
		}
		ana := connect(t, w.url("ana"))
		exec(t, w.data, change)
		const sql = "SELECT sum(cost) FROM visits"
		before := w.spent(t, accountant.UnitScope, "patient")
		if _, err := ana.Exec(t.Context(), sql); code(err) != "PB013" || !strings.Contains(err.Error(), "was not the one") {
			t.Errorf("%s: %v", change, err)
		}
		if w.spent(t, accountant.UnitScope, "patient") != before {
			t.Errorf("%s: a statement cost something that read no row", change)
		}
		if _, err := ana.Exec(t.Context(), sql); err != nil {
			t.Errorf("%s, and back: %v", change, err)
		}
	}
}

// TestChangeThatCannotBeCompared holds that a table is off when its changes cannot be compared.
func TestChangeThatCannotBeCompared(t *testing.T) {
	var once sync.Once
	var w *world
	p := &tap{before: func(sql string) {
		if strings.HasPrefix(sql, "ROLLBACK") {
			once.Do(func() {
				exec(t, w.data, "CREATE INDEX another ON visits (patient_id)")
				exec(t, w.data, "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'dpproxy'")
			})
		}
	}}
	w = newWorldOver(t, p.put, func(*proxy.Config) {})
	if !w.reliesOnIndexes(t) {
		return
	}
	ana := connect(t, w.url("ana"))
	exec(t, w.data, "DROP INDEX visits_unit")
	for range 2 {
		if _, err := ana.Exec(t.Context(), "SELECT sum(cost) FROM visits"); code(err) != "PB013" {
			t.Errorf("of a schema that could not be compared: %v", err)
		}
	}
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

// reliesOnIndexes reports whether plans do: before Postgres 14 none does.
func (w *world) reliesOnIndexes(t *testing.T) bool {
	t.Helper()
	version, err := w.data.Version()
	if err != nil {
		t.Fatal(err)
	}
	return version >= 14
}
