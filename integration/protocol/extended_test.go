package protocol_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	_ "github.com/jackc/pgx/v5/stdlib" // database/sql's driver "pgx"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// TestExtended speaks the extended protocol as drivers do, binary where they do.
func TestExtended(t *testing.T) {
	policy := sitetest.ShownPolicy
	for _, name := range []string{"poor", "std"} {
		policy += "  " + name + ": {password: \"VERIFIER\", tables: [patients, visits], budget: {epsilon: 1}}\n"
	}
	s := sitetest.New(t, sitetest.ClinicSchema+`ALTER TABLE visits ADD seen timestamptz, ADD paid bool;
		UPDATE visits SET seen = timestamptz '2020-01-01 00:00:00Z' + id * interval '1 hour', paid = id % 2 = 0`, policy)
	r := s.Run(t)
	for _, c := range []struct {
		name string
		test func(*testing.T, *sitetest.Site, *sitetest.Running)
	}{
		{"parameters", testParameters},
		{"null parameters", testNullParameters},
		{"noisy failures", testNoisyFailures},
		{"formats", testFormats},
		{"result types", testResultTypes},
		{"date styles", testDateStyles},
		{"batch", testBatch},
		{"a batch that runs out of budget", testPoorBatch},
		{"pieces", testPieces},
		{"describe", testDescribe},
		{"copy", testCopy},
		{"cursors", testCursors},
		{"transactions", testTransactions},
		{"several statements", testSeveral},
		{"database/sql", testDatabaseSQL},
		{"prepared by SQL", testPreparedBySQL},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, s, r) })
	}
	r.Silent(t)
}

// near fails the test unless the answer is the truth with noise of ε = 20, whose
// scale is a twentieth of the sensitivity.
func near(t *testing.T, what string, got, truth, sensitivity float64) {
	t.Helper()
	if d := got - truth; d > 3*sensitivity || d < -3*sensitivity {
		t.Errorf("%s = %v, want about %v", what, got, truth)
	}
}

// testNoisyFailures has statements fail since a released value is 0 or negative: a hint says how they do not. An error of the client's own
// is as it is.
func testNoisyFailures(t *testing.T, _ *sitetest.Site, r *sitetest.Running) {
	ana := sitetest.Dial(t, r.URL("ana"))
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeDescribeExec} {
		for sql, hint := range map[string]string{
			"SELECT 5 / (count(*) - count(*)) FROM patients": "Write x / nullif(y, 0).",
			"SELECT sqrt(-1000 - count(*)) FROM patients":    "Write sqrt(greatest(x, 0)).",
			"SELECT ln(count(*) - count(*)) FROM patients":   "Write ln(nullif(greatest(x, 0), 0)).",
			"SELECT 5 / (id - id) FROM hospitals":            "",
		} {
			_, err := ana.Exec(t.Context(), sql, mode)
			failed, ok := errors.AsType[*pgconn.PgError](err)
			if !ok || !strings.HasSuffix(failed.Hint, hint) || (failed.Hint == "") != (hint == "") {
				t.Errorf("%v: %s: %v, %+v", mode, sql, err, failed)
			}
		}
	}
}

