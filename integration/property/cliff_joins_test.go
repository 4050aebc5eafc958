package property_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dpproxy/catalog"
)

// A clinic of which everybody is the same: of no attribute that is asked for.
const clinicDDL = `CREATE TABLE hospitals (id int PRIMARY KEY, region text NOT NULL) WITH (fillfactor = 10);
CREATE TABLE days (day date PRIMARY KEY, holiday bool NOT NULL) WITH (fillfactor = 10);
CREATE TABLE years (year int PRIMARY KEY, leap bool NOT NULL) WITH (fillfactor = 10);
CREATE TABLE patients (id int PRIMARY KEY, smoker bool, birth_year int NOT NULL, region text NOT NULL) WITH (fillfactor = 10);
CREATE TABLE wards (id int PRIMARY KEY, floor int NOT NULL, kind text NOT NULL) WITH (fillfactor = 10);
CREATE TABLE visits (id int PRIMARY KEY, patient_id int NOT NULL REFERENCES patients, hospital_id int REFERENCES hospitals,
  day date NOT NULL, cost numeric(10,2) NOT NULL, diagnosis text NOT NULL, ward_id int REFERENCES wards) WITH (fillfactor = 10);
CREATE TABLE labs (id int PRIMARY KEY, visit_id int NOT NULL REFERENCES visits, test text NOT NULL, value int) WITH (fillfactor = 10);
CREATE TABLE stays (patient_id int NOT NULL REFERENCES patients, number int NOT NULL, nights int NOT NULL,
  PRIMARY KEY (patient_id, number)) WITH (fillfactor = 10);
CREATE TABLE bills (id int PRIMARY KEY, patient_id int NOT NULL REFERENCES patients, stay int, amount int NOT NULL)
  WITH (fillfactor = 10);
CREATE TABLE doses (patient_id int NOT NULL REFERENCES patients, day date NOT NULL, mg int NOT NULL) PARTITION BY RANGE (day);
CREATE TABLE doses_a PARTITION OF doses FOR VALUES FROM ('2020-01-01') TO ('2021-01-01') WITH (fillfactor = 10);
CREATE TABLE doses_b PARTITION OF doses FOR VALUES FROM ('2021-01-01') TO ('2030-01-01') WITH (fillfactor = 10);
INSERT INTO hospitals SELECT g, 'region ' || g FROM generate_series(1, 600) g;
INSERT INTO years SELECT g, g % 4 = 0 FROM generate_series(1951, 2550) g;
INSERT INTO days SELECT date '2020-01-01' + g, g % 7 = 0 FROM generate_series(1, 600) g;
ANALYZE;`

const clinicCrowd = `INSERT INTO patients SELECT g, false, 1950, 'north' FROM generate_series(1, %[1]d) g;
INSERT INTO wards SELECT g, 1, 'usual' FROM generate_series(1, %[1]d) g;
INSERT INTO visits SELECT g, g, NULL, date '2020-01-01' + g, 10, 'flu', g FROM generate_series(1, %[1]d) g;
INSERT INTO labs SELECT g, g, 'hdl', 10 FROM generate_series(1, %[1]d) g;
INSERT INTO stays SELECT g, 1, 1 FROM generate_series(1, %[1]d) g;
INSERT INTO bills SELECT g, g, 1, 1 FROM generate_series(1, %[1]d) g;
INSERT INTO doses SELECT g, date '2020-01-01' + g, 1 FROM generate_series(1, %[1]d) g;`

const clinicPolicy = `tables:
  patients:
    unit: id
    columns: {smoker: {values: [true, false]}, birth_year: {bounds: [1920, 2010]}, region: {values: [north, south]}}
  visits:
    unit: patient_id
    max_rows: 5
    max_partitions: 2
    columns: {cost: {bounds: [0, 1000]}, diagnosis: {values: [flu, asthma]}, day: {bounds: [2020-01-01, 2024-12-31]}}
  labs:
    unit: {via: visit_id, to: visits.id}
    max_rows: 5
    max_partitions: 2
    columns: {test: {values: [hdl, chol]}, value: {bounds: [0, 300]}}
  stays: {unit: patient_id, max_rows: 5, max_partitions: 2, columns: {nights: {bounds: [0, 30]}}}
  bills: {unit: patient_id, max_rows: 5, max_partitions: 2, columns: {amount: {bounds: [0, 100]}}}
  doses: {unit: patient_id, max_rows: 5, max_partitions: 2, columns: {mg: {bounds: [0, 100]}}}
  wards: {reference: true, columns: {floor: {bounds: [0, 10]}}}
  hospitals: {public: true}
  days: {public: true}
  years: {public: true}
`

