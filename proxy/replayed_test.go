package proxy_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/sitetest"
	"dpproxy/proxy"
)

// noticesOf connects, and collects notices.
func noticesOf(t *testing.T, w *world) (*pgx.Conn, *[]string) {
	t.Helper()
	cfg, err := pgx.ParseConfig(w.url("ana"))
	if err != nil {
		t.Fatal(err)
	}
	all := new([]string)
	cfg.RuntimeParams["dp.notice"] = "full"
	cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { *all = append(*all, n.Message+"\n"+n.Detail) }
	conn, err := pgx.ConnectConfig(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn, all
}

// groups is a query of the counts of few groups.
const groups = "(SELECT smoker, count(*) AS n FROM patients GROUP BY smoker) g"

// manyGroups is a query of aggregates of many public groups.
func manyGroups(aggregates string) string {
	return "(SELECT birth_year, sex, smoker, mood, " + aggregates + " FROM patients GROUP BY 1, 2, 3, 4) g"
}

// counts are n aggregates.
func counts(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("count(*) FILTER (WHERE birth_year > %d) AS n%d", 1920+i, i+1))
	}
	return strings.Join(all, ", ")
}

// TestReplayed has statements that compute something above their groups. Of each it is said how wrong that may be, or that nobody knows.
func TestReplayed(t *testing.T) {
	w := newWorld(t)
	conn, said := noticesOf(t, w)
	must(t, conn, "SET dp.epsilon = 0.5")
	must(t, conn, "CREATE TEMP SEQUENCE numbers")
	must(t, conn, "CREATE FUNCTION pg_temp.mover(bigint) RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS "+
		"$$ BEGIN RETURN $1 + nextval('pg_temp.numbers'); END $$")
	for _, c := range []struct{ sql, want string }{
		{"SELECT sum(n) AS total FROM " + groups, "total ± "},
		{"SELECT sum(n) AS total, 'it''s $dp$ -- ' AS \"c\"\"1\" FROM " + groups + " -- a comment", "total ± "},
		{"SELECT smoker, 100.0 * n / sum(n) OVER () AS share FROM " + groups, "share ± "},
		{
			"WITH g AS MATERIALIZED (SELECT * FROM " + groups + ") SELECT a.smoker, a.n - b.n AS apart " +
				"FROM g a JOIN g b ON a.smoker <> b.smoker",
			"apart ± ",
		},
		{"SELECT CASE WHEN n > 3 THEN 'yes' ELSE 'no' END AS word FROM (SELECT count(*) AS n FROM patients) g", "word the same in 100 of"},
		{"SELECT rank() OVER (ORDER BY n) AS place, smoker FROM " + groups, "place ± "},
		{"SELECT sum(n) AS dp_total FROM " + groups, "dp_total ± "},
		{
			"WITH a AS (SELECT * FROM " + groups + "), b AS (SELECT * FROM " + groups + ") " +
				"SELECT sum(a.n - b.n) AS nothing FROM a, b WHERE a.smoker = b.smoker",
			"nothing ± 0",
		},
		{"SELECT max(n) AS most, max(n) - min(n) AS range FROM " + groups, "most at most "},
		{"SELECT max(n) AS most, max(n) - min(n) AS range FROM " + groups, "range at most"},
		// Limits of persons.
		{
			"SELECT sum(n) AS visits FROM (SELECT diagnosis, count(*) AS n FROM visits GROUP BY diagnosis) g",
			"visits (- ",
		},
		// Functions that return another value each time, change something, or may do so.
		{"SELECT smoker, random() * n AS any FROM " + groups, "any of unknown error"},
		{"SELECT pg_sleep(0), sum(n) AS slept FROM " + groups, "slept of unknown error"},
		{"SELECT sum(n + nextval('numbers')) AS moved FROM " + groups, "moved of unknown error"},
		{"SELECT sum(pg_temp.mover(n)) AS moved FROM " + groups, "moved of unknown error"},
		{"SELECT sum(n) AS locked FROM " + groups + ", pg_advisory_lock(7)", "locked of unknown error"},
		// A query that takes long.
		{"SELECT sum(n) AS long FROM " + groups + ", generate_series(1, 100000), generate_series(1, 90) b", "long of unknown error"},
		// Many groups.
		{"SELECT sum(n) AS many FROM " + manyGroups("count(*) AS n"), "The error of many is from "},
		{"SELECT sum(n + o) AS many FROM " + manyGroups("count(*) AS n, count(birth_year) AS o"), "The error of many is from "},
		{"SELECT sum(n1 + n9) AS more FROM " + manyGroups(counts(9)), "more of unknown error"},
		// Rounding below other arithmetic, of which no replica shows the step.
		{"SELECT round(n, -5) + 1 AS v FROM (SELECT count(*) AS n FROM patients) q", "v ± 50,000"},
		{"SELECT sum(round(n, -5)) AS v FROM " + groups, "v of unknown error"},
		// Rows that nothing tells apart.
		{"SELECT n * n AS square FROM " + groups, "square of unknown error"},
		{"SELECT n * n AS square FROM " + groups + " ORDER BY n", "square ± "},
	} {
		for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeCacheDescribe} {
			*said = nil
			rows := sitetest.Rows(t, conn, c.sql, mode)
			if all := strings.Join(*said, "\n"); !strings.Contains(all, c.want) {
				t.Errorf("%s\n%s\n%s\nwant %q", c.sql, rows, all, c.want)
			}
		}
	}
	sitetest.Rows(t, conn, "SELECT sum(n) AS dp_total FROM "+groups, pgx.QueryExecModeSimpleProtocol)
	for _, of := range []string{"dp.last", "dp.history ORDER BY number DESC LIMIT 1"} {
		if got := sitetest.Rows(t, conn, "SELECT error FROM "+of, pgx.QueryExecModeSimpleProtocol); !strings.HasPrefix(got, "dp_total ± ") {
			t.Errorf("%s has the error %s", of, got)
		}
	}
	got := sitetest.Rows(t, conn, "SELECT last_value FROM numbers", pgx.QueryExecModeSimpleProtocol)
	if got != "12" { // three groups of four answers have moved it, and no replica
		t.Errorf("the sequence is at %s", got)
	}
}

