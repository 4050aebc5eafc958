package mechanisms_test

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"dpproxy/dp"
	"dpproxy/internal/stattest"
	"dpproxy/mechanisms"
)

func relativeStop(t testing.TB, r float64) mechanisms.RelativeStop {
	t.Helper()
	s, err := mechanisms.NewRelativeStop(beta, r)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestMeetsRelative is the rule at z = 2.6, σ = 12 and r = 10 %: 343.2 is the least.
func TestMeetsRelative(t *testing.T) {
	for y, want := range map[float64]bool{300: false, 343.1: false, 343.3: true, -400: true, 0: false, math.Inf(1): true} {
		if got := mechanisms.MeetsRelative(2.6*12, 0.1, y); got != want {
			t.Errorf("%v meets the target: %v, want %v", y, got, want)
		}
	}
	if mechanisms.MeetsRelative(math.NaN(), 0.1, 1) || mechanisms.MeetsRelative(1, 0.1, math.NaN()) ||
		mechanisms.MeetsRelative(math.Inf(1), 0.1, 1) {
		t.Error("what is not a number meets the target")
	}
}

// TestMetImpliesTheTarget tries every truth within the error's bound.
func TestMetImpliesTheTarget(t *testing.T) {
	const r, c = 0.1, 20
	met := 0
	for y := -2000.0; y <= 2000; y++ {
		if !mechanisms.MeetsRelative(c, r, y) {
			continue
		}
		met++
		for _, f := range []float64{y - c, y, y + c} {
			if math.Abs(y-f) > r*math.Abs(f)*(1+1e-9) {
				t.Fatalf("%v meets the target, and %v is within %v of it", y, f, c)
			}
		}
	}
	if met < 1000 {
		t.Errorf("only %d estimates meet the target", met)
	}
}

// TestRelativeStopNeed goes to the sigma that an integer needs, and just beyond; and where the
// rule is met, the half-width holds every truth that the claim allows.
func TestRelativeStopNeed(t *testing.T) {
	for _, r := range []float64{1e-4, 0.05, 0.1, 0.5} {
		s := relativeStop(t, r)
		for _, y := range []float64{-1e6, 30_000, 1e9} {
			need := s.Need(y)
			if need > 0 && (!s.Met(y, need) || s.Met(y, need*(1+1e-9))) || need <= 0 && s.Met(y, 1e-9) {
				t.Errorf("%v at %v needs %v", r, y, need)
			}
			for _, f := range []float64{y / (1 + r), y / (1 - r)} {
				if half := s.HalfWidth(y); math.Abs(y-f) > half {
					t.Errorf("%v at %v: %v is out of %v", r, y, f, half)
				}
			}
		}
		if s.Met(0, 1) || s.Met(math.NaN(), 1) || s.Met(1e9, math.NaN()) ||
			s.Met(1e300, math.Inf(1)) || s.Met(1e300, 0) || s.Met(1e300, 1e-31) {
			t.Errorf("%v: what is not known meets the target", r)
		}
	}
}

func TestRelativeStopRefuses(t *testing.T) {
	for _, bad := range [][2]float64{{0, 0.1}, {1, 0.1}, {math.NaN(), 0.1}, {beta, 0}, {beta, 0.51}, {beta, math.NaN()}, {beta, -0.1}} {
		if _, err := mechanisms.NewRelativeStop(bad[0], bad[1]); !errors.Is(err, mechanisms.ErrParameter) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// TestRelativeStopCurves holds the proof's claim on curves and lines, on a grid: where the rule
// is met and the claim fails, the sum is beyond one of the lines.
func TestRelativeStopCurves(t *testing.T) {
	const z = 2.5
	for _, r := range []float64{0.01, 0.1, 0.3, 0.5} {
		for _, f := range []float64{0, 1, 7, 100, 12_345} {
			g := f - 1/(2*r)
			root, kappa := math.Abs(z/(r*g)), (1+r)/(1-r)
			s1 := root * root
			for log := -30.0; log < 30; log += 0.01 {
				sigma := math.Exp2(log)
				s := 1 / (sigma * sigma)
				least := math.Ceil((z*sigma + 0.5) * (1 + r) / r) // of |Y| where the rule is met
				for _, y := range []float64{least, math.Max(least, math.Floor((1+r)*f)+1), -least, math.Ceil((1-r)*f) - 1} {
					if math.Abs(y) < least || math.Abs(y-f) <= r*f {
						continue
					}
					away := s * (math.Abs(y-f) - 0.5)
					line := math.Inf(1)
					if tt := s / s1; g > 0 && y > f {
						line = root * z * (1 + tt) / 2
					} else if g > 0 && y > 0 {
						line = root * z * (kappa*kappa + tt) / 2
					}
					if far := math.Sqrt(s) * z / r; away < math.Min(line, far)*(1-1e-9) {
						t.Fatalf("r = %v, f = %v, sigma = %v, Y = %v: %v is within %v and %v", r, f, sigma, y, away, line, far)
					}
				}
			}
		}
	}
}

// TestRelativeStopHolds looks again and again, as an adversary who waits until the rule is met
// and the claim fails. At z = 1.96 they succeed too often.
func TestRelativeStopHolds(t *testing.T) {
	const runs, truth, r = 2000, 1000, 0.1
	src := stattest.Source(t)
	s := relativeStop(t, r)
	failed, naive := 0, 0
	for range runs {
		b := chain(t, one, exactly(truth), dp.PicoPerUnit)
		fails, failsNaive := false, false
		for variance := int64(200_000); variance >= 2000; variance = variance * 9 / 10 {
			step, err := b.Plan([]mechanisms.Draw{{Coordinate: 0, Variance: big.NewInt(variance)}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := step.Measure(src); err != nil {
				t.Fatal(err)
			}
			e := b.Estimates()[0]
			y := math.Round(value(e))
			wrong := math.Abs(y-truth) > r*truth
			fails = fails || wrong && s.Met(y, e.Sigma)
			failsNaive = failsNaive || wrong && mechanisms.MeetsRelative(1.3*e.Sigma, r, y)
		}
		if fails {
			failed++
		}
		if failsNaive {
			naive++
		}
	}
	t.Logf("the claim fails in %d of %d runs, at 1.3 sigma in %d", failed, runs, naive)
	if failed > 149 { // five standard deviations above 5 %
		t.Errorf("the claim fails in %d of %d runs", failed, runs)
	}
	if naive <= 149 {
		t.Errorf("the adversary is weak: %d", naive)
	}
}