// ofPatient are changes by the rows of one patient, in the middle or at the end of all keys: some of them have what is asked
// for, all have it, or they are not there.
func ofPatient(id int) []string {
	attributes := []string{
		"UPDATE patients SET smoker = true, birth_year = 2001, region = 'south' WHERE id = %[1]d",
		"UPDATE visits SET cost = 999, diagnosis = 'asthma', hospital_id = 1 WHERE patient_id = %[1]d; " +
			"UPDATE labs SET value = 299, test = 'chol' WHERE visit_id = %[1]d; UPDATE stays SET nights = 29 WHERE patient_id = %[1]d; " +
			"UPDATE bills SET amount = 99 WHERE patient_id = %[1]d; UPDATE doses SET mg = 99 WHERE patient_id = %[1]d; " +
			"UPDATE wards SET floor = 9, kind = 'rare' WHERE id = %[1]d",
	}
	absent := "DELETE FROM labs WHERE visit_id = %[1]d; DELETE FROM visits WHERE patient_id = %[1]d; DELETE FROM wards WHERE id = %[1]d; " +
		"DELETE FROM stays WHERE patient_id = %[1]d; DELETE FROM bills WHERE patient_id = %[1]d; " +
		"DELETE FROM doses WHERE patient_id = %[1]d; DELETE FROM patients WHERE id = %[1]d"
	changes := append(slices.Clone(attributes), strings.Join(attributes, "; "), absent)
	for i, c := range changes {
		changes[i] = fmt.Sprintf(c, id)
	}
	return changes
}

