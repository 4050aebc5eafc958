package operations_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/await"
	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// A schemaChange takes away something that the plans of a statement rely on.
type schemaChange struct {
	name, change, undo string
	// affected is the statement, other one that goes on.
	affected, other string
}

var schemaChanges = []schemaChange{
	{
		"the unit's key",
		"ALTER TABLE patients DROP CONSTRAINT patients_pkey CASCADE; " +
			"INSERT INTO patients SELECT p.* FROM patients p, generate_series(1, 9) WHERE id = 7",
		"DELETE FROM patients WHERE id = 7; INSERT INTO patients VALUES (7, 'name', 'f', 1937, 'south'); " +
			"ALTER TABLE patients ADD PRIMARY KEY (id); ALTER TABLE visits ADD FOREIGN KEY (patient_id) REFERENCES patients",
		"SELECT count(*) FROM patients", "",
	},
	{
		"a unique index of a public table",
		"DROP INDEX codes_code; INSERT INTO codes SELECT c.* FROM codes c, generate_series(1, 9)",
		"DELETE FROM codes c USING codes d WHERE c.code = d.code AND c.ctid > d.ctid; CREATE UNIQUE INDEX codes_code ON codes (code)",
		"SELECT count(*) FROM visits JOIN codes ON code = diagnosis", "SELECT count(*) FROM visits",
	},
	{
		"a foreign key on the path to the unit",
		"ALTER TABLE labs DROP CONSTRAINT labs_visit_id_fkey",
		"ALTER TABLE labs ADD FOREIGN KEY (visit_id) REFERENCES visits",
		"SELECT count(*) FROM labs", "SELECT count(*) FROM patients",
	},
	{
		"the triggers of a foreign key",
		"ALTER TABLE labs DISABLE TRIGGER ALL", "ALTER TABLE labs ENABLE TRIGGER ALL",
		"SELECT count(*) FROM labs", "SELECT count(*) FROM patients",
	},
	{
		"NOT NULL of a unit",
		"ALTER TABLE visits ALTER patient_id DROP NOT NULL", "ALTER TABLE visits ALTER patient_id SET NOT NULL",
		"SELECT count(*) FROM labs", "SELECT count(*) FROM patients",
	},
	{
		"a column",
		"ALTER TABLE labs DROP value", "ALTER TABLE labs ADD value float8",
		"SELECT count(*) FROM labs", "SELECT count(*) FROM visits",
	},
	{
		"a type",
		"ALTER TABLE labs ALTER value TYPE numeric", "ALTER TABLE labs ALTER value TYPE float8",
		"SELECT sum(value) FROM labs", "SELECT count(*) FROM visits",
	},
	{
		"a label more",
		"ALTER TYPE mood ADD VALUE 'furious'", "",
		"SELECT count(*) FROM labs", "SELECT count(*) FROM visits",
	},
	{
		"rows for all readers",
		"ALTER TABLE patients ENABLE ROW LEVEL SECURITY", "ALTER TABLE patients DISABLE ROW LEVEL SECURITY",
		"SELECT count(*) FROM patients", "SELECT count(*) FROM visits",
	},
	{
		"no child tables",
		"CREATE TABLE more () INHERITS (patients)", "DROP TABLE more",
		"SELECT count(*) FROM patients", "SELECT count(*) FROM visits",
	},
	{
		"the table itself",
		"ALTER TABLE labs RENAME TO old; CREATE TABLE labs (LIKE old INCLUDING ALL, FOREIGN KEY (visit_id) REFERENCES visits)",
		"DROP TABLE labs; ALTER TABLE old RENAME TO labs",
		"SELECT count(*) FROM labs", "SELECT count(*) FROM patients",
	},
}

