package contribution_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"dpproxy/accountant"
	"dpproxy/contribution"
	"dpproxy/dp"
	"dpproxy/internal/stattest"
	"dpproxy/mechanisms"
)

func grid(t testing.TB, top int64) contribution.Grid {
	t.Helper()
	g, err := contribution.NewGrid(top)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// limits lists the limits of a grid of integers.
func limits(g contribution.Grid) (out []int64) {
	for _, c := range g.Integers()[g.Below():] {
		out = append(out, c.Int64())
	}
	return out
}

func TestGrid(t *testing.T) {
	small := grid(t, 20)
	if got := limits(small); !slices.Equal(got, []int64{1, 2, 3, 4, 6, 8, 12, 16, 24}) {
		t.Errorf("the grid to 20 is %v", got)
	}
	if got := limits(small.First(3)); !slices.Equal(got, []int64{1, 2, 3}) {
		t.Errorf("its first three are %v", got)
	}
	for j, square := range small.Squares()[small.Below():] {
		if c := limits(small)[j]; square.Int64() != c*c || small.Limit(j) != float64(c) {
			t.Errorf("the limit %d has the square %v, and is %g", c, square, small.Limit(j))
		}
	}
	all := limits(grid(t, 1<<contribution.SumBits))
	if len(all) != 2*contribution.SumBits || all[len(all)-1] != 1<<60 || !slices.IsSorted(all) {
		t.Errorf("%d limits to %d", len(all), all[len(all)-1])
	}
	capped, err := contribution.CapGrid(5)
	if err != nil || !slices.Equal(limits(capped), []int64{1, 2, 3, 4, 5}) {
		t.Errorf("the grid that ends at 5 is %v: %v", capped, err)
	}
	for _, top := range []int64{0, -1, 1<<60 + 1, math.MaxInt64} {
		if _, err := contribution.NewGrid(top); !errors.Is(err, dp.ErrContribution) {
			t.Errorf("a grid to %d: %v", top, err)
		}
	}
}

// fixed returns the grid of the limit n·√m.
func fixed(t testing.TB, n, m int64) contribution.Grid {
	t.Helper()
	g, err := contribution.FixedGrid(big.NewInt(n * n * m))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestFixedGrid has limits of n rows in m groups: such a unit is within them, and they are hardly larger.
func TestFixedGrid(t *testing.T) {
	for _, tt := range []struct {
		n, m    int64
		want    []float64
		lattice uint
	}{
		{1, 1, []float64{1}, fraction},
		{20, 4, []float64{10, 20, 40}, fraction},
		{1, 2, []float64{0.353515625, 0.70703125, 1.4150390625}, fraction + 10},
		{20, 2, []float64{7.0712890625, 14.142578125, 28.28515625}, fraction + 10},
		{1000, 3, []float64{433, 866, 1733}, fraction},
		{1 << 29, 2, []float64{189_812_531, 379_625_062, 759_250_125}, fraction},
	} {
		g := fixed(t, tt.n, tt.m)
		var got []float64
		for j := range g.Len() {
			got = append(got, g.Limit(j))
		}
		if !slices.Equal(got, tt.want) || g.Lattice(fraction) != tt.lattice {
			t.Errorf("%d·√%d is %v on 2^−%d", tt.n, tt.m, got, g.Lattice(fraction))
		}
		last := g.Len() - 1
		if square := g.Squares()[g.Below()+last]; square.Cmp(big.NewInt(tt.n*tt.n*tt.m)) < 0 {
			t.Errorf("%d rows in each of %d groups are above the limit, whose square is %v", tt.n, tt.m, square)
		}
		if excess := g.Limit(last)/(float64(tt.n)*math.Sqrt(float64(tt.m))) - 1; excess > 1./1000 {
			t.Errorf("%d·√%d is rounded up by %g", tt.n, tt.m, excess)
		}
		if c := g.Integers()[g.Below()+last].Int64(); c != int64(tt.want[last]) {
			t.Errorf("%v has %d as its largest integer", tt.want[last], c)
		}
	}
	for _, bad := range []*big.Int{new(big.Int), new(big.Int).Lsh(big.NewInt(1), 2*contribution.SumBits+2)} {
		if _, err := contribution.FixedGrid(bad); !errors.Is(err, dp.ErrContribution) {
			t.Errorf("a limit of √%v: %v", bad, err)
		}
	}
}

// TestExtend has limits beyond the last, each larger than the limit before.
func TestExtend(t *testing.T) {
	for _, g := range []contribution.Grid{fixed(t, 1, 1), fixed(t, 1, 2), fixed(t, 20, 4), grid(t, 20), grid(t, 1<<42)} {
		for _, reach := range []int64{1, 2, 5, 1000, 1 << 48, 1<<62 + 1, math.MaxInt64} {
			e := g.Extend(reach)
			reach = min(reach, 1<<contribution.SumBits>>g.Lattice(0))
			for j := range e.Len() {
				if j > 0 && e.Limit(j) <= e.Limit(j-1) || j < g.Len() && e.Limit(j) != g.Limit(j) {
					t.Fatalf("%v up to %d is %v", g, reach, e)
				}
			}
			if last := e.Limit(e.Len() - 1); last < float64(reach) || last > 2*float64(reach) && e.Len() > g.Len() {
				t.Errorf("%v up to %d ends at %g", g, reach, last)
			}
			if e.Lattice(0) != g.Lattice(0) {
				t.Errorf("%v is on another lattice than %v", e, g)
			}
		}
	}
}

func TestSensitivity(t *testing.T) {
	const fourth = 3 // C = 4
	all := grid(t, 1<<contribution.SumBits)
	s, err := all.Sensitivity(fourth, 1, 20)
	if err != nil || s != (dp.Sensitivity{L0: 1, LInf: 4 << 20}) {
		t.Fatalf("%+v: %v", s, err)
	}
	g, err := mechanisms.GaussianFor(s, 4*dp.PicoPerUnit/1000)
	if err != nil {
		t.Fatal(err)
	}
	if v := g.Event().(dp.GaussianEvent).Variance; v.Int64() != 2_199_023_255_552_000 {
		t.Errorf("the variance of C = 4 at ρ = 0.004 is %v", v)
	}
	if s, err := all.Sensitivity(fourth, 50, 2); err != nil || s != (dp.Sensitivity{L0: 1, LInf: 4 * 50 << 2}) {
		t.Errorf("of 50 for each: %+v, %v", s, err)
	}
	root := fixed(t, 1, 2)
	if s, err := root.Sensitivity(2, 1, 3); err != nil || s.LInf != 1449<<3 {
		t.Errorf("√2, which is 1449·2^−10: %+v, %v", s, err)
	}
	last := all.Len() - 1
	if s, err := all.Sensitivity(last, 1, 2); err != nil || s.LInf != 1<<62 {
		t.Errorf("%+v, %v", s, err)
	}
	for _, bad := range []struct {
		j        int
		each     int64
		fraction uint
	}{{0, 0, 0}, {0, -1, 20}, {last, 1, 3}, {last, 8, 0}, {0, 1, 63}, {fourth, math.MaxInt64, 1}} {
		if s, err := all.Sensitivity(bad.j, bad.each, bad.fraction); !errors.Is(err, dp.ErrContribution) {
			t.Errorf("%+v: %+v, %v", bad, s, err)
		}
	}
}

// TestWider holds that a root is rounded up: the sensitivity is never smaller than the norm may be.
func TestWider(t *testing.T) {
	const fourth = 3 // C = 4
	all := grid(t, 1<<contribution.SumBits)
	for square, want := range map[int64]int64{1: 4 << 20, 2: 5_931_642, 3: 7_264_748, 4: 8 << 20} {
		if s, err := all.Wider(fourth, square, 20); err != nil || s != (dp.Sensitivity{L0: 1, LInf: want}) {
			t.Errorf("√%d times 4: %+v, %v, want %d", square, s, err, want)
		}
	}
	root := fixed(t, 1, 2)
	if s, err := root.Wider(2, 2, 3); err != nil || s.LInf != 16394 { // √2·1449·2³ = 16393.5
		t.Errorf("√2 times 1449·2^−10: %+v, %v", s, err)
	}
	last := all.Len() - 1
	for _, bad := range []struct {
		j        int
		square   int64
		fraction uint
	}{{0, 0, 0}, {0, -1, 20}, {last, 64, 0}, {last, 1, 3}} {
		if s, err := all.Wider(bad.j, bad.square, bad.fraction); !errors.Is(err, dp.ErrContribution) {
			t.Errorf("%+v: %+v, %v", bad, s, err)
		}
	}
}

// A unit is the vector x(u,g) of one unit.
type unit []int64

const fraction = 20

func square(u unit) int64 {
	s := int64(0)
	for _, x := range u {
		s += x * x
	}
	return s
}

// level returns the smallest j with N² ≤ Cⱼ².
func (u unit) level(g contribution.Grid) int {
	return u.within(g.Squares()) - g.Below()
}

// within returns the place of the smallest square that N² is within.
func (u unit) within(squares []*big.Int) int {
	s := big.NewInt(square(u))
	return sort.Search(len(squares), func(j int) bool { return squares[j].Cmp(s) >= 0 })
}

// directions returns d(u,g) = trunc(x·2^(f+10)/c) with c = ⌈1024·√S⌉ + 1, as SQL computes them.
func (u unit) directions() (d unit, c int64) {
	if c = int64(math.Ceil(math.Sqrt(float64(square(u)))*1024)) + 1; square(u) == 0 {
		c = 1
	}
	for _, x := range u {
		q := new(big.Int).Mul(big.NewInt(x), big.NewInt(1<<(fraction+10)))
		d = append(d, q.Quo(q, big.NewInt(c)).Int64())
	}
	return d, c
}

// clipped returns y_C(u) by its definition, on the lattice of the grid.
func (u unit) clipped(g contribution.Grid, j int) []*big.Int {
	y := make([]*big.Int, len(u))
	d, _ := u.directions()
	bits := g.Lattice(0)
	limit := int64(g.Limit(j) * float64(int64(1)<<bits))
	inside := big.NewInt(square(u)).Cmp(g.Squares()[g.Below()+j]) <= 0
	for i := range u {
		if inside {
			y[i] = new(big.Int).Lsh(big.NewInt(u[i]), fraction+bits)
		} else {
			y[i] = new(big.Int).Mul(big.NewInt(d[i]), big.NewInt(limit))
		}
	}
	return y
}

// A vector is a read of units: their numbers, and the sums of each group, by level.
type vector struct {
	grid   contribution.Grid
	units  *contribution.Cells
	groups []*contribution.Cells
}

func newVector(g contribution.Grid, groups int) vector {
	v := vector{g, &contribution.Cells{}, make([]*contribution.Cells, groups)}
	for i := range v.groups {
		v.groups[i] = &contribution.Cells{}
	}
	return v
}

// read reads units, by one row for each unit and group.
func read(g contribution.Grid, units []unit) vector {
	groups := 0
	if len(units) > 0 {
		groups = len(units[0])
	}
	v := newVector(g, groups)
	for _, u := range units {
		d, _ := u.directions()
		level := []int{u.level(g)}
		v.units.Add(level, big.NewInt(1), nil)
		for i := range u {
			v.groups[i].Add(level, big.NewInt(u[i]), big.NewInt(d[i]))
		}
	}
	return v
}

// clipped returns F(j,g) of all groups.
func (v vector) clipped(t testing.TB, j int) []*big.Int {
	t.Helper()
	out := make([]mechanisms.Private, len(v.groups))
	for i, cells := range v.groups {
		out[i] = cells.Clipped(v.grid, j, fraction)
	}
	return exact(t, out...)
}

// above returns mⱼ of all limits.
func (v vector) above(t testing.TB) []*big.Int {
	t.Helper()
	return exact(t, v.units.Above(0, v.grid.Len())...)
}

// exact reads private values with a source of no noise. It adds noise of the smallest variance, which is zero if every random bit is zero.
func exact(t testing.TB, values ...mechanisms.Private) []*big.Int {
	t.Helper()
	out := make([]*big.Int, len(values))
	for i, v := range values {
		out[i] = mechanisms.Release(silent{}, nil, v).Int()
	}
	return out
}

// silent is a mechanism without noise.
type silent struct{ mechanisms.Mechanism }

func (silent) Sample(z *big.Int, _ mechanisms.Source) *big.Int { return z.SetInt64(0) }

// TestOracle has four units by hand.
func TestOracle(t *testing.T) {
	g := grid(t, 8)
	units := []unit{{3, 4}, {1, 0}, {0, 2}, {6, -8}}
	for i, want := range []struct {
		level  int
		c      int64
		d1, d2 int64
	}{{4, 5121, 629022, 838696}, {0, 1025, 1047552, 0}, {1, 2049, 0, 1048064}, {6, 10241, 629084, -838778}} {
		d, c := units[i].directions()
		if level := units[i].level(g); level != want.level || c != want.c || d[0] != want.d1 || d[1] != want.d2 {
			t.Errorf("unit %v: level %d, c %d, d %v", units[i], level, c, d)
		}
	}
	v := read(g, units)
	above := v.above(t)
	for j, want := range []struct{ f1, f2, m int64 }{
		{2306682, 1047982, 3},
		{3564788, 2096988, 2},
		{4822894, 2096906, 2},
		{6081000, 2096824, 2},
		{7968808, 1258788, 1},
		{9226976, -418768, 1},
	} {
		f := v.clipped(t, j)
		if f[0].Int64() != want.f1 || f[1].Int64() != want.f2 || above[j].Int64() != want.m {
			t.Errorf("C = %g: F = %v, m = %v", g.Limit(j), f, above[j])
		}
	}
	c := v.groups[0]
	if s := fmt.Sprintf("%v %+v %#v %s %d", c, c, c, c, c); s != "private private private private private" {
		t.Errorf("cells print %s", s)
	}
}

// hostile units have huge, tiny, equal, negative and cancelling coordinates.
func hostile(src *rand.Rand, groups int) unit {
	u := make(unit, groups)
	for g := range u {
		switch src.IntN(6) {
		case 0:
			u[g] = src.Int64N(5) - 2
		case 1:
			u[g] = src.Int64N(2001) - 1000
		case 2:
			u[g] = []int64{1, -1, 1 << 20, -(1 << 20), 7}[src.IntN(5)]
		}
	}
	return u
}

func ratio(n *big.Int, d int64) float64 {
	f, _ := new(big.Rat).SetFrac(n, big.NewInt(d)).Float64()
	return f
}

// TestClipping adds hostile units one by one. At no limit does a unit move the exact vector by more than Lemma 1 says. Some units nearly
// reach that, and Lemma 2 holds for every limit.
func TestClipping(t *testing.T) {
	src := rand.New(rand.NewChaCha8([32]byte{16}))
	reached := 0.0
	for run := range 300 {
		groups := 1 + src.IntN(40)
		g := grid(t, 1<<(1+src.IntN(24)))
		if run%10 == 0 {
			g = fixed(t, 1+src.Int64N(900), 2+src.Int64N(6))
		}
		var units []unit
		for range 5 {
			units = append(units, hostile(src, groups))
		}
		with, without := read(g, units), read(g, units[1:])
		for j := range g.Len() {
			moved := differences(with.clipped(t, j), without.clipped(t, j))
			for i, y := range units[0].clipped(g, j) {
				if moved[i].Cmp(y) != 0 {
					t.Fatalf("%v at %g: %v instead of %v", units[0], g.Limit(j), moved[i], y)
				}
			}
			reached = math.Max(reached, within(t, moved, g, j))
		}
		steps(t, with.above(t), without.above(t))
	}
	if reached < 0.999 {
		t.Errorf("no unit moves a vector by more than %g of the bound", reached)
	}
}

// differences subtracts one vector from another.
func differences(a, b []*big.Int) []*big.Int {
	out := make([]*big.Int, len(a))
	for i := range a {
		out[i] = new(big.Int).Sub(a[i], b[i])
	}
	return out
}

func squareOf(v []*big.Int) *big.Int {
	s := new(big.Int)
	for _, x := range v {
		s.Add(s, new(big.Int).Mul(x, x))
	}
	return s
}

// within returns the square of a norm as a part of the limit's, and fails above it.
func within(t *testing.T, moved []*big.Int, g contribution.Grid, j int) float64 {
	t.Helper()
	s, err := g.Sensitivity(j, 1, fraction)
	if err != nil {
		t.Fatal(err)
	}
	part := share(moved, s)
	if part > 1 {
		t.Fatalf("%v is outside of the limit %g", moved, g.Limit(j))
	}
	return part
}

// share returns the square of a norm as a part of a sensitivity's square. It is above 1 if the norm is above, by however little.
func share(moved []*big.Int, s dp.Sensitivity) float64 {
	norm, most := squareOf(moved), s.L2Squared()
	f, _ := new(big.Rat).SetFrac(norm, most).Float64()
	if norm.Cmp(most) > 0 {
		return math.Max(f, math.Nextafter(1, 2))
	}
	return math.Min(f, 1)
}

// TestWeighted adds hostile units of two norms with one weight. Each norm is within its limit, and a unit within both limits counts in
// full. If the weight looks at one norm alone, the other norm is not within its limit.
func TestWeighted(t *testing.T) {
	src := rand.New(rand.NewChaCha8([32]byte{17}))
	reached, outside := 0.0, false
	for run := range 300 {
		groups := 1 + src.IntN(20)
		rows, sums := hostile(src, groups), hostile(src, groups)
		grids := []contribution.Grid{grid(t, 1<<30), grid(t, 1<<42)}
		if run%3 == 0 {
			grids[0] = fixed(t, 1+src.Int64N(500), 2+src.Int64N(6)).Extend(1 << 30)
		}
		levels := []int{rows.level(grids[0]), sums.level(grids[1])}
		for range 20 {
			chosen := []int{src.IntN(grids[0].Len()), src.IntN(grids[1].Len())}
			n := weighted(t, rows, grids, levels, chosen, grids[0].Lattice(fraction))
			s := weighted(t, sums, grids, levels, chosen, grids[1].Lattice(fraction))
			reached = max(reached, within(t, n, grids[0], chosen[0]), within(t, s, grids[1], chosen[1]))
			if levels[0] <= chosen[0] && levels[1] <= chosen[1] && (!full(n, rows, grids[0]) || !full(s, sums, grids[1])) {
				t.Fatalf("%v and %v are within both limits and count as %v and %v", rows, sums, n, s)
			}
			// The twin's weight is of the norm of rows alone.
			s = weighted(t, sums, grids[:1], levels[:1], chosen[:1], grids[1].Lattice(fraction))
			most, err := grids[1].Sensitivity(chosen[1], 1, fraction)
			if err != nil {
				t.Fatal(err)
			}
			outside = outside || share(s, most) > 1
		}
	}
	if reached < 0.99 {
		t.Errorf("no unit moves a vector by more than %g of the bound", reached)
	}
	if !outside {
		t.Error("the weight of one norm keeps the other one too: the test cannot fail")
	}
}

// weighted returns the contribution of a unit to each group with the weight of its levels, on a lattice.
func weighted(t *testing.T, u unit, grids []contribution.Grid, levels, chosen []int, lattice uint) []*big.Int {
	t.Helper()
	out := make([]mechanisms.Private, len(u))
	for i, x := range u {
		var c contribution.Cells
		c.Add(levels, big.NewInt(x), nil)
		out[i] = c.Weighted(grids, chosen, lattice)
	}
	return exact(t, out...)
}

// full reports whether a unit counts as it is.
func full(added []*big.Int, u unit, g contribution.Grid) bool {
	for i, x := range u {
		if added[i].Cmp(new(big.Int).Lsh(big.NewInt(x), g.Lattice(fraction))) != 0 {
			return false
		}
	}
	return true
}

// TestBeyond counts units that are above either of two limits, each once.
func TestBeyond(t *testing.T) {
	var units contribution.Cells
	for _, c := range []struct {
		levels []int
		n      int64
	}{{[]int{0, 0}, 1}, {[]int{2, 0}, 10}, {[]int{0, 3}, 100}, {[]int{2, 3}, 1000}, {[]int{1, 2}, 10_000}} {
		units.Add(c.levels, big.NewInt(c.n), nil)
	}
	for _, tt := range []struct {
		chosen []int
		want   int64
	}{{[]int{2, 3}, 0}, {[]int{1, 2}, 1110}, {[]int{1, 3}, 1010}, {[]int{2, 2}, 1100}, {[]int{0, 0}, 11_110}} {
		if got := exact(t, units.Beyond(tt.chosen))[0].Int64(); got != tt.want {
			t.Errorf("%d units are beyond %v, %d are said to be", tt.want, tt.chosen, got)
		}
	}
	for norm, want := range [][]int64{{11_010, 1010, 0}, {11_100, 11_100, 1100, 0}} {
		for j, m := range exact(t, units.Above(norm, len(want))...) {
			if m.Int64() != want[j] {
				t.Errorf("norm %d: %v units are above limit %d, not %d", norm, m, j, want[j])
			}
		}
	}
	for _, none := range []*contribution.Cells{{}, nil} {
		if n := exact(t, none.Beyond([]int{0}))[0]; n.Sign() != 0 {
			t.Errorf("%v of no units are beyond a limit", n)
		}
	}
}

// TestTailUnits counts the units below and above a limit. Each unit is in at most one number, and a unit that has nothing in none.
func TestTailUnits(t *testing.T) {
	g := grid(t, 64) // 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64
	from := g.From(16)
	for _, tt := range []struct {
		g    contribution.Grid
		j    int
		want [contribution.TailNumbers]int64 // a bit for each level, from the lowest on
	}{
		{g, 7, [...]int64{0b1_1110, 0b110_0000, 0b1_1000_0000, 0b11_1110_0000_0000}}, // C = 16: 6 and 8, 12 and 16
		{g, 3, [...]int64{0b10, 0b100, 0b1_1000, 0b11_1111_1110_0000}},               // C = 4: 2, 3 and 4
		{g, 0, [...]int64{0, 0, 0b10, 0b11_1111_1111_1100}},
		{g, 11, [...]int64{0b1_1111_1110, 0b110_0000_0000, 0b1_1000_0000_0000, 0b10_0000_0000_0000}},
		{from, 0, [...]int64{0b10, 0b100, 0b1000, 0b11_1111_0000}}, // C = 16: to 4, to 8, to 16
		{from, 3, [...]int64{0b110, 0b1_1000, 0b110_0000, 0b1_1000_0000}},
		{fixed(t, 1, 1), 0, [...]int64{0, 0, 0b10, 0b100}},
		{fixed(t, 20, 4), 2, [...]int64{0b10, 0b100, 0b1000, 0b1_0000}},
	} {
		var units contribution.Cells
		for i := range tt.g.Below() + tt.g.Len() + 1 {
			units.Add([]int{i - tt.g.Below()}, big.NewInt(1<<i), nil)
		}
		b := units.Tail([]contribution.Grid{tt.g}, []int{tt.j})
		for i, got := range exact(t, b[:]...) {
			if want := tt.want[i] & (1<<(tt.g.Below()+tt.g.Len()+1) - 1); got.Int64() != want {
				t.Errorf("C = %g: number %d is of the levels %b instead of %b", tt.g.Limit(tt.j), i, got, want)
			}
		}
	}
}

// TestNothingIsBelow holds that a unit with nothing, or with less than half of the smallest limit, is not taken for a unit near the limit,
// whatever the grid is: the levels are those of the norms.
func TestNothingIsBelow(t *testing.T) {
	chosen := []contribution.Grid{grid(t, 8), grid(t, 1<<20).From(1000), grid(t, 1<<20).From(3)}
	public := []contribution.Grid{fixed(t, 1, 1), fixed(t, 1, 2), fixed(t, 3, 1), fixed(t, 1000, 3)}
	for i, g := range slices.Concat(chosen, public) {
		from := 0
		if i >= len(chosen) {
			from = g.Len() - 1 // the others are no limits
		}
		for j := from; j < g.Len(); j++ {
			limit := g.Limit(j)
			whole := int64(limit)
			for _, n := range []int64{0, 1, whole / 8, whole / 5, whole/4 + 1, whole/2 + 1, whole, whole + 1} {
				var units contribution.Cells
				units.Add([]int{unit{n}.level(g)}, big.NewInt(1), nil)
				b := units.Tail([]contribution.Grid{g}, []int{j})
				for i, got := range exact(t, b[:]...) {
					share := float64(n) / limit
					possible := [...]bool{n > 0 && share <= 0.5, n > 0 && share <= 0.75, share > 0.3 && share <= 1, share > 1}[i]
					if got.Sign() > 0 && !possible {
						t.Errorf("%v: %d of the limit %g is counted in number %d", g, n, limit, i)
					}
				}
			}
		}
	}
}

// TestTailOfTwoNorms counts each unit by the norm that is nearest to its limit, or farthest above it, and not by a norm that no unit can be
// above.
func TestTailOfTwoNorms(t *testing.T) {
	g := grid(t, 16) // 1, 2, 3, 4, 6, 8, 12, 16
	var units contribution.Cells
	n := int64(1)
	for _, levels := range [][]int{{0, 0}, {2, 0}, {0, 4}, {3, 4}, {4, 7}, {0, 7}, {7, 0}, {5, 2}, {-1, -1}} {
		units.Add(levels, big.NewInt(n), nil)
		n *= 2
	}
	for _, tt := range []struct {
		grids  []contribution.Grid
		chosen []int
		want   [contribution.TailNumbers]int64 // a bit for each of the units above
	}{
		{[]contribution.Grid{g, g}, []int{5, 6}, [...]int64{0b1, 0b1110, 0b1000_0000, 0b111_0000}}, // 8 and 12
		{[]contribution.Grid{g, g}, []int{7, 7}, [...]int64{0b11, 0b1000_1100, 0b111_0000, 0}},     // 16 and 16
		{[]contribution.Grid{{}, g}, []int{7, 6}, [...]int64{0b1100_0011, 0b1100, 0, 0b11_0000}},   // by the second norm alone
	} {
		b := units.Tail(tt.grids, tt.chosen)
		for i, got := range exact(t, b[:]...) {
			if got.Int64() != tt.want[i] {
				t.Errorf("levels %v: number %d is of the units %b instead of %b", tt.chosen, i, got, tt.want[i])
			}
		}
	}
}

// TestShown rounds released numbers to the nearest integer, halves up.
func TestShown(t *testing.T) {
	noise := contribution.Noise{Of: silent{}, Bits: 3}
	for _, tt := range [][2]int64{
		{0, 0}, {3, 0}, {4, 1}, {8, 1}, {11, 1}, {12, 2}, {-3, 0}, {-4, 0}, {-5, -1}, {-8, -1}, {-12, -1}, {-13, -2},
	} {
		if got := noise.Shown(big.NewInt(tt[0])).Int64(); got != tt[1] {
			t.Errorf("%d eighths are shown as %d, not %d", tt[0], got, tt[1])
		}
	}
	if got := (contribution.Noise{Of: silent{}}).Shown(big.NewInt(-7)).Int64(); got != -7 {
		t.Errorf("−7 is shown as %d", got)
	}
	of, err := mechanisms.GaussianFor(dp.Sensitivity{L0: 1, LInf: 8 << fraction}, dp.PicoPerUnit/100)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := mechanisms.GaussianFor(dp.Sensitivity{L0: 1, LInf: 8}, dp.PicoPerUnit/100)
	if err != nil {
		t.Fatal(err)
	}
	fine, coarse := contribution.Noise{Of: of, Bits: fraction}, contribution.Noise{Of: whole}
	if d := fine.StdDev() / coarse.StdDev(); math.Abs(d-1) > 1e-3 {
		t.Errorf("the standard deviation changes with the lattice by %g", d)
	}
	// The shown number is at most half a unit further away.
	if d := fine.Quantile(0.05) - coarse.Quantile(0.05); d < -0.5 || d > 1 {
		t.Errorf("quantiles differ by %g: %g and %g", d, fine.Quantile(0.05), coarse.Quantile(0.05))
	}
}

// steps checks that one unit more changes every mⱼ by 0 or 1 upward.
func steps(t *testing.T, with, without []*big.Int) {
	t.Helper()
	for j := range with {
		if d := new(big.Int).Sub(with[j], without[j]).Int64(); d != 0 && d != 1 {
			t.Fatalf("a unit more changes m%d by %d", j, d)
		}
	}
}

// TestRounding shows that every part of the rounding is needed: without rounding the root up, or with quotients that are floored, vectors
// leave the ball.
func TestRounding(t *testing.T) {
	outside := func(direction func(x, s int64) int64) bool {
		for a := int64(-60); a < 60; a++ {
			for b := int64(-60); b < 60; b++ {
				if s := a*a + b*b; s > 0 {
					x, y := direction(a, s), direction(b, s)
					if x*x+y*y > 1<<(2*fraction) {
						return true
					}
				}
			}
		}
		return false
	}
	floor := func(a, b int64) int64 {
		q := a / b
		if a%b < 0 {
			q--
		}
		return q
	}
	root := func(s int64) float64 { return math.Sqrt(float64(s)) * 1024 }
	if outside(func(x, s int64) int64 { return x * (1 << 30) / (int64(math.Ceil(root(s))) + 1) }) {
		t.Error("the direction leaves the ball")
	}
	if !outside(func(x, s int64) int64 { return x * (1 << 30) / int64(math.Floor(root(s))) }) {
		t.Error("a root rounded down does not leave the ball: the test cannot fail")
	}
	if !outside(func(x, s int64) int64 { return floor(x*(1<<30), int64(math.Ceil(root(s)))) }) {
		t.Error("floored quotients without the 1 do not leave the ball: the test cannot fail")
	}
}

func shares(t testing.TB, m dp.Measure, pico int64, groups int) contribution.Shares {
	t.Helper()
	s, err := contribution.Divide(m, pico, groups, contribution.Chosen)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPenalty(t *testing.T) {
	for _, tt := range []struct {
		rho  float64
		want [4]int64
	}{{0.0005, [4]int64{74, 120, 217, 723}}, {0.005, [4]int64{24, 38, 69, 229}}, {0.05, [4]int64{8, 12, 22, 73}}} {
		for i, groups := range []int{1, 10, 60, 1000} {
			c, err := contribution.NewChoice(dp.ZCDP, shares(t, dp.ZCDP, int64(tt.rho*dp.PicoPerUnit), groups),
				contribution.Asked{Groups: groups, Weight: 1, Grid: grid(t, 1<<contribution.CountBits)})
			if err != nil || c.Penalty() != tt.want[i] {
				t.Errorf("ρ = %g, %d groups: %v, %v, want a penalty of %d", tt.rho, groups, c, err, tt.want[i])
			}
		}
	}
}

// TestPrice checks that choice, tail and release together cost no more than the budget, and that the release costs the same for every
// limit.
func TestPrice(t *testing.T) {
	for _, m := range []dp.Measure{dp.ZCDP, dp.PureDP} {
		for _, pico := range []int64{10, 123_457, 5 * dp.PicoPerUnit / 1000, dp.PicoPerUnit} {
			s, err := contribution.Divide(m, pico, 10, contribution.Chosen)
			if err != nil {
				t.Fatal(err)
			}
			choice, err := contribution.NewChoice(m, s, contribution.Asked{Groups: 10, Weight: 1, Grid: grid(t, 100)})
			if err != nil {
				t.Fatal(err)
			}
			tail, err := contribution.NewTail(m, s)
			if err != nil {
				continue // a variance too large to be drawn
			}
			price, err := accountant.Price(dp.ComposedEvent{choice.Event(), tail.Event()}, m)
			if err != nil || price.Pico() > s.Choice+s.Tail || s.Choice+s.Tail+s.Release != pico {
				t.Errorf("%v, %d: %+v, price %v, %v", m, pico, s, price, err)
			}
		}
	}
}

// TestChoiceLaw draws levels and compares them with the oracle. A law of half the rate and a law without the penalty must fail.
func TestChoiceLaw(t *testing.T) {
	want := []float64{0.280471889293, 0.280471889293, 0.170114800044, 0.103179841897, 0.103179841897, 0.062581737575}
	m := []int64{2, 1, 1, 1, 0, 0}
	law := func(rate float64, c int64) []float64 {
		p, total := make([]float64, len(m)), 0.0
		for j := range m {
			p[j] = math.Exp(-rate * float64(m[j]+c*int64(j)))
			total += p[j]
		}
		for j := range p {
			p[j] /= total
		}
		return p
	}
	for j, p := range law(0.5, 1) {
		if math.Abs(p-want[j]) > 1e-12 {
			t.Fatalf("P(%d) = %v, want %v", j, p, want[j])
		}
	}
	choice := contribution.ChoiceOf(t, 1, dp.PicoPerUnit/2)
	var above []mechanisms.Private
	for _, n := range m {
		above = append(above, mechanisms.Protect(big.NewInt(n)))
	}
	src := rand.NewChaCha8([32]byte{3})
	draw := func() int64 {
		_, j, err := choice.Choose(src, above)
		if err != nil {
			t.Fatal(err)
		}
		return int64(j)
	}
	at := func(p []float64) func(int64) float64 {
		return func(j int64) float64 {
			if j < 0 || j >= int64(len(p)) {
				return 0
			}
			return p[j]
		}
	}
	const draws = 100_000
	if p, ok := stattest.Accept(draws, draw, at(law(0.5, 1))); !ok {
		t.Errorf("the choice has another law than it says: p = %g", p)
	}
	for _, twin := range [][]float64{law(0.25, 1), law(0.5, 0)} {
		if p, ok := stattest.Accept(draws, draw, at(twin)); ok {
			t.Errorf("a twin is accepted, p = %g: the test cannot fail", p)
		}
	}
}

// TestChoiceOfNeighbours compares the laws of neighbours: their log ratios lie within ε of each other.
func TestChoiceOfNeighbours(t *testing.T) {
	src := rand.New(rand.NewChaCha8([32]byte{8}))
	for range 200 {
		g := grid(t, 1<<12)
		var units []unit
		for range 6 {
			units = append(units, hostile(src, 1+src.IntN(3)))
		}
		groups := len(units[0])
		for i := range units {
			units[i] = append(units[i], make(unit, 3)...)[:groups]
		}
		const rate, c = 0.5, 3
		law := func(m []*big.Int) []float64 {
			p, total := make([]float64, len(m)), 0.0
			for j := range m {
				p[j] = math.Exp(-rate * (ratio(m[j], 1) + float64(c*j)))
				total += p[j]
			}
			for j := range p {
				p[j] = math.Log(p[j] / total)
			}
			return p
		}
		with, without := law(read(g, units).above(t)), law(read(g, units[1:]).above(t))
		low, high := math.Inf(1), math.Inf(-1)
		for j := range with {
			low, high = math.Min(low, with[j]-without[j]), math.Max(high, with[j]-without[j])
		}
		if high-low > rate*(1+1e-9) || low > 1e-9 || high < -1e-9 {
			t.Fatalf("log ratios of neighbours from %g to %g", low, high)
		}
	}
}

// TestExcess has the demonstration's count, whose exact tail at C = 384 is (547, 120, 24).
func TestExcess(t *testing.T) {
	tail, err := contribution.NewTail(dp.ZCDP, shares(t, dp.ZCDP, 5*dp.PicoPerUnit/1000, 1))
	if err != nil {
		t.Fatal(err)
	}
	b := numbers(90_000, 547, 120, 24)
	e := tail.Excess(384, b, 0.95, true)
	if e.Units != 24 || math.Round(e.AtMost) != 76 {
		t.Errorf("%+v: about 24 units are above, at most 76", e)
	}
	if e.About < 5000 || e.About > 6600 || e.UpTo < 50_000 || e.UpTo > 60_000 {
		t.Errorf("%+v: about 5800 rows, at most 58000", e)
	}
	none := tail.Excess(1, numbers(-30, -4, -2, -9), 0.95, false)
	if none.Units != 0 || none.About != 0 || none.AtMost <= 0 {
		t.Errorf("%+v of noise alone", none)
	}
	// σ is 31.6, and for the sum of two numbers 44.7.
	for _, c := range []struct {
		all, just, near int64
		few             bool
	}{
		{500, 0, 0, true},
		{500, 40, 45, true},
		{500, 120, -35, true},
		{500, -30, 118, true},
		{500, 50, 45, false},
		{500, 0, 95, false},
		{30, 50, 45, true},
		{30, 0, 95, true},
		{30, 100, 55, true},
		{30, 105, 55, false},
		{0, 0, 158, false},
	} {
		b := numbers(c.all, c.just, c.near, 12)
		if e := tail.Excess(1, b, 0.95, true); e.Few != c.few || math.IsInf(e.UpTo, 1) != c.few || e.AtMost > 65 {
			t.Errorf("of %d, %d and %d units are near the limit: %+v", c.all, c.just, c.near, e)
		}
	}
	if parts := contribution.Spread(10, []float64{3, -1, 4}); parts[0] != 6 || parts[1] != 0 || parts[2] != 8 {
		t.Errorf("an excess of 10 spreads as %v", parts)
	}
	if parts := contribution.Spread(10, []float64{-3, 0}); parts[0] != 0 || parts[1] != 0 {
		t.Errorf("an excess of 10 over nothing spreads as %v", parts)
	}
}

// numbers returns the numbers of a tail.
func numbers(all ...int64) (b [contribution.TailNumbers]*big.Int) {
	for i, n := range all {
		b[i] = big.NewInt(n)
	}
	return b
}

// TestLoses has limits that leave out too much, by the lower end of what the numbers say, and limits that only may do so.
func TestLoses(t *testing.T) {
	for _, of := range []dp.Measure{dp.ZCDP, dp.PureDP} {
		pico := int64(5 * dp.PicoPerUnit / 1000)
		if of == dp.PureDP {
			pico = dp.PicoPerUnit / 10
		}
		tail, err := contribution.NewTail(of, shares(t, of, pico, 1)) // σ is 31.6, or 141
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			b     [contribution.TailNumbers]*big.Int
			loses bool
		}{
			{numbers(0, 0, 20, 970), true},    // as when 1,000 units have two hundred times the limit
			{numbers(-20, 10, -8, 400), true}, // and 400
			{numbers(0, 0, 0, 40), false},     // too few to know
			{numbers(40_000, 547, 120, 24), false},
			{numbers(30_000, 3000, 1000, 3300), false}, // less than a tenth of the units
			{numbers(8000, 0, 0, 2000), true},          // a fifth, far above the others
			{numbers(0, 0, 8500, 1500), false},         // more than a tenth, a little above
			{numbers(0, 0, 7000, 3000), true},
			{numbers(-5, 7, 12, -30), false},
			{numbers(math.MinInt32, 0, 0, 10), false},
		} {
			if got := tail.Loses(c.b, 0.95); got != c.loses {
				t.Errorf("%v, %v: it loses too much: %t", of, c.b, got)
			}
		}
	}
}

// TestLosesByChance has a tenth of the units above a limit, which is not too much. It is taken for too much with at most the probability
// that the confidence leaves.
func TestLosesByChance(t *testing.T) {
	tail, err := contribution.NewTail(dp.ZCDP, shares(t, dp.ZCDP, 5*dp.PicoPerUnit/1000, 1))
	if err != nil {
		t.Fatal(err)
	}
	units := [contribution.TailNumbers]mechanisms.Private{}
	for i, n := range numbers(9000, 0, 0, 1000) {
		units[i] = mechanisms.Protect(n)
	}
	src, lost := stattest.Source(t), 0
	const draws = 20_000
	for range draws {
		if tail.Loses(tail.Release(src, units), 0.95) {
			lost++
		}
	}
	if lost > draws*6/100 || lost < draws*2/100 { // 5 %, and 7.7 standard deviations
		t.Errorf("%d of %d tails say that more than a tenth is above a limit", lost, draws)
	}
}

// Sums of values without bounds exceed int8, and stay exact beside small ones.
func TestNumbersBeyondInt8(t *testing.T) {
	grid, err := contribution.NewGrid(4)
	if err != nil {
		t.Fatal(err)
	}
	large, small := new(big.Int).Lsh(big.NewInt(1), 80), big.NewInt(-7)
	var c contribution.Cells
	c.Add([]int{0}, large, nil)
	c.Add([]int{2}, small, new(big.Int).Neg(large))
	large.SetInt64(0) // the caller's number is not kept
	got := exact(t, c.Clipped(grid, 1, 3))[0]
	want := new(big.Int).Lsh(big.NewInt(8-2), 80)
	if got.Cmp(want) != 0 {
		t.Errorf("%v, want %v", got, want)
	}
	if c.Add([]int{0}, small, nil); c.Distinct() {
		t.Error("two sums of the same level are taken for sums of two")
	}
}

// A rowed unit has rows in groups, each with two distances.
type rowed struct{ n, sum, product, squaresX, squaresY unit }

// hostileRows returns the rows of a unit: few or many, near and far, of one sign and of both.
func hostileRows(src *rand.Rand, groups int) rowed {
	u := rowed{make(unit, groups), make(unit, groups), make(unit, groups), make(unit, groups), make(unit, groups)}
	far := []int64{1, 9, 200, 1 << 11}[src.IntN(4)]
	one := src.Int64N(2*far+1) - far
	for g := range groups {
		for range src.IntN(1 + []int{1, 30}[src.IntN(2)]) {
			x, y := src.Int64N(2*far+1)-far, src.Int64N(2*far+1)-far
			switch src.IntN(3) {
			case 0: // as Cauchy and Schwarz like it
				x, y = one, one
			case 1:
				y = -x
			}
			u.n[g], u.sum[g], u.product[g] = u.n[g]+1, u.sum[g]+x, u.product[g]+x*y
			u.squaresX[g], u.squaresY[g] = u.squaresX[g]+x*x, u.squaresY[g]+y*y
		}
	}
	return u
}

// TestBetween adds units with one weight by the norms of their rows and of two sums of squares. Sums of distances and of products move by
// at most the root of two limits, and by nearly as much. By the weight of the first two norms alone, products move by more.
func TestBetween(t *testing.T) {
	src := rand.New(rand.NewChaCha8([32]byte{19}))
	grids := []contribution.Grid{grid(t, 1<<10), grid(t, 1<<42), grid(t, 1<<42)}
	reached, outside := [2]float64{}, false
	for run := range 400 {
		if grids[0] = grid(t, 1<<10); run%3 == 0 {
			grids[0] = fixed(t, 1+src.Int64N(50), 2+src.Int64N(6)).Extend(1 << 20)
		}
		u := hostileRows(src, 1+src.IntN(8))
		levels := []int{u.n.level(grids[0]), u.squaresX.level(grids[1]), u.squaresY.level(grids[2])}
		for range 30 {
			chosen := []int{src.IntN(min(levels[0]+2, grids[0].Len())), src.IntN(max(levels[1], 0) + 2), src.IntN(max(levels[2], 0) + 2)}
			for i, of := range [][2]int{{0, 1}, {1, 2}} {
				most, err := contribution.Between(grids, of, chosen, big.NewRat(1, 1), fraction)
				if err != nil {
					t.Fatal(err)
				}
				moved := weighted(t, []unit{u.sum, u.product}[i], grids, levels, chosen, fraction)
				s := share(moved, most)
				if reached[i] = max(reached[i], s); s > 1 {
					t.Fatalf("%v of levels %v moves sum %d by %g of the bound at %v", u, levels, i, s, chosen)
				}
				outside = outside || share(weighted(t, u.product, grids[:2], levels[:2], chosen[:2], fraction), most) > 1
			}
		}
	}
	if min(reached[0], reached[1]) < 0.6 { // weights are of levels, two in each octave
		t.Errorf("no unit moves a sum by more than %v of the bound", reached)
	}
	if !outside {
		t.Error("two norms keep products as well: the test cannot fail")
	}
}

// TestBetweenIsTight compares the bound with its square, and refuses a bound that does not fit.
func TestBetweenIsTight(t *testing.T) {
	g := grid(t, 1<<42)
	src := rand.New(rand.NewChaCha8([32]byte{23}))
	for range 1000 {
		i, j := src.IntN(g.Len()), src.IntN(g.Len())
		square := big.NewRat(1+src.Int64N(100), 1+src.Int64N(100))
		s, err := contribution.Between([]contribution.Grid{g, g}, [2]int{0, 1}, []int{i, j}, square, 3)
		if err != nil {
			t.Fatal(err)
		}
		most := new(big.Rat).Mul(square, big.NewRat(limits(g)[i], 1))
		most.Mul(most, big.NewRat(64*limits(g)[j], 1))
		of := func(n int64) *big.Rat { return new(big.Rat).SetInt(new(big.Int).Mul(big.NewInt(n), big.NewInt(n))) }
		if of(s.LInf).Cmp(most) < 0 || of(s.LInf-1).Cmp(most) >= 0 {
			t.Errorf("√(%v·%d·%d)·8 is %d", square, limits(g)[i], limits(g)[j], s.LInf)
		}
	}
	last := []int{g.Len() - 1, g.Len() - 1}
	if s, err := contribution.Between([]contribution.Grid{g, g}, [2]int{0, 1}, last, big.NewRat(1, 1), 40); err == nil {
		t.Errorf("2^82 is %v", s)
	}
}

// TestUnder leaves the limits below a number, and at least one limit.
func TestUnder(t *testing.T) {
	g := grid(t, 16)
	for most, want := range map[int64]int{0: 1, 1: 1, 2: 1, 3: 2, 12: 6, 13: 7, 16: 7, 17: 8, 1 << 60: 8} {
		if got := g.Under(most); got.Len() != want || most > 1 && int64(got.Limit(got.Len()-1)) >= most {
			t.Errorf("under %d are %v, want %d", most, limits(got), want)
		}
	}
}
