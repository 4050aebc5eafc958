package operations_test

import (
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/await"
	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// rightsSchema has all that rights are about: schemas, types of another one, a partition elsewhere, views, and a public table.
const rightsSchema = `CREATE SCHEMA clinic; CREATE SCHEMA archive; CREATE SCHEMA kinds;
CREATE TYPE kinds.mood AS ENUM ('sad', 'ok');
CREATE TABLE clinic.hospitals (id int PRIMARY KEY, beds int NOT NULL);
CREATE TABLE clinic.patients (id int PRIMARY KEY, name text NOT NULL, moods kinds.mood[], age int NOT NULL);
CREATE TABLE clinic.visits (patient_id int NOT NULL REFERENCES clinic.patients, hospital_id int NOT NULL REFERENCES clinic.hospitals,
  day date NOT NULL, mood kinds.mood, cost int) PARTITION BY RANGE (day);
CREATE TABLE archive.visits_2020 PARTITION OF clinic.visits FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');
CREATE TABLE clinic.visits_2021 PARTITION OF clinic.visits FOR VALUES FROM ('2021-01-01') TO ('2022-01-01');
CREATE TABLE clinic.wards (hospital_id int PRIMARY KEY, open boolean NOT NULL);
CREATE VIEW clinic.adults AS SELECT id, age FROM clinic.patients WHERE age > 17;
CREATE VIEW clinic.open_wards AS SELECT hospital_id FROM clinic.wards WHERE open;
INSERT INTO clinic.hospitals SELECT g, g * 10 FROM generate_series(1, 5) g;
INSERT INTO clinic.wards SELECT g, true FROM generate_series(1, 5) g;
INSERT INTO clinic.patients SELECT g, 'name', '{ok}', g % 90 FROM generate_series(1, 500) g;
INSERT INTO clinic.visits SELECT g, g % 5 + 1, date '2020-06-01' + g, 'ok', g % 50 FROM generate_series(1, 500) g;
`

const rightsPolicy = `health: 127.0.0.1:0
privacy_unit: {name: patient, budget: {epsilon: 9000}}
tables:
  clinic.patients: {unit: id, columns: {name: hidden, age: {bounds: [0, 120]}}}
  clinic.visits:
    unit: patient_id
    max_rows: 3
    max_partitions: 3
    partitions: [archive.visits_2020]
    columns: {mood: {values: enum}, cost: {bounds: [0, 50]}}
  clinic.hospitals: {public: true}
  clinic.wards: {public: true}
  clinic.open_wards: {public: true}
  clinic.adults: {view: true}
analysts:
  ana: {password: "VERIFIER", tables: [clinic.patients, clinic.visits, clinic.adults]}
`

// rightsQuestions read every relation of the policy, in the ways that name types.
var rightsQuestions = []string{
	"SELECT count(*), sum(age) FROM clinic.patients", "SELECT count(*) FROM clinic.adults",
	"SELECT mood, count(*), sum(cost) FROM clinic.visits GROUP BY 1",
	"SELECT count(*) FROM clinic.visits WHERE mood IN ('sad', 'ok') AND day > '2020-07-01'",
	"SELECT count(*) FROM archive.visits_2020 WHERE mood = 'ok'",
	"SELECT sum(cost) FILTER (WHERE beds > 10) FROM clinic.visits v JOIN clinic.hospitals h ON h.id = v.hospital_id",
	"SELECT count(*) FROM clinic.visits v JOIN clinic.wards w USING (hospital_id) WHERE open",
	"SELECT count(DISTINCT patient_id) FROM clinic.visits JOIN clinic.patients p ON p.id = patient_id WHERE age BETWEEN 20 AND 40",
	"SELECT * FROM clinic.open_wards",
}

// TestLeastRights runs dpproxy with the rights that docs/operations.md names, and those alone: of each that is lacking check,
// sync, the log and /readyz say so, and the statement that check prints grants it.
func TestLeastRights(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, grants, _ := strings.Cut(string(text), "```sql\nCREATE ROLE dpproxy_reader")
	grants, _, _ = strings.Cut(grants, "```")
	s := sitetest.New(t, rightsSchema+"CREATE ROLE dpproxy_reader"+grants, rightsPolicy)
	super := sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser))
	s.Edit(t, s.Data.URL("postgres", pgtemp.Superuser), s.Data.URL("postgres", "dpproxy_reader"))
	for _, command := range []string{"check", "sync"} {
		if out := s.Command(t, command, s.Policy); strings.Contains(out, "the role") {
			t.Errorf("%s with the least rights:\n%s", command, out)
		}
	}
	r := s.Run(t)
	ana := sitetest.Dial(t, r.URL("ana"))
	for _, sql := range rightsQuestions {
		sitetest.Exec(t, ana, sql)
	}
	for _, right := range []string{
		"SELECT ON clinic.patients", "SELECT ON clinic.visits", "SELECT ON archive.visits_2020", "SELECT ON clinic.adults",
		"SELECT ON clinic.hospitals", "SELECT ON clinic.wards", "SELECT ON clinic.open_wards",
		"USAGE ON SCHEMA clinic", "USAGE ON SCHEMA archive", "USAGE ON SCHEMA kinds",
	} {
		sitetest.Exec(t, super, "REVOKE "+right+" FROM dpproxy_reader")
		grant := "GRANT " + right + " TO dpproxy_reader;"
		lacks(t, s, "check", grant)
		testLacking(t, ana, grant, right != "SELECT ON clinic.open_wards") // whose copy is read
		sitetest.Exec(t, super, grant)
	}
	for _, sql := range rightsQuestions {
		sitetest.Exec(t, ana, sql)
	}
	testLackingIsTold(t, s, r, super)
}

