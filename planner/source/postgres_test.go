package source_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/mirror"
	"dpproxy/parser"
	"dpproxy/planner"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
	"dpproxy/planner/source"
)

const shopTables = `
CREATE TABLE customers (
  id int PRIMARY KEY, email text UNIQUE, name text NOT NULL, region varchar(10) NOT NULL, vip bool, joined date NOT NULL);
CREATE TABLE orders (
  id int PRIMARY KEY, customer_id int, day date NOT NULL, total numeric(10,2) NOT NULL, status text NOT NULL, note jsonb,
  labels text[], marks numeric(10,2)[]);
CREATE TABLE items (order_id int, line int, part_id int NOT NULL, qty int NOT NULL, u text, PRIMARY KEY (order_id, line));
CREATE TABLE profiles (customer_id bigint NOT NULL UNIQUE, score float8, level int NOT NULL);
CREATE TABLE emails (customer_id int UNIQUE, address text NOT NULL);
CREATE TABLE cards (customer_id int NOT NULL, kind text NOT NULL);
CREATE TABLE logins (customer_id int NOT NULL, day date NOT NULL, PRIMARY KEY (customer_id, day)) PARTITION BY RANGE (day);
CREATE TABLE logins_2024 PARTITION OF logins FOR VALUES FROM ('2020-01-01') TO ('2030-01-01');
CREATE TABLE defects (id int PRIMARY KEY, line int, order_id int NOT NULL, severity int NOT NULL);
CREATE TABLE clicks (customer int NOT NULL, day date NOT NULL, target text NOT NULL);
CREATE TABLE parts (id int PRIMARY KEY, kind text NOT NULL, maker_id int, price numeric(10,2) NOT NULL);
CREATE TABLE makers (id int PRIMARY KEY, country text NOT NULL, secret text NOT NULL);
CREATE TABLE rates (day date NOT NULL, rate numeric NOT NULL);
CREATE TABLE old_parts (id int PRIMARY KEY, kind text NOT NULL);
CREATE TABLE older_parts () INHERITS (old_parts);`

// All identifiers are from one small range, so that a join on the wrong column finds
// rows. Customer 1 has more rows than may count, customer 2 has rows that tie in
// everything; rows without a customer or an order belong to nobody.
const shopRows = `
INSERT INTO customers SELECT g, CASE WHEN g % 3 > 0 THEN 'c' || g END, 'n', (ARRAY['north','south'])[g % 2 + 1],
  CASE WHEN g % 5 > 0 THEN g % 2 = 0 END, date '2020-01-01' + g FROM generate_series(1, 12) g;
INSERT INTO orders SELECT g, CASE WHEN g % 9 = 0 THEN NULL WHEN g <= 14 THEN 1 WHEN g <= 20 THEN 2 ELSE g % 14 + 1 END,
  date '2024-01-01' + g % 4, CASE WHEN g BETWEEN 15 AND 20 THEN 5 ELSE g % 7 END,
  (ARRAY['new','old','done'])[g % 3 + 1], NULL FROM generate_series(1, 40) g;
UPDATE orders SET labels = (ARRAY['{}','{a}','{a,a,b}','{NULL,b}',NULL,'{{a,b},{c,c}}','[3:4]={d,a}'])[id % 7 + 1]::text[],
  marks = (ARRAY['{1.5}','{2,2.00,NULL}','{}'])[id % 3 + 1]::numeric[] WHERE id > 1;
UPDATE orders SET labels = '{a,b,c,a,b,c}', marks = array_fill(1.5, ARRAY[2000]) WHERE id = 1;
INSERT INTO items SELECT g % 45 + 1, g / 45, g % 12 + 1, g % 6, CASE WHEN g % 4 > 0 THEN 'c' || g % 5 END FROM generate_series(1, 130) g;
INSERT INTO profiles SELECT g, g / 20.0, g % 4 FROM generate_series(2, 13) g;
INSERT INTO emails SELECT CASE WHEN g % 4 > 0 THEN g END, 'c' || g % 6 FROM generate_series(1, 16) g;
INSERT INTO cards SELECT g % 13 + 1, (ARRAY['bolt','nut','old'])[g % 3 + 1] FROM generate_series(1, 60) g;
INSERT INTO logins SELECT g % 13 + 1, date '2024-01-01' + g / 13 FROM generate_series(1, 60) g;
INSERT INTO defects SELECT g, CASE WHEN g % 5 > 0 THEN g / 45 END, g % 45 + 1, g % 4 FROM generate_series(1, 140) g;
INSERT INTO clicks SELECT g % 15 + 1, date '2024-01-01' + g % 6, 't' || g FROM generate_series(1, 80) g;
INSERT INTO parts SELECT g, (ARRAY['bolt','nut','new'])[g % 3 + 1], CASE WHEN g % 4 > 0 THEN g % 6 END, g FROM generate_series(1, 10) g;
INSERT INTO makers SELECT g, (ARRAY['fr','de','north'])[g % 3 + 1], 's' FROM generate_series(1, 5) g;
INSERT INTO rates SELECT date '2024-01-01' + g % 3, g FROM generate_series(1, 6) g;
INSERT INTO old_parts SELECT g, 'bolt' FROM generate_series(1, 5) g;
INSERT INTO older_parts SELECT g, 'nut' FROM generate_series(3, 8) g;`

