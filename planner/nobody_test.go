package planner_test

import (
	"fmt"
	"strings"
	"testing"

	"dpproxy/parser"
	"dpproxy/planner"
	"dpproxy/planner/policy"
)

// countingClinic is an unlimited clinic in which visits without a patient count.
func countingClinic(t *testing.T, of policy.Nobody) *policy.Model {
	t.Helper()
	p, s := clinicPolicy(), clinicSchema()
	for i := range p.Tables {
		p.Tables[i].MaxRows, p.Tables[i].MaxPartitions = 0, 0
	}
	p.Tables[1].Nobody = of
	s.Tables[name("visits")].Columns[1].NotNull = false
	return checkedBy(t, p, s)
}

var nobodyStatements = []string{
	"SELECT count(*) FROM visits",
	"SELECT count(*) FROM visits WHERE patient_id IS NULL",
	"SELECT count(*), count(DISTINCT patient_id), sum(cost) FROM visits WHERE patient_id IS NOT NULL",
	"SELECT count(DISTINCT patient_id), count(DISTINCT hospital_id), count(DISTINCT tip) FROM visits",
	"SELECT diagnosis, count(*), sum(cost), avg(cost), count(DISTINCT patient_id) FROM visits GROUP BY diagnosis",
	"SELECT diagnosis, min(cost), percentile_cont(0.5) WITHIN GROUP (ORDER BY steps) FROM visits GROUP BY 1",
	"SELECT hospital_id, count(*), sum(cost), avg(tip), count(DISTINCT patient_id) FROM visits GROUP BY 1",
	"SELECT hospital_id, count(*) FROM visits WHERE patient_id IS NULL GROUP BY 1",
	"SELECT DISTINCT hospital_id FROM visits",
	"SELECT test, avg(value), sum(value), count(value) FROM labs GROUP BY test",
	"SELECT l.test, sum(least(v.cost, 50)) FROM visits v JOIN labs l ON l.visit_id = v.id GROUP BY 1",
	"SELECT h.name, count(v.id), sum(v.tip) FROM hospitals h LEFT JOIN visits v ON v.hospital_id = h.id GROUP BY 1",
	"SELECT p.sex, count(*) FROM visits v LEFT JOIN patients p ON p.id = v.patient_id GROUP BY 1",
	"SELECT count(*) FROM visits a JOIN visits b USING (patient_id)",
	"SELECT avg(n), max(n) FROM (SELECT patient_id, count(*) AS n FROM visits WHERE patient_id IS NOT NULL GROUP BY 1) t",
	"SELECT n, count(*) FROM (SELECT v.id, count(*) AS n FROM visits v JOIN labs l ON l.visit_id = v.id GROUP BY 1) t GROUP BY n",
	"SELECT d, count(*) FROM (SELECT patient_id, day AS d FROM visits UNION ALL SELECT id, CAST(NULL AS date) FROM patients) u GROUP BY 1",
	"SELECT count(*) FROM patients WHERE NOT EXISTS (SELECT FROM visits v WHERE v.patient_id = patients.id AND v.cost > 500)",
}

// TestSensitivityOfNobody removes patients, and visits of nobody with all that hangs on them: each changes what is read by what a unit may.
func TestSensitivityOfNobody(t *testing.T) {
	conn := connect(t)
	cat := countingClinic(t, policy.NobodyRows)
	reached, whole := map[string]float64{}, map[string]reading{}
	plan := func(sql string) specialized {
		return planWith(t, conn, cat, sql, func(s *planner.Settings) { s.Mechanism = "gaussian" })
	}
	for _, sql := range nobodyStatements {
		whole[sql] = plan(sql).read(t, conn)
	}
	removals := map[string]string{}
	for _, unit := range []int{1, 2, 17} {
		removals[fmt.Sprint("patient ", unit)] = fmt.Sprintf("DELETE FROM labs WHERE visit_id IN "+
			"(SELECT id FROM visits WHERE patient_id = %[1]d); DELETE FROM visits WHERE patient_id = %[1]d; "+
			"DELETE FROM patients WHERE id = %[1]d", unit)
	}
	for _, visit := range []int{10, 420} {
		removals[fmt.Sprint("visit ", visit)] = fmt.Sprintf("DELETE FROM labs WHERE visit_id = %[1]d; "+
			"DELETE FROM visits WHERE id = %[1]d", visit)
	}
	for unit, removal := range removals {
		run(t, conn, "BEGIN; "+removal)
		for _, sql := range nobodyStatements {
			p := plan(sql)
			p.withinSensitivity(t, sql+" without "+unit, whole[sql], p.read(t, conn), reached)
		}
		run(t, conn, "ROLLBACK")
	}
}

