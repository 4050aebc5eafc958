package planner_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// eventServer opens a session in a transaction that has the table.
func eventServer(t *testing.T) *pgconn.PgConn {
	t.Helper()
	conn := connect(t)
	run(t, conn, "BEGIN; "+eventTables+"ANALYZE events")
	return conn
}

// respelled are statements whose answer, or whose contribution of one person, would depend on
// how equal values are spelled.
var respelled = []string{
	// A sub-select has no modifier, whatever is beside it.
	"SELECT count(*) FROM (SELECT uid, x0::text, x1::text FROM (SELECT uid, coalesce(nullif((SELECT 6::numeric), " +
		"CASE WHEN n > 3 THEN CAST(5 AS numeric(10,2)) ELSE CAST(6 AS numeric(10,2)) END), CAST(6 AS numeric(10,2))) AS x0, " +
		"coalesce(nullif((SELECT 6::numeric), CASE WHEN m > 3 THEN CAST(5 AS numeric(10,2)) " +
		"ELSE CAST(6 AS numeric(10,2)) END), CAST(6 AS numeric(10,2))) AS x1 FROM events) t " +
		"WHERE x0 = 6 AND x1 = 6 GROUP BY uid, x0::text, x1::text) q",
	"SELECT x::text, count(*) FROM (SELECT uid, nullif((SELECT 6::numeric), CAST(n AS numeric(10,2))) AS x " +
		"FROM events UNION ALL SELECT uid, a FROM events) t WHERE x = 6 GROUP BY 1",
	// Bounds are written with the decimals of the column.
	"SELECT count(*) FROM (SELECT uid, x::text, y::text FROM (SELECT uid, coalesce(a, b) AS x, greatest(b, a) AS y " +
		"FROM events) t WHERE x = 6 AND y = 6 GROUP BY uid, x::text, y::text) q",
	"SELECT count(*) FROM (SELECT DISTINCT uid, x::text FROM (SELECT uid, CASE WHEN n > 3 THEN a ELSE b END AS x " +
		"FROM events) t WHERE x = 6) q",
	"SELECT count(*) FROM (SELECT DISTINCT uid, x::text FROM (SELECT uid, a AS x FROM events " +
		"UNION ALL SELECT uid, b FROM events) t WHERE x = 6) q",
	"SELECT count(*) FROM (SELECT DISTINCT uid, x::text FROM (SELECT uid, nullif(p, CAST(1 AS numeric(10,2))) AS x " +
		"FROM events) t WHERE x = 6) q",
	"SELECT count(*) FILTER (WHERE x::text = '6') FROM (SELECT DISTINCT uid, greatest(a, b) AS x FROM events) q",
	"SELECT count(*) FILTER (WHERE x::text = '6') FROM (SELECT uid, coalesce(a, b) AS x FROM events GROUP BY uid, coalesce(a, b)) q",
	"SELECT x::text, count(*) FROM (SELECT uid, least(a, b) AS x FROM events GROUP BY 1, 2) q GROUP BY 1",
	"SELECT count(*) FILTER (WHERE length(x::text) > 1) FROM (SELECT DISTINCT uid, x " +
		"FROM (SELECT uid, coalesce(a, b) AS x FROM events UNION ALL SELECT uid, p FROM events) u) q",
	"SELECT x::text, count(*) FROM (SELECT uid, max(coalesce(a, b)) AS x FROM events GROUP BY 1) q GROUP BY 1",
	"SELECT x::text, count(*) FROM (SELECT uid, coalesce(h, CAST(1 AS numeric(6,0))) AS x FROM events) q WHERE x = 1 GROUP BY 1",
	// A column that equals another, of other decimals or padding, is not it.
	"SELECT count(*) FROM (SELECT x.uid, x.b::text, y.c::text FROM events x " +
		"JOIN events y ON x.uid = y.uid AND x.id = y.id WHERE CAST(y.c AS numeric(10,2)) = x.b GROUP BY x.uid, x.b::text, y.c::text) q",
	"SELECT count(*) FROM (SELECT DISTINCT uid, octet_length(x) AS l FROM (SELECT uid, s AS x FROM events " +
		"UNION ALL SELECT uid, w FROM events) t WHERE x = 'a') q",
	"SELECT count(*) FROM (SELECT DISTINCT uid, octet_length(x) AS l FROM (SELECT uid, coalesce(s, w) AS x FROM events) t WHERE x = 'a') q",
	"SELECT count(*) FROM (SELECT DISTINCT uid, z::text AS x FROM events WHERE z = 6) q",
	"SELECT count(*) FROM (SELECT DISTINCT uid, z::text AS x FROM events WHERE z IN (6)) q",
	"SELECT count(*) FROM (SELECT DISTINCT uid, a::text AS x FROM events WHERE a BETWEEN 6 AND 6) q",
}