// testParameters runs prepared statements with every type of parameter, and
// compares the answers with the protected database's own.
func testParameters(t *testing.T, s *sitetest.Site, r *sitetest.Running) {
	ana, truth := sitetest.Dial(t, r.URL("ana")), sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser))
	sitetest.Exec(t, ana, "SET dp.epsilon = 20")
	meter := sitetest.NewMeter(t, s)
	day := func(d int) time.Time { return time.Date(2020, 1, d, 0, 0, 0, 0, time.UTC) }
	for i, c := range []struct {
		sql         string
		args        [][]any
		sensitivity float64
	}{
		{"SELECT count(*) FROM patients WHERE birth_year > $1", [][]any{{1940}, {1990}, {2050}}, 1},
		{"SELECT count(*) FROM patients WHERE sex = $1", [][]any{{"f"}, {"m"}}, 1},
		{"SELECT count(*) FROM patients WHERE sex <> $1", [][]any{{"x"}, {"'; --"}}, 1},
		{"SELECT count(*) FROM patients WHERE region IN ($1, $2)", [][]any{{"north", "north"}, {"north", "south"}}, 1},
		{"SELECT count(*) FROM visits WHERE day >= $1", [][]any{{day(1)}, {day(200)}}, 5},
		{"SELECT count(*) FROM visits WHERE cost < $1::numeric", [][]any{{"50"}, {"12.5"}, {1000}}, 5},
		{"SELECT count(*) FROM visits WHERE seen < $1", [][]any{{day(100)}, {day(400)}}, 5},
		{"SELECT count(*) FROM visits WHERE paid = $1", [][]any{{true}, {false}}, 5},
		{"SELECT count(*) FROM patients WHERE $1::bool", [][]any{{true}}, 1},
		{"SELECT count(*) + $1 FROM patients", [][]any{{int64(7)}, {int64(-7)}}, 1},
		{"SELECT sum(birth_year) FROM patients WHERE birth_year BETWEEN $1 AND $2", [][]any{{1950, 1960}}, 2010},
	} {
		name := fmt.Sprint("p", i)
		for _, conn := range []*pgx.Conn{ana, truth} {
			if _, err := conn.Prepare(t.Context(), name, c.sql); err != nil {
				t.Fatalf("%s: %v", c.sql, err)
			}
		}
		meter.Ticks("preparing "+c.sql, 0)
		for _, args := range c.args {
			for _, format := range []int16{pgx.TextFormatCode, pgx.BinaryFormatCode} {
				var got, want float64
				all := append([]any{pgx.QueryResultFormats{format}}, args...)
				if err := ana.QueryRow(t.Context(), name, all...).Scan(&got); err != nil {
					t.Errorf("%s with %v: %v", c.sql, args, err)
					continue
				}
				if err := truth.QueryRow(t.Context(), name, args...).Scan(&want); err != nil {
					t.Fatal(err)
				}
				near(t, fmt.Sprint(c.sql, " with ", args), got, want, c.sensitivity)
			}
		}
		meter.Ticks(c.sql, 2*len(c.args))
	}
	if _, err := ana.PgConn().ExecParams(t.Context(), "SELECT count(*) FROM patients WHERE birth_year > $1",
		[][]byte{[]byte("1x")}, nil, nil, nil).Close(); sitetest.SQLState(err) != "22P02" {
		t.Errorf("a parameter in text that is no number: %v", err)
	}
	if _, err := ana.PgConn().ExecParams(t.Context(), "SELECT count(*) FROM patients WHERE birth_year > $1",
		[][]byte{{1, 2}}, nil, []int16{1}, nil).Close(); sitetest.SQLState(err) != "22P03" && sitetest.SQLState(err) != "08P01" {
		t.Errorf("a parameter in binary of the wrong length: %v", err)
	}
	meter.Ticks("bad parameters", 0)
	var none int64 // exactly, and for nothing: no row can meet it
	if err := ana.QueryRow(t.Context(), "SELECT count(*) FROM patients WHERE $1::bool", false).Scan(&none); err != nil || none != 0 {
		t.Errorf("a condition that is false by a parameter: %d, %v", none, err)
	}
	meter.Ticks("a condition that is false by a parameter", 0)
}

