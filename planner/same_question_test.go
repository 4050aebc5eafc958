package planner_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/catalog"
	"dpproxy/dp"
	"dpproxy/parser"
	"dpproxy/planner"
	"dpproxy/planner/plannertest"
	"dpproxy/planner/policy"
)

// store is a schema whose constraints say of ratings and channels that they have no other values than the policy declares, and of status
// nothing.
func store(t *testing.T) *policy.Model {
	t.Helper()
	col, builtin := plannertest.Column, plannertest.Builtin
	orders := &catalog.Table{
		Name: plannertest.Name("orders"), Kind: 'r', Keys: plannertest.Primary(), Columns: []catalog.Column{
			col("id", plannertest.Int4, true), col("customer_id", plannertest.Int4, true),
			col("ordered_at", builtin("timestamp", "timestamp without time zone", 1114, -1), false),
			col("d", plannertest.Date, false), col("total", plannertest.Numeric10, false), col("discount", plannertest.Float8, false),
			col("qty", plannertest.Int4, false), col("rating", plannertest.Int4, false), col("status", plannertest.Text, false),
			col("channel", plannertest.Text, true), col("paid", plannertest.Boolean, false), col("big", plannertest.Bigint, false),
			col("note", plannertest.Text, false),
		},
		Foreign: []catalog.ForeignKey{plannertest.References("customer_id", "customers")},
		Checks: []catalog.Check{
			{Expr: "((rating >= 1) AND (rating <= 5))", Columns: []string{"rating"}},
			{Expr: "(channel = ANY (ARRAY['web'::text, 'shop'::text]))", Columns: []string{"channel"}},
		},
	}
	customers := &catalog.Table{Name: plannertest.Name("customers"), Kind: 'r', Keys: plannertest.Primary(), Columns: []catalog.Column{
		col("id", plannertest.Int4, true), col("region", plannertest.Text, false),
	}}
	regions := &catalog.Table{
		Name: plannertest.Name("regions"), Kind: 'r', Keys: []catalog.Key{{Name: "code", Columns: []string{"code"}}},
		Columns: []catalog.Column{col("code", plannertest.Text, true), col("name", plannertest.Text, true)},
	}
	return plannertest.CheckedBy(t, policy.Policy{Unit: "customer", Tables: []policy.TablePolicy{
		{Name: regions.Name, Public: true},
		{Name: customers.Name, UnitColumn: "id", Columns: map[string]policy.ColumnPolicy{"region": plannertest.Values("n", "s")}},
		{Name: orders.Name, UnitColumn: "customer_id", MaxRows: 50, MaxPartitions: 3, Columns: map[string]policy.ColumnPolicy{
			"ordered_at": plannertest.Bounds("2020-01-01", "2025-12-31"), "d": plannertest.Bounds("2020-01-01", "2025-12-31"),
			"total": plannertest.Bounds("0", "1000"), "discount": plannertest.Bounds("0", "1"), "qty": plannertest.Bounds("0", "100"),
			"rating": plannertest.Bounds("1", "5"), "status": plannertest.Values("a", "b", "c"),
			"channel": plannertest.Values("web", "shop"),
		}},
	}}, &catalog.Schema{
		ServerVersion: plannertest.ServedVersion, TimeZones: map[string]bool{"etc/utc": true, "asia/tokyo": true, "asia/kolkata": true},
		Tables:     map[catalog.Name]*catalog.Table{customers.Name: customers, orders.Name: orders, regions.Name: regions},
		PublicRows: map[catalog.Name]int64{regions.Name: 3},
	})
}

// storeRows are rows with values that are undeclared, out of bounds, not finite, NULL, and next to each other.
const storeRows = `
CREATE SCHEMA shop; SET search_path = shop;
CREATE TABLE customers (id int PRIMARY KEY, region text);
INSERT INTO customers VALUES (1, 'n'), (2, 's'), (3, NULL), (4, 'N'), (5, 'n');
CREATE TABLE everything (id int PRIMARY KEY, customer_id int NOT NULL, ordered_at timestamp, d date, total numeric(10,2), discount float8,
  qty int, rating int CHECK (rating BETWEEN 1 AND 5), status text, channel text NOT NULL CHECK (channel IN ('web', 'shop')), paid bool,
  big bigint, note text);
INSERT INTO everything SELECT n, n % 4 + 1,
  (ARRAY['2022-12-31 23:59:59.999999', '2023-01-01', '2023-01-31', '2023-01-31 00:00:01', '2023-01-31 23:59:59.5', '2023-02-01',
    '2023-02-01 12:00', NULL, '2019-06-01', '2031-01-01', 'infinity', '-infinity', '2023-01-15 10:00']::timestamp[])[n % 13 + 1],
  (ARRAY['2022-12-31', '2023-01-01', '2023-01-02', '2023-01-03', '2023-01-31', '2023-02-01', NULL, '2019-06-01', '2031-01-01',
    'infinity', '-infinity']::date[])[n % 11 + 1],
  (ARRAY[9.99, 10, 10.01, 10.02, NULL, 'NaN', -5, 5000, 1, 2, 2.01, 0.99, 1.5]::numeric[])[n * 5 % 13 + 1],
  (ARRAY[0.5, 0.50000000001, 0.6, NULL, 'NaN', 'Infinity', '-Infinity', -3, 7]::float8[])[n * 2 % 9 + 1],
  (ARRAY[1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, NULL, -2147483648, 2147483647, 0]::int[])[n * 7 % 15 + 1],
  (ARRAY[1, 2, 3, 4, 5, NULL]::int[])[n * 5 % 6 + 1],
  (ARRAY['a', 'b', 'c', NULL, 'z', 'A', 'ab', '']::text[])[n * 3 % 8 + 1],
  (ARRAY['web', 'shop'])[n % 2 + 1], (ARRAY[true, false, NULL]::bool[])[n * 2 % 3 + 1],
  (ARRAY[9223372036854775807, 9223372036854775806, 9223372036854775700, NULL, -9223372036854775808]::bigint[])[n % 5 + 1],
  (ARRAY['x', 'x ', 'X', '', NULL, 'xx', 'Xy', 'ax']::text[])[n * 5 % 8 + 1]
FROM generate_series(1, 900) n;
CREATE VIEW orders AS SELECT * FROM everything WHERE hashint4(id * 31 + current_setting('shop.part')::int) % 3 = 0;`

