package planner_test

import (
	"math/big"
	"testing"

	"dpproxy/accountant"
	"dpproxy/dp"
	"dpproxy/planner"
)

// A statement with an error to reach is charged what the chosen candidate says, the statement about
// units above its limit included; and noise that is designed for one limit is never of a chosen
// one.
func TestDesignedNoiseIsPriced(t *testing.T) {
	for _, sql := range []string{
		"SELECT diagnosis, count(DISTINCT patient_id) FROM visits GROUP BY 1",
		"SELECT diagnosis, count(*) FROM visits GROUP BY 1",
		"SELECT count(*) FROM visits",
	} {
		for _, pure := range []bool{false, true} {
			p := specializeWith(t, clinic(t), sql, func(s *planner.Settings) {
				s.EpsilonPico, s.Mechanism, s.Pure, s.Target.Error = 100*dp.PicoPerUnit, "auto", pure, 50
				s.Mechanisms = []string{"laplace", "gaussian", "brownian", "laplace_reduction"}
			})
			measure := dp.ZCDP
			if pure {
				measure = dp.PureDP
			}
			price, err := accountant.Price(p.Event, measure)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range p.Candidates {
				ratio, _ := big.NewRat(price.Pico(), max(c.Loss.Pico(), 1)).Float64()
				if c.Chosen && (ratio > 1 || ratio < 0.98) {
					t.Errorf("%s, pure %t: %v costs %d of %d", sql, pure, c, price.Pico(), c.Loss.Pico())
				}
			}
			set := p.Blocks[0].Sets[0]
			for _, m := range set.Measures {
				for _, n := range m.Norms {
					if set.Reduction == nil && n.Choices > 0 && n.Choice == nil {
						t.Errorf("%s, pure %t: noise is designed for a limit that is to be chosen", sql, pure)
					}
				}
			}
		}
	}
}
