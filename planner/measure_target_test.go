package planner_test

import (
	"math"
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

// A unit that counts by a norm may have a part of it in each of many groups. Recycled noise tells of each
// part as much as drawing anew does, −ln(1 − q), and its price has that once: it is for one number. A staircase loses ε in each.
func TestNoiseOfOneNumber(t *testing.T) {
	for _, c := range []struct {
		sql  string
		has  bool
		pure bool
	}{
		{"SELECT count(*) FROM visits", true, true},
		{"SELECT count(*) FROM visits", true, false},
		{"SELECT diagnosis, count(*) FROM visits GROUP BY 1", false, true},
		{"SELECT diagnosis, count(*) FROM visits GROUP BY 1", false, false},
		{"SELECT diagnosis, count(*) FROM visits GROUP BY ROLLUP (1)", false, false},
	} {
		p := specializeWith(t, clinic(t), c.sql, func(s *planner.Settings) {
			s.EpsilonPico, s.Mechanism, s.Pure, s.Target.Error = 900*dp.PicoPerUnit, "auto", c.pure, 2
			s.Contribution, s.Mechanisms = planner.FixedContribution, planner.Mechanisms()
		})
		has := false
		for _, e := range p.Event {
			if s, stairs := e.(dp.StaircaseEvent); stairs && !c.has {
				t.Errorf("%s: %v", c.sql, s)
			}
			has = has || is[dp.StaircaseEvent](e)
			r, ok := e.(dp.RecycledEvent)
			if has = has || ok; !ok || c.has {
				continue
			}
			kernel, laplace := r.Kernel.(dp.LaplaceEvent)
			if !laplace {
				continue
			}
			const groups = 20.0 // in each a 20th of the limit
			anew, _ := new(big.Rat).Sub(big.NewRat(1, 1), r.Recycle).Float64()
			scale, _ := kernel.Scale.Float64()
			price, err := accountant.Price(e, dp.PureDP)
			if err != nil {
				t.Fatal(err)
			}
			t.Errorf("%s: %v costs %v, and a unit in %v groups loses up to %g", c.sql, e, price, groups,
				float64(kernel.Sensitivity.LInf)/scale-groups*math.Log(anew))
		}
		if has != c.has {
			t.Errorf("%s, pure %t: recycled %t, want %t", c.sql, c.pure, has, c.has)
		}
	}
}