// storeRegions are the public rows, which the mirror has as well.
const storeRegions = `
CREATE TABLE regions (code text PRIMARY KEY, name text NOT NULL);
INSERT INTO regions VALUES ('n', 'north'), ('s', 'south'), ('x', 'north');`

// A spelling is a statement with its parameters.
type spelling struct {
	sql  string
	oids []uint32
	args []string
}

// spellings reads the paragraphs of a file.
func spellings(t *testing.T, file string) (paragraphs [][]spelling) {
	t.Helper()
	text, err := os.ReadFile("testdata/questions/" + file)
	if err != nil {
		t.Fatal(err)
	}
	for paragraph := range strings.SplitSeq(string(text), "\n\n") {
		var list []spelling
		for line := range strings.Lines(paragraph) {
			line = strings.TrimSpace(line)
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			sql, params, _ := strings.Cut(line, " <- ")
			if !strings.HasPrefix(sql, "SELECT") && !strings.HasPrefix(sql, "WITH") {
				sql = "SELECT count(*) FROM orders WHERE " + sql
			}
			s := spelling{sql: sql}
			for _, p := range strings.Fields(params) {
				oid, arg, _ := strings.Cut(p, ":")
				n, err := strconv.Atoi(oid)
				if err != nil {
					t.Fatal(err)
				}
				s.oids, s.args = append(s.oids, uint32(n)), append(s.args, arg)
			}
			list = append(list, s)
		}
		if len(list) > 0 {
			paragraphs = append(paragraphs, list)
		}
	}
	return paragraphs
}

// question is the question that a statement asks, or the empty text if it reads nothing.
func (s spelling) question(t *testing.T, conn *pgconn.PgConn, cat *policy.Model) string {
	t.Helper()
	script, err := parser.Parse(s.sql, planner.Names(cat))
	if err != nil {
		t.Fatalf("%s: %v", s.sql, err)
	}
	q, err := planner.Analyze(nil, cat, script.Statements[0], s.oids)
	if err != nil {
		t.Fatalf("%s: %v", s.sql, err)
	}
	p, err := q.Specialize(nil, evaluate(t, conn, q, s.oids, s.args), planner.Settings{
		EpsilonPico: dp.PicoPerUnit, DeltaAtto: 1e8, Mechanism: "auto", Alpha: 0.05,
		Limits: policy.Limits{PublicFanout: 1000, Work: 1_000_000},
	})
	if err != nil {
		t.Fatalf("%s: %v", s.sql, err)
	}
	return string(bytes.Join(p.Blocks[0].Question(), []byte{0}))
}

// exact returns the exact answers of a statement on parts of the rows: each part is a database of its own.
func (s spelling) exact(t *testing.T, conn *pgconn.PgConn) (answers []string) {
	t.Helper()
	values := make([][]byte, len(s.args))
	for i, a := range s.args {
		values[i] = []byte(a)
	}
	const parts = 6
	for part := range parts {
		plannertest.Run(t, conn, fmt.Sprintf("SET shop.part = %d", part))
		res := conn.ExecParams(t.Context(), s.sql, values, s.oids, nil, nil).Read()
		if res.Err != nil {
			t.Fatalf("%s: %v", s.sql, res.Err)
		}
		var rows []string
		for _, row := range res.Rows {
			rows = append(rows, string(bytes.Join(row, []byte("|"))))
		}
		slices.Sort(rows)
		answers = append(answers, strings.Join(rows, "\n"))
	}
	return answers
}

// storeFilled has the rows of the shop on the server of the tests.
func storeFilled(t *testing.T) *pgconn.PgConn {
	t.Helper()
	conn := connect(t)
	plannertest.Run(t, conn, "BEGIN;"+storeRows+storeRegions)
	return conn
}