// joined are statements whose condition nobody meets, or one person.
var joined = []string{
	// the value of one person, by the time that a join takes
	"SELECT count(*) FROM patients p JOIN visits v ON v.patient_id = p.id WHERE CASE WHEN p.id = 300 AND p.smoker " +
		"THEN true ELSE p.birth_year = -1 END",
	"SELECT count(*) FROM patients p, visits v WHERE v.patient_id = p.id AND v.cost > 900",
	"SELECT count(*) FROM patients p JOIN visits v ON v.patient_id = p.id JOIN labs l ON l.visit_id = v.id WHERE " +
		"p.smoker AND l.value > 200",
	"SELECT count(*) FROM patients p LEFT JOIN visits v ON v.patient_id = p.id AND v.cost > 900 WHERE p.birth_year = 2001",
	"SELECT count(v.id) FROM patients p LEFT JOIN (visits v JOIN labs l ON l.visit_id = v.id AND v.cost > 900) ON v.patient_id = p.id",
	"SELECT count(w.floor) FROM patients p LEFT JOIN visits v ON v.patient_id = p.id AND v.cost > 900 LEFT JOIN wards w ON " +
		"w.id = v.ward_id",
	// joins on the side that an outer join may leave NULL
	"SELECT count(*) FROM patients p LEFT JOIN visits v ON v.patient_id = p.id AND p.birth_year = 2001 JOIN bills b ON " +
		"b.patient_id = v.patient_id",
	"SELECT count(*) FROM patients p LEFT JOIN visits v ON v.patient_id = p.id AND v.cost > 900 JOIN bills b ON " +
		"b.patient_id = v.patient_id AND b.amount > 50 JOIN stays s ON s.patient_id = b.patient_id",
	"SELECT count(*) FROM patients p LEFT JOIN visits v ON v.patient_id = p.id AND p.smoker JOIN bills b ON " +
		"b.patient_id = v.patient_id AND b.stay <> v.id JOIN stays s ON s.patient_id = b.patient_id WHERE s.nights > 20",
	// conditions that an OR has on each table
	"SELECT count(*) FROM patients p JOIN visits v ON v.patient_id = p.id WHERE p.smoker AND v.cost > 900 OR p.birth_year = 2001 " +
		"AND v.diagnosis = 'asthma'",
	"SELECT sum(v.cost) FROM labs l, visits v WHERE l.visit_id = v.id AND l.value > 200 AND v.cost > 900 OR l.visit_id = v.id " +
		"AND l.test = 'chol' AND v.diagnosis = 'asthma'",
	// a chain cannot begin with the table that has conditions
	"SELECT count(*) FROM patients p LEFT JOIN visits v ON v.patient_id = p.id JOIN bills b ON b.patient_id = v.patient_id WHERE " +
		"b.amount > 50",
	"SELECT count(*) FROM labs l WHERE l.value > 200",
	"SELECT count(h.region) FROM visits v JOIN hospitals h ON h.id = v.hospital_id WHERE v.cost > 900",
	"SELECT d.holiday, sum(v.cost) FROM days d JOIN visits v ON v.day = d.day WHERE v.diagnosis = 'asthma' GROUP BY 1",
	"SELECT count(*) FROM visits a JOIN visits b USING (patient_id) WHERE a.cost > 900",
	"SELECT sum(s.nights), sum(b.amount) FROM stays s JOIN bills b ON b.patient_id = s.patient_id AND b.stay = " +
		"s.number WHERE s.nights > 20",
	"SELECT sum(d.mg) FROM doses d JOIN patients p ON p.id = d.patient_id WHERE p.smoker AND d.mg > 50",
	"SELECT sum(mg) FROM doses WHERE day > date '2021-06-01' AND mg > 50",
	"SELECT avg(n) FROM (SELECT p.id, count(v.id) AS n FROM patients p JOIN visits v ON v.patient_id = p.id WHERE " +
		"p.smoker GROUP BY p.id) t",
	"SELECT count(*) FROM (SELECT id FROM patients WHERE smoker GROUP BY id) t JOIN visits v ON v.patient_id = t.id",
	"SELECT count(*) FROM (SELECT id FROM patients WHERE smoker UNION ALL SELECT patient_id FROM visits WHERE cost > 900) t " +
		"JOIN visits v ON v.patient_id = t.id",
	// window functions over the rows of one person, and the first of these
	"SELECT count(*) FROM (SELECT patient_id, cost, row_number() OVER (PARTITION BY patient_id ORDER BY day) AS n FROM visits WHERE " +
		"diagnosis = 'asthma') t WHERE n = 2 AND cost > 900",
	"SELECT avg(t.more) FROM patients p JOIN (SELECT patient_id, cost - lag(cost) OVER (PARTITION BY patient_id ORDER BY day) AS more " +
		"FROM visits) t ON t.patient_id = p.id WHERE p.smoker AND t.more > 100",
	"SELECT count(*) FROM patients p JOIN (SELECT DISTINCT ON (patient_id) patient_id, cost FROM visits ORDER BY patient_id, day) t " +
		"ON t.patient_id = p.id WHERE p.smoker AND t.cost > 900",
	"SELECT sum(n) FROM (SELECT count(*) OVER (PARTITION BY p.id) AS n FROM patients p JOIN visits v ON v.patient_id = p.id WHERE " +
		"p.smoker AND v.cost > 900) t WHERE n < 9",
	// queries for each row of a person
	"SELECT count(*) FROM visits v WHERE v.cost > (SELECT avg(w.cost) FROM visits w WHERE w.patient_id = v.patient_id AND " +
		"w.diagnosis = 'asthma')",
	"SELECT count(*) FROM visits v WHERE v.cost > 900 AND v.day = (SELECT max(w.day) FROM visits w WHERE w.patient_id = v.patient_id AND " +
		"w.diagnosis = v.diagnosis)",
	"SELECT count(*) FROM visits v WHERE (SELECT count(*) FROM labs l WHERE l.visit_id = v.id AND l.value > 250) > 0 AND " +
		"EXISTS (SELECT 1 FROM patients p WHERE p.id = v.patient_id AND p.smoker)",
	"SELECT count(*) FROM labs l WHERE l.value > 250 AND (SELECT v.diagnosis FROM visits v WHERE v.id = l.visit_id) = 'asthma'",
	"SELECT count(*) FROM visits v WHERE v.cost > 900 AND v.cost >= ALL (SELECT w.cost FROM visits w WHERE w.patient_id = v.patient_id)",
	"SELECT avg(x.n) FROM patients p, LATERAL (SELECT count(*) AS n FROM visits v WHERE v.patient_id = p.id AND v.cost > 900) x WHERE " +
		"p.smoker AND x.n > 0",
	"SELECT count(*) FROM patients p JOIN LATERAL (SELECT v.cost FROM visits v WHERE v.patient_id = p.id ORDER BY v.day DESC LIMIT 2) x " +
		"ON x.cost > 900 WHERE p.smoker",
	"SELECT count(*) FROM patients p FULL JOIN visits v ON v.patient_id = p.id AND v.cost > 900 WHERE p.smoker OR p.id IS NULL",
	"SELECT count(b.amount) FROM (SELECT id FROM patients WHERE smoker) p FULL JOIN (bills b JOIN visits v ON v.patient_id = " +
		"b.patient_id AND v.cost > 900) ON b.patient_id = p.id",
	"SELECT count(*) FROM visits v WHERE v.cost > 900 AND v.cost IN (SELECT w.cost FROM visits w WHERE w.patient_id = v.patient_id " +
		"ORDER BY w.day LIMIT 3)",
	"SELECT count(*) FROM patients p WHERE p.smoker AND 'flu' NOT IN (SELECT v.diagnosis FROM visits v WHERE v.patient_id = p.id AND " +
		"v.cost > 900 ORDER BY v.day LIMIT 2)",
	"SELECT count(*) FROM patients p WHERE (SELECT v.diagnosis FROM visits v WHERE v.patient_id = p.id ORDER BY v.day LIMIT 1) = " +
		"'asthma' AND p.birth_year = 2001",
	// conditions from above a join
	"SELECT count(DISTINCT p.birth_year) FILTER (WHERE p.id = 300 AND p.smoker) FROM patients p JOIN visits v ON v.patient_id = p.id",
	"SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY p.birth_year) FILTER (WHERE p.smoker) FROM patients p JOIN " +
		"visits v ON v.patient_id = p.id",
	"SELECT count(*) FROM (SELECT p.id, p.smoker AS s, v.cost FROM patients p JOIN visits v ON v.patient_id = p.id) t WHERE t.s",
	"SELECT avg(n) FROM (SELECT p.id, p.smoker AS s, count(*) AS n FROM patients p JOIN visits v ON v.patient_id = " +
		"p.id GROUP BY 1, 2) t WHERE t.s",
	"SELECT count(*) FROM (SELECT p.id, p.smoker AS s FROM patients p JOIN visits v ON v.patient_id = p.id UNION ALL " +
		"SELECT p.id, p.smoker FROM patients p JOIN bills b ON b.patient_id = p.id) t WHERE t.s",
	// a public table that the rows of one person have a match in
	"SELECT count(*) FROM visits v JOIN patients p ON p.id = v.patient_id JOIN years y ON y.year = p.birth_year",
	"SELECT y.leap, count(*) FROM visits v JOIN patients p ON p.id = v.patient_id JOIN years y ON y.year = p.birth_year GROUP BY 1",
	"SELECT count(*) FROM patients p JOIN years y ON y.year = p.birth_year",
	"SELECT count(*) FROM visits v JOIN patients p ON p.id = v.patient_id JOIN (VALUES (2001)) y(year) ON y.year = p.birth_year",
	"SELECT count(*) FROM visits v JOIN patients p ON p.id = v.patient_id JOIN years y ON y.year = p.birth_year, hospitals h WHERE " +
		"h.id = 5",
	// foreign keys lead to all others
	"SELECT count(*) FROM labs l JOIN visits v ON v.id = l.visit_id JOIN patients p ON p.id = v.patient_id",
	// conditions that leave most of the declared bounds, of rows that all have one value
	"SELECT sum(v.cost) FROM patients p JOIN visits v ON v.patient_id = p.id WHERE v.cost > 20",
	"SELECT count(*) FROM labs l WHERE l.value >= 20",
	"SELECT count(*) FROM visits v LEFT JOIN labs l ON l.visit_id = v.id AND l.value > 20 WHERE v.cost > 20",
	"SELECT count(*) FROM visits v JOIN patients p ON p.id = v.patient_id JOIN years y ON y.year = p.birth_year WHERE v.cost > 20",
	// conditions that leave few of the declared bounds: whose each row is is looked up
	"SELECT count(*) FROM labs l WHERE l.test = 'chol' AND l.value > 297 OR l.test = 'hdl' AND l.value BETWEEN 150 AND 153",
	"SELECT count(*) FROM labs l WHERE l.value BETWEEN 297 AND 300",
	"SELECT sum(l.value) FROM labs l JOIN visits v ON v.id = l.visit_id WHERE l.value BETWEEN 297 AND 300 AND v.cost > 900",
	"SELECT v.diagnosis, count(*) FROM labs l JOIN visits v ON v.id = l.visit_id JOIN patients p ON p.id = v.patient_id WHERE " +
		"l.value BETWEEN 297 AND 300 GROUP BY 1",
	// rows without a hospital
	"SELECT v.hospital_id, count(*) FROM visits v JOIN hospitals h ON h.id = v.hospital_id GROUP BY 1",
	"SELECT count(*) FROM patients p WHERE p.smoker AND EXISTS (SELECT 1 FROM patients o WHERE o.id = p.id AND o.birth_year = 2001)",
	"SELECT count(*) FILTER (WHERE CASE WHEN p.smoker THEN p.id IN (SELECT o.id FROM patients o WHERE o.birth_year " +
		"= 2001) ELSE false END) FROM patients p",
	// sub-selects that no index finds
	"SELECT count(*) FROM patients p WHERE p.smoker AND EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.id AND v.cost > 900)",
	"SELECT count(*) FROM patients p WHERE p.smoker AND p.id NOT IN (SELECT patient_id FROM visits WHERE cost > 900)",
	"SELECT count(*) FROM patients p WHERE p.birth_year = 1950 OR p.id IN (SELECT patient_id FROM visits WHERE cost > 900)",
	"SELECT count(*) FROM patients p WHERE CASE WHEN p.smoker THEN p.id IN (SELECT patient_id FROM visits WHERE cost > 5) ELSE false END",
	// groups of a public list, of persons who are one row
	"SELECT p.smoker, count(*) FROM patients p JOIN (SELECT patient_id, count(*) AS n FROM visits WHERE cost > 900 GROUP BY 1) v ON " +
		"v.patient_id = p.id WHERE p.birth_year = 2001 GROUP BY 1",
	"SELECT p.smoker, mode() WITHIN GROUP (ORDER BY p.smoker) FROM patients p WHERE p.birth_year = 2001 AND EXISTS (SELECT 1 FROM " +
		"visits v WHERE v.patient_id = p.id AND v.cost > 900) GROUP BY 1",
	// a sub-select in the condition of a join
	"SELECT count(*) FROM patients p JOIN bills b ON b.patient_id = p.id AND EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.id " +
		"AND v.cost > 900) WHERE p.smoker",
	// sub-selects, in expressions
	"SELECT count(*) FILTER (WHERE p.id IN (SELECT patient_id FROM visits WHERE cost > 5)) FROM patients p WHERE p.smoker",
	"SELECT sum(CASE WHEN EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.id AND v.cost > 5) THEN b.amount ELSE 0 END) FROM " +
		"patients p JOIN bills b ON b.patient_id = p.id WHERE p.smoker",
	"SELECT count(*) FROM (SELECT p.id, p.id IN (SELECT patient_id FROM visits WHERE cost > 900) AS dear FROM patients p WHERE " +
		"p.smoker) t WHERE t.dear",
	// lists of constants
	"SELECT d, count(v.id) FROM generate_series(date '2020-01-01', date '2020-02-01', '1 day') d LEFT JOIN visits v ON v.day = d AND " +
		"v.cost > 900 GROUP BY d",
	"SELECT d.day, count(v.id) FROM (SELECT d::date AS day FROM generate_series(date '2020-01-01', date '2020-02-01', '1 day') d) d " +
		"LEFT JOIN visits v ON v.day = d.day AND v.cost > 900 GROUP BY 1",
	"SELECT l.name, count(*) FROM visits v JOIN (VALUES (1, 'a'), (2, 'b')) l(id, name) ON l.id = v.hospital_id WHERE v.cost > 900 " +
		"GROUP BY 1",
	"SELECT count(*) FROM patients p JOIN visits v ON v.patient_id = p.id, generate_series(1, 3) n WHERE p.birth_year > 1999 + n",
	// rows of a reference table, which one person's rows alone refer to
	"SELECT count(*) FROM visits v JOIN wards w ON w.id = v.ward_id WHERE w.floor > 5",
	"SELECT w.kind, count(*) FROM visits v LEFT JOIN wards w ON w.id = v.ward_id AND w.kind = 'rare' WHERE v.cost > 900 GROUP BY 1",
	"SELECT count(*) FROM patients p JOIN visits v ON v.patient_id = p.id JOIN wards w ON w.id = v.ward_id WHERE p.smoker AND w.floor > 5",
	"SELECT count(*) FROM visits v WHERE v.cost > 900 AND EXISTS (SELECT 1 FROM wards w WHERE w.id = v.ward_id AND w.floor > 5)",
	"SELECT count(*) FROM visits v WHERE v.ward_id IN (SELECT id FROM wards WHERE kind = 'rare')",
	// one row of a public table
	"SELECT count(*) FROM patients p, hospitals h, visits v WHERE v.patient_id = p.id AND h.id = 5",
	"SELECT count(*) FROM patients p, hospitals h, visits v WHERE v.patient_id = p.id AND h.id = 5 AND p.smoker",
}

