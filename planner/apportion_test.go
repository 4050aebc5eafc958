package planner_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/accountant"
	"dpproxy/dp"
	"dpproxy/planner"
)

// TestPriceOfParts holds that grouping sets cost together what the statement may spend, however it is divided among them.
func TestPriceOfParts(t *testing.T) {
	conn := connect(t)
	const (
		columns = "SELECT sex, region, birth_year FROM patients"
		twice   = "(" + columns + " UNION ALL " + columns + ") q" // a unit has two rows
	)
	of := []string{
		"patients GROUP BY ROLLUP (sex)", "patients GROUP BY CUBE (sex, region)",
		"patients GROUP BY CUBE (sex, region, birth_year < 1960)",
		"patients GROUP BY GROUPING SETS ((sex, region), (region))", "patients GROUP BY GROUPING SETS ((sex), (sex), ())",
		"patients GROUP BY GROUPING SETS ((sex), (region))",
		twice + " GROUP BY ROLLUP (sex, region)", twice + " GROUP BY CUBE (sex, region)",
	}
	for _, aggregates := range []string{
		"count(*)", "avg(birth_year), variance(birth_year)", "sum(birth_year), dp.weight(count(*), 0.001), count(DISTINCT birth_year)",
	} {
		for _, from := range of {
			for _, epsilon := range []int64{dp.PicoPerUnit / 1000, dp.PicoPerUnit, 7 * dp.PicoPerUnit} {
				pays(t, conn, "SELECT "+aggregates+" FROM "+from, epsilon, "gaussian")
				pays(t, conn, "SELECT "+aggregates+" FROM "+from, epsilon, "laplace")
			}
		}
	}
}

// pays holds that a statement costs at most what it may spend, and, if that is enough for noise that is no single step, nearly all of it.
func pays(t *testing.T, conn *pgconn.PgConn, sql string, epsilon int64, mechanism string) {
	t.Helper()
	measure, most := dp.ZCDP, float64(epsilon)/dp.PicoPerUnit*float64(epsilon)/2
	if mechanism == "laplace" {
		measure, most = dp.PureDP, float64(epsilon)
	}
	p := planWith(t, conn, clinic(t), sql, func(s *planner.Settings) {
		s.Mechanism, s.EpsilonPico, s.Pure = mechanism, epsilon, measure == dp.PureDP
	})
	loss, err := accountant.Price(p.Event, measure)
	if err != nil {
		t.Fatal(err)
	}
	if spent := float64(loss.Pico()); spent > most || epsilon < dp.PicoPerUnit && spent < most*0.99 {
		t.Errorf("%s, %s at ε = %v·10⁻¹²: it costs %v·10⁻¹² of %v", sql, mechanism, epsilon, spent, most)
	}
}

// TestPartsOfSets holds where parts of the budget are unequal.
func TestPartsOfSets(t *testing.T) {
	conn := connect(t)
	for sql, unequal := range map[string]bool{
		"SELECT count(*) FROM patients GROUP BY CUBE (sex, region)":                   true,
		"SELECT sum(birth_year) FROM patients GROUP BY ROLLUP (sex, region)":          true,
		"SELECT count(*) FROM patients GROUP BY GROUPING SETS ((sex), (region))":      false, // none has all keys
		"SELECT count(DISTINCT birth_year) FROM patients GROUP BY CUBE (sex, region)": false, // does not add up
		"SELECT count(*) FROM visits GROUP BY CUBE (diagnosis)":                       false, // limits are chosen with thirds

		"SELECT count(DISTINCT patient_id) FROM visits GROUP BY ROLLUP (diagnosis)": false,
		"SELECT count(*) FROM patients WHERE sex = 'q' GROUP BY ROLLUP (sex)":       false, // without groups
	} {
		for _, mechanism := range []string{"gaussian", "laplace"} {
			p := planWith(t, conn, clinic(t), sql, func(s *planner.Settings) { s.Mechanism = mechanism })
			told := strings.Contains(strings.Join(p.ExplainVerbose(nil), "\n"), "% of the budget")
			if told != unequal {
				t.Errorf("%s, %s: unequal parts: %v, want %v", sql, mechanism, told, unequal)
			}
		}
	}
}
