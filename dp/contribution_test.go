package dp_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"dpproxy/accountant"
	"dpproxy/dp"
)

func sensitivity(t *testing.T) func(dp.Sensitivity, error) dp.Sensitivity {
	t.Helper()
	return func(s dp.Sensitivity, err error) dp.Sensitivity {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// norms are the ℓ₁, ℓ₂ and ℓ∞ sensitivities.
type norms struct{ l1, l2, linf float64 }

func normsOf(s dp.Sensitivity) norms {
	l1, _ := new(big.Float).SetInt(s.L1()).Float64()
	square, _ := new(big.Float).SetInt(s.L2Squared()).Float64()
	return norms{l1, math.Sqrt(square), float64(s.LInf)}
}

func TestContributionExample(t *testing.T) {
	c, r := dp.Contribution{Partitions: 4, Rows: 3}, dp.Range{Lower: -2, Upper: 10}
	get := sensitivity(t)
	for name, tt := range map[string]struct {
		got  dp.Sensitivity
		want norms
	}{
		"count":          {get(c.Count()), norms{12, 6, 3}},
		"count distinct": {get(c.CountDistinctUnits()), norms{4, 2, 1}},
		"sum":            {get(c.Sum(r)), norms{120, 60, 30}},
		"centred sum":    {get(c.CentredSum(r)), norms{72, 36, 18}},
	} {
		if got := normsOf(tt.got); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
	s, offset, err := c.CentredSquares(r, 1)
	if err != nil || s.LInf != 3*18 || offset != 18 {
		t.Errorf("centred squares: %+v with the offset %d (%v)", s, offset, err)
	}
}

// TestRefinedLattice has bounds with an odd difference, which a lattice twice as
// fine halves exactly.
func TestRefinedLattice(t *testing.T) {
	c := dp.Contribution{Partitions: 1, Rows: 1}
	coarse := sensitivity(t)(c.CentredSum(dp.Range{Lower: -2, Upper: 5}))
	fine := sensitivity(t)(c.CentredSum(dp.Range{Lower: -4, Upper: 10}))
	if coarse.LInf != 4 || fine.LInf != 7 {
		t.Errorf("half of 7 is %d, or %d halves", coarse.LInf, fine.LInf)
	}
}

func TestRange(t *testing.T) {
	for _, tt := range []struct {
		r              dp.Range
		centre         int64
		half, absolute uint64
	}{
		{dp.Range{Lower: -2, Upper: 10}, 4, 6, 10},
		{dp.Range{Lower: -3, Upper: 0}, -2, 2, 3},
		{dp.Range{Lower: 5, Upper: 5}, 5, 0, 5},
		{dp.Range{Lower: math.MinInt64, Upper: math.MaxInt64}, -1, 1 << 63, 1 << 63},
		{dp.Range{Lower: math.MinInt64, Upper: math.MinInt64 + 1}, math.MinInt64, 1, 1 << 63},
	} {
		if c, h, a := tt.r.Centre(), tt.r.Half(), tt.r.Absolute(); c != tt.centre || h != tt.half || a != tt.absolute {
			t.Errorf("%+v: centre %d, half %d, absolute %d", tt.r, c, h, a)
		}
	}
}

// An aggregate is a vector of exact sums by partition and its sensitivity.
type aggregate struct {
	name     string
	declared dp.Sensitivity
	row      func(x int64) int64
	once     bool // a unit counts once in a partition
	// loose says that a square is so few of its units that rounding it down takes
	// much of the largest change.
	loose bool
}

func aggregates(t *testing.T, c dp.Contribution, r dp.Range) []aggregate {
	t.Helper()
	get := sensitivity(t)
	all := []aggregate{
		{"count", get(c.Count()), func(int64) int64 { return 1 }, false, false},
		{"count distinct", get(c.CountDistinctUnits()), func(int64) int64 { return 1 }, true, false},
		{"sum", get(c.Sum(r)), func(x int64) int64 { return x }, false, false},
		{"centred sum", get(c.CentredSum(r)), func(x int64) int64 { return x - r.Centre() }, false, false},
	}
	for _, unit := range []int64{1, 2, 7} {
		s, offset, err := c.CentredSquares(r, unit)
		if err != nil {
			t.Fatal(err)
		}
		for rounding, add := range map[string]int64{"down": 0, "to nearest": unit / 2, "up": unit - 1} {
			all = append(all, aggregate{fmt.Sprintf("squares by %d, %s", unit, rounding), s, func(x int64) int64 {
				d := x - r.Centre()
				return (d*d+add)/unit - offset
			}, false, add < unit-1 && s.LInf < 100*c.Rows})
		}
	}
	return all
}

// rowsOf are hostile: too many partitions, too many rows, values at the bounds, at
// the centre, beside them and far outside.
func rowsOf(src *rand.Rand, c dp.Contribution, r dp.Range) map[int64][]int64 {
	values := []int64{r.Lower, r.Upper, r.Centre(), r.Centre() + 1, r.Lower + 1, math.MaxInt64, math.MinInt64, 0}
	fixed := src.IntN(2) == 0
	one := values[src.IntN(len(values))]
	all := map[int64][]int64{}
	for p := range src.Int64N(c.Partitions + 3) {
		for range src.Int64N(c.Rows + 4) {
			x := one
			if !fixed {
				x = values[src.IntN(len(values))]
			}
			all[p] = append(all[p], x)
		}
	}
	return all
}

// bounded keeps the rows that count.
func bounded(rows map[int64][]int64, c dp.Contribution, r dp.Range) map[int64][]int64 {
	kept := map[int64][]int64{}
	for p := range c.Partitions {
		for _, x := range rows[p][:min(int64(len(rows[p])), c.Rows)] {
			kept[p] = append(kept[p], min(max(x, r.Lower), r.Upper))
		}
	}
	return kept
}

func (a aggregate) change(rows map[int64][]int64) (n norms) {
	for _, xs := range rows {
		sum := int64(0)
		for i, x := range xs {
			if i == 0 || !a.once {
				sum += a.row(x)
			}
		}
		size := math.Abs(float64(sum))
		n.l1, n.l2, n.linf = n.l1+size, n.l2+size*size, math.Max(n.linf, size)
	}
	n.l2 = math.Sqrt(n.l2)
	return n
}

// reach returns the largest part of the declared sensitivity that one unit changes.
func (a aggregate) reach(n norms) float64 {
	d := normsOf(a.declared)
	return math.Max(n.l1/d.l1, math.Max(n.l2/d.l2, n.linf/d.linf))
}

// TestContributionAgainstRows adds hostile units: none exceeds the declared
// sensitivity in any norm, some reach it, and a declaration that is smaller by a
// factor of 1.5 is exceeded.
func TestContributionAgainstRows(t *testing.T) {
	src := rand.New(rand.NewChaCha8([32]byte{4}))
	for _, c := range []dp.Contribution{{1, 1}, {4, 3}, {2, 9}} {
		for _, r := range []dp.Range{{-2, 10}, {0, 1}, {-100, -30}, {-7, 8}, {1000, 1999}} {
			for _, a := range aggregates(t, c, r) {
				reached := 0.0
				for range 2000 {
					reached = math.Max(reached, a.reach(a.change(bounded(rowsOf(src, c, r), c, r))))
				}
				if reached > 1+1e-12 || !a.loose && reached < 0.99 {
					t.Errorf("%+v, %+v, %s: a unit reaches %g of the sensitivity", c, r, a.name, reached)
				}
				twin := a
				twin.declared.LInf = int64(float64(a.declared.LInf) / 1.5)
				if !a.loose && twin.declared.LInf > 0 && reached*float64(a.declared.LInf)/float64(twin.declared.LInf) <= 1 {
					t.Errorf("%+v, %+v, %s: a sensitivity of %d instead of %d is not exceeded",
						c, r, a.name, twin.declared.LInf, a.declared.LInf)
				}
			}
		}
	}
}

// TestVectorPrice compares the price of several aggregates of one read with that of
// the vector of all of them: Gaussian noise of variance vᵢ on each costs as much as
// the change of the vector (Δᵢ/√vᵢ) at variance 1. One unit reaches it.
func TestVectorPrice(t *testing.T) {
	c, r := dp.Contribution{Partitions: 3, Rows: 2}, dp.Range{Lower: 0, Upper: 20}
	all := aggregates(t, c, r)[:4]
	variances := []int64{50, 8, 4000, 900}
	var event dp.ComposedEvent
	for i, a := range all {
		event = append(event, dp.GaussianEvent{Sensitivity: a.declared, Variance: big.NewInt(variances[i])})
	}
	price, err := accountant.Price(event, dp.ZCDP)
	if err != nil {
		t.Fatal(err)
	}
	src := rand.New(rand.NewChaCha8([32]byte{5}))
	largest := 0.0
	for range 5000 {
		rows := bounded(rowsOf(src, c, r), c, r)
		rho := 0.0
		for i, a := range all {
			change := a.change(rows).l2
			rho += change * change / float64(2*variances[i])
		}
		largest = math.Max(largest, rho)
	}
	if got := float64(price.Pico()) / dp.PicoPerUnit; largest > got || largest < got*(1-1e-9) {
		t.Errorf("the price is %g, the vector's largest change costs %g", got, largest)
	}
}

// TestReplaceOne says why only adding and removing a unit ships. Two units that
// replace each other, in partitions that overlap more or less, move counts and sums
// further than either alone; but if they share all partitions, counts not at all.
func TestReplaceOne(t *testing.T) {
	c, r := dp.Contribution{Partitions: 4, Rows: 3}, dp.Range{Lower: -2, Upper: 10}
	replaced := func(apart, before, after int64) float64 {
		square := 0.0
		for p := range 2 * c.Partitions {
			change := int64(0)
			if p < c.Partitions {
				change -= c.Rows * before
			}
			if p >= apart && p < apart+c.Partitions {
				change += c.Rows * after
			}
			square += float64(change * change)
		}
		return math.Sqrt(square)
	}
	count, sum := 0.0, 0.0
	for apart := range c.Partitions + 1 {
		count = math.Max(count, replaced(apart, 1, 1))
		for _, before := range []int64{r.Lower, r.Upper} {
			for _, after := range []int64{r.Lower, r.Upper} {
				sum = math.Max(sum, replaced(apart, before, after))
			}
		}
	}
	if math.Abs(count-8.48528137423857) > 1e-9 || math.Abs(sum-84.8528137423857) > 1e-8 || replaced(0, 1, 1) != 0 {
		t.Errorf("replacing changes counts by %.15g and sums by %.15g", count, sum)
	}
	get := sensitivity(t)
	if one := normsOf(get(c.Count())).l2; count <= one {
		t.Errorf("counts change by %g, adding a unit changes them by %g", count, one)
	}
	if one := normsOf(get(c.Sum(r))).l2; sum <= one {
		t.Errorf("sums change by %g, adding a unit changes them by %g", sum, one)
	}
}

func TestContributionRefuses(t *testing.T) {
	one, huge := dp.Contribution{Partitions: 1, Rows: 1}, dp.Contribution{Partitions: 1, Rows: math.MaxInt64}
	wide := dp.Range{Lower: math.MinInt64, Upper: math.MaxInt64}
	squares := func(c dp.Contribution, r dp.Range, unit int64) error {
		_, _, err := c.CentredSquares(r, unit)
		return err
	}
	for name, err := range map[string]error{
		"no partitions":    errorOf(dp.Contribution{Rows: 1}.Count()),
		"no rows":          errorOf(dp.Contribution{Partitions: 1}.CountDistinctUnits()),
		"inverted sum":     errorOf(one.Sum(dp.Range{Lower: 1})),
		"inverted centre":  errorOf(one.CentredSum(dp.Range{Lower: 1})),
		"inverted squares": squares(one, dp.Range{Lower: 1}, 1),
		"sum too large":    errorOf(huge.Sum(dp.Range{Upper: 2})),
		"one row too many": errorOf(one.Sum(wide)),
		"centre too large": errorOf(one.CentredSum(wide)),
		"squares too wide": squares(one, wide, 1),
		"many squares":     squares(huge, dp.Range{Upper: 10}, 1),
		"no unit":          squares(one, dp.Range{Upper: 10}, 0),
	} {
		if !errors.Is(err, dp.ErrContribution) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := squares(one, wide, math.MaxInt64); err != nil {
		t.Errorf("squares of everything in units of 2⁶³: %v", err)
	}
	if s, err := huge.Count(); err != nil || s.LInf != math.MaxInt64 {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := one.Sum(dp.Range{}); err != nil || s.LInf != 1 {
		t.Errorf("a sum of zeros: %+v, %v", s, err)
	}
}

func errorOf(_ dp.Sensitivity, err error) error { return err }

// FuzzContribution checks products against exact ones.
func FuzzContribution(f *testing.F) {
	f.Add(int64(4), int64(3), int64(-2), int64(10), int64(1))
	f.Add(int64(1), int64(1)<<40, int64(math.MinInt64), int64(math.MaxInt64), int64(1)<<62)
	f.Fuzz(func(t *testing.T, k, m, lower, upper, unit int64) {
		c, r := dp.Contribution{Partitions: k, Rows: m}, dp.Range{Lower: lower, Upper: upper}
		s, offset, err := c.CentredSquares(r, unit)
		if err != nil {
			if !errors.Is(err, dp.ErrContribution) {
				t.Fatal(err)
			}
			return
		}
		half := new(big.Int).SetUint64(r.Half())
		q := half.Mul(half, half)
		q.Add(q, big.NewInt(unit-1)).Quo(q, big.NewInt(unit))
		rest := new(big.Int).Sub(q, big.NewInt(offset))
		want := new(big.Int).Mul(rest, big.NewInt(m))
		if rest.Sign() == 0 {
			want.SetInt64(m)
		}
		if !want.IsInt64() || want.Int64() != s.LInf || s.L0 != k || offset < 0 {
			t.Errorf("%+v %+v by %d: %+v with the offset %d, want %v", c, r, unit, s, offset, want)
		}
	})
}

// TestCentredProducts tries every pair of values: none moves the sum further than declared, in
// either rounding, and one does for the upward.
func TestCentredProducts(t *testing.T) {
	ranges := []dp.Range{{-2, 10}, {0, 1}, {-7, 8}, {5, 5}, {-100, -93}}
	for _, x := range ranges {
		for _, y := range ranges {
			for _, unit := range []int64{1, 2, 7, 50} {
				c := dp.Contribution{Partitions: 2, Rows: 3}
				s := sensitivity(t)(c.CentredProducts(x, y, unit))
				most := int64(0)
				for a := x.Lower; a <= x.Upper; a++ {
					for b := y.Lower; b <= y.Upper; b++ {
						product := (a - x.Centre()) * (b - y.Centre())
						if product < 0 {
							product = -product
						}
						most = max(most, (product+unit-1)/unit)
					}
				}
				if want := 3 * max(most, 1); s.L0 != 2 || s.LInf != want {
					t.Errorf("%+v times %+v by %d: %+v, the largest change is %d", x, y, unit, s, want)
				}
			}
		}
	}
	c := dp.Contribution{Partitions: 1, Rows: 1}
	all := dp.Range{Lower: math.MinInt64, Upper: math.MaxInt64}
	for name, err := range map[string]error{
		"too large":  second(c.CentredProducts(all, all, 1)),
		"no unit":    second(c.CentredProducts(ranges[0], ranges[0], 0)),
		"turned":     second(c.CentredProducts(ranges[0], dp.Range{Lower: 1, Upper: 0}, 1)),
		"no rows":    second(dp.Contribution{Partitions: 1}.CentredProducts(ranges[0], ranges[0], 1)),
		"large, yet": second(c.CentredProducts(all, ranges[1], 1<<20)),
	} {
		if fits := name == "large, yet"; fits != (err == nil) || err != nil && !errors.Is(err, dp.ErrContribution) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second(_ dp.Sensitivity, err error) error { return err }