// A comparison with NULL is true of no row.
func testNullParameters(t *testing.T, _ *sitetest.Site, r *sitetest.Running) {
	ana := sitetest.Dial(t, r.URL("ana"))
	sitetest.Exec(t, ana, "SET dp.epsilon = 20")
	for _, sql := range []string{
		"SELECT count(*) FROM patients WHERE birth_year > $1",
		"SELECT count(*) FROM patients WHERE sex = $1",
		"SELECT count(*) FROM patients WHERE sex <> $1::text",
		"SELECT count(*) FROM patients WHERE $1::bool",
	} {
		var n int64
		if err := ana.QueryRow(t.Context(), sql, nil).Scan(&n); err != nil {
			t.Errorf("%s with NULL: %v", sql, err)
			continue
		}
		near(t, sql, float64(n), 0, 1)
	}
	var n *int64
	if err := ana.QueryRow(t.Context(), "SELECT count(*) + $1 FROM patients", nil).Scan(&n); err != nil || n != nil {
		t.Errorf("count(*) + NULL = %v, %v", n, err)
	}
}

// testFormats reads one released relation as text and as binary: it is released
// once, into the analyst's own table, and must be the same both times.
func testFormats(t *testing.T, _ *sitetest.Site, r *sitetest.Running) {
	ana := sitetest.Dial(t, r.URL("ana"))
	sitetest.Exec(t, ana, "SET dp.small_groups = show")
	sitetest.Exec(t, ana, "CREATE TEMP TABLE released AS SELECT diagnosis, count(*) AS n, sum(cost) AS total, avg(cost) AS mean "+
		"FROM visits GROUP BY diagnosis")
	const sql = "SELECT diagnosis || '', n::text, total::text, mean::text FROM released ORDER BY 1"
	type row struct{ A, B, C, D string }
	read := func(format int16) []row {
		rows, err := ana.Query(t.Context(), sql, pgx.QueryResultFormats{format})
		if err != nil {
			t.Fatal(err)
		}
		all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[row])
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	text, binary := read(pgx.TextFormatCode), read(pgx.BinaryFormatCode)
	if len(text) != 3 || !cmp.Equal(text, binary) {
		t.Errorf("text %v, binary %v", text, binary)
	}
	// The formats of the columns of a protected statement itself, one by one.
	rows, err := ana.Query(t.Context(), "SELECT diagnosis, count(*), avg(cost) FROM visits GROUP BY 1 ORDER BY 1",
		pgx.QueryResultFormats{pgx.TextFormatCode, pgx.BinaryFormatCode, pgx.TextFormatCode})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		raw := rows.RawValues()
		if len(raw[1]) != 8 || !slices.Contains([]string{"asthma", "cold", "flu"}, string(raw[0])) ||
			!strings.Contains(string(raw[2]), ".") {
			t.Errorf("columns in three formats: %q", raw)
		}
	}
	if rows.Err() != nil {
		t.Error(rows.Err())
	}
}

// testResultTypes compares the description of an answer's columns with Postgres's,
// of the same statement on the same schema.
func testResultTypes(t *testing.T, s *sitetest.Site, r *sitetest.Running) {
	ana, plain := sitetest.Dial(t, r.URL("ana")), sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser))
	for _, sql := range []string{
		"SELECT count(*) FROM patients",
		"SELECT count(*) AS n, count(birth_year) FROM patients",
		"SELECT sum(birth_year) FROM patients",
		"SELECT avg(birth_year) FROM patients",
		"SELECT sum(cost), avg(cost) FROM visits",
		"SELECT sum(cost)::numeric(12,2) AS total FROM visits",
		"SELECT sum(value), avg(value) FROM labs",
		"SELECT region, count(*) FROM patients GROUP BY region",
		"SELECT region AS r, sex, count(*) FROM patients GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 2",
		"SELECT diagnosis, avg(cost), sum(cost), count(*) FROM visits GROUP BY diagnosis",
		"SELECT count(*)::int4, count(*)::float8, count(*)::text FROM patients",
		"SELECT count(*) > 5 AS many, NULL AS nothing, 'x' AS word, 1.5 AS num FROM patients",
		"SELECT round(avg(cost), 1), coalesce(sum(cost), 0), count(*) * 2 FROM visits",
		"SELECT sum(birth_year) / count(*), min(1) FROM (SELECT count(*) AS birth_year FROM patients) x",
		"WITH c AS (SELECT region, count(*) AS n FROM patients GROUP BY region) SELECT * FROM c",
		"SELECT n, n::real FROM (SELECT count(*) AS n FROM patients) x",
		"SELECT count(*) FROM patients UNION ALL SELECT sum(birth_year) FROM patients",
		"SELECT region, count(*), rank() OVER (ORDER BY count(*)) FROM patients GROUP BY region",
		"SELECT count(*) AS women FROM patients p WHERE p.sex = 'f' HAVING count(*) > 0",
		"SELECT CASE WHEN count(*) > 3 THEN 'many' ELSE 'few' END FROM patients",
		"SELECT now()::date AS today, count(*), ARRAY[count(*)], '{}'::text[] FROM patients",
		"SELECT h.name, x.n FROM hospitals h CROSS JOIN (SELECT count(*) AS n FROM patients) x",
	} {
		got, err := fields(t, ana, sql)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		want, err := fields(t, plain, sql)
		if err != nil {
			t.Fatal(err)
		}
		// Tables have other OIDs on another server.
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(pgconn.FieldDescription{}, "TableOID")); diff != "" {
			t.Errorf("%s: columns differ from Postgres's (-Postgres +dpproxy):\n%s", sql, diff)
		}
	}
}

