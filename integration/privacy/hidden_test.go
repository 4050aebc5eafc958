package privacy_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// The clinic of these tests hides the columns whose names begin with zq_: the name of
// a patient, whose a visit is, and the address of a hospital, which is public, with all that is about them.
const (
	hiddenSchema = sitetest.ClinicSchema + `
CREATE TYPE zq_kind AS ENUM ('a', 'b');
ALTER TABLE patients RENAME name TO zq_called;
ALTER TABLE patients ADD zq_kind zq_kind, ADD UNIQUE (zq_called);
ALTER TABLE visits RENAME patient_id TO zq_patient;
ALTER TABLE visits RENAME CONSTRAINT visits_patient_id_fkey TO visits_zq_fkey;
CREATE INDEX zq_index ON visits (zq_patient);
ALTER TABLE hospitals ADD zq_address text UNIQUE;
UPDATE hospitals SET zq_address = 'zq ' || id;
CREATE VIEW sites AS SELECT v.id, h.name, h.zq_address AS address FROM visits v JOIN hospitals h ON h.id = v.hospital_id;
CREATE VIEW people AS SELECT id, zq_called AS called, region FROM patients WHERE birth_year > 1900;`
	hiddenName, hiddenAddress, inventedName = "zq_patient", "zq_address", "zq_invents"
)

var hiddenPolicy = strings.NewReplacer(
	"{name: hidden, sex", "{zq_called: hidden, zq_kind: hidden, sex",
	"unit: patient_id", "unit: zq_patient", "{diagnosis:", "{zq_patient: hidden, diagnosis:",
	"  hospitals: {public: true}", "  hospitals: {public: true, columns: {zq_address: hidden}}\n"+
		"  people: {view: true, definition: shown}\n  sites: {view: true, definition: shown}",
	"tables: [patients,", "tables: [patients, people, sites,",
).Replace(sitetest.ClinicPolicy)

