package source_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/pgtemp"
	"dpproxy/planner/source"
)

// unsettled are others: no proof may use them.
var unsettled = []string{
	"z", "f", "coalesce(a, c)", "coalesce(a, 6)", "greatest(a, z)", "a + b", "a * 1", "round(z, 2)", "CASE WHEN n > 3 THEN a END",
	"coalesce(s, w)", "nullif((SELECT 6::numeric), a)",
	"coalesce((SELECT 6::numeric), CAST(n AS numeric(10,2)))", "nullif((SELECT 6::numeric), CAST(5 AS numeric(10,2)))",
	"CAST(coalesce(s, w) AS bpchar)", "f + 1", "extract(day FROM day)",
}

// TestSpellings reads every column of a derived table on which proofs rely, computed in all
// ways: equal values are identical.
func TestSpellings(t *testing.T) {
	source.Without("MergeProjection", func() { spellings(t) }) // so that they are columns
}

func spellings(t *testing.T) {
	t.Helper()
	cat := events(t)
	conn, err := pgx.Connect(t.Context(), server.URL("postgres", pgtemp.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	run(t, conn.PgConn(), "BEGIN; "+eventTables)
	plain, tables := "SELECT uid, %s AS x FROM events", []string{
		"SELECT uid, x FROM (SELECT uid, %s AS x FROM events) i",
		"SELECT uid, %[1]s AS x FROM events UNION ALL SELECT uid, %[1]s FROM events WHERE n > 2",
		"SELECT DISTINCT uid, %s AS x FROM events", "SELECT uid, %[1]s AS x FROM events GROUP BY uid, %[1]s",
		"SELECT uid, coalesce(x, x) AS x FROM (SELECT DISTINCT uid, %s AS x FROM events) i",
	}
	for _, x := range settled {
		for _, table := range append(tables, plain) {
			sql := "SELECT count(x) FROM (" + fmt.Sprintf(table, x) + ") q"
			s, values, err := readShop(t, conn, cat, sql)
			if err != nil || !s.OneSpelling[0] {
				t.Errorf("%s: no column for proofs: %v", sql, err)
				continue
			}
			several := "SELECT count(*) FROM (SELECT 1 FROM %s WHERE %s GROUP BY %[3]s " +
				"HAVING count(DISTINCT record_send(ROW(%[3]s))) > 1) AS v"
			n := query(t, conn, fmt.Sprintf(several, s.From, s.Where, s.Columns[0]), values)
			if n[0][0] != "0" {
				t.Errorf("%s: %s values have several spellings\nFROM %s", sql, n[0][0], s.From)
			}
		}
	}
	for _, x := range unsettled {
		s, _, err := readShop(t, conn, cat, "SELECT count(x) FROM ("+fmt.Sprintf(plain, x)+") q")
		if err != nil || s.OneSpelling[0] {
			t.Errorf("%s is a column for proofs, or is refused: %v", x, err)
		}
	}
}
