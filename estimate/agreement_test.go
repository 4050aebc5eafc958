package estimate_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"dpproxy/estimate"
)

// A table has keys of some sizes; each margin has some of its keys.
type table struct {
	n      int
	rows   [][]int
	counts []int
}

// tableOf returns the table of all combinations of keys, with a margin for each set of keys, as bits.
func tableOf(sizes []int, sets ...int) table {
	t := table{n: 1}
	for _, n := range sizes {
		t.n *= n
	}
	for _, set := range sets {
		rows, count := make([]int, t.n), 1
		for i, n := range sizes {
			if set>>i&1 == 1 {
				count *= n
			}
		}
		for c := range rows {
			for i, rest := 0, c; i < len(sizes); i++ {
				if set>>i&1 == 1 {
					rows[c] = rows[c]*sizes[i] + rest%sizes[i]
				}
				rest /= sizes[i]
			}
		}
		t.rows, t.counts = append(t.rows, rows), append(t.counts, count)
	}
	return t
}

// cubeOf is the table with all margins.
func cubeOf(sizes ...int) table {
	var sets []int
	for set := range 1<<len(sizes) - 1 {
		sets = append(sets, set)
	}
	return tableOf(sizes, sets...)
}

func (t table) agreement(tb testing.TB) *estimate.Agreement {
	tb.Helper()
	a, err := estimate.NewAgreement(t.n, t.rows, t.counts)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// The cubes of which errors are known from the literature on optimal marginals, in units of the standard deviation of a single question
// that has all of the budget: of all numbers and of the total with equal parts for all sets, and the least of all numbers, with parts for
// residuals [Xiao, He, Zhang and Kifer 2023].
var knownCubes = []struct {
	sizes              []int
	equal, total, best float64
}{
	{[]int{2, 2, 2, 2, 2}, 2.053, 2.053, 1.726},
	{[]int{3, 5, 3}, 1.936, 1.94, 1.570},
	{[]int{2, 5, 10}, 2.010, 2.01, 1.542},
	{[]int{10, 12, 5}, 2.365, 2.37, 1.617},
	{[]int{5, 5, 5, 5}, 2.778, 2.78, 1.922},
	{[]int{60, 10}, 1.891, 1.89, 1.297},
}

// TestAgreementOfCubes has equal parts of the budget.
func TestAgreementOfCubes(t *testing.T) {
	const unit = 1e6 // so large that rounding plays no part
	for _, c := range knownCubes {
		of := cubeOf(c.sizes...)
		measured := make([]float64, len(of.rows)+1)
		for i := range measured {
			measured[i] = unit * unit * float64(len(measured))
		}
		got, err := of.agreement(t).Variances(measured)
		if err != nil {
			t.Fatal(err)
		}
		sum, n := 0.0, 0
		for _, rows := range got {
			for _, v := range rows {
				sum, n = sum+v/unit/unit, n+1
			}
		}
		if root := math.Sqrt(sum / float64(n)); math.Abs(root-c.equal) > 0.0006 {
			t.Errorf("%v: an error of %.4f, want %.3f", c.sizes, root, c.equal)
		}
		if total := math.Sqrt(got[1][0]) / unit; math.Abs(total-c.total) > 0.006 {
			t.Errorf("%v: a total with an error of %.4f, want %.2f", c.sizes, total, c.total)
		}
	}
}

// Variances by strata, by totals and parts, and by equations are the same.
func TestAgreementByAllWays(t *testing.T) {
	uneven := table{6, [][]int{{0, 0, 0, 1, 1, 2}, {0, 0, 0, 0, 0, 0}}, []int{3, 1}}
	crossed := table{12, [][]int{{0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1}, {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}}, []int{2, 3}}
	for name, of := range map[string]table{
		"cube": cubeOf(2, 3, 4), "some sets": tableOf([]int{2, 3, 4}, 1, 6), "no total": tableOf([]int{3, 4}, 1, 2),
		"twice":         tableOf([]int{3, 4}, 1, 1, 0),
		"uneven totals": uneven, "nested in crossed": crossed,
	} {
		t.Run(name, func(t *testing.T) {
			measured := []float64{400}
			for i := range of.rows {
				measured = append(measured, 100*float64(i+3))
			}
			got, err := of.agreement(t).Variances(measured)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range estimate.SolveVariances(of.agreement(t), measured) {
				for r := range want {
					if want := min(want[r]+float64(of.cells(i, r))/12, measured[i]); math.Abs(got[i][r]/want-1) > 1e-9 {
						t.Errorf("measurement %d, row %d: %.6f, want %.6f", i, r, got[i][r], want)
					}
				}
			}
		})
	}
}

// cells is the number of cells of a row of a measurement.
func (t table) cells(measurement, row int) (n int) {
	if measurement == 0 {
		return 1
	}
	for _, r := range t.rows[measurement-1] {
		if r == row {
			n++
		}
	}
	return n
}

// Large tables whose margins are neither orthogonal nor a chain have the variances that were measured, and rows without cells none.
func TestAgreementOfLargeTables(t *testing.T) {
	const n = 2000
	of := table{n, [][]int{make([]int, n), make([]int, n)}, []int{4, 3}}
	for c := range n {
		of.rows[0][c], of.rows[1][c] = min(c/7, 2), c%3
	}
	got, err := of.agreement(t).Variances([]float64{5, 6, 7})
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got[1], got[2], got[0][n-1]) != "[6 6 6 0] [7 7 7] 5" {
		t.Errorf("%v", got[1:])
	}
}