// TestHiddenColumns holds that a person at psql cannot tell a hidden column from one that they
// made up, and that all else works as if it were not there.
func TestHiddenColumns(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, hiddenSchema, hiddenPolicy)
	sent := tapMirror(t, s, "ana")
	r := s.Run(t)
	defer r.Stop()
	for script, want := range map[string][]string{
		`\d patients`: {"id ", "sex ", "patients_pkey"},
		`\d+ visits`:  {"hospital_id", "visits_hospital_id_fkey"},
		`\d+ people`:  {"id ", "region "},
		`\d labs`:     {"visit_id"},
		`\dT`:         nil,
		`\di`:         {"visits_pkey"},
		`\dp`:         {"patients"},
		`\dt+`:        {"privacy unit patient;", "privacy unit patient by id", "by visit_id -> visits.id"},
		`\ds`:         nil,

		`\d+ hospitals`: {"id ", "name "},
		`\d+ sites`:     {"id ", "name "},
		"TABLE hospitals; SELECT h, to_jsonb(h), h.* FROM hospitals h; COPY hospitals TO STDOUT":                         {"hospital 5"},
		"CREATE TEMP TABLE mine AS SELECT * FROM hospitals; TABLE mine":                                                  {"hospital 5"},
		"SELECT * FROM dp.columns WHERE \"table\" = 'public.hospitals'":                                                  nil,
		"SELECT name, count(*) FROM visits v JOIN (SELECT DISTINCT * FROM hospitals) h ON h.id = hospital_id GROUP BY 1": {"hospital 5"},
		"SELECT count(*) FROM (SELECT v.id, h.* FROM visits v JOIN hospitals h ON h.id = hospital_id) AS x (a, b, c)":    {"(1 row)"},
		"SELECT name, count(*) FROM sites GROUP BY name":                                                                 {"hospital 5"},
		"SELECT count(*) FROM (SELECT id AS hospital_id, name FROM hospitals) h NATURAL JOIN visits v":                   {"(1 row)"},

		`TABLE dp.tables; TABLE dp.columns;`: {"visits", "visit_id -> visits -> …", "birth_year"},
		"SELECT * FROM information_schema.columns WHERE table_schema = 'public'; " +
			"TABLE pg_attribute; TABLE pg_type; TABLE pg_class; TABLE pg_constraint;": {"birth_year"},
		"EXPLAIN VERBOSE SELECT sum(cost) FROM visits":                                              {"privacy unit: …", "t0.… AS u"},
		"EXPLAIN SELECT avg(value) FROM labs":                                                       {"labs.visit_id -> visits.…"},
		"SELECT count(*) FROM (SELECT * FROM patients) AS p (a, b, c, d) WHERE d = 'north'":         {"(1 row)", "NOTICE"},
		"SELECT count(*) FROM patients NATURAL JOIN (SELECT id, 1 AS zq_called FROM patients) AS p": {"(1 row)"},
		"SELECT region, count(*) FROM patients NATURAL JOIN people GROUP BY region":                 {"north", "(2 rows)"},
		"SELECT count(*) FROM people WHERE region = 'north'":                                        {"(1 row)"},
		"SELECT avg(value), sum(cost) FROM labs l JOIN visits v ON v.id = l.visit_id":               {"(1 row)"},
	} {
		out := sitetest.Psql(t, r, script)
		if strings.Contains(strings.ReplaceAll(out, "1 AS zq_called", ""), "zq") || strings.Contains(out, "ERROR") {
			t.Errorf("%s\n%s", script, out)
		}
		for _, w := range want {
			if !strings.Contains(out, w) {
				t.Errorf("%s: no %q in\n%s", script, w, out)
			}
		}
	}
	if text := strings.ReplaceAll(sent.String(), "1 AS zq_called", ""); strings.Contains(text, "zq") || text == "" {
		t.Errorf("dpproxy sends to the analyst's sessions %q", text)
	}
	for _, script := range []string{
		"SELECT count(*) FROM visits WHERE % = 1", "SELECT count(%) FROM visits", "SELECT visits.% FROM visits",
		"SELECT count(DISTINCT v.%) FROM visits v", "SELECT %, count(*) FROM visits GROUP BY 1",
		"SELECT count(*) FROM visits GROUP BY %", "SELECT sum(cost) FILTER (WHERE % > 3) FROM visits",
		"SELECT count(*) FROM patients p JOIN visits v ON v.% = p.id",
		"SELECT count(*) FROM visits a JOIN visits b USING (%)", "SELECT count(*) FROM (SELECT % FROM visits) v",
		"SELECT count(*) FROM (SELECT * FROM visits) v WHERE v.% = 1",
		"SELECT count(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.% = p.id)",
		"SELECT count(*) FROM patients WHERE id IN (SELECT % FROM visits)", "SELECT count(*) FROM people WHERE % = 'x'",
		"SELECT count((v).%) FROM visits v", "SELECT count(*) FROM visits ORDER BY max(%)",
		"EXPLAIN SELECT sum(%) FROM visits", "SELECT * FROM dp.plan('SELECT count(*) FROM visits WHERE % = 1')",
		"PREPARE q AS SELECT count(*) FROM visits WHERE % = $1", "DECLARE c CURSOR FOR SELECT % FROM visits",
		"COPY visits (%) TO STDOUT", "COPY (SELECT % FROM visits) TO STDOUT",
		"CREATE TEMP VIEW x AS SELECT % FROM visits", "CREATE TEMP TABLE x AS SELECT count(%) FROM visits",
		"DO $$BEGIN PERFORM % FROM visits; END$$", "UPDATE visits SET % = 1",
		"SELECT has_column_privilege('visits', '%', 'SELECT')", "COMMENT ON COLUMN visits.% IS 'x'",
		"SELECT pg_get_serial_sequence('visits', '%')", "SELECT 'visits.%'::regclass",
		"SELECT dp.stderr(sum(%)) FROM visits", "SELECT 'x'::visits.%%TYPE", "SELECT NULL::%",
		"SELECT * FROM visits WHERE %",
		"SELECT % FROM hospitals", "SELECT h.% FROM hospitals h", "SELECT (h).% FROM hospitals h", "TABLE hospitals ORDER BY %",
		"SELECT count(*) FROM visits v JOIN hospitals h ON h.id = v.hospital_id WHERE h.% = 'x'",
		"SELECT count(*) FROM visits v JOIN hospitals h USING (%)",
		"SELECT count(*) FROM visits WHERE hospital_id IN (SELECT % FROM hospitals)",
		"SELECT h.%, count(*) FROM visits v JOIN hospitals h ON h.id = v.hospital_id GROUP BY 1",
		"SELECT count(*) FROM visits v, (SELECT DISTINCT % FROM hospitals) h", "COPY hospitals (%) TO STDOUT",
		"SELECT count(*) FROM visits v, (SELECT max(h.%) AS m FROM hospitals h) x WHERE x.m = 'x'", "SELECT count(%) FROM sites",
	} {
		name := hiddenName
		if strings.Contains(script, "hospitals") || strings.Contains(script, "sites") {
			name = hiddenAddress
		}
		hidden := refusalOf(t, r, strings.ReplaceAll(script, "%", name))
		invented := refusalOf(t, r, strings.ReplaceAll(script, "%", inventedName))
		if got := strings.ReplaceAll(hidden, name, inventedName); got != invented {
			t.Errorf("of a hidden column is said\n%s\nof an invented one\n%s", hidden, invented)
		}
	}
	out := sitetest.Psql(t, r, "SELECT count(*) FROM visits WHERE zq_patient = 1")
	if !strings.Contains(out, `ERROR:  column "zq_patient" does not exist`) {
		t.Errorf("psql shows\n%s", out)
	}
}