// TestSchemaChanges takes something away upstream. The statements that rely on it are
// refused before anything is read, by the dpproxy that runs and by the next one, until the
// administrator syncs; others go on.
func TestSchemaChanges(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t,
		sitetest.ClinicSchema+
			`CREATE TABLE codes (code text NOT NULL, label text); CREATE UNIQUE INDEX codes_code ON codes (code);
				INSERT INTO codes VALUES ('flu', 'Flu');
			CREATE TYPE mood AS ENUM ('sad', 'ok'); ALTER TABLE labs ADD mood mood;`,
		strings.Replace(sitetest.ClinicPolicy, "hospitals: {public: true}", "hospitals: {public: true}\n  codes: {public: true}", 1))
	super := sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser))
	for _, c := range schemaChanges {
		t.Run(c.name, func(t *testing.T) {
			defer c.confirmed(t, s, super)
			c.whileItRuns(t, s, super)
			c.atTheNextStart(t, s, super)
		})
	}
	r := s.Run(t)
	defer r.Stop()
	for _, c := range schemaChanges {
		sitetest.Exec(t, sitetest.Dial(t, r.URL("ana")), c.affected)
	}
}

func (c schemaChange) whileItRuns(t *testing.T, s *sitetest.Site, super *pgx.Conn) {
	r := s.Run(t)
	defer r.Stop()
	ana := sitetest.Dial(t, r.URL("ana"))
	unread := scans(t, super)
	sitetest.Exec(t, ana, c.affected)
	before := scans(t, super)
	if before == unread {
		t.Fatal("a read does not count as one")
	}
	sitetest.Exec(t, super, c.change)
	before = scans(t, super)
	_, err := ana.Exec(t.Context(), c.affected)
	sitetest.Fails(t, err, "PB013", "is not the one that its policy was checked against")
	if scans(t, super) != before {
		t.Error("tables were read")
	}
	c.isOff(t, ana, super)
}

// isOff asks again: a table that is known to have changed is refused without a charge.
func (c schemaChange) isOff(t *testing.T, ana, super *pgx.Conn) {
	before, charged := scans(t, super), sitetest.Spent(t, ana)
	_, err := ana.Exec(t.Context(), c.affected)
	sitetest.Fails(t, err, "PB013", "is not the one that its policy was checked against")
	if scans(t, super) != before || sitetest.Spent(t, ana) != charged {
		t.Error("a table that is off was read or charged for")
	}
	if c.other != "" {
		sitetest.Exec(t, ana, c.other)
	}
}

// confirmed undoes the change; with a sync the table is on again for the next start.
func (c schemaChange) confirmed(t *testing.T, s *sitetest.Site, super *pgx.Conn) {
	if c.undo != "" {
		sitetest.Exec(t, super, c.undo)
	}
	s.Command(t, "sync", s.Policy)
}

// atTheNextStart finds the table off, also where the policy does not fit any more.
func (c schemaChange) atTheNextStart(t *testing.T, s *sitetest.Site, super *pgx.Conn) {
	r := s.Run(t)
	defer r.Stop()
	if !strings.Contains(r.Log.String(), "has changed since the last sync") {
		t.Errorf("the log does not say that a table is off:\n%s", r.Log)
	}
	c.isOff(t, sitetest.Dial(t, r.URL("ana")), super)
}

