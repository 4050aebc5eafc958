package estimate_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"dpproxy/estimate"
)

// cube is a table of 3 by 4 cells with its margins.
func cube(byRow, byColumn []*big.Int, total *big.Int, variance float64) []estimate.Margin {
	rows, columns, all := make([]int, 12), make([]int, 12), make([]int, 12)
	for c := range 12 {
		rows[c], columns[c] = c/4, c%4
	}
	return []estimate.Margin{{rows, byRow, variance}, {columns, byColumn, variance}, {all, []*big.Int{total}, variance}}
}

func ints(n int, f func(i int) int64) []*big.Int {
	out := make([]*big.Int, n)
	for i := range out {
		out[i] = big.NewInt(f(i))
	}
	return out
}

func TestMarginsThatAgreeStay(t *testing.T) {
	big1 := int64(1) << 61
	cells := ints(12, func(i int) int64 { return big1 + int64(i) })
	sum := func(in func(c int) bool) *big.Int {
		s := new(big.Int)
		for c := range 12 {
			if in(c) {
				s.Add(s, cells[c])
			}
		}
		return s
	}
	var byRow, byColumn []*big.Int
	for r := range 3 {
		byRow = append(byRow, sum(func(c int) bool { return c/4 == r }))
	}
	for k := range 4 {
		byColumn = append(byColumn, sum(func(c int) bool { return c%4 == k }))
	}
	got, err := estimate.Margins(cells, 25, cube(byRow, byColumn, sum(func(int) bool { return true }), 25))
	if err != nil {
		t.Fatal(err)
	}
	for c := range cells {
		if got[c].Cmp(cells[c]) != 0 {
			t.Errorf("cell %d: %s, was %s", c, got[c], cells[c])
		}
	}
}

// One total and two parts have a known solution: the gap is shared by variances.
func TestMarginsOfOneTotal(t *testing.T) {
	cells := ints(2, func(int) int64 { return 1000 })
	total := estimate.Margin{Rows: []int{0, 0}, Values: ints(1, func(int) int64 { return 2600 }), Variance: 4}
	got, err := estimate.Margins(cells, 1, []estimate.Margin{total})
	if err != nil {
		t.Fatal(err)
	}
	// Each part takes 1/(1+1+4) of the gap of 600.
	if got[0].Int64() != 1100 || got[1].Int64() != 1100 {
		t.Errorf("%s, want 1100 each", got)
	}
}

// The reconciled total and cells are nearer to the truth than the measured ones.
func TestMarginsHelp(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	const sigma, runs = 40.0, 4000
	noisy := func(truth int64) *big.Int { return big.NewInt(truth + int64(math.Round(rng.NormFloat64()*sigma))) }
	var cell, before float64
	for range runs {
		cells := make([]*big.Int, 12)
		for i := range cells {
			cells[i] = noisy(500)
		}
		byRow := []*big.Int{noisy(2000), noisy(2000), noisy(2000)}
		byColumn := []*big.Int{noisy(1500), noisy(1500), noisy(1500), noisy(1500)}
		got, err := estimate.Margins(cells, sigma*sigma, cube(byRow, byColumn, noisy(6000), sigma*sigma))
		if err != nil {
			t.Fatal(err)
		}
		a, b := float64(got[0].Int64()-500), float64(cells[0].Int64()-500)
		cell, before = cell+a*a, before+b*b
	}
	if ratio := cell / before; ratio > 0.75 || ratio < 0.5 {
		t.Errorf("the variance of a cell becomes %.3f of what it was", ratio)
	}
}

func TestMarginsRefuse(t *testing.T) {
	cells := ints(2, func(int) int64 { return 1 })
	for _, m := range []estimate.Margin{
		{Rows: []int{0}, Values: cells[:1], Variance: 1},
		{Rows: []int{0, 0}, Values: cells[:1], Variance: 0},
	} {
		if _, err := estimate.Margins(cells, 1, []estimate.Margin{m}); err == nil {
			t.Errorf("accepted %+v", m)
		}
	}
	if _, err := estimate.Margins(cells, math.NaN(), nil); err == nil {
		t.Error("accepted a variance that is no number")
	}
}
