package mechanisms_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"dpproxy/dp"
	"dpproxy/mechanisms"
)

func TestSelectionParameters(t *testing.T) {
	for _, p := range [][2]int64{{0, 1}, {-1, 1}, {1, 0}, {1, -1}, {1, dp.MaxPico + 1}, {math.MinInt64, math.MinInt64}} {
		_, err1 := mechanisms.NewExponential(p[0], false, p[1])
		_, err2 := mechanisms.NewNoisyMax(p[0], false, p[1])
		_, err3 := mechanisms.NewAboveThreshold(p[0], false, p[1])
		for _, err := range []error{err1, err2, err3} {
			if !errors.Is(err, mechanisms.ErrParameter) {
				t.Errorf("sensitivity %d, ε %d: %v", p[0], p[1], err)
			}
		}
	}
	m, src := exponential(t, 1, false, picoUnit), seeded(t)
	bad := map[string]func() error{
		"no candidates":    func() error { _, err := m.Select(src, nil, nil); return err },
		"missing weights":  func() error { _, err := m.Select(src, []uint64{1}, protected(1, 2)); return err },
		"a weight of zero": func() error { _, err := m.Select(src, []uint64{1, 0}, protected(1, 2)); return err },
		"no law":           func() error { _, err := m.Law(nil, nil); return err },
		"no points":        func() error { _, err := m.SelectPoint(src, 4, 4, nil, protected(1)); return err },
		"missing scores":   func() error { _, err := m.SelectPoint(src, 4, 5, protected(1), protected(1)); return err },
	}
	for name, call := range bad {
		if err := call(); !errors.Is(err, mechanisms.ErrParameter) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSelectionEvents(t *testing.T) {
	m, err := mechanisms.NewNoisyMax(3, true, picoUnit/4)
	if err != nil {
		t.Fatal(err)
	}
	e := exponential(t, 3, false, picoUnit/4)
	if got := e.Event().(dp.BoundedRangeEvent).Epsilon; got.Cmp(big.NewRat(1, 4)) != 0 {
		t.Errorf("exponential: ε = %v", got)
	}
	if got := m.Event().(dp.PureEvent).Epsilon; got.Cmp(big.NewRat(1, 4)) != 0 {
		t.Errorf("noisy max: ε = %v", got)
	}
	if text := fmt.Sprint(e, m); strings.Count(text, "epsilon=0.25") != 2 || strings.Count(text, "monotone") != 1 {
		t.Error(text)
	}
}
