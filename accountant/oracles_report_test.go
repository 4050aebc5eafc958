package accountant_test

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"dpproxy/accountant/papertest"
	"dpproxy/accountant/pld"
	"dpproxy/accountant/realized"
	"dpproxy/dp"
)

// Sensitivities, reports and the local model.
func init() {
	register(map[string]func(inputs) any{
		"sens_count_sum_groupby": sensitivities,
		"sens_replace":           replaceOne,

		"brownian_linear_boundary": func(in inputs) any {
			v := decode[struct{ T, L2, Delta, A float64 }](in)
			return boundary(in, papertest.Boundary{L2: v.L2, Delta: v.Delta, Slope: v.A}, v.T)
		},
		"brownian_mixture_boundary": func(in inputs) any {
			v := decode[struct{ T, L2, Delta, Tuning float64 }](in)
			return boundary(in, papertest.Boundary{L2: v.L2, Delta: v.Delta, Tuning: v.Tuning}, v.T)
		},
		"brownian_linear_opt_at_t": func(in inputs) any {
			v := decode[struct{ T, L2, Delta float64 }](in)
			slope := papertest.BestSlope(v.T, v.Delta)
			at := boundary(in, papertest.Boundary{L2: v.L2, Delta: v.Delta, Slope: slope}, v.T)
			return []any{slope, at, simpleEpsilon(v.L2*v.L2/(2*v.T), v.Delta)}
		},
		"laplace_1000fold": func(in inputs) any {
			v := decode[fold](in)
			scale := new(big.Rat).Quo(big.NewRat(fine, 1), decimal(v.Eps))
			return v.report(in, dp.LaplaceEvent{Sensitivity: dp.Sensitivity{L0: 1, LInf: fine}, Scale: scale})
		},
		"gauss_1000fold": func(in inputs) any {
			v := decode[fold](in)
			sigma, err := papertest.GaussianSigma(1, v.Eps, v.Delta)
			if err != nil {
				in.t.Fatal(err)
			}
			variance, _ := big.NewFloat(math.Ceil(sigma * fine * sigma * fine)).Int(nil)
			return v.report(in, dp.GaussianEvent{Sensitivity: dp.Sensitivity{L0: 1, LInf: fine}, Variance: variance})
		},

		"pan_krr_realized":    responses,
		"pan_onebit_state":    bits,
		"pan_appendixA":       meanAndSquare,
		"pan_running_example": runningExample,
		"pan_expected_queries": func(in inputs) any {
			v := decode[struct {
				Limit float64 `json:"eps_g"`
				K     int64
			}](in)
			n, err := papertest.ExpectedQueries(v.Limit, v.K)
			return orFail(in, n, err)
		},
	})
}

func boundary(in inputs, b papertest.Boundary, t float64) any {
	in.t.Helper()
	epsilon, err := b.At(t)
	return orFail(in, epsilon, err)
}

// A fold is the composition of n equal releases.
type fold struct {
	Eps, Delta float64
	N          int
}

func (v fold) report(in inputs, e dp.Event) any {
	events := make([]dp.Event, v.N)
	for i := range events {
		events[i] = e
	}
	epsilon, err := pld.Report(events, v.Delta)
	return orFail(in, epsilon, err)
}

// contribution reads the limits of a unit, and the bounds of its values on a lattice
// so fine that a half, and any decimal, is a point of it.
func contribution(in inputs) (c dp.Contribution, r dp.Range, unit float64) {
	v := decode[struct {
		K, M int64
		L, U float64
	}](in)
	const step = 2_000_000
	values := dp.Range{Lower: int64(math.Round(v.L * step)), Upper: int64(math.Round(v.U * step))}
	return dp.Contribution{Partitions: v.K, Rows: v.M}, values, step
}

func sensitivities(in inputs) any {
	c, r, unit := contribution(in)
	all := map[string]any{}
	add := func(name string, s dp.Sensitivity, unit float64, err error) {
		if err != nil {
			in.t.Fatal(err)
		}
		l1, _ := new(big.Float).SetInt(s.L1()).Float64()
		square, _ := new(big.Float).SetInt(s.L2Squared()).Float64()
		all[name+"_l1"], all[name+"_l2"], all[name+"_linf"] = l1/unit, math.Sqrt(square)/unit, float64(s.LInf)/unit
	}
	count, err := c.Count()
	add("count", count, 1, err)
	sum, err := c.Sum(r)
	add("sum", sum, unit, err)
	centred, err := c.CentredSum(r)
	add("centered_sum", centred, unit, err)
	return all
}

