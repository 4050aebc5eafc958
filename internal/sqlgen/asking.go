package sqlgen

import (
	"fmt"
	"strings"
)

// An Asking is a statement over a clinic with a sub-select in a condition. Of the clinic it needs patients (id, birth_year),
// visits (id, patient_id, hospital_id, cost, day), labs (id, visit_id) and public hospitals (id).
type Asking struct {
	// Name says which sub-select stands where.
	Name string
	SQL  string
}

// insides are the sub-selects: of the identifiers of patients, as column i.
var insides = [][2]string{
	{"table", "SELECT patient_id AS i FROM visits"},
	{"table with conditions", "SELECT patient_id AS i FROM visits WHERE cost < 20000"},
	{"derived", "SELECT q.i FROM (SELECT patient_id AS i FROM visits) q"},
	{"derived computed", "SELECT q.i FROM (SELECT patient_id AS i, cost * 2 AS twice FROM visits) q WHERE q.twice >= 0"},
	{"WITH", "WITH w AS (SELECT patient_id AS i FROM visits) SELECT w.i FROM w"},
	{"grouped", "SELECT patient_id AS i FROM visits GROUP BY patient_id HAVING count(*) > 0"},
	{"derived grouped", "SELECT q.i FROM (SELECT patient_id AS i, count(*) AS n FROM visits GROUP BY 1) q WHERE q.n > 0"},
	{"window", "SELECT q.i FROM (SELECT patient_id AS i, row_number() OVER (PARTITION BY patient_id ORDER BY day) AS n FROM visits) q " +
		"WHERE q.n = 1"},
	{"DISTINCT", "SELECT DISTINCT patient_id AS i FROM visits"},
	{"DISTINCT ON", "SELECT q.i FROM (SELECT DISTINCT ON (patient_id) patient_id AS i, cost FROM visits ORDER BY patient_id, day) q " +
		"WHERE q.cost >= 0"},
	{"joined", "SELECT w.patient_id AS i FROM visits w JOIN labs l ON l.visit_id = w.id"},
	{"joined with a public table", "SELECT w.patient_id AS i FROM visits w JOIN hospitals h ON h.id = w.hospital_id"},
	{"outer-joined", "SELECT w.patient_id AS i FROM visits w LEFT JOIN labs l ON l.visit_id = w.id WHERE l.id IS NULL"},
	{"full join", "SELECT i FROM (SELECT id AS i, birth_year FROM patients) o FULL JOIN (SELECT patient_id AS i, cost FROM visits) w " +
		"USING (i)"},
	{"UNION ALL", "SELECT patient_id AS i FROM visits UNION ALL SELECT id FROM patients WHERE birth_year > 1900"},
	{"INTERSECT", "SELECT patient_id AS i FROM visits INTERSECT SELECT id FROM patients"},
	{"EXCEPT", "SELECT id AS i FROM patients EXCEPT SELECT patient_id FROM visits"},
	{"LATERAL", "SELECT w.patient_id AS i FROM visits w, LATERAL (SELECT max(o.cost) AS m FROM visits o WHERE " +
		"o.patient_id = w.patient_id) x WHERE x.m >= w.cost"},
	{"VALUES beside", "SELECT w.patient_id AS i FROM visits w JOIN (VALUES (1), (2)) y(h) ON y.h = w.hospital_id"},
	{"nested", "SELECT w.patient_id AS i FROM visits w WHERE w.id IN (SELECT visit_id FROM labs)"},
	{"nested derived", "SELECT w.patient_id AS i FROM visits w WHERE EXISTS (SELECT 1 FROM (SELECT patient_id " +
		"AS e FROM visits WHERE cost < 900) y WHERE y.e = w.patient_id)"},
	{"public below", "SELECT w.patient_id AS i FROM visits w WHERE w.hospital_id IN (SELECT id FROM hospitals)"},
}