// In the tidy shop every row belongs to somebody and no cap is passed: what is read is
// what the client's own statement reads.
const tidyRows = `
DELETE FROM orders WHERE customer_id IS NULL OR customer_id > 12 OR id IN (SELECT id FROM orders WHERE customer_id = 1 OFFSET 5);
DELETE FROM orders WHERE id = 1;
UPDATE orders SET labels = CASE customer_id WHEN 1 THEN '{NULL,b}' ELSE '{a}' END::text[] WHERE customer_id < 3;
DELETE FROM items WHERE order_id NOT IN (SELECT id FROM orders);
DELETE FROM defects d WHERE NOT EXISTS (SELECT FROM items i WHERE i.order_id = d.order_id AND i.line = d.line);
DELETE FROM clicks c WHERE NOT EXISTS (SELECT FROM logins l WHERE l.customer_id = c.customer AND l.day = c.day);
DELETE FROM emails WHERE customer_id IS NULL;
DELETE FROM cards WHERE ctid IN (
  SELECT c FROM (SELECT ctid AS c, row_number() OVER (PARTITION BY customer_id) AS n FROM cards) r WHERE n > 4);`

// filledShop is the shop whose public tables have the sizes of those of the server.
func filledShop(t *testing.T, conn *pgx.Conn, joinRows int64) *policy.Model {
	t.Helper()
	return shopOf(t, filledSchema(t, conn), joinRows)
}

func filledSchema(t *testing.T, conn *pgx.Conn) *catalog.Schema {
	t.Helper()
	s, public := shopSchema(), []catalog.Name{name("parts"), name("makers"), name("rates"), name("old_parts")}
	var err error
	if s.PublicRows, err = mirror.CountRows(t.Context(), conn, public); err != nil {
		t.Fatal(err)
	}
	if s.PublicRepeats, err = mirror.CountRepeats(t.Context(), conn, s.PublicRows); err != nil {
		t.Fatal(err)
	}
	return s
}

func shopServer(t *testing.T) *pgx.Conn {
	t.Helper()
	conn := emptyServer(t)
	run(t, conn.PgConn(), shopTables+shopRows)
	run(t, conn.PgConn(), "ANALYZE")
	return conn
}

// A shopRow is one row that is read: its unit, and the texts of the columns, "NULL" for NULL.
type shopRow []string

func (r shopRow) unit() string { return r[0] }