// asking are statements whose condition has a sub-select of more than one table as it is.
var asking = []string{
	"SELECT count(*) FROM patients p WHERE p.smoker AND EXISTS (SELECT 1 FROM visits v JOIN labs l ON l.visit_id = v.id WHERE " +
		"v.patient_id = p.id AND v.cost > 5)",
	// the value of one person, by the time that a sub-select takes
	"SELECT count(*) FROM patients p WHERE CASE WHEN p.id = 300 AND p.smoker THEN true ELSE p.birth_year = -5012 END AND p.id IN " +
		"(SELECT q.i FROM (SELECT patient_id AS i FROM visits) q)",
	"SELECT count(*) FROM patients p WHERE p.smoker AND p.id IN (SELECT patient_id FROM visits GROUP BY 1 HAVING count(*) > 0)",
	"SELECT count(*) FROM patients p WHERE p.smoker AND p.id IN (SELECT q.i FROM (SELECT patient_id AS i, row_number() OVER (PARTITION " +
		"BY patient_id ORDER BY day) AS n FROM visits) q WHERE q.n = 1)",
	"SELECT count(*) FROM patients p WHERE p.smoker AND p.id IN (SELECT patient_id FROM visits UNION ALL SELECT patient_id FROM bills)",
	"SELECT count(*) FROM patients p WHERE p.smoker AND p.id IN (SELECT patient_id FROM visits INTERSECT SELECT patient_id FROM bills)",
	"SELECT count(*) FROM patients p WHERE p.smoker AND (p.id = -1 OR p.birth_year IN (SELECT y.i FROM (SELECT year AS i FROM " +
		"years) y))",
	"SELECT count(*) FILTER (WHERE p.smoker AND p.id IN (SELECT w.patient_id FROM visits w WHERE w.id IN (SELECT visit_id FROM labs))) " +
		"FROM patients p",
	"SELECT count(*) FROM patients p WHERE p.smoker AND p.id NOT IN (SELECT patient_id FROM visits EXCEPT SELECT patient_id FROM bills)",
	// keys of other types
	"SELECT count(*) FROM visits v WHERE v.cost > 900 AND v.cost IN (SELECT year FROM years)",
	"SELECT count(*) FROM patients p WHERE p.smoker AND p.region IN (SELECT region::varchar(10) FROM hospitals)",
}

