package protocol_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"dpproxy/internal/sitetest"
)

// TestHostile sends messages that no honest client sends. After each piece dpproxy must
// serve others as before.
func TestHostile(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy)
	r := s.Run(t)
	for _, c := range []struct {
		name string
		test func(*testing.T, *sitetest.Site, *sitetest.Running)
	}{
		{"settings that change the lexer", testLexer},
		{"large SQL", testLargeSQL},
		{"packets before log-in", testPacketsBefore},
		{"packets after log-in", testPacketsAfter},
		{"packets that end the session", testPacketsThatEnd},
	} {
		t.Run(c.name, func(t *testing.T) {
			meter := sitetest.NewMeter(t, s)
			c.test(t, s, r)
			sitetest.Exec(t, sitetest.Dial(t, r.URL("ana")), "SELECT 1")
			meter.Ticks(c.name, 0)
		})
	}
	sitetest.Exec(t, sitetest.Dial(t, r.URL("ana")), sitetest.CountPatients)
	r.Silent(t)
}

// The two parsers must read the same bytes alike.
func testLexer(t *testing.T, _ *sitetest.Site, r *sitetest.Running) {
	for _, c := range []struct{ set, reset, hint string }{
		{"SET client_encoding = LATIN1", "RESET client_encoding", "SET client_encoding"},
		{"SET client_encoding = SJIS", "SET client_encoding = UTF8", "SET client_encoding"},
		{"SET standard_conforming_strings = off", "SET standard_conforming_strings = on", "standard_conforming_strings = on"},
		{"BEGIN; SET LOCAL standard_conforming_strings = off", "ROLLBACK", "standard_conforming_strings = on"},
	} {
		for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeExec} {
			cfg, err := pgx.ParseConfig(r.URL("ana"))
			if err != nil {
				t.Fatal(err)
			}
			conn, err := pgx.ConnectConfig(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			raw := conn.PgConn()
			exec := func(sql string) error {
				if mode == pgx.QueryExecModeExec && !strings.Contains(sql, ";") {
					return raw.ExecParams(t.Context(), sql, nil, nil, nil, nil).Read().Err
				}
				return raw.Exec(t.Context(), sql).Close()
			}
			if err := exec(c.set); err != nil {
				t.Fatal(err)
			}
			if pg := sitetest.Fails(t, exec(sitetest.CountPatients), "0A000", "protected tables need"); !strings.Contains(pg.Hint, c.hint) {
				t.Errorf("after %s: hint %q", c.set, pg.Hint)
			}
			if err := exec(c.reset); err != nil {
				t.Errorf("%s: %v", c.reset, err)
			}
			if err := exec("EXPLAIN " + sitetest.CountPatients); err != nil {
				t.Errorf("after %s and %s: %v", c.set, c.reset, err)
			}
			conn.Close(t.Context())
		}
	}
}

