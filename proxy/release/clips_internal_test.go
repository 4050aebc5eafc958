package release

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"testing"

	"dpproxy/accountant"
	"dpproxy/dp"
	"dpproxy/internal/plantest"
	"dpproxy/internal/stattest"
	"dpproxy/mechanisms"
	"dpproxy/planner"
	"dpproxy/planner/policy"
	"dpproxy/proxy/reader"
)

// limitedPlan plans a statement over visits, of which a person has any number, at ρ = 1/2 or ε = 1.
func limitedPlan(t *testing.T, sql, mechanism string) *planner.GroupingSet {
	t.Helper()
	return plannedWith(t, sql, mechanism, false)
}

// plannedWith may choose limits that leave out too much once more.
func plannedWith(t *testing.T, sql, mechanism string, again bool) *planner.GroupingSet {
	t.Helper()
	return plantest.GroupingSet(t, sql, planner.Settings{
		EpsilonPico: dp.PicoPerUnit, DeltaAtto: 1e9, Mechanism: mechanism, Alpha: 0.05, LimitRetry: again,
		Limits: policy.Limits{PublicFanout: 1, Work: 1},
	})
}

// TestChosenAgain has people who all have far more than a first choice reaches: with what was released of it, a second one does. Of people
// within the limit nothing is chosen once more, and a statement that may not does not.
func TestChosenAgain(t *testing.T) {
	src := stattest.Source(t)
	const high = 20
	for _, c := range []struct {
		units  int64
		level  int
		again  bool
		atMost float64 // of 40 statements, those that lose too much
		least  float64
	}{{40, high, false, 40, 30}, {40, high, true, 4, 0}, {400, 1, true, 0, 0}} {
		set := plannedWith(t, "SELECT count(*) FROM visits", "gaussian", c.again)
		exact := collected(t, set, 0, nil, people{levels: []int{c.level}, units: c.units, sum: 1000 * c.units, directions: 1000 * c.units})
		lost := 0.0
		for range 40 {
			clips, err := clipped(set, exact, nil, src)
			if err != nil {
				t.Fatal(err)
			}
			if set.Loses(set.Measures[0], clips[0], set.Confidence()) {
				lost++
			}
		}
		if lost > c.atMost || lost < c.least {
			t.Errorf("%+v: %v of 40 lose too much", c, lost)
		}
	}
}

// people are those of one level of one vector: so many, with so much in the first ward altogether, and
// a part of it, in thousandths, where they are cut to the limit 1.
type people struct {
	vector, units, sum, directions int64
	levels                         []int
}