// refusalOf writes all that is said of a statement that is refused.
func refusalOf(t *testing.T, r *sitetest.Running, sql string) string {
	t.Helper()
	_, err := sitetest.Dial(t, r.URL("ana")).PgConn().Exec(t.Context(), sql).ReadAll()
	refused, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		t.Fatalf("%s: %v", sql, err)
	}
	e := *refused
	e.Line, e.File, e.Routine = 0, "", ""
	return fmt.Sprintf("%+v", e)
}

// TestHidingNeedsSync hides a column, and shows it again. Where the mirror has other columns
// than the policy shows, the table is off; the policy of a dpproxy that runs stays.
func TestHidingNeedsSync(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy)
	text, err := os.ReadFile(s.Policy)
	if err != nil {
		t.Fatal(err)
	}
	shown := string(text)
	hidden := strings.Replace(shown, "{diagnosis:", "{hospital_id: hidden, diagnosis:", 1)
	if hidden == shown {
		t.Fatal("nothing is hidden")
	}
	const uses, other = "SELECT count(*) FROM visits WHERE hospital_id = 1", "SELECT count(*) FROM visits"
	says := func(policy string, sync, off bool, want string) {
		t.Helper()
		if err := os.WriteFile(s.Policy, []byte(policy), 0o600); err != nil {
			t.Fatal(err)
		}
		if sync {
			if out := s.Command(t, "sync", s.Policy); !strings.Contains(out, "recreate table public.visits") ||
				strings.Contains(out, "public.patients\n") {
				t.Errorf("the sync says\n%s", out)
			}
		}
		r := s.Run(t)
		defer r.Stop()
		ana := sitetest.Dial(t, r.URL("ana"))
		sitetest.Exec(t, ana, sitetest.CountPatients)
		_, err := ana.Exec(t.Context(), uses)
		if got := sitetest.SQLState(err); got != want {
			t.Errorf("%s ends with %v, want %s", uses, err, want)
		}
		if off != strings.Contains(r.Log.String(), "the mirror has other columns than the policy shows") {
			t.Errorf("the log says\n%s", r.Log)
		} else if _, err := ana.Exec(t.Context(), other); off != (sitetest.SQLState(err) == "PB013") {
			t.Errorf("%s ends with %v", other, err)
		}
	}
	r := s.Run(t)
	ana := sitetest.Dial(t, r.URL("ana"))
	sitetest.Exec(t, ana, uses)
	if err := os.WriteFile(s.Policy, []byte(hidden), 0o600); err != nil {
		t.Fatal(err)
	}
	r.HangUp(t, "the policy was reloaded")
	_, err = ana.Exec(t.Context(), uses)
	sitetest.Fails(t, err, "PB013", "the mirror was made for another policy")
	r.Stop()
	says(hidden, false, true, "PB013")
	says(hidden, true, false, "42703")
	says(shown, false, true, "42703")
	says(shown, true, false, "")
	if got := attributes(t, s, "visits"); got != "id,patient_id,hospital_id,day,diagnosis,cost" {
		t.Errorf("the mirror has the columns %s", got)
	}
}

// attributes lists the columns of a table of the mirror, dropped ones too.
func attributes(t *testing.T, s *sitetest.Site, table string) (list string) {
	t.Helper()
	err := sitetest.Dial(t, s.Mirror.URL("postgres", pgtemp.Superuser)).QueryRow(t.Context(),
		"SELECT string_agg(attname, ',' ORDER BY attnum) FROM pg_attribute WHERE attrelid = $1::text::regclass AND attnum > 0",
		table).Scan(&list)
	if err != nil {
		t.Fatal(err)
	}
	return list
}
