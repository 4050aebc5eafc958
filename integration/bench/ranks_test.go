package bench_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/sitetest"
)

const salesOf = `
CREATE TABLE sales (person int NOT NULL, item int NOT NULL, price int NOT NULL);
INSERT INTO sales SELECT g / 10, 1 + (g * 7919) %% 1000, (g * 104729) %% 100000 FROM generate_series(1, CAST(%d AS bigint)) g;
CREATE INDEX ON sales (person, item, price);
ANALYZE sales;`

const salesOfPolicy = `
privacy_unit: {name: person, budget: {epsilon: 9000, delta: 1e-6, selection_delta: 0}}
tables:
  sales: {unit: person, max_rows: auto, columns: {item: {bounds: [1, 1000]}, price: {bounds: [0, 99999]}}}
analysts:
  ana: {password: VERIFIER, tables: [sales]}
limits: {reply_grid: 0}
`

// TestBenchRanks compares the time of medians with that of counts: of all rows, of their buckets, and of the same groups; and of the ten
// largest of 1,000 groups with that of all of them. Without the flag it asks them once, of few rows.
func TestBenchRanks(t *testing.T) {
	rows, times := 5000, 1
	if *benchmarks {
		rows, times = 1_000_000, 5
	}
	s := sitetest.New(t, fmt.Sprintf(salesOf, rows), salesOfPolicy)
	conn := sitetest.Dial(t, s.Run(t).URL("ana"))
	sitetest.Exec(t, conn, "SET dp.epsilon = 0.1; SET dp.notice = off; SET dp.top = on")
	const byItem = "FROM sales WHERE price > -%d GROUP BY item"
	for _, c := range []struct{ name, sql, beside string }{
		{
			"median and counts of buckets", "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY price + 0 * %d) FROM sales",
			"SELECT width_bucket(price, 0, 100000, 1000 + 0 * %d), count(*) FROM sales GROUP BY 1",
		},
		{
			"median and count", "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY price) FROM sales WHERE price > -%d",
			"SELECT count(*) FROM sales WHERE price > -%d",
		},
		{
			"medians and counts of 1,000 groups", "SELECT item, percentile_cont(0.5) WITHIN GROUP (ORDER BY price) " + byItem,
			"SELECT item, count(*) " + byItem,
		},
		{
			"top 10 and counts of 1,000 groups", "SELECT item, count(*) " + byItem + " ORDER BY 2 DESC LIMIT 10",
			"SELECT item, count(*) " + byItem,
		},
		{
			"names of the top 10 and counts of 1,000 groups", "SELECT item " + byItem + " ORDER BY count(*) DESC LIMIT 10",
			"SELECT item, count(*) " + byItem,
		},
		{
			"top 10 and sums of 1,000 groups", "SELECT item, sum(price) " + byItem + " ORDER BY 2 DESC LIMIT 10",
			"SELECT item, sum(price) " + byItem,
		},
	} {
		var took, beside []time.Duration
		for i := range times { // another statement each time: none is remembered
			took = append(took, timed(t, conn, fmt.Sprintf(c.sql, i+1), pgx.QueryExecModeSimpleProtocol))
			beside = append(beside, timed(t, conn, fmt.Sprintf(c.beside, times+i+1), pgx.QueryExecModeSimpleProtocol))
		}
		slices.Sort(took)
		slices.Sort(beside)
		a, b := took[times/2], beside[times/2]
		t.Logf("%s of %d rows: %v, %.2f times %v", c.name, rows, a.Round(time.Millisecond), float64(a)/float64(b),
			b.Round(time.Millisecond))
	}
}
