package source_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/planner/policy"
)

// joinedRows counts the rows that the joins of a statement make, whatever its conditions are.
func joinedRows(t *testing.T, conn *pgx.Conn, cat *policy.Model, sql string) int {
	t.Helper()
	s, values, err := readShop(t, conn, cat, sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	n, err := strconv.Atoi(query(t, conn, "SELECT count(*) FROM "+s.From, values)[0][0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// An attack on the clock: who guesses that a customer has many cards joins them with each other, so that
// the work grows with a power of their number. Beyond the cut a row costs what a row costs, and less where
// it is cut itself; where the cut is too high to be reached, it is more.
func TestRowsBeyondTheCut(t *testing.T) {
	conn := shopServer(t)
	const few, many = 20, 100
	for _, c := range []struct {
		sql string
		row int // how many rows each further card may make
	}{
		{"SELECT count(*) FROM cards a JOIN cards b USING (customer_id) JOIN cards d USING (customer_id) WHERE a.kind = 'a'", 4 * 4},
		{"SELECT count(*) FROM orders o JOIN cards c ON c.customer_id = o.customer_id AND c.kind <> o.status", 0},
		{
			"SELECT count(*) FROM orders o JOIN (SELECT c.customer_id, c.kind FROM cards c JOIN makers m ON m.country > c.kind) d " +
				"ON d.customer_id = o.customer_id", 0,
		},
		{
			"SELECT count(*) FROM orders o LEFT JOIN (SELECT customer_id FROM cards UNION ALL SELECT id FROM customers) d " +
				"ON d.customer_id = o.customer_id", 0,
		},
	} {
		run(t, conn.PgConn(), "BEGIN; DELETE FROM cards WHERE customer_id = 3")
		grown := func(joinRows int64) int {
			cat := filledShop(t, conn, joinRows)
			run(t, conn.PgConn(), fmt.Sprintf("SAVEPOINT s; INSERT INTO cards SELECT 3, 'a' FROM generate_series(1, %d)", few))
			before := joinedRows(t, conn, cat, c.sql)
			run(t, conn.PgConn(), fmt.Sprintf("INSERT INTO cards SELECT 3, 'a' FROM generate_series(1, %d)", many-few))
			after := joinedRows(t, conn, cat, c.sql)
			run(t, conn.PgConn(), "ROLLBACK TO s")
			return after - before
		}
		if n := grown(4); n > c.row*(many-few) {
			t.Errorf("%s\n%d more cards of a customer make %d rows", c.sql, many-few, n)
		}
		if n := grown(1000); n <= c.row*(many-few) {
			t.Errorf("%s\nwithout a cut, %d more cards of a customer make %d rows: the test sees nothing", c.sql, many-few, n)
		}
		run(t, conn.PgConn(), "ROLLBACK")
	}
}