// fields returns the columns as Describe tells them, after checking that the
// answer and the simple protocol have the same.
func fields(t *testing.T, conn *pgx.Conn, sql string) ([]pgconn.FieldDescription, error) {
	t.Helper()
	described, err := conn.PgConn().Prepare(t.Context(), "", sql, nil)
	if err != nil {
		return nil, err
	}
	res := conn.PgConn().ExecPrepared(t.Context(), "", nil, nil, nil).Read()
	if res.Err != nil {
		return nil, res.Err
	}
	simple, err := conn.PgConn().Exec(t.Context(), sql).ReadAll()
	if err != nil {
		return nil, err
	}
	if diff := cmp.Diff(described.Fields, res.FieldDescriptions); diff != "" {
		t.Errorf("%s: the statement and its answer differ:\n%s", sql, diff)
	}
	if diff := cmp.Diff(described.Fields, simple[0].FieldDescriptions); diff != "" {
		t.Errorf("%s: the protocols differ:\n%s", sql, diff)
	}
	return described.Fields, nil
}

// testBatch sends protected and other statements in one pipeline.
func testBatch(t *testing.T, s *sitetest.Site, r *sitetest.Running) {
	ana := sitetest.Dial(t, r.URL("ana"))
	sitetest.Exec(t, ana, "SET dp.epsilon = 20")
	meter := sitetest.NewMeter(t, s)
	var b pgx.Batch
	var counts []int64
	for _, year := range []int{1940, 1950, 1960, 1970} {
		b.Queue("SELECT count(*) FROM patients WHERE birth_year >= $1", year).QueryRow(func(row pgx.Row) error {
			var n int64
			err := row.Scan(&n)
			counts = append(counts, n)
			return err
		})
		b.Queue("SELECT $1::int", year).QueryRow(func(row pgx.Row) error {
			var n int
			if err := row.Scan(&n); err != nil || n != year {
				return fmt.Errorf("SELECT %d = %d, %w", year, n, err)
			}
			return nil
		})
	}
	if err := ana.SendBatch(t.Context(), &b).Close(); err != nil {
		t.Fatal(err)
	}
	meter.Ticks("a batch of four", 4)
	if len(counts) != 4 || counts[0] < counts[1] || counts[1] < counts[2] || counts[2] < counts[3] {
		t.Errorf("counts of fewer and fewer people: %v", counts)
	}
}

