package accountant_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"dpproxy/accountant"
	"dpproxy/dp"
	"dpproxy/internal/stattest"
)

type rhoDelta struct{ Rho, Eps, Delta float64 }

func TestEpsilonOracles(t *testing.T) {
	for _, o := range oracles(t, "zcdp_to_eps_cks") {
		in, want := read[rhoDelta, float64](t, o)
		if got := accountant.Epsilon(in.Rho, in.Delta); !near(got, want, o.Tolerance) {
			t.Errorf("%s: %v, want %v", o.Name, got, want)
		}
	}
}

func TestDeltaOracles(t *testing.T) {
	for _, o := range oracles(t, "zcdp_delta_cks") {
		in, want := read[rhoDelta, float64](t, o)
		if got := accountant.Delta(in.Rho, in.Eps); !near(got, want, o.Tolerance) {
			t.Errorf("%s: %v, want %v", o.Name, got, want)
		}
	}
}

// TestSimpleConversionIsWorse holds the conversion to the simpler ones of
// [Bun-Steinke 2016], which it must never be worse than.
func TestSimpleConversionIsWorse(t *testing.T) {
	for _, o := range oracles(t, "zcdp_to_eps_simple") {
		in, simple := read[rhoDelta, float64](t, o)
		if got := accountant.Epsilon(in.Rho, in.Delta); got >= simple || got < simple/2 {
			t.Errorf("%s: %v, the simple one gives %v", o.Name, got, simple)
		}
	}
	for _, o := range oracles(t, "zcdp_delta_standard") {
		in, simple := read[rhoDelta, float64](t, o)
		if got := accountant.Delta(in.Rho, in.Eps); got >= simple || got < simple/100 {
			t.Errorf("%s: %v, the simple one gives %v", o.Name, got, simple)
		}
	}
	for _, o := range oracles(t, "rho_max_simple") {
		in, simple := read[rhoDelta, float64](t, o)
		got := float64(accountant.RhoMax(integer(in.Eps, 12), integer(in.Delta, 18))) * pico
		if got <= simple || got > 2*simple {
			t.Errorf("%s: %v, the simple one gives %v", o.Name, got, simple)
		}
	}
}

func TestRhoMaxOracles(t *testing.T) {
	for _, o := range oracles(t, "rho_max_cks") {
		in, want := read[rhoDelta, float64](t, o)
		got := float64(accountant.RhoMax(integer(in.Eps, 12), integer(in.Delta, 18))) * pico
		if got > want || got < want-3*pico {
			t.Errorf("%s: %.13f, want %.13f less a little", o.Name, got, want)
		}
	}
}

// integer returns the x·10ᵈⁱᵍⁱᵗˢ that an oracle's decimal stands for.
func integer(x float64, digits int) int64 {
	r, _ := new(big.Rat).SetString(fmt.Sprint(x))
	r.Mul(r, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)))
	return r.Num().Int64()
}

// TestDeltaIsTheMinimum evaluates the bound as it is printed, at many orders.
func TestDeltaIsTheMinimum(t *testing.T) {
	for _, rho := range []float64{1e-6, 0.001, 0.05, 1, 30} {
		for _, epsilon := range []float64{0, 0.01, 1, 5, 100} {
			least := 1.0
			for a := 1e-6; a < 1e7; a *= 1.001 {
				alpha := 1 + a
				bound := math.Exp((alpha-1)*(alpha*rho-epsilon)+alpha*math.Log1p(-1/alpha)) / (alpha - 1)
				least = min(least, bound)
			}
			got := accountant.Delta(rho, epsilon)
			if got > least*(1+1e-8) || got < least*(1-1e-3) {
				t.Errorf("ρ = %v, ε = %v: %v, the least at many orders is %v", rho, epsilon, got, least)
			}
		}
	}
}

// TestRhoMaxIsSoundAndTight checks for any budget that ρ fits it, and that hardly
// more would, unless δ is so near 1 that its logarithm has lost its digits.
func TestRhoMaxIsSoundAndTight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		epsilonPico := rapid.Int64Range(1, 1<<rapid.IntRange(0, 53).Draw(t, "ε bits")).Draw(t, "ε")
		deltaAtto := rapid.Int64Range(1, min(dp.AttoPerUnit-1, int64(1)<<rapid.IntRange(0, 60).Draw(t, "δ bits"))).Draw(t, "δ")
		epsilon, delta := float64(epsilonPico)/1e12, float64(deltaAtto)/1e18
		got := accountant.RhoMax(epsilonPico, deltaAtto)
		if d := accountant.Delta(float64(got)/1e12, epsilon); d > delta {
			t.Fatalf("δ(%d, %v) = %v > %v", got, epsilon, d, delta)
		}
		more := got + 2 + got/1_000_000_000
		if d := accountant.Delta(float64(more)/1e12, epsilon); got < dp.MaxPico && delta < 0.5 && d <= delta {
			t.Fatalf("δ(%d, %v) = %v, though the most is said to be %d", more, epsilon, d, got)
		}
	})
}

func TestRhoMaxOfNothing(t *testing.T) {
	for _, in := range [][2]int64{{0, 1}, {-1, 1}, {1, 0}, {1, -1}, {1, dp.AttoPerUnit}, {dp.MaxPico + 1, 1}} {
		if got := accountant.RhoMax(in[0], in[1]); got != 0 {
			t.Errorf("RhoMax(%d, %d) = %d", in[0], in[1], got)
		}
	}
}

