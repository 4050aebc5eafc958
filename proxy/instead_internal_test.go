package proxy

import (
	"errors"
	"strings"
	"testing"

	"dpproxy/catalog"
	"dpproxy/pgerr"
	"dpproxy/planner/plannertest"
	"dpproxy/planner/policy"
)

// TestInstead has the statements of hints. Text that no rule changes stays, hidden columns are not named, and tables that the analyst may
// not ask for are not asked for.
func TestInstead(t *testing.T) {
	const (
		beside    = "SELECT h.name, (SELECT count(*) FROM visits v WHERE v.hospital_id = h.id) FROM hospitals h"
		suggested = "CREATE TEMP TABLE IF NOT EXISTS visits_cost_bounds AS SELECT lower::numeric, upper::numeric " +
			"FROM dp.suggest_bounds('visits.cost', epsilon => 0.1); "
		clamped = "CASE WHEN cost IS NOT NULL THEN least(greatest(cost, (SELECT lower FROM visits_cost_bounds)), " +
			"(SELECT upper FROM visits_cost_bounds)) END"
	)
	p := plannertest.ClinicPolicy()
	for i := range p.Tables {
		delete(p.Tables[i].Columns, "cost")
	}
	unbounded := plannertest.CheckedBy(t, p, plannertest.ClinicSchema())
	all := map[catalog.Name]bool{plannertest.Name("patients"): true, plannertest.Name("visits"): true}
	for _, c := range []struct {
		cat           *policy.Model
		granted       map[catalog.Name]bool
		sql, at, want string
	}{
		{
			unbounded, all, "/* mine; */ SELECT\n  *  -- all; of it\nFROM \"patients\" p WHERE smoker and sex='f;' LIMIT 3 ;", "*  ",
			"/* mine; */ SELECT\n  count(*)  -- all; of it\nFROM \"patients\" p WHERE smoker and sex='f;'",
		},
		{
			unbounded, all, "SELECT sum( abs(cost) ) /* ; */ FROM visits WHERE diagnosis <> ';'", "cost",
			suggested + "SELECT sum( abs(" + clamped + ") ) /* ; */ FROM visits WHERE diagnosis <> ';'",
		},
		{
			unbounded, all, beside, "h.id",
			"SELECT h.name, count(v.patient_id) FROM hospitals h LEFT JOIN visits v ON v.hospital_id = h.id GROUP BY h.id, h.name",
		},
		{
			plannertest.HiddenClinic(t, "patient_id"), all, beside, "h.id",
			"SELECT h.name, count(v.id) FROM hospitals h LEFT JOIN visits v ON v.hospital_id = h.id GROUP BY h.id, h.name",
		},
		{unbounded, map[catalog.Name]bool{plannertest.Name("patients"): true}, beside, "h.id", ""},
		{unbounded, all, "SELECT max(" + strings.Repeat("(", 300) + "cost" + strings.Repeat(")", 300) + ") FROM visits", "cost", ""},
	} {
		refusal := pgerr.New(pgerr.NoBounds, "refused").At(strings.Index(c.sql, c.at)).WithHint("No.")
		err, ok := errors.AsType[*pgerr.Error](trial{cat: c.cat, granted: c.granted}.mend(refusal, c.sql))
		if !ok {
			t.Fatal(c.sql)
		}
		if _, got, _ := strings.Cut(strings.TrimSuffix(err.Hint, "."), " Try: "); got != c.want {
			t.Errorf("%s\nhas    %s\nis not %s", c.sql, got, c.want)
		}
	}
}