// TestReplayedInOddSessions has sessions with types of the names of Postgres's own, functions of their own behind other names, and a
// setting that ends them at an error, and queries that make long texts. No answer fails for its replays.
func TestReplayedInOddSessions(t *testing.T) {
	w := newWorld(t)
	const (
		locks = "CREATE FUNCTION pg_temp.lock(bigint) RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS " +
			"$$ BEGIN PERFORM pg_advisory_lock(7); RETURN $1; END $$; "
		ofPair = "CREATE TYPE pg_temp.pair AS (a int); CREATE FUNCTION pg_temp.of(pg_temp.pair) RETURNS bigint IMMUTABLE LANGUAGE sql AS " +
			"'SELECT pg_temp.lock(($1).a)'; CREATE CAST (pg_temp.pair AS bigint) WITH FUNCTION pg_temp.of(pg_temp.pair)"
		policy = "CREATE TEMP TABLE v AS SELECT 1 AS a; ALTER TABLE v ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY; " +
			"CREATE POLICY p ON v USING (pg_temp.lock(1) > 0)"
		check          = "CREATE DOMAIN pg_temp.d AS bigint CHECK (pg_temp.lock(VALUE) > -9999)"
		operator       = "CREATE OPERATOR pg_temp.! (rightarg = bigint, function = pg_temp.lock)"
		known, unknown = "total ± ", "total of unknown error"
	)
	for name, c := range map[string]struct{ session, total, want string }{
		"types":    {"CREATE TYPE pg_temp.text AS (a int); CREATE TEMP TABLE json (a int)", "sum(n)", known},
		"domain":   {"CREATE DOMAIN pg_temp.timestamptz AS int; SET plpgsql.extra_errors = 'all'", "sum(n)", known},
		"end":      {"SET exit_on_error = on", "sum(n)", unknown},
		"operator": {locks + operator, "sum(OPERATOR(pg_temp.!) n)", unknown},
		"view":     {locks + "CREATE TEMP VIEW v AS SELECT pg_temp.lock(1) AS a", "sum(n + (SELECT a FROM v))", unknown},
		"policy":   {locks + policy, "sum(n + (SELECT a FROM v))", unknown},
		"check":    {locks + check, "sum(CAST(n AS pg_temp.d))", unknown},
		"cast":     {locks + ofPair, "sum(n + CAST(CAST(ROW(1) AS pg_temp.pair) AS bigint))", unknown},
		"digits":   {"SET extra_float_digits = -15", "(1000 + sum(n) / 1e9)::float8", "total ± 500"},
		"long":     {"", "sum(n) AS long, repeat('x', 220000) AS text, sum(n)", unknown},
	} {
		t.Run(name, func(t *testing.T) {
			conn, said := noticesOf(t, w)
			must(t, conn, "SET dp.epsilon = 0.5; "+c.session)
			*said = nil
			must(t, conn, "SELECT "+c.total+" AS total FROM "+groups)
			if all := strings.Join(*said, "\n"); !strings.Contains(all, c.want) {
				t.Errorf("%s\nwant %q", all, c.want)
			}
		})
	}
}