// readRows reads what a source yields, sorted.
func readRows(t *testing.T, conn *pgx.Conn, s *source.ReadSource, values []scalar.Value) []shopRow {
	t.Helper()
	list := []string{s.Unit}
	list = append(list, s.Columns...)
	for i := range list {
		list[i] = "COALESCE(CAST(" + list[i] + " AS text), 'NULL')"
	}
	rows := query(t, conn, "SELECT "+strings.Join(list, ", ")+" FROM "+s.From+" WHERE "+s.Where, values)
	slices.SortFunc(rows, slices.Compare[shopRow])
	return rows
}

func query(t *testing.T, conn *pgx.Conn, sql string, values []scalar.Value) []shopRow {
	t.Helper()
	var params [][]byte
	for i, v := range values {
		if strings.Contains(sql, "$"+strconv.Itoa(i+1)) {
			params = slices.Grow(params, i+1)[:i+1]
			params[i] = v.Bytes
		}
	}
	types := make([]uint32, len(params)) // of those that the statement leaves out, any will do
	for i := range types {
		if !strings.Contains(sql, "$"+strconv.Itoa(i+1)) {
			types[i] = 25
		}
	}
	res := conn.PgConn().ExecParams(t.Context(), sql, params, types, nil, nil).Read()
	if res.Err != nil {
		t.Fatalf("%v\n%s", res.Err, sql)
	}
	var rows []shopRow
	for _, cells := range res.Rows {
		var row shopRow
		for _, c := range cells {
			row = append(row, string(c))
		}
		rows = append(rows, row)
	}
	return rows
}

// readShop resolves a statement as if the server were its mirror.
func readShop(t *testing.T, conn *pgx.Conn, cat *policy.Model, sql string) (*source.ReadSource, []scalar.Value, error) {
	t.Helper()
	script, err := parser.Parse(sql, planner.Names(cat))
	if err != nil {
		return nil, nil, err
	}
	st := script.Statements[0]
	switch {
	case st.Refusal != nil:
		return nil, nil, st.Refusal
	case len(st.Blocks) == 0:
		return nil, nil, fmt.Errorf("no block")
	case st.Blocks[0].Err != nil:
		return nil, nil, st.Blocks[0].Err
	}
	var values []scalar.Value
	s, err := source.ReadBlock(cat, st.Blocks[0], func(folds []scalar.Fold) []scalar.Value {
		for _, f := range folds {
			var text *string
			if err := conn.QueryRow(t.Context(), "SELECT CAST("+f.SQL+" AS text)").Scan(&text); err != nil {
				t.Fatalf("%s: %v", f.SQL, err)
			}
			v := scalar.Value{OID: f.Type.OID}
			if text != nil {
				v.Bytes = []byte(*text)
			}
			values = append(values, v)
		}
		return values
	})
	return s, values, err
}

// A readStatement is a statement whose source was read.
type readStatement struct {
	sql    string
	source *source.ReadSource
	values []scalar.Value
	rows   []shopRow
}

