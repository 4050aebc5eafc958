package attacks_test

import (
	"bytes"
	endian "encoding/binary"
	"fmt"
	"io"
	"math"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"dpproxy/internal/sitetest"
)

// TestProtocolRecipes are attacks by messages.
func TestProtocolRecipes(t *testing.T) {
	t.Parallel()
	cook(t, kitchenPolicy(""), []recipe{
		{"P1", "a refused statement behind a harmless one", testSecondStatement},
		{"P2", "a function by its OID", testFunctionCall},
		{"P3", "a replication connection", testReplication},
		{"P4", "options at start-up", testStartupOptions},
		{"P5", "plain bytes behind a request for TLS", testPlainBehindTLS},
		{"P6", "another session's statement", testOthersStatement},
		{"P7", "parameters that are no numbers", testParameterBounds},
		{"P8", "parameters of odd types", testParameterTypes},
		{"P9", "a portal in pieces", testPortalPieces},
		{"P10", "Describe alone", testDescribeAlone},
		{"P11", "the tag tells the rows that are shown", testTags},
		{"P12", "the fields of an error", testErrorFields},
		{"P13", "notices of the server's own", testServerNotices},
		{"P14", "the lexer's settings", testLexerSettings},
		{"P15", "encodings with a backslash inside", testEncodings},
		{"P16", "too many messages", testTooMany},
		{"P18", "other sub-protocols", testSubProtocols},
		{"P19", "very many columns", testManyColumns},
		{"P20", "statistics and sizes", testStatistics},
		{"P21", "names that mean something else", testOwnNames},
		{"P22", "groups merged behind their bounds", testMergedGroups},
		{"P17", "cancel requests at all times", testCancelTimes}, // last: reads end behind their cancel requests
	})
}

func testSecondStatement(t *testing.T, k *kitchen) {
	ana := k.dial(t, "ana")
	k.unread(t, func() {
		for _, sql := range []string{
			"SELECT 1; SELECT sex FROM patients", "SELECT 1;;; TABLE patients",
			"BEGIN; SELECT 1; SELECT sex FROM patients; COMMIT",
		} {
			results, err := ana.PgConn().Exec(t.Context(), sql).ReadAll()
			sitetest.Fails(t, err, "PB002", "cannot be read")
			for _, r := range results {
				if len(r.FieldDescriptions) > 0 && r.FieldDescriptions[0].Name == "name" {
					t.Errorf("%s: %q", sql, r.Rows)
				}
			}
			sitetest.Exec(t, ana, "ROLLBACK")
		}
	})
}

func testFunctionCall(t *testing.T, k *kitchen) {
	ana := k.dial(t, "ana")
	var oid uint32
	if err := ana.QueryRow(t.Context(), "SELECT 'query_to_xml'::regproc::oid").Scan(&oid); err != nil {
		t.Fatal(err)
	}
	k.unread(t, func() {
		f := ana.PgConn().Frontend()
		f.Send(&pgproto3.FunctionCall{
			Function: oid, Arguments: [][]byte{[]byte("TABLE patients"), {1}, {1}, {}},
			ArgFormatCodes: []uint16{0, 1, 1, 0},
		})
		if err := f.Flush(); err != nil {
			t.Fatal(err)
		}
		if seen := sitetest.Replies(t, f, 1); !strings.HasPrefix(seen, "E") {
			t.Errorf("a function call is answered: %s", seen)
		}
		sitetest.Exec(t, ana, "SELECT 1")
	})
}

func testReplication(t *testing.T, k *kitchen) {
	k.unread(t, func() {
		for _, v := range []string{"database", "true", "on", "1", "yes", "TRUE"} {
			cfg, err := pgconn.ParseConfig(k.r.URL("ana"))
			if err != nil {
				t.Fatal(err)
			}
			cfg.RuntimeParams["replication"] = v
			conn, err := pgconn.ConnectConfig(t.Context(), cfg)
			if err == nil {
				t.Errorf("replication=%s is let in", v)
				conn.Close(t.Context())
			}
		}
	})
}

