package proxy_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/proxy"
)

// TestUnshownGroups asks for private groups that are too small. The first notice says that none is shown, and suggests larger ones, which
// are public. EXPLAIN suggests them too.
func TestUnshownGroups(t *testing.T) {
	cfg, err := pgx.ParseConfig(newWorldWith(t, func(cfg *proxy.Config) { cfg.Defaults.DeltaAtto = 1e8 }, large(t)).url("ana"))
	if err != nil {
		t.Fatal(err)
	}
	var said []*pgconn.Notice
	cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { said = append(said, n) }
	ana, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ana.Close(context.Background()) })
	const (
		from     = " FROM patients p JOIN visits v ON v.patient_id = p.id"
		filtered = from + " WHERE cost > $1 GROUP BY "
		larger   = "SELECT birth_year, count(*)" + from + " GROUP BY birth_year"
	)
	for sql, try := range map[string]string{
		"SELECT birth_year, round(cost) AS c, count(*)" + from + " GROUP BY 1, 2 ORDER BY 1": larger,
		"SELECT birth_year, round(cost * 7), count(*)" + from + " GROUP BY 1, 2":             larger,
		"SELECT sum(cost), round(cost * 10), sex" + filtered + "2, 3":                        "SELECT sum(cost), sex" + filtered + "sex",
		"SELECT DISTINCT birth_year, round(cost)" + from:                                     "",
	} {
		var args []any
		if strings.Contains(sql, "$1") {
			args = []any{3}
		}
		said = nil
		if rows := firstColumn(t, ana, sql, args...); len(rows) > 0 || len(said) == 0 {
			t.Fatalf("%s: %q, %v", sql, rows, said)
		}
		hint := ""
		if try != "" {
			hint = "Try: " + try + "."
		}
		if !strings.HasPrefix(said[0].Message, "No group is shown: it takes about ") || said[0].Hint != hint {
			t.Errorf("%s: %q, %q", sql, said[0].Message, said[0].Hint)
		}
		plan := strings.Join(strings.Fields(strings.Join(firstColumn(t, ana, "EXPLAIN "+sql, args...), " ")), " ")
		if _, last, _ := strings.Cut(plan, "larger groups: "); last != strings.Replace(hint, "Try: ", "Try: EXPLAIN ", 1) {
			t.Errorf("%s: %q", sql, last)
		}
	}
}

// firstColumn returns the first column of an answer.
func firstColumn(t *testing.T, conn *pgx.Conn, sql string, args ...any) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql, append([]any{pgx.QueryExecModeExec}, args...)...)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	all, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (string, error) { return string(r.RawValues()[0]), nil })
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return all
}
