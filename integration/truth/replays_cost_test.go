package truth_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// costRounds is how often each question is asked in each way; medians count.
const costRounds = 7

// TestCostOfReplays asks each question in turns with its errors and without, for which nothing is replayed, and says how long both took,
// and how much memory the process of dpproxy had at most.
func TestCostOfReplays(t *testing.T) {
	if !*cost {
		return // a measurement, not a test: make truth runs it
	}
	data := sitetest.StartServer(t, pgtemp.Options{})
	sitetest.Exec(t, sitetest.Dial(t, data.URL("postgres", pgtemp.Superuser)), replaySchema+`
CREATE TABLE wide AS SELECT g AS id, g % 1000 AS k, g * 37 % 100 AS x FROM generate_series(1, 100000) g;
ALTER TABLE wide ADD PRIMARY KEY (id), ALTER k SET NOT NULL, ALTER x SET NOT NULL;`)
	policy := strings.Replace(replayPolicy(), "tables:\n",
		"tables:\n  wide: {unit: id, columns: {k: {bounds: [0, 999]}, x: {bounds: [0, 100]}}}\n", 1)
	s := serve(t, data, strings.Replace(policy, "[days,", "[wide, days,", 1))
	conn := s.ours[0].Conn
	questions := append(replayedQuestions(t),
		replayedQuestion{name: "1,000 counts", sql: "SELECT sum(c) AS v FROM (SELECT k, count(*) AS c FROM wide GROUP BY k) z"},
		replayedQuestion{name: "1,000 averages", sql: "SELECT sum(a) AS v FROM (SELECT k, avg(x) AS a FROM wide GROUP BY k) z"},
		replayedQuestion{name: "ranks of 1,000 averages", sql: `SELECT k, rank() OVER (ORDER BY a) AS v
			FROM (SELECT k, avg(x) AS a FROM wide GROUP BY k) z`, labels: []string{"k"}})
	before := sitetest.PeakKiB(t, s.process)
	var lines []string
	var more []time.Duration
	for _, q := range questions {
		var with, without []time.Duration
		for range costRounds {
			without = append(without, asking(t, conn, "off", q.sql)) // no notice, and no column of an error: no replay
			with = append(with, asking(t, conn, "brief", q.sql))
		}
		a, b := middle(without), middle(with)
		more = append(more, b-a)
		lines = append(lines, fmt.Sprintf("%s | %d | %d | %d", q.name, a.Milliseconds(), b.Milliseconds(), (b-a).Milliseconds()))
	}
	load, _ := os.ReadFile("/proc/loadavg")
	t.Logf("question | ms without | ms with | more\n%s\nmore: median %v, most %v; memory at most %d MB, %d before; load %s",
		strings.Join(lines, "\n"), middle(more), slices.Max(more), sitetest.PeakKiB(t, s.process)>>10, before>>10, load)
}

// asking is how long a question takes, with such notices.
func asking(t *testing.T, conn *pgx.Conn, notice, sql string) time.Duration {
	t.Helper()
	sitetest.Exec(t, conn, "SET dp.notice = "+notice)
	began := time.Now()
	if _, err := conn.PgConn().Exec(t.Context(), sql).ReadAll(); err != nil && !strings.Contains(err.Error(), "22012") {
		t.Errorf("%s: %v", sql, err)
	}
	return time.Since(began)
}

func middle(all []time.Duration) time.Duration {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}