// testPoorBatch runs out of budget in the middle of a batch: statements before are
// answered, and statements behind fail with the batch, as in Postgres.
func testPoorBatch(t *testing.T, s *sitetest.Site, r *sitetest.Running) {
	poor := sitetest.Dial(t, r.URL("poor"))
	sitetest.Exec(t, poor, "SET dp.epsilon = 0.4")
	meter := sitetest.NewMeter(t, s)
	var b pgx.Batch
	for range 4 {
		b.Queue("SELECT count(*) FROM patients")
	}
	b.Queue("SELECT 1")
	res := poor.SendBatch(t.Context(), &b)
	var n int64
	for i := range 2 {
		if err := res.QueryRow().Scan(&n); err != nil {
			t.Errorf("answer %d of the batch: %v", i+1, err)
		}
	}
	if err := res.QueryRow().Scan(&n); sitetest.SQLState(err) != "PB001" {
		t.Errorf("the answer that is not paid for: %v", err)
	}
	for range 2 {
		if err := res.QueryRow().Scan(&n); err == nil {
			t.Error("the batch went on behind its error")
		}
	}
	res.Close()
	meter.Ticks("a batch of which two fit", 2)
	sitetest.Exec(t, poor, "SELECT 1")
	sitetest.Exec(t, poor, "SET dp.epsilon = 0.2")
	if err := poor.QueryRow(t.Context(), "SELECT count(*) FROM patients").Scan(&n); err != nil {
		t.Errorf("the rest of the budget: %v", err)
	}
	meter.Ticks("the rest of the budget", 1)
}

// testPieces fetches portals in pieces, two at a time: each is one charge.
func testPieces(t *testing.T, s *sitetest.Site, r *sitetest.Running) {
	ana := sitetest.Dial(t, r.URL("ana"))
	meter := sitetest.NewMeter(t, s)
	f := ana.PgConn().Frontend()
	f.Send(&pgproto3.Query{String: "BEGIN"})
	f.Send(&pgproto3.Parse{Name: "st", Query: "SELECT diagnosis, count(*) FROM visits GROUP BY 1 ORDER BY 1"})
	for _, portal := range []string{"a", "b"} {
		f.Send(&pgproto3.Bind{DestinationPortal: portal, PreparedStatement: "st", ResultFormatCodes: []int16{1}})
		f.Send(&pgproto3.Describe{ObjectType: 'P', Name: portal})
	}
	for range 4 {
		f.Send(&pgproto3.Execute{Portal: "a", MaxRows: 1})
		f.Send(&pgproto3.Execute{Portal: "b", MaxRows: 2})
	}
	f.Send(&pgproto3.Sync{})
	f.Send(&pgproto3.Execute{Portal: "a", MaxRows: 1}) // a portal at its end stays there
	f.Send(&pgproto3.Sync{})
	f.Send(&pgproto3.Query{String: "COMMIT"})
	if err := f.Flush(); err != nil {
		t.Fatal(err)
	}
	seen := sitetest.Replies(t, f, 4)
	if n := strings.Count(seen, "D"); n != 6 {
		t.Errorf("%d rows of two portals with three each: %s", n, seen)
	}
	meter.Ticks("two portals in pieces", 2)
}

// testDescribe describes statements and portals without running them. A portal
// is bound to its answer, so that Bind has the price.
func testDescribe(t *testing.T, s *sitetest.Site, r *sitetest.Running) {
	ana := sitetest.Dial(t, r.URL("ana"))
	meter := sitetest.NewMeter(t, s)
	d, err := ana.Prepare(t.Context(), "d",
		"SELECT region, count(*), avg(birth_year) FROM patients WHERE birth_year > $1 AND sex = $2 GROUP BY region")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]uint32{23, 25}, d.ParamOIDs); diff != "" || len(d.Fields) != 3 {
		t.Errorf("described as %v with parameters %v", d.Fields, d.ParamOIDs)
	}
	meter.Ticks("Describe", 0)
	if _, err := ana.Prepare(t.Context(), "e", "SELECT name FROM patients WHERE id = $1"); err != nil {
		t.Errorf("rows can be described, like any statement: %v", err)
	}
	if _, err := ana.Exec(t.Context(), "e", 1); sitetest.SQLState(err) != "PB002" {
		t.Errorf("rows, prepared: %v", err)
	}
	if _, err := ana.Prepare(t.Context(), "f", "SELECT count(*) FROM patients WHERE nosuch > $1"); sitetest.SQLState(err) != "42703" {
		t.Errorf("preparing a statement with an unknown column: %v", err)
	}
	meter.Ticks("refused statements", 0)
}

