package privacy_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/logtest"
	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
	"dpproxy/mirror"
)

// The definitions of these views are not shown, but for that of open, which reads one of them.
// Their own parts are marked: constants with 4711 or zq, and the public table lists, which
// only they read.
const (
	concealedSchema = sitetest.ClinicSchema + `
CREATE TABLE lists (region text PRIMARY KEY, zq_rank int);
INSERT INTO lists VALUES ('north', 1), ('south', 2);
CREATE VIEW old AS SELECT id, sex, birth_year, CASE WHEN birth_year > 1950 + length('zq4711') THEN 'zq young' ELSE region END AS cohort,
  birth_year % 4711 AS mark FROM patients WHERE region <> 'zq nowhere' AND birth_year < (SELECT max(zq_rank) + 4711 FROM lists);
CREATE VIEW ranked AS SELECT p.id, l.zq_rank AS place FROM patients p JOIN lists l ON l.region = p.region WHERE l.zq_rank < 4711;
CREATE VIEW sums AS SELECT region, count(*) * 2 + length('zq') AS n, current_date > '4711-01-01' AS late FROM patients
  WHERE birth_year < 4711 GROUP BY region HAVING count(*) < 47110000 AND region <> 'zq';
CREATE TYPE mood AS ENUM ('fine', 'so-so');
CREATE VIEW wide AS SELECT timestamptz '2020-03-04 10:00+02' + interval '4711 days' AS stamp, date '2020-03-04' AS day,
  interval '1 mon -2 days 3:04:05.006' AS span, 0.1::float8 + 0.2 AS number, 12.50::numeric(6,2) AS amount,
  'a "b" {c,d} \ ''é'''::varchar(20) AS quoted, NULL::text AS nothing, ARRAY[NULL, 'x,y', ''] AS list,
  '\xc0ffee'::bytea AS bytes, region::char(7) AS padded, NULL::mood AS mood, count(*) > 47110 AS many
  FROM patients GROUP BY region ORDER BY region;
CREATE VIEW open AS SELECT id, sex, birth_year + 1 AS born FROM old WHERE sex = 'f';`
)

var concealedPolicy = strings.NewReplacer(
	"  hospitals: {public: true}", `  hospitals: {public: true}
  lists: {public: true}
  old: {view: true}
  ranked: {view: true}
  sums: {view: true}
  wide: {view: true}
  open: {view: true, definition: shown}`,
	"tables: [patients,", "tables: [patients, old, ranked, sums, wide, open,",
).Replace(sitetest.ClinicPolicy)

// mark finds the text of a definition.
var mark = regexp.MustCompile(`4711|zq|lists`)

// spied writes the current_query() into a setting of the session.
const spied = `(SELECT length(set_config('my.spy', concat(current_setting('my.spy', true), current_query(),
  (SELECT string_agg(statement, ' ') FROM pg_prepared_statements), (SELECT string_agg(statement, ' ') FROM pg_cursors)), false)))`

// concealed are statements about the views.
var concealed = []string{
	"SELECT count(*) FROM old WHERE birth_year > " + spied,
	"SELECT cohort, count(*) FROM old WHERE birth_year <> " + spied + " GROUP BY cohort",
	"SELECT mark, count(*) FROM old WHERE mark > 0 AND birth_year <> " + spied + " GROUP BY mark",
	"SELECT sum(mark), avg(birth_year) FROM old WHERE cohort = 'north'",
	"SELECT place, count(*) FROM ranked WHERE place <> " + spied + " GROUP BY place",
	"SELECT place, count(*) FROM ranked JOIN old USING (id) GROUP BY place",
	"SELECT * FROM sums WHERE n <> " + spied,
	"SELECT current_query(), sums.* FROM sums ORDER BY n",
	"SELECT region FROM sums WHERE region IN (SELECT region FROM sums) AND late",
	"TABLE sums",
	"SELECT born, count(*) FROM open WHERE born BETWEEN 1960 AND 1963 GROUP BY born",
	"WITH x AS (SELECT * FROM sums) SELECT a.n + b.n FROM x a, sums b WHERE a.region = b.region",
	"CREATE TEMP TABLE kept AS SELECT * FROM sums",
	"EXPLAIN SELECT cohort, count(*) FROM old GROUP BY cohort",
	"EXPLAIN SELECT * FROM sums",
	"SELECT * FROM dp.plan('SELECT count(*) FROM ranked')",
	"SELECT * FROM old",
	"SELECT * FROM sums WHERE false",
}