// testLargeSQL sends text that is long, deep or a long chain. The answer is an
// error, in a moment, and the session goes on.
func testLargeSQL(t *testing.T, _ *sitetest.Site, r *sitetest.Running) {
	const many = 100_000
	repeat := strings.Repeat
	for name, sql := range map[string]string{
		"a comment of 2 MB": "SELECT count(*) FROM patients /*" + repeat("x", 2<<20) + "*/",
		"a literal of 2 MB": "SELECT count(*) FROM patients WHERE sex = '" + repeat("x", 2<<20) + "'",
		"brackets":          "SELECT " + repeat("(", many) + "count(*)" + repeat(")", many) + " FROM patients",
		"open brackets":     "SELECT count(*) FROM patients WHERE " + repeat("(", many),
		"a sum":             "SELECT count(*) " + repeat("+1", many) + " FROM patients",
		"a sum of columns":  "SELECT sum(birth_year" + repeat("+1", many) + ") FROM patients",
		"a chain of OR":     "SELECT count(*) FROM patients WHERE id=1" + repeat(" OR id=1", many),
		"a chain of NOT":    "SELECT count(*) FROM patients WHERE " + repeat("NOT ", many) + "true",
		"a chain of minus":  "SELECT count(*) FROM patients WHERE birth_year = " + repeat("- ", many) + "1",
		"a chain of ||":     "SELECT count(*)" + repeat("||''", many) + " FROM patients",
		"a chain of casts":  "SELECT count(*)" + repeat("::int", many) + " FROM patients",
		"CASE in CASE": "SELECT count(*), " + repeat("CASE WHEN true THEN ", many/5) + "1" + repeat(" END", many/5) +
			" FROM patients",
		"SELECT in SELECT":     repeat("SELECT * FROM (", many/10) + sitetest.CountPatients + repeat(") x", many/10),
		"scalar in scalar":     "SELECT " + repeat("(SELECT ", many/10) + "count(*) FROM patients" + repeat(")", many/10),
		"a chain of UNION":     sitetest.CountPatients + repeat(" UNION ALL "+sitetest.CountPatients, many/10),
		"a chain of joins":     "SELECT count(*) FROM patients p" + repeat(" JOIN patients USING (id)", many/10),
		"many columns":         "SELECT count(*)" + repeat(",count(*)", many) + " FROM patients",
		"many keys":            "SELECT count(*) FROM patients GROUP BY sex" + repeat(",sex", many),
		"many values":          "SELECT count(*) FROM patients WHERE id IN (1" + repeat(",1", 5*many) + ")",
		"many statements":      repeat("SELECT sex FROM patients;", many/5),
		"many CTEs":            "WITH a AS (" + sitetest.CountPatients + ")" + repeat(", b AS (SELECT 1)", many/10) + " SELECT 1",
		"a deep array":         "SELECT count(*), " + repeat("ARRAY[", many/5) + "1" + repeat("]", many/5) + " FROM patients",
		"functions":            "SELECT " + repeat("abs(", many/5) + "count(*)" + repeat(")", many/5) + " FROM patients",
		"zeros and strange":    "SELECT count(*) FROM patients WHERE sex = '\xff\xfe'",
		"an identifier":        "SELECT count(*) AS \"" + repeat("y", many) + repeat("\"\"", many) + "\" FROM patients WHERE nosuch = 1",
		"a parameter too many": "SELECT count(*) FROM patients WHERE id = $65536",
		"an unknown parameter": "SELECT count(*) FROM patients WHERE id = $999999999999",
		"EXPLAIN of brackets":  "EXPLAIN SELECT " + repeat("(", many) + "count(*)" + repeat(")", many) + " FROM patients",
		"DECLARE of brackets":  "DECLARE c CURSOR FOR SELECT " + repeat("(", many) + "count(*)" + repeat(")", many) + " FROM patients",
	} {
		conn := sitetest.Dial(t, r.URL("ana"))
		for _, exec := range []func() error{
			func() error { return conn.PgConn().Exec(t.Context(), sql).Close() },
			func() error { return conn.PgConn().ExecParams(t.Context(), sql, nil, nil, nil, nil).Read().Err },
		} {
			start := time.Now()
			err := exec()
			if sitetest.SQLState(err) == "" || sitetest.SQLState(err) == "XX000" {
				t.Errorf("%s: %.200v", name, err)
			}
			if took := time.Since(start); took > 8*time.Second {
				t.Errorf("%s took %v", name, took)
			}
			if err := conn.PgConn().Exec(t.Context(), "SELECT 1").Close(); err != nil {
				t.Errorf("the session after %s: %.200v", name, err)
			}
		}
		conn.Close(t.Context())
	}
}

