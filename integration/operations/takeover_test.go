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

// eventsSchema is a partitioned table of the clinic, with an enum.
const eventsSchema = `CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TABLE events (patient_id int NOT NULL REFERENCES patients, at date NOT NULL, mood mood, n int CHECK (n >= 0), code varchar(4))
  PARTITION BY RANGE (at);
CREATE TABLE events_2020 PARTITION OF events FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');
INSERT INTO events SELECT g, date '2020-01-01' + g % 300, 'ok', g % 10, 'a' FROM generate_series(1, 1000) g;`

// eventsSite is the clinic with that table.
func eventsSite(t *testing.T, more string) *sitetest.Site {
	return sitetest.New(t, sitetest.ClinicSchema+eventsSchema, strings.NewReplacer(
		"  hospitals: {public: true}\n",
		"  hospitals: {public: true}\n  events:\n    unit: patient_id\n    max_rows: 3\n    max_partitions: 3\n"+
			"    columns: {mood: {values: enum}, n: {bounds: [0, 10]}}\n",
		"tables: [patients, visits, labs]", "tables: [patients, visits, labs, events]",
	).Replace(sitetest.ClinicPolicy)+more)
}

// TestChangesThatTouchNoProof changes the database in ways that no proof can tell: nobody notices, in prepared statements
// neither, and what came is not there before a sync.
func TestChangesThatTouchNoProof(t *testing.T) {
	t.Parallel()
	s := eventsSite(t, "health: 127.0.0.1:0\n")
	super := sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser))
	r := s.Run(t)
	ana := sitetest.Dial(t, r.URL("ana"))
	for _, change := range []string{
		"ALTER TABLE visits ADD weight int DEFAULT 1, ADD u int, ADD k1 int, ADD m1 int, ADD v1 int, ADD t0 int, ADD patients int",
		"CREATE INDEX aside ON visits (weight)", "CREATE UNIQUE INDEX more ON visits (id, weight)",
		"COMMENT ON TABLE visits IS 'visits'", "ALTER TABLE visits ADD CHECK (weight > 0)",
		"CREATE TABLE stranger (patient_id int REFERENCES patients, visit_id int REFERENCES visits)",
		"REINDEX TABLE CONCURRENTLY visits", "ANALYZE", "VACUUM visits", "ALTER TABLE visits SET (fillfactor = 90)",
		"ALTER TABLE visits ALTER weight SET DEFAULT 2", "ALTER TABLE visits DROP weight CASCADE", "DROP TABLE stranger",
		"CREATE ROLE somebody; GRANT SELECT ON visits TO somebody",
	} {
		sitetest.Exec(t, super, change)
		for _, sql := range []string{
			"SELECT diagnosis, count(*), avg(cost) FROM visits GROUP BY 1",
			"SELECT count(*) FROM visits v JOIN labs l ON l.visit_id = v.id WHERE value > 10",
			"SELECT count(DISTINCT patient_id) FROM visits",
		} {
			if _, err := ana.Exec(t.Context(), sql); err != nil {
				t.Errorf("%s: %s: %v", change, sql, err)
			}
		}
	}
	_, err := ana.Exec(t.Context(), "SELECT count(u) FROM visits")
	sitetest.Fails(t, err, "42703", "u")
	if status, text := r.Page(t, "/readyz"); status != 200 || strings.Contains(text, "degraded") {
		t.Errorf("%d %s", status, text)
	}
	if strings.Contains(r.Log.String(), "changed") {
		t.Errorf("the log speaks of changes:\n%s", r.Log)
	}
	r.Stop()
	r = s.Run(t)
	sitetest.Exec(t, sitetest.Dial(t, r.URL("ana")), "SELECT count(*) FROM visits")
	s.Command(t, "sync", s.Policy)
	awaitAnswer(t, sitetest.Dial(t, r.URL("ana")), "SELECT count(u) FROM visits")
}

func awaitAnswer(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	await.That(t, sql, func() bool { _, err := conn.Exec(t.Context(), sql); return err == nil })
}

// A takenOver is a change that takes nothing away.
type takenOver struct{ name, change, sql, told, logged string }

