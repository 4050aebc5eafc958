package population_test

import (
	"flag"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"dpproxy/accountant/realized"
	"dpproxy/estimate/population"
	"dpproxy/internal/stattest"
	"dpproxy/mechanisms"
)

// populations is how many are simulated of each kind: make local has 1,000.
var populations = flag.Int("populations", 0, "simulate so many populations, and print how often intervals hold the truth")

const pico = 1e12

// A survey is a kind of population, and questions that its objects are asked.
type survey struct {
	columns   []realized.Column
	questions func(t testing.TB, d *realized.Domain) []realized.Question
	draw      func(rng *rand.Rand) []float64 // an object
	objects   int
	limit     float64
	targets   []target
}

// A target is a share or a mean, its value in the population, and the estimate from those alone who
// answered the last question about it.
type target struct {
	name  string
	truth float64
	from  func(t testing.TB, p *population.Population) population.Estimate
	naive func(t testing.TB, transcripts [][]realized.Answer) float64
}

// shares returns the estimates of a histogram, which is made once for all of them.
func shares(column int) func(value int) func(testing.TB, *population.Population) population.Estimate {
	var last *population.Population
	var all []population.Estimate
	return func(value int) func(testing.TB, *population.Population) population.Estimate {
		return func(t testing.TB, p *population.Population) population.Estimate {
			t.Helper()
			if last != p {
				h, err := p.Histogram(column, 0.95)
				last, all = p, must(t, h, err)
			}
			return all[value]
		}
	}
}