func TestConversionAtItsEnds(t *testing.T) {
	inf := math.Inf(1)
	if d := accountant.Delta(0, 0); d != 0 {
		t.Errorf("Delta(0, 0) = %v", d)
	}
	if d := accountant.Delta(100, 0); d < 0.99 || d > 1 {
		t.Errorf("Delta(100, 0) = %v", d)
	}
	if d := accountant.Delta(1e-300, 1); d != 0 {
		t.Errorf("Delta(1e-300, 1) = %v", d)
	}
	for _, in := range [][3]float64{{0, 0, 0}, {1, 0, inf}, {1, 1, 0}, {1, -1, inf}} {
		if e := accountant.Epsilon(in[0], in[1]); e != in[2] {
			t.Errorf("Epsilon(%v, %v) = %v, want %v", in[0], in[1], e, in[2])
		}
	}
}

// TestGaussianDeltaIsCovered compares the δ that a price implies with the exact
// δ of the discrete Gaussian, summed here over its law and held to oracles.
func TestGaussianDeltaIsCovered(t *testing.T) {
	for _, o := range oracles(t, "dgauss_delta") {
		in, want := read[struct {
			Sigma2, Eps float64
			Delta       int64 `json:"delta_int"`
		}, float64](t, o)
		law, exact := stattest.Gaussian(in.Sigma2), 0.0
		for n := int64(-1000); n <= 1000; n++ {
			exact += math.Max(0, law(n)-math.Exp(in.Eps)*law(n-in.Delta))
		}
		if !near(exact, want, o.Tolerance*1e3) {
			t.Errorf("%s: %v, want %v", o.Name, exact, want)
		}
		loss, err := accountant.Price(gaussianEvent(1, in.Delta, int64(in.Sigma2)), dp.ZCDP)
		if d := accountant.Delta(float64(loss.Pico())*pico, in.Eps); err != nil || d < want || d > 20*want {
			t.Errorf("%s: the price implies δ = %v, %v", o.Name, d, err)
		}
	}
}

func TestLimit(t *testing.T) {
	const unit, micro = dp.PicoPerUnit, dp.AttoPerUnit / 1_000_000
	tests := []struct {
		b    accountant.Budget
		want string
	}{
		{accountant.Budget{EpsilonPico: 3 * unit}, "ε=3"},
		{accountant.Budget{EpsilonPico: unit, DeltaAtto: micro}, "ρ=0.024355970359"},
		{accountant.Budget{EpsilonPico: unit, DeltaAtto: 2 * micro, SelectionDeltaAtto: micro}, "ρ=0.024355970359 δ=1e-06"},
	}
	for _, tt := range tests {
		limit, err := tt.b.Limit()
		if err != nil || limit.String() != tt.want {
			t.Errorf("%+v: %v, %v; want %s", tt.b, limit, err, tt.want)
		}
	}
}

func TestLimitRefuses(t *testing.T) {
	refused := map[string]accountant.Budget{
		"no epsilon":              {DeltaAtto: 1},
		"negative epsilon":        {EpsilonPico: -1},
		"epsilon too large":       {EpsilonPico: dp.MaxPico + 1, DeltaAtto: 1},
		"negative delta":          {EpsilonPico: 1, DeltaAtto: -1},
		"delta one":               {EpsilonPico: 1, DeltaAtto: dp.AttoPerUnit},
		"negative selection":      {EpsilonPico: 1, DeltaAtto: 1, SelectionDeltaAtto: -1},
		"all delta for selection": {EpsilonPico: dp.PicoPerUnit, DeltaAtto: 5, SelectionDeltaAtto: 5},
		"selection without delta": {EpsilonPico: dp.PicoPerUnit, SelectionDeltaAtto: 1},
		"nothing to spend":        {EpsilonPico: 1, DeltaAtto: 1},
	}
	for name, b := range refused {
		if limit, err := b.Limit(); !errors.Is(err, accountant.ErrBudget) || limit != (dp.Loss{}) {
			t.Errorf("%s: %v, %v", name, limit, err)
		}
	}
}

// TestFilterOracle replays a sequence of debits against a limit.
func TestFilterOracle(t *testing.T) {
	for _, o := range oracles(t, "filter_cks") {
		in, want := read[struct {
			Eps       float64
			DeltaConv float64 `json:"delta_conv"`
			DeltaAcc  float64 `json:"delta_acc"`
			Debits    [][2]float64
		}, [4]any](t, o)
		selection := integer(in.DeltaAcc, 18)
		limit, err := accountant.Budget{
			EpsilonPico:        integer(in.Eps, 12),
			DeltaAtto:          integer(in.DeltaConv, 18) + selection,
			SelectionDeltaAtto: selection,
		}.Limit()
		if err != nil {
			t.Fatal(err)
		}
		spent := dp.Zero(dp.ZCDP)
		for i, admitted := range want[0].([]any) {
			debit, err := dp.NewLoss(dp.ZCDP, integer(in.Debits[i][0], 12), integer(in.Debits[i][1], 18))
			if err != nil {
				t.Fatal(err)
			}
			sum, err := spent.Plus(debit)
			if err != nil || sum.Fits(limit) != admitted {
				t.Errorf("debit %d: %v fits %v: %v, want %v", i, sum, limit, sum.Fits(limit), admitted)
			}
			if sum.Fits(limit) {
				spent = sum
			}
		}
		if spent.Pico() != integer(want[1].(float64), 12) || spent.Atto() != integer(want[2].(float64), 18) {
			t.Errorf("spent %v", spent)
		}
		if rho := float64(limit.Pico()) * pico; !near(rho, want[3].(float64), o.Tolerance) {
			t.Errorf("limit %v, want %v", rho, want[3])
		}
	}
}

func BenchmarkRhoMax(b *testing.B) {
	for b.Loop() {
		accountant.RhoMax(dp.PicoPerUnit, dp.AttoPerUnit/1_000_000)
	}
}