// grouped are statements whose keys are written both in GROUP BY and above it.
var grouped = []string{
	"SELECT avg(x) FROM (SELECT uid, coalesce(n, 0) AS x FROM events GROUP BY uid, coalesce(n, 0)) q",
	"SELECT sum(x) FROM (SELECT uid, greatest(n, 2) AS x FROM events GROUP BY 1, 2) q",
	"SELECT sum(x) FROM (SELECT uid, least(n, m) AS x FROM events GROUP BY 1, 2 HAVING least(n, m) > 1) q",
	"SELECT sum(x) FROM (SELECT uid, nullif(n, 0) + 1 AS x FROM events GROUP BY uid, nullif(n, 0)) q",
	"SELECT sum(x) FROM (SELECT uid, CASE WHEN n > 3 THEN m ELSE n END AS x, max(m) AS y FROM events " +
		"GROUP BY uid, CASE WHEN n > 3 THEN m ELSE n END) q",
	"SELECT sum(x) FROM (SELECT uid, CASE WHEN coalesce(n, 0) > 3 THEN 1 ELSE 0 END AS x FROM events " +
		"GROUP BY uid, coalesce(n, 0) HAVING count(*) > 1 AND coalesce(n, 0) < 5) q",
	"SELECT x, count(*) FROM (SELECT uid, coalesce(day, DATE '2023-12-31') AS x FROM events " +
		"GROUP BY uid, coalesce(day, DATE '2023-12-31')) q GROUP BY x",
	"SELECT x, count(*) FROM (SELECT uid, greatest(at, TIMESTAMPTZ '2023-12-31 12:00+00') AS x FROM events GROUP BY 1, 2) q GROUP BY x",
	"SELECT count(*) FROM (SELECT uid, extract(day FROM coalesce(day, DATE '2023-12-31')) AS x FROM events " +
		"GROUP BY uid, coalesce(day, DATE '2023-12-31')) q",
	"SELECT count(*) FROM (SELECT uid, date_trunc('day', day) AS x FROM events GROUP BY 1, 2 " +
		"HAVING date_trunc('day', day) > TIMESTAMPTZ '2023-12-30') q",
	"SELECT count(*) FROM (SELECT uid, date_trunc('day', coalesce(at, day)) AS x FROM events GROUP BY 1, 2) q",
	"SELECT sum(x) FROM (SELECT uid, coalesce(a, b) AS x FROM events GROUP BY uid, coalesce(a, b) HAVING coalesce(a, b) > 2) q",
	"SELECT sum(x) FROM (SELECT uid, coalesce(a, b) * 2 AS x FROM events GROUP BY uid, coalesce(a, b)) q",
	"SELECT sum(x) FROM (SELECT uid, CAST(z AS numeric(10,2)) AS x FROM events GROUP BY 1, 2 HAVING CAST(z AS numeric(10,2)) <> 6) q",
	"SELECT sum(x) FROM (SELECT uid, CAST(n AS numeric(10,2)) + 1 AS x FROM events GROUP BY uid, CAST(n AS numeric(10,2))) q",
	"SELECT count(x) FROM (SELECT uid, coalesce(big + big, n) AS x FROM events GROUP BY uid, coalesce(big + big, n)) q",
	"SELECT count(*) FROM (SELECT uid, coalesce(s, CAST('a' AS char(3))) AS x FROM events GROUP BY 1, 2 " +
		"HAVING coalesce(s, CAST('a' AS char(3))) = 'a') q",
	"SELECT count(*) FROM (SELECT uid, coalesce(t, v) AS x, length(coalesce(t, v)) AS y FROM events GROUP BY uid, coalesce(t, v)) q",
	"SELECT sum(x) FROM (SELECT uid, coalesce(n, 0) AS x FROM events GROUP BY uid, coalesce(n, 0) UNION ALL SELECT uid, m FROM events) q",
	"SELECT sum(x) FROM (SELECT DISTINCT uid, coalesce(n, 0) AS x, count(*) AS k FROM events GROUP BY uid, coalesce(n, 0)) q",
	"SELECT count(*) FROM events WHERE uid IN (SELECT uid FROM events GROUP BY uid, coalesce(n, 0) HAVING coalesce(n, 0) > 2)",
	"SELECT count(*) FROM (SELECT uid, upper(coalesce(t, v)) || 'x' AS x, upper(coalesce(t, v)) AS y FROM events " +
		"GROUP BY uid, upper(coalesce(t, v)), coalesce(t, v)) q WHERE x <> 'a' AND y <> 'b'",
	"SELECT count(*) FROM (SELECT uid, upper(coalesce(t, v)) AS x FROM events GROUP BY uid, coalesce(t, v)) q WHERE x <> 'a'",
	"SELECT count(*) FROM (SELECT uid, max(n) AS m FROM events GROUP BY uid, uid IN (SELECT uid FROM events WHERE n > 3)) q WHERE m > 1",
	"SELECT sum(x), sum(y) FROM (SELECT uid, coalesce(n, m) + n AS x, n AS y FROM events GROUP BY uid, n, coalesce(n, m)) q",
	"SELECT sum(x), sum(y) FROM (SELECT uid, (n + m) * 2 AS x, -n AS y FROM events GROUP BY uid, n + m, -n " +
		"HAVING n + m > 3 AND abs(-n) > 2) q",
	"SELECT count(*) FROM (SELECT uid, CAST(extract(day FROM day) AS int) AS x FROM events GROUP BY 1, 2 " +
		"HAVING CAST(extract(day FROM day) AS int) > 3) q WHERE x > 2",
	"SELECT count(*) FROM (SELECT uid, to_char(day, 'YYYY') AS x FROM events GROUP BY 1, 2 " +
		"HAVING to_char(day, 'YYYY') > '2000') q WHERE x > '2'",
	"SELECT count(*) FROM (SELECT uid, at AT TIME ZONE 'Etc/UTC' AS x FROM events GROUP BY 1, 2 " +
		"HAVING at AT TIME ZONE 'Etc/UTC' IS NOT NULL) q WHERE x > '2000-01-01'",
	"SELECT sum(x) FROM (SELECT uid, width_bucket(a, 0, 6, 3) AS x FROM events GROUP BY 1, 2 HAVING width_bucket(a, 0, 6, 3) > 1) q",
	"SELECT count(*) FROM (SELECT uid, CAST(n AS bigint) + 1 AS x FROM events GROUP BY uid, CAST(n AS bigint)) q WHERE x = 3",
	"SELECT count(*) FROM (SELECT uid, day + interval '1 day' AS x FROM events GROUP BY 1, 2) q WHERE x > '2000-01-01'",
	"SELECT count(*) FROM (SELECT uid, coalesce(n, (SELECT 3)) AS x FROM events GROUP BY 1, 2) q WHERE x > 1",
	"SELECT count(*) FROM (SELECT uid, f > 3 AND n > 3 AS x FROM events GROUP BY 1, 2 HAVING count(*) > 1 AND (f > 3 AND n > 3)) q WHERE x",
	"SELECT count(*) FROM (SELECT uid, CASE WHEN n > 2 THEN day END AS x FROM events GROUP BY 1, 2 " +
		"HAVING min(coalesce(CASE WHEN n > 2 THEN day END, day)) IS NOT NULL) q WHERE x > '2000-01-01'",
	"SELECT sum(y) FROM (SELECT uid, sum(coalesce(n, 0)) AS y FROM events GROUP BY uid, coalesce(n, 0)) q",
	"SELECT sum(y) FROM (SELECT uid, greatest(x, 3) AS y FROM (SELECT uid, coalesce(n, 0) AS x FROM events " +
		"GROUP BY uid, coalesce(n, 0)) i GROUP BY uid, greatest(x, 3)) q",
}

