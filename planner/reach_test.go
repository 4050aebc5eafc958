package planner_test

import (
	"strings"
	"testing"

	"dpproxy/catalog"
	"dpproxy/parser"
	"dpproxy/planner"
	"dpproxy/planner/policy"
)

// Every statement of the golden files reads no more than the beginning of a text that may have
// any length, whatever it does with it; and so do these.
func TestLongTexts(t *testing.T) {
	cat := clinic(t)
	conn := connect(t)
	statements := []string{
		"SELECT diagnosis, count(*) FROM visits GROUP BY diagnosis",
		"SELECT count(DISTINCT diagnosis), count(diagnosis) FROM visits WHERE diagnosis IS NOT NULL",
		"SELECT count(*) FROM visits WHERE diagnosis IN ('a', 'b') OR diagnosis BETWEEN 'a' AND 'b' OR diagnosis > " +
			"'x' OR diagnosis = repeat('a', 2000) OR diagnosis IS DISTINCT FROM 'c'",
		"SELECT count(*) FROM visits WHERE diagnosis = ANY (ARRAY['a', 'b']) OR CASE diagnosis " +
			"WHEN 'a' THEN true END OR nullif(diagnosis, 'a') = coalesce(diagnosis, 'b') OR least(diagnosis, 'a') " +
			"= greatest(diagnosis, 'a')",
		"SELECT count(*) FROM visits WHERE diagnosis LIKE 'a%' OR diagnosis ILIKE 'a%' OR md5(diagnosis) = 'a' OR " +
			"length(diagnosis) > 1 OR position('a' IN diagnosis) > 1 OR starts_with(diagnosis, 'a') OR diagnosis || 'a' = 'b'",
		"SELECT count(*) FROM visits WHERE CAST(diagnosis AS varchar(3)) = 'a' OR CAST(diagnosis AS char(3)) = 'a' " +
			"OR CAST(diagnosis AS varchar) LIKE 'a'",
		"SELECT count(*) FROM patients p JOIN visits v ON v.patient_id = p.id AND v.diagnosis = p.sex WHERE p.sex < v.diagnosis",
		"SELECT count(*) FROM patients p LEFT JOIN visits v ON v.patient_id = p.id AND v.diagnosis = 'a' WHERE v.diagnosis IS NULL",
		"SELECT count(*) FROM visits a JOIN visits b USING (patient_id, diagnosis)",
		"SELECT count(*) FROM visits v JOIN hospitals h ON h.name = v.diagnosis",
		"SELECT count(*) FROM patients p WHERE sex IN (SELECT diagnosis FROM visits v WHERE v.patient_id = p.id)",
		"SELECT count(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.id AND v.diagnosis = p.sex)",
		"SELECT count(*) FROM visits WHERE diagnosis IN (SELECT name FROM hospitals)",
		"SELECT count(*) FROM (SELECT patient_id, diagnosis AS d FROM visits) t WHERE d = 'flu' AND d >= d",
		"SELECT d, count(*) FROM (SELECT patient_id, diagnosis AS d FROM visits UNION ALL SELECT id, sex FROM patients) t GROUP BY d",
		"SELECT d, count(*) FROM (SELECT patient_id, diagnosis AS d FROM visits UNION ALL SELECT id, lower(sex) " +
			"FROM patients) t GROUP BY d",
		"SELECT count(*) FROM (SELECT DISTINCT patient_id, diagnosis AS d FROM visits) t WHERE d = 'flu'",
		"SELECT count(*) FROM (SELECT patient_id, diagnosis AS d, count(sex), min(diagnosis), count(DISTINCT " +
			"diagnosis) FROM visits JOIN patients ON patients.id = patient_id GROUP BY patient_id, diagnosis " +
			"HAVING max(diagnosis) > 'a') t WHERE d = 'flu'",
		"SELECT count(*) FROM (SELECT patient_id, diagnosis AS d, diagnosis IS NULL AS e, length(diagnosis) AS f, " +
			"diagnosis = 'a' AS g, CASE diagnosis WHEN 'a' THEN 1 END AS h FROM visits " +
			"GROUP BY patient_id, diagnosis HAVING diagnosis = 'a' OR diagnosis IS NULL OR diagnosis IN ('a', 'b') " +
			"OR lower(diagnosis) = 'b') t WHERE d > 'a' AND e AND f > 1 AND g AND h = 1",
		"SELECT count(*) FROM (SELECT patient_id, CASE WHEN diagnosis = 'a' THEN 'b' ELSE diagnosis END AS d " +
			"FROM visits GROUP BY patient_id, CASE WHEN diagnosis = 'a' THEN 'b' ELSE diagnosis END HAVING CASE " +
			"WHEN diagnosis = 'a' THEN 'b' ELSE diagnosis END > 'b') t WHERE d > 'a'",
		"SELECT count(*) FROM (SELECT patient_id, d || d AS e FROM (SELECT patient_id, lower(diagnosis) AS d " +
			"FROM visits) s) t WHERE e = 'a'",
	}
	run(t, conn, "BEGIN")
	run(t, conn, `INSERT INTO visits SELECT 10000 + g, 7, g % 7, '2020-01-01', NULL, repeat('ä', 100000) || g, 1,
  NULL, NULL, NULL, NULL FROM generate_series(1, 30) g`)
	for _, sql := range statements {
		p := plan(t, conn, cat, sql)
		if wholeTexts(t, p.Plan, sql) == 0 {
			t.Errorf("%s mentions no text", sql)
		}
		p.read(t, conn)
	}
	undo(t, conn)
}

