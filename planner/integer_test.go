package planner_test

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"dpproxy/planner/plannertest"
)

// TestExtremesOfType holds that a numeric column may hold whatever its type can, on both
// sides of its bounds: the integers are those of the bounds, and nothing overflows, be the
// type within int8 or wider.
func TestExtremesOfType(t *testing.T) {
	conn := connect(t)
	for _, precision := range []int{4, 10, 18, 19, 30} {
		s := clinicSchema()
		cost, _ := s.Tables[name("visits")].Column("cost")
		cost.Type = builtin("numeric", fmt.Sprintf("numeric(%d,2)", precision), 1700, int32(precision<<16|2)+4)
		cat := checked(t, s)
		most := strings.Repeat("9", precision-2) + ".99"
		top := int64(2_000_000) // in cents
		if precision == 4 {
			top = 9999
		}
		for value, want := range map[string]int64{
			"'NaN'": 2_000_000, most: top, "12.34": 1234, "0.01": 1, "0": 0, "-0.01": 0, "-" + most: 0,
		} {
			run(t, conn, fmt.Sprintf(`BEGIN; DELETE FROM visits WHERE id <> 1000; UPDATE visits SET patient_id = 3, cost = 0;
				ALTER TABLE visits ALTER COLUMN cost TYPE numeric(%d,2); UPDATE visits SET cost = %s`, precision, value))
			e := plan(t, conn, cat, "SELECT sum(cost) FROM visits").read(t, conn)[0]
			if got := e.Released(e.Uncut()).Rows[0][0]; got.Cmp(big.NewInt(want)) != 0 {
				t.Errorf("%s of numeric(%d,2) counts as %v, want %d", value, precision, got, want)
			}
			run(t, conn, "ROLLBACK")
		}
	}
}

// TestLateSums holds that sums which are brought onto the lattice behind the rows are those of the
// clamped values in its steps, without NULL and the rows that a filter leaves out, in both types of a sum.
func TestLateSums(t *testing.T) {
	conn := connect(t)
	s := clinicSchema()
	cost, _ := s.Tables[name("visits")].Column("cost")
	cost.NotNull = false
	cost.Type = builtin("numeric", "numeric(12,2)", 1700, int32(12<<16|2)+4)
	run(t, conn, `BEGIN; ALTER TABLE visits ALTER COLUMN cost DROP NOT NULL; ALTER TABLE visits ALTER COLUMN cost TYPE numeric(12,2);
		DELETE FROM visits WHERE id NOT IN (SELECT min(id) FROM visits GROUP BY patient_id ORDER BY 1 LIMIT 9);
		UPDATE visits SET cost = (ARRAY[NULL, 'NaN', 9999999999.99, 20000, 19999.99, 0.01, -0.01, -9999999999.99, NULL])[
			1 + (SELECT count(*) FROM visits v WHERE v.id < visits.id)]`)
	// Of seven values that are not NULL, three are at the upper bound of 20,000, and two at that of 9,000,000,000.
	for high, want := range map[int64]struct{ column, sum, average string }{
		20_000:        {"CAST(pg_catalog.sum(l1) * 100 AS pg_catalog.int8)", "[8000000]", "[7 2000000]"},
		9_000_000_000: {"pg_catalog.round(pg_catalog.sum(l1) * 100)", "[1800004000000]", "[7 -2699992000000]"},
	} {
		rules := plannertest.ClinicPolicy()
		rules.Tables[1].Columns["cost"] = plannertest.Bounds("0", strconv.FormatInt(high, 10))
		cat := plannertest.CheckedBy(t, rules, s)
		for sql, sums := range map[string]string{
			"SELECT sum(cost) FROM visits": want.sum, "SELECT avg(cost) FROM visits": want.average,
			"SELECT sum(cost) FILTER (WHERE cost < 1) FROM visits":     "[1]",
			"SELECT sum(cost) FILTER (WHERE cost < -1e10) FROM visits": "[0]",
		} {
			p := plan(t, conn, cat, sql)
			e := p.read(t, conn)[0]
			if got := fmt.Sprint(e.Released(e.Uncut()).Rows[0]); got != sums {
				t.Errorf("up to %d, %s adds up to %s, want %s", high, sql, got, sums)
			}
			if text := p.Blocks[0].Sets[0].Reads[0].SQL; sums == want.sum && !strings.Contains(text, want.column) {
				t.Errorf("up to %d, the sum is not brought onto the lattice behind the rows:\n%s", high, text)
			}
		}
	}
}