// scans counts how often tables were read. All other sessions are ended first, so that all of it
// is counted: an idle one, such as that which loaded the tables, reports its last scans after ten
// seconds.
func scans(t *testing.T, super *pgx.Conn) (n int64) {
	t.Helper()
	const others = "FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
	sitetest.Exec(t, super, "SELECT pg_terminate_backend(pid) "+others)
	await.That(t, "the sessions end", func() bool {
		var left int
		if err := super.QueryRow(t.Context(), "SELECT count(*) "+others).Scan(&left); err != nil {
			t.Fatal(err)
		}
		return left == 0
	})
	sitetest.Exec(t, super, "SELECT pg_stat_force_next_flush()")
	if err := super.QueryRow(t.Context(), "SELECT sum(seq_scan + coalesce(idx_scan, 0)) FROM pg_stat_user_tables").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// A misfit is a change upstream after which the policy does not fit.
type misfit struct {
	name, change, undo string
	problem            string   // of dpproxy check, and of the log
	off, on            []string // statements: refused, answered
}

var misfits = []misfit{
	{
		"a column is gone", "ALTER TABLE labs RENAME value TO amount", "ALTER TABLE labs RENAME amount TO value",
		"tables.public.labs.columns.value: there is no such column",
		[]string{"SELECT sum(value) FROM labs", "SELECT count(*) FROM labs JOIN visits ON visits.id = visit_id"},
		[]string{"SELECT count(*) FROM visits"},
	},
	{
		"a type has no bounds", "ALTER TABLE visits RENAME cost TO price; ALTER TABLE visits ADD cost text",
		"ALTER TABLE visits DROP cost; ALTER TABLE visits RENAME price TO cost",
		"tables.public.visits.columns.cost.bounds: numbers as bounds of a column of type text",
		[]string{"SELECT sum(cost) FROM visits", "SELECT count(*) FROM labs"},
		[]string{"SELECT count(*) FROM patients"},
	},
	{
		"a table is gone", "ALTER TABLE labs RENAME TO tests", "ALTER TABLE tests RENAME TO labs",
		"tables.public.labs: the table does not exist in the database, or may not be read",
		[]string{"SELECT count(*) FROM labs"},
		[]string{"SELECT count(*) FROM visits"},
	},
	{
		"the path has no end", "ALTER TABLE visits DROP CONSTRAINT visits_pkey CASCADE",
		"ALTER TABLE visits ADD PRIMARY KEY (id); ALTER TABLE labs ADD FOREIGN KEY (visit_id) REFERENCES visits",
		"tables.public.labs.unit.to: public.visits.id has no unique index",
		[]string{"SELECT count(*) FROM labs", "SELECT count(*) FROM visits"},
		[]string{"SELECT count(*) FROM patients"},
	},
	{
		"a public table is gone", "DROP TABLE wards",
		"CREATE TABLE wards (id int PRIMARY KEY, name text NOT NULL)",
		"tables.public.wards: the table does not exist",
		[]string{"SELECT w.name, count(*) FROM visits JOIN wards w ON w.id = hospital_id GROUP BY 1"},
		[]string{"SELECT count(*) FROM visits", "SELECT count(*) FROM wards"},
	},
	{
		"a view is gone", "DROP VIEW dear", "CREATE VIEW dear AS SELECT patient_id, cost FROM visits WHERE cost > 50",
		"tables.public.dear.view: the view does not exist",
		[]string{"SELECT count(*) FROM dear"},
		[]string{"SELECT count(*) FROM visits"},
	},
	{
		"a view reads more",
		"CREATE TABLE third (n int); CREATE OR REPLACE VIEW dear AS SELECT patient_id, cost FROM visits, third WHERE cost > 50",
		"DROP VIEW dear; DROP TABLE third; CREATE VIEW dear AS SELECT patient_id, cost FROM visits WHERE cost > 50",
		"tables.public.dear.view: the view reads public.third, which is not in the policy",
		[]string{"SELECT count(*) FROM dear"},
		[]string{"SELECT count(*) FROM visits"},
	},
}

// TestMisfits changes the database so that the policy does not fit it any more. Dpproxy check
// says so; dpproxy run refuses statements that depend on it, before anything is charged, and serves the
// rest. A policy that never fitted is not served at all.
func TestMisfits(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, sitetest.ClinicSchema+"CREATE VIEW dear AS SELECT patient_id, cost FROM visits WHERE cost > 50;"+
		"CREATE TABLE wards (id int PRIMARY KEY, name text NOT NULL);",
		strings.NewReplacer("hospitals: {public: true}", "hospitals: {public: true}\n  wards: {public: true}\n  dear: {view: true}",
			"tables: [patients, visits, labs]", "tables: [patients, visits, labs, dear]").Replace(sitetest.ClinicPolicy))
	super := sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser))
	for _, c := range misfits {
		t.Run(c.name, func(t *testing.T) {
			sitetest.Exec(t, super, c.change)
			defer func() { sitetest.Exec(t, super, c.undo); s.Command(t, "sync", s.Policy) }()
			c.serve(t, s)
		})
	}
	s.Edit(t, "birth_year: {bounds", "year_of_birth: {bounds")
	if r := s.Start(t); r.Addr != "" ||
		!strings.Contains(r.Log.String(), "tables.public.patients.columns.year_of_birth: there is no such column") {
		t.Errorf("a policy that is wrong by itself: serving at %q\n%s", r.Addr, r.Log)
	}
	sitetest.Exec(t, super, "ALTER TABLE labs RENAME value TO amount")
	if r := s.Start(t); r.Addr != "" || !strings.Contains(r.Log.String(), "year_of_birth") ||
		strings.Contains(r.Log.String(), "labs.columns.value: there") {
		t.Errorf("a policy that is wrong by itself, before a table that changed: serving at %q\n%s", r.Addr, r.Log)
	}
}