// replaceOne is the neighbouring relation that the product does not have.
func replaceOne(in inputs) any {
	c, r, unit := contribution(in)
	k, m := float64(c.Partitions), float64(c.Rows)
	width, most := float64(r.Upper-r.Lower)/unit, float64(r.Absolute())/unit
	return map[string]any{
		"count_l2": math.Sqrt(2*k) * m,
		"sum_l2":   max(math.Sqrt(k)*m*width, math.Sqrt(2*k)*m*most),
	}
}

// responses are about a category, by randomised response.
func responses(in inputs) any {
	v := decode[struct {
		K       int
		Outputs []int
		Eps     []float64
	}](in)
	d := domain(in, realized.Column{Values: v.K})
	questions := make([]realized.Question, len(v.Eps))
	for i, epsilon := range v.Eps {
		q, err := d.Response(0, integer(epsilon, 12))
		questions[i] = orFail(in, q, err)
	}
	return realizedLoss(in, d, questions, v.Outputs)
}

func domain(in inputs, columns ...realized.Column) *realized.Domain {
	in.t.Helper()
	d, err := realized.NewDomain(columns...)
	return orFail(in, d, err)
}

// realizedLoss returns the upper bound of the loss of the answers that have been given.
func realizedLoss(in inputs, d *realized.Domain, questions []realized.Question, answers []int) float64 {
	in.t.Helper()
	a, err := realized.NewAccount(d, questions, realized.Never)
	if err != nil {
		in.t.Fatal(err)
	}
	transcript := make([]realized.Answer, len(answers))
	for i, y := range answers {
		transcript[i].Value = y
	}
	lower, upper, err := a.Bounds(transcript)
	if lower > upper {
		in.t.Errorf("bounds %v and %v", lower, upper)
	}
	return orFail(in, upper, err)
}

// askScore asks for a bit about a score from low to 1.
func askScore(in inputs, d *realized.Domain, e realized.Expr, low, epsilon float64) realized.Question {
	in.t.Helper()
	q, err := d.Score(e, low, 1, 0, integer(epsilon, 12))
	return orFail(in, q, err)
}

// bits are about a number.
func bits(in inputs) any {
	v := decode[struct {
		N1, N0 int
		Eps    float64
	}](in)
	d := domain(in, realized.Column{Low: 0, High: 1})
	answers := make([]int, v.N1+v.N0)
	questions := make([]realized.Question, len(answers))
	for i := range answers {
		questions[i] = askScore(in, d, realized.ColumnOf(0), 0, v.Eps)
		if i < v.N1 {
			answers[i] = 1
		}
	}
	return realizedLoss(in, d, questions, answers)
}

// meanAndSquare reads pairs of a bit about x, which is 1 or −1, and one about x²,
// which is 1 or 0.
func meanAndSquare(in inputs) any {
	v := decode[struct {
		Eps     float64
		Outputs []int
	}](in)
	d := domain(in, realized.Column{Low: -1, High: 1})
	x := realized.ColumnOf(0)
	questions := []realized.Question{
		askScore(in, d, x, -1, v.Eps), askScore(in, d, realized.Mul(x, x), 0, v.Eps),
	}
	return realizedLoss(in, d, questions, []int{max(0, v.Outputs[0]), v.Outputs[1]})
}

// runningExample asks whether x, from 0 to n, has answered 1, which it does with
// probability 0.4 + 0.2(x/n)ⁱ the i-th time, and returns the ratio after each answer.
func runningExample(in inputs) any {
	v := decode[struct {
		Domain  string
		Outputs []int
	}](in)
	_, last, _ := strings.Cut(v.Domain, "..")
	n, err := strconv.Atoi(last)
	values := make([]float64, orFail(in, n, err)+1)
	for x := range values {
		values[x] = float64(x)
	}
	d := domain(in, realized.Column{Values: len(values), Numbers: values})
	share := realized.Div(realized.ColumnOf(0), realized.Constant(float64(n)))
	questions := make([]realized.Question, len(v.Outputs))
	for i := range questions {
		questions[i] = askScore(in, d, realized.Power(share, i+1), 0, math.Log(1.5))
	}
	ratios := make([]any, len(questions))
	for i := range ratios {
		ratios[i] = math.Exp(realizedLoss(in, d, questions, v.Outputs[:i+1]))
	}
	return ratios
}