// TestConcealedDefinitions holds that nothing of a definition that is not shown comes into an
// analyst's session on the mirror, where its text, its notices and its errors can be read.
func TestConcealedDefinitions(t *testing.T) {
	s := sitetest.New(t, concealedSchema, concealedPolicy)
	sent := tapMirror(t, s, "ana")
	r := s.Run(t)
	var told strings.Builder
	ana := sitetest.DialTold(t, r.URL("ana"), func(n *pgconn.Notice) { fmt.Fprintln(&told, n) })
	sitetest.Exec(t, ana, "SET client_min_messages = debug5")
	sitetest.Exec(t, ana, "SET debug_print_parse = on; SET debug_print_rewritten = on; SET debug_print_plan = on; "+
		"SET log_parameter_max_length_on_error = -1")
	for _, sql := range concealed {
		before := len(sent.String())
		told.Reset()
		for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeDescribeExec} {
			rows, err := ana.Query(t.Context(), sql, mode)
			for err == nil && rows.Next() {
				fmt.Fprintf(&told, "%s\n", rows.RawValues())
			}
			if err == nil {
				err = rows.Err()
			}
			if refused := errorOf(err); refused != nil {
				fmt.Fprintf(&told, "%+v\n", *refused)
			}
			if want := sql == "SELECT * FROM old"; (sitetest.SQLState(err) == "PB002") != want || err != nil && !want {
				t.Errorf("%s: %v", sql, err)
			}
			sitetest.Exec(t, ana, "DROP TABLE IF EXISTS kept")
		}
		spy := sitetest.Rows(t, ana, "SELECT coalesce(current_setting('my.spy', true), '')")
		sitetest.Exec(t, ana, "RESET my.spy")
		// A released value of the view is in these texts.
		for what, text := range map[string]string{"sent": sent.String()[before:], "told": told.String(), "spied": spy} {
			if found := mark.FindStringIndex(strings.ReplaceAll(text, "zq young", "")); found != nil {
				t.Errorf("%s\n%s: %.300s", sql, what, text[max(found[0]-100, 0):])
			}
		}
	}
}

