package proxy_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"dpproxy/accountant"
	"dpproxy/proxy"
)

// TestIndexGone drops the index that has the rows of a unit together, and makes it anew, while statements
// come: they are answered as before.
func TestIndexGone(t *testing.T) {
	w := newWorldWith(t, func(*proxy.Config) {})
	ana := connect(t, w.url("ana"))
	for i, change := range []string{
		"SELECT 1", "DROP INDEX visits_unit", "CREATE INDEX visits_unit ON visits (patient_id, cost)",
		"REINDEX INDEX CONCURRENTLY visits_unit",
	} {
		exec(t, w.data, change)
		must(t, ana, fmt.Sprintf("SELECT count(*) FROM visits WHERE cost > %d", i)) // which was not asked before
	}
}

// TestChangedAndBack holds that a table stays on whose schema is as it was checked again when a
// statement compares it.
func TestChangedAndBack(t *testing.T) {
	var once sync.Once
	var w *world
	p := &tap{before: func(sql string) {
		if strings.HasPrefix(sql, "ROLLBACK") {
			once.Do(func() { exec(t, w.data, "ALTER TABLE visits ALTER hospital_id SET NOT NULL") })
		}
	}}
	w = newWorldOver(t, p.put, func(*proxy.Config) {})
	ana := connect(t, w.url("ana"))
	exec(t, w.data, "ALTER TABLE visits ALTER hospital_id DROP NOT NULL")
	const sql = "SELECT sum(cost) FROM visits"
	before := w.spent(t, accountant.UnitScope, "patient")
	if _, err := ana.Exec(t.Context(), sql); code(err) != "PB013" || !strings.Contains(err.Error(), "was not the one") {
		t.Error(err)
	}
	if w.spent(t, accountant.UnitScope, "patient") != before {
		t.Error("a statement cost something that read no row")
	}
	if _, err := ana.Exec(t.Context(), sql); err != nil {
		t.Errorf("and back: %v", err)
	}
}

// endSessions ends those of dpproxy's, and returns when they are gone. Postgres 13 has no pg_terminate_backend that waits.
const endSessions = `DO $$ DECLARE ended int[] := ARRAY(SELECT pid FROM pg_stat_activity WHERE application_name = 'dpproxy');
BEGIN
  PERFORM pg_terminate_backend(pid) FROM unnest(ended) AS pid;
  WHILE EXISTS (SELECT FROM pg_stat_activity WHERE pid = ANY (ended)) LOOP PERFORM pg_stat_clear_snapshot(); END LOOP;
END $$`

// TestChangeThatCannotBeCompared holds that a table is off when its changes cannot be compared.
func TestChangeThatCannotBeCompared(t *testing.T) {
	var once sync.Once
	var w *world
	p := &tap{before: func(sql string) {
		if strings.HasPrefix(sql, "ROLLBACK") {
			once.Do(func() {
				exec(t, w.data, "ALTER TABLE visits ALTER hospital_id SET NOT NULL")
				exec(t, w.data, endSessions)
			})
		}
	}}
	w = newWorldOver(t, p.put, func(*proxy.Config) {})
	ana := connect(t, w.url("ana"))
	exec(t, w.data, "ALTER TABLE visits ALTER hospital_id DROP NOT NULL")
	for range 2 {
		if _, err := ana.Exec(t.Context(), "SELECT sum(cost) FROM visits"); code(err) != "PB013" {
			t.Errorf("of a schema that could not be compared: %v", err)
		}
	}
}