func testStartupOptions(t *testing.T, k *kitchen) {
	for _, options := range []string{
		"-c search_path=evil -c client_min_messages=debug5",
		"-c client_min_messages=log -c log_statement_stats=on",
		"-c session_preload_libraries=x", "-c row_security=off", "-c role=postgres", "-c session_authorization=postgres",
		"-c dp.epsilon=NaN", "-c standard_conforming_strings=off", "-c client_encoding=SJIS", "--dp.epsilon=1e308",
	} {
		cfg, err := pgconn.ParseConfig(k.r.URL("ana"))
		if err != nil {
			t.Fatal(err)
		}
		cfg.RuntimeParams["options"] = options
		var notices []string
		cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { notices = append(notices, n.Severity+" "+n.Message) }
		conn, err := pgconn.ConnectConfig(t.Context(), cfg)
		if err != nil {
			continue
		}
		if _, err := conn.Exec(t.Context(), "SELECT sex FROM public.patients").ReadAll(); err == nil {
			t.Errorf("with %s rows are read", options)
		}
		meter, answers := sitetest.NewMeter(t, k.Site), 0
		if _, err := conn.Exec(t.Context(), sitetest.CountPatients).ReadAll(); err == nil {
			answers = 1
		}
		meter.Ticks("a count with "+options, answers)
		if answers > 0 && changesMeaning.MatchString(options) {
			t.Errorf("with %s a count is answered", options)
		}
		for _, n := range notices {
			if !strings.HasPrefix(n, "NOTICE") {
				t.Errorf("with %s: %s", options, n)
			}
		}
		conn.Close(t.Context())
	}
}

// changesMeaning are options under which the two parsers could read other SQL, or the
// price is nonsense.
var changesMeaning = regexp.MustCompile(`search_path|strings|encoding|epsilon`)

func testPlainBehindTLS(t *testing.T, k *kitchen) {
	cert, key := sitetest.NewAuthority(t).Server(t)
	s := k.withLedger(t, "listen:", fmt.Sprintf("tls: {cert: %q, key: %q}\nlisten:", cert, key))
	r := s.Run(t)
	c, err := net.Dial("tcp", r.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	io.WriteString(c, sitetest.StartUp(80877103, "")+sitetest.StartUp(3<<16, "user\x00ana\x00\x00"))
	all, _ := io.ReadAll(c)
	if len(all) == 0 || all[0] != 'S' || bytes.Contains(all, []byte("SCRAM")) {
		t.Errorf("the answer is %q", all)
	}
}

func testOthersStatement(t *testing.T, k *kitchen) {
	ana, bob := k.dial(t, "ana"), k.dial(t, "bob")
	if _, err := ana.PgConn().Prepare(t.Context(), "s1", "SELECT 'of ana'", nil); err != nil {
		t.Fatal(err)
	}
	if err := bob.PgConn().ExecPrepared(t.Context(), "s1", nil, nil, nil).Read().Err; sitetest.SQLState(err) != "26000" {
		t.Errorf("another session's statement: %v", err)
	}
	if _, err := bob.PgConn().Prepare(t.Context(), "s1", "SELECT 'of bob'", nil); err != nil {
		t.Error(err)
	}
	if res := ana.PgConn().ExecPrepared(t.Context(), "s1", nil, nil, nil).Read(); res.Err != nil || string(res.Rows[0][0]) != "of ana" {
		t.Errorf("%q, %v", res.Rows, res.Err)
	}
}

// whatever asks with parameters and accepts a refusal or a charged answer.
func (k *kitchen) whatever(t *testing.T, conn *pgx.Conn, sql string, value []byte, oid uint32, format int16) {
	t.Helper()
	before, _ := sitetest.Charges(t, k.Site)
	res := conn.PgConn().ExecParams(t.Context(), sql, [][]byte{value}, []uint32{oid}, []int16{format}, nil).Read()
	after, _ := sitetest.Charges(t, k.Site)
	free := value == nil && strings.HasSuffix(sql, "WHERE cost < $1") // NULL, of which no row is told
	if (res.Err == nil) != (after-before == 1 || free) || failedRead.MatchString(sitetest.SQLState(res.Err)) {
		t.Errorf("%s with type %d and %.20q: %d charges, %v", sql, oid, value, after-before, res.Err)
	}
}

func testParameterBounds(t *testing.T, k *kitchen) {
	ana := k.dial(t, "ana")
	float := func(f float64) []byte { return endian.BigEndian.AppendUint64(nil, math.Float64bits(f)) }
	digits := []byte(strings.Repeat("9", 16383))
	for _, sql := range []string{
		"SELECT sum(least(cost, $1)) FROM visits", "SELECT sum(greatest(least(cost, 50), $1)) FROM visits",
		"SELECT sum(cost + $1) FROM visits", "SELECT sum(cost * $1) FROM visits", "SELECT sum(cost / $1) FROM visits",
		"SELECT avg(CASE WHEN cost > 3 THEN $1 ELSE 0 END) FROM visits", "SELECT count(*) FROM visits WHERE cost < $1",
	} {
		for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e308, -1e-308, math.Copysign(0, -1)} {
			k.whatever(t, ana, sql, float(f), 701, 1)
		}
		for _, v := range []string{"NaN", "Infinity", "-Infinity", "1e-16383", string(digits), "0"} {
			k.whatever(t, ana, sql, []byte(v), 1700, 0)
		}
		k.whatever(t, ana, sql, nil, 1700, 0)
		k.whatever(t, ana, sql, []byte{0, 1, 0, 0, 0xc0, 0, 0, 0}, 1700, 1) // NaN in binary, with a digit
	}
}

