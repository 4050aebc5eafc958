package realized

import (
	"math"
	"testing"
)

// TestWithoutWork bounds losses with as few boxes as an account has that has used up its work: the bounds
// are loose, and hold.
func TestWithoutWork(t *testing.T) {
	d, err := NewDomain(Column{Low: -1, High: 1}, Column{Low: -1, High: 1}, Column{Low: -1, High: 1})
	if err != nil {
		t.Fatal(err)
	}
	const asked = 20
	var questions []Question
	var weights [asked][3]float64
	answers := make([]Answer, asked)
	for i := range asked {
		e := Constant(0)
		for c := range 3 {
			weights[i][c] = 6 * math.Sin(float64(7*i+3*c+1))
			e = Add(e, Mul(Constant(weights[i][c]), ColumnOf(c)))
		}
		q, err := d.Score(Logistic(e), 0, 1, 0, picoPerUnit/2)
		if err != nil {
			t.Fatal(err)
		}
		questions = append(questions, q)
		answers[i].Value = i % 2
	}
	least, most := math.Inf(1), math.Inf(-1)
	const steps = 20
	for n := range (steps + 1) * (steps + 1) * (steps + 1) {
		l := 0.0
		for i, w := range weights {
			z := 0.0
			for c, left := 0, n; c < 3; c, left = c+1, left/(steps+1) {
				z += w[c] * (2*float64(left%(steps+1))/steps - 1)
			}
			p := 1/(math.Exp(0.5)+1) + logistic(z)*math.Tanh(0.25)
			if answers[i].Value == 0 {
				p = 1 - p
			}
			l += math.Log(p)
		}
		least, most = min(least, l), max(most, l)
	}
	for _, work := range []int{0, maxWork} {
		a, err := NewAccount(d, questions, Never)
		if err != nil {
			t.Fatal(err)
		}
		a.work = work
		lower, upper, err := a.Bounds(answers)
		if err != nil || upper < most-least || lower > upper || upper > asked/2*(1+1e-9) {
			t.Errorf("work %d: from %v to %v, on a grid %v, %v", work, lower, upper, most-least, err)
		}
		if work > 0 && (upper > most-least+0.3 || a.work == maxWork) {
			t.Errorf("from %v to %v, on a grid %v; %d boxes", lower, upper, most-least, maxWork-a.work)
		}
		t.Logf("work %d: from %.4f to %.4f, on a grid %.4f", work, lower, upper, most-least)
	}
}
