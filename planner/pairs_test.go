package planner_test

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"dpproxy/planner"
)

// TestPairsOfPostgres computes aggregates of pairs from exact statistics: they are
// those of Postgres, but for the rounding to lattices.
func TestPairsOfPostgres(t *testing.T) {
	conn := connect(t)
	run(t, conn, "BEGIN")
	run(t, conn, `INSERT INTO patients SELECT g, 'n', 'f', 1920 + g % 83, 'north', g % 3 = 0, NULL,
		CASE WHEN g % 7 > 0 THEN 40 + g % 83 * 0.5 + g % 11 END, NULL FROM generate_series(1001, 1400) g`)
	for _, where := range []string{"id > 1000", "id > 1000 AND id < 1008", "id = 1001", "id = 1008", "id > 5000"} {
		const all = "corr(weight, birth_year), covar_pop(weight, birth_year), covar_samp(weight, birth_year)," +
			" regr_slope(weight, birth_year), regr_intercept(weight, birth_year), regr_r2(weight, birth_year), " +
			"regr_count(weight, birth_year)," +
			" regr_avgx(weight, birth_year), regr_avgy(weight, birth_year), corr(birth_year, weight) FILTER (WHERE " +
			"smoker), regr_count(birth_year, weight) FILTER (WHERE smoker)"
		sql := "SELECT " + all + " FROM patients WHERE " + where
		res := conn.Exec(t.Context(), sql)
		results, err := res.ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		p := planWith(t, conn, clinic(t), sql, showSmallGroups)
		exact := p.read(t, conn)[0]
		columns := p.Blocks[0].Columns([]*planner.Released{exact.Released(exact.Uncut())})
		for i, want := range results[0].Rows[0] {
			got := strings.Trim(columns[i], `{}"`)
			name := results[0].FieldDescriptions[i].Name
			if rounded := name == "regr_avgx" || name == "regr_avgy" || name == "covar_pop"; !nearly(got, want, rounded) {
				t.Errorf("%s, %s: %s, Postgres says %s", where, name, got, want)
			}
		}
	}
	run(t, conn, "ROLLBACK")
}

// nearly reports whether a number is that of Postgres. Over no pairs, averages and covariances are
// the middle of their bounds instead of NULL.
func nearly(got string, want []byte, middle bool) bool {
	if want == nil {
		return middle || got == "NULL"
	}
	a, err := strconv.ParseFloat(got, 64)
	b, _ := strconv.ParseFloat(string(want), 64)
	return err == nil && math.Abs(a-b) <= 1e-4*math.Max(1, math.Abs(b))
}