// operators ask whether patient p is in a sub-select. The last three are asked for each row, which the condition of a join does
// not take.
var operators = [][2]string{
	{"IN", "p.id IN (%s)"},
	{"EXISTS", "EXISTS (SELECT 1 FROM (%s) z WHERE z.i = p.id)"},
	{"NOT IN", "p.id NOT IN (%s)"},
	{"NOT EXISTS", "NOT EXISTS (SELECT 1 FROM (%s) z WHERE z.i = p.id)"},
	{"ANY", "p.id = ANY (%s)"},
	{"ALL", "p.id <> ALL (%s)"},
	{"a count", "(SELECT count(*) FROM (%s) z WHERE z.i = p.id) > 0"},
	{"among the first", "p.id IN (SELECT z.i FROM (%s) z WHERE z.i = p.id ORDER BY z.i LIMIT 2)"},
	{"all of its order", "p.id >= ALL (SELECT z.i FROM (%s) z WHERE z.i = p.id)"},
}

// positions are where the condition stands: %[1]s is one that few rows meet or none, %[2]s the sub-select's.
var positions = [][2]string{
	{"WHERE", "SELECT count(*) FROM patients p WHERE %[1]s AND %[2]s"},
	{"OR", "SELECT count(*) FROM patients p WHERE %[1]s AND (p.id < 0 OR %[2]s)"},
	{"NOT", "SELECT count(*) FROM patients p WHERE %[1]s AND NOT %[2]s"},
	{"CASE", "SELECT count(*) FROM patients p WHERE CASE WHEN %[1]s THEN %[2]s ELSE false END"},
	{"FILTER", "SELECT count(*) FILTER (WHERE %[1]s AND %[2]s) FROM patients p"},
	{"a sum", "SELECT sum(CASE WHEN %[2]s THEN 1 ELSE 0 END) FROM patients p WHERE %[1]s"},
	{"HAVING", "SELECT p.sex, count(*) FROM patients p WHERE %[1]s GROUP BY 1 HAVING count(*) FILTER (WHERE %[2]s) > 0"},
	{"a key", "SELECT %[2]s, count(*) FROM patients p WHERE %[1]s GROUP BY 1"},
	{"ON", "SELECT count(*) FROM patients p JOIN visits v ON v.patient_id = p.id AND %[2]s WHERE %[1]s"},
	{"a target", "SELECT count(*) FROM (SELECT p.id, %[2]s AS b FROM patients p WHERE %[1]s) t WHERE t.b"},
	{"WITH", "WITH t AS (SELECT p.id FROM patients p WHERE %[1]s AND %[2]s) SELECT count(*) FROM t JOIN visits v ON v.patient_id = t.id"},
	{"nested", "SELECT count(*) FROM patients o WHERE o.id IN (SELECT p.id FROM patients p WHERE %[1]s AND %[2]s)"},
	{"UNION ALL", "SELECT count(*) FROM (SELECT p.id FROM patients p WHERE %[1]s AND %[2]s UNION ALL SELECT patient_id FROM visits) t"},
	{"a full join", "SELECT count(*) FROM (SELECT p.id FROM patients p WHERE %[1]s AND %[2]s) t FULL JOIN visits v ON v.patient_id = t.id"},
	{"beside a public table", "SELECT count(*) FROM patients p, hospitals h WHERE h.id = 1 AND %[1]s AND %[2]s"},
	{"a join", "SELECT count(*) FROM patients p LEFT JOIN visits v ON v.patient_id = p.id WHERE %[1]s AND %[2]s"},
}

// Askings are statements with every sub-select under every operator, and in every place, of which a condition says who asks.
func Askings(few string) (list []Asking) {
	add := func(inside, operator, position [2]string) {
		asked := fmt.Sprintf(operator[1], inside[1])
		list = append(list, Asking{
			strings.Join([]string{operator[0], inside[0], "in", position[0]}, " "), fmt.Sprintf(position[1], few, asked),
		})
	}
	for i, inside := range insides {
		for _, o := range operators {
			add(inside, o, positions[0])
		}
		for n, position := range positions[1:] {
			among := operators
			if position[0] == "ON" {
				among = operators[:len(operators)-3]
			}
			add(inside, among[(i+n)%len(among)], position)
		}
	}
	return list
}