func testParameterTypes(t *testing.T, k *kitchen) {
	ana := k.dial(t, "ana")
	for oid, value := range map[uint32]string{
		2205: "patients", 24: "now", 2206: "int4", 4089: "public", 4096: "postgres", 2249: "(1)", 705: "f", 2278: "", 2276: "1",
		2275: "x", 26: "1", 27: "(0,1)", 28: "3",
		1007: "{1}", 3904: "[1,2)", 114: "1", 142: "<a/>", 18: "x", 600: "(1,1)", 790: "1", 194: "x", 32: "x", 1790: "c",
	} {
		for _, sql := range []string{
			"SELECT count(*) FROM patients WHERE id = $1", "SELECT count(*) FROM patients WHERE sex = $1",
			"SELECT sum(birth_year + $1) FROM patients",
		} {
			k.whatever(t, ana, sql, []byte(value), oid, 0)
		}
	}
}

func testPortalPieces(t *testing.T, k *kitchen) {
	ana := k.dial(t, "ana")
	k.charged(t, 1, func() {
		f := ana.PgConn().Frontend()
		f.Send(&pgproto3.Parse{Query: "SELECT diagnosis, count(*) FROM visits GROUP BY 1"})
		f.Send(&pgproto3.Bind{})
		for range 5 {
			f.Send(&pgproto3.Execute{MaxRows: 1})
		}
		f.Send(&pgproto3.Sync{})
		if err := f.Flush(); err != nil {
			t.Fatal(err)
		}
		if seen := sitetest.Replies(t, f, 1); strings.Count(seen, "D") != 3 {
			t.Errorf("a portal in pieces: %s", seen)
		}
	})
}

func testDescribeAlone(t *testing.T, k *kitchen) {
	ana := k.dial(t, "ana")
	k.unread(t, func() {
		for _, sql := range []string{
			sitetest.CountPatients, "SELECT sex FROM patients", "SELECT birth_year, count(*) FROM patients GROUP BY 1",
			"SELECT max(birth_year) FROM patients WHERE id = $1",
		} {
			if d, err := ana.Prepare(t.Context(), "", sql); err != nil || len(d.Fields) == 0 {
				t.Errorf("%s: %v, %v", sql, d, err)
			}
		}
	})
}

func testTags(t *testing.T, k *kitchen) {
	ana := k.dial(t, "ana")
	for _, sql := range []string{
		"SELECT diagnosis, count(*) FROM visits GROUP BY 1",
		"SELECT diagnosis, count(*) FROM visits GROUP BY 1 HAVING count(*) > 1000",
		"SELECT birth_year, count(*) FROM patients GROUP BY 1",
		"SELECT region, count(*) FROM patients WHERE sex = 'nobody' GROUP BY 1 LIMIT 1",
	} {
		res := ana.PgConn().ExecParams(t.Context(), sql, nil, nil, nil, nil).Read()
		if res.Err == nil && res.CommandTag.String() != fmt.Sprintf("SELECT %d", len(res.Rows)) {
			t.Errorf("%s: %s for %d rows", sql, res.CommandTag, len(res.Rows))
		}
	}
	sitetest.Exec(t, ana, "BEGIN; DECLARE c CURSOR FOR SELECT diagnosis, count(*) FROM visits GROUP BY 1")
	if tag, err := ana.Exec(t.Context(), "MOVE ALL FROM c"); err != nil || tag.String() != "MOVE 3" {
		t.Errorf("%s, %v", tag, err)
	}
	sitetest.Exec(t, ana, "ROLLBACK")
}

