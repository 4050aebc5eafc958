package contribution_test

import (
	"flag"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"dpproxy/contribution"
	"dpproxy/dp"
	"dpproxy/internal/needs"
)

var study = flag.Bool("study", false, "print the table of limits on simulated tables")

// A law draws how many rows a unit has in each of so many groups.
type law struct {
	name          string
	units, groups int
	draw          func(r *rand.Rand, groups int) map[int]int64
}

// The laws below were not used to find the constants of the choice: the constants were tuned on the demonstration, nafld, TPC-H and Zipf
// laws.
var laws = []law{
	{"lognormal σ=1", 50_000, 1, spread(func(r *rand.Rand) int64 { return int64(math.Exp(r.NormFloat64() + 1)) })},
	{"lognormal σ=1", 50_000, 12, spread(func(r *rand.Rand) int64 { return int64(math.Exp(r.NormFloat64() + 1)) })},
	{"lognormal σ=2", 50_000, 1, spread(func(r *rand.Rand) int64 { return int64(math.Exp(2*r.NormFloat64() + 1)) })},
	{"lognormal σ=2", 50_000, 12, spread(func(r *rand.Rand) int64 { return int64(math.Exp(2*r.NormFloat64() + 1)) })},
	{"lognormal σ=2", 50_000, 200, spread(func(r *rand.Rand) int64 { return int64(math.Exp(2*r.NormFloat64() + 1)) })},
	{"geometric 10", 50_000, 1, spread(geometric(10))},
	{"geometric 10", 50_000, 12, spread(geometric(10))},
	{"geometric 10", 50_000, 200, spread(geometric(10))},
	{"geometric 3", 5_000, 1, spread(geometric(3))},
	{"geometric 3", 5_000, 12, spread(geometric(3))},
	{"two humps: 5 % have 200", 50_000, 1, spread(humps(0.05, 200))},
	{"two humps: 5 % have 200", 50_000, 12, spread(humps(0.05, 200))},
	{"two humps: 0.1 % have 5000", 50_000, 1, spread(humps(0.001, 5000))},
	{"two humps: 0.1 % have 5000", 50_000, 12, spread(humps(0.001, 5000))},
	{"two humps: 20 units have 10^5", 50_000, 1, spread(humps(0.0004, 100_000))},
	{"one group each, geometric 10", 50_000, 12, alone(geometric(10))},
	{"one group each, 2 % have 300 in group 0", 50_000, 12, heavyGroup},
	{"every group once", 20_000, 52, everywhere},
	{"Poisson 4", 20_000, 1, spread(poisson(4))},
	{"Poisson 4", 20_000, 12, spread(poisson(4))},
	{"1,000 units, geometric 10", 1_000, 1, spread(geometric(10))},
	{"1,000 units, geometric 10", 1_000, 12, spread(geometric(10))},
	{"200 units, geometric 10", 200, 1, spread(geometric(10))},
	{"200 units, geometric 10", 200, 12, spread(geometric(10))},
}

// spread divides the rows of a unit among groups of unequal size.
func spread(rows func(*rand.Rand) int64) func(*rand.Rand, int) map[int]int64 {
	return func(r *rand.Rand, groups int) map[int]int64 {
		x := map[int]int64{}
		for range min(rows(r), 1_000_000) {
			u := r.Float64()
			x[int(u*u*float64(groups))]++
		}
		return x
	}
}

func alone(rows func(*rand.Rand) int64) func(*rand.Rand, int) map[int]int64 {
	return func(r *rand.Rand, groups int) map[int]int64 { return map[int]int64{r.IntN(groups): rows(r)} }
}

func heavyGroup(r *rand.Rand, groups int) map[int]int64 {
	if r.Float64() < 0.02 {
		return map[int]int64{0: 300}
	}
	return map[int]int64{r.IntN(groups): 1 + r.Int64N(4)}
}

func everywhere(_ *rand.Rand, groups int) map[int]int64 {
	x := map[int]int64{}
	for g := range groups {
		x[g] = 1
	}
	return x
}

