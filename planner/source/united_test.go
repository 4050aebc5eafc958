package source_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/planner/policy"
)

// In the shop with payments, rows refer to others beside their way to the customer: a payment to an order, and to the payment that it
// gives back; a repair, which belongs to an order, to a payment, which no foreign key says. Many of these are another customer's.
func paidShop(t *testing.T, s *catalog.Schema) *policy.Model {
	t.Helper()
	key := []catalog.Key{{Name: "id", Columns: []string{"id"}, Primary: true}}
	refers := func(column, table string) catalog.ForeignKey {
		return catalog.ForeignKey{Name: column, Columns: []string{column}, References: name(table), Target: []string{"id"}}
	}
	s.Tables[name("payments")] = &catalog.Table{
		Name: name("payments"), Kind: 'r', Keys: key,
		Foreign: []catalog.ForeignKey{refers("order_id", "orders"), refers("refund_of", "payments")},
		Columns: []catalog.Column{
			column("id", int4, true), column("customer_id", int4, true), column("order_id", int4, true), column("refund_of", int4, false),
			column("amount", int4, true),
		},
	}
	s.Tables[name("repairs")] = &catalog.Table{
		Name: name("repairs"), Kind: 'r', Keys: key, Foreign: []catalog.ForeignKey{refers("order_id", "orders")},
		Columns: []catalog.Column{
			column("id", int4, true), column("order_id", int4, false), column("payment_id", int4, true), column("hours", int4, true),
		},
	}
	p := shopPolicy(4)
	p.Tables = append(p.Tables,
		policy.TablePolicy{Name: name("payments"), UnitColumn: "customer_id", MaxRows: 10, SameUnit: []string{"refund_of"}},
		policy.TablePolicy{
			Name: name("repairs"), Via: "order_id", To: policy.ColumnName{Table: name("orders"), Column: "id"}, MaxRows: 10,
			Refers: []policy.ReferencePolicy{{From: []string{"payment_id"}, To: policy.ColumnName{Table: name("payments")}}},
		})
	return checkedShop(t, p, s)
}

const paidRows = `
CREATE TABLE payments (id int PRIMARY KEY, customer_id int NOT NULL, order_id int NOT NULL, refund_of int, amount int NOT NULL);
CREATE TABLE repairs (id int PRIMARY KEY, order_id int, payment_id int NOT NULL, hours int NOT NULL);
INSERT INTO payments SELECT g,
  CASE WHEN g % 2 = 0 THEN coalesce((SELECT customer_id FROM orders WHERE id = g % 40 + 1), 3) ELSE g % 13 + 1 END,
  g % 40 + 1, CASE WHEN g % 3 = 0 THEN g * 7 % 60 + 1 WHEN g % 3 = 1 THEN g % 30 * 2 END, g % 5 FROM generate_series(1, 60) g;
INSERT INTO repairs SELECT g, CASE WHEN g % 7 > 0 THEN g % 42 + 1 END, g % 64 + 1, g % 6 FROM generate_series(1, 90) g;
ANALYZE payments, repairs;`

func paidServer(t *testing.T) *pgx.Conn {
	t.Helper()
	conn := shopServer(t)
	run(t, conn.PgConn(), paidRows)
	return conn
}

// TestSourcesOfReferences draws joins along references.
func TestSourcesOfReferences(t *testing.T) {
	s := shopSchema()
	s.PublicRows = map[catalog.Name]int64{name("parts"): 2000}
	drawSources(t, paidShop(t, s), "testdata/references")
}

// TestOwnershipOfReferences is TestOwnership of statements that join rows along references, of which many lead to another customer's.
func TestOwnershipOfReferences(t *testing.T) {
	conn := paidServer(t)
	golden := goldenSources(t, "testdata/references")
	units := map[string]string{}
	for _, id := range []string{"1", "2", "3", "7", "13"} {
		of := "(SELECT id FROM orders WHERE customer_id = " + id + ")"
		units[id] = "DELETE FROM repairs WHERE order_id IN " + of + "; DELETE FROM payments WHERE customer_id = " + id + ";" + removal(id)
	}
	random := randomOver(600, "orders", "orders", "payments", "payments", "payments", "repairs", "repairs")
	read := shopOwnership{conn, paidShop(t, filledSchema(t, conn)), units}.test(t, slices.Concat(golden, random))
	united := 0
	for _, st := range read {
		if len(st.source.United) > 0 {
			united++
		}
	}
	if t.Logf("%d statements compare units that they do not name", united); united < 60 {
		t.Errorf("only %d statements compare units", united)
	}
	for _, sql := range golden {
		if !slices.ContainsFunc(read, func(st readStatement) bool { return st.sql == sql }) {
			t.Errorf("refused: %s", sql)
		}
	}
}