// A read that fails says one thing, in dpproxy's own words.
func testErrorFields(t *testing.T, k *kitchen) {
	k.Gate.Fail("53200")
	defer k.Gate.Open()
	slow := k.dial(t, "slow")
	_, err := slow.Exec(t.Context(), "SELECT sum(birth_year) FROM patients")
	pg := sitetest.Fails(t, err, "PB009", "did not finish")
	for _, field := range []string{
		pg.Where, pg.InternalQuery, pg.SchemaName, pg.TableName, pg.ColumnName, pg.DataTypeName, pg.ConstraintName,
		pg.File, pg.Routine,
	} {
		if field != "" {
			t.Errorf("the error says %q: %+v", field, pg)
		}
	}
	if want := "The charge of the statement stays."; pg.Detail != want {
		t.Errorf("detail %q, want %q", pg.Detail, want)
	}
	if pg.Position != 0 || pg.InternalPosition != 0 || pg.Line != 0 {
		t.Errorf("the error has a position: %+v", pg)
	}
}

func testServerNotices(t *testing.T, k *kitchen) {
	var notices []*pgconn.Notice
	conn := sitetest.DialTold(t, k.r.URL("ana"), func(n *pgconn.Notice) { notices = append(notices, n) })
	for _, set := range []string{
		"client_min_messages = log", "client_min_messages = debug5", "debug_print_plan = on", "debug_print_parse = on",
		"debug_print_rewritten = on", "log_duration = on",
	} {
		conn.Exec(t.Context(), "SET "+set)
	}
	sitetest.Exec(t, conn, "SELECT count(*) FROM patients WHERE birth_year > 0 OR true")
	for _, n := range notices {
		if strings.Contains(n.Message+n.Detail, "sha256") || strings.Contains(n.Message+n.Detail, "plan_rows 1000 ") {
			t.Errorf("%s: %s %s", n.Severity, n.Message, n.Detail)
		}
	}
}

func testLexerSettings(t *testing.T, k *kitchen) {
	ana := k.dial(t, "ana")
	sitetest.Exec(t, ana, "SET standard_conforming_strings = off")
	k.unread(t, func() {
		_, err := ana.PgConn().Exec(t.Context(), `SELECT count(*) FROM patients WHERE sex = '\' OR 1=1 --'`).ReadAll()
		sitetest.Fails(t, err, "0A000", "protected tables need")
	})
	for _, set := range []string{"standard_conforming_strings = off", "client_encoding = LATIN1"} {
		pipelined := k.dial(t, "ana")
		k.unread(t, func() {
			batch := pipelined.PgConn().StartPipeline(t.Context())
			batch.SendQueryParams("SET "+set, nil, nil, nil, nil)
			batch.SendQueryParams("SELECT count(*) FROM patients WHERE sex <> 'é'", nil, nil, nil, nil)
			if err := batch.Sync(); err != nil {
				t.Fatal(err)
			}
			sitetest.Fails(t, batch.Close(), "0A000", "protected tables need")
		})
	}
}

func testEncodings(t *testing.T, k *kitchen) {
	for _, encoding := range []string{"SJIS", "BIG5", "GBK", "GB18030", "JOHAB", "UHC", "SHIFT_JIS_2004", "LATIN1", "SQL_ASCII"} {
		ana := k.dial(t, "ana")
		if _, err := ana.Exec(t.Context(), "SET client_encoding = '"+encoding+"'"); err != nil {
			continue
		}
		k.unread(t, func() {
			for _, sql := range []string{"SELECT count(*) FROM patients WHERE sex = '\x81\x5c' OR 1=1 --'", sitetest.CountPatients} {
				if _, err := ana.PgConn().Exec(t.Context(), sql).ReadAll(); sitetest.SQLState(err) == "" {
					t.Errorf("in %s: %v", encoding, err)
				}
			}
		})
		ana.Close(t.Context())
	}
}

