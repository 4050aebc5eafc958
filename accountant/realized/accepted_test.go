package realized_test

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"dpproxy/accountant/realized"
	"dpproxy/internal/stattest"
)

// runs is how many objects the counts of admitted questions are of: make local has 200.
var runs = flag.Int("runs", 24, "how many objects are asked until they are not")

// TestAcceptedQuestions asks an object, x = 0 in [−1, 1]⁹, about random affine scores whose coefficients have
// the sum 1 of absolutes, with ε = 0.1 each and ε_g = 1, until a question is refused. By composition it
// answers 10; with maxima and minima of groups of ten, as in [Pan 2023, Section 6.3], 47.
func TestAcceptedQuestions(t *testing.T) {
	const columns, epsilon, limit, most = 9, 0.1, 1, 600
	box := make([]realized.Column, columns)
	for i := range box {
		box[i] = number(-1, 1)
	}
	d := domain(t, box...)
	rng := rand.New(stattest.Source(t))
	begin := time.Now()
	var simplified, full []int
	for range *runs {
		questions, at := make([]realized.Question, most), make([]float64, most)
		for i := range questions {
			var e realized.Expr
			e, at[i] = affineScore(rng, columns)
			questions[i] = score(t, d, e, -1, 1, epsilon)
		}
		a, f := account(t, d, questions...), filter(t, limit, 0)
		var asked []realized.Answer
		accepted := 0
		for len(asked) < most && admits(t, f, a, realized.Spent{}, asked) {
			loss, err := a.Loss(asked)
			if err != nil {
				t.Fatal(err)
			}
			if accepted == 0 && loss+epsilon*pico > limit*pico {
				accepted = len(asked)
			}
			one := 1/(math.Exp(epsilon)+1) + (at[len(asked)]+1)/2*math.Tanh(epsilon/2)
			answer := realized.Answer{}
			if rng.Float64() < one {
				answer.Value = 1
			}
			asked = append(asked, answer)
		}
		if accepted == 0 {
			accepted = len(asked)
		}
		simplified, full = append(simplified, accepted), append(full, len(asked))
	}
	for name, c := range map[string]struct {
		counts      []int
		least, most int // of the median of 200 objects, about four standard errors around 101 and 118
	}{"simplified": {simplified, 85, 120}, "full": {full, 100, 138}} {
		counts := c.counts
		slices.Sort(counts)
		n := len(counts)
		t.Logf("%s filter: median %d, from %d (10 %%) to %d (90 %%) of %d objects, %v", name,
			counts[n/2], counts[n/10], counts[n*9/10], n, time.Since(begin).Round(time.Millisecond))
		if counts[0] < 10 || counts[n/2] < 55 || counts[n/8] > 190 || n >= 200 && (counts[n/2] < c.least || counts[n/2] > c.most) {
			t.Errorf("%s filter: %v", name, counts)
		}
	}
}

// affineScore returns a score, and its value at 0.
func affineScore(rng *rand.Rand, columns int) (e realized.Expr, atZero float64) {
	coefficients, norm := make([]float64, columns+1), 0.0
	for i := range coefficients {
		coefficients[i] = 2*rng.Float64() - 1
		norm += math.Abs(coefficients[i])
	}
	atZero = coefficients[columns] / norm
	e = realized.Constant(atZero)
	for i, c := range coefficients[:columns] {
		e = realized.Add(e, realized.Mul(realized.Constant(c/norm), realized.ColumnOf(i)))
	}
	return e, atZero
}
