package privacy_test

import (
	"slices"
	"testing"
	"time"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
	"dpproxy/internal/sqlgen"
)

const askingSchema = `
CREATE TABLE patients (id int PRIMARY KEY, smoker bool NOT NULL, birth_year int NOT NULL, sex text NOT NULL);
CREATE TABLE hospitals (id int PRIMARY KEY);
CREATE TABLE visits (id int PRIMARY KEY, patient_id int NOT NULL REFERENCES patients, hospital_id int NOT NULL REFERENCES hospitals,
  day date NOT NULL, cost int NOT NULL);
CREATE TABLE labs (id int PRIMARY KEY, visit_id int NOT NULL REFERENCES visits);
INSERT INTO patients SELECT g, false, 1950, 'f' FROM generate_series(1, 20000) g;
INSERT INTO hospitals SELECT generate_series(1, 50);
INSERT INTO visits SELECT g, g % 20000 + 1, g % 50 + 1, date '2020-01-01' + g % 300, 10 FROM generate_series(1, 100000) g;
INSERT INTO labs SELECT g, g FROM generate_series(1, 100000) g;
CREATE INDEX ON visits (patient_id);
ANALYZE;`

const askingPolicy = `
privacy_unit: {name: patient, budget: {epsilon: 9000}}
tables:
  patients: {unit: id, columns: {birth_year: {bounds: [1920, 2010]}, sex: {values: [f, m]}}}
  visits: {unit: patient_id, max_rows: 5, max_partitions: 2, columns: {cost: {bounds: [0, 1000]}, day: {bounds: [2020-01-01, 2024-12-31]}}}
  labs: {unit: {via: visit_id, to: visits.id}, max_rows: 5, max_partitions: 2}
  hospitals: {public: true}
analysts:
  ana: {password: VERIFIER, tables: [patients, visits, labs, hospitals]}
answers: {remember: false}
limits: {reply_grid: 0}
`

// TestClockOfAskings prints, for sub-selects of every kind wherever they can be, the time where one person meets the condition
// around and where nobody does, in turns: a table that is read for that person alone takes ten milliseconds and more.
func TestClockOfAskings(t *testing.T) {
	if *clockPairs == 0 {
		return // a measurement of a machine that does nothing else: make clock runs it
	}
	s := sitetest.New(t, askingSchema, askingPolicy)
	plain := sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser))
	ana := sitetest.Dial(t, s.Run(t).URL("ana"))
	sitetest.Exec(t, ana, "SET dp.notice = off; SET dp.epsilon = 0.001")
	middle := func(list []time.Duration) time.Duration {
		slices.Sort(list)
		return list[len(list)/2].Round(100 * time.Microsecond)
	}
	for _, a := range sqlgen.Askings("CASE WHEN p.id = 107 AND p.smoker THEN true ELSE p.birth_year = -5012 END") {
		wall, _ := measure(t, ana, plain, func() time.Duration { return spent(t, plain, "dpproxy") }, a.SQL)
		t.Logf("%-60s %8v %8v", a.Name, middle(wall.with), middle(wall.without))
	}
}