func geometric(mean float64) func(*rand.Rand) int64 {
	return func(r *rand.Rand) int64 { return 1 + int64(math.Log(1-r.Float64())/math.Log(1-1/mean)) }
}

func humps(share float64, rows int64) func(*rand.Rand) int64 {
	return func(r *rand.Rand) int64 {
		if r.Float64() < share {
			return rows
		}
		return 1 + r.Int64N(3)
	}
}

func poisson(mean float64) func(*rand.Rand) int64 {
	return func(r *rand.Rand) int64 {
		n := int64(0)
		for p := r.Float64(); p > math.Exp(-mean); p *= r.Float64() {
			n++
		}
		return n
	}
}

// A table has the rows of all units, and a read of them.
type table struct {
	law
	read   vector
	truth  []float64
	above  []float64   // units above each limit
	at     [][]float64 // clipped answers by limit
	hashed []float64   // with 20 rows in each of 4 groups
}

func simulate(t *testing.T, l law) *table {
	t.Helper()
	r := rand.New(rand.NewChaCha8([32]byte{42, byte(l.groups)}))
	tab := &table{
		law: l, read: newVector(grid(t, 1<<contribution.CountBits), l.groups),
		truth: make([]float64, l.groups), hashed: make([]float64, l.groups),
	}
	type at struct{ level, group int }
	sums, directions, units := map[at]int64{}, map[at]int64{}, map[int]int64{}
	for range l.units {
		rows := l.draw(r, l.groups)
		flat, groups := unit{}, []int{}
		for g, n := range rows {
			flat, groups = append(flat, n), append(groups, g)
		}
		level := flat.level(tab.read.grid)
		d, _ := flat.directions()
		units[level]++
		for i, g := range groups {
			sums[at{level, g}] += flat[i]
			directions[at{level, g}] += d[i]
			tab.truth[g] += float64(flat[i])
			if i < 4 { // the order of a map is as good as the order of a hash
				tab.hashed[g] += float64(min(flat[i], 20))
			}
		}
	}
	for level, n := range units {
		tab.read.units.Add([]int{level}, big.NewInt(n), nil)
	}
	for k, sum := range sums {
		tab.read.groups[k.group].Add([]int{k.level}, big.NewInt(sum), big.NewInt(directions[k]))
	}
	for _, n := range tab.read.above(t) {
		tab.above = append(tab.above, ratio(n, 1))
	}
	for j := range tab.read.grid.Len() {
		var answers []float64
		for _, f := range tab.read.clipped(t, j) {
			answers = append(answers, ratio(f, 1<<fraction))
		}
		tab.at = append(tab.at, answers)
	}
	return tab
}

// bias returns the sum over groups of the squares of the errors of answers.
func (tab *table) bias(answers []float64) float64 {
	sum := 0.0
	for g, a := range answers {
		sum += (a - tab.truth[g]) * (a - tab.truth[g])
	}
	return sum
}

// percent writes the root of a mean square over groups in percent of the mean group.
func (tab *table) percent(square float64) float64 {
	mean := 0.0
	for _, x := range tab.truth {
		mean += x / float64(tab.groups)
	}
	return 100 * math.Sqrt(square/float64(tab.groups)) / mean
}

// An outcome has the answers of many statements at one price.
type outcome struct {
	fixed, best, auto             float64 // rms errors in percent
	above                         float64 // mean number of units above the limit
	noise, upper                  float64 // half-widths in percent
	coveredNoise, covered, atMost float64 // shares
	endless                       float64 // share of the statements whose intervals have no upper end
}

const runs = 200

