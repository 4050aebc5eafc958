package bench_test

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"dpproxy/accountant"
	"dpproxy/dp"
	"dpproxy/internal/demo"
	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
	"dpproxy/internal/tpch"
)

var tpchScale = flag.Float64("tpch", 0, "run the TPC-H-derived benchmark at this scale factor")

// Each query may spend an epsilon of 1 at a delta of 1e-6.
const (
	tpchEpsilon = 1
	tpchDelta   = 1e-6
)

// tpchRuns is how often each query is asked on either side, after once to warm up.
const tpchRuns = 5

// TestBenchTPCH asks five queries of dpproxy and of its database, in turns, and
// tells how far the answers are apart and how long both took. Each answer may spend
// an (ε, δ) of its own; its error is noise and clamping together; replies keep to no
// grid. The data are TPC-H-derived: nothing here is a TPC-H result.
func TestBenchTPCH(t *testing.T) {
	if *tpchScale == 0 {
		return // a measurement, not a test: make bench-tpch runs it
	}
	s := tpchSite(t)
	r := s.Run(t)
	// A statement pays in ρ, which is half the square of dp.epsilon.
	spend := math.Sqrt(2 * float64(accountant.RhoMax(tpchEpsilon*dp.PicoPerUnit, tpchDelta*dp.AttoPerUnit)) / dp.PicoPerUnit)
	for _, q := range tpch.Queries() {
		t.Run(q.Name, func(t *testing.T) {
			plain, ours := sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser)), sitetest.Dial(t, r.URL("ana"))
			sitetest.Exec(t, ours, fmt.Sprintf("SET dp.epsilon = '%.9f'; SET dp.notice = off", spend-1e-9))
			if q.MaxSum != "" {
				sitetest.Exec(t, ours, "SET dp.max_sum = "+q.MaxSum)
			}
			compareQuery(t, q, plain, ours)
		})
	}
	t.Logf("load %s", load(t))
}

func tpchSite(t *testing.T) *sitetest.Site {
	t.Helper()
	g, err := tpch.Generate(1, *tpchScale)
	if err != nil {
		t.Fatal(err)
	}
	policy := tpch.Policy(tpch.PolicyValues{Epsilon: 9000, Verifier: "VERIFIER"}) + "\nlimits: {statement_timeout: 10m, reply_grid: 0}\n"
	data, start := measuredPostgres(t), time.Now()
	conn := sitetest.Dial(t, data.URL("postgres", pgtemp.Superuser))
	if err := demo.Load(t.Context(), conn, g, nil); err != nil {
		t.Fatal(err)
	}
	sitetest.Exec(t, conn, "VACUUM ANALYZE") // the visibility map, too: index-only scans need it
	t.Logf("TPC-H-derived, scale factor %v: loaded in %v", *tpchScale, time.Since(start).Round(time.Millisecond))
	return sitetest.Make(t, sitetest.Options{Data: data, Policy: policy})
}

func compareQuery(t *testing.T, q tpch.Query, plain, ours *pgx.Conn) {
	var plainTimes, ourTimes []time.Duration
	var truth, answer table
	for run := range tpchRuns + 1 {
		var took [2]time.Duration
		truth, took[0] = queryTable(t, plain, q.SQL)
		answer, took[1] = queryTable(t, ours, q.SQL)
		if run > 0 {
			plainTimes, ourTimes = append(plainTimes, took[0]), append(ourTimes, took[1])
		}
	}
	slices.Sort(plainTimes)
	slices.Sort(ourTimes)
	a, b := percentile(plainTimes, 50), percentile(ourTimes, 50)
	t.Logf("%s: Postgres p50 %v, dpproxy p50 %v: ×%.2f; ε = %v, δ = %v", q.Name, a, b, float64(b)/float64(a), tpchEpsilon, tpchDelta)
	for _, line := range answer.errors(truth) {
		t.Log(line)
	}
}

// A table is a query's result: its columns' names, and its rows by their texts in
// columns that are no numbers.
type table struct {
	columns []string
	rows    map[string][]float64 // NaN in a column that is part of the key, and for NULL
}

func queryTable(t *testing.T, conn *pgx.Conn, sql string) (table, time.Duration) {
	t.Helper()
	start := time.Now()
	rows, err := conn.Query(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	result := table{rows: map[string][]float64{}}
	for _, f := range rows.FieldDescriptions() {
		result.columns = append(result.columns, f.Name)
	}
	for rows.Next() {
		var key []string
		numbers := make([]float64, len(result.columns))
		for i, raw := range rows.RawValues() {
			numbers[i] = math.NaN()
			switch rows.FieldDescriptions()[i].DataTypeOID {
			case pgtype.NumericOID, pgtype.Int8OID, pgtype.Float8OID:
				if raw == nil {
					continue
				}
				if numbers[i], err = strconv.ParseFloat(string(raw), 64); err != nil {
					t.Fatal(err)
				}
			default:
				key = append(key, strings.TrimRight(string(raw), " "))
			}
		}
		result.rows[strings.Join(key, " ")] = numbers
	}
	if rows.Err() != nil {
		t.Fatal(rows.Err())
	}
	return result, time.Since(start)
}

// errors describes each numeric column: the median and the largest relative error
// over the rows of the truth, and how many of these the answer lacks, or has with NULL, as averages of groups
// whose noisy size is too small; and the number of further groups in the answer. Empty groups have no
// relative error; their largest value is told.
func (answer table) errors(truth table) []string {
	var lines []string
	for i, name := range truth.columns {
		var relative []float64
		missing, null, empty := 0, 0, 0.0
		for key, row := range truth.rows {
			switch got, ok := answer.rows[key]; {
			case !ok:
				missing++
			case math.IsNaN(row[i]):
			case math.IsNaN(got[i]):
				null++
			case row[i] != 0:
				relative = append(relative, math.Abs(got[i]-row[i])/math.Abs(row[i]))
			}
		}
		for key, got := range answer.rows {
			if _, ok := truth.rows[key]; !ok && !math.IsNaN(got[i]) {
				empty = max(empty, math.Abs(got[i]))
			}
		}
		if len(relative) == 0 {
			if null > 0 {
				lines = append(lines, fmt.Sprintf("  %-16s NULL in all %d", name, null))
			}
			continue
		}
		slices.Sort(relative)
		lines = append(lines, fmt.Sprintf(
			"  %-16s median error %8.4f %%, largest %8.4f %% of %d; %d NULL, %d missing; largest of %d empty groups %.6g",
			name, 100*relative[len(relative)/2], 100*relative[len(relative)-1], len(relative), null, missing,
			len(answer.rows)-len(truth.rows)+missing, empty))
	}
	return lines
}
