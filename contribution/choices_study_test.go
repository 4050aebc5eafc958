package contribution_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dpproxy/contribution"
	"dpproxy/dp"
	"dpproxy/internal/needs"
	"dpproxy/mechanisms"
)

// A worth draws the value of a row, in buckets, for a unit with so many rows and a level of its own.
type worth struct {
	name string
	draw func(r *rand.Rand, rows, level float64) float64
}

const studyBuckets = 2048

// worths are values of a skewed column, within bounds that are far beyond most of them.
var worths = []worth{
	{"of rows", func(r *rand.Rand, _, _ float64) float64 { return 40 * math.Exp(1.2*r.NormFloat64()) }},
	{"of units", func(r *rand.Rand, _, level float64) float64 { return 40 * math.Exp(0.5*r.NormFloat64()+1.1*level) }},
	{"more of those with many", func(r *rand.Rand, rows, _ float64) float64 {
		return 40 * math.Pow(rows, 0.3) * math.Exp(r.NormFloat64())
	}},
	{"less of those with many", func(r *rand.Rand, rows, _ float64) float64 {
		return 80 * math.Pow(rows, -0.3) * math.Exp(r.NormFloat64())
	}},
}

// A cloud has the weighted rows of a simulated table in each bucket, by the limit of their units.
type cloud struct {
	units float64
	grid  contribution.Grid
	above []float64   // units
	rows  [][]float64 // without a limit in the last place
}

func newCloud(t *testing.T, units int, rows func(*rand.Rand) int64, w worth) *cloud {
	t.Helper()
	r := rand.New(rand.NewChaCha8([32]byte{9}))
	c := &cloud{units: float64(units), grid: grid(t, 1<<contribution.CountBits)}
	levels := c.grid.Len()
	c.above = make([]float64, levels)
	for range levels + 1 {
		c.rows = append(c.rows, make([]float64, studyBuckets))
	}
	for range units {
		n, level := float64(min(rows(r), 20_000)), r.NormFloat64()
		own := map[int]float64{}
		for range int(n) {
			own[max(0, min(studyBuckets-1, int(w.draw(r, n, level))))]++
		}
		for j := range levels + 1 {
			weight := 1.
			if j < levels {
				weight = math.Min(1, c.grid.Limit(j)/n)
				if weight < 1 {
					c.above[j]++
				}
			}
			for b, k := range own {
				c.rows[j][b] += weight * k
			}
		}
	}
	return c
}

// normalised returns the law of a choice, whose probabilities are proportional to the exponentials of scores.
func normalised(scores []float64) []float64 {
	most, sum := slices.Max(scores), 0.
	for i, s := range scores {
		scores[i] = math.Exp(s - most)
		sum += scores[i]
	}
	for i := range scores {
		scores[i] /= sum
	}
	return scores
}

// limits returns the law of the limit at a weight of noise.
func (c *cloud) limits(t *testing.T, s contribution.Shares, weight float64) []float64 {
	t.Helper()
	choice, err := contribution.NewChoice(dp.ZCDP, s, contribution.Asked{Groups: 1, Weight: weight, Grid: c.grid})
	if err != nil {
		t.Fatal(err)
	}
	rate := float64(mechanisms.BoundedRangeFor(s.Choice)) / dp.PicoPerUnit
	scores := make([]float64, len(c.above))
	for j, m := range c.above {
		scores[j] = -rate * (m + float64(choice.Penalty())*float64(j))
	}
	return normalised(scores)
}

// quantile returns the mean error of a fraction at a limit: of its rank, as a part of all rows, and of the value, as a part of the true
// value.
func (c *cloud) quantile(j int, s contribution.Shares, q float64) (rank, value float64) {
	rate := float64(mechanisms.BoundedRangeFor(s.Release/10*9)) / dp.PicoPerUnit / (2 * c.grid.Limit(j) * math.Max(q, 1-q))
	truth := c.rows[len(c.rows)-1]
	at := ranks(truth)
	all := at[studyBuckets]
	right := slices.IndexFunc(at[1:], func(x float64) bool { return x >= q*all })
	scores := make([]float64, studyBuckets)
	weighted := ranks(c.rows[j])
	total := weighted[studyBuckets]
	for b := range scores {
		scores[b] = -rate * math.Max(0, math.Max(weighted[b]-q*total, q*total-weighted[b+1]))
	}
	for b, p := range normalised(scores) {
		rank += p * math.Max(0, math.Max(at[b]-q*all, q*all-at[b+1])) / all
		value += p * math.Abs(float64(b-right)) / (float64(right) + 0.5)
	}
	return rank, value
}