// TestOwnership reads every accepted statement of testdata/source, and others made at
// random, with and without each unit: the rows of all others must stay as they are,
// whatever the order of rows in the tables; and what is proved of the rows must hold.
// DPPROXY_SOURCES sets how many are made.
func TestOwnership(t *testing.T) {
	conn := shopServer(t)
	golden := goldenSources(t, "testdata/source")
	n, _ := strconv.Atoi(os.Getenv("DPPROXY_SOURCES"))
	random := randomSources(max(n, 400))
	customers := map[string]string{}
	for _, id := range []string{"1", "2", "7", "13"} {
		customers[id], customers["p"+id] = removal(id), removal(id)
	}
	t.Run("rows of nobody left out", func(t *testing.T) {
		read := shopOwnership{conn, filledShop(t, conn, 4), customers}.test(t, slices.Concat(golden, random))
		if refused := len(golden) + len(random) - len(read); refused > len(random)*9/10 {
			t.Errorf("only %d random statements were accepted", len(random)-refused)
		}
		for _, sql := range golden {
			if !slices.ContainsFunc(read, func(st readStatement) bool { return st.sql == sql }) {
				t.Errorf("refused: %s", sql)
			}
		}
		if bounded := slices.DeleteFunc(read, func(st readStatement) bool { return st.source.Rows < 2 }); len(bounded) < 10 {
			t.Errorf("only %d statements have rows of a unit that are public", len(bounded))
		}
	})
	t.Run("rows of nobody counted", func(t *testing.T) {
		units := maps.Clone(customers)
		for _, order := range []int{9, 18, 36} { // without a customer
			units[orderOfNobody(order)] = removalOfOrder(order)
		}
		cat := shopOf(t, filledSchema(t, conn), 4, policy.NobodyRows)
		read := shopOwnership{conn, cat, units}.test(t, slices.Concat(golden, goldenSources(t, "testdata/nobody"), random[:len(random)/2]))
		ofNobody := 0
		for _, st := range read {
			if slices.ContainsFunc(st.rows, func(r shopRow) bool { return strings.HasPrefix(r.unit(), "n") }) {
				ofNobody++
			}
		}
		if t.Logf("%d statements have rows of nobody", ofNobody); ofNobody < 30 {
			t.Errorf("only %d statements have rows of nobody", ofNobody)
		}
	})
}

// orderOfNobody is the unit of an order without a customer, and removalOfOrder deletes its rows.
func orderOfNobody(id int) string { return fmt.Sprintf(`n"public"."orders":01%08x`, id) }

func removalOfOrder(id int) string {
	return fmt.Sprintf(`DELETE FROM defects WHERE order_id = %[1]d AND line IS NOT NULL; DELETE FROM items WHERE order_id = %[1]d;
		DELETE FROM orders WHERE id = %[1]d AND customer_id IS NULL`, id)
}

// A shopOwnership tests what is read of a shop by a policy, with and without the units that are deleted by some SQL.
type shopOwnership struct {
	conn  *pgx.Conn
	cat   *policy.Model
	units map[string]string
}

// test returns the statements that are accepted.
func (o shopOwnership) test(t *testing.T, statements []string) (all []readStatement) {
	t.Helper()
	conn := o.conn.PgConn()
	for _, sql := range statements {
		if s, values, err := readShop(t, o.conn, o.cat, sql); err == nil {
			st := readStatement{sql, s, values, readRows(t, o.conn, s, values)}
			checkProofs(t, o.conn, st)
			all = append(all, st)
		}
	}
	t.Logf("%d of %d statements accepted", len(all), len(statements))
	removed := map[string]bool{}
	for unit, removal := range o.units {
		if removed[removal] {
			continue
		}
		removed[removal] = true
		run(t, conn, "BEGIN; "+removal)
		same := func(r shopRow) bool { return o.units[r.unit()] == removal }
		for _, st := range all {
			rest := slices.DeleteFunc(slices.Clone(st.rows), same)
			if got := readRows(t, o.conn, st.source, st.values); !slices.EqualFunc(got, rest, slices.Equal[shopRow]) {
				t.Errorf("%s\nwithout unit %s, rows of others change: %d, then %d\nFROM %s\nWHERE %s",
					st.sql, unit, len(rest), len(got), st.source.From, st.source.Where)
			}
		}
		run(t, conn, "ROLLBACK")
	}
	run(t, conn, "BEGIN; SET LOCAL enable_hashjoin = off; SET LOCAL enable_seqscan = off; SET LOCAL enable_hashagg = off")
	for _, table := range []string{"customers", "orders", "items", "emails", "logins"} {
		run(t, conn, fmt.Sprintf("CREATE TEMP TABLE s AS SELECT * FROM %[1]s ORDER BY random(); "+
			"DELETE FROM %[1]s; INSERT INTO %[1]s SELECT * FROM s; DROP TABLE s", table))
	}
	for _, st := range all {
		if got := readRows(t, o.conn, st.source, st.values); !slices.EqualFunc(got, st.rows, slices.Equal[shopRow]) {
			t.Errorf("%s\nother rows after the heap was shuffled", st.sql)
		}
	}
	run(t, conn, "ROLLBACK")
	return all
}

