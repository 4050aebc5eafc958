package accountant_test

import (
	"errors"
	"math"
	"testing"

	"dpproxy/accountant"
	"dpproxy/dp"
)

func loss(t *testing.T, m dp.Measure, pico, atto int64) dp.Loss {
	t.Helper()
	l, err := dp.NewLoss(m, pico, atto)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestOdometer(t *testing.T) {
	tests := []struct {
		name  string
		loss  dp.Loss
		delta float64
		want  float64
	}{
		{"pure", loss(t, dp.PureDP, dp.PicoPerUnit/4, 0), 1e-6, 0.25},
		{"pure without delta", loss(t, dp.PureDP, dp.PicoPerUnit/4, 0), 0, 0.25},
		{"zcdp", loss(t, dp.ZCDP, dp.PicoPerUnit/10, 0), 1e-6, 2.1419389283854735},
		{"zcdp with its own delta", loss(t, dp.ZCDP, dp.PicoPerUnit/10, 1e12), 2e-6, 2.1419389283854735},
		{"zcdp whose delta is all", loss(t, dp.ZCDP, dp.PicoPerUnit/10, 1e12), 1e-6, math.Inf(1)},
		{"zcdp whose delta is more", loss(t, dp.ZCDP, dp.PicoPerUnit/10, 1e12), 1e-7, math.Inf(1)},
		{"nothing", dp.Zero(dp.ZCDP), 0, 0},
	}
	for _, tt := range tests {
		got, err := accountant.Odometer(tt.loss, tt.delta)
		if err != nil || got != tt.want && !(math.Abs(got-tt.want) <= 1e-8*tt.want) {
			t.Errorf("%s: ε = %.12g, want %.12g (%v)", tt.name, got, tt.want, err)
		}
	}
	if _, err := accountant.Odometer(dp.Loss{}, 0.1); !errors.Is(err, dp.ErrMeasure) {
		t.Errorf("a loss of no measure: %v", err)
	}
	for _, delta := range []float64{-1, 1, math.NaN()} {
		if _, err := accountant.Odometer(dp.Zero(dp.ZCDP), delta); !errors.Is(err, accountant.ErrReport) {
			t.Errorf("δ = %g: %v", delta, err)
		}
	}
}

func TestGroupPrivacy(t *testing.T) {
	for m, want := range map[dp.Measure]int64{dp.ZCDP: 900_000_000_000, dp.PureDP: 300_000_000_000} {
		got, err := accountant.GroupPrivacy(loss(t, m, dp.PicoPerUnit/10, 0), 3)
		if err != nil || got.Pico() != want || got.Measure() != m {
			t.Errorf("%v of three = %v, %v", m, got, err)
		}
	}
	some := loss(t, dp.ZCDP, 1<<50, 0)
	if _, err := accountant.GroupPrivacy(some, math.MaxInt64); !errors.Is(err, dp.ErrOverflow) {
		t.Errorf("a huge group: %v", err)
	}
	if _, err := accountant.GroupPrivacy(some, 0); !errors.Is(err, accountant.ErrReport) {
		t.Errorf("an empty group: %v", err)
	}
	if _, err := accountant.GroupPrivacy(loss(t, dp.ZCDP, 1, 1), 2); !errors.Is(err, accountant.ErrReport) {
		t.Errorf("a loss with δ: %v", err)
	}
}