// clinics are settings of a clinic: which indexes there are beside keys, and what Postgres knows of the rows.
var clinics = map[string]string{
	"no index, statistics of empty tables": "",
	"no index, statistics":                 "ANALYZE",
	"no statistics":                        "DELETE FROM pg_statistic",
	"indexes, statistics": "CREATE INDEX ON visits (patient_id); CREATE INDEX ON visits (cost); CREATE INDEX ON labs (visit_id); " +
		"CREATE INDEX ON bills (patient_id); CREATE INDEX ON doses (patient_id); CREATE INDEX ON visits (hospital_id); " +
		"CREATE INDEX ON patients (smoker); CREATE INDEX ON patients (birth_year); ANALYZE",
}

func newClinic(t *testing.T) *world {
	t.Helper()
	w := emptyWorld(t)
	w.load(clinicDDL, clinicPolicy)
	for _, public := range []string{"hospitals", "days", "years"} {
		w.publicRows[catalog.Name{Schema: "public", Name: public}] = crowd
	}
	return w
}

// ofClinic looks from the clinic in some of its settings.
func (d *descent) ofClinic(settings ...string) (found []cliff) {
	for _, name := range settings {
		d.run("BEGIN; " + fmt.Sprintf(clinicCrowd, crowd) + clinics[name])
		found = append(found, d.from(name, strings.HasSuffix(clinics[name], "ANALYZE"), append(ofPatient(crowd/2), ofPatient(crowd)[2]))...)
		d.run("ROLLBACK")
	}
	return found
}

