package attacks_test

import (
	big "encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"dpproxy/internal/sitetest"
)

// TestAttacksOnTheWire are attacks that need the protocol: the meaning of a
// name changes inside a pipeline, parameters lie about their types, analysts look at
// each other.
func TestAttacksOnTheWire(t *testing.T) {
	t.Parallel()
	schema := "CREATE TABLE cust (uid int PRIMARY KEY, name text NOT NULL, day date, score float8, amount numeric);" +
		"CREATE TABLE orders (oid int PRIMARY KEY, uid int NOT NULL REFERENCES cust);" +
		"INSERT INTO cust SELECT g, 'user' || g, '2024-01-01', g, g FROM generate_series(1, 1000) g; " +
		"INSERT INTO orders SELECT g, g FROM generate_series(1, 1000) g"
	s := sitetest.New(t, schema, `
privacy_unit: {name: customer, budget: {epsilon: 9000}}
tables:
  cust: {unit: uid}
  orders: {unit: uid, max_rows: 3}
analysts:
  ana: {password: "VERIFIER", tables: [cust, orders]}
  eve: {password: "VERIFIER", tables: [cust]}
`)
	r := s.Run(t)
	for _, c := range []struct {
		name string
		test func(*testing.T, *sitetest.Site, *sitetest.Running)
	}{
		{"a name changes between Parse and Bind", testNameChanges},
		{"the lexer changes inside a pipeline", testLexerChanges},
		{"parameters", testLyingParameters},
		{"other analysts", testOtherAnalysts},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, s, r) })
	}
}

// step is one statement of a pipeline; without text it binds a statement that is
// already there.
type step struct{ name, sql string }

// pipeline sends the steps with one Sync behind them. It returns the first column
// of all rows, and the first error.
func pipeline(t *testing.T, conn *pgconn.PgConn, steps ...step) (cells []string, err error) {
	t.Helper()
	f := conn.Frontend()
	for _, st := range steps {
		if st.sql != "" {
			f.Send(&pgproto3.Parse{Name: st.name, Query: st.sql})
		}
		f.Send(&pgproto3.Bind{PreparedStatement: st.name})
		f.Send(&pgproto3.Execute{})
	}
	f.Send(&pgproto3.Sync{})
	if err := f.Flush(); err != nil {
		t.Fatal(err)
	}
	for {
		msg, failed := f.Receive()
		if failed != nil {
			t.Fatal(failed)
		}
		switch m := msg.(type) {
		case *pgproto3.DataRow:
			cells = append(cells, string(m.Values[0]))
		case *pgproto3.ErrorResponse:
			err = pgconn.ErrorResponseToPgError(m)
		case *pgproto3.ReadyForQuery:
			return cells, err
		}
	}
}

func testNameChanges(t *testing.T, s *sitetest.Site, r *sitetest.Running) {
	conn := sitetest.Dial(t, r.URL("ana")).PgConn()
	const count = "SELECT count(*) FROM cust"
	for _, c := range []struct {
		name    string
		steps   []step
		charges int
		empty   bool // the last answer is that of an empty temporary table
	}{
		{"asked thrice", []step{{"c", count}, {name: "c"}, {name: "c"}}, 3, false},
		{"shadowed behind Parse", []step{{"", "CREATE TEMP TABLE cust (uid int)"}, {name: "c"}}, 0, true},
		{"and again", []step{{name: "c"}, {"", "DROP TABLE pg_temp.cust"}, {name: "c"}}, 1, false},
		{
			"shadowed and dropped before Bind",
			[]step{{"", "CREATE TEMP TABLE cust (uid int)"}, {"", "DROP TABLE cust"}, {name: "c"}},
			1, false,
		},
		{"hidden by the path", []step{{"", "SET LOCAL search_path = pg_temp"}, {name: "c"}}, 0, false},
		{"the name given to another statement", []step{{"", "DEALLOCATE c"}, {"c", "SELECT 0"}, {name: "c"}}, 0, true},
	} {
		before, _ := sitetest.Charges(t, s)
		cells, err := pipeline(t, conn, c.steps...)
		after, _ := sitetest.Charges(t, s)
		if after-before != c.charges {
			t.Errorf("%s: %d charges, want %d (%v)", c.name, after-before, c.charges, err)
		}
		if c.empty && (err != nil || cells[len(cells)-1] != "0") || !c.empty && c.charges > 0 && err != nil {
			t.Errorf("%s: %v, %v", c.name, cells, err)
		}
		if answers := len(cells) - strings.Count(strings.Join(cells, " ")+" ", "0 "); answers > c.charges+1 {
			t.Errorf("%s: %d answers for %d charges", c.name, answers, c.charges)
		}
	}
}

func testLexerChanges(t *testing.T, s *sitetest.Site, r *sitetest.Running) {
	for _, set := range []string{
		"SET standard_conforming_strings = off", "SET client_encoding = SJIS",
		"SET search_path = pg_temp, public, pg_catalog",
	} {
		conn := sitetest.Dial(t, r.URL("ana")).PgConn()
		before, _ := sitetest.Charges(t, s)
		cells, err := pipeline(t, conn, step{"", set}, step{"", `SELECT count(*) FROM cust WHERE name = '\' OR 1 = 1 --'`})
		after, _ := sitetest.Charges(t, s)
		if len(cells) > after-before {
			t.Errorf("%s: answers %v for %d charges", set, cells, after-before)
		}
		if err == nil && len(cells) == 0 {
			t.Errorf("%s: neither an answer nor an error", set)
		}
		if sitetest.SQLState(err) == "PB009" {
			t.Errorf("%s: the read failed: %v", set, err)
		}
	}
}

