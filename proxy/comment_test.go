package proxy_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/accountant"
)

// TestCommentsInSessions holds that a comment sets for its own statement alone, in both
// protocols and for each of several statements.
func TestCommentsInSessions(t *testing.T) {
	w := newWorld(t)
	ana := connect(t, w.url("ana"))
	last := w.spent(t, accountant.UnitScope, "patient")
	cost := func(sql string) int64 {
		t.Helper()
		must(t, ana, sql)
		before := last
		last = w.spent(t, accountant.UnitScope, "patient")
		return last - before
	}
	const count = "SELECT count(*) FROM patients"
	plain, small := cost(count), cost("/* dp: epsilon=0.1 */ "+count)
	if small <= 0 || small >= plain/10 {
		t.Errorf("the statement costs %d, with a smaller epsilon %d", plain, small)
	}
	if again := cost(count); again != plain {
		t.Errorf("the next statement costs %d, want %d", again, plain)
	}
	if both := cost("/* dp: epsilon=0.1 */ " + count + "; " + count); both != plain+small {
		t.Errorf("two statements cost %d, want %d", both, plain+small)
	}
	if both := cost(count + "; /* dp: epsilon=0.1 */ " + count); both != plain+small {
		t.Errorf("two statements cost %d, want %d", both, plain+small)
	}
	for _, sql := range []string{
		count + " /* route='/count', dp: epsilon=1 */ -- a: dp: b", "SELECT count(*), '/* dp: error=4 */' FROM patients",
		`SELECT count(*) AS "-- dp: x" FROM patients`,
		"SELECT count(*), $$ /* dp: x */ $$ FROM patients /* a /* dp: b */ */",
	} {
		if got := cost(sql); got != plain {
			t.Errorf("%s costs %d, want %d", sql, got, plain)
		}
	}
	for _, sql := range []string{
		"EXPLAIN /* dp: epsilon=0.1 */ " + count, "/* a */ EXPLAIN (FORMAT TEXT) /* b */ -- dp: epsilon=0.1\n" + count,
		"EXPLAIN VERBOSE/*dp: epsilon=0.1*//* c */" + count,
	} {
		var line string
		if rows, err := ana.Query(t.Context(), sql); err != nil {
			t.Fatal(err)
		} else if lines, err := pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
			t.Fatal(err)
		} else {
			line = strings.Join(lines, "\n")
		}
		if !strings.Contains(line, "dp.epsilon = 0.1)") {
			t.Errorf("%s shows\n%s", sql, line)
		}
	}
	if cost("EXPLAIN "+count) != 0 || cost("SET dp.max_rows = 3; SET dp.max_partitions = 2; SET dp.max_sum = 1e6; RESET dp.max_sum") != 0 {
		t.Error("what is free has cost something")
	}
	if _, err := ana.Prepare(t.Context(), "p", "/* dp: epsilon=0.1 */ "+count); err != nil {
		t.Fatal(err)
	}
	if prepared := cost("p"); prepared != small {
		t.Errorf("a prepared statement costs %d, want %d", prepared, small)
	}
	must(t, ana, "PREPARE q AS "+count)
	if executed := cost("/* a tool */ EXECUTE q -- dp"); executed != plain {
		t.Errorf("EXECUTE costs %d, want %d", executed, plain)
	}
}

// TestMisplacedComments holds that a comment that sets nothing is an error.
func TestMisplacedComments(t *testing.T) {
	const count = "SELECT count(*) FROM patients"
	ana := connect(t, newWorld(t).url("ana"))
	must(t, ana, "PREPARE q AS "+count)
	for sql, want := range map[string]pgconn.PgError{
		"/* dp: epsilon=0.1 */ EXECUTE q":                                       {Code: "42601", Position: 1},
		"EXPLAIN /* dp: epsilon=0.1 */ EXECUTE q":                               {Code: "42601", Position: 9},
		"SELECT 1; /* dp: epslion=1 */ " + count:                                {Code: "42704", Position: 18},
		"/* é dp */ /* dp: max_rows=x */ " + count:                              {Code: "22023", Position: 19},
		"SELECT /* dp: epsilon=0.1 */ count(*) FROM patients":                   {Code: "42601", Position: 8},
		count + " -- Dp: epsilon=0.1":                                           {Code: "42601", Position: 31},
		"SELECT 1; " + count + "; /* é */ /*dp: epsilon=0.1*/":                  {Code: "42601", Position: 50},
		count + " /* dp: epsilon=0.1 */; " + count:                              {Code: "42601", Position: 31},
		"WITH /* dp: error=4 */ x AS (" + count + ") TABLE x":                   {Code: "42601", Position: 6},
		"EXPLAIN /* dp: epslion=1 */ " + count:                                  {Code: "42704", Position: 16},
		"EXPLAIN /* dp: epsilon=1 */ (/* dp: error=4 */ " + count + ")":         {Code: "42601", Position: 30},
		"EXPLAIN (/* dp: epsilon=1 */ COSTS) " + count:                          {Code: "42601", Position: 10},
		"SELECT * FROM /* dp: rows=none */ patients":                            {Code: "42601", Position: 15},
		"/* dp: epsilon=0.1 */ DECLARE c CURSOR FOR /* dp: error=4 */ " + count: {Code: "42601", Position: 44},
		"SET dp.max_rows = 0":                                                   {Code: "22023"},
		"SET dp.max_sum = 'infinity'":                                           {Code: "22023"},
		"SET dp.max_row = 1":                                                    {Code: "42704", Position: 5},
	} {
		_, err := ana.Exec(t.Context(), sql)
		if _, simple := ana.PgConn().Exec(t.Context(), sql).ReadAll(); err == nil || simple != nil {
			err = simple
		}
		pg, ok := errors.AsType[*pgconn.PgError](err)
		if !ok || pg.Code != want.Code || pg.Position != want.Position {
			t.Errorf("%s: %+v", sql, pg)
		}
	}
}
