package estimate_test

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"dpproxy/estimate"
	"dpproxy/internal/stattest"
)

// hierarchy draws up to four levels of estimates with one to four parts each,
// totals that were sometimes not measured, and a single grand total.
func hierarchy(t *rapid.T) (levels [][]estimate.Estimate, children [][]int) {
	n := 1
	depth := rapid.IntRange(1, 4).Draw(t, "levels")
	for l := range depth {
		level := make([]estimate.Estimate, n)
		first := []int{0}
		for j := range level {
			level[j] = estimate.Estimate{
				Value:    rapid.Float64Range(-1000, 1000).Draw(t, "value"),
				Variance: rapid.Float64Range(0.1, 100).Draw(t, "variance"),
			}
			if l < depth-1 && rapid.IntRange(0, 3).Draw(t, "measured") == 0 {
				level[j].Variance = math.Inf(1)
			}
			first = append(first, first[j]+rapid.IntRange(1, 4).Draw(t, "parts"))
		}
		levels = append(levels, level)
		if l < depth-1 {
			children = append(children, first)
		}
		n = first[len(first)-1]
	}
	return levels, children
}

// design has a row for each estimate, which says which leaves it is the sum of.
func design(levels [][]estimate.Estimate, children [][]int) *mat.Dense {
	leaves := len(levels[len(levels)-1])
	var rows [][]float64
	var descend func(l, j int, row []float64)
	descend = func(l, j int, row []float64) {
		if l == len(levels)-1 {
			row[j] = 1
			return
		}
		for c := children[l][j]; c < children[l][j+1]; c++ {
			descend(l+1, c, row)
		}
	}
	for l := range levels {
		for j := range levels[l] {
			row := make([]float64, leaves)
			descend(l, j, row)
			rows = append(rows, row)
		}
	}
	a := mat.NewDense(len(rows), leaves, nil)
	for i, row := range rows {
		a.SetRow(i, row)
	}
	return a
}

// TestReconcileIsLeastSquares compares with weighted least squares for the
// leaves, by the normal equations: the estimates are A·(AᵀWA)⁻¹·AᵀW·y, and their
// variances the diagonal of A·(AᵀWA)⁻¹·Aᵀ.
func TestReconcileIsLeastSquares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		levels, children := hierarchy(t)
		got, err := estimate.Reconcile(levels, children)
		if err != nil {
			t.Fatal(err)
		}
		a := design(levels, children)
		n, _ := a.Dims()
		weights, y := mat.NewDiagDense(n, nil), mat.NewVecDense(n, nil)
		i := 0
		for _, level := range levels {
			for _, e := range level {
				weights.SetDiag(i, 1/e.Variance)
				y.SetVec(i, e.Value)
				i++
			}
		}
		var weighted, information, inverse, left, covariance mat.Dense
		weighted.Mul(a.T(), weights)
		information.Mul(&weighted, a)
		if err := inverse.Inverse(&information); err != nil {
			t.Fatal(err)
		}
		left.Mul(a, &inverse)
		covariance.Mul(&left, a.T())
		var right, want mat.VecDense
		right.MulVec(&weighted, y)
		want.MulVec(&left, &right)
		i = 0
		for l := range got {
			for j, e := range got[l] {
				if math.Abs(e.Value-want.AtVec(i)) > 1e-7 || math.Abs(e.Variance-covariance.At(i, i)) > 1e-7 {
					t.Fatalf("level %d, %d: %v, want %v and %v", l, j, e, want.AtVec(i), covariance.At(i, i))
				}
				if e.Variance > levels[l][j].Variance*(1+1e-12) {
					t.Fatalf("level %d, %d: the variance grows from %v to %v", l, j, levels[l][j].Variance, e.Variance)
				}
				i++
			}
		}
	})
}

func TestPartsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		levels, children := hierarchy(t)
		got := must(estimate.Reconcile(levels, children))
		for l := range children {
			for j, total := range got[l] {
				sum := 0.0
				for _, p := range got[l+1][children[l][j]:children[l][j+1]] {
					sum += p.Value
				}
				if math.Abs(sum-total.Value) > 1e-9 {
					t.Fatalf("level %d, %d: %v, and its parts are %v", l, j, total.Value, sum)
				}
			}
		}
	})
}

// TestReconcileMixedNoise has a total with Laplace noise and parts with Gaussian
// noise, and finds the variance that it claims, and not one of 1.5 times less
// noise.
func TestReconcileMixedNoise(t *testing.T) {
	const runs, parts = 20_000, 5
	src := stattest.Source(t)
	whole, part := laplace(1, 0.1), gaussian(1, 0.01)
	square, claimed := 0.0, 0.0
	for range runs {
		noisy := func(x int64) float64 {
			f, _ := released(part, src, x).Float64()
			return f
		}
		total, _ := released(whole, src, 500).Float64()
		levels := [][]estimate.Estimate{{{Value: total, Variance: whole.StdDev() * whole.StdDev()}}, nil}
		for range parts {
			levels[1] = append(levels[1], estimate.Estimate{Value: noisy(100), Variance: part.StdDev() * part.StdDev()})
		}
		got := must(estimate.Reconcile(levels, [][]int{{0, parts}}))
		square += (got[0][0].Value - 500) * (got[0][0].Value - 500)
		claimed = got[0][0].Variance
	}
	// The variance has a relative standard error of at most √(5/runs) = 1.6 %: the
	// fourth moment of a mixture of Laplace and normal noise is at most six squares.
	ratio := square / runs / claimed
	t.Logf("variance %.4f of the claim", ratio)
	if math.Abs(ratio-1) > 0.08 {
		t.Errorf("the variance is %v of the claim %v", ratio, claimed)
	}
	if ratio*wrong*wrong < 1.08 {
		t.Errorf("noise understated by %v passes", wrong)
	}
}

// TestExactPartsKeepTheirPlace has parts without variance, which share the rest
// equally.
func TestExactPartsKeepTheirPlace(t *testing.T) {
	levels := [][]estimate.Estimate{{{12, 0}}, {{3, 0}, {5, 0}}}
	got := must(estimate.Reconcile(levels, [][]int{{0, 2}}))
	if got[0][0].Value != 12 || got[1][0].Value != 5 || got[1][1].Value != 7 {
		t.Errorf("%v", got)
	}
	levels[0][0].Value = 8
	got = must(estimate.Reconcile(levels, [][]int{{0, 2}}))
	if got[1][0].Value != 3 || got[1][1].Value != 5 || got[0][0].Variance != 0 {
		t.Errorf("%v", got)
	}
}

func TestReconcileRefuses(t *testing.T) {
	one, two := []estimate.Estimate{{1, 1}}, []estimate.Estimate{{1, 1}, {1, 1}}
	for name, c := range map[string]struct {
		levels   [][]estimate.Estimate
		children [][]int
	}{
		"nothing":           {nil, nil},
		"no children":       {[][]estimate.Estimate{one, two}, nil},
		"too few offsets":   {[][]estimate.Estimate{one, two}, [][]int{{0}}},
		"a part left over":  {[][]estimate.Estimate{one, two}, [][]int{{0, 1}}},
		"a part too many":   {[][]estimate.Estimate{one, two}, [][]int{{0, 3}}},
		"a first part lost": {[][]estimate.Estimate{one, two}, [][]int{{1, 2}}},
		"a childless total": {[][]estimate.Estimate{two, two}, [][]int{{0, 2, 2}}},
		"a decrease":        {[][]estimate.Estimate{two, two}, [][]int{{0, 3, 2}}},
		"unmeasured part":   {[][]estimate.Estimate{one, {{1, math.Inf(1)}}}, [][]int{{0, 1}}},
		"not a number":      {[][]estimate.Estimate{one, {{math.NaN(), 1}}}, [][]int{{0, 1}}},
	} {
		if got, err := estimate.Reconcile(c.levels, c.children); !errors.Is(err, estimate.ErrParameter) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
