package realized_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dpproxy/accountant/realized"
	"dpproxy/internal/stattest"
)

// A world is a random domain with questions, and the law of each answer by plain arithmetic.
type world struct {
	domain    *realized.Domain
	questions []realized.Question
	law       []func(x []float64, y realized.Answer) float64 // ln P
	points    [][]float64
	cusp      bool // some score is infinitely steep, so that bounds are sound, and not close
}

// A plain is a score, and its value of an object.
type plain struct {
	e    realized.Expr
	at   func(x []float64) float64
	cusp bool
}

// leaf returns a score about one or two columns, by a random choice.
func leaf(rng *rand.Rand) plain {
	a, b := rng.IntN(2), rng.IntN(2)
	u, v, w := math.Round(20*rng.NormFloat64())/10, math.Round(20*rng.NormFloat64())/10, math.Round(10*rng.NormFloat64())/10
	e := realized.Add(realized.Mul(realized.Constant(u), realized.ColumnOf(a)), realized.Constant(w))
	e = realized.Sub(e, realized.Div(realized.ColumnOf(b), realized.Constant(4)))
	e = realized.Add(e, realized.Mul(realized.ColumnOf(2), realized.Constant(v)))
	return plain{e, func(x []float64) float64 { return u*x[a] + w - x[b]/4 + v*x[2] }, false}
}

// composed returns a score of a leaf or two.
func composed(rng *rand.Rand) plain {
	f, g := leaf(rng), leaf(rng)
	one := realized.Constant(1)
	switch rng.IntN(11) {
	case 0:
		return plain{realized.Logistic(f.e), func(x []float64) float64 { return 1 / (1 + math.Exp(-f.at(x))) }, false}
	case 1:
		return plain{realized.Mul(f.e, g.e), func(x []float64) float64 { return f.at(x) * g.at(x) }, false}
	case 2:
		return plain{realized.Power(f.e, 3), func(x []float64) float64 { return math.Pow(f.at(x), 3) }, false}
	case 3:
		return plain{realized.Least(f.e, g.e), func(x []float64) float64 { return min(f.at(x), g.at(x)) }, false}
	case 4:
		return plain{realized.Greatest(f.e, realized.Abs(g.e)), func(x []float64) float64 { return max(f.at(x), math.Abs(g.at(x))) }, false}
	case 5:
		return plain{realized.Exp(f.e), func(x []float64) float64 { return math.Exp(f.at(x)) }, false}
	case 6:
		e := realized.Ln(realized.Add(one, realized.Mul(f.e, f.e)))
		return plain{e, func(x []float64) float64 { return math.Log(1 + f.at(x)*f.at(x)) }, false}
	case 7:
		return plain{realized.Sqrt(realized.Abs(f.e)), func(x []float64) float64 { return math.Sqrt(math.Abs(f.at(x))) }, true}
	case 8:
		e := realized.Div(f.e, realized.Add(one, realized.Exp(g.e)))
		return plain{e, func(x []float64) float64 { return f.at(x) / (1 + math.Exp(g.at(x))) }, false}
	}
	return f
}

// newWorld has two numbers, a category that is a number and one that is none.
func newWorld(t *testing.T, rng *rand.Rand) *world {
	t.Helper()
	numbers := []float64{0, 1.5, -1}
	w := &world{domain: domain(t, number(-1, 1), number(0, 2), realized.Column{Values: 3, Numbers: numbers}, realized.Column{Values: 9})}
	const steps = 24
	for i := range steps + 1 {
		for j := range steps + 1 {
			for k := range 27 {
				x, y := -1+2*float64(i)/steps, 2*float64(j)/steps
				w.points = append(w.points, []float64{x, y, numbers[k%3], float64(k / 3), float64(k % 3)})
			}
		}
	}
	for range 1 + rng.IntN(5) {
		w.ask(t, rng)
	}
	return w
}

