package proxy_test

import (
	"testing"

	"dpproxy/accountant"
	"dpproxy/internal/pgtemp"
)

// TestPlannedBeforeTheCharge holds that a statement which the protected database does not plan
// costs nothing and is nobody's fault: no row was read.
func TestPlannedBeforeTheCharge(t *testing.T) {
	w := newWorld(t)
	ana := connect(t, w.url("ana"))
	admin := connect(t, w.data.URL("postgres", pgtemp.Superuser))
	const sql = "SELECT count(*) FROM visits a JOIN visits b USING (patient_id)" // of one patient, rows are chosen by a keyed hash
	must(t, ana, "SELECT count(*) FROM visits")                                  // not sql itself, which a session would have prepared
	before := w.spent(t, accountant.UnitScope, "patient")
	for fault, c := range map[string]struct{ make, mend, code string }{
		"a function is missing": {
			"ALTER FUNCTION pg_catalog.sha256(bytea) RENAME TO sha",
			"ALTER FUNCTION pg_catalog.sha(bytea) RENAME TO sha256", "XX000",
		},
		"a lock": {"BEGIN; LOCK TABLE visits IN ACCESS EXCLUSIVE MODE", "ROLLBACK", "PB015"},
	} {
		must(t, admin, c.make)
		for range accountant.MaxIncidents {
			if _, err := ana.Exec(t.Context(), sql); code(err) != c.code {
				t.Errorf("%s: %v, want %s", fault, err, c.code)
			}
		}
		must(t, admin, c.mend)
		if spent := w.spent(t, accountant.UnitScope, "patient"); spent != before {
			t.Errorf("%s cost %d", fault, spent-before)
		}
		if in, err := w.ledger.Incidents(t.Context()); err != nil || len(in) > 0 {
			t.Errorf("%s: incidents %v, %v", fault, in, err)
		}
	}
	must(t, ana, sql)
}