func testCopy(t *testing.T, s *sitetest.Site, r *sitetest.Running) {
	ana := sitetest.Dial(t, r.URL("ana"))
	meter := sitetest.NewMeter(t, s)
	for sql, want := range map[string]string{
		"COPY (SELECT region, count(*) FROM patients GROUP BY region ORDER BY region) TO STDOUT":                 "north\t",
		"COPY (SELECT region, count(*) AS n FROM patients GROUP BY region ORDER BY 1) TO STDOUT WITH CSV HEADER": "region,n\nnorth,",
	} {
		var out bytes.Buffer
		tag, err := ana.PgConn().CopyTo(t.Context(), &out, sql)
		if err != nil || !strings.HasPrefix(out.String(), want) || tag.String() != "COPY 2" {
			t.Errorf("%s: %q, %q, %v", sql, out.String(), tag, err)
		}
	}
	meter.Ticks("two COPY", 2)
	for sql, code := range map[string]string{
		"COPY patients TO STDOUT":                 "PB002",
		"COPY (SELECT * FROM patients) TO STDOUT": "PB002",
		"COPY patients (id) FROM STDIN":           "",
	} {
		_, err := ana.PgConn().CopyTo(t.Context(), &bytes.Buffer{}, sql)
		if err == nil || code != "" && sitetest.SQLState(err) != code {
			t.Errorf("%s: %v", sql, err)
		}
		sitetest.Exec(t, ana, "SELECT 1")
	}
	meter.Ticks("refused COPY", 0)
}

func testCursors(t *testing.T, s *sitetest.Site, r *sitetest.Running) {
	ana := sitetest.Dial(t, r.URL("ana"))
	meter := sitetest.NewMeter(t, s)
	sitetest.Exec(t, ana, "BEGIN")
	sitetest.Exec(t, ana, "DECLARE c SCROLL CURSOR FOR SELECT diagnosis, count(*) FROM visits GROUP BY 1 ORDER BY 1")
	meter.Ticks("DECLARE", 1)
	first := fetch(t, ana, "FETCH 2 FROM c")
	sitetest.Exec(t, ana, "MOVE ABSOLUTE 0 FROM c")
	again := fetch(t, ana, "FETCH 2 FROM c")
	if first != again || !strings.HasPrefix(first, "asthma") {
		t.Errorf("a cursor that went back: %q, then %q", first, again)
	}
	sitetest.Exec(t, ana, "COMMIT")
	meter.Ticks("fetching", 0)

	sitetest.Exec(t, ana, "DECLARE h CURSOR WITH HOLD FOR SELECT region, count(*) FROM patients GROUP BY 1 ORDER BY 1")
	meter.Ticks("DECLARE WITH HOLD", 1)
	if got := fetch(t, ana, "FETCH ALL FROM h"); !strings.HasPrefix(got, "north") {
		t.Errorf("a held cursor: %q", got)
	}
	sitetest.Exec(t, ana, "CLOSE h")
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeExec} {
		for _, declare := range []string{
			"DECLARE c CURSOR FOR ", "/* WITH HOLD */ DECLARE c SCROLL CURSOR WITHOUT HOLD FOR ",
			"DECLARE hold CURSOR FOR ",
		} {
			_, err := ana.Exec(t.Context(), declare+"SELECT count(*) FROM patients", mode)
			sitetest.Fails(t, err, "25P01", "DECLARE CURSOR can only be used in transaction blocks")
		}
	}
	meter.Ticks("fetching and closing", 0)
}