// wholeTexts reports texts of any length that a plan reads whole, and counts those that it mentions.
func wholeTexts(t *testing.T, p *planner.Plan, sql string) int {
	t.Helper()
	bare, mentions := planner.BareTexts(p)
	for _, x := range bare {
		t.Errorf("%s:\nreads all of %s", sql, x)
	}
	return mentions
}

// TestIdentifiers holds that the unit is told by all of a text: a longer one is nobody's, unless
// an index bounds how long it is.
func TestIdentifiers(t *testing.T) {
	const first = `CASE WHEN pg_catalog.octet_length(t0."patient_id") OPERATOR(pg_catalog.<=) 65536 THEN t0."patient_id" END`
	const key = `CASE WHEN pg_catalog.octet_length(t0."visit_id") OPERATOR(pg_catalog.<=) 65536 THEN t0."visit_id" END`
	textual := func(indexes ...catalog.Index) *policy.Model {
		s := clinicSchema()
		for n, columns := range map[catalog.Name][]int{name("patients"): {0}, name("visits"): {0, 1}, name("labs"): {1}} {
			for _, i := range columns {
				s.Tables[n].Columns[i].Type = text
			}
		}
		s.Tables[name("visits")].Sorted = indexes
		return checked(t, s)
	}
	conn := connect(t)
	for sql, want := range map[string]string{
		"SELECT count(*) FROM visits":                   first + " IS NOT NULL",
		"SELECT count(DISTINCT patient_id) FROM visits": first + " IS NOT NULL",
		"SELECT count(*) FROM visits WHERE " +
			"patient_id <> 'a'": "(" + first + " OPERATOR(pg_catalog.<>) CAST($1 AS pg_catalog.text))",
		"SELECT count(*) FROM visits t JOIN patients p ON p.id = t.patient_id": `t0."id" OPERATOR(pg_catalog.=) ` +
			strings.ReplaceAll(first, "t0", "t1"),
		"SELECT count(*) FROM labs": `t1."id" OPERATOR(pg_catalog.=) ` + key,
		"SELECT count(*) FROM (SELECT patient_id, count(*) FROM visits " +
			"GROUP BY patient_id) t": "GROUP BY " + strings.ReplaceAll(first, "t0", "t1"),
	} {
		got := plan(t, conn, textual(), sql).Blocks[0].Sets[0].Reads[0].SQL
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks %s:\n%s", sql, want, got)
		}
	}
	if !relyOnIndexes() {
		return
	}
	indexed := textual(catalog.Index{Name: "i", Columns: []string{"patient_id"}})
	got := plan(t, conn, indexed, "SELECT count(*) FROM visits WHERE patient_id = 'a'").Blocks[0].Sets[0].Reads[0].SQL
	if want := `(t0."patient_id" OPERATOR(pg_catalog.=) CAST($1 AS pg_catalog.text))`; !strings.Contains(got, want) {
		t.Errorf("%s is missing:\n%s", want, got)
	}
}

