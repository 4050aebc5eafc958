package source_test

import "testing"

// TestMultiplicity compares how many rows public relations make of the rows of a unit with how many
// they do.
func TestMultiplicity(t *testing.T) {
	conn := shopServer(t)
	cat := filledShop(t, conn, 4)
	for _, c := range []struct {
		alone, joined string
		want          int64
	}{
		{"customers c", "customers c JOIN makers m ON m.country = c.region", 2},
		{"customers c", "customers c LEFT JOIN makers m ON m.country = c.region", 2},
		{"customers c", "customers c CROSS JOIN makers m", 5},
		{"customers c", "customers c JOIN (SELECT id AS i, country AS k FROM makers) m ON m.k = c.region", 2},
		{"customers c", "customers c LEFT JOIN (SELECT country || '' AS k FROM makers) m ON m.k = c.region", 5},
		{"orders o", "orders o JOIN rates r ON r.day = o.day", 2},
		{"orders o", "(SELECT o.customer_id, r.rate FROM orders o JOIN rates r ON r.day = o.day) d", 2},
		{"items i", "items i JOIN parts p ON p.id = i.part_id JOIN makers m ON m.id = p.maker_id", 1},
		{"orders o", "orders o JOIN (SELECT DISTINCT c.id FROM customers c CROSS JOIN makers m) d ON d.id = o.customer_id", 1},
	} {
		s, _, err := readShop(t, conn, cat, "SELECT count(*) FROM "+c.joined)
		if err != nil {
			t.Fatalf("%s: %v", c.joined, err)
		}
		if s.Multiplicity != c.want {
			t.Errorf("%s: %d, want %d", c.joined, s.Multiplicity, c.want)
		}
		rows := func(from string) map[string]int64 {
			s, values, err := readShop(t, conn, cat, "SELECT count(*) FROM "+from)
			if err != nil {
				t.Fatalf("%s: %v", from, err)
			}
			of := map[string]int64{}
			for _, r := range readRows(t, conn, s, values) {
				of[r.unit()]++
			}
			return of
		}
		alone, most := rows(c.alone), int64(0)
		for unit, n := range rows(c.joined) {
			if n > c.want*alone[unit] {
				t.Errorf("%s: %d rows of unit %s, %d alone", c.joined, n, unit, alone[unit])
			}
			most = max(most, n)
		}
		if most == 0 {
			t.Errorf("%s: no rows", c.joined)
		}
	}
}
