package realized_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"dpproxy/accountant/papertest"
	"dpproxy/accountant/realized"
)

func filter(t testing.TB, epsilon, delta float64) *realized.Filter {
	t.Helper()
	f, err := realized.NewFilter(realized.Limit{
		EpsilonPico: int64(math.Round(epsilon * pico)), DeltaAtto: int64(math.Round(delta * 1e18)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func admits(t testing.TB, f *realized.Filter, a *realized.Account, base realized.Spent, asked []realized.Answer) bool {
	t.Helper()
	ok, err := f.Admits(a, base, asked)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

// A tree is all transcripts of objects that are offered the same questions.
type tree struct {
	account   *realized.Account
	questions int
	answers   func(question int) int
	admits    func(asked []realized.Answer) bool
	leaf      func(asked []realized.Answer)
}

// walk asks each question that is admitted, and goes on with each answer.
func (w tree) walk(asked []realized.Answer) {
	switch {
	case len(asked) == w.questions:
		w.leaf(asked)
	case !w.admits(asked):
		w.walk(append(asked, realized.Answer{Value: realized.Unasked}))
	default:
		for y := range w.answers(len(asked)) {
			w.walk(append(asked, realized.Answer{Value: y}))
		}
	}
}

// TestFilterTree walks all answers to responses of ε = 2 and 1 in turn, of which an object takes all that are
// admitted with ε_g = 4: no object ever loses more. By a twin that does not count the question itself,
// some do.
func TestFilterTree(t *testing.T) {
	for k, depth := range map[int]int{2: 14, 3: 8} {
		d := domain(t, realized.Column{Values: k})
		questions := make([]realized.Question, depth)
		for i := range questions {
			questions[i] = response(t, d, 0, float64(2-i%2))
		}
		a, f := account(t, d, questions...), filter(t, 4, 0)
		losses := func(admits func([]realized.Answer) bool) (most float64, leaves int) {
			tree{a, depth, func(int) int { return k }, admits, func(asked []realized.Answer) {
				sums := make([]float64, k)
				for i, y := range asked {
					if y.Value != realized.Unasked {
						sums[y.Value] += float64(2 - i%2)
					}
				}
				least, largest := sums[0], sums[0]
				for _, s := range sums {
					least, largest = min(least, s), max(largest, s)
				}
				most, leaves = max(most, largest-least), leaves+1
			}}.walk(nil)
			return most, leaves
		}
		most, leaves := losses(func(asked []realized.Answer) bool { return admits(t, f, a, realized.Spent{}, asked) })
		if most != 4 || leaves < 1000 {
			t.Errorf("k = %d: an object loses %v of 4, %d leaves", k, most, leaves)
		}
		most, _ = losses(func(asked []realized.Answer) bool {
			loss, err := a.Loss(asked)
			return err == nil && loss < 4*pico
		})
		if most <= 4 {
			t.Errorf("k = %d: by the twin an object loses %v", k, most)
		}
	}
}

// TestExpectedQueries follows the law of binary responses, until almost surely nothing is admitted.
func TestExpectedQueries(t *testing.T) {
	const most = 600
	for _, tt := range []struct {
		limit float64
		k     int64
	}{{1, 2}, {0.5, 4}, {4, 8}} {
		d := domain(t, realized.Column{Values: 2})
		questions := make([]realized.Question, most)
		for i := range questions {
			questions[i] = response(t, d, 0, tt.limit/float64(tt.k))
		}
		a, f := account(t, d, questions...), filter(t, tt.limit, 0)
		// All transcripts with as many ones are alike.
		mean, law := 0.0, map[int]float64{0: 1}
		truth := 1 / (1 + math.Exp(-tt.limit/float64(tt.k)))
		for n := 0; n < most && len(law) > 0; n++ {
			next := map[int]float64{}
			for ones, p := range law {
				if p > 1e-15 && admits(t, f, a, realized.Spent{}, transcript(append(repeat(1, ones), repeat(0, n-ones)...)...)) {
					mean += p
					next[ones+1] += p * truth
					next[ones] += p * (1 - truth)
				}
			}
			law = next
		}
		want, err := papertest.ExpectedQueries(tt.limit, tt.k)
		if err != nil || math.Abs(mean-want) > 1e-6*want {
			t.Errorf("limit %v, k = %d: %.10g questions, by the formula %.10g: %v", tt.limit, tt.k, mean, want, err)
		}
	}
}

// TestFullFilter looks at both answers: 1.6914 at most, where the sum of ε is 2.
func TestFullFilter(t *testing.T) {
	d := domain(t, number(-1, 1), realized.Column{Values: 3, Numbers: []float64{-1, 0, 1}})
	x := realized.ColumnOf(0)
	linear, square := score(t, d, x, -1, 1, 1), score(t, d, realized.Mul(x, x), 0, 1, 1)
	for _, tt := range []struct {
		limit float64
		want  bool
	}{{1.7, true}, {1.6914, true}, {1.69, false}} {
		if got := admits(t, filter(t, tt.limit, 0), account(t, d, linear, square), realized.Spent{}, transcript(1)); got != tt.want {
			t.Errorf("ε_g = %v: x² after x: %v", tt.limit, got)
		}
	}
	// Of values that may change it is the sum.
	a, err := realized.NewAccount(d, []realized.Question{linear, square}, realized.Sum)
	if err != nil || admits(t, filter(t, 1.7, 0), a, realized.Spent{}, transcript(1)) {
		t.Errorf("x² after x, where values may change, %v", err)
	}
	if loss, err := a.Loss(transcript(1, 0)); err != nil || loss != 2*pico {
		t.Errorf("the sum is %d, %v", loss, err)
	}
	// A closed epoch is added.
	base := realized.Spent{LossPico: 0.01 * pico}
	if admits(t, filter(t, 1.7, 0), account(t, d, linear, square), base, transcript(1)) {
		t.Error("x² after x and a closed epoch")
	}
	// Of three answers none is looked at: with ε = 1 the loss could not be above 1.7.
	three := response(t, d, 1, 1)
	about := score(t, d, realized.ColumnOf(1), -1, 1, 1)
	if admits(t, filter(t, 1.7, 0), account(t, d, about, three), realized.Spent{}, transcript(1)) {
		t.Error("a response beside a score about the same column, by more than the sum of ε")
	}
	if !admits(t, filter(t, 2, 0), account(t, d, about, three), realized.Spent{}, transcript(1)) {
		t.Error("no response beside a score about the same column, though the sum of ε suffices")
	}
}

// TestFilterWithDelta computes by how much the laws of all transcripts of two objects differ: by at most δ
// beyond exp(ε_g). By the filter of a larger δ they differ by more than the smaller one.
func TestFilterWithDelta(t *testing.T) {
	const epsilon, columns, asked = 0.25, 4, 12
	shape := make([]realized.Column, columns)
	for i := range shape {
		shape[i] = realized.Column{Values: 2}
	}
	d := domain(t, shape...)
	questions := make([]realized.Question, asked)
	for i := range questions {
		questions[i] = response(t, d, i%columns, epsilon)
	}
	truth := 1 / (1 + math.Exp(-epsilon))
	difference := func(f *realized.Filter, limit float64) (delta float64, most int) {
		a := account(t, d, questions...)
		tree{a, asked, func(int) int { return 2 }, func(s []realized.Answer) bool {
			return admits(t, f, a, realized.Spent{}, s)
		}, func(s []realized.Answer) {
			p, q, n := 1.0, 1.0, 0
			for _, y := range s {
				switch y.Value {
				case 0:
					p, q, n = p*truth, q*(1-truth), n+1
				case 1:
					p, q, n = p*(1-truth), q*truth, n+1
				}
			}
			delta, most = delta+max(0, p-math.Exp(limit)*q), max(most, n)
		}}.walk(nil)
		return delta, most
	}
	const limit = 0.75
	pure, few := difference(filter(t, limit, 0), limit)
	if pure > 1e-15 {
		t.Errorf("without δ the laws differ by %g", pure)
	}
	narrow, some := difference(filter(t, limit, 0.01), limit)
	if narrow > 0.01 || some < few {
		t.Errorf("δ = 0.01: the laws differ by %g, %d questions are asked", narrow, some)
	}
	wide, most := difference(filter(t, limit, 0.3), limit)
	if wide > 0.3 || wide < 0.01 || most <= few {
		t.Errorf("δ = 0.3: the laws differ by %g, %d questions are asked, %d without δ", wide, most, few)
	}
	t.Logf("differences %.3g, %.3g and %.3g; at most %d, %d and %d questions", pure, narrow, wide, few, some, most)
}

// TestManyTinyQuestions are about different columns, so that realized losses add up: here δ gains.
func TestManyTinyQuestions(t *testing.T) {
	const epsilon, most = 0.01, 1000
	shape := make([]realized.Column, most)
	for i := range shape {
		shape[i] = number(0, 1)
	}
	d := domain(t, shape...)
	questions := make([]realized.Question, most)
	for i := range questions {
		questions[i] = score(t, d, realized.ColumnOf(i), 0, 1, epsilon)
	}
	a := account(t, d, questions...)
	count := func(f *realized.Filter) (n int) {
		var asked []realized.Answer
		for ; len(asked) < most && admits(t, f, a, realized.Spent{}, asked); n++ {
			asked = append(asked, realized.Answer{Value: n % 2})
		}
		return n
	}
	if pure, approximate := count(filter(t, 1, 0)), count(filter(t, 1, 1e-9)); pure != 100 || approximate < 230 {
		t.Errorf("%d questions of ε = 0.01 at ε_g = 1, %d with δ", pure, approximate)
	}
}

func TestSpent(t *testing.T) {
	d := domain(t, realized.Column{Values: 2}, number(0, 1))
	a := account(t, d, response(t, d, 0, 0.5), response(t, d, 0, 0.5), score(t, d, realized.ColumnOf(1), 0, 1, 1))
	f := filter(t, 3, 1e-6)
	base := realized.Spent{LossPico: 1, RhoPico: 2}
	got, err := f.Spent(a, base, transcript(0, 1, realized.Unasked))
	if half := int64(122_459_331_202); err != nil || got.LossPico != 1 || got.RhoPico != 2+2*half {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = f.Spent(a, base, transcript(realized.Unasked, 0, 1))
	if err != nil || got.LossPico < 1.5*pico+1 || got.LossPico > 1.5*pico+1 {
		t.Errorf("%+v, %v", got, err)
	}
	for name, tt := range map[string]struct {
		f    *realized.Filter
		s    realized.Spent
		want int64
	}{
		"pure":      {filter(t, 3, 0), realized.Spent{LossPico: pico, RhoPico: 9 * pico}, 2 * pico},
		"used up":   {filter(t, 3, 0), realized.Spent{LossPico: 3*pico + 7}, 0},
		"by loss":   {f, realized.Spent{LossPico: pico, RhoPico: 9 * pico}, 2 * pico},
		"by rho":    {f, realized.Spent{LossPico: 3 * pico, RhoPico: 0}, 1},
		"exhausted": {f, realized.Spent{LossPico: 3 * pico, RhoPico: 9 * pico}, 0},
	} {
		got := tt.f.Remaining(tt.s)
		if name == "by rho" {
			// A question of that ε is admitted by its ρ, and one that is larger by a millionth is not.
			d := domain(t, realized.Column{Values: 2})
			for _, e := range []struct {
				by   float64
				want bool
			}{{1, true}, {1 + 1e-6, false}} {
				a := account(t, d, response(t, d, 0, e.by*float64(got)/pico))
				if admits(t, tt.f, a, tt.s, nil) != e.want {
					t.Errorf("%v times ε = %d after %+v", e.by, got, tt.s)
				}
			}
			continue
		}
		if got != tt.want {
			t.Errorf("%s: %d remain, want %d", name, got, tt.want)
		}
	}
}

func TestRefuses(t *testing.T) {
	d := domain(t, realized.Column{Values: 3}, number(-1, 1), realized.Column{Values: 2, Numbers: []float64{0, 1}})
	x, two := realized.ColumnOf(1), realized.Constant(2)
	about := score(t, d, x, -1, 1, 1)
	unary, err := d.Unary(0, pico)
	if err != nil {
		t.Fatal(err)
	}
	a := account(t, d, about, response(t, d, 0, 1), unary)
	bad := func(e realized.Expr, low, high, inexact float64, epsilon int64) error {
		_, err := d.Score(e, low, high, inexact, epsilon)
		return err
	}
	loss := func(answers ...realized.Answer) error { _, err := a.Loss(answers); return err }
	no := realized.Answer{Value: realized.Unasked}
	for name, err := range map[string]error{
		"no column":        second(realized.NewDomain()),
		"one category":     second(realized.NewDomain(realized.Column{Values: 1})),
		"no width":         second(realized.NewDomain(number(1, 1))),
		"infinite bounds":  second(realized.NewDomain(number(0, math.Inf(1)))),
		"too few numbers":  second(realized.NewDomain(realized.Column{Values: 3, Numbers: []float64{1}})),
		"no ε":             second(d.Response(0, 0)),
		"a huge ε":         second(d.Response(0, 101*pico)),
		"no category":      second(d.Response(1, pico)),
		"no such column":   second(d.Unary(3, pico)),
		"no score":         bad(realized.Expr{}, 0, 1, 0, pico),
		"no score inside":  bad(realized.Add(realized.Expr{}, x), 0, 1, 0, pico),
		"a constant":       bad(two, 0, 1, 0, pico),
		"no numbers":       bad(realized.ColumnOf(0), 0, 1, 0, pico),
		"inverted":         bad(x, 1, -1, 0, pico),
		"off by what":      bad(x, -1, 1, math.NaN(), pico),
		"other columns":    bad(realized.ColumnOf(7), 0, 1, 0, pico),
		"category":         loss(no, realized.Answer{Value: 3}),
		"bit":              loss(realized.Answer{Value: 2}),
		"no bits":          loss(no, no, realized.Answer{}),
		"bits beyond":      loss(no, no, realized.Answer{Bits: []byte{8}}),
		"too many answers": loss(no, no, no, no),
		"no question left": second(filter(t, 1, 0).Admits(a, realized.Spent{}, []realized.Answer{no, no, no})),
		"no limit":         second(realized.NewFilter(realized.Limit{})),
		"δ of 1":           second(realized.NewFilter(realized.Limit{EpsilonPico: 1, DeltaAtto: 1e18})),
		"another domain":   second(realized.NewAccount(domain(t, number(0, 1)), []realized.Question{about}, realized.Never)),
		"no question":      second(realized.NewAccount(d, []realized.Question{{}}, realized.Never)),
	} {
		if !errors.Is(err, realized.ErrParameter) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, e := range map[string]realized.Expr{
		"1/x":        realized.Div(two, x),
		"ln x":       realized.Ln(x),
		"√x":         realized.Sqrt(x),
		"exp(exp 9)": realized.Exp(realized.Exp(realized.Mul(realized.Constant(9), x))),
	} {
		if err := bad(e, 0, 1, 0, pico); !errors.Is(err, realized.ErrUnbounded) {
			t.Errorf("%s: %v", name, err)
		}
		if _, _, err := d.Range(e); !errors.Is(err, realized.ErrUnbounded) {
			t.Errorf("range of %s: %v", name, err)
		}
	}
	if got := about.Columns(); len(got) != 1 || got[0] != 1 || about.Kind() != realized.Score || about.EpsilonPico() != pico {
		t.Errorf("%v, %v, %v", got, about.Kind(), about.EpsilonPico())
	}
}

func second[T any](_ T, err error) error { return err }

// TestFilterTreeOfScores walks all bits about x, x² and a logistic score, and holds every end against a grid
// of objects. By a twin that looks at the answer 1 alone, some objects lose more.
func TestFilterTreeOfScores(t *testing.T) {
	const limit, depth = 1.5, 10
	d := domain(t, number(-1, 1))
	x := realized.ColumnOf(0)
	logistic := func(x float64) float64 { return 1 / (1 + math.Exp(-4*x)) }
	kinds := []struct {
		e   realized.Expr
		low float64
		at  func(x float64) float64
	}{
		{x, -1, func(x float64) float64 { return (1 + x) / 2 }},
		{realized.Mul(x, x), 0, func(x float64) float64 { return x * x }},
		{realized.Logistic(realized.Mul(realized.Constant(4), x)), 0, logistic},
	}
	questions := make([]realized.Question, depth)
	for i := range questions {
		questions[i] = score(t, d, kinds[i%3].e, kinds[i%3].low, 1, 0.5)
	}
	a, f := account(t, d, questions...), filter(t, limit, 0)
	loss := func(asked []realized.Answer) float64 {
		least, most := math.Inf(1), math.Inf(-1)
		for i := range 201 {
			l := 0.0
			for q, y := range asked {
				p := 1/(math.Exp(0.5)+1) + kinds[q%3].at(-1+float64(i)/100)*math.Tanh(0.25)
				switch y.Value {
				case 0:
					l += math.Log(1 - p)
				case 1:
					l += math.Log(p)
				}
			}
			least, most = min(least, l), max(most, l)
		}
		return most - least
	}
	worst := func(admits func([]realized.Answer) bool) (most float64, longest int) {
		tree{a, depth, func(int) int { return 2 }, admits, func(asked []realized.Answer) {
			most = max(most, loss(asked))
			n := 0
			for _, y := range asked {
				if y.Value != realized.Unasked {
					n++
				}
			}
			longest = max(longest, n)
		}}.walk(nil)
		return most, longest
	}
	most, longest := worst(func(asked []realized.Answer) bool { return admits(t, f, a, realized.Spent{}, asked) })
	if most > limit || most < limit-0.1 || longest <= 3 {
		t.Errorf("an object loses %v of %v, with %d answers at most", most, limit, longest)
	}
	twin, _ := worst(func(asked []realized.Answer) bool {
		return loss(append(slices.Clip(asked), realized.Answer{Value: 1})) <= limit
	})
	if twin <= limit {
		t.Errorf("by the twin an object loses %v", twin)
	}
}