func (tab *table) ask(t *testing.T, rho float64) outcome {
	t.Helper()
	pico := int64(math.Round(rho * dp.PicoPerUnit))
	s := shares(t, dp.ZCDP, pico, tab.groups)
	choice, err := contribution.NewChoice(dp.ZCDP, s, contribution.Asked{Groups: tab.groups, Weight: 1, Grid: tab.read.grid})
	if err != nil {
		t.Fatal(err)
	}
	tail, err := contribution.NewTail(dp.ZCDP, s)
	if err != nil {
		t.Fatal(err)
	}
	src := rand.NewChaCha8([32]byte{7})
	r := rand.New(src)
	o := tab.others(rho)
	above := tab.read.units.Above(0, tab.read.grid.Len())
	for range runs {
		_, j, err := choice.Choose(src, above)
		if err != nil {
			t.Fatal(err)
		}
		sigma := tab.read.grid.Limit(j) / math.Sqrt(2*float64(s.Release)/dp.PicoPerUnit)
		units := tab.read.units.Tail([]contribution.Grid{tab.read.grid}, []int{j})
		excess := tail.Excess(tab.read.grid.Limit(j), tail.Release(src, units), 0.95, true)
		answers := make([]float64, tab.groups)
		for g := range answers {
			answers[g] = tab.at[j][g] + sigma*r.NormFloat64()
		}
		tab.judge(&o, answers, 1.959964*sigma, excess)
		o.above += tab.above[j] / runs
		if tab.above[j] <= excess.AtMost {
			o.atMost += 1. / runs
		}
	}
	o.auto = tab.percent(o.auto / runs)
	if o.endless < 1 {
		o.upper /= 1 - o.endless
	}
	return o
}

// judge adds one statement to an outcome.
func (tab *table) judge(o *outcome, answers []float64, noise float64, excess contribution.Excess) {
	o.auto += tab.bias(answers)
	if math.IsInf(excess.UpTo, 1) {
		o.endless += 1. / runs
	}
	upper := contribution.Spread(excess.UpTo, answers)
	if tab.groups == 1 || math.IsInf(excess.UpTo, 1) {
		upper = slices.Repeat([]float64{excess.UpTo}, tab.groups)
	}
	for g, a := range answers {
		part := 1 / float64(runs*tab.groups)
		if math.Abs(tab.truth[g]-a) <= noise {
			o.coveredNoise += part
		}
		if tab.truth[g] >= a-noise && tab.truth[g] <= a+noise+upper[g] {
			o.covered += part
		}
		o.noise += tab.percent(noise*noise*float64(tab.groups)) * part
		if !math.IsInf(upper[g], 1) {
			o.upper += tab.percent(upper[g]*upper[g]*float64(tab.groups)) * part
		}
	}
}

// others computes the errors of the limits 20 and 4 by hash, and of the best limit in hindsight.
func (tab *table) others(rho float64) outcome {
	groups := float64(tab.groups)
	noise := func(limit float64) float64 { return groups * limit * limit / (2 * rho) }
	best := math.Inf(1)
	for j := range tab.read.grid.Len() {
		best = math.Min(best, tab.bias(tab.at[j])+noise(tab.read.grid.Limit(j)))
	}
	fixed := tab.bias(tab.hashed) + noise(20*math.Sqrt(math.Min(4, groups)))
	return outcome{fixed: tab.percent(fixed), best: tab.percent(best)}
}

// TestStudy prints how limits do on tables that were not used to find their constants, and checks the share of intervals that contain the
// truth if the tail falls.
func TestStudy(t *testing.T) {
	needs.Asked(t, *study, "limits")
	fmt.Println("| table | groups | ρ | 20 rows in 4 groups | best limit | chosen | units above | noise | with limits " +
		"| holds: noise, both | no end | units at most |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	for _, l := range laws {
		tab := simulate(t, l)
		for _, rho := range []float64{0.0005, 0.005, 0.05} {
			o := tab.ask(t, rho)
			fmt.Printf("| %s | %d | %g | %.3g | %.3g | **%.3g** | %.0f | ±%.3g | +%.3g | %.0f, %.0f | %.0f | %.0f |\n",
				l.name, l.groups, rho, o.fixed, o.best, o.auto, o.above, o.noise, o.upper,
				100*o.coveredNoise, 100*o.covered, 100*o.endless, 100*o.atMost)
		}
	}
}
