package dp_test

import (
	"errors"
	"testing"

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

func TestNewLossRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		m          dp.Measure
		pico, atto int64
	}{
		"no measure":        {0, 1, 0},
		"unknown measure":   {9, 1, 0},
		"negative epsilon":  {dp.PureDP, -1, 0},
		"negative delta":    {dp.ZCDP, 1, -1},
		"pure with delta":   {dp.PureDP, 1, 1},
		"beyond a double":   {dp.ZCDP, dp.MaxPico + 1, 0},
		"delta above one":   {dp.ZCDP, 1, dp.AttoPerUnit + 1},
		"smallest negative": {dp.ZCDP, -1 << 63, 0},
	} {
		if l, err := dp.NewLoss(c.m, c.pico, c.atto); err == nil {
			t.Errorf("%s: accepted as %v", name, l)
		}
	}
}

func TestPlusAndMinus(t *testing.T) {
	a, b := loss(t, dp.ZCDP, 5, 7), loss(t, dp.ZCDP, 3, 2)
	sum, err := a.Plus(b)
	if err != nil || sum != loss(t, dp.ZCDP, 8, 9) {
		t.Errorf("%v + %v = %v, %v", a, b, sum, err)
	}
	left, err := sum.Minus(b)
	if err != nil || left != a {
		t.Errorf("%v - %v = %v, %v", sum, b, left, err)
	}
	if l, err := b.Minus(a); err == nil {
		t.Errorf("%v - %v = %v", b, a, l)
	}
	if l, err := a.Plus(loss(t, dp.PureDP, 1, 0)); !errors.Is(err, dp.ErrMeasure) {
		t.Errorf("two measures add up to %v, %v", l, err)
	}
	if l, err := a.Plus(dp.Loss{}); !errors.Is(err, dp.ErrMeasure) {
		t.Errorf("the zero Loss adds up to %v, %v", l, err)
	}
	if l, err := loss(t, dp.ZCDP, dp.MaxPico, 0).Plus(loss(t, dp.ZCDP, 1, 0)); !errors.Is(err, dp.ErrOverflow) {
		t.Errorf("beyond what a ledger holds: %v, %v", l, err)
	}
}

// Fits must hold in both parameters and in one measure, or a filter would admit
// an event that it must refuse.
func TestFits(t *testing.T) {
	limit := loss(t, dp.ZCDP, 10, 10)
	for _, c := range []struct {
		l    dp.Loss
		want bool
	}{
		{loss(t, dp.ZCDP, 10, 10), true},
		{loss(t, dp.ZCDP, 0, 0), true},
		{loss(t, dp.ZCDP, 11, 0), false},
		{loss(t, dp.ZCDP, 0, 11), false},
		{loss(t, dp.PureDP, 1, 0), false},
		{dp.Loss{}, false},
	} {
		if got := c.l.Fits(limit); got != c.want {
			t.Errorf("%v fits %v: %v, want %v", c.l, limit, got, c.want)
		}
	}
	pure, approximate := loss(t, dp.PureDP, 4, 0), loss(t, dp.ApproximateDP, 4, 1)
	if !pure.Fits(approximate) || approximate.Fits(pure) || !loss(t, dp.ApproximateDP, 4, 0).Fits(pure) || approximate.Fits(limit) {
		t.Error("a loss with a delta fits where none is, or one without does not fit where one is")
	}
	if (dp.Loss{}).Fits(dp.Loss{}) {
		t.Error("losses without a measure fit each other")
	}
}

func TestStrings(t *testing.T) {
	for want, l := range map[string]dp.Loss{
		"ε=0.1":           loss(t, dp.PureDP, dp.PicoPerUnit/10, 0),
		"ρ=0.005":         loss(t, dp.ZCDP, dp.PicoPerUnit/200, 0),
		"ρ=1 δ=1e-06":     loss(t, dp.ZCDP, dp.PicoPerUnit, dp.AttoPerUnit/1_000_000),
		"ε=0":             dp.Zero(dp.PureDP),
		"ρ=0.00000000001": loss(t, dp.ZCDP, 10, 0),
		"ε=4 δ=1e-09":     loss(t, dp.ApproximateDP, 4*dp.PicoPerUnit, dp.AttoPerUnit/1_000_000_000),
	} {
		if got := l.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, m := range []dp.Measure{dp.PureDP, dp.ZCDP, dp.ApproximateDP} {
		if got, err := dp.ParseMeasure(m.String()); err != nil || got != m {
			t.Errorf("ParseMeasure(%q) = %v, %v", m, got, err)
		}
	}
	if m, err := dp.ParseMeasure("invalid"); err == nil {
		t.Errorf("an invalid measure is %v", m)
	}
}

// Sensitivities are products that do not fit an int64.
func TestSensitivity(t *testing.T) {
	s := dp.Sensitivity{L0: 3, LInf: 1 << 60}
	if got := s.L1().String(); got != "3458764513820540928" {
		t.Errorf("L1 = %s", got)
	}
	if got := s.L2Squared().BitLen(); got != 122 {
		t.Errorf("L2Squared has %d bits, want 122", got)
	}
	if (dp.Sensitivity{L0: 0, LInf: 1}).Valid() || (dp.Sensitivity{L0: 1}).Valid() {
		t.Error("a sensitivity without partitions or change is valid")
	}
}
