package bench_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/sitetest"
)

// sales has 1,000 items that sell as a power of their rank, and a person for each sale: what limits leave out is nothing.
const sales = `
CREATE TABLE sales (person int NOT NULL, item int NOT NULL);
INSERT INTO sales SELECT row_number() OVER (), item FROM generate_series(1, 1000) AS item,
  generate_series(1, round(3000 / item ^ 0.7)::int);
CREATE INDEX ON sales (person, item);
ANALYZE sales;`

const salesPolicy = `
privacy_unit: {name: person, budget: {epsilon: 9000, delta: 1e-6, selection_delta: 0}}
tables:
  sales: {unit: person, max_rows: 1, max_partitions: %d, columns: {item: {bounds: [1, 1000]}}}
analysts:
  ana: {password: VERIFIER, tables: [sales]}
`

// TestAccuracyTop asks for the largest of 1,000 groups, chosen and read off all of them, at equal price, and prints how
// many of the true ones are found, how far the shown counts are off, and how long either takes.
func TestAccuracyTop(t *testing.T) {
	if !*accuracy {
		return // a measurement, not a test: make accuracy runs it
	}
	const draws = 100
	for _, c := range []struct {
		rho       float64
		groups, k int
	}{{0.005, 4, 1}, {0.005, 20, 10}, {0.005, 100, 3}, {0.005, 100, 10}, {0.0005, 100, 10}} {
		s := sitetest.New(t, sales, fmt.Sprintf(salesPolicy, c.groups))
		conn := sitetest.Dial(t, s.Run(t).URL("ana"))
		for _, top := range []string{"off", "on"} {
			sitetest.Exec(t, conn, fmt.Sprintf("SET dp.epsilon = %s; SET dp.top = %s", epsilonOf(c.rho), top))
			found, square, took := 0, 0.0, make([]time.Duration, draws)
			for i := range draws {
				began := time.Now()
				items := topItems(t, conn, c.k)
				took[i] = time.Since(began)
				for item, n := range items {
					if item <= c.k {
						found++
					}
					off := n - math.Round(3000/math.Pow(float64(item), 0.7))
					square += off * off
				}
			}
			slices.Sort(took)
			of := float64(draws * c.k)
			t.Logf("ρ=%v, %d groups of a person, top %d, dp.top = %s: %.2f of the true ones, errors of %.3g (rms), %v",
				c.rho, c.groups, c.k, top, float64(found)/of, math.Sqrt(square/of), took[draws/2].Round(time.Millisecond))
		}
	}
}

// topItems returns the k largest items with their counts.
func topItems(t *testing.T, conn *pgx.Conn, k int) map[int]float64 {
	t.Helper()
	rows, err := conn.Query(t.Context(), "SELECT item, count(*) FROM sales GROUP BY item ORDER BY 2 DESC LIMIT "+strconv.Itoa(k))
	if err != nil {
		t.Fatal(err)
	}
	items := map[int]float64{}
	var item int
	var n float64
	if _, err := pgx.ForEachRow(rows, []any{&item, &n}, func() error {
		items[item] = n
		return nil
	}); err != nil {
		t.Fatal(strings.TrimSpace(err.Error()))
	}
	return items
}
