package release

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"dpproxy/dp"
	"dpproxy/internal/plantest"
	"dpproxy/internal/stattest"
	"dpproxy/planner"
	"dpproxy/planner/policy"
	"dpproxy/proxy/reader"
)

// numbersOf reads the numbers of a column of an answer.
func numbersOf(t *testing.T, column string) []float64 {
	t.Helper()
	var out []float64
	for cell := range strings.SplitSeq(strings.Trim(column, "{}"), ",") {
		x, err := strconv.ParseFloat(strings.Trim(cell, `"`), 64)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, x)
	}
	return out
}

// TestErrorsOfCubes answers cubes of 4 regions by 2 sexes without a person. The standard errors that are stated of the numbers that agree
// are those that they have, in each grouping set. Equal parts of the budget have other errors, and a larger sum of variances.
func TestErrorsOfCubes(t *testing.T) {
	const sql = "SELECT region, sex, count(*) AS n, dp.stderr(count(*)) FROM people GROUP BY CUBE (1, 2)"
	const draws, epsilon = 3000, 0.02
	b := plantest.Block(t, sql, planner.Settings{
		EpsilonPico: epsilon * dp.PicoPerUnit, DeltaAtto: 1e9, Mechanism: "gaussian", Alpha: 0.05,
		Limits: policy.Limits{PublicFanout: 1, Work: 1},
	})
	var exacts []*reader.Exact
	var sizes []int
	for _, set := range b.Sets {
		exacts, sizes = append(exacts, collected(t, set, 0, nil)), append(sizes, set.Size())
	}
	var squares, stated []float64
	src := stattest.Source(t)
	for range draws {
		r := New(&planner.Plan{Blocks: []*planner.BlockPlan{b}}, func(int) []*Set { return nil }, nil, src)
		if err := r.Begin([][]*reader.Exact{exacts}); err != nil {
			t.Fatal(err)
		}
		columns := b.Columns(r.Released(0))
		n := numbersOf(t, columns[len(columns)-2])
		if stated = numbersOf(t, columns[len(columns)-1]); squares == nil {
			squares = make([]float64, len(n))
		}
		for i, x := range n {
			squares[i] += x * x / draws
		}
	}
	// All numbers have this error with equal parts: 1.461 times that of a number which has all of the budget.
	const equal = 1.461 / epsilon
	sum, before, at := 0.0, 0.0, 0
	for _, size := range sizes {
		for range size {
			root, off := math.Sqrt(squares[at]), 5/math.Sqrt(2*draws)
			if math.Abs(root/stated[at]-1) > off {
				t.Errorf("of %d groups one has an error of %.2f, stated %.2f", size, root, stated[at])
			}
			if (size == 1 || size == 8) && math.Abs(root/equal-1) < off {
				t.Errorf("of %d groups one has the error of equal parts, %.2f: the test cannot fail", size, root)
			}
			weight := 1 / math.Sqrt(float64(size))
			sum, before, at = sum+weight*squares[at], before+weight*equal*equal, at+1
		}
	}
	if gain := before / sum; gain < 1.02 || gain > 1.3 {
		t.Errorf("equal parts have %.3f times the sum of variances", gain)
	}
}