// A session that asks for too much ends or is refused; others go on.
func testTooMany(t *testing.T, k *kitchen) {
	h := sitetest.Hijack(t, k.r.URL("ana"))
	defer h.Conn.Close()
	go func() {
		for i := range 100_000 {
			parse := sitetest.Message('P', fmt.Sprintf("s%d\x00SELECT count(*) FROM patients WHERE id = %d\x00\x00\x00", i, i))
			if _, err := io.WriteString(h.Conn, parse); err != nil {
				return
			}
		}
		io.WriteString(h.Conn, sitetest.Message('S', ""))
	}()
	refused := false
	for {
		msg, err := h.Frontend.Receive()
		if err != nil {
			refused = true
			break
		}
		if _, ok := msg.(*pgproto3.ErrorResponse); ok {
			refused = true
		}
		if _, ok := msg.(*pgproto3.ReadyForQuery); ok {
			break
		}
	}
	if !refused {
		t.Error("a session may keep 100,000 statements")
	}
	sitetest.Exec(t, k.dial(t, "ana"), sitetest.CountPatients)
	packets := sitetest.Hijack(t, k.r.URL("ana"))
	defer packets.Conn.Close()
	io.WriteString(packets.Conn, "Q\xff\xff\xff\xff")
	if _, err := io.ReadAll(packets.Conn); sitetest.IsTimeout(err) {
		t.Error("a negative length does not end the session")
	}
}

// Whenever a cancel request comes, the statement is charged if it was read, and the
// next statement is not hit.
func testCancelTimes(t *testing.T, k *kitchen) {
	conn := k.dial(t, "cancels")
	for range 30 {
		before, _ := sitetest.Charges(t, k.Site)
		done := make(chan error)
		go func() {
			_, err := conn.Exec(t.Context(), "SELECT count(*) FROM visits")
			done <- err
		}()
		sitetest.Pause(t, 10*time.Millisecond)
		if err := conn.PgConn().CancelRequest(t.Context()); err != nil {
			t.Error(err)
		}
		err := <-done
		after, _ := sitetest.Charges(t, k.Site)
		if err == nil && after == before || err != nil && sitetest.SQLState(err) != "57014" {
			t.Errorf("%d charges, %v", after-before, err)
		}
	}
}

func testSubProtocols(t *testing.T, k *kitchen) {
	ana := k.dial(t, "ana")
	k.unread(t, func() {
		for _, sql := range []string{
			"COPY patients TO STDOUT", "COPY (SELECT sex FROM patients) TO STDOUT", "COPY patients FROM STDIN",
			"COPY (TABLE patients) TO PROGRAM 'cat'",
		} {
			var out bytes.Buffer
			if _, err := ana.PgConn().CopyTo(t.Context(), &out, sql); err == nil || out.Len() > 0 {
				t.Errorf("%s: %q, %v", sql, out.String(), err)
			}
		}
		if _, err := ana.Exec(t.Context(), "DECLARE c CURSOR WITH HOLD FOR SELECT sex FROM patients"); sitetest.SQLState(err) != "PB002" {
			t.Errorf("a cursor over rows: %v", err)
		}
		sitetest.Exec(t, ana, "LISTEN changes")
	})
}

func testManyColumns(t *testing.T, k *kitchen) {
	ana := k.dial(t, "ana")
	begin := time.Now()
	for _, n := range []int{1600, 1665, 20_000} {
		var columns []string
		for i := range n {
			columns = append(columns, fmt.Sprintf("count(*) + %d", i), fmt.Sprintf("sum(birth_year) * %d", i))
		}
		if _, err := ana.PgConn().Exec(t.Context(), "SELECT "+strings.Join(columns, ", ")+" FROM patients").ReadAll(); err == nil {
			t.Errorf("%d columns are answered", 2*n)
		}
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("refusing took %v", took)
	}
	sitetest.Exec(t, ana, "SELECT 1")
}

