package proxy_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/proxy"
)

// TestPlansAreLent has several sessions ask what was answered before with another budget, all at once: each is shown the same numbers. With
// -race it shows that no two of them use one plan.
func TestPlansAreLent(t *testing.T) {
	w := accurate(t, func(*proxy.Config) {}, large(t))
	const sql = "SELECT diagnosis, count(*), sum(cost), avg(cost) FROM visits GROUP BY 1 ORDER BY 1"
	precise := w.client(t, "ana")
	precise.set(t, "dp.epsilon = 0.5")
	want := answerOf(t, precise.Conn, sql)
	var wg sync.WaitGroup
	for range 4 {
		c := w.client(t, "ana")
		c.set(t, "dp.epsilon = 0.01")
		wg.Go(func() {
			for range 5 {
				if got := answerOf(t, c.Conn, sql); got != want {
					t.Errorf("%s\nis not\n%s", got, want)
				}
			}
		})
	}
	wg.Wait()
}

// answerOf returns the rows of an answer as a text.
func answerOf(t *testing.T, conn *pgx.Conn, sql string) (all string) {
	rows, err := conn.Query(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Error(err)
		return ""
	}
	for rows.Next() {
		all += fmt.Sprintf("%q\n", rows.RawValues())
	}
	if err := rows.Err(); err != nil {
		t.Error(err)
	}
	return all
}
