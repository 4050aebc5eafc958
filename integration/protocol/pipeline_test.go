package protocol_test

import (
	"strings"
	"testing"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// pipelines are sequences of messages about protected statements, by their subject.
var pipelines = map[string]string{
	"a statement that was closed":                    parse("a", count) + closing("Sa") + bind("", "a"),
	"the unnamed statement, replaced":                parse("", count) + parse("", "SELECT 1") + bind("", "") + execute("", 0),
	"the unnamed statement, after a Query":           parse("", count) + synced + query("SELECT 1") + bind("", "") + execute("", 0),
	"the unnamed statement, after a protected Query": parse("", "SELECT 1") + synced + query(count) + bind("", "") + execute("", 0),
	"a portal outlives its statement": parse("a", count) + bind("p", "a") + closing("Sa") +
		parse("a", "SELECT 1") + execute("p", 0),
	"DEALLOCATE ALL": parse("a", count) + synced + query("DEALLOCATE ALL") + bind("", "a"),
	"DEALLOCATE in a pipeline": parse("a", count) + parse("", "DEALLOCATE a") + bind("", "") +
		execute("", 0) + bind("", "a") + execute("", 0),
	"DISCARD ALL, and the name again": parse("a", count) + synced + query("DISCARD ALL") +
		parse("a", "SELECT 5") + bind("", "a") + execute("", 0),
	"Execute, twice":                     parse("a", count) + bind("p", "a") + execute("p", 0) + execute("p", 0),
	"a negative number of rows":          parse("a", grouped) + bind("p", "a") + execute("p", -1),
	"a large number of rows":             parse("a", grouped) + bind("p", "a") + execute("p", 1<<30),
	"a portal ends with its transaction": parse("a", grouped) + bind("p", "a") + execute("p", 1) + synced + execute("p", 1),
	"a portal lives in its transaction": query("BEGIN") + parse("a", grouped) + bind("p", "a") + execute("p", 1) +
		synced + execute("p", 1) + execute("p", 1) + query("COMMIT"),
	"Describe of a portal": parse("a", grouped) + bind("p", "a") + describe("Pp") + execute("p", 1) +
		describe("Pp"),
	"Describe of a statement":  parse("a", grouped) + describe("Sa") + bind("", "a") + describe("P"),
	"a portal that was closed": parse("a", grouped) + bind("p", "a") + closing("Pp") + execute("p", 1),
	"a portal that exists":     query("BEGIN") + parse("a", grouped) + bind("p", "a") + bind("p", "a") + execute("p", 1),
	"a portal and a cursor": query("BEGIN") + query("DECLARE p CURSOR FOR SELECT 1") + parse("a", grouped) +
		bind("p", "a") + execute("p", 1),
	"FETCH from a portal": query("BEGIN") + parse("a", grouped) + bind("p", "a") + synced + query("FETCH 1 FROM p") +
		execute("p", 0),
	"CLOSE of a portal": query("BEGIN") + parse("a", grouped) + bind("p", "a") + synced + query("CLOSE p") + execute("p", 0),
	"CREATE TABLE AS": parse("a", "CREATE TEMP TABLE z AS "+grouped) + describe("Sa") + bind("p", "a") +
		describe("Pp") + execute("p", 0),
	"COPY": parse("a", "COPY (SELECT count(*) FROM patients WHERE birth_year>3000) TO STDOUT") +
		bind("p", "a") + execute("p", 0),
	"DECLARE": parse("b", "BEGIN") + bind("", "b") + execute("", 0) +
		parse("a", "DECLARE k CURSOR FOR "+grouped) + bind("p", "a") + execute("p", 0) + query("FETCH 1 FROM k"),
	"DECLARE with a parameter": query("BEGIN") +
		parse("a", "DECLARE k CURSOR FOR SELECT $1 * count(*) FROM patients WHERE birth_year < $1") + describe("Sa") +
		bound("p", "a", "0") + execute("p", 0) + query("FETCH ALL FROM k"),
	"DECLARE with a parameter of the block alone": query("BEGIN") +
		parse("a", "DECLARE k CURSOR FOR SELECT count(*) FROM patients WHERE birth_year > $1") + bound("p", "a", "3000") +
		execute("p", 0) + query("FETCH ALL FROM k"),
	"DECLARE with a bad parameter": query("BEGIN") +
		parse("a", "DECLARE k CURSOR FOR SELECT $1::int, count(*) FROM patients") + bound("p", "a", "x") + execute("p", 0),
	"CREATE TABLE AS with a parameter": parse("a",
		"CREATE TEMP TABLE zp AS SELECT $1::text AS x, count(*) AS n FROM patients WHERE birth_year > $2::int") +
		bound("p", "a", "x") + synced + parse("b", "CREATE TEMP TABLE zp AS SELECT count(*) * 0 + $1 AS n FROM patients") +
		bound("p", "b", "7") + execute("p", 0) + query("SELECT * FROM zp"),
	"a temporary table that is gone": query("CREATE TEMP TABLE gone AS SELECT 'x' AS k") +
		parse("a", "SELECT k, n FROM gone, (SELECT count(*) * 0 AS n FROM patients) x") + bind("", "a") + execute("", 0) +
		synced + query("DROP TABLE gone") + bind("", "a") + execute("", 0),
	"a temporary table with another column": query("CREATE TEMP TABLE wide AS SELECT 'x' AS k") +
		parse("a", "SELECT wide.*, n FROM wide, (SELECT count(*) * 0 AS n FROM patients) x") + bind("", "a") +
		execute("", 0) + synced + query("ALTER TABLE wide ADD COLUMN l int") + bind("", "a") + execute("", 0),
	"a temporary table of other columns": query("CREATE TEMP TABLE into_it (n bigint)") +
		parse("a", "INSERT INTO into_it SELECT count(*) FROM patients") + bind("", "a") + execute("", 0) + synced +
		query("DROP TABLE into_it; CREATE TEMP TABLE into_it (n date)") + bind("", "a") + execute("", 0),
	"COPY with a parameter": parse("a", "COPY (SELECT $1::int, count(*) FROM patients) TO STDOUT") +
		describe("Sa") + bound("p", "a", "1") + execute("p", 0),
	"no row of anybody": parse("a", count+" WHERE false") + describe("Sa") + bind("p", "a") +
		describe("Pp") + execute("p", 0),
	"COMMIT before Execute": query("BEGIN") + parse("a", grouped) + bind("p", "a") + synced +
		query("COMMIT") + execute("p", 0),
	"ROLLBACK TO before Execute": query("BEGIN") + query("SAVEPOINT s") + parse("a", grouped) +
		bind("p", "a") + synced + query("ROLLBACK TO s") + execute("p", 0),
	"an error between Bind and Execute": parse("a", count) + bind("p", "a") + execute("nosuch", 0) + execute("p", 0),
	"an error behind the release": parse("a", "SELECT 1/(count(*)-count(*)*0-count(*)) FROM patients") +
		bind("p", "a") + execute("p", 0),
	"an error behind the release, in a Query": query("SELECT 1/(n-n) FROM (SELECT count(*) AS n FROM patients) x"),
	"LIMIT and OFFSET":                        query("SELECT region, count(*) FROM patients GROUP BY 1 LIMIT 1 OFFSET 1"),
	"FOR UPDATE":                              query("SELECT count(*) FROM patients FOR UPDATE"),
	"Flush everywhere":                        parse("a", count) + flush + bind("p", "a") + flush + execute("p", 0) + flush,
	"an empty statement first": parse("", "") + bind("", "") + execute("", 0) + parse("a", count) +
		bind("", "a") + execute("", 0),
	"a long name": parse(strings.Repeat("n", 5000), count) + bind("", strings.Repeat("n", 5000)) + execute("", 0),
	"INSERT ... RETURNING": query("CREATE TEMP TABLE w(n bigint)") + parse("a", "INSERT INTO w "+count+" RETURNING 1") +
		describe("Sa") + bind("", "a") + execute("", 1) + execute("", 1),
}

// TestPipelines compares replies to sequences of messages with Postgres's, message by message.
func TestPipelines(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy)
	r := s.Run(t)
	sameOutcomes(t, s, r, pipelines)
	r.Silent(t)
}