// TestContributions reads statements under every order of rows and without each of some
// persons: answers are the same, and change by no more than is declared.
func TestContributions(t *testing.T) {
	cat, conn := events(t), eventServer(t)
	for _, sql := range respelled {
		t.Run("", func(t *testing.T) {
			p := plan(t, conn, cat, sql)
			whole := p.read(t, conn)
			run(t, conn, "CREATE TEMP TABLE s AS SELECT * FROM events ORDER BY random(); DELETE "+
				"FROM events; INSERT INTO events SELECT * FROM s; DROP TABLE s")
			same(t, sql+" after the heap was shuffled", whole, p.read(t, conn))
			for _, unit := range []int{1, 2, 6, 37} {
				run(t, conn, fmt.Sprintf("SAVEPOINT s; DELETE FROM events WHERE uid = %d", unit))
				p.withinSensitivity(t, fmt.Sprintf("%s without %d", sql, unit), whole, p.read(t, conn), map[string]float64{})
				run(t, conn, "ROLLBACK TO s")
			}
		})
	}
}

// TestSpelledUnits does so where a unit is spelled in several ways.
func TestSpelledUnits(t *testing.T) {
	cat, conn := tags(t), eventServer(t)
	for _, sql := range []string{
		"SELECT octet_length(u), count(*) FROM tags GROUP BY 1",
		"SELECT octet_length(u), count(*) FROM (SELECT u FROM tags UNION ALL SELECT u FROM narrow) t GROUP BY 1",
		"SELECT octet_length(u), count(*) FROM (SELECT n.u FROM narrow n JOIN tags t ON t.u = n.u) t GROUP BY 1",
		"SELECT octet_length(u), count(*) FROM (SELECT t.u FROM narrow n JOIN tags t ON t.u = n.u) t GROUP BY 1",
		"SELECT count(*) FROM (SELECT DISTINCT u, octet_length(u) AS l FROM narrow) t",
	} {
		t.Run("", func(t *testing.T) {
			p := plan(t, conn, cat, sql)
			whole := p.read(t, conn)
			run(t, conn, "SAVEPOINT s; DELETE FROM tags WHERE u = 'p'; DELETE FROM narrow WHERE u = 'p'")
			p.withinSensitivity(t, sql, whole, p.read(t, conn), map[string]float64{})
			run(t, conn, "ROLLBACK TO s")
		})
	}
}

// TestGroupedKeys holds that Postgres takes an expression over groups for one of their keys.
func TestGroupedKeys(t *testing.T) {
	cat, conn := events(t), eventServer(t)
	for _, sql := range grouped {
		run(t, conn, "SAVEPOINT s")
		t.Run("", func(t *testing.T) { plan(t, conn, cat, sql).read(t, conn) })
		run(t, conn, "ROLLBACK TO s")
	}
	for _, x := range settled {
		plan(t, conn, cat, fmt.Sprintf("SELECT count(*) FROM (SELECT uid, coalesce(%[1]s, %[1]s) AS x, count(*) AS "+
			"k FROM events GROUP BY uid, %[1]s "+
			"HAVING CASE WHEN %[1]s IS NULL THEN count(*) > 1 ELSE TRUE END) q WHERE x IS NOT NULL AND k > 0", x)).read(t, conn)
	}
}