// ask adds a question.
func (w *world) ask(t *testing.T, rng *rand.Rand) {
	t.Helper()
	epsilon := float64(1+rng.IntN(20)) / 10
	column := 2 + rng.IntN(2) // of which the values are at 4 and 3
	var q realized.Question
	var err error
	switch rng.IntN(6) {
	case 0:
		q = response(t, w.domain, column, epsilon)
		w.law = append(w.law, func(x []float64, y realized.Answer) float64 {
			if float64(y.Value) == x[6-column] {
				return epsilon
			}
			return 0
		})
	case 1:
		if q, err = w.domain.Unary(column, int64(math.Round(epsilon*pico))); err != nil {
			t.Fatal(err)
		}
		w.law = append(w.law, func(x []float64, y realized.Answer) float64 {
			own := int(x[6-column])
			lie := 1 / (math.Exp(epsilon) + 1)
			sum := -math.Log(2)
			for v := range []int{3, 9}[column-2] {
				if bit := y.Bits[v/8] >> (v % 8) & 1; v != own && bit == 1 {
					sum += math.Log(lie)
				} else if v != own {
					sum += math.Log(1 - lie)
				}
			}
			return sum
		})
	default:
		f := composed(rng)
		w.cusp = w.cusp || f.cusp
		low, high, err := w.domain.Range(f.e)
		if err != nil {
			t.Fatal(err)
		}
		w.inside(t, f, low, high)
		if rng.IntN(3) == 0 { // values beyond the bounds are moved to them
			low, high = low+(high-low)/4, high-(high-low)/8
		}
		q = score(t, w.domain, f.e, low, high, epsilon)
		w.law = append(w.law, func(x []float64, y realized.Answer) float64 {
			share := min(max((f.at(x)-low)/(high-low), 0), 1)
			one := 1/(math.Exp(epsilon)+1) + share*math.Tanh(epsilon/2)
			if y.Value == 0 {
				return math.Log(1 - one)
			}
			return math.Log(one)
		})
	}
	w.questions = append(w.questions, q)
}

// inside holds the range of a score against its values.
func (w *world) inside(t *testing.T, f plain, low, high float64) {
	t.Helper()
	least, most := math.Inf(1), math.Inf(-1)
	for _, x := range w.points {
		least, most = min(least, f.at(x)), max(most, f.at(x))
	}
	if least < low || most > high || most-least < 0.7*(high-low) {
		t.Errorf("the range is %v to %v, values are from %v to %v", low, high, least, most)
	}
}

// answer returns any answer to a question.
func answer(rng *rand.Rand, q realized.Question) realized.Answer {
	values := []int{3, 9}
	switch q.Kind() {
	case realized.Response:
		return realized.Answer{Value: rng.IntN(values[q.Columns()[0]-2])}
	case realized.Unary:
		n := values[q.Columns()[0]-2]
		bits := rng.IntN(1 << n)
		return realized.Answer{Bits: []byte{byte(bits), byte(bits >> 8)}[:(n+7)/8]}
	case realized.Score:
	}
	return realized.Answer{Value: rng.IntN(2)}
}

// TestRandomQuestions holds bounds against all points of a grid, whose loss is below the true one; and
// against another order of the same questions, another grouping, and the sum of ε.
func TestRandomQuestions(t *testing.T) {
	rng := rand.New(stattest.Source(t))
	for range 15 {
		w := newWorld(t, rng)
		asked, sum := make([]realized.Answer, len(w.questions)), 0.0
		for i, q := range w.questions {
			asked[i] = answer(rng, q)
			sum += float64(q.EpsilonPico()) / pico
		}
		a := account(t, w.domain, w.questions...)
		lower, upper, err := a.Bounds(asked)
		if err != nil {
			t.Fatal(err)
		}
		least, most := math.Inf(1), math.Inf(-1)
		for _, x := range w.points {
			l := 0.0
			for i, law := range w.law {
				l += law(x, asked[i])
			}
			least, most = min(least, l), max(most, l)
		}
		grid := most - least
		if upper < grid-1e-12 || lower > upper || !w.cusp && (upper-lower > 2e-3 || lower > grid+0.4) {
			t.Errorf("from %v to %v, on a grid %v", lower, upper, grid)
		}
		if upper > sum*(1+1e-12) {
			t.Errorf("a loss of %v, where the sum of ε is %v", upper, sum)
		}
		order := rng.Perm(len(asked))
		questions, moved := slices.Clone(w.questions), slices.Clone(asked)
		for i, j := range order {
			questions[i], moved[i] = w.questions[j], asked[j]
		}
		if _, again, err := account(t, w.domain, questions...).Bounds(moved); err != nil || !w.cusp && math.Abs(again-upper) > 2e-3 {
			t.Errorf("a loss of %v, of %v in the order %v: %v", upper, again, order, err)
		}
	}
}