// testLackingIsTold holds that the log and /readyz say what is lacking, and once nothing is; sync says so too.
func testLackingIsTold(t *testing.T, s *sitetest.Site, r *sitetest.Running, super *pgx.Conn) {
	t.Helper()
	sitetest.Exec(t, super, "REVOKE USAGE ON SCHEMA kinds FROM dpproxy_reader")
	const grant = "GRANT USAGE ON SCHEMA kinds TO dpproxy_reader;"
	lacks(t, s, "sync", grant)
	await.That(t, "/readyz and the log say so", func() bool {
		status, text := r.Page(t, "/readyz")
		return status == 200 && strings.Contains(text, "rights degraded\n") && strings.Contains(r.Log.String(), grant)
	})
	sitetest.Exec(t, super, grant)
	await.That(t, "all is told again", func() bool {
		_, text := r.Page(t, "/readyz")
		return !strings.Contains(text, "degraded") && strings.Contains(r.Log.String(), "has its rights in the protected database again")
	})
}

// testLacking holds that a right that is lacking refuses what needs it, for nothing; needed says whether a question does.
func testLacking(t *testing.T, ana *pgx.Conn, grant string, needed bool) {
	t.Helper()
	refused, before := 0, sitetest.Spent(t, ana)
	for _, sql := range rightsQuestions[:len(rightsQuestions)-1] {
		if _, err := ana.Exec(t.Context(), sql); err != nil {
			sitetest.Fails(t, err, "PB015", "may not read")
			if after := sitetest.Spent(t, ana); after != before {
				t.Errorf("%s is refused and costs", sql)
			}
			refused++
		}
		before = sitetest.Spent(t, ana)
	}
	if refused > 0 != needed {
		t.Errorf("%d questions need %s", refused, grant)
	}
}

// lacks holds that a command ends with the statement that grants what is lacking.
func lacks(t *testing.T, s *sitetest.Site, command, grant string) {
	t.Helper()
	out, failed := s.Attempt(t, command, s.Policy)
	if !failed || strings.Count(out, "GRANT") != 1 || !strings.Contains(out, "  "+grant+"\n") {
		t.Errorf("%s without %s says:\n%s", command, grant, out)
	}
}

// TestExcessRights holds that a role which can do more than it needs is warned of.
func TestExcessRights(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy)
	super := sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser))
	sitetest.Exec(t, super, "CREATE ROLE reader LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
	before := pgtemp.Superuser
	for _, c := range []struct{ role, make, want string }{
		{pgtemp.Superuser, "SELECT 1", "is a superuser: it needs SELECT alone"},
		{"owner", "CREATE ROLE owner LOGIN IN ROLE reader; ALTER TABLE visits OWNER TO owner", "owns public.visits"},
		{"writer", "CREATE ROLE writer LOGIN IN ROLE reader; GRANT UPDATE (cost) ON visits TO writer", "can write to public.visits"},
		{"rower", "CREATE ROLE rower LOGIN BYPASSRLS IN ROLE reader", "has BYPASSRLS"},
		{"maker", "CREATE ROLE maker LOGIN CREATEROLE IN ROLE reader", "has CREATEROLE"},
		{"filer", "CREATE ROLE filer LOGIN IN ROLE reader, pg_read_server_files", "is a member of pg_read_server_files"},
	} {
		sitetest.Exec(t, super, c.make)
		s.Edit(t, s.Data.URL("postgres", before), s.Data.URL("postgres", c.role))
		before = c.role
		if out := s.Command(t, "check", s.Policy); strings.Count(out, "warning: the role") != 1 || !strings.Contains(out, c.want) {
			t.Errorf("check with %s says\n%s", c.role, out)
		}
	}
	if log := s.Run(t).Log.String(); !strings.Contains(log, "more in the protected database than it needs") {
		t.Errorf("the log says nothing:\n%s", log)
	}
}