// TestReplayedParameters has parameters of the client above the groups.
func TestReplayedParameters(t *testing.T) {
	w := newWorld(t)
	conn, said := noticesOf(t, w)
	must(t, conn, "SET dp.epsilon = 0.5")
	for _, c := range []struct {
		sql  string
		args []any
		want string
	}{
		{"SELECT sum(n) * $1::int AS total FROM " + groups, []any{2}, "total ± 1"},
		{"SELECT sum(n) * $1::numeric AS total FROM " + groups + " WHERE $2::text <> '$1' OR smoker", []any{0, "x'y"}, "total ± 0"},
		{"SELECT sum(n) * coalesce($1::int, 0) AS total FROM " + groups, []any{nil}, "total ± 0"},
	} {
		*said = nil
		if _, err := conn.Exec(context.Background(), c.sql, c.args...); err != nil {
			t.Error(err)
		}
		if all := strings.Join(*said, "\n"); !strings.Contains(all, c.want) {
			t.Errorf("%s\n%s\nwant %q", c.sql, all, c.want)
		}
	}
}

// TestReplayLeavesNothing holds that a session is after a replay as it was before, in a transaction and out of one, with the client's
// settings, and that a replay in a transaction that reads only, or is serializable, does no harm.
func TestReplayLeavesNothing(t *testing.T) {
	w := newWorld(t)
	conn, said := noticesOf(t, w)
	must(t, conn, "SET dp.epsilon = 0.5")
	total := "SELECT sum(n) AS total FROM " + groups
	settings := "SELECT string_agg(name || '=' || setting, ',' ORDER BY name) FROM pg_settings WHERE name NOT LIKE 'plpgsql.%'"
	before := sitetest.Rows(t, conn, settings, pgx.QueryExecModeSimpleProtocol)
	for _, begin := range []string{"", "BEGIN", "BEGIN READ ONLY", "BEGIN ISOLATION LEVEL SERIALIZABLE", "BEGIN; SAVEPOINT one"} {
		if begin != "" {
			must(t, conn, begin)
		}
		*said = nil
		must(t, conn, total)
		if all := strings.Join(*said, "\n"); !strings.Contains(all, "total ± ") {
			t.Errorf("%q: %s", begin, all)
		}
		if begin != "" {
			if strings.Contains(begin, "SAVEPOINT") {
				must(t, conn, "ROLLBACK TO one")
			}
			must(t, conn, "COMMIT")
		}
		if after := sitetest.Rows(t, conn, settings, pgx.QueryExecModeSimpleProtocol); after != before {
			t.Errorf("%q: settings are %s, were %s", begin, after, before)
		}
		for _, name := range []string{"dp.replay_query", "dp.replay_cells", "dp.replay_result"} {
			if got := sitetest.Rows(t, conn, "SELECT current_setting('"+name+"', true)", pgx.QueryExecModeSimpleProtocol); got != "" {
				t.Errorf("%q: %s is %q", begin, name, got)
			}
		}
	}
}