func goldenSources(t *testing.T, folder string) []string {
	t.Helper()
	var all []string
	datadriven.Walk(t, folder, func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(_ *testing.T, d *datadriven.TestData) string {
			if !strings.Contains(path, "refused") {
				all = append(all, d.Input)
			}
			return d.Expected
		})
	})
	return all
}

// removal deletes all rows of a unit.
func removal(unit string) string {
	return fmt.Sprintf(`DELETE FROM defects WHERE order_id IN (SELECT id FROM orders WHERE customer_id = %[1]s) AND line IS NOT NULL;
		DELETE FROM clicks WHERE customer = %[1]s; DELETE FROM items WHERE order_id IN (SELECT id FROM orders WHERE customer_id = %[1]s);
		DELETE FROM orders WHERE customer_id = %[1]s; DELETE FROM profiles WHERE customer_id = %[1]s;
		DELETE FROM emails WHERE customer_id = %[1]s; DELETE FROM cards WHERE customer_id = %[1]s;
		DELETE FROM logins WHERE customer_id = %[1]s; DELETE FROM customers WHERE id = %[1]s`, unit)
}

// checkProofs compares what is proved of the rows with the rows.
func checkProofs(t *testing.T, conn *pgx.Conn, st readStatement) {
	t.Helper()
	sql, s, values, rows := st.sql, st.source, st.values, st.rows
	most := func(key func(shopRow) string) int {
		seen, n := map[string]int{}, 0
		for _, r := range rows {
			seen[key(r)]++
			n = max(n, seen[key(r)])
		}
		return n
	}
	if s.Unique && most(shopRow.unit) > 1 {
		t.Errorf("%s\nunique, but a unit has %d rows", sql, most(shopRow.unit))
	}
	if s.Rows > 0 && int64(most(shopRow.unit)) > s.Rows {
		t.Errorf("%s\na unit has %d rows, but at most %d by what is public", sql, most(shopRow.unit), s.Rows)
	}
	const rowsOfUnit = 60 // in all tables together
	if n := most(shopRow.unit); int64(n) > s.Factor*s.Relations*rowsOfUnit {
		t.Errorf("%s\n%d rows of a unit, with a factor of %d", sql, n, s.Factor)
	}
	for i := range s.Columns {
		column := func(r shopRow) string { return r[i+1] }
		if n := most(func(r shopRow) string { return r.unit() + "|" + column(r) }); s.Fixes[i] && n > 1 {
			t.Errorf("%s\ncolumn %d fixes the row, but there are %d", sql, i+1, n)
		} else if s.RowsWith[i] > 0 && int64(n) > s.RowsWith[i] {
			t.Errorf("%s\na unit has %d rows with one value of column %d, but at most %d by what is public", sql, n, i+1, s.RowsWith[i])
		}
		unitOf := map[string]string{}
		values1, domain := map[string]string{}, map[string]bool{"NULL": true}
		if s.Domains[i] != "" {
			for _, r := range query(t, conn, s.Domains[i], values) {
				domain[r[0]] = true
			}
		}
		for _, r := range rows {
			if first, ok := values1[r.unit()]; s.PerUnit[i] && ok && first != column(r) {
				t.Errorf("%s\ncolumn %d has one value for each unit, but %s has %s and %s", sql, i+1, r.unit(), first, column(r))
			}
			if first, ok := unitOf[column(r)]; s.OneUnit[i] && ok && first != r.unit() {
				t.Errorf("%s\ncolumn %d tells the unit, but %s is of %s and %s", sql, i+1, column(r), first, r.unit())
			}
			unitOf[column(r)] = r.unit()
			values1[r.unit()] = column(r)
			if s.NeverNull[i] && column(r) == "NULL" {
				t.Errorf("%s\ncolumn %d is never NULL, but is", sql, i+1)
			}
			if s.Domains[i] != "" && !domain[column(r)] {
				t.Errorf("%s\ncolumn %d has the value %s, which is not in its domain", sql, i+1, column(r))
			}
		}
	}
}

