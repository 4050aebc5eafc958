package mechanisms_test

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"dpproxy/dp"
	"dpproxy/mechanisms"
)

// gaussianShift is discrete Gaussian noise on a coordinate that changes by shift.
func gaussianShift(t testing.TB, variance, shift int64) mechanisms.Gaussian {
	t.Helper()
	m, err := mechanisms.NewGaussian(dp.Sensitivity{L0: 1, LInf: shift}, big.NewInt(variance))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// closeTo reports whether got is want, up to a relative tolerance.
func closeTo(got, want, tolerance float64) bool {
	return math.Abs(got-want) <= tolerance*math.Abs(want)
}

// hockeyStick sums (P(n) − exp(ε)·P(n+shift))₊ over all n.
func hockeyStick(variance, shift int64, epsilon float64) float64 {
	v, s := float64(variance), float64(shift)
	sum, total := 0.0, 0.0
	for n := -math.Ceil(40 * math.Sqrt(v)); n <= 40*math.Sqrt(v); n++ {
		p := math.Exp(-n * n / (2 * v))
		total += p
		sum += p * math.Max(0, -math.Expm1(epsilon-s*(2*n+s)/(2*v)))
	}
	return sum / total
}

// TestDeltaIsTheHockeyStick holds both ways of summing to the definition, on
// either side of where the one takes over from the other.
func TestDeltaIsTheHockeyStick(t *testing.T) {
	for _, variance := range []int64{1, 3, 100, 1 << 18, 1<<18 + 1, 1_000_000} {
		sigma := int64(math.Sqrt(float64(variance)))
		for _, shift := range []int64{1, sigma/10 + 1, sigma + 1, 3 * sigma, 45 * sigma, 200 * sigma} {
			m := gaussianShift(t, variance, shift)
			middle := float64(shift) * float64(shift) / (2 * float64(variance))
			for _, x := range []float64{-0.9, 0, 0.5, 3, 7, 15} {
				epsilon := middle + x*float64(shift)/math.Sqrt(float64(variance))
				if epsilon < 0 {
					continue
				}
				if got, want := m.Delta(epsilon), hockeyStick(variance, shift, epsilon); !closeTo(got, want, 1e-9) {
					t.Errorf("variance %d, shift %d, ε = %v: %v, want %v", variance, shift, epsilon, got, want)
				}
			}
			if got, want := m.Delta(0), hockeyStick(variance, shift, 0); !closeTo(got, want, 1e-9) {
				t.Errorf("variance %d, shift %d, ε = 0: %v, want %v", variance, shift, got, want)
			}
		}
	}
}

// TestWideDeltaIsTheNormalOne compares wide noise with the continuous law, from
// which it differs by less than 1/variance.
func TestWideDeltaIsTheNormalOne(t *testing.T) {
	const variance = 1 << 60
	for _, shift := range []int64{1 << 20, 1 << 28, 1 << 30, 1 << 31} {
		for _, x := range []float64{0.01, 1, 5, 30} {
			s := float64(shift) / (1 << 30)
			epsilon := s * (x + s/2)
			want, err := mechanisms.GaussianDelta(1<<30, float64(shift), epsilon)
			if got := gaussianShift(t, variance, shift).Delta(epsilon); err != nil || !closeTo(got, want, 1e-6) {
				t.Errorf("shift %d, ε = %v: %v, want %v (%v)", shift, epsilon, got, want, err)
			}
		}
	}
}

func TestDeltaAtItsEnds(t *testing.T) {
	for _, m := range []mechanisms.Gaussian{gaussian(t, 4), gaussian(t, 1<<40), gaussianShift(t, 1<<20, 1<<62)} {
		for _, epsilon := range []float64{-1, math.Inf(-1), math.NaN()} {
			if got := m.Delta(epsilon); got != 1 {
				t.Errorf("%v at ε = %v: %v", m, epsilon, got)
			}
		}
		if got := m.Delta(math.Inf(1)); got != 0 {
			t.Errorf("%v at ε = ∞: %v", m, got)
		}
		for epsilon := 1e-9; epsilon < 1e12; epsilon *= 3 {
			if got := m.Delta(epsilon); !(got >= 0 && got <= 1) {
				t.Errorf("%v at ε = %v: %v", m, epsilon, got)
			}
		}
	}
}

// TestSmallDeltas holds δ to numbers computed with sixty digits, where the two
// terms of the formula cancel.
func TestSmallDeltas(t *testing.T) {
	for _, tt := range []struct{ sigma, l2, epsilon, want float64 }{
		{1000, 1, 0.001, 8.3357132125208489e-5},
		{1e+06, 1, 1e-06, 8.3315512245425403e-8},
		{1000, 1, 0.005, 5.3595470410572097e-11},
		{5000, 3, 0.004, 1.1319639966286524e-15},
		{50, 1, 0.1, 1.1240012356922457e-9},
		{20, 1, 0.35, 1.0481750177002386e-14},
		{10, 1, 1, 1.2308359836427042e-25},
		{4, 1, 1.5, 8.2138101131633843e-11},
		{1, 1, 8, 3.6508216874217909e-15},
		{0.5, 1, 30, 9.6621066829751802e-46},
		{100, 1, 0.2, 1.514079133482598e-92},
		{100, 1, 0, 0.0039894061814816446},
	} {
		if got, err := mechanisms.GaussianDelta(tt.sigma, tt.l2, tt.epsilon); err != nil || !closeTo(got, tt.want, 1e-11) {
			t.Errorf("σ = %v, Δ = %v, ε = %v: %v, %v, want %v", tt.sigma, tt.l2, tt.epsilon, got, err, tt.want)
		}
	}
}

func TestAnalyticGaussianRefuses(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, in := range [][3]float64{{0, 1, 1}, {-1, 1, 1}, {nan, 1, 1}, {inf, 1, 1}, {1, 0, 1}, {1, nan, 1}, {1, 1, -1}, {1, 1, nan}} {
		if _, err := mechanisms.GaussianDelta(in[0], in[1], in[2]); !errors.Is(err, mechanisms.ErrParameter) {
			t.Errorf("δ of %v: %v", in, err)
		}
	}
}

func FuzzDelta(f *testing.F) {
	f.Add(int64(4), int64(1), 1.0)
	f.Add(int64(1<<62), int64(1<<62), 1e-9)
	f.Add(int64(1<<20), int64(1<<62), 1e30)
	f.Fuzz(func(t *testing.T, variance, shift int64, epsilon float64) {
		m, err := mechanisms.NewGaussian(dp.Sensitivity{L0: 1, LInf: shift}, big.NewInt(variance))
		if err != nil {
			return
		}
		if got := m.Delta(epsilon); !(got >= 0 && got <= 1) {
			t.Errorf("variance %d, shift %d, ε = %v: %v", variance, shift, epsilon, got)
		}
	})
}