// TestOwnTextApart holds that no text of an analyst runs in the sessions of a superuser in which
// concealed values are computed, beside a view or in a key over one: only its values go there.
// There it could end the analyst's rights, or call a function of theirs with others.
func TestOwnTextApart(t *testing.T) {
	s := sitetest.New(t, concealedSchema, concealedPolicy)
	sent := tapMirror(t, s, mirror.AsideRole("ana"))
	r := s.Run(t)
	ana := sitetest.Dial(t, r.URL("ana"))
	sitetest.Exec(t, ana, "CREATE FUNCTION pg_temp.own() RETURNS text LANGUAGE plpgsql AS $$ BEGIN "+
		"RETURN set_config('my.own', concat(current_setting('my.own', true), session_user, ' '), false); END $$")
	own := "(SELECT " + strings.Join([]string{
		"(SELECT length(set_config('session_authorization', concat('an', 'a'), length('own4712') = 0)))",
		"(SELECT length(set_config('role', concat('no', 'ne'), length('own4712') = 0)))",
		"(SELECT length(pg_temp.own()) + length('own4712'))",
		"(SELECT count(*) + length('own4712') FROM pg_class WHERE pg_temp.own() IS NULL)::int",
	}, " + ") + ")"
	for _, sql := range []string{
		"SELECT cohort, count(*) FROM old WHERE birth_year <> X GROUP BY cohort",
		"SELECT mark + X, count(*) FROM old GROUP BY 1",
		"SELECT mark % (X + 5), count(*) FROM old WHERE mark > X GROUP BY 1",
		"SELECT place, count(*) FROM ranked WHERE place <> X GROUP BY place",
		"SELECT CASE WHEN place > X THEN place ELSE X END, count(*) FROM ranked WHERE place <> X GROUP BY 1",
		"SELECT place, cohort, count(*) FROM ranked JOIN old USING (id) WHERE mark <> X GROUP BY place, cohort",
		"SELECT place, count(*) FROM (SELECT id, place FROM ranked WHERE place <> X) q GROUP BY place",
		"SELECT h.id, place, count(*) FROM ranked r JOIN hospitals h ON h.id = r.place AND h.id <> X GROUP BY 1, 2",
		"SELECT h.id, count(r.id) FROM hospitals h LEFT JOIN ranked r ON r.place = h.id AND h.id <> X WHERE h.id <> X GROUP BY 1",
		"SELECT place, count(*) FROM ranked WHERE id IN (SELECT id FROM old WHERE mark <> X) GROUP BY ROLLUP (place)",
		"SELECT n + X FROM sums WHERE n <> X",
		"SELECT CASE WHEN X > 0 THEN region END, sum(n) FROM sums GROUP BY 1",
	} {
		before := len(sent.String())
		if _, err := ana.Exec(t.Context(), strings.ReplaceAll(sql, "X", own)); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
		beside := sent.String()[before:]
		if i := strings.Index(beside, "4712"); i >= 0 {
			t.Errorf("%s\nruns as a superuser: %.300s", sql, beside[max(i-200, 0):])
		}
		if !strings.Contains(beside, "SET LOCAL ROLE") {
			t.Errorf("%s is not computed apart", sql)
		}
	}
	got := sitetest.Rows(t, ana, "SELECT DISTINCT regexp_split_to_table(trim(current_setting('my.own')), ' ')")
	if strings.TrimSpace(got) != "ana" {
		t.Errorf("the function has run as %q", got)
	}
}

// TestOwnTypesApart holds that no type of an analyst is read in such sessions, whose check calls
// a function of theirs.
func TestOwnTypesApart(t *testing.T) {
	r := sitetest.New(t, concealedSchema, concealedPolicy).Run(t)
	ana := sitetest.Dial(t, r.URL("ana"))
	sitetest.Exec(t, ana, "CREATE FUNCTION pg_temp.checks(v int) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN "+
		"IF current_setting('application_name') = 'dpproxy' THEN RAISE 'own'; END IF; RETURN true; END $$; "+
		"CREATE DOMAIN pg_temp.own AS int CHECK (pg_temp.checks(VALUE)); CREATE TYPE pg_temp.owns AS (a pg_temp.own); "+
		"CREATE FUNCTION pg_temp.number(pg_temp.owns) RETURNS int LANGUAGE sql AS 'SELECT 1'; "+
		"CREATE CAST (pg_temp.owns AS int) WITH FUNCTION pg_temp.number(pg_temp.owns) AS IMPLICIT")
	for _, own := range []string{
		"(SELECT ROW(1)::pg_temp.owns)", "(SELECT '(1)'::pg_temp.owns)", "ANY ((SELECT '{1}'::pg_temp.own[]))",
		"ANY ('{1}'::pg_temp.own[])", "CAST(1 AS pg_temp.own)", "(SELECT 1::pg_temp.own)", "'(1)'::pg_temp.owns",
		"(SELECT int4range(1, 2))",
	} {
		for _, sql := range []string{
			"SELECT place, count(*) FROM ranked WHERE place = X GROUP BY place",
			"SELECT mark, count(*) FROM old WHERE birth_year = X GROUP BY mark",
		} {
			_, err := ana.Exec(t.Context(), strings.ReplaceAll(sql, "X", own))
			if sitetest.SQLState(err) == "0A000" {
				t.Errorf("%s with %s is read as a superuser: %v", sql, own, err)
			}
		}
	}
}

