package parser_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dpproxy/parser"
	"dpproxy/parser/ast"
	"dpproxy/parser/parsertest"
)

// TestConversion: the tree of a block, printed, means what the client wrote. Both
// compute the same relation from the rows.
func TestConversion(t *testing.T) {
	o := startOracle(t)
	compared := 0
	for _, sql := range append(corpus(t), conditions...) {
		if strings.HasPrefix(sql, "--") {
			continue
		}
		script, err := parser.Parse(sql, parsertest.Clinic)
		if err != nil {
			t.Fatal(err)
		}
		cores, err := parser.Cores(sql, parsertest.Clinic)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range script.Statements {
			for j, block := range s.Blocks {
				if block.Err != nil {
					continue
				}
				compared++
				want, got := ask(t, o.direct, cores[i][j]), ask(t, o.direct, printBlock(block))
				if want.Code != "" {
					t.Fatalf("the oracle fails: %s\n%s", want.Code, cores[i][j])
				}
				slices.Sort(want.Rows)
				slices.Sort(got.Rows)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s\nprinted: %s\n%s", cores[i][j], printBlock(block), diff)
				}
			}
		}
	}
	if compared < 130 {
		t.Errorf("only %d blocks compared", compared)
	}
}

// conditions are blocks with expressions that the statements of the oracle lack.
var conditions = []string{
	"SELECT count(*) FROM visits WHERE qty IS DISTINCT FROM 3 AND NOT qty NOT IN (1, -2) OR qty NOT BETWEEN SYMMETRIC 4.5 AND 3e0 " +
		"AND (day IS NOT NULL) IS NOT UNKNOWN",
	"SELECT sum(-qty), sum(+qty), sum(qty - -1), avg(qty * 2 % 5) FROM visits WHERE day > date '2020-03-01' " +
		"OR ts < '2020-02-01 00:00+00'::timestamptz",
	"SELECT count(*) FROM visits WHERE diagnosis LIKE E'%\\\\m_' OR diagnosis NOT LIKE 'f!%' ESCAPE '!' " +
		"AND upper(trim(both 'a' from diagnosis)) <> 'X' || 'Y'",
	"SELECT count(*), sum(coalesce(nullif(qty, 3), greatest(qty, 5), least(1, 2))) FROM visits " +
		"WHERE NOT (qty = 1 OR qty = 2 AND true) AND NULL IS NULL",
	"SELECT count(*) FROM visits v LEFT JOIN patients p ON p.id = v.patient_id AND p.smoker " +
		"RIGHT JOIN hospitals h ON h.id = v.hospital_id, hospitals g WHERE g.id < 3",
	"SELECT count(*) FROM visits JOIN hospitals USING (id) CROSS JOIN hospitals b WHERE smallint '3' < b.id::numeric(4,1) " +
		"AND interval '1' day < interval '2 days 03:04' day to minute",
	"SELECT extract(dow from day), position('u' in diagnosis), overlay(diagnosis placing 'x' from 2 for 1), " +
		"day::timestamp AT TIME ZONE 'UTC', count(*) FROM visits GROUP BY 1, 2, 3, 4",
	"SELECT count(*) FROM ONLY public.visits WHERE (public.visits.f8 < 1e300 AND visits.f8 >= .5) IS TRUE " +
		"AND big > 3000000000 - 2999999000 AND current_date > day",
	"SELECT sum(CASE qty WHEN 1 THEN 2 WHEN 3 THEN NULL ELSE -qty END), count(CASE WHEN qty > 3 THEN cost END) FROM visits " +
		"WHERE diagnosis ILIKE 'F%' OR diagnosis NOT ILIKE 'c!%' ESCAPE '!' AND qty ^ 2 > +1",
	"SELECT count(*), count(*) FILTER (WHERE qty NOT IN (VALUES (1), (NULL))) FROM visits WHERE qty IN (VALUES (1), (3), (2.5)) " +
		"OR diagnosis IN (VALUES ('flu'), (NULL))",
	"SELECT count(*) FROM visits WHERE qty = ANY (ARRAY[1, qty]) AND qty <> ALL ('{1,2}'::int[]) " +
		"AND (ARRAY[ARRAY[1], ARRAY[2]]::int[] IS NOT NULL) AND NOT hospital_id > ALL (ARRAY[7, 8])",
	"SELECT mode() WITHIN GROUP (ORDER BY qty DESC), percentile_cont(0.3) WITHIN GROUP (ORDER BY cost) " +
		"FILTER (WHERE qty > 2), percentile_disc(0.3) WITHIN GROUP (ORDER BY cost DESC) FROM visits",
	"SELECT avg(n), sum(t.s) FILTER (WHERE n > 3) FROM (SELECT patient_id, count(*) AS n, sum(cost) + max(qty) AS s FROM visits " +
		"WHERE qty > 1 GROUP BY 1 HAVING count(DISTINCT day) > 2 ORDER BY 2, patient_id) t WHERE n < 10",
	"SELECT count(*) FROM (SELECT patient_id AS who, diagnosis || '' AS cost FROM visits GROUP BY who, cost, diagnosis) t",
	"SELECT count(*), sum(x) FROM (SELECT patient_id, cost AS x FROM visits UNION ALL SELECT id, birth_year FROM patients " +
		"UNION ALL (SELECT patient_id, qty FROM visits ORDER BY 1)) AS t(unit)",
	"WITH v(a, b, c) AS (SELECT id, patient_id, cost FROM visits), w AS MATERIALIZED (TABLE v) SELECT count(*), sum(d), sum(e) " +
		"FROM w x(d, e) JOIN v USING (c)",
	"SELECT count(*) FROM (WITH x AS (SELECT id, patient_id FROM visits) SELECT * FROM x) y NATURAL LEFT JOIN patients AS p (id, name)",
	"SELECT count(*) FROM visits v, (SELECT 1 AS one, max(id) AS m FROM hospitals) h WHERE v.hospital_id < h.m - 3",
	"SELECT count(*) FROM (SELECT DISTINCT v.*, extract(dow FROM day) FROM visits v, hospitals h) t(a, b) WHERE extract > 3",
	"SELECT count(*) FROM visits WHERE (patient_id IN (SELECT id FROM patients WHERE smoker) " +
		"OR patient_id <> ALL (SELECT id FROM patients WHERE sex = 'f')) " +
		"AND NOT (NOT hospital_id IN (SELECT id FROM hospitals WHERE id < 6))",
	"SELECT count(*) FROM patients p JOIN visits w ON w.patient_id = p.id " +
		"AND EXISTS (SELECT FROM visits v WHERE v.patient_id = p.id AND v.id <> w.id) " +
		"WHERE NOT EXISTS (SELECT v.* FROM visits v WHERE v.patient_id = p.id AND cost > birth_year / 8)",
	"SELECT count(*) FROM patients WHERE id IN (SELECT patient_id FROM visits GROUP BY patient_id HAVING count(*) > 4) " +
		"AND birth_year > (SELECT max(id) FROM hospitals) + 1940",
	"SELECT count(*) FROM visits WHERE (qty, day, cost) < (3, '2020-03-01', NULL) OR (qty, NULL) >= (5, 1) " +
		"OR NOT (NULL, qty) <= (1, 2) AND (qty, hospital_id) IN ((1, 2), (3, NULL), (4, qty)) AND ROW(qty) = ROW(4)",
	"SELECT count(*), count(*) FILTER (WHERE (qty, hospital_id) NOT IN ((1, 2), (3, NULL)) IS UNKNOWN), " +
		"sum(CASE WHEN (qty, cost) <> (3, NULL) THEN 1 WHEN (qty, cost) IS NOT DISTINCT FROM (3, 50) THEN 2 END) FROM visits " +
		"WHERE (qty, NULL) IS DISTINCT FROM (3, NULL)",
	"SELECT count(*), count(*) FILTER (WHERE diagnosis NOT LIKE ALL (ARRAY['f%', NULL])), count(*) " +
		"FILTER (WHERE diagnosis ILIKE ANY (ARRAY['F%', '%S']::varchar[])), count(*) " +
		"FILTER (WHERE diagnosis LIKE ALL (ARRAY['%u', 'f%'])) FROM visits WHERE diagnosis NOT LIKE ANY (ARRAY['a%', 'f%'])",
	"SELECT count(*) FROM patients WHERE sex = 'f'::sex_t AND \"Größe\" > 160.5 AND name::varchar(3) = 'p10'",
}