func (c misfit) serve(t *testing.T, s *sitetest.Site) {
	out, err := exec.CommandContext(t.Context(), sitetest.Program(t), "check", s.Policy, "--online").CombinedOutput()
	if err == nil || !strings.Contains(string(out), c.problem) {
		t.Errorf("dpproxy check: %v\n%s", err, out)
	}
	r := s.Run(t)
	defer r.Stop()
	if !strings.Contains(r.Log.String(), c.problem) {
		t.Errorf("the log does not say what is wrong:\n%s", r.Log)
	}
	ana := sitetest.Dial(t, r.URL("ana"))
	charged := sitetest.Spent(t, ana)
	for _, sql := range c.off {
		_, err := ana.Exec(t.Context(), sql)
		sitetest.Fails(t, err, "PB013", "is not the one that its policy was checked against")
	}
	if sitetest.Spent(t, ana) != charged {
		t.Error("something that is refused was charged for")
	}
	for _, sql := range c.on {
		sitetest.Exec(t, ana, sql)
	}
}

// TestSyncBesideSessions makes a table and a type on the mirror anew while sessions are
// open: statements prepared before are described again, answered and charged for.
func TestSyncBesideSessions(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, sitetest.ClinicSchema+"CREATE TYPE mood AS ENUM ('sad', 'ok'); ALTER TABLE patients ADD mood mood;",
		strings.Replace(sitetest.ClinicPolicy, "name: hidden,", "name: hidden, mood: {values: enum},", 1))
	r := s.Run(t)
	defer r.Stop()
	ana, other := sitetest.Dial(t, r.URL("ana")), sitetest.Dial(t, r.URL("ana"))
	if _, err := ana.Prepare(t.Context(), "moods", "SELECT mood, count(*) FROM patients GROUP BY mood"); err != nil {
		t.Fatal(err)
	}
	if _, err := ana.Prepare(t.Context(), "sexes", "SELECT sex, count(*) FROM patients GROUP BY sex"); err != nil {
		t.Fatal(err)
	}
	sitetest.Exec(t, ana, "moods")
	sitetest.Exec(t, ana, "PREPARE sexes_too AS SELECT sex, count(*) FROM patients GROUP BY sex")
	sitetest.Exec(t, other, "BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT sex, count(*) FROM patients GROUP BY sex; COMMIT")
	super := sitetest.Dial(t, s.Mirror.URL("postgres", pgtemp.Superuser))
	sitetest.Exec(t, super, "DROP TYPE mood CASCADE")
	if out := s.Command(t, "sync", s.Policy); !strings.Contains(out, "table public.patients") {
		t.Fatalf("the sync says %s", out)
	}
	before := sitetest.Spent(t, ana)
	for _, sql := range []string{
		"moods", "sexes", "EXECUTE sexes_too", sitetest.CountPatients,
		"SELECT mood, count(*) FROM patients GROUP BY mood",
	} {
		sitetest.Exec(t, ana, sql)
		now := sitetest.Spent(t, ana)
		if now == before {
			t.Errorf("%s was not charged for", sql)
		}
		before = now
	}
	sitetest.Exec(t, other, "FETCH ALL FROM c")
	sitetest.Exec(t, other, sitetest.CountPatients)
}

