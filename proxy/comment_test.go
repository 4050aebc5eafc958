package proxy_test

import (
	"errors"
	"testing"

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
	if cost("EXPLAIN "+count) != 0 || cost("SET dp.max_rows = 3; SET dp.max_partitions = 2; SET dp.max_sum = 1e6; RESET dp.max_sum") != 0 {
		t.Error("what is free has cost something")
	}
	if _, err := ana.Prepare(t.Context(), "p", "/* dp: epsilon=0.1 */ "+count); err != nil {
		t.Fatal(err)
	}
	if prepared := cost("p"); prepared != small {
		t.Errorf("a prepared statement costs %d, want %d", prepared, small)
	}
	for sql, want := range map[string]pgconn.PgError{
		"SELECT 1; /* dp: epslion=1 */ " + count:   {Code: "42704", Position: 18},
		"/* é dp */ /* dp: max_rows=x */ " + count: {Code: "22023", Position: 19},
		"SET dp.max_rows = 0":                      {Code: "22023"},
		"SET dp.max_sum = 'infinity'":              {Code: "22023"},
		"SET dp.max_row = 1":                       {Code: "42704", Position: 5},
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
