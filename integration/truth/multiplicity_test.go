package truth_test

import (
	"math"
	"testing"

	"github.com/jackc/pgx/v5"
)

// A patient who is joined with the hospitals of a region counts once for each of them: that is
// public, and no limit of contributions leaves any out. Noise alone is a sixth of what is tolerated, and a
// limit that took a patient for one row would leave out seven eighths.
func TestPublicMultiplicity(t *testing.T) {
	s := clinic(t, 2000)
	for _, sql := range []string{
		"SELECT count(*)::float8 FROM patients JOIN hospitals USING (region)",
		"SELECT count(*)::float8 FROM patients LEFT JOIN hospitals USING (region)",
		"SELECT count(*)::float8 FROM (SELECT p.id, h.name FROM patients p JOIN hospitals h ON h.region = p.region) t",
		"SELECT count(*)::float8 FROM patients CROSS JOIN hospitals",
		"SELECT sum(n)::float8 FROM (SELECT h.id, count(*) AS n FROM patients p JOIN hospitals h USING (region) GROUP BY h.id) t",
	} {
		number := func(conn *pgx.Conn) (x float64) {
			if err := conn.QueryRow(t.Context(), sql).Scan(&x); err != nil {
				t.Errorf("%s: %v", sql, err)
			}
			return x
		}
		if truth, answer := number(s.truth), number(s.ours[0].Conn); math.Abs(answer-truth) > truth/15 {
			t.Errorf("%s: %v, in truth %v", sql, answer, truth)
		}
	}
}