// TestForgottenAnswers holds that the log says when remembered answers are forgotten, and why, and that a sync that finds all as it was
// forgets none.
func TestForgottenAnswers(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy+"answers: {remember: true}\n")
	r := s.Run(t)
	ana := sitetest.Dial(t, r.URL("ana"))
	meter := sitetest.NewMeter(t, s)
	sitetest.Exec(t, ana, sitetest.CountPatients)
	s.Command(t, "sync", s.Policy)
	r.HangUp(t, "the policy was reloaded")
	sitetest.Exec(t, ana, sitetest.CountPatients)
	meter.Ticks("a question, and again after a sync that changed nothing", 1)
	const forgotten = "remembered answers are forgotten"
	if strings.Contains(r.Log.String(), forgotten) {
		t.Errorf("the log says\n%s", r.Log)
	}
	if testDates(t, s, r, meter); strings.Count(r.Log.String(), forgotten) != 1 {
		t.Errorf("the log says\n%s", r.Log)
	}
	sitetest.Exec(t, sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser)), "ALTER TABLE visits ADD COLUMN note text")
	s.Command(t, "sync", s.Policy)
	await.That(t, "the sync is taken over", func() bool {
		return strings.Contains(r.Log.String(), "the schema as of the last sync was taken over")
	})
	if said := r.Log.String(); !strings.Contains(said,
		forgotten+`: the same questions cost again" since="another form was confirmed of public.visits"`) {
		t.Errorf("the log says\n%s", said)
	}
	sitetest.Exec(t, ana, sitetest.CountPatients)
	meter.Ticks("a question of another table after that", 0)
	sitetest.Exec(t, ana, "SELECT count(*) FROM visits")
	meter.Ticks("a question of the table after that", 1)
}

// testDates holds that a default for dates in place of the bounds of a column makes no question new, that another default does, once, and
// that analysts see its bounds.
func testDates(t *testing.T, s *sitetest.Site, r *sitetest.Running, meter *sitetest.Meter) {
	t.Helper()
	ana := sitetest.Dial(t, r.URL("ana"))
	const years = "SELECT string_agg(y::text, ' ') FROM (SELECT extract(year FROM day) AS y, count(*) FROM visits GROUP BY 1) AS g"
	sitetest.Exec(t, ana, years)
	meter.Ticks("groups by years within the bounds of the column", 1)
	s.Edit(t, ", day: {bounds: [2020-01-01, 2024-12-31]}", "")
	s.Edit(t, "answers:", "defaults: {dates: [2020-01-01, 2024-12-31]}\nanswers:")
	r.HangUp(t, "the policy was reloaded")
	sitetest.Exec(t, ana, sitetest.CountPatients)
	sitetest.Exec(t, ana, years)
	meter.Ticks("the same questions, with the same bounds by default", 0)
	s.Edit(t, "2024-12-31", "2026-12-31")
	s.Command(t, "sync", s.Policy)
	r.HangUp(t, "the policy was reloaded")
	if got := sitetest.Rows(t, ana, years); got != "2020 2021 2022 2023 2024 2025 2026" {
		t.Errorf("visits are of the years %q", got)
	}
	sitetest.Exec(t, ana, sitetest.CountPatients)
	meter.Ticks("the questions of the table with other bounds", 1)
	const bounds = "SELECT col_description('visits'::regclass, 4), high FROM dp.columns WHERE \"table\" = 'visits' AND name = 'day'"
	if got := sitetest.Rows(t, ana, bounds); !strings.HasPrefix(got, "values are clamped to [2020-01-01, 2026-12-31]") {
		t.Errorf("analysts see %q", got)
	}
}
