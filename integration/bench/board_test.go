package bench_test

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/sitetest"
)

var board = flag.Bool("board", false, "compare a board of twenty tiles with and without published tables")

// A tile is a statement about visits of hospitals, with a column n that has noise, and the same of a published table; empty if nothing
// published tells it.
type tile struct{ asked, published string }

const (
	boardRows = " FROM visits v JOIN hospitals h ON h.id = v.hospital_id WHERE true "
	noiseOf   = ", sqrt(sum(n_stderr ^ 2)) AS n_stderr FROM published.months WHERE true "
	costOf    = ", sqrt(sum(cost_stderr ^ 2)) AS n_stderr FROM published.months WHERE true "
	kindsOf   = ", sqrt(sum(n_stderr ^ 2)) AS n_stderr FROM published.kinds WHERE true "
)

// tiles are the board. FILTER stands where a drop-down puts a region.
var tiles = []tile{
	{"SELECT count(*) AS n" + boardRows, "SELECT sum(n) AS n" + noiseOf},
	{"SELECT sum(cost) AS n" + boardRows, "SELECT sum(cost) AS n" + costOf},
	{
		"SELECT date_trunc('month', day)::date AS k, count(*) AS n" + boardRows + "GROUP BY 1",
		"SELECT month, n, n_stderr FROM published.months WHERE true ",
	},
	{
		"SELECT date_trunc('quarter', day) AS k, count(*) AS n" + boardRows + "GROUP BY 1",
		"SELECT date_trunc('quarter', month), sum(n) AS n" + noiseOf + "GROUP BY 1",
	},
	{
		"SELECT date_trunc('quarter', day) AS k, sum(cost) AS n" + boardRows + "GROUP BY 1",
		"SELECT date_trunc('quarter', month), sum(cost) AS n" + costOf + "GROUP BY 1",
	},
	{
		"SELECT extract(year FROM day) AS k, count(*) AS n" + boardRows + "GROUP BY 1",
		"SELECT extract(year FROM month), sum(n) AS n" + noiseOf + "GROUP BY 1",
	},
	{
		"SELECT extract(year FROM day) AS k, sum(cost) AS n" + boardRows + "GROUP BY 1",
		"SELECT extract(year FROM month), sum(cost) AS n" + costOf + "GROUP BY 1",
	},
	{"SELECT region AS k, count(*) AS n" + boardRows + "GROUP BY 1", "SELECT region, sum(n) AS n" + noiseOf + "GROUP BY 1"},
	{"SELECT region AS k, sum(cost) AS n" + boardRows + "GROUP BY 1", "SELECT region, sum(cost) AS n" + costOf + "GROUP BY 1"},
	{
		"SELECT region, extract(year FROM day) AS k, count(*) AS n" + boardRows + "GROUP BY 1, 2",
		"SELECT region, extract(year FROM month), sum(n) AS n" + noiseOf + "GROUP BY 1, 2",
	},
	{"SELECT count(*) AS n" + boardRows + "AND day >= '2024-01-01' ", "SELECT sum(n) AS n" + noiseOf + "AND month >= '2024-01-01' "},
	{
		"SELECT date_trunc('month', day)::date AS k, count(*) AS n" + boardRows + "AND day >= '2024-01-01' GROUP BY 1",
		"SELECT month, sum(n) AS n" + noiseOf + "AND month >= '2024-01-01' GROUP BY 1",
	},
	{
		"SELECT count(*) AS n" + boardRows + "AND region IN ('north', 'south') ",
		"SELECT sum(n) AS n" + noiseOf + "AND region IN ('north', 'south') ",
	},
	{"SELECT diagnosis AS k, count(*) AS n" + boardRows + "GROUP BY 1", "SELECT diagnosis, sum(n) AS n" + kindsOf + "GROUP BY 1"},
	{
		"SELECT diagnosis, extract(year FROM day) AS k, count(*) AS n" + boardRows + "GROUP BY 1, 2",
		"SELECT diagnosis, year, sum(n) AS n" + kindsOf + "GROUP BY 1, 2",
	},
	{"SELECT count(*) AS n" + boardRows + "AND diagnosis = 'cancer' ", "SELECT sum(n) AS n" + kindsOf + "AND diagnosis = 'cancer' "},
	{
		"SELECT extract(year FROM day) AS k, count(*) AS n" + boardRows + "AND diagnosis = 'cancer' GROUP BY 1",
		"SELECT year, sum(n) AS n" + kindsOf + "AND diagnosis = 'cancer' GROUP BY 1",
	},
	{
		"SELECT diagnosis, region, count(*) AS n" + boardRows + "GROUP BY 1, 2",
		"SELECT diagnosis, region, sum(n) AS n" + kindsOf + "GROUP BY 1, 2",
	},
	{"SELECT count(DISTINCT patient_id) AS n" + boardRows, ""},
	{"SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY cost) AS n" + boardRows, ""},
}