// TestNobodySelectsNoGroup: rows without a person count as no people: they add nothing to the weight by which a private group is shown,
// unless the policy declares that they concern nobody.
func TestNobodySelectsNoGroup(t *testing.T) {
	conn := connect(t)
	const sql = "SELECT hospital_id, count(*) FROM visits WHERE patient_id IS NULL GROUP BY 1"
	for of, selects := range map[policy.Nobody]bool{policy.NobodyRows: false, policy.NobodyPublic: true} {
		p := planWith(t, conn, countingClinic(t, of), sql, func(*planner.Settings) {})
		weights, positive := p.read(t, conn)[0].Weights(), 0
		for _, w := range weights {
			if w.Sign() > 0 {
				positive++
			}
		}
		if len(weights) == 0 || positive != map[bool]int{true: len(weights)}[selects] {
			t.Errorf("nobody: %s: %d of %d groups have a weight", of, positive, len(weights))
		}
	}
}

// TestNobodyIsCounted: what counts is not said to be left out, and no person is counted for it.
func TestNobodyIsCounted(t *testing.T) {
	conn := connect(t)
	cat := countingClinic(t, policy.NobodyRows)
	for _, sql := range nobodyStatements {
		p := planWith(t, conn, cat, sql, func(*planner.Settings) {})
		if said := strings.Join(p.LeftOut(), "; "); strings.Contains(said, "belong to no patient") {
			t.Errorf("%s: %s", sql, said)
		}
	}
	for _, sql := range []string{
		"SELECT count(*) FROM visits", "SELECT count(*) FROM visits WHERE patient_id IS NULL",
		"SELECT count(DISTINCT patient_id) FROM visits", "SELECT count(*) FROM labs",
		"SELECT count(*) FROM visits v LEFT JOIN patients p ON p.id = v.patient_id",
	} {
		res, err := conn.Exec(t.Context(), sql).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		e := planWith(t, conn, cat, sql, func(*planner.Settings) {}).read(t, conn)[0]
		for _, n := range e.Integer(0, e.Uncut()) {
			if want := string(res[0].Rows[0][0]); n.String() != want {
				t.Errorf("%s: %v, want %s", sql, n, want)
			}
		}
	}
}

// TestPeopleAreCountedAsUnits: people are counted as units, one each, also where the rows have none: no limit is chosen for their number.
func TestPeopleAreCountedAsUnits(t *testing.T) {
	const sql = "SELECT count(DISTINCT patient_id) FROM visits"
	p := planWith(t, connect(t), countingClinic(t, policy.NobodyRows), sql, func(*planner.Settings) {})
	if said := strings.Join(p.ExplainVerbose(nil), "\n"); !strings.Contains(said, "count of units where a filter holds") {
		t.Errorf("%s\n%s", sql, said)
	}
}

// TestGroupsOfNobody: groups by the unit are refused, though that of rows without one is not of a single unit.
func TestGroupsOfNobody(t *testing.T) {
	for _, sql := range []string{
		"SELECT patient_id, count(*) FROM visits GROUP BY patient_id", "SELECT DISTINCT patient_id FROM visits",
		"SELECT diagnosis, patient_id, count(*) FROM visits GROUP BY 1, 2",
	} {
		cat := countingClinic(t, policy.NobodyRows)
		script, err := parser.Parse(sql, planner.Names(cat))
		if err != nil {
			t.Fatal(err)
		}
		if script.Statements[0].Refusal == nil {
			t.Errorf("%s is not refused", sql)
		}
	}
}
