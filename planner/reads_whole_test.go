package planner_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/catalog"
	"dpproxy/internal/sqlgen"
	"dpproxy/planner/plannertest"
	"dpproxy/planner/policy"
	"dpproxy/proxy/reader"
)

// A condition that no row meets saves reading no other table: else the time would tell
// whether a row does.
func TestReadsWhole(t *testing.T) {
	cat := indexedClinic(t)
	conn := connect(t)
	run(t, conn, "BEGIN; ANALYZE")
	defer run(t, conn, "ROLLBACK")
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
		"SELECT count(*) FROM patients p LEFT JOIN visits v ON v.patient_id = p.id AND v.cost < 0 LEFT JOIN hospitals h ON " +
			"h.id = v.hospital_id WHERE h.region IS NULL",
		"SELECT count(*) FROM patients p LEFT JOIN visits v ON v.patient_id = p.id AND v.cost < 0 WHERE NOT EXISTS (SELECT 1 FROM " +
			"hospitals h WHERE h.id = v.hospital_id AND h.region = 'x')",
		"SELECT count(v.id) FROM patients p LEFT JOIN (visits v JOIN labs l ON l.visit_id = v.id AND v.id = -1) ON v.patient_id = p.id",
		"SELECT h.region, count(*) FROM visits v JOIN hospitals h ON h.id = v.hospital_id WHERE v.id = -1 GROUP BY 1",
		"SELECT count(*) FROM visits a JOIN visits b USING (patient_id) WHERE a.id = -1",
		"SELECT avg(n) FROM (SELECT p.id, count(v.id) AS n FROM patients p JOIN visits v ON v.patient_id = p.id " +
			"WHERE p.id = -1 GROUP BY p.id) t",
		"SELECT count(*) FROM patients p WHERE p.id = -1 AND EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.id)",
		"SELECT count(*) FROM patients p WHERE CASE WHEN p.id = -1 THEN p.id IN (SELECT patient_id FROM visits WHERE cost > 5) " +
			"ELSE false END",
		"SELECT count(*) FROM visits v WHERE v.id = -1 AND v.cost NOT IN (SELECT w.cost FROM visits w WHERE w.patient_id = v.patient_id " +
			"AND w.id = -1 ORDER BY w.day LIMIT 3)",
		"SELECT count(*) FROM patients p WHERE p.id = -1 AND (p.birth_year > ANY (SELECT w.hospital_id FROM visits w JOIN labs l ON " +
			"l.visit_id = w.id WHERE w.patient_id = p.id ORDER BY l.value LIMIT 3) OR 5 IN (SELECT w.hospital_id FROM visits w " +
			"WHERE w.patient_id = p.id ORDER BY w.day LIMIT 1))",
		"SELECT count(*) FROM patients p FULL JOIN visits v ON v.patient_id = p.id AND v.cost < 0 WHERE p.id = -1",
		"SELECT count(p.id) FROM patients p FULL JOIN (visits v JOIN labs l ON l.visit_id = v.id AND v.id = -1) ON v.patient_id = p.id " +
			"WHERE p.id = -1",
		"SELECT count(p.id) FROM (SELECT id FROM patients WHERE id = -1) p FULL JOIN (visits v JOIN labs l ON l.visit_id = v.id AND " +
			"v.id = -1) ON v.patient_id = p.id",
		"SELECT count(v.id) FROM patients p LEFT JOIN (visits v JOIN labs l ON l.visit_id = v.id) ON v.patient_id = p.id WHERE p.id = -1",
		"SELECT count(l.id) FROM (SELECT id FROM patients WHERE id = -1) p LEFT JOIN (visits v LEFT JOIN labs l ON l.visit_id = v.id) " +
			"ON v.patient_id = p.id",
		"SELECT count(l.id) FROM (SELECT id FROM patients GROUP BY id HAVING id = -1) p LEFT JOIN (visits v JOIN labs l ON " +
			"l.visit_id = v.id) ON v.patient_id = p.id",
		"SELECT count(l.id) FROM patients p LEFT JOIN ((SELECT id, patient_id FROM visits WHERE cost < 0) v JOIN labs l ON " +
			"l.visit_id = v.id) ON v.patient_id = p.id",
		"SELECT count(*) FROM (SELECT patient_id FROM visits WHERE id = -1) a FULL JOIN (SELECT patient_id FROM visits WHERE cost < 0) b " +
			"USING (patient_id) FULL JOIN (SELECT id AS patient_id FROM patients WHERE smoker AND id = -1) p USING (patient_id)",
		"SELECT count(*) FILTER (WHERE EXISTS (SELECT 1 FROM visits b WHERE b.patient_id = a.patient_id AND b.day > a.day)) " +
			"FROM visits a WHERE a.id = -1",
	}
	readWhole(t, conn, cat, statements)
	readWhole(t, conn, referredClinic(t), []string{
		"SELECT h.region, count(*) FROM visits v JOIN hospitals h ON h.id = v.hospital_id WHERE v.id = -1 GROUP BY 1",
		"SELECT count(*) FROM visits v JOIN hospitals h ON h.id = v.hospital_id WHERE h.name = 'none'",
		"SELECT count(h.region) FROM visits v LEFT JOIN hospitals h ON h.id = v.hospital_id AND h.name = 'none' WHERE v.cost < 0",
		"SELECT count(*) FROM patients p JOIN visits v ON v.patient_id = p.id JOIN hospitals h ON h.id = v.hospital_id WHERE p.id = -1",
		"SELECT count(h.region) FROM patients p LEFT JOIN visits v ON v.patient_id = p.id AND v.cost < 0 LEFT JOIN hospitals h ON " +
			"h.id = v.hospital_id",
		"SELECT count(*) FROM visits v WHERE v.cost < 0 AND EXISTS (SELECT 1 FROM hospitals h WHERE h.id = v.hospital_id AND " +
			"h.region = 'x')",
		"SELECT count(*) FROM visits v WHERE v.cost < 0 AND v.hospital_id IN (SELECT id FROM hospitals WHERE region = 'x')",
		"SELECT count(*) FROM patients p WHERE p.id = -1 AND EXISTS (SELECT 1 FROM visits v JOIN hospitals h ON h.id = v.hospital_id " +
			"WHERE v.patient_id = p.id AND h.region = 'x')",
		"SELECT count(*) FROM visits v WHERE v.id = -1 AND (SELECT h.region FROM hospitals h WHERE h.id = v.hospital_id) = 'x'",
	})
}