// The stated variances are those of what Margins returns, and its intervals hold, whatever the noise is.
func TestAgreementHolds(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	normal := func(sigma float64) float64 { return rng.NormFloat64() * sigma }
	laplace := func(sigma float64) float64 {
		x := rng.ExpFloat64() * sigma / math.Sqrt2
		if rng.IntN(2) == 0 {
			return -x
		}
		return x
	}
	for name, draw := range map[string]func(float64) float64{"normal": normal, "laplace": laplace} {
		for _, of := range []table{cubeOf(4, 2), tableOf([]int{3, 4}, 1, 0)} {
			agreementHolds(t, name, of, draw)
		}
	}
}

// knownNoise has a standard deviation, and a quantile of that of one Laplace or normal variable.
type knownNoise struct {
	sigma   float64
	laplace bool
}

func (k knownNoise) StdDev() float64 { return k.sigma }

func (k knownNoise) Quantile(alpha float64) float64 {
	if k.laplace {
		return math.Ceil(k.sigma / math.Sqrt2 * math.Log(1/alpha))
	}
	return math.Ceil(k.sigma * math.Sqrt2 * math.Erfinv(1-alpha))
}

func agreementHolds(t *testing.T, name string, of table, draw func(float64) float64) {
	t.Helper()
	const runs, alpha = 6000, 0.05
	sigma := func(i int) float64 { return 15 + 5*float64(i) }
	measured, noises := make([]float64, len(of.rows)+1), make([]estimate.Noise, len(of.rows)+1)
	for i := range measured {
		measured[i], noises[i] = sigma(i)*sigma(i), knownNoise{sigma(i), name == "laplace"}
	}
	stated, err := of.agreement(t).Variances(measured)
	if err != nil {
		t.Fatal(err)
	}
	squares, missed := make([]float64, len(measured)), make([]int, len(measured))
	for range runs {
		cells := ints(of.n, func(int) int64 { return int64(math.Round(draw(sigma(0)))) })
		var margins []estimate.Margin
		for m, rows := range of.rows {
			values := ints(of.counts[m], func(int) int64 { return int64(math.Round(draw(sigma(m + 1)))) })
			margins = append(margins, estimate.Margin{Rows: rows, Values: values, Variance: measured[m+1]})
		}
		agreed, err := estimate.Margins(cells, measured[0], margins)
		if err != nil {
			t.Fatal(err)
		}
		for i := range measured { // the first row of each
			x := of.sum(agreed, i)
			squares[i] += x * x
			if math.Abs(x) > (&estimate.Agreed{Sigma: math.Sqrt(stated[i][0]), Of: noises}).Quantile(alpha) {
				missed[i]++
			}
		}
	}
	for i := range measured {
		ratio := squares[i] / runs / stated[i][0]
		if off := 6 * math.Sqrt(5/float64(runs)); math.Abs(ratio-1) > off { // the kurtosis of Laplace noise is 6
			t.Errorf("%s noise, measurement %d of %d cells: %.3f of the stated variance", name, i, of.n, ratio)
		}
		if most := runs*alpha + 6*math.Sqrt(runs*alpha); float64(missed[i]) > most || missed[i] < runs/100 {
			t.Errorf("%s noise, measurement %d of %d cells: %d of %d intervals miss", name, i, of.n, missed[i], runs)
		}
	}
}

// sum is the sum of the cells of the first row of a measurement.
func (t table) sum(cells []*big.Int, measurement int) float64 {
	sum := int64(0)
	for c, n := range cells {
		if measurement == 0 && c == 0 || measurement > 0 && t.rows[measurement-1][c] == 0 {
			sum += n.Int64()
		}
	}
	return float64(sum)
}

func TestAgreementRefuses(t *testing.T) {
	if _, err := estimate.NewAgreement(0, [][]int{{}}, []int{1}); err == nil {
		t.Error("accepted a table without cells")
	}
	if _, err := estimate.NewAgreement(3, [][]int{{0, 0}}, []int{1}); err == nil {
		t.Error("accepted a margin of other cells")
	}
	if _, err := estimate.NewAgreement(2, [][]int{{0, 0}}, nil); err == nil {
		t.Error("accepted a margin without a count of rows")
	}
	a := table{2, [][]int{{0, 0}}, []int{1}}.agreement(t)
	for _, v := range [][]float64{{1}, {1, 0}, {math.NaN(), 1}, {1, math.Inf(1)}} {
		if _, err := a.Variances(v); err == nil {
			t.Errorf("accepted variances %v", v)
		}
	}
}