// TestProducts holds that integers which are computed of those of columns are the ones of the values: of a
// column that may be NULL, on both sides of its bounds, and under conditions that narrow it; and that they are
// computed so only where that is less work.
func TestProducts(t *testing.T) {
	conn := connect(t)
	s := clinicSchema()
	cost, _ := s.Tables[name("visits")].Column("cost")
	cost.NotNull = false
	cost.Type = builtin("numeric", "numeric(12,2)", 1700, int32(12<<16|2)+4)
	run(t, conn, `BEGIN; ALTER TABLE visits ALTER COLUMN cost DROP NOT NULL; ALTER TABLE visits ALTER COLUMN cost TYPE numeric(12,2);
		DELETE FROM visits WHERE id NOT IN (SELECT min(id) FROM visits GROUP BY patient_id ORDER BY 1 LIMIT 7);
		UPDATE visits SET cost = (ARRAY[NULL, 'NaN', 9999999999.99, 19999.99, 0.01, -0.01, -9999999999.99])[
			1 + (SELECT count(*) FROM visits v WHERE v.id < visits.id)]`)
	cat := checked(t, s)
	// The values that are not NULL count as 20000, 20000, 19999.99, 0.01, 0 and 0.
	for _, c := range []struct {
		list, released string // in the order of statistics, which is not that of the list
		products       bool
	}{
		{"sum(cost), sum(cost * 2), sum(cost * (3 - cost)) FROM visits", "[-11998196000002 12000000 6000000]", true},
		{"sum(cost * 2), sum(cost * 3), sum(cost + 1) FROM visits WHERE cost >= 0", "[12000000 18000000 6000400]", true},
		{"sum(cost), sum(cost + 1.5) FILTER (WHERE cost < 1) FROM visits", "[451 6000000]", true},
		{"sum(cost * 2) FROM visits", "[12000000]", true},
		{"sum(tip * 2) FROM visits WHERE tip IS NULL", "[0]", false}, // of no known scale
		{
			"sum(l.w * 0.0 + v.cost * 2) FROM visits v JOIN (VALUES (0, 1000000000000000000), (-1, 3)) l(id, w) ON l.id = v.id",
			"[0]", false, // the list is too wide for a lattice
		},
	} {
		sql := "SELECT " + c.list
		p := plan(t, conn, cat, sql)
		e := p.read(t, conn)[0]
		if got := fmt.Sprint(e.Released(e.Uncut()).Rows[0]); got != c.released {
			t.Errorf("%s adds up to %s, want %s", sql, got, c.released)
		}
		text := p.Blocks[0].Sets[0].Reads[0].SQL
		if got := strings.Contains(text, "(l1 OPERATOR") || strings.Contains(text, "CAST(l1 AS"); got != c.products {
			t.Errorf("%s is computed of the integers of columns: %t, want %t:\n%s", sql, got, c.products, text)
		}
	}
}

// TestProductsByGroup holds that products of columns which are read as they are stored add up to what the database computes of them.
func TestProductsByGroup(t *testing.T) {
	conn := connect(t)
	s := clinicSchema()
	cost, _ := s.Tables[name("visits")].Column("cost")
	steps, _ := s.Tables[name("visits")].Column("steps")
	run(t, conn, `BEGIN; ALTER TABLE visits ALTER COLUMN cost DROP NOT NULL; UPDATE visits SET steps = NULLIF(id % 7, 0) * 30000 - 50000,
		diagnosis = CASE WHEN patient_id % 2 = 0 THEN 'asthma' ELSE 'flu' END,
		cost = (ARRAY[NULL, 'NaN', 99999999.99, 19999.99, 0.01, -0.01, -99999999.99, 30])[1 + id % 8]`)
	for _, c := range []struct {
		list  string
		fixed bool // nothing is NULL
		apart bool // the database multiplies nothing
	}{
		{"sum(cost * (3 - steps)~), sum(cost)", false, true},
		{"sum(cost * steps~) FILTER (WHERE id < 3), avg(cost)", false, true},
		{"sum(cost * (steps - 50000) * 0.1~), sum(cost * -(7 - steps)~), sum(1.5 * cost)", false, true},
		{"sum((cost - cost - 1.25) * steps~), sum(cost * (steps + 1)~), stddev(cost)", false, true},
		{"avg(cost * 2~), sum(cost)", true, true},
		{"sum(cost * 2~), stddev(cost * 2), avg(cost * 2)", true, false},
		{"sum(cost * 2~) FROM visits WHERE cost < 5", true, false}, // is within its bounds by the condition alone
	} {
		if cost.NotNull, steps.NotNull = c.fixed, c.fixed; c.fixed {
			run(t, conn, "UPDATE visits SET cost = COALESCE(cost, 7), steps = COALESCE(steps, 8)")
		}
		cat := checked(t, s)
		var released [2]string
		for i, more := range []string{"", " + cost * steps * 0"} { // with which it is no product
			sql := "SELECT diagnosis, " + strings.ReplaceAll(c.list, "~", more)
			if !strings.Contains(sql, " FROM ") {
				sql += " FROM visits"
			}
			sql += " GROUP BY diagnosis"
			p := plan(t, conn, cat, sql)
			e := p.read(t, conn)[0]
			released[i] = fmt.Sprint(e.Released(e.Uncut()).Rows)
			if text := p.Blocks[0].Sets[0].Reads[0].SQL; strings.Contains(text, "*") == (c.apart && i == 0) {
				t.Errorf("%s multiplies in the database, or does not:\n%s", sql, text)
			}
		}
		if released[0] != released[1] {
			t.Errorf("%s adds up to %s, want %s", c.list, released[0], released[1])
		}
	}
}