// publish makes the tables, at ρ = 0.04 each.
var publish = []string{
	"/* dp: epsilon=0.2828 */ CREATE TABLE published.months AS " +
		"SELECT date_trunc('month', day)::date AS month, region, count(*) AS n, sum(cost) AS cost" + boardRows + "GROUP BY 1, 2",
	"/* dp: epsilon=0.2828 */ CREATE TABLE published.kinds AS " +
		"SELECT extract(year FROM day)::int AS year, diagnosis, region, count(*) AS n" + boardRows + "GROUP BY 1, 2, 3",
}

// A viewer looks at the board of a demo, until the budget of the analyst ends.
type viewer struct {
	*testing.T
	conn    *pgx.Conn
	paid    int
	refused int
}

// ask returns the median of the standard errors of n in the rows, and the sum of n.
func (v *viewer) ask(sql string) (stderr, total float64) {
	v.Helper()
	before := v.spent()
	rows, err := v.conn.Query(v.Context(), sql, pgx.QueryExecModeSimpleProtocol)
	if err == nil {
		defer rows.Close()
	}
	var errors []float64
	for err == nil && rows.Next() {
		values := map[string]any{}
		for i, f := range rows.FieldDescriptions() {
			values[f.Name] = rows.RawValues()[i]
		}
		number := func(name string) (x float64) {
			text, _ := values[name].([]byte)
			if _, err := fmt.Sscan(string(text), &x); err != nil {
				return math.NaN()
			}
			return x
		}
		errors, total = append(errors, number("n_stderr")), total+number("n")
	}
	if err == nil {
		err = rows.Err()
	}
	if refused := (*pgconn.PgError)(nil); err != nil {
		if refused, _ = err.(*pgconn.PgError); refused == nil || refused.Code != "PB001" { //nolint:errorlint // as pgx returns it
			v.Fatalf("%s: %v", sql, err)
		}
		v.refused++
		return math.NaN(), 0
	}
	if v.spent() > before {
		v.paid++
	}
	if len(errors) == 0 {
		return math.NaN(), total
	}
	slices.Sort(errors)
	return errors[len(errors)/2], total
}

func (v *viewer) spent() (rho float64) {
	v.Helper()
	if err := v.conn.QueryRow(v.Context(), "SELECT spent FROM dp.budget WHERE kind = 'analyst'").Scan(&rho); err != nil {
		v.Fatal(err)
	}
	return rho
}

// filtered is a tile with a region of the drop-down.
func filtered(sql, region string) string {
	if region == "" || sql == "" {
		return sql
	}
	return strings.Replace(sql, "WHERE true ", "WHERE region = '"+region+"' ", 1)
}

// TestBoard looks at a board of twenty tiles and at each of five regions, without published tables and with two of them.
func TestBoard(t *testing.T) {
	if !*board {
		return // a measurement, not a test: make board runs it
	}
	regions := []string{"", "north", "south", "east", "west", "centre"}
	plain := &viewer{T: t, conn: sitetest.StartDemo(t).Conn}
	own := map[string]float64{}
	for _, region := range regions {
		for _, tile := range tiles {
			own[filtered(tile.asked, region)], _ = plain.ask("/* dp: columns=intervals */ " + filtered(tile.asked, region))
		}
	}
	t.Logf("without published tables: %d statements, %d charges, ρ = %.3f, then %d refused",
		len(own), plain.paid, plain.spent(), plain.refused)
	v := &viewer{T: t, conn: sitetest.StartDemo(t).Conn}
	for _, sql := range publish {
		v.ask(sql)
	}
	t.Logf("two published tables: %d charges, ρ = %.3f", v.paid, v.spent())
	var ratios []float64
	totals := map[string]float64{}
	for _, region := range regions {
		for _, tile := range tiles {
			if tile.published == "" {
				v.ask(filtered(tile.asked, region))
				continue
			}
			stderr, total := v.ask(filtered(tile.published, region))
			if was := own[filtered(tile.asked, region)]; stderr > 0 && was > 0 {
				ratios = append(ratios, stderr/was)
			}
			whole := strings.Contains(tile.published, "sum(n) AS n"+noiseOf) && !strings.Contains(tile.published, "AND")
			if whole {
				if known, ok := totals[region]; ok && known != total {
					t.Errorf("a total of %q is %v, another %v", region, known, total)
				}
				totals[region] = total
			}
		}
	}
	slices.Sort(ratios)
	if len(ratios) == 0 {
		t.Fatal("nothing is compared")
	}
	mean := 0.0
	for _, r := range ratios {
		mean += math.Log(r) / float64(len(ratios))
	}
	t.Logf("with them: %d charges in all, ρ = %.3f, %d refused; standard error to that of paying each: "+
		"mean %.2f (geometric), median %.2f, worst %.2f, of %d tiles",
		v.paid, v.spent(), v.refused, math.Exp(mean), ratios[len(ratios)/2], ratios[len(ratios)-1], len(ratios))
}