// readWhole holds it of statements under every way to read them.
func readWhole(t *testing.T, conn *pgconn.PgConn, cat *policy.Model, statements []string) {
	t.Helper()
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

// referredClinic is the clinic with hospitals as a reference table.
func referredClinic(t *testing.T) *policy.Model {
	t.Helper()
	p, s := plannertest.ClinicPolicy(), clinicSchema()
	for i := range p.Tables {
		if p.Tables[i].Name == name("hospitals") {
			p.Tables[i] = policy.TablePolicy{Name: name("hospitals"), Reference: true}
		}
	}
	return plannertest.CheckedBy(t, p, s)
}

// TestReadsSubSelects holds the same of sub-selects of every kind, wherever they can stand: where no row asks, and where one does.
func TestReadsSubSelects(t *testing.T) {
	sides, looks, conn := indexedClinic(t), keyedClinic(t), connect(t)
	run(t, conn, "BEGIN; CREATE INDEX ON visits (patient_id); CREATE INDEX ON labs (visit_id); ANALYZE")
	defer run(t, conn, "ROLLBACK")
	// Without hash joins a sub-select would be computed for each row.
	hashing := slices.DeleteFunc(slices.Clone(forced), func(f string) bool { return strings.Contains(f, "enable_hashjoin = off") })
	asked := 0
	for few, cat := range map[string]*policy.Model{"p.birth_year = -1": sides, "p.id = 1": looks, "p.id = -1": looks} {
		for i, a := range sqlgen.Askings(few) {
			if few == "p.id = 1" && i%5 > 0 || few == "p.id = -1" && i%5 != 1 {
				continue
			}
			asked++
			p := plan(t, conn, cat, a.SQL)
			run(t, conn, hashing[i%len(hashing)])
			if cat == looks { // the tables are so small that they would be read sooner than an index, were that not dear
				run(t, conn, "SET seq_page_cost = 1e9")
			}
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

// keyedClinic is a clinic whose keys and units have indexes.
func keyedClinic(t *testing.T) *policy.Model {
	t.Helper()
	return keyedClinicOf(t, plannertest.ServedVersion)
}

// keyedClinicOf is keyedClinic on a server of that version.
func keyedClinicOf(t *testing.T, version int) *policy.Model {
	t.Helper()
	s := clinicSchema()
	for table, columns := range map[string][]string{
		"patients": {"id"}, "visits": {"id", "patient_id"}, "labs": {"id", "visit_id"}, "hospitals": {"id"},
	} {
		for _, c := range columns {
			of := s.Tables[name(table)]
			of.Sorted = append(of.Sorted, catalog.Index{Name: c, Columns: []string{c}})
		}
	}
	s.ServerVersion = version
	return checked(t, s)
}

// TestLooksUpProjections holds that rows of a projection of one table, and of INTERSECT and EXCEPT of such, are looked up as those of
// the table are: none before Postgres 14, where plans rely on no index.
func TestLooksUpProjections(t *testing.T) {
	before14, from14, conn := keyedClinicOf(t, 130000), keyedClinicOf(t, 140000), connect(t)
	for inside, looks := range map[string]int{
		"SELECT patient_id AS i FROM visits": 1, "SELECT q.i FROM (SELECT patient_id AS i FROM visits WHERE cost > 5) q": 1,
		"SELECT q.i FROM (SELECT patient_id AS i, cost * 2 AS twice FROM visits) q WHERE q.twice >= 0":                       1,
		"WITH w AS (SELECT patient_id AS i FROM visits) SELECT w.i FROM w":                                                   1,
		"SELECT DISTINCT patient_id AS i FROM visits":                                                                        1,
		"SELECT patient_id AS i FROM visits INTERSECT SELECT id FROM patients":                                               2,
		"SELECT id AS i FROM patients EXCEPT SELECT q.p FROM (SELECT patient_id AS p FROM visits) q":                         2,
		"SELECT id AS i FROM patients EXCEPT (SELECT id FROM patients WHERE smoker INTERSECT SELECT patient_id FROM visits)": 3,
		"SELECT patient_id AS i FROM visits GROUP BY 1":                                                                      0,
	} {
		for _, asked := range []string{
			"p.id IN (%s)", "p.id NOT IN (%s)", "EXISTS (SELECT FROM (%s) z WHERE z.i = p.id)",
			"NOT EXISTS (SELECT FROM (SELECT * FROM (%s) y) z (j) WHERE p.id = j)",
		} {
			sql := "SELECT count(*) FROM patients p WHERE p.id = 1 AND " + fmt.Sprintf(asked, inside)
			for cat, want := range map[*policy.Model]int{before14: 0, from14: looks} {
				read := plan(t, conn, cat, sql).Blocks[0].Sets[0].Reads[0].SQL
				if got := strings.Count(read, "EXISTS (SELECT 1"); got != want {
					t.Errorf("%s\n%d look-ups in place of %d:\n%s", sql, got, want, read)
				}
			}
		}
	}
}

// TestLooksUpByIndex holds that rows that an index finds are looked up by it, also of few persons with many rows each: Postgres reads a
// table of which it expects that one row in a few is asked for, and of a person without rows it reads it whole.
func TestLooksUpByIndex(t *testing.T) {
	cat, conn := keyedClinic(t), connect(t)
	run(t, conn, "BEGIN")
	defer undo(t, conn)
	run(t, conn, `INSERT INTO visits SELECT 100000 + g, g % 2 + 1, g % 7, '2020-01-01', NULL, 'flu', g % 100, 1, 1, 1, NULL
		FROM generate_series(1, 60000) g; DELETE FROM visits WHERE patient_id > 2; CREATE INDEX ON visits (patient_id); ANALYZE`)
	p := plan(t, conn, cat, "SELECT count(*) FROM patients p WHERE p.id = 3 AND EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.id "+
		"AND v.cost > 5)")
	for name, value := range reader.PlanSettings {
		run(t, conn, "SET "+name+" = "+value)
	}
	for _, line := range p.explained(t, conn) {
		if strings.Contains(line, "Seq Scan on visits") {
			t.Errorf("visits are read: %s", line)
		}
	}
}

// unread returns scans of tables that were not needed, but for rows that an index finds.
func (p specialized) unread(t *testing.T, conn *pgconn.PgConn) (skipped []string) {
	t.Helper()
	scan := regexp.MustCompile(`Scan .*on (patients|visits|labs|hospitals) .*never executed|-> +Limit `) // a limit ends what is below it
	lines := p.explained(t, conn)
	for i, line := range lines {
		found := i+1 < len(lines) && strings.Contains(lines[i+1], " Cond: ")
		if scan.MatchString(line) && !found {
			skipped = append(skipped, line)
		}
	}
	return skipped
}

// explained returns the plans of all reads, executed in the transaction that the session is in.
func (p specialized) explained(t *testing.T, conn *pgconn.PgConn) (lines []string) {
	t.Helper()
	for _, set := range p.Blocks[0].Sets {
		for _, r := range set.Reads {
			before, _ := reader.SettingsOf(r)
			run(t, conn, "SAVEPOINT read; "+strings.Join(before, "; "))
			res := conn.ExecParams(t.Context(), "EXPLAIN (ANALYZE, COSTS "+
				"OFF, TIMING OFF) "+r.SQL, p.params(r.Statement), nil, p.formats(r.Statement), nil).Read()
			if res.Err != nil {
				t.Fatal(res.Err)
			}
			run(t, conn, "ROLLBACK TO read")
			for _, row := range res.Rows {
				lines = append(lines, string(row[0]))
			}
		}
	}
	return lines
}