// testDateStyles groups by dates as texts, which look as the session's DateStyle says in the
// list of groups and in the read.
func testDateStyles(t *testing.T, s *sitetest.Site, r *sitetest.Running) {
	const sql = "SELECT CAST(day AS %s) AS d, count(*) FROM visits WHERE day BETWEEN date '2020-02-01' AND date '2020-02-20' " +
		"GROUP BY 1 ORDER BY 1"
	plain := sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser))
	for _, style := range []string{"ISO, DMY", "SQL, DMY", "SQL, MDY", "Postgres, DMY", "Postgres, MDY", "German, YMD"} {
		for _, typ := range []string{"text", "varchar(5)"} {
			ana := sitetest.Dial(t, r.URL("ana"))
			sitetest.Exec(t, ana, "SET dp.epsilon = 20; SET DateStyle = '"+style+"'")
			sitetest.Exec(t, plain, "SET DateStyle = '"+style+"'")
			got, counted := days(t, ana, fmt.Sprintf(sql, typ))
			want, rows := days(t, plain, fmt.Sprintf(sql, typ))
			if !slices.Equal(got, want) {
				t.Errorf("%s, %s: groups %q, want %q", style, typ, got, want)
			}
			near(t, style+", "+typ, float64(counted), float64(rows), 40)
		}
	}
}

func days(t *testing.T, conn *pgx.Conn, sql string) (keys []string, total int64) {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	var key string
	var n int64
	if _, err := pgx.ForEachRow(rows, []any{&key, &n}, func() error { keys, total = append(keys, key), total+n; return nil }); err != nil {
		t.Fatal(err)
	}
	return keys, total
}

func fetch(t *testing.T, conn *pgx.Conn, sql string) (out string) {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			t.Fatal(err)
		}
		out += fmt.Sprintln(values...)
	}
	if rows.Err() != nil {
		t.Fatalf("%s: %v", sql, rows.Err())
	}
	return out
}

// testTransactions: in a failed transaction nothing is asked and nothing charged,
// and a savepoint brings it back.
func testTransactions(t *testing.T, s *sitetest.Site, r *sitetest.Running) {
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeCacheStatement} {
		ana := sitetest.Dial(t, r.URL("ana"))
		meter := sitetest.NewMeter(t, s)
		count := func() error {
			var n int64
			return ana.QueryRow(t.Context(), "SELECT count(*) FROM patients", mode).Scan(&n)
		}
		sitetest.Exec(t, ana, "BEGIN")
		if _, err := ana.Exec(t.Context(), "SELECT 1/0", mode); sitetest.SQLState(err) != "22012" {
			t.Error(err)
		}
		if err := count(); sitetest.SQLState(err) != "25P02" || ana.PgConn().TxStatus() != 'E' {
			t.Errorf("%v: a count in a failed transaction: %v, status %c", mode, err, ana.PgConn().TxStatus())
		}
		sitetest.Exec(t, ana, "ROLLBACK; SELECT * FROM dp.budget")
		meter.Ticks("a failed transaction", 0)

		sitetest.Exec(t, ana, "BEGIN; SAVEPOINT a")
		if _, err := ana.Exec(t.Context(), "SELECT name FROM patients", mode); sitetest.SQLState(err) != "PB002" ||
			ana.PgConn().TxStatus() != 'E' {
			t.Errorf("%v: rows: %v, status %c", mode, err, ana.PgConn().TxStatus())
		}
		if err := count(); sitetest.SQLState(err) != "25P02" {
			t.Errorf("%v: a count behind a refusal: %v", mode, err)
		}
		sitetest.Exec(t, ana, "ROLLBACK TO SAVEPOINT a")
		if err := count(); err != nil || ana.PgConn().TxStatus() != 'T' {
			t.Errorf("%v: a count behind a savepoint: %v, status %c", mode, err, ana.PgConn().TxStatus())
		}
		sitetest.Exec(t, ana, "ROLLBACK")
		meter.Ticks("a count behind a savepoint, rolled back", 1)
		if err := count(); err != nil || ana.PgConn().TxStatus() != 'I' {
			t.Errorf("%v: a count after it all: %v, status %c", mode, err, ana.PgConn().TxStatus())
		}
		sitetest.Exec(t, ana, "BEGIN READ ONLY; SELECT count(*) FROM patients; COMMIT")
	}
}

