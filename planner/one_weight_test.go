package planner_test

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/plantest"
	"dpproxy/planner"
)

// A rollup is a statement with totals, and what it adds up as SQL of another hand.
type rollup struct {
	aggregate, x string
	length       string // of the norm that directions are divided by
	fraction     uint   // bits of the lattice of directions
	room         bool   // of sums of both signs
}

const (
	diagnosisAndYear = "diagnosis, extract(year FROM day)"
	// wholeSum and signedSum are sums of one sign and of both.
	wholeSum  = "sum(cost)"
	signedSum = "sum(least(cost, 900) - 500)"
)

var rollups = []rollup{
	{"count(*)", "count(*)", "ceil(sqrt(s::float8) * 1024)::numeric + 1", 20, false},
	{wholeSum, "sum(round(least(greatest(cost, 0), 20000) * 100))", "ceil(sqrt(s * 1048576)) + 1", 14, false},
	{
		signedSum, "sum(round((least(greatest(cost, 0), 900) - 500) * 100))",
		"div((ceil(sqrt(s * 1048576)) + 1) * 16384, 16384 - cells) + 1", 14, true,
	},
}

// byNorms writes the sums of all units, cut at a limit in lattice units, to the groups of ROLLUP: with one weight, by
// the norm in the finest groups and, its square divided by 3 and by 6, in the diagnoses and in all, or by the first alone.
// There are 15 groups: 5 of each of 3 diagnoses, of which the square has the cube root 2.9, and 15 of the total, 6.1.
func (r rollup) byNorms(limit float64, bits uint, one bool) string {
	size := "f.s"
	if one {
		size = "greatest(f.s, ceil(d.s / 3), ceil(a.s / 6))"
	}
	const norms = "SELECT u, sum(x * x) AS s, count(*) AS cells FROM %s GROUP BY 1"
	return fmt.Sprintf(`WITH g AS (SELECT coalesce(patient_id, 0) AS u, diagnosis AS k1, extract(year FROM day) AS k2,
		  (%s)::numeric AS x FROM visits WHERE diagnosis IN ('asthma', 'flu', 'it''s "so"') GROUP BY 1, 2, 3),
		w AS (SELECT g.*, %s AS s, f.cells FROM g JOIN (%s) f USING (u) JOIN (%s) d USING (u) JOIN (%s) a USING (u)),
		y AS (SELECT k1, k2, CASE WHEN s * %v <= power(%.0f::numeric, 2) THEN x * %v ELSE %.0f * div(x * %v, %s) END AS y FROM w)
		SELECT grouping(k1, k2), sum(y) FROM y GROUP BY GROUPING SETS ((k1, k2), (k1), ()), CASE WHEN false THEN k1 END`,
		r.x, size, fmt.Sprintf(norms, "g"), fmt.Sprintf(norms, "(SELECT u, sum(x) AS x FROM g GROUP BY u, k1) d"),
		fmt.Sprintf(norms, "(SELECT u, sum(x) AS x FROM g GROUP BY u) a"),
		1<<(2*bits), limit, 1<<(r.fraction+bits), limit, 1<<(r.fraction+10), r.length)
}

// squaresOf adds up the squares of the sums of each grouping set, whose keys are numbers in the read.
func squaresOf(t *testing.T, conn *pgconn.PgConn, sql string) map[string]*big.Int {
	t.Helper()
	rows, err := conn.Exec(t.Context(), sql).ReadAll()
	if err != nil {
		t.Fatalf("%v\n%s", err, sql)
	}
	out := map[string]*big.Int{"0": new(big.Int), "1": new(big.Int), "3": new(big.Int)}
	for _, row := range rows[0].Rows {
		whole, fraction, _ := strings.Cut(string(row[1]), ".")
		n, ok := new(big.Int).SetString(whole, 10)
		if !ok || strings.Trim(fraction, "0") != "" {
			t.Fatalf("%s is no integer", row[1])
		}
		all := out[string(row[0])]
		all.Add(all, n.Mul(n, n))
	}
	return out
}

// TestOneWeight compares the integers of all grouping sets, which are sums of what one read has by levels, with
// those of a statement that has limit and weights written in: for every limit. With weights by the norm of the
// finest groups alone they are others.
func TestOneWeight(t *testing.T) {
	conn := connect(t)
	run(t, conn, "BEGIN")
	defer run(t, conn, "ROLLBACK")
	// Some patients have as much in each group, so that most of them is in totals.
	run(t, conn, `INSERT INTO visits SELECT 100000 + g, 5000 + g % 7, 1, date '2020-06-01' + 365 * (g % 5), NULL,
		(ARRAY['asthma','flu','it''s "so"'])[g % 3 + 1], 700 + g % 11, 5, NULL, NULL, NULL FROM generate_series(1, 2000) g`)
	for _, r := range rollups {
		others := 0
		for _, contribution := range []string{"auto", "fixed"} {
			sql := fmt.Sprintf("SELECT %s, %s FROM visits GROUP BY ROLLUP (1, 2)", diagnosisAndYear, r.aggregate)
			p := planWith(t, conn, clinic(t), sql, func(s *planner.Settings) {
				s.Mechanism, s.Contribution, s.MaxRows, s.MaxPartitions = "gaussian", contribution, 4, 4
			})
			sets, exact := p.Blocks[0].Sets, p.read(t, conn)
			finest := slices.IndexFunc(sets, func(g *planner.GroupingSet) bool { return g.Keys() == 2 })
			norm := sets[finest].Measures[0].Norms[0]
			bits := norm.Grid.Lattice(0)
			for i, level := range plantest.Limits(norm) {
				if i%5 > 0 {
					continue
				}
				limit := math.Ldexp(norm.Grid.Limit(level), int(bits))
				want := squaresOf(t, conn, r.byNorms(limit, bits, true))
				finestAlone := squaresOf(t, conn, r.byNorms(limit, bits, false))
				for at, set := range sets {
					got := squares(exact[at].Integer(0, []planner.Clip{{Levels: []int{level}}}))
					key := []string{"3", "1", "0"}[set.Keys()]
					if got.Cmp(want[key]) != 0 || got.Sign() == 0 {
						t.Errorf("%s, %s, at the limit %v with %d keys: %v, with the weights written in %v",
							r.aggregate, contribution, norm.Grid.Limit(level), set.Keys(), got, want[key])
					}
					if got.Cmp(finestAlone[key]) != 0 {
						others++
					}
				}
			}
		}
		if others == 0 {
			t.Errorf("%s: no weight is by the norm of totals: the test cannot fail", r.aggregate)
		}
	}
}