// printBlock writes a query from the trees of a block alone.
func printBlock(b *ast.Block) string {
	var targets, positions []string
	for i, g := range b.Groups {
		targets = append(targets, fmt.Sprintf("%s AS g%d", printed(g), i+1))
		positions = append(positions, fmt.Sprint(i+1))
	}
	for i, a := range b.Aggregates {
		targets = append(targets, fmt.Sprintf("%s AS a%d", printed(a), i+1))
	}
	for i, call := range b.Groupings {
		var args []string
		for _, g := range call {
			args = append(args, printed(b.Groups[g]))
		}
		targets = append(targets, fmt.Sprintf("GROUPING(%s) AS s%d", strings.Join(args, ", "), i+1))
	}
	if len(targets) == 0 {
		return "SELECT 1 AS g1"
	}
	sql := "SELECT " + strings.Join(targets, ", ") + " FROM " + printedFrom(b.From)
	if b.Where != nil {
		sql += " WHERE " + printed(b.Where)
	}
	switch {
	case b.Sets != nil:
		var sets []string
		for _, set := range b.Sets {
			var members []string
			for _, i := range set {
				members = append(members, positions[i])
			}
			sets = append(sets, "("+strings.Join(members, ", ")+")")
		}
		sql += " GROUP BY GROUPING SETS (" + strings.Join(sets, ", ") + ")"
	case b.Grouped:
		sql += " GROUP BY " + strings.Join(positions, ", ")
	}
	return sql
}
