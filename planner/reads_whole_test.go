package planner_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/sqlgen"
	"dpproxy/proxy/reader"
)

// A condition that no row meets saves reading no other table: else the time would tell
// whether a row does.
func TestReadsWhole(t *testing.T) {
	cat := indexedClinic(t)
	conn := connect(t)
	run(t, conn, "ANALYZE")
	statements := []string{
		"SELECT count(*) FROM patients p JOIN visits v ON v.patient_id = p.id WHERE CASE WHEN p.id = -1 THEN true " +
			"ELSE p.birth_year = 1 END",
		"SELECT count(*) FROM patients p, visits v WHERE v.patient_id = p.id AND v.cost < 0",
		"SELECT count(*) FROM patients p JOIN visits v ON v.patient_id = p.id JOIN labs l ON l.visit_id = v.id " +
			"WHERE CASE WHEN p.id = -1 THEN p.smoker END AND l.value <> 5",
		"SELECT count(*) FROM labs l WHERE CASE WHEN l.id = -1 THEN true END",
		"SELECT test, count(*) FROM labs l WHERE l.id = -1 GROUP BY test",
		"SELECT count(*) FROM (SELECT id FROM patients WHERE smoker AND id = -1 GROUP BY id) t JOIN visits v ON v.patient_id = t.id",
		"SELECT count(*) FROM (SELECT id FROM patients WHERE id = -1 UNION ALL SELECT patient_id FROM visits " +
			"WHERE cost < 0) t JOIN visits v ON v.patient_id = t.id",
		"SELECT count(*) FROM patients p LEFT JOIN visits v ON v.patient_id = p.id AND v.cost < 0 WHERE p.id = -1",
		"SELECT count(v.id) FROM patients p LEFT JOIN (visits v JOIN labs l ON l.visit_id = v.id AND v.id = -1) ON v.patient_id = p.id",
		"SELECT h.region, count(*) FROM visits v JOIN hospitals h ON h.id = v.hospital_id WHERE v.id = -1 GROUP BY 1",
		"SELECT count(*) FROM visits a JOIN visits b USING (patient_id) WHERE a.id = -1",
		"SELECT avg(n) FROM (SELECT p.id, count(v.id) AS n FROM patients p JOIN visits v ON v.patient_id = p.id " +
			"WHERE p.id = -1 GROUP BY p.id) t",
		"SELECT count(*) FROM patients p WHERE p.id = -1 AND EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.id)",
		"SELECT count(*) FROM patients p WHERE CASE WHEN p.id = -1 THEN p.id IN (SELECT patient_id FROM visits WHERE cost > 5) " +
			"ELSE false END",
	}
	for _, sql := range statements {
		p := plan(t, conn, cat, sql)
		for _, f := range forced {
			run(t, conn, f)
			for name, value := range reader.PlanSettings {
				run(t, conn, "SET "+name+" = "+value)
			}
			if skipped := p.unread(t, conn); len(skipped) > 0 {
				t.Errorf("%s\nunder %s:\n%s", sql, f, strings.Join(skipped, "\n"))
			}
		}
		run(t, conn, "RESET ALL")
	}
}

// TestReadsSubSelects holds the same of sub-selects of every kind, wherever they can stand: where no row asks, and where one does.
func TestReadsSubSelects(t *testing.T) {
	cat := indexedClinic(t)
	conn := connect(t)
	run(t, conn, "ANALYZE")
	// Without hash joins a sub-select would be computed for each row.
	hashing := slices.DeleteFunc(slices.Clone(forced), func(f string) bool { return strings.Contains(f, "enable_hashjoin = off") })
	asked := 0
	for _, few := range []string{"p.birth_year = -1", "p.id = 1"} {
		for i, a := range sqlgen.Askings(few) {
			if few == "p.id = 1" && i%5 > 0 {
				continue
			}
			asked++
			p := plan(t, conn, cat, a.SQL)
			run(t, conn, hashing[i%len(hashing)])
			for name, value := range reader.PlanSettings {
				run(t, conn, "SET "+name+" = "+value)
			}
			if skipped := p.unread(t, conn); len(skipped) > 0 {
				t.Errorf("%s: %s\nunder %s:\n%s", a.Name, a.SQL, hashing[i%len(hashing)], strings.Join(skipped, "\n"))
			}
			run(t, conn, "RESET ALL")
		}
	}
	t.Logf("%d statements", asked)
}

// unread returns scans of tables that were not needed, but for rows that an index finds.
func (p specialized) unread(t *testing.T, conn *pgconn.PgConn) (skipped []string) {
	t.Helper()
	scan := regexp.MustCompile(`Scan .*on (patients|visits|labs|hospitals) .*never executed`)
	for _, set := range p.Blocks[0].Sets {
		for _, r := range set.Reads {
			before, after := reader.SettingsOf(r)
			run(t, conn, "BEGIN; "+strings.Join(before, "; "))
			res := conn.ExecParams(t.Context(), "EXPLAIN (ANALYZE, COSTS "+
				"OFF, TIMING OFF) "+r.SQL, p.params(r), nil, p.formats(r), nil).Read()
			run(t, conn, strings.Join(after, "; ")+"; COMMIT")
			if res.Err != nil {
				t.Fatal(res.Err)
			}
			for i, row := range res.Rows {
				line := string(row[0])
				found := i+1 < len(res.Rows) && strings.Contains(string(res.Rows[i+1][0]), " Cond: ")
				if scan.MatchString(line) && !found {
					skipped = append(skipped, line)
				}
			}
		}
	}
	return skipped
}