// testPacketsBefore sends first packets. The connection ends, at once or when the
// client has no more to say, and nobody is let in.
func testPacketsBefore(t *testing.T, _ *sitetest.Site, r *sitetest.Running) {
	const v3 = 3 << 16
	hello := sitetest.StartUp(v3, "user\x00ana\x00\x00")
	for name, packet := range map[string]string{
		"nothing":                   "",
		"a byte":                    "\x00",
		"a web browser":             "GET / HTTP/1.1\r\n\r\n",
		"length 0":                  "\x00\x00\x00\x00",
		"length 4":                  "\x00\x00\x00\x04",
		"a length of 4 GB":          "\xff\xff\xff\xff\x00\x03\x00\x00",
		"a length of 2 GB":          "\x7f\xff\xff\xff\x00\x03\x00\x00",
		"version 2":                 sitetest.StartUp(2<<16, strings.Repeat("\x00", 288)),
		"version 9":                 sitetest.StartUp(9<<16, "user\x00ana\x00\x00"),
		"no user":                   sitetest.StartUp(v3, "\x00"),
		"no end":                    sitetest.StartUp(v3, "user\x00ana"),
		"a name without a value":    sitetest.StartUp(v3, "user\x00ana\x00database\x00"),
		"many settings":             sitetest.StartUp(v3, "user\x00ana\x00"+strings.Repeat("a\x00b\x00", 2000)+"\x00"),
		"replication":               sitetest.StartUp(v3, "user\x00ana\x00replication\x00true\x00\x00"),
		"a cancel without a key":    sitetest.StartUp(80877102, ""),
		"a cancel of nobody":        sitetest.StartUp(80877102, "\x00\x00\x00\x01\x00\x00\x00\x02"),
		"a cancel with a long key":  sitetest.StartUp(80877102, strings.Repeat("k", 300)),
		"TLS, twice":                sitetest.StartUp(80877103, "") + sitetest.StartUp(80877103, ""),
		"GSS, then nothing":         sitetest.StartUp(80877104, ""),
		"a query for a password":    hello + sitetest.Message('Q', "SELECT 1\x00"),
		"an empty password":         hello + sitetest.Message('p', "\x00"),
		"a clear password":          hello + sitetest.Message('p', sitetest.Password+"\x00"),
		"an unknown mechanism":      hello + sitetest.Message('p', "SCRAM-SHA-1\x00\x00\x00\x00\x04abcd"),
		"a length beyond the proof": hello + sitetest.Message('p', "SCRAM-SHA-256\x00\x7f\xff\xff\xffn,,n=,r=x"),
		"a negative length":         hello + sitetest.Message('p', "SCRAM-SHA-256\x00\xff\xff\xff\xff"),
		"no nonce":                  hello + sitetest.Message('p', "SCRAM-SHA-256\x00\x00\x00\x00\x03n,,"),
		"binding without TLS": hello +
			sitetest.Message('p', "SCRAM-SHA-256-PLUS\x00\x00\x00\x00\x20p=tls-server-end-point,,n=,r=abcd"),
		"a password of 1 GB": hello + "p\x3f\xff\xff\xff",
		"a proof of nothing": hello + sitetest.Message('p', "SCRAM-SHA-256\x00\x00\x00\x00\x0cn,,n=,r=abcd") +
			sitetest.Message('p', "c=biws,r=abcd,p="),
	} {
		conn, err := net.Dial("tcp", r.Addr)
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(8 * time.Second)) // before the end of the time for a log-in
		io.WriteString(conn, packet)
		conn.(*net.TCPConn).CloseWrite()
		answer, err := io.ReadAll(conn)
		if sitetest.IsTimeout(err) {
			t.Errorf("%s: the connection stays open", name)
		}
		if strings.Contains(string(answer), "R\x00\x00\x00\x08\x00\x00\x00\x00") {
			t.Errorf("%s: let in", name)
		}
		conn.Close()
	}
}

// outcome sends bytes, a Sync and a ROLLBACK, and writes down the replies, to
// the row of a closing SELECT: the types of the messages, with SQLSTATEs.
func outcome(t *testing.T, url, packets string) string {
	t.Helper()
	h := sitetest.Hijack(t, url)
	defer h.Conn.Close()
	sync := sitetest.Message('S', "")
	if _, err := io.WriteString(h.Conn,
		packets+sync+sitetest.Message('Q', "ROLLBACK\x00")+sitetest.Message('Q', "SELECT 'end'\x00")); err != nil {
		return "closed"
	}
	seen := ""
	for {
		msg, err := h.Frontend.Receive()
		if sitetest.IsTimeout(err) {
			return seen + " nothing more"
		}
		if err != nil {
			return seen + " closed"
		}
		switch m := msg.(type) {
		case *pgproto3.ErrorResponse:
			seen += " " + m.Severity + m.Code
		case *pgproto3.DataRow:
			if string(m.Values[0]) == "end" {
				return seen + " end"
			}
			seen += " D"
		case *pgproto3.ReadyForQuery:
			seen += " Z" + string(m.TxStatus)
		case *pgproto3.CommandComplete:
			seen += " " + string(m.CommandTag)
		case *pgproto3.NoticeResponse:
		default:
			seen += " " + strings.TrimPrefix(fmt.Sprintf("%T", m), "*pgproto3.")
		}
	}
}