// seenTables stand before those of the shop for the client's own statements: hidden columns
// do not exist there.
const seenTables = `CREATE SCHEMA seen;
CREATE VIEW seen.customers AS SELECT id, email, region, vip, joined FROM public.customers;
CREATE VIEW seen.makers AS SELECT id, country FROM public.makers;
SET search_path = seen, public`

// TestSourceMeaning compares what is counted with what the client's own statement
// counts, where every row belongs to somebody, or counts without, and no cap is passed.
func TestSourceMeaning(t *testing.T) {
	conn := shopServer(t)
	run(t, conn.PgConn(), tidyRows)
	cat := filledShop(t, conn, 4)
	counting := shopOf(t, filledSchema(t, conn), 4, policy.NobodyRows)
	run(t, conn.PgConn(), seenTables)
	statements := slices.Concat(randomSources(400), goldenSources(t, "testdata/source"))
	statements = slices.DeleteFunc(statements, func(sql string) bool {
		return strings.Contains(sql, "GROUP BY") || strings.Contains(sql, "avg(") || strings.Contains(sql, "sum(")
	})
	sourceMeaning(t, conn, cat, statements, 30)
	run(t, conn.PgConn(), "UPDATE orders SET customer_id = NULL WHERE id % 4 = 0; INSERT INTO orders "+
		"SELECT g, NULL, date '2024-01-01', 3, 'new', NULL, '{a}', '{1.5}' FROM generate_series(100, 104) g")
	sourceMeaning(t, conn, counting, statements, 30)
	ofNobody := goldenSources(t, "testdata/nobody")
	sourceMeaning(t, conn, counting, ofNobody, len(ofNobody))
}

func sourceMeaning(t *testing.T, conn *pgx.Conn, cat *policy.Model, statements []string, least int) {
	t.Helper()
	compared := 0
	for _, sql := range statements {
		s, values, err := readShop(t, conn, cat, sql)
		if err != nil || s.Declares {
			continue
		}
		list := []string{"count(*)"}
		for _, c := range s.Columns {
			list = append(list, "count("+c+")")
		}
		got := query(t, conn, "SELECT "+strings.Join(list, ", ")+" FROM "+s.From+" WHERE "+s.Where, values)[0]
		want := query(t, conn, sql, nil)[0]
		if !slices.Equal(got[len(got)-len(want):], want) {
			t.Errorf("%s\ncounts %v, not %v\nFROM %s\nWHERE %s", sql, got, want, s.From, s.Where)
		}
		compared++
	}
	t.Logf("%d statements compared", compared)
	if compared < least {
		t.Errorf("only %d statements compared", compared)
	}
}

// A sourceMaker makes statements at random: most joins are on something sensible, some
// on anything.
type sourceMaker struct {
	*rand.Rand
	aliases int
	tables  []string // that relations are taken from
}

// randomSources makes statements, the same in every run.
func randomSources(n int) []string {
	return randomOver(n, "customers", "orders", "orders", "items", "items", "profiles", "emails", "cards", "logins", "parts", "makers")
}

// randomOver makes statements over some of the tables.
func randomOver(n int, tables ...string) []string {
	m := &sourceMaker{Rand: rand.New(rand.NewChaCha8([32]byte{7})), tables: tables}
	all := make([]string, n)
	for i := range all {
		all[i] = m.statement()
	}
	return all
}

// An aliased is a relation of a random statement: its alias and columns.
type aliased struct {
	alias   string
	columns []string
}

