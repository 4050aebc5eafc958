package contribution_test

import (
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

// people are units, each of which adds the same to each of so many groups: of a count, or of a sum with a bound for one row.
type people struct {
	name    string
	adds    []float64 // to a group; some have nothing
	groups  int
	private bool // the keys have no list: the statement has half of its budget, and does not know how many groups there are
	row     float64
}

// equal returns units that all have the same.
func equal(units int, rows float64) (adds []float64) { return slices.Repeat([]float64{rows}, units) }

// skewed have as much on average, by a lognormal law with σ = 1.2.
func skewed(units int, rows float64) (adds []float64) {
	r := rand.New(rand.NewChaCha8([32]byte{byte(units), byte(rows)}))
	for range units {
		adds = append(adds, math.Ceil(rows*math.Exp(1.2*r.NormFloat64()-0.72)))
	}
	return adds
}

// beside adds units that add nothing.
func beside(adds []float64, nothing int) []float64 { return append(make([]float64, nothing), adds...) }

func (p people) norm(x float64) float64 { return x * math.Sqrt(float64(p.groups)) }

// answer returns the sum of a group if units are cut at a limit.
func (p people) answer(limit float64) (sum float64) {
	for _, x := range p.adds {
		if x > 0 {
			sum += x * math.Min(1, limit/p.norm(x))
		}
	}
	return sum
}

// pareto have as much on average, by a Pareto law with an exponent.
func pareto(units int, rows, exponent float64) (adds []float64) {
	r := rand.New(rand.NewChaCha8([32]byte{byte(units), byte(rows), 3}))
	for range units {
		adds = append(adds, math.Ceil(rows*(exponent-1)/exponent*math.Pow(r.Float64(), -1/exponent)))
	}
	return adds
}

// A way is how a statement is asked.
type way struct {
	name   string
	stated bool // the policy says how many units there are
	retry  bool
}

// A fate counts statements that were NULL, statements whose interval had no end, and, among the others, statements whose interval had the
// truth in it.
type fate struct {
	null, endless, held, asked float64
	square, half               float64 // of statements that were answered, relative to the truth
}

// cells returns the numbers of people at each level of a grid.
func (p people) cells(g contribution.Grid) (units contribution.Cells) {
	levels, squares := map[int]int64{}, g.Squares()
	for _, x := range p.adds {
		levels[unit{int64(math.Ceil(p.norm(x)))}.within(squares)-g.Below()]++
	}
	for l, n := range levels {
		units.Add([]int{l}, big.NewInt(n), nil)
	}
	return units
}

// chooses chooses one of the limits of a division.
func chooses(t *testing.T, s contribution.Shares, asked contribution.Asked) contribution.Choice {
	t.Helper()
	choice, err := contribution.NewChoice(dp.ZCDP, s, asked)
	if err != nil {
		t.Fatal(err)
	}
	return choice
}

// ask draws statements at ε = 0.1.
func (p people) ask(t *testing.T, w way, statements int) fate {
	t.Helper()
	pico, coordinates := int64(5*dp.PicoPerUnit/1000), p.groups
	if p.private {
		pico, coordinates = pico/2, 64
	}
	how, stated := contribution.Chosen, int64(0)
	if w.retry {
		how = contribution.ChosenAgain
	}
	if w.stated {
		stated = int64(len(p.adds))
	}
	s, err := contribution.Divide(dp.ZCDP, pico, coordinates, how)
	if err != nil {
		t.Fatal(err)
	}
	g := grid(t, 1<<contribution.CountBits)
	if p.row > 0 {
		g = g.From(int64(p.row / 32))
	}
	asked := contribution.Asked{Groups: coordinates, Weight: 1, Grid: g, Row: p.row, Units: stated}
	choice := chooses(t, s, asked)
	again := choice
	if w.retry {
		wider := s
		wider.Choice = s.Again
		again = chooses(t, wider, asked)
	}
	tail, err := contribution.NewTail(dp.ZCDP, s)
	if err != nil {
		t.Fatal(err)
	}
	units := p.cells(g)
	seed := [32]byte{byte(p.groups)}
	copy(seed[1:], p.name+w.name)
	src := rand.NewChaCha8(seed)
	r, above := rand.New(src), units.Above(0, g.Len())
	truth, f := p.answer(math.Inf(1)), fate{}
	for range statements {
		_, j, err := choice.Choose(src, above)
		if err != nil {
			t.Fatal(err)
		}
		b := tail.Release(src, units.Tail([]contribution.Grid{g}, []int{j}))
		if w.retry && tail.Loses(b, 0.95) {
			if j, err = again.ChooseAgain(src, j, tail.Surely(b), above); err != nil {
				t.Fatal(err)
			}
			b = tail.Release(src, units.Tail([]contribution.Grid{g}, []int{j}))
		}
		sigma := g.Limit(j) / math.Sqrt(2*float64(s.Release)/dp.PicoPerUnit)
		e := tail.Excess(g.Limit(j), b, 0.95, true)
		answer, up := p.answer(g.Limit(j))+sigma*r.NormFloat64(), e.UpTo/math.Sqrt(float64(p.groups))
		f.asked++
		switch {
		case tail.Loses(b, 0.95):
			f.null++
			continue
		case math.IsInf(up, 1):
			f.endless++
		case truth >= answer-1.96*sigma && truth <= answer+1.96*sigma+up:
			f.held++
		}
		f.square += (answer/truth - 1) * (answer/truth - 1)
		f.half += 1.96 * sigma / truth
	}
	return f
}

// holds reports whether no more than 5 % of the statements have an interval with an end that misses the truth, by three standard
// deviations.
func (f fate) holds() bool {
	missed := f.asked - f.null - f.endless - f.held
	return missed <= 0.05*f.asked+3*math.Sqrt(0.05*0.95*f.asked)
}

func (f fate) String() string {
	answered := f.asked - f.null
	percent := func(x, of float64) float64 { return 100 * x / math.Max(of, 1) }
	if answered < 1 {
		return "100 % | | | |"
	}
	return fmt.Sprintf("%.0f %% | %.3g %% | ± %.3g %% | %.0f of %.0f | %.0f", percent(f.null, f.asked), 100*math.Sqrt(f.square/answered),
		100*f.half/answered, f.held, answered-f.endless, f.endless)
}

var ways = []way{{name: "nothing"}, {name: "`units`", stated: true}, {name: "`dp.limit_retry`", retry: true}}

// fewPeople add to a sum of values up to 20,000, among others that have nothing.
func fewPeople() (all []people) {
	for _, n := range []int{20, 45, 100, 200} {
		for _, x := range []float64{18_000, 2000, 60_000} {
			all = append(all, people{fmt.Sprintf("%d of 30,000 with %g", n, x), beside(equal(n, x), 30_000-n), 1, false, 20_000})
		}
	}
	return all
}

// populations are the populations of the documents.
func populations() (all []people) {
	for _, units := range []int{50, 200, 1000, 5000} {
		for _, rows := range []float64{1, 20, 200, 5000} {
			for _, groups := range []int{1, 2} {
				name := fmt.Sprintf("%d with %g", units, rows)
				all = append(all, people{name + " each", equal(units, rows), groups, groups > 1, 0},
					people{name + " on average", skewed(units, rows), groups, groups > 1, 0})
			}
		}
	}
	return all
}

// trials are populations of many sizes and laws. All populations of a size are looked at together.
func trials(units int) (all []people) {
	for _, groups := range []int{1, 2} {
		for _, rows := range []float64{2, 20, 200} {
			for law, adds := range map[string][]float64{
				"each": equal(units, rows), "lognormal": skewed(units, rows), "Pareto": pareto(units, rows, 2.5),
			} {
				all = append(all, people{fmt.Sprintf("%d with %g %s", units, rows, law), adds, groups, groups > 1, 0})
			}
		}
	}
	return append(all,
		people{fmt.Sprintf("%d of 30,000 with 18000", units), beside(equal(units, 18_000), 30_000), 1, false, 20_000},
		people{fmt.Sprintf("%d of 30,000 with 60000", units), beside(equal(units, 60_000), 30_000), 1, false, 20_000})
}

// TestIntervalsWithAnEnd holds that intervals with an end have the truth in them as often as they say. If too few people are near a limit
// to show what is above it, an interval that has an end by chance would be a false one.
func TestIntervalsWithAnEnd(t *testing.T) {
	statements, asked := 10, ways[:1]
	if *study {
		statements, asked = runs, ways
	}
	for _, units := range []int{5, 20, 50, 200, 1000, 5000} {
		var ends, held float64
		for _, p := range trials(units) {
			for _, w := range asked {
				f := p.ask(t, w, statements)
				ends, held = ends+f.asked-f.null-f.endless, held+f.held
				if missed := f.asked - f.null - f.endless - f.held; *study && beyond(missed, f.asked-f.null-f.endless) {
					t.Errorf("%s, %d groups, %s: %v", p.name, p.groups, w.name, f)
				}
			}
		}
		if t.Logf("%d people: %.0f of %.0f", units, held, ends); beyond(ends-held, ends) {
			t.Errorf("%d people: %.0f of %.0f intervals with an end held", units, held, ends)
		}
	}
}

// beyond reports whether more intervals missed the truth than they say, by four standard deviations and one interval.
func beyond(missed, of float64) bool { return missed > 0.05*of+4*math.Sqrt(0.05*0.95*of)+1 }

// TestStudyOfPeople prints the fates of counts and sums of few people.
func TestStudyOfPeople(t *testing.T) {
	needs.Asked(t, *study, "limits")
	fmt.Println("| people | groups | known | NULL | error | noise | held | no end |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- | --- |")
	for _, p := range slices.Concat(populations(), fewPeople()) {
		for _, w := range ways {
			f := p.ask(t, w, runs)
			fmt.Printf("| %s | %d | %s | %v |\n", p.name, p.groups, w.name, f)
		}
	}
}

// TestFewPeople holds that an answer of few people is within its stated error, or NULL, or has an interval without an end.
func TestFewPeople(t *testing.T) {
	const statements = 20
	for _, p := range slices.Concat(populations(), fewPeople()) {
		for _, w := range ways {
			if f := p.ask(t, w, statements); !f.holds() {
				t.Errorf("%s, %d groups, %s: %v", p.name, p.groups, w.name, f)
			}
		}
	}
}