func testStatistics(t *testing.T, k *kitchen) {
	ana := k.dial(t, "ana")
	k.unread(t, func() {
		for sql, want := range map[string]string{
			"SELECT greatest(reltuples, 0)::text FROM pg_class WHERE relname = 'patients'":                                          "0",
			"SELECT count(*)::text FROM pg_stats WHERE tablename IN ('patients', 'visits', 'labs')":                                 "0",
			"SELECT pg_relation_size('patients')::text":                                                                             "0",
			"SELECT coalesce(sum(n_live_tup + n_tup_ins), 0)::text FROM pg_stat_all_tables WHERE relname IN ('patients', 'visits')": "0",
			"SELECT count(*)::text FROM pg_stat_activity WHERE application_name = 'dpproxy' AND query LIKE '%patients%'":            "0",
			"SELECT count(*)::text FROM pg_sequences WHERE last_value > 0":                                                          "0",
			"SELECT count(*)::text FROM pg_statistic_ext_data":                                                                      "",
			"SELECT count(*)::text FROM pg_statistic":                                                                               "",
			"SELECT (EXISTS (SELECT FROM pg_locks " +
				"WHERE relation = 'patients'::regclass AND pid <> pg_backend_pid()))::text": "false",
		} {
			rows, err := ana.PgConn().Exec(t.Context(), sql).ReadAll()
			got := ""
			if err == nil && len(rows[0].Rows) > 0 {
				got = string(rows[0].Rows[0][0])
			}
			if got != want {
				t.Errorf("%s: %q, %v, want %q", sql, got, err, want)
			}
		}
	})
	if out := sitetest.Psql(t, k.r, `\d+ patients`); strings.Contains(out, "1000") {
		t.Errorf("\\d+ tells the number of rows:\n%s", out)
	}
}

func testOwnNames(t *testing.T, k *kitchen) {
	ana := k.dial(t, "ana")
	k.unread(t, func() {
		for _, sql := range []string{
			"CREATE OPERATOR public.= (LEFTARG = text, RIGHTARG = text, FUNCTION = textne)",
			"CREATE FUNCTION public.count(int) RETURNS int LANGUAGE sql AS 'SELECT 1'",
			"CREATE AGGREGATE public.sum(int) (SFUNC = int4pl, STYPE = int)", "CREATE CAST (text AS int) WITH INOUT",
			"CREATE VIEW public.v AS SELECT 1", "CREATE SCHEMA mine", "CREATE EXTENSION dblink",
			"ALTER TABLE patients DISABLE ROW LEVEL SECURITY", "DROP POLICY dp ON patients",
			"CREATE RULE r AS ON SELECT TO patients DO INSTEAD SELECT 1", "CREATE POLICY mine ON patients USING (true)",
			"CREATE OR REPLACE FUNCTION dp.protected(text) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true'",
		} {
			if _, err := ana.Exec(t.Context(), sql); err == nil {
				t.Errorf("%s is done", sql)
			}
		}
		sitetest.Exec(t, ana, "GRANT SELECT ON patients TO public") // grants nothing, with a warning
		if _, err := k.dial(t, "stranger").Exec(t.Context(), sitetest.CountPatients); err == nil {
			t.Error("an analyst gives another his table")
		}
		sitetest.Exec(t, ana, "CREATE TEMP TABLE patients (id int, name text)")
		var n int
		if err := ana.QueryRow(t.Context(), sitetest.CountPatients).Scan(&n); err != nil || n != 0 {
			t.Errorf("an own table: %d, %v", n, err)
		}
	})
	k.charged(t, 1, func() { sitetest.Exec(t, ana, "SELECT count(*) FROM public.patients") })
}

// A constant key behind a grouping merges rows that were bounded by group; then a person
// counts for all their groups. Either it is refused, or the plan counts them all.
func testMergedGroups(t *testing.T, k *kitchen) {
	ana := k.dial(t, "ana")
	for _, sql := range []string{
		"SELECT 0 AS g, count(*) FROM (SELECT patient_id, diagnosis, count(*) AS n FROM visits GROUP BY 1, 2) x GROUP BY g",
		"SELECT 0 AS g, count(*) FROM (SELECT patient_id, diagnosis FROM visits) x GROUP BY g",
	} {
		plan, err := ana.PgConn().Exec(t.Context(), "EXPLAIN VERBOSE "+sql).ReadAll()
		if err != nil {
			continue
		}
		text := ""
		for _, row := range plan[0].Rows {
			text += string(row[0]) + "\n"
		}
		if strings.Contains(text, "linf=1,") || strings.Contains(text, "linf=1 ") {
			t.Errorf("%s counts one group of a person:\n%s", sql, text)
		}
	}
}