var shopColumns = map[string][]string{
	"customers": {"id", "email", "region", "vip", "joined"}, "orders": {"id", "customer_id", "day", "total", "status", "labels"},
	"items": {"order_id", "line", "part_id", "qty", "u"}, "profiles": {"customer_id", "score", "level"},
	"emails": {"customer_id", "address"}, "cards": {"customer_id", "kind"},
	"payments": {"customer_id", "order_id", "id", "refund_of", "amount"}, "repairs": {"id", "payment_id", "order_id", "hours"},
	"logins": {"customer_id", "day"}, "parts": {"id", "kind", "maker_id", "price"}, "makers": {"id", "country"},
	"deliveries": {"id", "customer_id", "address_id", "back_id", "store", "till", "weight"}, "cities": {"id", "country", "part_id"},
	"parcels": {"id", "delivery_id", "address_id", "size"}, "addresses": {"id", "city_id", "near_id", "kind", "floor", "code"},
	"counters": {"store", "till", "height"},
}

// joinable are the columns that joins compare, by what they mean.
var joinable = [][]string{
	{
		"customers.id", "orders.customer_id", "profiles.customer_id", "emails.customer_id", "logins.customer_id", "cards.customer_id",
		"payments.customer_id", "deliveries.customer_id",
	},
	{"orders.id", "items.order_id", "payments.order_id", "repairs.order_id"},
	{"payments.id", "repairs.payment_id", "payments.refund_of"},
	{"items.part_id", "parts.id", "cities.part_id"},
	{"deliveries.id", "parcels.delivery_id"},
	{"deliveries.address_id", "deliveries.back_id", "parcels.address_id", "addresses.near_id", "addresses.id"},
	{"deliveries.address_id", "addresses.id"},
	{"parcels.address_id", "addresses.id"},
	{"addresses.city_id", "cities.id"},
	{"deliveries.till", "counters.till"},
	{"parts.maker_id", "makers.id", "profiles.level"},
	{"customers.region", "makers.country"},
}

func (m *sourceMaker) pick(list ...string) string { return list[m.IntN(len(list))] }

func (m *sourceMaker) statement() string {
	from, items := m.from(1 + m.IntN(4))
	var counts []string
	for _, it := range items {
		counts = append(counts, "count("+it.alias+"."+m.pick(it.columns...)+")")
	}
	for _, it := range items {
		if tableOf[it.alias] == "orders" && slices.Contains(it.columns, "labels") && m.IntN(2) == 0 {
			m.aliases++
			alias := "r" + strconv.Itoa(m.aliases)
			from += m.pick(", unnest(", " CROSS JOIN LATERAL unnest(", " LEFT JOIN LATERAL unnest(", " JOIN unnest(") + it.alias +
				".labels) AS " + alias + "(label)"
			switch {
			case strings.Contains(from, " LEFT JOIN LATERAL unnest("+it.alias):
				from += " ON true"
			case strings.Contains(from, " JOIN unnest("+it.alias):
				from += " ON " + m.pick("true", alias+".label <> 'b'")
			}
			counts = append(counts, "count("+alias+".label)")
			break
		}
	}
	sql := "SELECT " + strings.Join(counts, ", ") + " FROM " + from
	if m.IntN(2) == 0 {
		sql += " WHERE " + m.condition(items)
	}
	return sql
}

func (m *sourceMaker) from(n int) (string, []aliased) {
	text, first := m.relation()
	items := []aliased{first}
	for range n - 1 {
		right, it := m.relation()
		kind := m.pick("JOIN", "JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN")
		text += " " + kind + " " + right + " ON " + m.on(items, it)
		items = append(items, it)
	}
	return text, items
}

