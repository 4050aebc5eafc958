package population_test

import (
	"errors"
	"math"
	"testing"

	"dpproxy/accountant/realized"
	"dpproxy/estimate/population"
)

// An asker makes a question.
type asker func(d *realized.Domain) (realized.Question, error)

// one is a population with one question, whose answers are counted.
func one(t *testing.T, column realized.Column, ask asker, counts ...int64) *population.Population {
	t.Helper()
	d, err := realized.NewDomain(column)
	q, err2 := ask(must(t, d, err))
	p, err := population.New(d, []realized.Question{must(t, q, err2)}, realized.Never)
	must(t, p, err)
	for y, n := range counts {
		if err := p.Add([]realized.Answer{{Value: y}}, n); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func near(got, want, tolerance float64) bool { return math.Abs(got-want) <= tolerance }

// TestOneQuestion has the likelihood in closed form: with r the share of an answer, which is affine in h·π,
// c·ln r + (n−c)·ln(1−r).
func TestOneQuestion(t *testing.T) {
	const e = 1.0
	own := math.Exp(e) / (math.Exp(e) + 1)
	x := realized.ColumnOf(0)
	for _, tt := range []struct{ zeros, ones int64 }{{500, 500}, {700, 300}, {740, 260}, {800, 200}, {3, 5}, {0, 9}} {
		c, n := float64(tt.ones), float64(tt.zeros+tt.ones)
		likelihood := func(share float64) float64 {
			r := 1 - own + share*(2*own-1)
			return c*math.Log(r) + (n-c)*math.Log(1-r)
		}
		best := min(max((c/n-(1-own))/(2*own-1), 0), 1)
		end := func(to float64) float64 {
			in, out := best, to
			for range 60 {
				if mid := (in + out) / 2; likelihood(best)-likelihood(mid) <= 1.959964*1.959964/2 {
					in = mid
				} else {
					out = mid
				}
			}
			return in
		}
		share := one(t, realized.Column{Values: 2}, func(d *realized.Domain) (realized.Question, error) { return d.Response(0, pico) },
			tt.zeros, tt.ones)
		histogram, err := share.Histogram(0, 0.95)
		must(t, histogram, err)
		number := one(t, realized.Column{Low: 0, High: 1}, func(d *realized.Domain) (realized.Question, error) {
			return d.Score(x, 0, 1, 0, pico)
		}, tt.zeros, tt.ones)
		m, err := number.Mean(x, 0.95)
		must(t, m, err)
		for name, got := range map[string]population.Estimate{"share": histogram[1], "mean": m} {
			low, high := end(0), end(1)
			if !near(got.Value, best, 1e-3) || !near(got.Low, low, 2e-3) || !near(got.High, high, 2e-3) ||
				got.Low > low+1e-9 || got.High < high-1e-9 {
				t.Errorf("%s, %d and %d: %+v, want %v from %v to %v", name, tt.zeros, tt.ones, got, best, low, high)
			}
		}
		if whole := histogram[0].Value + histogram[1].Value; !near(whole, 1, 1e-9) {
			t.Errorf("shares of %v", whole)
		}
	}
}

// TestUntold asks for the mean of a square of which answers about the number tell bounds alone.
func TestUntold(t *testing.T) {
	x := realized.ColumnOf(0)
	p := one(t, realized.Column{Low: 0, High: 1}, func(d *realized.Domain) (realized.Question, error) {
		return d.Score(x, 0, 1, 0, 3*pico)
	}, 500_000, 500_000)
	e, err := p.Mean(realized.Mul(x, x), 0.95)
	if err != nil || !near(e.Low, .25, .01) || !near(e.High, .5, .01) {
		t.Errorf("the mean of the square, of the mean ½: %+v, %v", e, err)
	}
}

// TestVeryManyTranscripts has more than are fitted: shares come from counts.
func TestVeryManyTranscripts(t *testing.T) {
	const k, n = 300, 4000
	d, err := realized.NewDomain(realized.Column{Values: k})
	q, err2 := must(t, d, err).Unary(0, 2*pico)
	p, err := population.New(d, []realized.Question{must(t, q, err2)}, realized.Never)
	must(t, p, err)
	s := survey{columns: []realized.Column{{Values: k}}}
	rng, answer := newRand(t), s.respondent(t, q)
	for i := range n {
		if err := p.Add([]realized.Answer{answer(rng, []float64{float64(i % 2 * 7)})}, 1); err != nil {
			t.Fatal(err)
		}
	}
	shares, err := p.Histogram(0, 0.999999)
	must(t, shares, err)
	sum, square := 0.0, 0.0
	for v, e := range shares {
		want := 0.0
		if v == 0 || v == 7 {
			want = .5
		}
		if e.Low > want || e.High < want || e.High-e.Low > .2 || e.Partial || e.Value < e.Low || e.Value > e.High {
			t.Errorf("category %d: %+v, want %v", v, e, want)
		}
		sum, square = sum+e.Value, square+(e.Value-want)*(e.Value-want)
	}
	// Each count alone has a standard error of 0.0135: with 298 shares of 0 cut there, they sum to about 2.6.
	if !near(sum, 1, 1e-9) || square > k*.0135*.0135/4 {
		t.Errorf("shares sum to %v, and are %v from the truth, squared", sum, square)
	}
}

// TestRefusalsByMany has questions about more columns than a grid has room for: the estimate says so.
func TestRefusalsByMany(t *testing.T) {
	var columns []realized.Column
	for range 10 {
		columns = append(columns, realized.Column{Values: 4})
	}
	d, err := realized.NewDomain(columns...)
	must(t, d, err)
	var questions []realized.Question
	var answers []realized.Answer
	for c := range columns {
		q, err := d.Response(c, pico)
		questions, answers = append(questions, must(t, q, err)), append(answers, realized.Answer{Value: c % 4})
	}
	for mode, want := range map[realized.Mode]bool{realized.Never: true, realized.Sum: false} {
		p, err := population.New(d, questions, mode)
		must(t, p, err)
		for n := range answers {
			if err := p.Add(answers[:n+1], 10); err != nil {
				t.Fatal(err)
			}
		}
		shares, err := p.Histogram(5, 0.95)
		if err != nil || shares[1].Value < .9 || shares[1].Partial != want {
			t.Errorf("%+v, %v", shares, err)
		}
		// All objects answered about the first column: nothing else matters.
		if shares, err = p.Histogram(0, 0.95); err != nil || shares[0].Partial {
			t.Errorf("%+v, %v", shares, err)
		}
	}
}

func TestRefuses(t *testing.T) {
	x, y, c := realized.ColumnOf(0), realized.ColumnOf(1), realized.ColumnOf(2)
	d, err := realized.NewDomain(realized.Column{Low: 0, High: 1}, realized.Column{Low: 0, High: 1},
		realized.Column{Values: 2, Numbers: []float64{0, 1}})
	must(t, d, err)
	q, err := d.Score(x, 0, 1, 0, pico)
	must(t, q, err)
	p, err := population.New(d, []realized.Question{q}, realized.Never)
	must(t, p, err)
	estimate := func(e realized.Expr, confidence float64) error { _, err := p.Mean(e, confidence); return err }
	histogram := func(column int) error { _, err := p.Histogram(column, 0.95); return err }
	if err := estimate(x, 0.95); !errors.Is(err, population.ErrNoAnswers) {
		t.Errorf("without objects: %v", err)
	}
	if err := p.Add(nil, 3); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ err, want error }{
		"another column":       {estimate(y, 0.95), population.ErrNoAnswers},
		"with another column":  {estimate(realized.Add(x, y), 0.95), population.ErrNoAnswers},
		"category not asked":   {histogram(2), population.ErrNoAnswers},
		"no category":          {histogram(0), realized.ErrParameter},
		"no such column":       {histogram(3), realized.ErrParameter},
		"certainty":            {estimate(x, 1), realized.ErrParameter},
		"no number everywhere": {estimate(realized.Div(x, c), 0.95), realized.ErrUnbounded},
		"too many answers":     {p.Add(make([]realized.Answer, 2), 1), realized.ErrParameter},
		"fewer than none":      {p.Add(nil, -1), realized.ErrParameter},
	} {
		if !errors.Is(tt.err, tt.want) {
			t.Errorf("%s: %v", name, tt.err)
		}
	}
	if e, err := p.Mean(x, 0.95); err != nil || !near(e.Low, 0, 1e-9) || !near(e.High, 1, 1e-9) {
		t.Errorf("of objects that were not asked: %+v, %v", e, err)
	}
}

// BenchmarkAdd adds one object of many, with ten bits and a response.
func BenchmarkAdd(b *testing.B) {
	d, err := realized.NewDomain(realized.Column{Low: 0, High: 1}, realized.Column{Values: 5})
	must(b, d, err)
	q, err := d.Response(1, pico)
	questions := []realized.Question{must(b, q, err)}
	for range 10 {
		q, err := d.Score(realized.ColumnOf(0), 0, 1, 0, pico)
		questions = append(questions, must(b, q, err))
	}
	p, err := population.New(d, questions, realized.Never)
	must(b, p, err)
	answers := make([]realized.Answer, 11)
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n++
		answers[0].Value = n % 5
		for i := range 10 {
			answers[i+1].Value = n >> i & 1
		}
		if err := p.Add(answers, 1); err != nil {
			b.Fatal(err)
		}
	}
}