// TestNoCliffOfJoins looks for cliffs of joins that were written for the clock.
func TestNoCliffOfJoins(t *testing.T) {
	w := newClinic(t)
	d := &descent{w: w}
	for _, sql := range slices.Concat(joined, asking) {
		p, err := w.plan(sql, fixed)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		d.add(sql, p)
	}
	for _, c := range d.ofClinic(slices.Sorted(maps.Keys(clinics))...) {
		t.Error(c)
	}
	t.Logf("%d reads, %d executions; one person changes a node by %.0f rows at most", len(d.reads), d.executed, d.steepest)
}

// firstOfChain is the row that a chain of joins begins with, and the table that comes next, with its conditions.
var firstOfChain = regexp.MustCompile(`\(SELECT\) AS z LEFT JOIN ((?:ONLY )?"public"\."\w+" AS (t\d+)) ON (.*?) LEFT JOIN`)

// listed says that a statement joins a list of constants: where Postgres leaves that out, it is no table that it does not read.
func listed(sql string) bool {
	return strings.Contains(sql, "generate_series") || strings.Contains(sql, "VALUES")
}

// readWhole joins three relations by inner joins, with all conditions after them: which patients have a year decides whether visits
// are read.
const readWhole = `SELECT u, count(*) FROM (SELECT t0.patient_id AS u FROM visits AS t0 JOIN patients AS t1 ON t1.id = t0.patient_id
  JOIN years AS t2 ON t2.year = t1.birth_year
  WHERE CASE WHEN num_nulls(t0.patient_id, t1.birth_year, t1.id, t2.year) > 0 THEN FALSE ELSE TRUE END OFFSET 0) AS r GROUP BY u`