func testDatabaseSQL(t *testing.T, s *sitetest.Site, r *sitetest.Running) {
	db, err := sql.Open("pgx", r.URL("std"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	meter := sitetest.NewMeter(t, s)
	stmt, err := db.PrepareContext(t.Context(), "SELECT count(*) FROM patients WHERE birth_year > $1")
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	for _, year := range []int{1940, 1960} {
		var n int64
		if err := stmt.QueryRowContext(t.Context(), year).Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
	meter.Ticks("a prepared statement, twice", 2)
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var name string
	if err := tx.QueryRowContext(t.Context(), "SELECT name FROM patients LIMIT 1").Scan(&name); sitetest.SQLState(err) != "PB002" {
		t.Errorf("a row: %v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := stmt.QueryRowContext(ctx, 1970).Scan(new(int64)); err == nil {
		t.Error("a cancelled context gave an answer")
	}
	meter.Ticks("a refusal and a statement that was not sent", 0)
}

// testPreparedBySQL binds statements that PREPARE has made, and runs by EXECUTE one that a Parse has made. A name means the statement
// that has it now.
func testPreparedBySQL(t *testing.T, _ *sitetest.Site, r *sitetest.Running) {
	conn := sitetest.Dial(t, r.URL("ana")).PgConn()
	run := func(sql string) *pgconn.Result {
		results, err := conn.Exec(t.Context(), sql).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		return results[len(results)-1]
	}
	bind := func(name string, args ...string) *pgconn.Result {
		values := make([][]byte, len(args))
		for i, arg := range args {
			values[i] = []byte(arg)
		}
		return conn.ExecPrepared(t.Context(), name, values, nil, nil).Read()
	}
	run("PREPARE older(int, text) AS SELECT count(*) FROM patients WHERE birth_year < $1 AND region <> $2; PREPARE plain AS SELECT 7")
	same := func(what, got, want string, err error) {
		t.Helper()
		if err != nil || got != want {
			t.Errorf("%s: %q, not %q: %v", what, got, want, err)
		}
	}
	alike := func(what string, x, y *pgconn.Result) { // but for noise
		t.Helper()
		if x.Err != nil || y.Err != nil {
			t.Fatalf("%s: %v, %v", what, x.Err, y.Err)
		}
		var a, b float64
		if _, err := fmt.Sscan(string(x.Rows[0][0])+" "+string(y.Rows[0][0]), &a, &b); err != nil || math.Abs(a-b) > a/4 {
			t.Errorf("%s: %v and %v: %v", what, a, b, err)
		}
	}
	for range 2 {
		alike("PREPARE, then Bind", run("EXECUTE older(1990, 'nowhere')"), bind("older", "1990", "nowhere"))
	}
	other := bind("plain")
	same("a plain statement", string(other.Rows[0][0]), "7", other.Err)
	run("DEALLOCATE older; PREPARE older(int) AS SELECT count(*) FROM visits WHERE id < $1 AND 1 = 0")
	other = bind("older", "5")
	same("another of the name", string(other.Rows[0][0]), "0", other.Err)
	run("DEALLOCATE older")
	if err := bind("older", "5").Err; sitetest.SQLState(err) != "26000" {
		t.Error(err)
	}
	run("PREPARE rows AS SELECT * FROM patients")
	if err := bind("rows").Err; sitetest.SQLState(err) != "PB002" {
		t.Error(err)
	}
	if _, err := conn.Prepare(t.Context(), "parsed", "SELECT count(*) FROM patients WHERE birth_year < $1", nil); err != nil {
		t.Fatal(err)
	}
	alike("Parse, then EXECUTE", bind("parsed", "1990"), run("EXECUTE parsed(1990)"))
}