// Whatever type a parameter is declared with, and whatever its bytes, the statement must not
// fail in the read of protected data.
func testLyingParameters(t *testing.T, s *sitetest.Site, r *sitetest.Running) {
	conn := sitetest.Dial(t, r.URL("ana")).PgConn()
	nan := big.BigEndian.AppendUint64(nil, math.Float64bits(math.NaN()))
	odd := big.BigEndian.AppendUint64(nil, 0x7ff0000000000001) // a signalling NaN
	minus := big.BigEndian.AppendUint64(nil, math.Float64bits(math.Copysign(0, -1)))
	digits := []byte(strings.Repeat("9", 16000) + "." + strings.Repeat("9", 16000))
	days := big.BigEndian.AppendUint32(nil, math.MaxInt32)     // infinity
	beyond := big.BigEndian.AppendUint32(nil, math.MaxInt32-1) // a date that no text can give
	for _, c := range []struct {
		column string
		oid    uint32
		format int16
		value  []byte
	}{
		{"score", 701, 1, nan},
		{"score", 701, 1, odd},
		{"score", 701, 1, minus},
		{"score", 0, 0, []byte("-Infinity")},
		{"score", 20, 0, []byte("9223372036854775807")},
		{"score", 1700, 0, digits},
		{"score", 700, 0, []byte("1e38")},
		{"amount", 1700, 0, digits},
		{"amount", 1700, 0, []byte("NaN")},
		{"amount", 1700, 0, []byte("-Infinity")},
		{"amount", 1700, 1, []byte{0, 1, 0, 0, 0, 0, 0, 0, 0x30, 0x39}},
		{"amount", 701, 1, nan},
		{"day", 1082, 1, days},
		{"day", 1082, 1, beyond},
		{"day", 1114, 0, []byte("infinity")},
		{"day", 1114, 1, make([]byte, 8)},
		{"day", 0, 0, []byte("epoch")},
		{"day", 0, 0, []byte("-infinity")},
		{"uid", 26, 0, []byte("1")},
		{"uid", 2205, 0, []byte("cust")},
		{"uid", 705, 0, []byte("1")},
		{"uid", 2249, 0, []byte("(1)")},
		{"uid", 0, 1, []byte{1}},
		{"uid", 1007, 0, []byte("{1}")},
		{"uid", 21, 1, []byte{0x80, 0}},
		{"name", 19, 0, []byte("x")},
		{"name", 1042, 0, []byte("x   ")},
		{"name", 17, 1, []byte{0xff}},
		{"name", 25, 1, []byte{0xff}},
		{"name", 25, 1, []byte("a\x00b")},
		{"name", 2278, 0, []byte("")},
		{"name", 0, 0, nil},
	} {
		for _, op := range []string{"=", "<", ">=", "IS DISTINCT FROM", "LIKE"} {
			sql := fmt.Sprintf("SELECT count(*) FROM cust WHERE (uid = 1 OR name = 'x') AND %s %s $1", c.column, op)
			before, _ := sitetest.Charges(t, s)
			res := conn.ExecParams(t.Context(), sql, [][]byte{c.value}, []uint32{c.oid}, []int16{c.format}, nil).Read()
			after, _ := sitetest.Charges(t, s)
			free := c.value == nil && slices.Contains([]string{"=", "<", ">="}, op) // NULL, of which no row is told
			if res.Err != nil == (after > before) && !free || free && (res.Err != nil || after > before) {
				t.Errorf("%s with type %d and %.20q: %d charges, %v", sql, c.oid, c.value, after-before, res.Err)
			}
		}
	}
}

func testOtherAnalysts(t *testing.T, _ *sitetest.Site, r *sitetest.Running) {
	ana, eve := sitetest.Dial(t, r.URL("ana")), sitetest.Dial(t, r.URL("eve"))
	const secret = "SELECT count(*) FROM orders WHERE uid = 424242"
	sitetest.Exec(t, ana, secret)
	if _, err := eve.Exec(t.Context(), secret); sitetest.SQLState(err) != "42501" {
		t.Errorf("a table without a grant: %v", err)
	}
	for _, sql := range []string{
		"SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%4242' || '42%'",
		"SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%4242' || '42%'",
		"SELECT count(*) FROM pg_cursors WHERE statement LIKE '%4242' || '42%'",
		"SELECT count(*) FROM dp.budget WHERE kind = 'analyst' AND scope <> 'eve'",
		"SELECT count(*) FROM pg_stat_activity WHERE usename = 'ana' AND (client_addr IS NOT NULL OR application_name <> '')",
	} {
		var n int
		if err := eve.QueryRow(t.Context(), sql).Scan(&n); err != nil || n != 0 {
			t.Errorf("%s: %d, %v", sql, n, err)
		}
	}
	_, err := eve.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'ana'")
	if sitetest.SQLState(err) != "42501" {
		t.Errorf("another's session was ended: %v", err)
	}
	if _, err := eve.Exec(t.Context(), "SET ROLE ana"); sitetest.SQLState(err) != "42501" {
		t.Errorf("another's role was taken: %v", err)
	}
	sitetest.Exec(t, ana, "SELECT 1")
}
