package planner_test

import (
	"testing"
)

// Rows that differ only in how a value is spelled are different rows: which of them are
// kept must not depend on where they lie.
func TestTies(t *testing.T) {
	cat := clinic(t)
	conn := connect(t)
	run(t, conn, "BEGIN")
	run(t, conn, `INSERT INTO visits SELECT 10000 + g, 7, g % 7, '2020-01-01', NULL, 'flu', 1,
  CASE WHEN g % 2 = 0 THEN 1.5 ELSE 1.5000 END, NULL, NULL,
  CASE g % 3 WHEN 0 THEN ROW(NULL, NULL)::place WHEN 1 THEN ROW(1, NULL)::place ELSE ROW(1, 1)::place END
  FROM generate_series(1, 400) g`)
	for _, sql := range []string{
		"SELECT count(*) FILTER (WHERE length(tip::text) > 4) FROM visits",
		"SELECT count(*) FILTER (WHERE octet_length(c) > 1) FROM (SELECT patient_id, CASE WHEN hospital_id > 3 " +
			"THEN bpchar 'a' ELSE bpchar 'a  ' END AS c FROM visits) t",
		"SELECT count(*) FILTER (WHERE place IS NOT NULL) FROM visits",
		"SELECT count(*) FILTER (WHERE place IS NULL) FROM visits",
		"SELECT count(*) FILTER (WHERE c IS NOT NULL) FROM (SELECT patient_id, place AS c FROM visits UNION ALL " +
			"SELECT patient_id, place FROM visits) t",
		"SELECT count(*) FILTER (WHERE a.place IS NULL) FROM visits a JOIN visits b ON b.patient_id = a.patient_id",
		"SELECT count(*) FILTER (WHERE length(a.tip::text) > 4) FROM visits a JOIN visits b ON b.patient_id = a.patient_id",
	} {
		p := plan(t, conn, cat, sql)
		whole := p.read(t, conn)
		for range 3 {
			shuffle(t, conn)
			same(t, sql+" after the heap was shuffled", whole, p.read(t, conn))
		}
	}
	undo(t, conn)
}

// Columns of a derived table are computed in wider types than they have.
func TestRowsOfDerivedColumns(t *testing.T) {
	cat := clinic(t)
	conn := connect(t)
	for _, sql := range []string{
		"SELECT sum(n) FROM (SELECT patient_id, least(greatest(hospital_id, 0), 100) + 1 AS n FROM visits) t",
		"SELECT sum(n) FROM (SELECT patient_id, least(greatest(score, 0), 1) AS n FROM visits) t",
	} {
		plan(t, conn, cat, sql).read(t, conn)
	}
}