var takenOvers = []takenOver{
	{
		"a partition", "CREATE TABLE events_2021 PARTITION OF events FOR VALUES FROM ('2021-01-01') TO ('2022-01-01')",
		"SELECT count(*) FROM events", "against: its partitions", "it has a partition more: public.events_2021",
	},
	{
		"a label", "ALTER TYPE mood ADD VALUE 'furious'", "SELECT mood, count(*) FROM events GROUP BY 1",
		"against: the type of column mood", "the type public.mood, of column mood, has more labels, 1",
	},
	{
		"a CHECK", "ALTER TABLE events DROP CONSTRAINT events_n_check, ADD CHECK (n >= -1)", "SELECT n, count(*) FROM events GROUP BY 1",
		"against: its CHECK constraints", "a CHECK is gone, another, or not valid any more: (n >= 0)",
	},
	{
		"a wider type", "ALTER TABLE events ALTER n TYPE bigint, ALTER code TYPE varchar(8)", "SELECT sum(n) FROM events",
		"against: column n was integer, and is bigint; column code was character varying(4), and is character varying(8)",
		"column n was integer, and is bigint",
	},
	{
		"a partition less", "DROP TABLE events_2020", "SELECT sum(n), count(*) FROM events", "against: its partitions",
		"a partition of it is gone: public.events_2020",
	},
	{
		"a key", "ALTER TABLE labs ALTER test DROP NOT NULL; ALTER TABLE labs ALTER value SET NOT NULL", "",
		"against: column test may be NULL by now", "column test may be NULL by now",
	},
}

// TestSyncWhileItRuns has the administrator sync after each change: until then statements are refused that need what
// changed, with the reason, and from then on they are answered, in sessions and prepared statements of before too.
func TestSyncWhileItRuns(t *testing.T) {
	t.Parallel()
	s := eventsSite(t, "health: 127.0.0.1:0\n")
	super := sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser))
	r := s.Run(t)
	ana := sitetest.Dial(t, r.URL("ana"))
	if _, err := ana.Prepare(t.Context(), "before", "SELECT mood, count(*) FROM events WHERE n < 7 GROUP BY 1"); err != nil {
		t.Fatal(err)
	}
	for _, c := range takenOvers {
		sitetest.Exec(t, super, c.change)
		if c.sql == "" {
			c.sql = "SELECT count(*) FROM labs"
		}
		before := sitetest.Spent(t, ana)
		await.That(t, c.name+" is told", func() bool { // on a slow machine the first refusals do not wait for the reason
			_, err := ana.Exec(t.Context(), c.sql)
			sitetest.Fails(t, err, "PB013", "is not the one that its policy was checked against")
			return err != nil && strings.Contains(err.Error(), c.told)
		})
		if sitetest.Spent(t, ana) != before {
			t.Errorf("%s: a refusal was charged for", c.name)
		}
		await.That(t, "the log says "+c.logged, func() bool { return strings.Contains(r.Log.String(), c.logged) })
		await.That(t, "the page says so", func() bool {
			status, text := r.Page(t, "/readyz")
			return status == 200 && strings.HasSuffix(text, "schema degraded\n")
		})
		s.Says(t, c.logged, "check", s.Policy)
		s.Says(t, "; dpproxy sync takes it over", "check", s.Policy)
		sitetest.Exec(t, ana, "SELECT count(*) FROM visits WHERE cost > 3")
		s.Command(t, "sync", s.Policy)
		sitetest.Exec(t, ana, c.sql) // at once
		sitetest.Exec(t, ana, "before")
		await.That(t, "the page says so", func() bool { _, text := r.Page(t, "/readyz"); return !strings.Contains(text, "degraded") })
	}
}

// TestAutomaticSync has dpproxy sync by itself: nobody is refused where nothing is taken away, and what came is not
// there. Where something is, the table is refused with the reason until the administrator has looked, or it is back.
func TestAutomaticSync(t *testing.T) {
	t.Parallel()
	s := eventsSite(t, "sync: automatic\n")
	super := sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser))
	r := s.Run(t)
	ana := sitetest.Dial(t, r.URL("ana"))
	sitetest.Exec(t, super, "ALTER TABLE events ADD secret text; CREATE UNIQUE INDEX wide ON events (patient_id, at, secret)")
	for _, c := range takenOvers {
		if c.sql != "" {
			sitetest.Exec(t, super, c.change)
			awaitAnswer(t, ana, c.sql) // the sync waits for the transaction of a statement that is refused
		}
	}
	_, err := ana.Exec(t.Context(), "SELECT count(secret) FROM events")
	sitetest.Fails(t, err, "42703", "secret")
	for _, c := range []struct{ change, undo, sql, told string }{
		{
			"ALTER TABLE visits ALTER cost TYPE float8", "ALTER TABLE visits ALTER cost TYPE numeric(10,2)", "SELECT sum(cost) FROM visits",
			"against: column cost was numeric(10,2), and is double precision",
		},
		{
			"ALTER TABLE labs DROP CONSTRAINT labs_visit_id_fkey",
			"ALTER TABLE labs ADD CONSTRAINT labs_visit_id_fkey FOREIGN KEY (visit_id) REFERENCES visits",
			"SELECT count(*) FROM labs", "against: the foreign key (visit_id) to public.visits is gone",
		},
		{
			"ALTER TABLE patients ALTER name TYPE varchar(100)", "ALTER TABLE patients ALTER name TYPE text",
			"SELECT count(*) FROM patients", "checked against (SQLSTATE",
		},
		{
			"ALTER TABLE labs ADD referrer int REFERENCES patients", "ALTER TABLE labs DROP referrer", "SELECT count(*) FROM labs",
			"it has a foreign key more, (referrer) to public.patients",
		},
	} {
		sitetest.Exec(t, super, c.change)
		var last error
		await.That(t, c.told, func() bool {
			_, last = ana.Exec(t.Context(), c.sql)
			return last != nil && strings.Contains(last.Error(), c.told)
		})
		sitetest.Fails(t, last, "PB013", "")
		sitetest.Exec(t, super, c.undo)
		awaitAnswer(t, ana, c.sql)
	}
	if !strings.Contains(r.Log.String(), "dpproxy does not sync by itself") {
		t.Errorf("the log does not say why there was no sync:\n%s", r.Log)
	}
}

