package brdp_test

import (
	"testing"

	"dpproxy/brdp"
	"dpproxy/dp"
)

// TestOptions compares the options of a goal with the design that is the cheapest of all,
// and with goals of which the paper's own closed form says whether recycling gains.
func TestOptions(t *testing.T) {
	var d brdp.Designer
	for name, c := range map[string]struct {
		linf, boundary int64
		measure        dp.Measure
		gains          bool // a recycled one is cheaper by a tenth
	}{
		"a count":                 {1, 20, dp.ZCDP, false},
		"a pure count":            {1, 20, dp.PureDP, false},
		"a narrow boundary":       {1000, 100, dp.ZCDP, true},
		"a narrow boundary, pure": {1000, 100, dp.PureDP, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := brdp.Goal{Sensitivity: dp.Sensitivity{L0: 1, LInf: c.linf}, Boundary: c.boundary, Acceptance: 0.95, Measure: c.measure}
			best, err := d.Cheapest(g)
			if err != nil {
				t.Fatal(err)
			}
			plain, err := d.Options(g, false)
			if err != nil {
				t.Fatal(err)
			}
			all, err := d.Options(g, true)
			if err != nil {
				t.Fatal(err)
			}
			least := all[0].Design
			for _, o := range all {
				if o.Acceptance < g.Acceptance {
					t.Errorf("%+v is accepted too seldom", o)
				}
				if o.Loss.Pico() < least.Loss.Pico() {
					least = o.Design
				}
			}
			if least.Loss != best.Loss {
				t.Errorf("the cheapest option is %+v, the cheapest design %+v", least, best)
			}
			cheapest := plain[0].Loss.Pico()
			for _, o := range plain {
				cheapest = min(cheapest, o.Loss.Pico())
			}
			if gains := best.Loss.Pico() < cheapest/10*9; gains != c.gains {
				t.Errorf("the cheapest costs %v, without recycling %d", best.Loss, cheapest)
			}
			for _, o := range plain {
				if o.Recycled || o.Loss.Pico() < best.Loss.Pico() {
					t.Errorf("without recycling: %+v", o)
				}
			}
			if kernels := len(plain); kernels != map[dp.Measure]int{dp.ZCDP: 2, dp.PureDP: 1}[c.measure] {
				t.Errorf("%d plain options", kernels)
			}
		})
	}
}