// TestUnitsAreAdded compares what is read of statements with what is read where they compare the units themselves.
func TestUnitsAreAdded(t *testing.T) {
	conn := paidServer(t)
	cat := paidShop(t, filledSchema(t, conn))
	for _, sql := range []string{
		"SELECT count(p.amount), count(o.day) FROM payments p JOIN orders o ON o.id = p.order_id /* AND o.customer_id = p.customer_id */",
		"SELECT count(p.amount), count(o.day) FROM orders o JOIN payments p ON p.order_id = o.id /* AND o.customer_id = p.customer_id */",
		"SELECT count(p.amount), count(o.day) FROM payments p, orders o WHERE p.order_id = o.id AND o.total > 2 /* AND " +
			"o.customer_id = p.customer_id */",
		"SELECT count(p.amount), count(o.day) FROM payments p LEFT JOIN orders o ON o.id = p.order_id /* AND o.customer_id = " +
			"p.customer_id */",
		"SELECT count(p.amount), count(o.day) FROM orders o LEFT JOIN payments p ON o.id = p.order_id AND p.amount > 1 /* AND " +
			"o.customer_id = p.customer_id */",
		"SELECT count(p.amount), count(o.day) FROM payments p RIGHT JOIN orders o ON o.id = p.order_id /* AND o.customer_id = " +
			"p.customer_id */",
		"SELECT count(p.amount) FROM payments p LEFT JOIN orders o ON o.id = p.order_id /* AND o.customer_id = p.customer_id " +
			"*/ WHERE o.id IS NULL",
		"SELECT count(p.amount), count(q.amount) FROM payments p JOIN payments q ON q.id = p.refund_of /* AND q.customer_id = " +
			"p.customer_id */",
		"SELECT count(p.amount) FROM payments p WHERE EXISTS (SELECT 1 FROM orders o WHERE o.id = p.order_id AND o.total > 2 " +
			"/* AND o.customer_id = p.customer_id */)",
		"SELECT count(p.amount) FROM payments p WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.id = p.order_id /* AND " +
			"o.customer_id = p.customer_id */)",
		"SELECT count(p.amount) FROM payments p WHERE p.order_id IN (SELECT id FROM orders o WHERE total > 2 /* AND " +
			"o.customer_id = p.customer_id */)",
		"SELECT count(o.day) FROM orders o WHERE o.id IN (SELECT order_id FROM payments p WHERE amount > 1 /* AND " +
			"o.customer_id = p.customer_id */)",
		"SELECT count(p.amount) FROM payments p WHERE p.order_id NOT IN (SELECT id FROM orders o WHERE total > 2 /* AND " +
			"o.customer_id = p.customer_id */)",
		"SELECT count(p.amount), count(q.amount) FROM payments p JOIN payments q ON q.order_id = p.order_id /* AND q.customer_id = " +
			"p.customer_id */",
		"SELECT count(p.amount), count(q.amount) FROM payments p LEFT JOIN payments q ON q.order_id = p.order_id AND q.amount > 2 " +
			"/* AND q.customer_id = p.customer_id */",
		"SELECT count(p.amount) FROM payments p WHERE EXISTS (SELECT 1 FROM payments q WHERE q.order_id = p.order_id AND q.amount > 2 " +
			"/* AND q.customer_id = p.customer_id */)",
		"SELECT count(p.amount) FROM payments p WHERE NOT EXISTS (SELECT 1 FROM payments q WHERE q.order_id = p.order_id AND " +
			"q.amount > 2 /* AND q.customer_id = p.customer_id */)",
		"SELECT count(p.amount) FROM payments p WHERE p.order_id NOT IN (SELECT order_id FROM payments q WHERE amount > 2 /* AND " +
			"q.customer_id = p.customer_id */)",
	} {
		written := strings.NewReplacer("/*", "", "*/", "").Replace(sql)
		a, valuesA, err := readShop(t, conn, cat, sql)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		b, valuesB, err := readShop(t, conn, cat, written)
		if err != nil {
			t.Errorf("%s: %v", written, err)
			continue
		}
		if len(a.United) != 1 || len(b.United) != 0 {
			t.Errorf("%s: %v, %v", sql, a.United, b.United)
		}
		got, want := readRows(t, conn, a, valuesA), readRows(t, conn, b, valuesB)
		if !slices.EqualFunc(got, want, slices.Equal[shopRow]) || len(got) == 0 {
			t.Errorf("%s: %d rows, %d", sql, len(got), len(want))
		}
	}
}