// TestConcealedRows holds that the rows of a view that aggregates itself have the values and
// the types that they would have in the analyst's session, whatever its settings.
func TestConcealedRows(t *testing.T) {
	r := sitetest.New(t, concealedSchema, concealedPolicy).Run(t)
	ana := sitetest.Dial(t, r.URL("ana"))

	const plain = `(SELECT timestamptz '2020-03-04 10:00+02' + interval '4711 days', date '2020-03-04',
		interval '1 mon -2 days 3:04:05.006', 0.1::float8 + 0.2, 12.50::numeric(6,2), 'a "b" {c,d} \ ''é'''::varchar(20),
		NULL::text, ARRAY[NULL, 'x,y', ''], '\xc0ffee'::bytea, region::char(7), NULL::public.mood, false
		FROM (VALUES ('north'), ('south')) AS v(region))
		AS x (stamp, day, span, number, amount, quoted, nothing, list, bytes, padded, mood, many)`
	for _, settings := range []string{
		"SET DateStyle = ISO",
		"SET DateStyle = 'Postgres, DMY'; SET TimeZone = 'Asia/Kolkata'; SET IntervalStyle = sql_standard; " +
			"SET bytea_output = escape; SET extra_float_digits = -5",
		"SET DateStyle = 'SQL, MDY'; SET TimeZone = 'America/Sao_Paulo'; SET IntervalStyle = postgres_verbose",
		"SET DateStyle = German; SET search_path = dp",
	} {
		sitetest.Exec(t, ana, settings)
		for _, cells := range []string{
			"x::text",
			"pg_typeof(quoted), pg_typeof(mood), pg_typeof(list), amount + 1, span * 2, extract(epoch FROM stamp)::text",
		} {
			got := sitetest.Rows(t, ana, "SELECT "+cells+" FROM (TABLE public.wide) AS x")
			want := sitetest.Rows(t, ana, "SELECT "+cells+" FROM "+plain)
			if got != want || !strings.Contains(got, "x,y") && !strings.Contains(got, "mood") {
				t.Errorf("%s: the view has\n%s\nits query\n%s", settings, got, want)
			}
		}
		sitetest.Exec(t, ana, "RESET ALL")
	}
}

func errorOf(err error) *pgconn.PgError {
	refused, _ := errors.AsType[*pgconn.PgError](err)
	return refused
}

// tapMirror puts a relay between dpproxy and the mirror, and returns the messages in the
// sessions of a role.
func tapMirror(t *testing.T, s *sitetest.Site, role string) *logtest.Buffer {
	t.Helper()
	dir := t.TempDir()
	name := fmt.Sprintf(".s.PGSQL.%d", s.Mirror.Port)
	l, err := net.Listen("unix", filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	sent := &logtest.Buffer{}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", filepath.Join(s.Mirror.SocketDir, name))
			if err != nil {
				client.Close()
				continue
			}
			go func() { io.Copy(client, server); client.Close() }()
			go func() { relay(server, client, role, sent); server.Close() }()
		}
	}()
	s.Edit(t, fmt.Sprintf("mirror: %q", s.Mirror.URL("postgres", pgtemp.Superuser)),
		fmt.Sprintf("mirror: %q", strings.ReplaceAll(s.Mirror.URL("postgres", pgtemp.Superuser), s.Mirror.SocketDir, dir)))
	if text, err := os.ReadFile(s.Policy); err != nil || !strings.Contains(string(text), dir) {
		t.Fatal("the policy has another mirror")
	}
	return sent
}

// relay copies the bytes of a client, and keeps them if the session is of the role.
func relay(server io.Writer, client io.Reader, role string, sent io.Writer) {
	buffer := make([]byte, 1<<16)
	keep, started := false, false
	for {
		n, err := client.Read(buffer)
		if !started { // pgx writes the start-up packet at once
			started, keep = true, bytes.Contains(buffer[:n], []byte("\x00user\x00"+role+"\x00"))
		}
		if keep {
			sent.Write(buffer[:n])
		}
		if _, failed := server.Write(buffer[:n]); err != nil || failed != nil {
			return
		}
	}
}