// collected puts people in their places, of integer i.
func collected(t *testing.T, set *planner.GroupingSet, i int, key []string, all ...people) *reader.Exact {
	t.Helper()
	text := func(n int64) []byte { return []byte(strconv.FormatInt(n, 10)) }
	var keys [][]byte
	for _, k := range key {
		keys = append(keys, []byte(k))
	}
	c := reader.NewCollector(set, nil)
	for _, p := range all {
		err := c.Take(0, planner.Row{
			Keys: keys, Measure: set.MeasureOf(i).At(), Vector: int(p.vector), Levels: p.levels, Units: text(p.units),
			Cells: []planner.Cell{{At: i, Sum: text(p.sum), Directions: text(p.directions << 20 / 1000)}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	exact, err := c.Exact()
	if err != nil {
		t.Fatal(err)
	}
	return exact
}

const wards = "SELECT ward, count(*) FROM visits GROUP BY ward"

// few people have so much that several limits are as good.
var few = []people{
	{levels: []int{0}, units: 30, sum: 20},
	{levels: []int{3}, units: 9, sum: 33, directions: 8800},
	{levels: []int{6}, units: 10, sum: 105, directions: 9100},
	{levels: []int{8}, units: 2, sum: 40, directions: 1900},
}

// An oracle has the law of the statement over wards, computed from its specification: the limit C of level j
// has P(j) ∝ exp(−ε·(mⱼ + c·j)), and what is released at it has noise of the standard deviation C/√(2ρ).
type oracle struct {
	chances, answers, above []float64
	noise                   func(level int) float64
	tail                    float64
}

func newOracle(set *planner.GroupingSet, all []people) oracle {
	const (
		rho     = 0.5
		choice  = rho / 10
		release = rho * 8 / 10
	)
	n := set.Measures[0].Norms[0]
	epsilon, penalty := math.Sqrt(8*choice), math.Ceil(3*math.Log(math.Sqrt2)/math.Sqrt(8*choice)+0.6*math.Sqrt2/math.Sqrt(2*release))
	o := oracle{
		noise: func(level int) float64 { return n.Grid.Limit(level) / math.Sqrt(2*release) },
		tail:  1 / math.Sqrt(2*rho/10),
	}
	total := 0.0
	for j := range n.Choices {
		above, answer := 0.0, 0.0
		for _, p := range all {
			if p.levels[0] > j {
				above += float64(p.units)
				answer += float64(p.directions<<20/1000) / (1 << 20) * n.Grid.Limit(j)
			} else {
				answer += float64(p.sum)
			}
		}
		chance := math.Exp(-epsilon * (above + penalty*float64(j)))
		o.chances, o.answers, o.above = append(o.chances, chance), append(o.answers, answer), append(o.above, above)
		total += chance
	}
	for j := range o.chances {
		o.chances[j] /= total
	}
	return o
}

// levels is the law of the limit.
func (o oracle) levels(level int64) float64 {
	if level < 0 || int(level) >= len(o.chances) {
		return 0
	}
	return o.chances[level]
}

// shown is the law of an answer at a limit, with the noise of another one.
func (o oracle) shown(level, noise int) func(int64) float64 {
	sigma := o.noise(noise)
	below := func(x float64) float64 { return math.Erfc((o.answers[level]-x)/sigma/math.Sqrt2) / 2 }
	return func(n int64) float64 { return below(float64(n)+0.5) - below(float64(n)-0.5) }
}

// overall is the law of an answer, with noise of the limit shifted by so many levels.
func (o oracle) overall(shift int) func(int64) float64 {
	return func(n int64) float64 {
		p := 0.0
		for j, chance := range o.chances {
			if chance > 1e-13 {
				p += chance * o.shown(j, j+shift)(n)
			}
		}
		return p
	}
}

// beyond is the law of the released number of units above the limit.
func (o oracle) beyond(n int64) float64 {
	p := 0.0
	noise := stattest.Gaussian(o.tail * o.tail)
	for j, chance := range o.chances {
		p += chance * noise(n-int64(o.above[j]))
	}
	return p
}

// TestLaw draws whole statements from exact rows. The limit, the number of people above it and the
// answer have the law of the specification; with the noise of another limit they have not.
func TestLaw(t *testing.T) {
	set := limitedPlan(t, wards, "gaussian")
	exact := collected(t, set, 0, []string{"1"}, few...)
	o := newOracle(set, few)
	src := stattest.Source(t)
	statement := func() *planner.Released {
		m := &once{set: set, src: src}
		if err := m.begin(exact); err != nil {
			t.Fatal(err)
		}
		return m.released()
	}
	const draws = 4000
	level := func() int64 { return int64(statement().Clips[0].Levels[0]) }
	if p, ok := stattest.Accept(draws, level, o.levels); !ok {
		t.Errorf("the limit has another law: p = %g", p)
	}
	if p, ok := stattest.Accept(draws, func() int64 { return statement().Clips[0].Tail[3].Int64() }, o.beyond); !ok {
		t.Errorf("the number of people above the limit has another law: p = %g", p)
	}
	answer := func() int64 { return statement().Rows[0][0].Int64() }
	if p, ok := stattest.Accept(draws, answer, o.overall(0)); !ok {
		t.Errorf("the answer has another law: p = %g", p)
	}
	for _, shift := range []int{1, 2} {
		if p, ok := stattest.Accept(draws, answer, o.overall(shift)); ok {
			t.Errorf("the answer has noise of a larger limit, p = %g: the test cannot fail", p)
		}
	}
	likely := slices.Index(o.chances, slices.Max(o.chances))
	at := func() int64 {
		for {
			if r := statement(); r.Clips[0].Levels[0] == likely {
				return r.Rows[0][0].Int64()
			}
		}
	}
	if p, ok := stattest.Accept(draws/2, at, o.shown(likely, likely)); !ok {
		t.Errorf("at the limit %d the answer has another law: p = %g", likely, p)
	}
	if p, ok := stattest.Accept(draws/2, at, o.shown(likely, likely+1)); ok {
		t.Errorf("at the limit %d the answer has the noise of the next, p = %g: the test cannot fail", likely, p)
	}
}

// reveal opens exact values for a test.
func reveal(p mechanisms.Private) int64 { return mechanisms.Release(silent{}, nil, p).Int().Int64() }

type silent struct{ mechanisms.Mechanism }

func (silent) Sample(z *big.Int, _ mechanisms.Source) *big.Int { return z.SetInt64(0) }

// TestPriceOfLimits holds that a statement is paid at one price whatever limits come out, which covers what
// is then released, and hardly more where noise is not of a few integers.
func TestPriceOfLimits(t *testing.T) {
	for i, mechanism := range []string{"gaussian", "laplace", "gaussian", "laplace"} {
		again := i > 1
		measure := map[string]dp.Measure{"gaussian": dp.ZCDP, "laplace": dp.PureDP}[mechanism]
		for _, sql := range []string{
			wards, "SELECT sum(cost) FROM visits", "SELECT ward, avg(cost), stddev(cost) FROM visits GROUP BY ward",
			"SELECT avg(cost), max(cost) FROM visits",
		} {
			set := plannedWith(t, sql, mechanism, again)
			price := func(e dp.ComposedEvent) int64 {
				t.Helper()
				loss, err := accountant.Price(e, measure)
				if err != nil {
					t.Fatal(err)
				}
				return loss.Pico()
			}
			first, err := (&once{set: set}).first()
			if err != nil {
				t.Fatal(err)
			}
			paid, budget := price(first), int64(dp.PicoPerUnit)
			if mechanism == "gaussian" {
				budget /= 2
			}
			if paid > budget || paid < budget*99/100 {
				t.Errorf("%s, %s: %d is paid of %d", mechanism, sql, paid, budget)
			}
			for part := range 8 {
				clips := make([]planner.Clip, len(set.Measures))
				for i, m := range set.Measures {
					for _, n := range m.Norms {
						level := n.Fixed
						if n.Choice != nil {
							level = (n.Choices - 1) * part / 7
						}
						clips[i].Levels = append(clips[i].Levels, level)
					}
				}
				if drawn := price(drawnAt(set, clips)); drawn > paid || part > 0 && drawn < paid*97/100 {
					t.Errorf("%s, %s: at %v it releases %d, and %d is paid", mechanism, sql, clips, drawn, paid)
				}
			}
		}
	}
}

// drawnAt is what a statement releases at limits: choices, tails, and once for each level of each
// statistic its noise.
func drawnAt(set *planner.GroupingSet, clips []planner.Clip) dp.ComposedEvent {
	events := set.Choosing()
	for _, s := range set.Statistics() {
		at := s.First
		for _, nodes := range s.Levels {
			events = append(events, set.Noise(at, clips).Of.Event())
			at += nodes
		}
	}
	return events
}

// TestCentres has people whose sums are small about one centre alone: it is chosen, and answers are about it.
// An average has a weight for count and sum together, and no unit counts for more than it has.
func TestCentres(t *testing.T) {
	set := limitedPlan(t, "SELECT avg(cost) FROM visits", "gaussian")
	m := set.Measures[0]
	if m.Vectors < 2 || len(m.Norms) != 2 || set.Integers() != 2 {
		t.Fatalf("%d vectors of %d norms, %d integers", m.Vectors, len(m.Norms), set.Integers())
	}
	high := m.Norms[1].Choices - 1
	var rows []people
	for v := range m.Vectors {
		level := high
		if v == 1 {
			level = 2
		}
		rows = append(rows, people{vector: int64(v), levels: []int{0, level}, units: 1000, sum: int64(1000 * (v + 1))},
			people{vector: int64(v), levels: []int{9, high}, units: 5, sum: 777})
	}
	exact := collected(t, set, 1, nil, rows...)
	src := stattest.Source(t)
	for range 200 {
		clips, err := clipped(set, exact, nil, src)
		if err != nil {
			t.Fatal(err)
		}
		c := clips[0]
		if c.Vector != 1 || c.Levels[1] < 2 || c.Levels[1] > 12 || c.Levels[0] > 9 {
			t.Fatalf("of vectors of which one is small, %d is chosen, with the limits %v", c.Vector, c.Levels)
		}
		for i, units := range m.TailUnits(c, exact.Units(0, 1)) {
			if off := c.Tail[i].Int64() - reveal(units); off < -40 || off > 40 {
				t.Errorf("number %d of people near the limits %v is said to be %d, and is %d", i, c.Levels, c.Tail[i], reveal(units))
			}
		}
		if c.Levels[1] == 2 && c.Tail[2].Int64() < 900 || c.Levels[1] > 4 && c.Tail[2].Int64() > 100 {
			t.Errorf("%d people are said to be near the limits %v", c.Tail[2], c.Levels)
		}
		_, partitions := exact.Shown()
		least := new(big.Rat).SetInt64(reveal(partitions[0].At(set, 1, clips)))
		sum, _ := least.Quo(least, new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), set.Noise(1, clips).Bits))).Float64()
		if sum < 2000 || sum > 2777 {
			t.Errorf("2000 of people within the limits, and 777 of people above, are %g", sum)
		}
	}
}

// TestPublicLimits holds that a limit that is public is taken as it is.
func TestPublicLimits(t *testing.T) {
	set := plantest.GroupingSet(t, wards, planner.Settings{
		EpsilonPico: dp.PicoPerUnit, Mechanism: "gaussian", Alpha: 0.05, MaxRows: 20, MaxPartitions: 4,
		Contribution: planner.FixedContribution, Limits: policy.Limits{PublicFanout: 1, Work: 1},
	})
	n := set.Measures[0].Norms[0]
	if n.Choice != nil {
		t.Fatalf("%v", n.Choice)
	}
	most := n.Grid.Len()
	exact := collected(t, set, 0, []string{"1"}, people{levels: []int{most - 1}, units: 40, sum: 400},
		people{levels: []int{most}, units: 500, sum: 9000, directions: 500})
	clips, err := clipped(set, exact, nil, stattest.Source(t))
	if err != nil || clips[0].Levels[0] != n.Fixed || n.Grid.Limit(n.Fixed) < 28.28 || n.Grid.Limit(n.Fixed) > 28.3 {
		t.Errorf("%v at %g, %v", clips, n.Grid.Limit(n.Fixed), err)
	}
	if tail := clips[0].Tail; tail[3].Cmp(big.NewInt(460)) < 0 || tail[2].CmpAbs(big.NewInt(80)) > 0 {
		t.Errorf("500 people are above the limit and 40 below, %v are said to be", tail)
	}
}

// TestNoiseOfFixedAverage holds that the count of an average has the noise of its limit, also where
// that is no integer, and that people within it count in full on its lattice.
func TestNoiseOfFixedAverage(t *testing.T) {
	set := plantest.GroupingSet(t, "SELECT ward, avg(cost) FROM visits GROUP BY ward", planner.Settings{
		EpsilonPico: dp.PicoPerUnit, Mechanism: "gaussian", Alpha: 0.05, MaxRows: 5, MaxPartitions: 2,
		Contribution: planner.FixedContribution, Limits: policy.Limits{PublicFanout: 1, Work: 1},
	})
	n := set.Measures[0].Norms[0]
	clips := []planner.Clip{{Levels: []int{n.Fixed}}}
	noise := set.Noise(0, clips)
	// A quarter of ρ = 1/2 for each of count and sum, of which a tenth is for the number of people above.
	if want := n.Grid.Limit(n.Fixed) / math.Sqrt(2*0.25*0.9); math.Abs(noise.StdDev()/want-1) > 0.01 {
		t.Errorf("the noise of the limit %g is %g, want %g", n.Grid.Limit(n.Fixed), noise.StdDev(), want)
	}
	exact := collected(t, set, 0, []string{"1"}, people{levels: []int{0}, units: 1, sum: 1 << 40})
	_, partitions := exact.Shown()
	if got := reveal(partitions[0].At(set, 0, clips)); got != 1<<40<<noise.Bits {
		t.Errorf("2^40 is %d on the lattice of 2^−%d", got, noise.Bits)
	}
}

// TestNoiseOfFewUnits holds that count and sum of an average each have the noise of their own limit, on a
// lattice that the limits share, where both limits are public numbers for want of people to choose them by. The sum is
// about the middle of its bounds: about another centre its limit, and noise, would be twice as large.
func TestNoiseOfFewUnits(t *testing.T) {
	set := plantest.SmallGroupingSet(t, 40, "SELECT ward, avg(cost) FROM visits GROUP BY ward", planner.Settings{
		EpsilonPico: dp.PicoPerUnit, Mechanism: "gaussian", Alpha: 0.05, MaxRows: 5, MaxPartitions: 2,
		Contribution: planner.ChosenContribution, Limits: policy.Limits{PublicFanout: 1, Work: 1},
	})
	norms := set.Measures[0].Norms
	if len(norms) != 2 || norms[0].Choice != nil || norms[1].Choice != nil {
		t.Fatalf("%+v", norms)
	}
	levels := []int{norms[0].Fixed, norms[1].Fixed}
	clips := []planner.Clip{{Levels: levels}}
	for i, n := range norms {
		noise := set.Noise(i, clips)
		if want := n.Grid.Limit(n.Fixed) / math.Sqrt(2*0.25*0.9); math.Abs(noise.StdDev()/want-1) > 0.001 {
			t.Errorf("the noise of the limit %g is %g, want %g", n.Grid.Limit(n.Fixed), noise.StdDev(), want)
		}
		exact := collected(t, set, i, []string{"1"}, people{levels: []int{0, 0}, units: 1, sum: 1 << 40})
		_, partitions := exact.Shown()
		if got := reveal(partitions[0].At(set, i, clips)); got != 1<<40<<noise.Bits {
			t.Errorf("2^40 is %d on the lattice of 2^−%d", got, noise.Bits)
		}
	}
	if count, sum := norms[0].Grid.Limit(levels[0]), norms[1].Grid.Limit(levels[1]); count > 7.08 || sum/count < 4500 || sum/count > 5500 {
		t.Errorf("the limits are %g rows and %g", count, sum)
	}
}

// many people have counts that a chain finds.
var many = []people{
	{levels: []int{0}, units: 3000, sum: 3000},
	{levels: []int{3}, units: 900, sum: 3300, directions: 880_000},
	{levels: []int{6}, units: 200, sum: 2100, directions: 182_000},
}

// priced returns the price of a release under zCDP.
func priced(t *testing.T, e dp.ComposedEvent) int64 {
	t.Helper()
	loss, err := accountant.Price(e, dp.ZCDP)
	if err != nil {
		t.Fatal(err)
	}
	return loss.Pico()
}

// chain runs a method to its end over exact values, and returns the price of its first round, and of all.
func chain(t *testing.T, l *brownian, exact *reader.Exact) (first, all int64) {
	t.Helper()
	e, err := l.first()
	if err != nil {
		t.Fatal(err)
	}
	first = priced(t, e)
	if err := l.begin(exact); err != nil {
		t.Fatal(err)
	}
	for all = first; ; all += priced(t, e) {
		if e, err = l.next(); err != nil {
			t.Fatal(err)
		}
		if len(e) == 0 {
			return first, all
		}
		if err := l.draw(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestChainOfLimits holds that a chain draws its limits once, before its first round, and pays for them there: a
// later read goes on within them, and the price is that of the limits and the precision together.
func TestChainOfLimits(t *testing.T) {
	coarse := chainPlan(t, wards, func(s *planner.Settings) { s.Target.Relative = 0.3 })
	fine := chainPlan(t, wards, func(s *planner.Settings) { s.Target.Relative = 0.05 })
	src := stattest.Source(t)
	limits := priced(t, coarse.Choosing())
	for range 20 {
		l := newBrownian(coarse, nil, src)
		first, all := chain(t, l, collected(t, coarse, 0, []string{"1"}, many...))
		if want := limits + priced(t, dp.ComposedEvent{pilot(coarse.Reduction)}); first < want-3 || first > want+3 {
			t.Fatalf("the first round costs %d, limits and pilot %d", first, want)
		}
		before := kept(l)
		again, exact := newBrownian(fine, before, src), collected(t, fine, 0, []string{"1"}, many...)
		_, more := chain(t, again, exact)
		shown := again.released()
		if after := kept(again).Clips; !slices.EqualFunc(before.Clips, after, sameClip) || !slices.EqualFunc(shown.Clips, after, sameClip) {
			t.Fatalf("limits were %v, are %v, and %v are shown", before.Clips, after, shown.Clips)
		}
		each := precisions(kept(again), fine)
		least := slices.Max(each) * (1 - 1e-6)
		if paid := float64(all-limits+more) / dp.PicoPerUnit; paid < least {
			t.Errorf("%g is paid for a precision that costs %g", paid, least)
		}
		// A unit in two groups, with as much in each as a ball leaves for both, is not the worst one.
		if twin := (each[0] + each[1]) / 2; twin >= least {
			t.Errorf("the price of a unit with equal parts, %g, covers %g: the test cannot fail", twin, least)
		}
		_, partitions := exact.Shown()
		truth := math.Ldexp(float64(reveal(partitions[0].At(fine, 0, before.Clips))), -20)
		if got := float64(shown.Rows[0][0].Int64()); math.Abs(got-truth) > 0.1*truth {
			t.Errorf("%g is shown as %g", truth, got)
		}
	}
}

// TestPathOfLimits holds that a path of noise reduction in a pure budget draws its limits once, before its first level,
// that its price is the same for all of them, and that of no limit is less than what its noise costs. Limits that leave
// out too much have no answer, and nothing is paid for its precision.
func TestPathOfLimits(t *testing.T) {
	set := chainPlan(t, wards, func(s *planner.Settings) { s.Pure, s.Target.Relative = true, 0.05 })
	src, limits, lost := stattest.Source(t), map[int]bool{}, 0
	cost := func(e dp.ComposedEvent) int64 {
		loss, err := accountant.Price(e, dp.PureDP)
		if err != nil {
			t.Fatal(err)
		}
		return loss.Pico()
	}
	paid := func(level int) int64 { return cost(append(set.Choosing(), set.Reduction.Revealing(0, level)...)) }
	for range 40 {
		l := newReduction(set, src)
		e, err := l.first()
		if err != nil || cost(e) != paid(0) {
			t.Fatalf("%v costs %d, %v", e, cost(e), err)
		}
		all, exact := cost(e), collected(t, set, 0, []string{"1"}, many...)
		for err = l.begin(exact); err == nil; err = l.draw() {
			if e, err = l.next(); len(e) == 0 {
				break
			}
			all += cost(e)
		}
		if err != nil || all < paid(l.level) || all > paid(l.level)+int64(l.level) {
			t.Fatalf("up to level %d for %d, not %d: %v", l.level, all, paid(l.level), err)
		}
		kept := &Set{}
		l.keep(kept)
		at := kept.Clips[0].Levels[0]
		limits[at] = true
		c, path := set.Measures[0].Norms[0].Grid.Limit(at), l.reduction.Statistics[0].Path
		noise, err := path.Level(l.level)
		if err != nil {
			t.Fatal(err)
		}
		nominal := float64(all-cost(set.Choosing())) / dp.PicoPerUnit
		scale := math.Ldexp(noise.StdDev()/math.Sqrt2, -20)
		if ratio := c / scale / nominal; ratio > 1+1e-6 || ratio < 1-1e-5 {
			t.Errorf("within %g noise of the scale %g costs %g of %g", c, scale, c/scale, nominal)
		}
		if set.Loses(set.Measures[0], kept.Clips[0], set.Confidence()) {
			lost++
			if l.level != 0 {
				t.Errorf("level %d is paid for beyond the limit %g, which has no answer", l.level, c)
			}
			continue
		}
		_, partitions := exact.Shown()
		truth := math.Ldexp(float64(reveal(partitions[0].At(set, 0, kept.Clips))), -20)
		if got := float64(l.released().Rows[0][0].Int64()); math.Abs(got-truth) > 0.1*truth {
			t.Errorf("%g is shown as %g", truth, got)
		}
	}
	if len(limits) < 2 {
		t.Errorf("the limits %v: no choice was made", limits)
	}
	if lost > 30 {
		t.Errorf("%d of 40 have no answer", lost)
	}
}

// precisions returns the price, in ρ, of each coordinate: a unit within a limit C of a norm may have all of it there.
func precisions(s *Set, set *planner.GroupingSet) (out []float64) {
	c := set.Measures[0].Norms[0].Grid.Limit(s.Clips[0].Levels[0])
	for _, coordinate := range s.Measured {
		all := 0.0
		for _, m := range coordinate[0] {
			v, _ := new(big.Float).SetInt(m.Variance).Float64()
			all += math.Ldexp(1, 40) / v
		}
		out = append(out, c*c/2*all)
	}
	return out
}

func sameClip(a, b planner.Clip) bool {
	equal := func(x, y *big.Int) bool { return x.Cmp(y) == 0 }
	return a.Vector == b.Vector && slices.Equal(a.Levels, b.Levels) && slices.EqualFunc(a.Tail, b.Tail, equal)
}