// ranks has the rows below each boundary.
func ranks(rows []float64) []float64 {
	below := []float64{0}
	for _, n := range rows {
		below = append(below, below[len(below)-1]+n)
	}
	return below
}

// mode returns the mean number of rows that a mode of coarse values misses, as a part of the most frequent.
func (c *cloud) mode(j int, s contribution.Shares) float64 {
	rate := float64(mechanisms.BoundedRangeFor(s.Release/10*9)) / dp.PicoPerUnit / c.grid.Limit(j)
	fold := func(rows []float64) []float64 {
		out := make([]float64, 12)
		for b, n := range rows {
			out[b*7%12] += n
		}
		return out
	}
	truth, scores := fold(c.rows[len(c.rows)-1]), fold(c.rows[j])
	for i := range scores {
		scores[i] *= rate
	}
	missed, most := 0., slices.Max(truth)
	for i, p := range normalised(scores) {
		missed += p * (most - truth[i]) / most
	}
	return missed
}

// spreads has how many rows units have.
var spreads = []func(*rand.Rand) int64{
	geometric(3), geometric(10), poisson(4), humps(0.02, 200),
	func(r *rand.Rand) int64 { return 1 + int64(math.Exp(r.NormFloat64()+1)) },
	func(r *rand.Rand) int64 { return 1 + int64(math.Exp(1.6*r.NormFloat64()+1)) },
	func(r *rand.Rand) int64 { return int64(math.Pow(1-r.Float64(), -1/1.5)) },
}

// weights are the compared weights of noise. The last column is for a limit that 5 % of units are above, and that is not chosen.
var weights = []float64{1, 5, 10, 20, 40, 60, 80, 160, 200}

// TestStudyOfChoices prints by how much percentiles and modes at a weight of noise are worse than at the best weight, or with a known
// limit, for each table: the geometric mean, and the worst table.
func TestStudyOfChoices(t *testing.T) {
	needs.Asked(t, *study, "limits")
	regret := map[string][][]float64{}
	for _, units := range []int{300, 1000, 5000, 50_000} {
		for _, rows := range spreads {
			for _, w := range worths {
				c := newCloud(t, units, rows, w)
				for _, rho := range []float64{0.0005, 0.005, 0.05} {
					c.compare(t, rho, regret)
				}
			}
		}
	}
	fmt.Println("| errors at weights", weights, "and at a known limit |")
	for _, name := range slices.Sorted(maps.Keys(regret)) {
		fmt.Printf("| %s |", name)
		for i := range len(weights) + 1 {
			mean, worst := 0., 0.
			for _, e := range regret[name] {
				ratio := (e[i] + 1e-4) / (slices.Min(e[:len(weights)]) + 1e-4)
				mean += math.Log(ratio) / float64(len(regret[name]))
				worst = math.Max(worst, ratio)
			}
			fmt.Printf(" %.2f, %.1f |", math.Exp(mean), worst)
		}
		fmt.Println()
	}
}

// compare adds the mean errors of one table at one price.
func (c *cloud) compare(t *testing.T, rho float64, regret map[string][][]float64) {
	t.Helper()
	s, err := contribution.Divide(dp.ZCDP, int64(rho*dp.PicoPerUnit), 1, contribution.Chosen)
	if err != nil {
		t.Fatal(err)
	}
	known := s
	known.Release += known.Choice
	fixed := 0
	for c.above[fixed] > c.units/20 {
		fixed++
	}
	levels := len(c.above)
	note := func(name string, of []float64, fixed float64) {
		var out []float64
		for _, w := range weights {
			e := 0.
			for j, p := range c.limits(t, s, w) {
				e += p * of[j]
			}
			out = append(out, e)
		}
		regret[name] = append(regret[name], append(out, fixed))
	}
	for _, q := range []float64{0.25, 0.5, 0.9, 0.95, 0.99} {
		rank, value := make([]float64, levels), make([]float64, levels)
		for j := range levels {
			rank[j], value[j] = c.quantile(j, s, q)
		}
		knownRank, knownValue := c.quantile(fixed, known, q)
		note(fmt.Sprintf("p%.0f rank", 100*q), rank, knownRank)
		note(fmt.Sprintf("p%.0f value", 100*q), value, knownValue)
	}
	missed := make([]float64, levels)
	for j := range levels {
		missed[j] = c.mode(j, s)
	}
	note("mode", missed, c.mode(fixed, known))
}