// TestInexact asks about a score that is drawn with an error: all laws that may have been drawn are within
// the loss.
func TestInexact(t *testing.T) {
	d := domain(t, number(0, 1))
	const epsilon, off = 2, 1e-3
	q, err := d.Score(realized.ColumnOf(0), 0, 1, off, epsilon*pico)
	if err != nil {
		t.Fatal(err)
	}
	_, upper := bounds(t, account(t, d, q, q, q), 1, 0, 1)
	exactly := score(t, d, realized.ColumnOf(0), 0, 1, epsilon)
	_, exact := bounds(t, account(t, d, exactly, exactly, exactly), 1, 0, 1)
	worst := 0.0
	at := func(share float64) float64 {
		p := 1/(math.Exp(epsilon)+1) + min(max(share, 0), 1)*math.Tanh(epsilon/2.0)
		return 2*math.Log(p) + math.Log(1-p)
	}
	for i := range 1001 {
		for j := range 1001 {
			worst = max(worst, at(float64(i)/1000+off)-at(float64(j)/1000-off))
		}
	}
	if upper < worst || upper < exact || upper > exact+0.05 {
		t.Errorf("a loss of %v, exactly drawn %v, in the worst case %v", upper, exact, worst)
	}
}

// TestMemory has more transcripts than are remembered at a time in none of its maps, and the same losses.
func TestMemory(t *testing.T) {
	d := domain(t, number(0, 1))
	var questions []realized.Question
	for i := range 12 {
		questions = append(questions, score(t, d, realized.ColumnOf(0), 0, 1, 0.1*float64(1+i%3)))
	}
	a := account(t, d, questions...)
	for n := range 1 << 13 { // more sets of questions than are remembered
		values := make([]int, 12)
		for i := range values {
			if values[i] = realized.Unasked; n>>i&1 == 1 {
				values[i] = i % 2
			}
		}
		first, err := a.Loss(transcript(values...))
		if err != nil {
			t.Fatal(err)
		}
		if n%512 != 511 {
			continue
		}
		if again, err := account(t, d, questions...).Loss(transcript(values...)); err != nil || again != first {
			t.Errorf("%v: %d, remembered %d: %v", values, again, first, err)
		}
	}
}

// BenchmarkAdmits is one object of many that share 1,024 transcripts.
func BenchmarkAdmits(b *testing.B) {
	d := domain(b, number(0, 1), number(0, 1))
	var questions []realized.Question
	for i := range 11 {
		e := realized.Logistic(realized.Sub(realized.ColumnOf(0), realized.Mul(realized.ColumnOf(1), realized.Constant(float64(i)))))
		questions = append(questions, score(b, d, e, 0, 1, 0.5))
	}
	a, f := account(b, d, questions...), filter(b, 4, 0)
	asked := make([]realized.Answer, 10)
	n := 0
	for b.Loop() {
		n++
		for i := range asked {
			asked[i].Value = n >> i & 1
		}
		if _, err := f.Admits(a, realized.Spent{}, asked); err != nil {
			b.Fatal(err)
		}
	}
}

// TestCancellation asks about x + e³⁰ˣ − e³⁰ˣ, which doubles cannot tell from x alone but within a thousandth: the
// loss has room for it. x + eˣ − eˣ needs none.
func TestCancellation(t *testing.T) {
	d := domain(t, number(0, 1))
	x := realized.ColumnOf(0)
	loss := func(factor float64) float64 {
		large := realized.Exp(realized.Mul(realized.Constant(factor), x))
		q := score(t, d, realized.Add(x, realized.Sub(large, large)), 0, 1, 1)
		_, upper := bounds(t, account(t, d, q, q), 1, 0)
		return upper
	}
	if some, more := loss(1), loss(30); some > 0.2403 || more < some+0.01 || more > 2*(1+1e-12) {
		t.Errorf("losses %v and %v", some, more)
	}
}