// TestPaddedTexts holds that of a padded text of any length only a short one has a value, and
// that one of very many characters has no family.
func TestPaddedTexts(t *testing.T) {
	padded := func(mod int32) *policy.Model {
		p, s := clinicPolicy(), clinicSchema()
		s.Tables[name("visits")].Columns[5].Type = builtin("bpchar", "bpchar", 1042, mod)
		delete(p.Tables[1].Columns, "diagnosis")
		return checkedBy(t, p, s)
	}
	conn := connect(t)
	got := plan(t, conn, padded(-1), "SELECT count(*) FROM visits WHERE diagnosis IS NULL OR "+
		"diagnosis > 'a'").Blocks[0].Sets[0].Reads[0].SQL
	const short = `CASE WHEN pg_catalog.octet_length(t0."diagnosis") OPERATOR(pg_catalog.<=) 65536 THEN t0."diagnosis" END`
	for _, want := range []string{"(" + short + " IS NULL)", "(" + short + " OPERATOR(pg_catalog.>)"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing:\n%s", want, got)
		}
	}
	cat := padded(65536 + 5)
	if err := specializeDefault(t, cat, "SELECT count(diagnosis) FROM visits"); err != nil {
		t.Error(err)
	}
	script, err := parser.Parse("SELECT count(*) FROM visits WHERE diagnosis = 'a'", planner.Names(cat))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := planner.Analyze(nil, cat, script.Statements[0], nil); err == nil {
		t.Error("compared")
	}
}

// TestIndexedDerived holds that a text that an index has is cut where a derived table shows it in a
// computed form, which is taken to be no longer.
func TestIndexedDerived(t *testing.T) {
	s := clinicSchema()
	s.Tables[name("visits")].Sorted = []catalog.Index{{Name: "i", Columns: []string{"diagnosis"}}}
	cat, conn := checked(t, s), connect(t)
	run(t, conn, "BEGIN; DROP INDEX IF EXISTS visits_diagnosis_cost_idx")
	run(t, conn, `INSERT INTO visits SELECT 10000, 7, 1, '2020-01-01', NULL, repeat('a', 230000), 1, NULL, NULL, NULL, NULL`)
	for _, from := range []string{
		"SELECT patient_id, max(diagnosis) AS d FROM visits GROUP BY patient_id",
		"SELECT patient_id, min(coalesce(diagnosis, 'x')) AS d FROM visits GROUP BY patient_id",
		"SELECT patient_id, diagnosis AS d FROM visits UNION ALL SELECT patient_id, diagnosis FROM visits",
		"SELECT patient_id, coalesce(diagnosis, 'x') AS d FROM visits UNION ALL SELECT patient_id, diagnosis FROM visits",
		"SELECT patient_id, CASE WHEN cost = 1 THEN diagnosis ELSE 'a' END AS d FROM visits",
		"SELECT patient_id, CAST(diagnosis AS varchar) AS d FROM visits",
		"SELECT patient_id, coalesce(diagnosis, 'x') AS d FROM visits GROUP BY patient_id, coalesce(diagnosis, 'x')",
	} {
		plan(t, conn, cat, "SELECT count(*) FROM ("+from+") q WHERE CAST(length(d) AS bigint) * length(d) * "+
			"length(d) * 32000 > 5").read(t, conn)
	}
	undo(t, conn)
}
