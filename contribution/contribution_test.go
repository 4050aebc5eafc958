package contribution_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
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

func TestGrid(t *testing.T) {
	if got, want := grid(t, 20), (contribution.Grid{1, 2, 3, 4, 6, 8, 12, 16, 24}); !slices.Equal(got, want) {
		t.Errorf("the grid to 20 is %v", got)
	}
	all := grid(t, 1<<contribution.SumBits)
	if len(all) != 2*contribution.SumBits || all[len(all)-1] != 1<<60 || !slices.IsSorted(all) {
		t.Errorf("%d limits to %d", len(all), all[len(all)-1])
	}
	capped, err := contribution.CapGrid(5)
	if err != nil || !slices.Equal(capped, contribution.Grid{1, 2, 3, 4, 5}) {
		t.Errorf("the grid that ends at 5 is %v: %v", capped, err)
	}
	for _, top := range []int64{0, -1, 1<<60 + 1, math.MaxInt64} {
		if _, err := contribution.NewGrid(top); !errors.Is(err, dp.ErrContribution) {
			t.Errorf("a grid to %d: %v", top, err)
		}
	}
}

func TestSensitivity(t *testing.T) {
	s, err := contribution.Sensitivity(4, 20)
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
	for _, bad := range [][2]int64{{0, 0}, {-1, 20}, {1 << 43, 20}, {1, 64}, {math.MaxInt64, 1}} {
		if _, err := contribution.Sensitivity(bad[0], uint(bad[1])); !errors.Is(err, dp.ErrContribution) {
			t.Errorf("%v: %v", bad, err)
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

// level is the least j with N² ≤ Cⱼ².
func (u unit) level(g contribution.Grid) int {
	s := square(u)
	return slices.IndexFunc(append(slices.Clone(g), math.MaxInt32), func(c int64) bool { return c*c >= s })
}

// directions are d(u,g) = trunc(x·2^(f+10)/c) with c = ⌈1024·√S⌉ + 1, as SQL computes them.
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

// clipped is y_C(u) by its definition.
func (u unit) clipped(limit int64) []*big.Int {
	y := make([]*big.Int, len(u))
	d, _ := u.directions()
	for g := range u {
		if square(u) <= limit*limit {
			y[g] = new(big.Int).Lsh(big.NewInt(u[g]), fraction)
		} else {
			y[g] = new(big.Int).Mul(big.NewInt(d[g]), big.NewInt(limit))
		}
	}
	return y
}

// read makes the levels of units, by one row for each level and group.
func read(g contribution.Grid, units []unit) *contribution.Levels {
	groups := 0
	if len(units) > 0 {
		groups = len(units[0])
	}
	levels := contribution.NewLevels(g, fraction, groups)
	for _, u := range units {
		d, _ := u.directions()
		levels.AddUnits(u.level(g), big.NewInt(1))
		for i := range u {
			levels.Add(i, u.level(g), big.NewInt(u[i]), big.NewInt(d[i]))
		}
	}
	return levels
}

// exact reads private values with a source of no noise: noise of the least variance is
// added, and is zero where every random bit is.
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
	levels := read(g, units)
	above := exact(t, levels.Above()...)
	for j, want := range []struct{ f1, f2, m int64 }{
		{2306682, 1047982, 3}, {3564788, 2096988, 2}, {4822894, 2096906, 2},
		{6081000, 2096824, 2}, {7968808, 1258788, 1}, {9226976, -418768, 1},
	} {
		f := exact(t, levels.Clipped(j)...)
		if f[0].Int64() != want.f1 || f[1].Int64() != want.f2 || above[j].Int64() != want.m {
			t.Errorf("C = %d: F = %v, m = %v", g[j], f, above[j])
		}
	}
	if s := fmt.Sprintf("%v %+v %#v %s %d", levels, levels, levels, levels, levels); s != "private private private private private" {
		t.Errorf("levels print %s", s)
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

// TestClipping adds hostile units one by one. No limit lets one move the exact vector by more
// than Lemma 1 says, some reach it nearly, and Lemma 2 holds for every limit.
func TestClipping(t *testing.T) {
	src := rand.New(rand.NewChaCha8([32]byte{16}))
	reached := 0.0
	for range 300 {
		groups := 1 + src.IntN(40)
		g := grid(t, 1<<(1+src.IntN(24)))
		var units []unit
		for range 5 {
			units = append(units, hostile(src, groups))
		}
		with, without := read(g, units), read(g, units[1:])
		for j, limit := range g {
			moved, norm := exact(t, with.Clipped(j)...), new(big.Int)
			for i, f := range exact(t, without.Clipped(j)...) {
				moved[i].Sub(moved[i], f)
				norm.Add(norm, new(big.Int).Mul(moved[i], moved[i]))
				if moved[i].Cmp(units[0].clipped(limit)[i]) != 0 {
					t.Fatalf("%v at %d: %v instead of %v", units[0], limit, moved, units[0].clipped(limit))
				}
			}
			most := new(big.Int).Lsh(big.NewInt(limit), fraction)
			if most.Mul(most, most); norm.Cmp(most) > 0 {
				t.Fatalf("%v at %d: %v² is above %v", units[0], limit, moved, most)
			}
			f, _ := new(big.Rat).SetFrac(norm, most).Float64()
			reached = math.Max(reached, f)
		}
		steps(t, exact(t, with.Above()...), exact(t, without.Above()...))
	}
	if reached < 0.999 {
		t.Errorf("no unit moves a vector by more than %g of the bound", reached)
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

// TestRounding shows that every part of the rounding is needed: a root that is not rounded up
// and quotients that are floored leave the ball.
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
	s, err := contribution.Divide(m, pico, groups, true)
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
			c, err := contribution.NewChoice(dp.ZCDP, shares(t, dp.ZCDP, int64(tt.rho*dp.PicoPerUnit), groups), groups)
			if err != nil || c.Penalty() != tt.want[i] {
				t.Errorf("ρ = %g, %d groups: %v, %v, want a penalty of %d", tt.rho, groups, c, err, tt.want[i])
			}
		}
	}
}

// TestPrice checks that choice, tail and release cost no more than the budget together, and
// the release the same for every limit.
func TestPrice(t *testing.T) {
	for _, m := range []dp.Measure{dp.ZCDP, dp.PureDP} {
		for _, pico := range []int64{10, 123_457, 5 * dp.PicoPerUnit / 1000, dp.PicoPerUnit} {
			s, err := contribution.Divide(m, pico, 10, true)
			if err != nil {
				t.Fatal(err)
			}
			choice, err := contribution.NewChoice(m, s, 10)
			if err != nil {
				t.Fatal(err)
			}
			tail, err := contribution.NewTail(m, s)
			if err != nil {
				continue // a variance beyond what is drawn
			}
			price, err := accountant.Price(dp.ComposedEvent{choice.Event(), tail.Event()}, m)
			if err != nil || price.Pico() > s.Choice+s.Tail || s.Choice+s.Tail+s.Release != pico {
				t.Errorf("%v, %d: %+v, price %v, %v", m, pico, s, price, err)
			}
		}
	}
}

// TestChoiceLaw draws levels and compares them with the oracle; a law of half the rate and one
// without the penalty must fail.
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
		with, without := law(exact(t, read(g, units).Above()...)), law(exact(t, read(g, units[1:]).Above()...))
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
	b := [3]*big.Int{big.NewInt(547), big.NewInt(120), big.NewInt(24)}
	e := tail.Excess(384, b, 0.95)
	if e.Units != 24 || math.Round(e.AtMost) != 76 {
		t.Errorf("%+v: about 24 units are above, at most 76", e)
	}
	if e.About < 5000 || e.About > 6600 || e.UpTo < 50_000 || e.UpTo > 60_000 {
		t.Errorf("%+v: about 5800 rows, at most 58000", e)
	}
	none := tail.Excess(1, [3]*big.Int{big.NewInt(-4), big.NewInt(-2), big.NewInt(-9)}, 0.95)
	if none.Units != 0 || none.About != 0 || none.AtMost <= 0 {
		t.Errorf("%+v of noise alone", none)
	}
	if parts := contribution.Spread(10, []float64{3, -1, 4}); parts[0] != 6 || parts[1] != 0 || parts[2] != 8 {
		t.Errorf("an excess of 10 spreads as %v", parts)
	}
	if parts := contribution.Spread(10, []float64{-3, 0}); parts[0] != 0 || parts[1] != 0 {
		t.Errorf("an excess of 10 over nothing spreads as %v", parts)
	}
}
