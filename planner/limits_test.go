package planner_test

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"dpproxy/internal/plantest"
	"dpproxy/planner"
)

// TestOneReadServesAllLimits compares the integers that one read by levels gives for each limit with those of
// a statement that has the limit written in (Lemma 2 of package contribution).
func TestOneReadServesAllLimits(t *testing.T) {
	conn := connect(t)
	const (
		list  = ` WHERE diagnosis IN ('asthma', 'flu', 'it''s "so"')`
		cents = "sum(round(least(greatest(cost, 0), 20000) * 100))"
		root  = "ceil(sqrt(s::float8) * 1024)::numeric + 1"
		wide  = "ceil(sqrt(s * 1048576)) + 1"

		signed = "SELECT diagnosis, sum(least(cost, 900) - 500) FROM visits GROUP BY 1"
		median = "SELECT diagnosis, percentile_cont(0.5) WITHIN GROUP (ORDER BY cost) FROM visits WHERE cost = 5 GROUP BY 1"
		steps  = "sum(round((least(greatest(cost, 0), 900) - 500) * 100))"
	)
	for _, c := range []struct {
		sql, mechanism, contribution string
		x, key, where                string
		size, length                 string // of the norm, squared or not
		fraction, further            uint   // bits of the lattice, and of directions beyond
	}{
		{"SELECT count(*) FROM visits", "gaussian", "auto", "count(*)", "''", "", "abs(x)", "s", 0, 0},
		{"SELECT sum(cost) FROM visits", "laplace", "auto", cents, "''", "", "abs(x)", "s", 0, 0},
		{"SELECT diagnosis, count(*) FROM visits GROUP BY 1", "gaussian", "auto", "count(*)", "diagnosis", list, "x * x", root, 20, 10},
		{"SELECT diagnosis, count(*) FROM visits GROUP BY 1", "gaussian", "fixed", "count(*)", "diagnosis", list, "x * x", root, 20, 10},
		{"SELECT diagnosis, count(*) FROM visits GROUP BY 1", "laplace", "auto", "count(*)", "diagnosis", list, "abs(x)", "s", 20, 0},
		{"SELECT diagnosis, sum(cost) FROM visits GROUP BY 1", "gaussian", "auto", cents, "diagnosis", list, "x * x", wide, 14, 10},
		{"SELECT diagnosis, sum(cost) FROM visits GROUP BY 1", "laplace", "auto", cents, "diagnosis", list, "abs(x)", "s", 14, 0},
		{signed, "gaussian", "auto", steps, "diagnosis", list, "x * x", wide, 14, 10},
		{median, "gaussian", "auto", "count(*)", "diagnosis", list + " AND cost = 5", "x * x", wide, 20, 10},
		{signed, "laplace", "auto", steps, "diagnosis", list, "abs(x)", "s", 14, 0},
	} {
		p := planWith(t, conn, clinic(t), c.sql, func(s *planner.Settings) { s.Mechanism, s.Contribution = c.mechanism, c.contribution })
		exact, m := p.read(t, conn)[0], p.Blocks[0].Sets[0].Measures[0]
		norm := m.Norms[0]
		bits := norm.Grid.Lattice(0)
		power := 1
		if c.further > 0 {
			power = 2
		}
		for i, level := range plantest.Limits(norm) {
			if i%4 > 0 {
				continue
			}
			limit := math.Ldexp(norm.Grid.Limit(level), int(bits))
			sql := fmt.Sprintf(`WITH g AS (SELECT patient_id, %s AS k, (%s)::numeric AS x FROM visits%s GROUP BY 1, 2),
				w AS (SELECT *, sum(%s) OVER (PARTITION BY patient_id) AS s FROM g)
				SELECT k, sum(CASE WHEN s * %v <= power(%.0f::numeric, %d) THEN x * %v
				ELSE %.0f * div(x * %v, %s) END) FROM w GROUP BY k`, c.key, c.x, c.where, c.size, 1<<(bits*uint(power)), limit, power,
				1<<(c.fraction+bits), limit, 1<<(c.fraction+c.further), c.length)
			res := conn.Exec(t.Context(), sql)
			rows, err := res.ReadAll()
			if err != nil {
				t.Fatalf("%v\n%s", err, sql)
			}
			want := new(big.Int)
			for _, row := range rows[0].Rows {
				whole, fraction, _ := strings.Cut(string(row[1]), ".")
				n, ok := new(big.Int).SetString(whole, 10)
				if !ok || strings.Trim(fraction, "0") != "" {
					t.Fatalf("%s is no integer", row[1])
				}
				want.Add(want, n.Mul(n, n)) // of all groups: their keys are numbers in the read
			}
			got := new(big.Int)
			for leaf := range p.Blocks[0].Sets[0].Statistics()[0].Levels[0] { // of a histogram one has all values
				got.Add(got, squares(exact.Integer(leaf, []planner.Clip{{Levels: []int{level}}})))
			}
			if got.Cmp(want) != 0 || want.Sign() == 0 {
				t.Errorf("%s at the limit %v, %s: %v, with the limit written in %v", c.sql, norm.Grid.Limit(level), c.mechanism, got, want)
			}
		}
	}
}

// squares adds up those of integers.
func squares(of map[string]*big.Int) *big.Int {
	sum := new(big.Int)
	for _, n := range of {
		sum.Add(sum, new(big.Int).Mul(n, n))
	}
	return sum
}