// testSeveral sends several statements in one Query, which are one transaction,
// and compares the replies with Postgres's.
func testSeveral(t *testing.T, s *sitetest.Site, r *sitetest.Running) {
	for _, sql := range []string{
		"SELECT 1; SELECT count(*) FROM patients; SELECT 2", "BEGIN; SELECT count(*) FROM patients; COMMIT",
		"BEGIN; SELECT count(*) FROM patients; ROLLBACK; SELECT 2",
		"BEGIN; SELECT count(*) FROM patients; SELECT 1/0; SELECT 3; COMMIT",
		"SELECT count(*) FROM patients; SELECT 1/0; SELECT 3", "SELECT 1/0; SELECT count(*) FROM patients",
		"SELECT count(*) FROM patients; syntax error", "SELECT count(*) FROM patients; SELECT nosuch",
		"CREATE TEMP TABLE a AS SELECT count(*) FROM patients; SELECT * FROM a; DROP TABLE a",
		"CREATE TEMP TABLE b (n bigint); INSERT INTO b SELECT count(*) FROM patients; INSERT INTO b SELECT count(*) " +
			"FROM patients RETURNING 1; SELECT 1 FROM b; DROP TABLE b",
		"CREATE TEMP TABLE c (n bigint); INSERT INTO c SELECT count(*) FROM patients; SELECT 1/0",
		"; ; SELECT count(*) FROM patients;;", "SELECT count(*) FROM patients; VACUUM",
		"SELECT count(*) FROM patients; COMMIT", "SELECT count(*) FROM patients; ROLLBACK; SELECT 1",
		"COMMIT; SELECT count(*) FROM patients", "SAVEPOINT a; SELECT count(*) FROM patients",
		"BEGIN; SAVEPOINT a; SELECT count(*) FROM patients; RELEASE a; COMMIT", "BEGIN; SELECT count(*) FROM patients",
		"PREPARE s AS SELECT 1; SELECT count(*) FROM patients; EXECUTE s; DEALLOCATE s; EXECUTE s",
		"SELECT count(*) FROM patients; COPY (SELECT count(*) FROM patients WHERE birth_year > 3000) " +
			"TO STDOUT WITH (HEADER, FORMAT csv, FORCE_QUOTE *)",
		"SELECT count(*) FROM patients; SET LOCAL work_mem = '1MB'; SHOW work_mem",
		"DECLARE f CURSOR FOR SELECT count(*) FROM patients",
		"BEGIN; DECLARE g CURSOR FOR SELECT count(*) FROM patients; DECLARE g CURSOR FOR SELECT count(*) FROM patients",
		"CREATE TEMP TABLE h AS SELECT 1; CREATE TEMP TABLE h AS SELECT count(*) FROM patients",
		"BEGIN READ ONLY; CREATE TABLE pg_temp.i AS SELECT count(*) FROM patients",
		"FETCH 1 FROM nosuch; SELECT count(*) FROM patients", "SELECT count(*) FROM patients; DISCARD ALL",
	} {
		got := outcome(t, r.URL("ana"), sitetest.Message('Q', sql+"\x00"))
		want := outcome(t, s.Data.URL("postgres", pgtemp.Superuser), sitetest.Message('Q', sql+"\x00"))
		if got != want {
			t.Errorf("%s:\n   dpproxy %s\n  Postgres %s", sql, got, want)
		}
	}
}
