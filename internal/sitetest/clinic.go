package sitetest

import (
	"strings"
	"sync"
	"testing"

	"dpproxy/internal/pgtemp"
)

// ClinicSchema is a small clinic; its numbers are known by heart: 1,000 patients,
// five visits each.
const ClinicSchema = `
CREATE TABLE hospitals (id int PRIMARY KEY, name text NOT NULL);
CREATE TABLE patients (id int PRIMARY KEY, name text NOT NULL, sex text NOT NULL, birth_year int NOT NULL, region text NOT NULL);
CREATE TABLE visits (id int PRIMARY KEY, patient_id int NOT NULL REFERENCES patients, hospital_id int NOT NULL REFERENCES hospitals,
  day date NOT NULL, diagnosis text NOT NULL, cost numeric(10,2) NOT NULL);
CREATE TABLE labs (id int PRIMARY KEY, visit_id int NOT NULL REFERENCES visits, test text NOT NULL, value float8);
INSERT INTO hospitals SELECT g, 'hospital ' || g FROM generate_series(1, 5) g;
INSERT INTO patients SELECT g, 'name ' || g, (ARRAY['f','m'])[g % 2 + 1], 1930 + g % 80,
  (ARRAY['north','south'])[g % 2 + 1] FROM generate_series(1, 1000) g;
INSERT INTO visits SELECT g, g % 1000 + 1, g % 5 + 1, date '2020-01-01' + g % 900,
  (ARRAY['flu','cold','asthma'])[g % 3 + 1], g % 100 FROM generate_series(1, 5000) g;
INSERT INTO labs SELECT g, g % 5000 + 1, (ARRAY['chol','hdl'])[g % 2 + 1], g % 300 FROM generate_series(1, 5000) g;
ANALYZE;`

// ClinicPolicy has budgets for tests only: its unit budget is so large that it
// guarantees nothing.
const ClinicPolicy = `
privacy_unit: {name: patient, budget: {epsilon: 9000}}
tables:
  patients:
    unit: id
    columns: {name: hidden, sex: {values: [f, m]}, region: {values: [north, south]}, birth_year: {bounds: [1920, 2010]}}
  visits:
    unit: patient_id
    max_rows: 5
    max_partitions: 3
    columns: {diagnosis: {values: [flu, cold, asthma]}, cost: {bounds: [0, 100]}, day: {bounds: [2020-01-01, 2024-12-31]}}
  labs:
    unit: {via: visit_id, to: visits.id}
    max_rows: 5
    max_partitions: 2
    columns: {test: {values: [chol, hdl]}, value: {bounds: [0, 300]}}
  hospitals: {public: true}
analysts:
  ana: {password: "VERIFIER", tables: [patients, visits, labs]}
`

// ShownPolicy hides no column. Tests that compare replies with Postgres's need it: a reply has the
// number of each column in its table, and columns behind a hidden one have others on the mirror.
var ShownPolicy = strings.Replace(ClinicPolicy, "name: hidden, ", "", 1)

// CountPatients counts the patients of the clinic.
const CountPatients = "SELECT count(*) FROM patients"

// clinic has the files of a server with the clinic, for all tests of a package.
var clinic struct {
	sync.Mutex
	files *pgtemp.Saved
}

func clinicFiles(t testing.TB) *pgtemp.Saved {
	t.Helper()
	clinic.Lock()
	defer clinic.Unlock()
	if clinic.files == nil {
		server := StartPostgres(t)
		Exec(t, Dial(t, server.URL("postgres", pgtemp.Superuser)), ClinicSchema)
		files, err := server.Save()
		if err != nil {
			t.Fatal(err)
		}
		clinic.files = files
	}
	return clinic.files
}