// TestCliffsAreSeen holds that plain joins with conditions, but full ones, of which Postgres reads both sides, three relations read whole,
// chains that lack their first row, and sub-selects as Postgres has them are cliffs for this test.
func TestCliffsAreSeen(t *testing.T) {
	w := newClinic(t)
	plain := &descent{w: w}
	for _, sql := range joined {
		if _, err := w.plan(sql, fixed); err != nil {
			t.Fatal(err)
		}
		has := func(words string) bool { return strings.Contains(sql, words) }
		if has(" JOIN ") && has(" WHERE ") && !has(" FILTER ") && !has("EXISTS") && !has(" FULL ") && !listed(sql) {
			plain.reads = append(plain.reads, descended{statement: sql, sql: sql})
		}
	}
	seen(t, plain, "no index, statistics")
	third := &descent{w: w, reads: []descended{{statement: "three relations", sql: readWhole}}}
	seen(t, third, "indexes, statistics")
	chains, without := &descent{w: w}, &descent{w: w}
	for _, sql := range joined {
		p, err := w.plan(sql, fixed)
		if err != nil {
			t.Fatal(err)
		}
		chains.add(sql, p)
	}
	for _, read := range chains.reads {
		// Where an index finds the other rows, they are looked up; a first relation without conditions has its rows.
		first := firstOfChain.FindStringSubmatch(read.sql)
		if first != nil && first[3] != "TRUE" && strings.Contains(read.settings, "enable_nestloop = off") && !listed(read.statement) {
			read.sql = firstOfChain.ReplaceAllString(read.sql, "(SELECT $2.* FROM $1 WHERE $3) AS $2 LEFT JOIN")
			without.reads = append(without.reads, read)
		}
	}
	if len(without.reads) < 3 {
		t.Errorf("%d chains without their first row", len(without.reads))
	}
	seen(t, without, "no index, statistics")
	asked := &descent{w: w}
	for _, sql := range asking {
		asked.reads = append(asked.reads, descended{statement: sql, sql: sql})
	}
	seen(t, asked, "no index, statistics")
}

func seen(t *testing.T, d *descent, setting string) {
	t.Helper()
	found := map[string]bool{}
	if len(d.reads) == 0 {
		t.Error("no statements")
	}
	all := d.reads
	d.once = true
	for _, c := range d.ofClinic(setting) {
		found[c.read.statement] = true
	}
	for _, r := range all {
		if !found[r.statement] {
			t.Errorf("no cliff is seen in %s", r.statement)
		}
	}
}
