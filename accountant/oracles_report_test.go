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
			n, err := realized.ExpectedQueries(v.Limit, v.K)
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

// responses counts losses in units of 10⁻⁹ where they are multiples of it.
func responses(in inputs) any {
	v := decode[struct {
		K       int
		Outputs []int
		Eps     []float64
	}](in)
	r, err := realized.NewResponses(v.K)
	if err != nil {
		in.t.Fatal(err)
	}
	f, err := realized.NewFinite(v.K)
	if err != nil {
		in.t.Fatal(err)
	}
	exact := true
	for i, y := range v.Outputs {
		units := integer(v.Eps[i], 9)
		exact = exact && float64(units)*1e-9 == v.Eps[i]
		lie := 1 / (math.Exp(v.Eps[i]) + float64(v.K-1))
		err := f.Observe(func(x int) float64 {
			if x == y {
				return lie * math.Exp(v.Eps[i])
			}
			return lie
		})
		if err == nil {
			err = r.Observe(y, units)
		}
		if err != nil {
			in.t.Fatal(err)
		}
	}
	if !exact {
		return f.Loss()
	}
	loss := float64(r.Loss()) * 1e-9
	if math.Abs(f.Loss()-loss) > 1e-9 {
		in.t.Errorf("by likelihoods the loss is %v, by counting %v", f.Loss(), loss)
	}
	return loss
}

func bits(in inputs) any {
	v := decode[struct {
		N1, N0 int64
		Eps    float64
	}](in)
	var b realized.Bits
	if err := b.Observe(v.Eps, v.N1, v.N0); err != nil {
		in.t.Fatal(err)
	}
	return b.Loss()
}

// meanAndSquare reads pairs of a bit about x, which is 1 or −1, and one about x²,
// which is 1 or 0.
func meanAndSquare(in inputs) any {
	v := decode[struct {
		Eps     float64
		Outputs []int64
	}](in)
	var m realized.Moments
	for i, y := range v.Outputs {
		observe := m.ObserveMean
		if i%2 == 1 {
			observe = m.ObserveSquare
		}
		one := max(0, y)
		if err := observe(v.Eps, one, 1-one); err != nil {
			in.t.Fatal(err)
		}
	}
	return m.Loss()
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
	if err != nil {
		in.t.Fatal(err)
	}
	f, err := realized.NewFinite(n + 1)
	if err != nil {
		in.t.Fatal(err)
	}
	var ratios []any
	for i, y := range v.Outputs {
		err := f.Observe(func(x int) float64 {
			one := 0.4 + 0.2*math.Pow(float64(x)/float64(n), float64(i+1))
			if y == 1 {
				return one
			}
			return 1 - one
		})
		if err != nil {
			in.t.Fatal(err)
		}
		ratios = append(ratios, math.Exp(f.Loss()))
	}
	return ratios
}
