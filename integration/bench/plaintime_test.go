package bench_test

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

var plainTimeRows = flag.Int("plaintime", 0, "compare the times of statements with those of plain Postgres, on so many rows")

const plainTimePolicy = `
privacy_unit: {name: person, budget: {epsilon: 9000, delta: 1e-6}}
tables:
  people:
    unit: id
    columns: {grp: {bounds: [0, 15]}, w: {bounds: [0, 999]}, v: {bounds: [0, 1000]}}
  events:
    unit: uid
    max_rows: 1000
    max_partitions: 10
    columns: {grp: {bounds: [0, 9]}, w: {bounds: [0, 999]}, v: {bounds: [0, 1000]}}
analysts:
  ana: {password: VERIFIER, tables: [people, events]}
answers: {remember: false}
limits: {statement_timeout: 10m, reply_grid: 0}
`

// TestBenchPlainTime asks for groups of a table whose key is the unit, and of one with many
// rows for each unit and an index on the unit, and for joins of both, of dpproxy and of its database, in
// turns. Replies keep to no grid.
func TestBenchPlainTime(t *testing.T) {
	if *plainTimeRows == 0 {
		return // a measurement, not a test: make bench-plain runs it
	}
	data := measuredPostgres(t)
	plain := sitetest.Dial(t, data.URL("postgres", pgtemp.Superuser))
	fillPlainTime(t, plain, *plainTimeRows)
	s := sitetest.Make(t, sitetest.Options{Data: data, Policy: plainTimePolicy})
	r := s.Run(t)
	ours := sitetest.Dial(t, r.URL("ana"))
	sitetest.Exec(t, ours, "SET dp.notice = off")
	for _, sql := range []string{
		"SELECT grp, count(*) FROM people GROUP BY grp",
		"SELECT grp, count(*), sum(w) FROM people GROUP BY grp",
		"SELECT grp, sum(v) FROM people GROUP BY grp",
		"SELECT count(*) FROM events",
		"/* dp: max_sum=100000 */ SELECT sum(w) FROM events",
		"/* dp: max_sum=100000 */ SELECT sum(v) FROM events",
		"SELECT sum(w) FROM events",
		"SELECT grp, count(*) FROM events GROUP BY grp",
		"/* dp: max_partitions=5 */ SELECT grp, count(*) FROM events GROUP BY grp",
		"SELECT p.grp, count(*) FROM people p JOIN events e ON e.uid = p.id GROUP BY p.grp",
		"SELECT count(*) FROM people p JOIN events e ON e.uid = p.id WHERE p.w < 10",
		"SELECT count(*) FROM people p JOIN events e ON e.uid = p.id WHERE p.w < 500 AND e.w < 500",
		"SELECT count(*) FROM people p WHERE EXISTS (SELECT FROM events e WHERE e.uid = p.id AND e.w = 5)",
	} {
		a, b := inTurns(t, plain, ours, sql)
		t.Logf("×%.2f  Postgres p50 %v, dpproxy p50 %v  %s", float64(b)/float64(a), a.Round(time.Millisecond),
			b.Round(time.Millisecond), sql)
	}
	t.Logf("load %s", load(t))
}

// inTurns returns the median times of a statement, of plain Postgres and of dpproxy, which take turns.
func inTurns(t *testing.T, plain, ours *pgx.Conn, sql string) (a, b time.Duration) {
	t.Helper()
	var times [2][]time.Duration
	for run := range 6 {
		for i, conn := range []*pgx.Conn{plain, ours} {
			start := time.Now()
			sitetest.Exec(t, conn, sql)
			if run > 0 { // the first ones fill caches
				times[i] = append(times[i], time.Since(start))
			}
		}
	}
	slices.Sort(times[0])
	slices.Sort(times[1])
	return percentile(times[0], 50), percentile(times[1], 50)
}

// fillPlainTime makes the tables with n rows each.
func fillPlainTime(t *testing.T, conn *pgx.Conn, n int) {
	t.Helper()
	for _, sql := range []string{
		"CREATE TABLE people (id int PRIMARY KEY, grp int NOT NULL, w int NOT NULL, v numeric(10,2) NOT NULL)",
		"CREATE TABLE events (id int PRIMARY KEY, uid int NOT NULL, grp int NOT NULL, w int NOT NULL, v numeric(10,2) NOT NULL)",
		fmt.Sprintf("INSERT INTO people SELECT i, i %% 16, i %% 1000, (i %% 100000) / 100.0 FROM generate_series(1, %d) i", n),
		fmt.Sprintf(`INSERT INTO events SELECT i, (i * 7919::bigint) %% %d, i %% 10, i %% 1000, (i %% 100000) / 100.0
FROM generate_series(1, %d) i`, n/25, n),
		"CREATE INDEX ON events (uid) INCLUDE (grp, w, v)",
		"VACUUM ANALYZE",
	} {
		sitetest.Exec(t, conn, sql)
	}
}

// measuredPostgres starts a database for measurements. Nothing runs beside statements, and
// commits are flushed: VACUUM cannot mark rows of others as visible to all, without which
// an index does not answer alone.
func measuredPostgres(t *testing.T) *pgtemp.Server {
	t.Helper()
	s, err := pgtemp.Start(t.Context(), pgtemp.Options{Settings: []string{"autovacuum=off", "synchronous_commit=on"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}
