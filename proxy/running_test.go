package proxy_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/dp"
	"dpproxy/proxy"
)

// answer returns the rows of a statement as texts.
func (c *client) answer(t *testing.T, sql string) (all []string) {
	t.Helper()
	rows, err := c.Query(t.Context(), sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
		values, err := row.Values()
		return fmt.Sprint(values...), err
	})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return all
}

// TestRunningTotals asks for running totals over 60 years. Totals that alone are shown are measured: the error that is stated of them, by
// replays, is theirs, and it hardly grows. They cost what groups cost, and are another question than these.
func TestRunningTotals(t *testing.T) {
	w := accurate(t, func(*proxy.Config) {}, large(t))
	ana := w.client(t, "ana")
	ana.set(t, "dp.mechanism = gaussian", "dp.epsilon = 0.1")
	const (
		years  = "FROM patients WHERE birth_year BETWEEN 1930 AND 1989 GROUP BY birth_year"
		totals = "SELECT birth_year, sum(count(*)) OVER (ORDER BY birth_year)::bigint AS so_far " + years
		below  = "SELECT y, sum(n) OVER (ORDER BY y)::bigint AS so_far FROM (SELECT birth_year AS y, count(*) AS n " + years + ") t"
		both   = "SELECT birth_year, count(*), sum(count(*)) OVER (ORDER BY birth_year)::bigint AS so_far " + years
		more   = "SELECT sum(count(*)) OVER (ORDER BY birth_year), sum(sum(birth_year)) OVER (ORDER BY birth_year) " + years
		all    = dp.PicoPerUnit / 200 // of dp.epsilon = 0.1
	)
	shown := map[string][]string{}
	for i, c := range []struct {
		sql, totals string
		price       int64
		as          string
	}{
		{totals, "auto", all, "totals"},
		{totals, "auto", 0, "totals"},
		{below, "auto", 0, "totals"},
		{below, "off", all, "by themselves"},
		{both, "auto", 0, ""}, // groups by themselves
		{both, "on", 0, ""},   // as they follow from totals
		{totals, "off", 0, "by themselves"},
		{more, "auto", all / 2, ""}, // the count is known
		{more, "auto", 0, ""},
	} {
		ana.set(t, "dp.totals = "+c.totals)
		before := w.spent(t, "unit", "patient")
		answer := ana.answer(t, c.sql)
		price := w.spent(t, "unit", "patient") - before
		if price > c.price || price < c.price*98/100 {
			t.Errorf("%d, %s with dp.totals = %s: costs %d", i, c.sql, c.totals, price)
		}
		if len(answer) != 60 || c.as != "" && shown[c.as] != nil && !slices.Equal(shown[c.as], answer) {
			t.Errorf("%d, %s with dp.totals = %s: %d rows, or others than before", i, c.sql, c.totals, len(answer))
		}
		if c.as != "" {
			shown[c.as] = answer
		}
	}
	if slices.Equal(shown["totals"], shown["by themselves"]) {
		t.Error("groups that were measured by themselves have the totals that were measured")
	}

	ana.set(t, "dp.totals = auto", "dp.columns = errors")
	const sigma = 10 // of a count at ε = 0.1
	told := ana.answer(t, totals+" ORDER BY 1")
	fewer := math.Sqrt(199 / replays(t, ana)) // a busy machine draws fewer than 199, which tell less
	for at, row := range told {
		var year, total int
		var half float64
		if _, err := fmt.Sscan(row, &year, &total, &half); err != nil {
			t.Fatal(row, err)
		}
		column, length := 0.0, 1.0
		for k, c := 0, 1.0; k < 60; k++ {
			if k > 0 {
				c *= float64(2*k-1) / float64(2*k)
			}
			if column += c * c; k == at {
				length = column
			}
		}
		if want := 1.96 * sigma * math.Sqrt(column*length); half < want*(1-0.25*fewer) || half > want*(1+0.35*fewer) {
			t.Errorf("total %d: ± %.1f, want about %.1f", at, half, want)
		}
	}
}

// replays are those by which the errors of the last answer are known.
func replays(t *testing.T, c *client) (n float64) {
	t.Helper()
	said := strings.Join(c.answer(t, "SELECT limits FROM dp.last"), "")
	_, rest, _ := strings.Cut(said, "is from ")
	if _, err := fmt.Sscan(rest, &n); err != nil {
		t.Fatalf("%s: %v", said, err)
	}
	return n
}
