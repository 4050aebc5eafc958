package realized_test

import (
	"math"
	"testing"

	"dpproxy/accountant/realized"
)

const pico = 1e12

// number is a column with bounds.
func number(low, high float64) realized.Column { return realized.Column{Low: low, High: high} }

func domain(t testing.TB, columns ...realized.Column) *realized.Domain {
	t.Helper()
	d, err := realized.NewDomain(columns...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// score is a question about a score, exactly drawn.
func score(t testing.TB, d *realized.Domain, e realized.Expr, low, high, epsilon float64) realized.Question {
	t.Helper()
	q, err := d.Score(e, low, high, 0, int64(math.Round(epsilon*pico)))
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// response is a question by randomised response.
func response(t testing.TB, d *realized.Domain, column int, epsilon float64) realized.Question {
	t.Helper()
	q, err := d.Response(column, int64(math.Round(epsilon*pico)))
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func account(t testing.TB, d *realized.Domain, questions ...realized.Question) *realized.Account {
	t.Helper()
	a, err := realized.NewAccount(d, questions, realized.Never)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// transcript is a list of answers that are single values.
func transcript(values ...int) []realized.Answer {
	t := make([]realized.Answer, len(values))
	for i, v := range values {
		t[i].Value = v
	}
	return t
}

func bounds(t testing.TB, a *realized.Account, values ...int) (lower, upper float64) {
	t.Helper()
	lower, upper, err := a.Bounds(transcript(values...))
	if err != nil {
		t.Fatal(err)
	}
	loss, err := a.Loss(transcript(values...))
	if err != nil || float64(loss) < upper*pico*(1-1e-12) || float64(loss) > upper*pico+1001 {
		t.Errorf("a loss of %d·10⁻¹² with the bounds %v and %v: %v", loss, lower, upper, err)
	}
	return lower, upper
}

// repeat is n times a value.
func repeat(value, n int) []int {
	values := make([]int, n)
	for i := range values {
		values[i] = value
	}
	return values
}

// TestKnownLosses has losses that were computed by other means.
func TestKnownLosses(t *testing.T) {
	unit, symmetric := number(0, 1), number(-1, 1)
	x := realized.ColumnOf(0)
	y := realized.ColumnOf(1)
	plane := func(e realized.Expr) realized.Expr { return realized.Mul(realized.Constant(0.5), e) }
	type asked struct {
		score     realized.Expr
		low, high float64
	}
	mean := []asked{{x, -1, 1}, {realized.Mul(x, x), 0, 1}}
	for name, tt := range map[string]struct {
		columns []realized.Column
		asked   []asked
		epsilon float64
		answers []int
		want    float64
	}{
		"balanced":    {[]realized.Column{unit}, []asked{{x, 0, 1}}, 0.2, append(repeat(1, 5), repeat(0, 5)...), 0.0499168882},
		"8 of 10":     {[]realized.Column{unit}, []asked{{x, 0, 1}}, 0.2, append(repeat(1, 8), repeat(0, 2)...), 1.2},
		"30 of 50":    {[]realized.Column{unit}, []asked{{x, 0, 1}}, 0.1, append(repeat(1, 30), repeat(0, 20)...), 1},
		"one":         {[]realized.Column{unit}, []asked{{x, 0, 1}}, 3, []int{1}, 3},
		"zeros":       {[]realized.Column{unit}, []asked{{x, 0, 1}}, 0.5, repeat(0, 7), 3.5},
		"square 1, 1": {[]realized.Column{symmetric}, mean, 1, []int{1, 1}, 1.4137899611994187},
		"square 0, 1": {[]realized.Column{symmetric}, mean, 1, []int{0, 1}, 1.4137899611994187},
		"square 1, 0": {[]realized.Column{symmetric}, mean, 1, []int{1, 0}, 1.6913756621},
		"plane": {
			[]realized.Column{symmetric, symmetric},
			[]asked{{plane(realized.Add(x, y)), -1, 1}, {plane(realized.Sub(x, y)), -1, 1}},
			1,
			[]int{1, 1},
			1.0358633715,
		},
		"logistic 1":    {[]realized.Column{number(-3, 3)}, []asked{{realized.Logistic(x), 0, 1}}, 1, []int{1}, 0.8912219169},
		"logistic 1, 0": {[]realized.Column{number(-3, 3)}, []asked{{realized.Logistic(x), 0, 1}}, 1, []int{1, 0}, 0.1923257781},
		"logistic 1, 1": {[]realized.Column{number(-3, 3)}, []asked{{realized.Logistic(x), 0, 1}}, 1, []int{1, 1}, 1.7824438337},
		"clamped": {
			[]realized.Column{symmetric},
			[]asked{{realized.Greatest(realized.Least(realized.Add(x, x), realized.Constant(1)), realized.Constant(-1)), -1, 1}},
			1,
			[]int{1, 0},
			0.2402290139,
		},
		"clamped by its bounds": {[]realized.Column{symmetric}, []asked{{realized.Add(x, x), -1, 1}}, 1, []int{1, 0}, 0.2402290139},
	} {
		t.Run(name, func(t *testing.T) {
			d := domain(t, tt.columns...)
			var questions []realized.Question
			for i := range tt.answers {
				s := tt.asked[i%len(tt.asked)]
				questions = append(questions, score(t, d, s.score, s.low, s.high, tt.epsilon))
			}
			within := 2e-9
			if len(tt.columns) > 1 {
				within = 2e-5
			}
			lower, upper := bounds(t, account(t, d, questions...), tt.answers...)
			if upper < tt.want*(1-1e-9) || lower > tt.want*(1+1e-9) || upper-lower > within {
				t.Errorf("from %.12g to %.12g, want %.12g", lower, upper, tt.want)
			}
		})
	}
}

// TestRunningExample asks four times about one of eleven numbers.
func TestRunningExample(t *testing.T) {
	eleven := make([]float64, 11)
	for i := range eleven {
		eleven[i] = float64(i)
	}
	d := domain(t, realized.Column{Values: 11, Numbers: eleven})
	var questions []realized.Question
	for i := range 4 {
		tenth := realized.Div(realized.ColumnOf(0), realized.Constant(10))
		questions = append(questions, score(t, d, realized.Power(tenth, i+1), 0, 1, math.Log(1.5)))
	}
	a := account(t, d, questions...)
	for i, want := range []float64{1.5, 1.1458333333333333, 1.5, 2.25} {
		lower, upper := bounds(t, a, []int{1, 0, 1, 1}[:i+1]...)
		if math.Abs(math.Exp(upper)-want) > 1e-10 || math.Abs(math.Exp(lower)-want) > 1e-10 {
			t.Errorf("after %d answers: from %.14g to %.14g, want %.14g", i+1, math.Exp(lower), math.Exp(upper), want)
		}
	}
}

// regressions are the four of [Pan 2023, Section 6.5].
func regressions(t testing.TB) (*realized.Domain, []realized.Question) {
	t.Helper()
	const age, sex, pressure, bmi = 0, 1, 2, 3
	d := domain(t, number(10, 100), number(0, 1), number(50, 200), number(10, 50))
	linear := func(constant float64, by map[int]float64) realized.Expr {
		e := realized.Constant(constant)
		for column := range 4 {
			if by[column] != 0 {
				e = realized.Add(e, realized.Mul(realized.Constant(by[column]), realized.ColumnOf(column)))
			}
		}
		return e
	}
	sigmoid := func(e realized.Expr) realized.Expr { // as an analyst writes it
		one := realized.Constant(1)
		return realized.Div(one, realized.Add(one, realized.Exp(realized.Neg(e))))
	}
	return d, []realized.Question{
		score(t, d, sigmoid(linear(6.177, map[int]float64{age: -.059, sex: -1.456, pressure: -.0134})), 0, 1, 1),
		score(t, d, sigmoid(linear(-7.989, map[int]float64{age: .0761, sex: .0952, bmi: .0163})), 0, 1, 1),
		score(t, d, linear(12.323, map[int]float64{age: .0855, sex: .4617, pressure: -.07}), 0, 12, 1),
		score(t, d, sigmoid(linear(-5.07, map[int]float64{age: .0491, pressure: -.0091, bmi: .1039})), 0, 1, 1),
	}
}

// TestRegressions has the 16 outcomes, heart, stroke, sleep, diabetes: both ends within 10⁻³.
func TestRegressions(t *testing.T) {
	d, questions := regressions(t)
	a := account(t, d, questions...)
	for outcome, want := range []float64{
		2.3558, 2.2931, 1.7008, 2.5766, 2.5612, 3.0310, 2.3493, 3.6040,
		3.3581, 2.1481, 2.6218, 2.0921, 2.2327, 1.5858, 1.8047, 2.3828,
	} {
		answers := []int{outcome >> 3 & 1, outcome >> 2 & 1, outcome >> 1 & 1, outcome & 1}
		lower, upper := bounds(t, a, answers...)
		if math.Abs(lower-want) > 1e-3 || math.Abs(upper-want) > 1e-3 || upper-lower > 1e-3 {
			t.Errorf("%04b: from %.6f to %.6f, want %.4f", outcome, lower, upper, want)
		}
	}
}