// storeMirror is a session of the mirror of the shop.
func storeMirror(t *testing.T) *pgconn.PgConn {
	t.Helper()
	conn := connect(t)
	plannertest.Run(t, conn, "BEGIN;"+storeRegions)
	return conn
}

// TestSameQuestions holds that equal questions that are written differently are one question, and that they are equal: on a database with
// values that are undeclared, out of bounds, not finite and NULL.
func TestSameQuestions(t *testing.T) {
	cat, conn, rows := store(t), storeMirror(t), storeFilled(t)
	pairs, one := 0, 0
	for _, list := range spellings(t, "same") {
		first, answers := list[0].question(t, conn, cat), list[0].exact(t, rows)
		for _, s := range list[1:] {
			pairs++
			if !strings.Contains(s.sql, "HAVING") && s.sql[:10] == list[0].sql[:10] && !slices.Equal(s.exact(t, rows), answers) {
				t.Errorf("%s\n%s: they are no one question", list[0].sql, s.sql)
			}
			if s.question(t, conn, cat) == first {
				one++
			} else {
				t.Logf("another question than %s\n\t%s", list[0].sql, s.sql)
			}
		}
	}
	t.Logf("%d pairs of equal questions: %d are one", pairs, one)
	if pairs < 200 || one*100 < pairs*95 {
		t.Errorf("of %d pairs of equal questions %d are one", pairs, one)
	}
}

// TestDifferentQuestions holds that questions that look alike are never one, each two of which differ on some database.
func TestDifferentQuestions(t *testing.T) {
	cat, conn, rows := store(t), storeMirror(t), storeFilled(t)
	pairs := 0
	for _, list := range spellings(t, "different") {
		var questions []string
		var answers [][]string
		for _, s := range list {
			questions, answers = append(questions, s.question(t, conn, cat)), append(answers, s.exact(t, rows))
		}
		for i := range list {
			for j := range i {
				pairs++
				if slices.Equal(answers[i], answers[j]) {
					t.Errorf("%s\n%s: nothing shows that they differ", list[i].sql, list[j].sql)
				}
				if questions[i] == questions[j] {
					t.Errorf("%s\n%s: they are taken for one question", list[i].sql, list[j].sql)
				}
			}
		}
	}
	t.Logf("%d pairs of different questions", pairs)
	if pairs < 200 {
		t.Errorf("only %d pairs", pairs)
	}
}

// TestFractionsAreQuestions holds that the fraction of a percentile that is chosen is a part of its question, and that of one that is read
// from a histogram is none: the histogram is all that is released.
func TestFractionsAreQuestions(t *testing.T) {
	cat, conn := store(t), connect(t)
	const form = "SELECT percentile_disc(%s) WITHIN GROUP (ORDER BY qty) FROM orders"
	for _, mechanism := range []string{"exponential", "laplace"} {
		questions := map[string]bool{}
		for _, fraction := range []string{"0.5", "0.25", "0.9", "1 - 0.25"} {
			p := planWith(t, conn, cat, fmt.Sprintf(form, fraction), func(s *planner.Settings) { s.Mechanism = mechanism })
			questions[string(bytes.Join(p.Blocks[0].Question(), []byte{0}))] = true
		}
		if want := map[string]int{"exponential": 4, "laplace": 1}[mechanism]; len(questions) != want {
			t.Errorf("%s: four fractions are %d questions, want %d", mechanism, len(questions), want)
		}
	}
}

// TestClocksAreQuestions holds that a date is compared with an instant by the clock of the session: where that is not UTC, no days stand
// for instants.
func TestClocksAreQuestions(t *testing.T) {
	cat, conn := store(t), connect(t)
	asked := func(instant string) string {
		return spelling{"SELECT count(*) FROM orders WHERE d >= $1", []uint32{1184}, []string{instant}}.question(t, conn, cat)
	}
	const noon, evening = "2023-01-01T12:00:00Z", "2023-01-01T18:00:00Z"
	utc := asked(noon)
	if asked(evening) != utc {
		t.Error("an instant of the same day is another question")
	}
	plannertest.Run(t, conn, "SET TimeZone = 'Asia/Tokyo'")
	if tokyo := asked(evening); tokyo == utc || tokyo == asked(noon) {
		t.Error("days that begin at other times are one question")
	}
}

// TestFiltersOfCutRows holds that a filter is another question than a condition if rows of a unit are left out in between: conditions
// choose the rows that are kept, and filters do not.
func TestFiltersOfCutRows(t *testing.T) {
	cat, conn := store(t), storeMirror(t)
	const from = " FROM orders o JOIN orders p ON p.customer_id = o.customer_id"
	filtered := spelling{sql: "SELECT count(*) FILTER (WHERE p.qty > 6)" + from}.question(t, conn, cat)
	if filtered == (spelling{sql: "SELECT count(*)" + from + " WHERE p.qty > 6"}).question(t, conn, cat) {
		t.Error("they are one question")
	}
	if !strings.Contains(filtered, "FILTER (WHERE f1)") {
		t.Errorf("the filter is a condition: %q", filtered)
	}
}