// TestPartsAddUp holds that parts and totals are the same at every limit, before there is noise; those of
// statements with weights of their own are not.
func TestPartsAddUp(t *testing.T) {
	conn := connect(t)
	sum := func(of map[string]*big.Int) *big.Int {
		all := new(big.Int)
		for _, n := range of {
			all.Add(all, n)
		}
		return all
	}
	for _, aggregate := range []string{"count(*)", wholeSum, signedSum, "count(tip) FILTER (WHERE cost > 3)"} {
		for _, mechanism := range []string{"gaussian", "laplace"} {
			read := func(by string) ([]*planner.GroupingSet, reading) {
				p := planWith(t, conn, clinic(t), "SELECT "+aggregate+" FROM visits GROUP BY "+by, func(s *planner.Settings) {
					s.Mechanism, s.Contribution = mechanism, planner.ChosenContribution
				})
				return p.Blocks[0].Sets, p.read(t, conn)
			}
			sets, exact := read("CUBE (" + diagnosisAndYear + ")")
			first := exact[0]
			limits := plantest.Limits(sets[0].Measures[0].Norms[0])
			for _, level := range limits {
				clips := []planner.Clip{{Levels: []int{level}}}
				for i := range sets {
					if a, b := sum(first.Integer(0, clips)), sum(exact[i].Integer(0, clips)); a.Cmp(b) != 0 || a.Sign() == 0 {
						t.Errorf("%s, %s: at limit %d the groups of a set are %v together, of another one %v",
							aggregate, mechanism, level, a, b)
					}
				}
			}
			if mechanism == "laplace" {
				continue // of one sign totals have the same norm then
			}
			_, parts := read(diagnosisAndYear)
			separate, total := read("diagnosis")
			at := []planner.Clip{{Levels: limits[:1]}}
			of := sum(total[0].Integer(0, []planner.Clip{{Levels: plantest.Limits(separate[0].Measures[0].Norms[0])[:1]}}))
			if sum(parts[0].Integer(0, at)).Cmp(of) == 0 {
				t.Errorf("%s: weights of their own add up: the test cannot fail", aggregate)
			}
		}
	}
}

// TestRoomOfSigns has a patient with many small negative values, of which each direction is rounded to nothing,
// so that the sum of the directions of a total is larger than that of its parts. Within the sensitivity it is for
// the room that its length leaves.
func TestRoomOfSigns(t *testing.T) {
	conn := connect(t)
	const sql = "SELECT day, diagnosis, sum(tip) FROM visits GROUP BY ROLLUP (1, 2)"
	p := planWith(t, conn, unlimitedClinic(t), sql, func(s *planner.Settings) { s.Mechanism = "gaussian" })
	without := p.read(t, conn)
	run(t, conn, "BEGIN")
	defer run(t, conn, "ROLLBACK")
	run(t, conn, `INSERT INTO visits SELECT 100000 + g, 5000, 1, date '2020-01-01' + g % 1800, NULL,
		(ARRAY['asthma','flu','it''s "so"'])[g / 1800 + 1], 1, CASE WHEN g < 200 THEN 99 ELSE -0.139 END, NULL, NULL, NULL
		FROM generate_series(0, 5200) g`)
	with, reached := p.read(t, conn), map[string]float64{}
	p.withinSensitivity(t, "many signs", with, without, reached)
	if most := slices.Max(slices.Collect(maps.Values(reached))); most < 0.6 {
		t.Errorf("the largest change is %.3f of the declared one", most)
	}
}

// TestLargestNorm has a patient whose sums are the largest in so many groups that the norm of all is beyond the numbers that directions
// are divided by.
func TestLargestNorm(t *testing.T) {
	conn := connect(t)
	const sql = "SELECT day, diagnosis, sum(cost * cost) FROM visits GROUP BY 1, 2"
	p := planWith(t, conn, unlimitedClinic(t), sql, func(s *planner.Settings) { s.Mechanism = "gaussian" })
	without := p.read(t, conn)
	run(t, conn, "BEGIN")
	defer run(t, conn, "ROLLBACK")
	run(t, conn, `INSERT INTO visits SELECT 100000 + g, 5000, 1, date '2020-01-01' + g % 1800, NULL,
		(ARRAY['asthma','flu','it''s "so"'])[g / 1800 % 3 + 1], 1e7, 0, NULL, NULL, NULL
		FROM generate_series(0, 5399 * 40) g`)
	p.withinSensitivity(t, "the largest sums", p.read(t, conn), without, map[string]float64{})
}