// testPacketsAfter sends broken messages about statements that are protected.
func testPacketsAfter(t *testing.T, s *sitetest.Site, r *sitetest.Running) {
	good := parse("p", "SELECT count(*) FROM patients WHERE birth_year > $1")
	begin := query("BEGIN")
	sameOutcomes(t, s, r, map[string]string{
		"a Parse without end":   sitetest.Message('P', "p"),
		"a Parse without types": sitetest.Message('P', "p\x00SELECT count(*) FROM patients\x00"),
		"a Parse with a type too few": sitetest.Message('P',
			"p\x00SELECT count(*) FROM patients WHERE id = $1\x00\x00\x02\x00\x00\x00\x17"),
		"a Parse with -1 types":    sitetest.Message('P', "p\x00SELECT count(*) FROM patients WHERE id = $1\x00\xff\xff"),
		"a Parse with more behind": sitetest.Message('P', "p\x00SELECT count(*) FROM patients\x00\x00\x00more"),
		"a Parse of an unknown type": sitetest.Message('P',
			"p\x00SELECT count(*) FROM patients WHERE id = $1\x00\x00\x01\x7f\xff\xff\xff"),
		"a Parse of two statements":     parse("p", "SELECT count(*) FROM patients; SELECT count(*) FROM patients"),
		"a Parse twice":                 good + good,
		"a Bind without end":            good + sitetest.Message('B', "p"),
		"a Bind to nothing":             bind("", "nosuch"),
		"a Bind without parameters":     good + bind("", "p"),
		"a Bind with two":               good + bindRest("", "p", "\x00\x00\x00\x02\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00"),
		"a Bind with -1 parameters":     good + bindRest("", "p", "\x00\x00\xff\xff\x00\x00"),
		"a Bind with a length too long": good + bindRest("", "p", "\x00\x00\x00\x01\x00\x00\x10\x00"+"1\x00\x00"),
		"a Bind with a length of -2":    good + bindRest("", "p", "\x00\x00\x00\x01\xff\xff\xff\xfe\x00\x00"),
		"a Bind with three formats":     good + bindRest("", "p", "\x00\x03\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x011\x00\x00"),
		"a Bind with format 7":          good + bindRest("", "p", "\x00\x01\x00\x07\x00\x01\x00\x00\x00\x011\x00\x00"),
		"a Bind with a bad number":      good + bindRest("", "p", "\x00\x00\x00\x01\x00\x00\x00\x01x\x00\x00"),
		"a Bind with bytes for text":    good + bindRest("", "p", "\x00\x00\x00\x01\x00\x00\x00\x02\xff\xfe\x00\x00"),
		"a Bind with a zero":            good + bindRest("", "p", "\x00\x00\x00\x01\x00\x00\x00\x02"+"1\x00"+"\x00\x00"),
		"an Execute of nothing":         execute("nosuch", 0),
		"an Execute without end":        sitetest.Message('E', "p"),
		"an Execute with more":          sitetest.Message('E', "\x00\x00\x00\x00\x00more"),
		"a Describe of nothing":         sitetest.Message('D', "Snosuch\x00"),
		"a Describe of a kind":          good + sitetest.Message('D', "Xp\x00"),
		"a Describe without a kind":     sitetest.Message('D', ""),
		"a Close of a kind":             good + sitetest.Message('C', "Xp\x00"),
		"a Close of nothing":            sitetest.Message('C', "Snosuch\x00"),
		"a Query without end":           sitetest.Message('Q', "SELECT count(*) FROM patients"),
		"a Query with more":             query("SELECT 1\x00SELECT count(*) FROM patients"),
		"an empty Query":                query(""),
		"COPY data and no COPY":         sitetest.Message('d', "1\t2\n") + sitetest.Message('c', "") + sitetest.Message('f', "no\x00"),
		"a failed transaction":          begin + query("SELECT 1/0") + good,
		"a Bind in a failed transaction": begin + good + synced + query("SELECT 1/0") +
			bound("", "p", "1990") + execute("", 0),
		"an error and what is skipped":   parse("", "SELECT 1/0") + bind("", "") + execute("", 0) + good + bound("", "p", "1990"),
		"a Query among skipped messages": parse("", "syntax error") + query("SELECT count(*) FROM patients"),
		"a portal that has ended":        parse("", "SELECT 1") + bind("x", "") + synced + execute("x", 0),
		"many Sync":                      strings.Repeat(synced, 50),
		"many Flush":                     strings.Repeat(flush, 50),
	})
}

// testPacketsThatEnd sends messages for which Postgres ends a session.
func testPacketsThatEnd(t *testing.T, _ *sitetest.Site, r *sitetest.Running) {
	for name, packets := range map[string]string{
		"an unknown type":        sitetest.Message('z', ""),
		"a backend's message":    sitetest.Message('T', "\x00\x00"),
		"length 0":               "Q\x00\x00\x00\x00",
		"length 3":               "Q\x00\x00\x00\x03",
		"a negative length":      "Q\xff\xff\xff\xff",
		"a message of 1 GB":      "Q\x3f\xff\xff\xff",
		"a password":             sitetest.Message('p', "secret\x00"),
		"zeros":                  strings.Repeat("\x00", 100),
		"a start-up packet":      sitetest.StartUp(3<<16, "user\x00ana\x00\x00"),
		"half a message":         "P\x00\x00\x01\x00p\x00SELECT count(*) FROM patients",
		"a lie about the length": "Q\x00\x00\x00\x06SELECT count(*) FROM patients\x00",
	} {
		h := sitetest.Hijack(t, r.URL("ana"))
		io.WriteString(h.Conn, packets)
		if c, ok := h.Conn.(*net.TCPConn); ok {
			c.CloseWrite()
		}
		rest, err := io.ReadAll(h.Conn)
		if sitetest.IsTimeout(err) {
			t.Errorf("%s: the session goes on", name)
		}
		if strings.Contains(string(rest), "XX000") {
			t.Errorf("%s: %q", name, rest)
		}
		h.Conn.Close()
	}
}