// TestReplayIsRemembered holds that an answer that is recalled has the errors that it had.
func TestReplayIsRemembered(t *testing.T) {
	w := accurate(t, func(*proxy.Config) {}, large(t))
	conn, said := noticesOf(t, w)
	var first string
	for i := range 3 {
		*said = nil
		must(t, conn, "SELECT smoker, 1000.0 * n / sum(n) OVER () AS share FROM "+groups)
		_, error, found := strings.Cut((*said)[0], "share ± ")
		error = strings.TrimRight(error[:strings.IndexAny(error+"\n", "\n;")], " ")
		if i == 0 {
			first = error
		}
		if !found || error != first {
			t.Errorf("%d: %q, first %q: %q", i, error, first, *said)
		}
	}
}

// TestReplicasMayFail has a division that is by zero in about a fifth of the replicas, and now and then in the answer itself.
func TestReplicasMayFail(t *testing.T) {
	w := newWorld(t)
	conn, said := noticesOf(t, w)
	must(t, conn, "SET dp.epsilon = 0.5")
	for range 20 {
		*said = nil
		if _, err := conn.Exec(t.Context(), "SELECT 1000.0 / (n % 5) AS q FROM (SELECT count(*) AS n FROM patients) g"); err != nil {
			continue
		}
		if all := strings.Join(*said, "\n"); !strings.Contains(all, "q ± ") || !strings.Contains(all, "more the statement fails (22012)") {
			t.Error(all)
		}
		return
	}
	t.Error("every answer divides by zero")
}

// TestReplayedLimits has sums of groups of which limits leave out something. With little noise it is known how much at most: the interval
// reaches further to the side where the truth may be, and the column has its farther end. With much noise nothing bounds it, which is said,
// and the column is NULL.
func TestReplayedLimits(t *testing.T) {
	w := newWorld(t)
	conn, said := noticesOf(t, w)
	must(t, conn, "SET dp.columns = errors; SET dp.contribution = auto; SET dp.mechanism = gaussian")
	const visits = "(SELECT diagnosis, count(*) AS n FROM visits GROUP BY diagnosis) g"
	ends := regexp.MustCompile(`visits \(- (\d+) / \+ (\d+)\); less \(- (\d+) / \+ (\d+)\)`)
	for epsilon, known := range map[string]bool{"0.003": false, "5": true} {
		must(t, conn, "SET dp.epsilon = "+epsilon)
		*said = nil
		var of, less, half, other *float64
		both := conn.QueryRow(t.Context(), "SELECT sum(n)::float8 AS visits, sum(-n)::float8 AS less FROM "+visits)
		if err := both.Scan(&of, &less, &half, &other); err != nil {
			t.Fatal(err)
		}
		all := strings.Join(*said, "\n")
		m := ends.FindStringSubmatch(all)
		switch {
		case !known:
			told := strings.Contains(all, "Limits leave out more of visits, less than")
			if half != nil || other != nil || m != nil || !told {
				t.Errorf("errors of %v and %v: %s", half, other, all)
			}
		case m == nil || m[1] != m[4] || m[2] != m[3] || half == nil || other == nil:
			t.Errorf("errors of %v and %v: %s", half, other, all)
		default:
			below, _ := strconv.ParseFloat(m[1], 64)
			above, _ := strconv.ParseFloat(m[2], 64)
			if above < 2*below || *half > above || *half < 0.9*above || *half != *other {
				t.Errorf("from %v below to %v above, the columns are %v and %v", below, above, *half, *other)
			}
			var nothing, none float64
			same := visits + " JOIN " + strings.TrimSuffix(visits, " g") + " h USING (diagnosis)"
			err := conn.QueryRow(t.Context(), "SELECT sum(abs(g.n - h.n))::float8 AS nothing FROM "+same).Scan(&nothing, &none)
			if err != nil || nothing != 0 || none != 0 {
				t.Errorf("one release less itself is %v ± %v, %v", nothing, none, err)
			}
		}
	}
}