// TestReloadTakesOver changes what SIGHUP takes over: tables, bounds, limits, views, connections, pages.
func TestReloadTakesOver(t *testing.T) {
	t.Parallel()
	s := eventsSite(t, "health: 127.0.0.1:0\n")
	super := sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser))
	sitetest.Exec(t, super, "CREATE VIEW dear AS SELECT patient_id, cost FROM visits WHERE cost > 50; "+
		"CREATE TABLE wards (patient_id int REFERENCES patients, ward int); "+
		"INSERT INTO wards SELECT g, g % 3 FROM generate_series(1, 1000) g")
	r := s.Run(t)
	ana := sitetest.Dial(t, r.URL("ana"))
	for _, name := range []string{"patients", "visits"} {
		if _, err := ana.Prepare(t.Context(), name, "SELECT count(*) FROM "+name); err != nil {
			t.Fatal(err)
		}
	}
	// A new table and a view: sync first. Between sync and reload others are asked about as before.
	s.Edit(t, "  hospitals: {public: true}\n",
		"  hospitals: {public: true}\n  dear: {view: true}\n  wards: {unit: patient_id, max_rows: 2}\n")
	s.Edit(t, "labs, events]", "labs, events, dear, wards]")
	s.Command(t, "sync", s.Policy)
	sitetest.Exec(t, ana, "patients")
	_, err := ana.Exec(t.Context(), "SELECT count(*) FROM wards")
	sitetest.Fails(t, err, "PB010", "relation \"public.wards\" is protected")
	r.HangUp(t, "the policy was reloaded")
	for _, sql := range []string{"patients", "visits", "SELECT count(*) FROM wards", "SELECT count(*) FROM dear"} {
		sitetest.Exec(t, ana, sql)
	}
	// Limits, bounds, connections, and where the pages are.
	s.Edit(t, "cost: {bounds: [0, 100]}", "cost: {bounds: [0, 7]}")
	s.Edit(t, "    max_rows: 5\n    max_partitions: 3\n", "    max_rows: 2\n    max_partitions: 1\n")
	s.Edit(t, "health: 127.0.0.1:0\n", "")
	s.Edit(t, "answers: {remember: false}", "answers: {keep: 70}")
	s.Edit(t, "limits: {reply_grid: 0}", "limits: {data_connections: 2, statement_timeout: 9s, reply_grid: 5ms, max_work: 500000}")
	r.HangUp(t, "the policy was reloaded")
	sitetest.Exec(t, ana, "visits")
	var high string
	if err := ana.QueryRow(t.Context(), "SELECT high FROM dp.columns WHERE name = 'cost'").Scan(&high); err != nil || high != "7" {
		t.Errorf("the bound is %q, %v", high, err)
	}
	// A column is hidden by the file, and the mirror shows it still.
	s.Edit(t, "birth_year: {bounds", "sex_and_birth: hidden, birth_year: {bounds")
	r.HangUp(t, "there is no such column")
	s.Edit(t, "sex_and_birth: hidden, birth_year: {bounds: [1920, 2010]}", "birth_year: hidden")
	r.HangUp(t, "the policy was reloaded")
	_, err = ana.Exec(t.Context(), "patients")
	sitetest.Fails(t, err, "PB013", "the mirror was made for another policy")
	s.Command(t, "sync", s.Policy)
	awaitAnswer(t, ana, "patients")
	// A table is gone; what was prepared says so.
	s.Edit(t, "  dear: {view: true}\n", "")
	s.Edit(t, ", dear, wards]", ", wards]")
	r.HangUp(t, "the policy was reloaded")
	_, err = ana.Exec(t.Context(), "SELECT count(*) FROM dear")
	sitetest.Fails(t, err, "PB010", "")
	if out, err := exec.CommandContext(t.Context(), sitetest.Program(t), "check", s.Policy).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
