package accountant_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"dpproxy/accountant"
	"dpproxy/accountant/papertest"
	"dpproxy/dp"
)

type rhoDelta struct{ Rho, Eps, Delta float64 }

// TestSimpleConversionIsWorse holds the conversion to the simpler ones, which it
// must never be worse than.
func TestSimpleConversionIsWorse(t *testing.T) {
	for _, rho := range []float64{0.001, 0.02, 0.1, 0.5, 1, 10} {
		for _, delta := range []float64{1e-12, 1e-9, 1e-6, 1e-3} {
			simple := simpleEpsilon(rho, delta)
			got := accountant.Epsilon(rho, delta)
			if got >= simple || got < simple/2 {
				t.Errorf("ρ = %v, δ = %v: ε = %v, the simple one gives %v", rho, delta, got, simple)
			}
			if d := accountant.Delta(rho, simple); d >= standardDelta(rho, simple) {
				t.Errorf("ρ = %v, ε = %v: δ = %v, the simple one gives %v", rho, simple, d, standardDelta(rho, simple))
			}
			if r := papertest.Rho(got, delta); !near(r, rho, 1e-9) {
				t.Errorf("ε = %v, δ = %v: ρ = %v, want %v", got, delta, r, rho)
			}
		}
	}
}

func near(got, want, tolerance float64) bool { return math.Abs(got-want) <= tolerance*math.Abs(want) }

// integer returns the x·10ᵈⁱᵍⁱᵗˢ that a decimal stands for, rounded down.
func integer(x float64, digits int) int64 {
	r := decimal(x)
	r.Mul(r, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)))
	return new(big.Int).Quo(r.Num(), r.Denom()).Int64()
}

// decimal returns the rational that a decimal stands for.
func decimal(x float64) *big.Rat {
	r, _ := new(big.Rat).SetString(fmt.Sprint(x))
	return r
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

func BenchmarkRhoMax(b *testing.B) {
	for b.Loop() {
		accountant.RhoMax(dp.PicoPerUnit, dp.AttoPerUnit/1_000_000)
	}
}