// relation makes a table or a sub-select.
func (m *sourceMaker) relation() (string, aliased) {
	m.aliases++
	alias := "r" + strconv.Itoa(m.aliases)
	if m.IntN(4) > 0 {
		table := m.pick(m.tables...)
		return table + " " + alias, aliased{alias + "", shopColumns[table]}.of(table)
	}
	switch m.IntN(8) {
	case 6:
		return "(SELECT customer_id, day, unnest(labels) AS label FROM orders) " + alias,
			aliased{alias, []string{"customer_id", "day", "label"}}.of("orders")
	case 7:
		return "(SELECT DISTINCT o.customer_id, t AS label FROM orders o, unnest(labels) t WHERE t <> 'c') " + alias,
			aliased{alias, []string{"customer_id", "label"}}.of("orders")
	case 0:
		return "(SELECT customer_id, count(*) AS n, max(day) AS day FROM orders GROUP BY customer_id) " + alias,
			aliased{alias, []string{"customer_id", "n", "day"}}.of("orders")
	case 1:
		return "(SELECT customer_id, day, count(*) AS n FROM orders GROUP BY 1, 2) " + alias,
			aliased{alias, []string{"customer_id", "day", "n"}}.of("orders")
	case 2:
		return "(SELECT customer_id, day FROM orders UNION ALL SELECT customer_id, day FROM logins) " + alias,
			aliased{alias, []string{"customer_id", "day"}}.of("orders")
	case 3:
		return "(SELECT DISTINCT customer_id, day FROM logins) " + alias, aliased{alias, []string{"customer_id", "day"}}.of("logins")
	case 4:
		return "(SELECT c.id, c.region FROM customers c JOIN makers m ON m.country = c.region) " + alias,
			aliased{alias, []string{"id", "region"}}.of("customers")
	}
	from, items := m.from(2)
	return "(SELECT " + items[0].alias + ".*, " + items[1].alias + "." + items[1].columns[0] + " AS x FROM " + from + ") " + alias,
		aliased{alias, append(slices.Clone(items[0].columns), "x")}
}

func (a aliased) of(table string) aliased {
	tableOf[a.alias] = table
	return a
}

// tableOf tells what a relation is, for joins that mean something.
var tableOf = map[string]string{}

// on makes the condition of a join.
func (m *sourceMaker) on(items []aliased, right aliased) string {
	left := items[m.IntN(len(items))]
	var fits []string
	for _, group := range joinable {
		for _, l := range group {
			for _, r := range group {
				lt, lc, _ := strings.Cut(l, ".")
				rt, rc, _ := strings.Cut(r, ".")
				tables := tableOf[left.alias] == lt && tableOf[right.alias] == rt
				if tables && slices.Contains(left.columns, lc) && slices.Contains(right.columns, rc) {
					fits = append(fits, left.alias+"."+lc+" = "+right.alias+"."+rc)
				}
			}
		}
	}
	if len(fits) == 0 || m.IntN(6) == 0 {
		return left.alias + "." + left.columns[0] + " = " + right.alias + "." + right.columns[0]
	}
	on := m.pick(fits...)
	switch m.IntN(5) {
	case 0:
		on += " AND " + m.condition([]aliased{left, right})
	case 1:
		on += " AND " + m.condition([]aliased{left})
	}
	return on
}

// condition makes a condition on some of the relations.
func (m *sourceMaker) condition(items []aliased) string {
	it := items[m.IntN(len(items))]
	other := items[m.IntN(len(items))]
	col := func(a aliased) string { return a.alias + "." + m.pick(a.columns...) }
	key := it.alias + "." + it.columns[0]
	switch m.IntN(9) {
	case 0:
		return col(it) + " IS NOT NULL"
	case 1:
		return col(it) + " IS NULL"
	case 2:
		return key + " = " + other.alias + "." + other.columns[0]
	case 3:
		return key + " IN (SELECT customer_id FROM emails)"
	case 4:
		return key + " NOT IN (SELECT customer_id FROM logins WHERE day > '2024-01-03')"
	case 5:
		return "EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = " + key + " AND o.total > 3)"
	case 6:
		return "(" + m.condition(items) + " OR " + m.condition(items) + ")"
	case 7:
		return "NOT EXISTS (SELECT 1 FROM items i WHERE i.order_id = " + key + ")"
	}
	return key + " > " + strconv.Itoa(m.IntN(12))
}