func mean(e realized.Expr) func(testing.TB, *population.Population) population.Estimate {
	return func(t testing.TB, p *population.Population) population.Estimate {
		t.Helper()
		estimate, err := p.Mean(e, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		return estimate
	}
}

// lastBits is the mean from the bits of the last question, of those who were asked.
func lastBits(question int, epsilon, low, high float64) func(testing.TB, [][]realized.Answer) float64 {
	return func(_ testing.TB, transcripts [][]realized.Answer) float64 {
		ones, n := 0.0, 0.0
		for _, answers := range transcripts {
			if y := answers[question].Value; y != realized.Unasked {
				ones, n = ones+float64(y), n+1
			}
		}
		return low + (high-low)*((math.Exp(epsilon)+1)*ones/n-1)/(math.Exp(epsilon)-1)
	}
}

// lastResponses is the share from the responses to a question, with ε = 1, of those who were asked.
func lastResponses(question int, k int64, value int) func(testing.TB, [][]realized.Answer) float64 {
	return func(t testing.TB, transcripts [][]realized.Answer) float64 {
		t.Helper()
		m, err := mechanisms.NewRandomizedResponse(k, pico)
		if err != nil {
			t.Fatal(err)
		}
		count, n := int64(0), int64(0)
		for _, answers := range transcripts {
			if y := answers[question].Value; y != realized.Unasked {
				if n++; y == value {
					count++
				}
			}
		}
		s, _, err := m.Frequency(count, n)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// newRand returns the source of a test.
func newRand(t testing.TB) *rand.Rand { return rand.New(stattest.Source(t)) }

func must[T any](t testing.TB, x T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// repeated is the same question several times.
func repeated(n int, ask func() (realized.Question, error)) func(testing.TB, *realized.Domain) []realized.Question {
	return func(t testing.TB, _ *realized.Domain) []realized.Question {
		t.Helper()
		questions := make([]realized.Question, n)
		for i := range questions {
			q, err := ask()
			questions[i] = must(t, q, err)
		}
		return questions
	}
}

// category draws one by shares.
func category(rng *rand.Rand, shares ...float64) float64 {
	u := rng.Float64()
	for x, s := range shares {
		if u -= s; u < 0 {
			return float64(x)
		}
	}
	return float64(len(shares) - 1)
}

// drawn is an object with a category.
func drawn(shares ...float64) func(*rand.Rand) []float64 {
	return func(rng *rand.Rand) []float64 { return []float64{category(rng, shares...)} }
}

func surveys() map[string]survey {
	x := realized.ColumnOf(0)
	share := shares(0)
	return map[string]survey{
		"three categories, four responses": {
			columns: []realized.Column{{Values: 3}},
			questions: func(t testing.TB, d *realized.Domain) []realized.Question {
				return repeated(4, func() (realized.Question, error) { return d.Response(0, pico) })(t, d)
			},
			draw:    drawn(.6, .3, .1),
			objects: 1000, limit: 2,
			targets: []target{
				{"share of the first", .6, share(0), lastResponses(3, 3, 0)},
				{"share of the last", .1, share(2), lastResponses(3, 3, 2)},
			},
		},
		"a rare category": {
			columns: []realized.Column{{Values: 2}},
			questions: func(t testing.TB, d *realized.Domain) []realized.Question {
				return repeated(1, func() (realized.Question, error) { return d.Response(0, pico) })(t, d)
			},
			draw:    drawn(.99, .01),
			objects: 500, limit: 4,
			targets: []target{{"share of the rare", .01, share(1), lastResponses(0, 2, 1)}},
		},
		"twelve categories, unary encoding": {
			columns: []realized.Column{{Values: 12}},
			questions: func(t testing.TB, d *realized.Domain) []realized.Question {
				return repeated(2, func() (realized.Question, error) { return d.Unary(0, pico) })(t, d)
			},
			draw:    drawn(.3, .2, .1, .1, .1, .05, .05, .04, .03, .02, .01, 0),
			objects: 1000, limit: 1.5,
			targets: []target{{"share of the first", .3, share(0), nil}, {"share of none", 0, share(11), nil}},
		},
		"a number, twenty bits": {
			columns: []realized.Column{{Low: 0, High: 1}},
			questions: func(t testing.TB, d *realized.Domain) []realized.Question {
				return repeated(20, func() (realized.Question, error) { return d.Score(x, 0, 1, 0, pico) })(t, d)
			},
			draw: func(rng *rand.Rand) []float64 {
				return []float64{[]float64{1, .9, .2}[int(category(rng, .6, .21, .19))]}
			},
			objects: 1000, limit: 4,
			targets: []target{{"mean", .6 + .21*.9 + .19*.2, mean(x), lastBits(19, 1, 0, 1)}},
		},
		"a number, one bit": {
			columns: []realized.Column{{Low: 10, High: 50}},
			questions: func(t testing.TB, d *realized.Domain) []realized.Question {
				return repeated(1, func() (realized.Question, error) { return d.Score(x, 10, 50, 0, pico) })(t, d)
			},
			draw:    func(rng *rand.Rand) []float64 { return []float64{10 + 40*rng.Float64()*rng.Float64()} },
			objects: 1000, limit: 1,
			targets: []target{{"mean", 20, mean(x), lastBits(0, 1, 10, 50)}},
		},
		"refused by another column": {
			columns: []realized.Column{{Low: 0, High: 1}, {Values: 2}},
			questions: func(t testing.TB, d *realized.Domain) []realized.Question {
				bits := repeated(6, func() (realized.Question, error) { return d.Score(x, 0, 1, 0, pico) })(t, d)
				q, err := d.Response(1, pico)
				return append(bits, must(t, q, err))
			},
			draw: func(rng *rand.Rand) []float64 {
				if rng.Float64() < .5 {
					return []float64{1, category(rng, .2, .8)}
				}
				return []float64{.5, category(rng, .8, .2)}
			},
			objects: 2000, limit: 4,
			targets: []target{{"share", .5, shares(1)(1), lastResponses(6, 2, 1)}},
		},
	}
}

// answers asks an object all that it is admitted to.
func (s survey) answers(t testing.TB, rng *rand.Rand, f *realized.Filter, a *realized.Account, all []respondent) []realized.Answer {
	t.Helper()
	x := s.draw(rng)
	var asked []realized.Answer
	for _, answer := range all {
		ok, err := f.Admits(a, realized.Spent{}, asked)
		if err != nil {
			t.Fatal(err)
		}
		y := realized.Answer{Value: realized.Unasked}
		if ok {
			y = answer(rng, x)
		}
		asked = append(asked, y)
	}
	return asked
}

// A respondent draws the answer to one question of an object.
type respondent func(rng *rand.Rand, x []float64) realized.Answer

// respondent returns the mechanism of a question.
func (s survey) respondent(t testing.TB, q realized.Question) respondent {
	t.Helper()
	column := q.Columns()[0]
	c := s.columns[column]
	k, e := int64(c.Values), q.EpsilonPico()
	category := func(x []float64) mechanisms.Private { return mechanisms.Protect(big.NewInt(int64(x[column]))) }
	switch q.Kind() {
	case realized.Response:
		m, err := mechanisms.NewRandomizedResponse(k, e)
		must(t, m, err)
		return func(rng *rand.Rand, x []float64) realized.Answer {
			return realized.Answer{Value: int(m.Respond(rng, category(x)).Int().Int64())}
		}
	case realized.Unary:
		m, err := mechanisms.NewUnaryEncoding(k, e)
		must(t, m, err)
		return func(rng *rand.Rand, x []float64) realized.Answer {
			y, bits := m.Respond(rng, category(x)).Int(), make([]byte, (k+7)/8)
			for v := range int(k) {
				bits[v/8] |= byte(y.Bit(v)) << (v % 8)
			}
			return realized.Answer{Bits: bits}
		}
	case realized.Score:
	}
	const lattice = 1 << 32
	m, err := mechanisms.NewBoundedMean(0, lattice, e)
	must(t, m, err)
	return func(rng *rand.Rand, x []float64) realized.Answer {
		v := big.NewInt(int64(math.Round((x[column] - c.Low) / (c.High - c.Low) * lattice)))
		return realized.Answer{Value: int(m.Respond(rng, mechanisms.Protect(v)).Int().Int64())}
	}
}

// TestCoverage simulates populations: intervals at 95 % hold the truth so often, refusals or not. Beside
// stands the bias of an estimate from the last answers alone.
func TestCoverage(t *testing.T) {
	for name, s := range surveys() {
		t.Run(name, func(t *testing.T) {
			rng := newRand(t)
			d, err := realized.NewDomain(s.columns...)
			questions := s.questions(t, must(t, d, err))
			a, err := realized.NewAccount(d, questions, realized.Never)
			must(t, a, err)
			f, err := realized.NewFilter(realized.Limit{EpsilonPico: int64(s.limit * pico)})
			must(t, f, err)
			var respondents []respondent
			for _, q := range questions {
				respondents = append(respondents, s.respondent(t, q))
			}
			rounds, begin := *populations, time.Now()
			if rounds == 0 {
				rounds = 6
			}
			covered, width := make([]int, len(s.targets)), make([]float64, len(s.targets))
			bias, naive := make([]float64, len(s.targets)), make([]float64, len(s.targets))
			for range rounds {
				p, err := population.New(d, questions, realized.Never)
				must(t, p, err)
				var all [][]realized.Answer
				for range s.objects {
					y := s.answers(t, rng, f, a, respondents)
					all = append(all, y)
					if err := p.Add(y, 1); err != nil {
						t.Fatal(err)
					}
				}
				for i, target := range s.targets {
					e := target.from(t, p)
					if e.Low <= target.truth+1e-9 && target.truth <= e.High+1e-9 {
						covered[i]++
					}
					if e.Value < e.Low || e.Value > e.High || e.Partial {
						t.Errorf("%s: %+v", target.name, e)
					}
					width[i] += (e.High - e.Low) / float64(rounds)
					bias[i] += (e.Value - target.truth) / float64(rounds)
					if target.naive != nil {
						naive[i] += (target.naive(t, all) - target.truth) / float64(rounds)
					}
				}
			}
			for i, target := range s.targets {
				alone := ""
				if target.naive != nil {
					alone = fmt.Sprintf(" (from the last answers alone %.4f)", naive[i])
				}
				t.Logf("%s: covered %d of %d; bias %.4f%s; mean width %.4f; %v",
					target.name, covered[i], rounds, bias[i], alone, width[i], time.Since(begin).Round(time.Millisecond))
				// So few have a probability below 10⁻⁷ where 95 % is true.
				if (distuv.Binomial{N: float64(rounds), P: 0.95}).CDF(float64(covered[i])) < 1e-7 {
					t.Errorf("%s: %d of %d intervals hold the truth", target.name, covered[i], rounds)
				}
			}
		})
	}
}
