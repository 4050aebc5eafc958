package accountant_test

import (
	"math"
	"math/big"

	"dpproxy/accountant"
	"dpproxy/accountant/papertest"
	"dpproxy/dp"
)

// Conversions, prices and the filter.
func init() {
	register(map[string]func(inputs) any{
		"zcdp_to_eps_cks": number(func(in map[string]float64) float64 { return accountant.Epsilon(in["rho"], in["delta"]) }),
		"zcdp_delta_cks":  number(func(in map[string]float64) float64 { return accountant.Delta(in["rho"], in["eps"]) }),
		"rho_max_cks":     rhoMax,

		"zcdp_to_eps_simple":  number(func(in map[string]float64) float64 { return simpleEpsilon(in["rho"], in["delta"]) }),
		"zcdp_delta_standard": number(func(in map[string]float64) float64 { return standardDelta(in["rho"], in["eps"]) }),
		"rho_max_simple":      number(func(in map[string]float64) float64 { return simpleRho(in["eps"], in["delta"]) }),

		"pure_to_zcdp_generic": numbers(func(in map[string]float64) []float64 {
			return []float64{in["eps"] * in["eps"] / 2, upper(accountant.PureRho(decimal(in["eps"])))}
		}),
		"laplace_to_zcdp":    number(func(in map[string]float64) float64 { return laplaceRho(in["eps"], 1<<40) }),
		"dlaplace_to_zcdp":   number(func(in map[string]float64) float64 { return laplaceRho(in["eps"], int64(in["delta_int"])) }),
		"expmech_to_zcdp":    expmechToZCDP,
		"group_privacy_zcdp": number(func(in map[string]float64) float64 { return in["k"] * in["k"] * in["rho"] }),
		"subsampling_amplification": numbers(func(in map[string]float64) []float64 {
			return []float64{math.Log1p(in["p"] * math.Expm1(in["eps"])), in["p"] * in["delta"]}
		}),

		"filter_cks":    func(in inputs) any { return filter(in, papertest.Rho) },
		"filter_simple": func(in inputs) any { return filter(in, simpleRho) },
		"thm3_split": func(in inputs) any {
			both := decode[struct {
				ZCDP   [3]float64 // ε, δ, δ″
				ExPost [2]float64 // ε′, δ′
			}](in)
			return []any{both.ZCDP[0] + both.ExPost[0], both.ZCDP[1] + both.ZCDP[2] + both.ExPost[1]}
		},
	})
}

// simpleEpsilon, standardDelta and simpleRho are the conversion that the better
// one replaces [Bun-Steinke 2016, Prop. 1.3].
func simpleEpsilon(rho, delta float64) float64 { return rho + 2*math.Sqrt(rho*math.Log(1/delta)) }

func standardDelta(rho, epsilon float64) float64 {
	return math.Exp(-(epsilon - rho) * (epsilon - rho) / (4 * rho))
}

func simpleRho(epsilon, delta float64) float64 {
	l := math.Log(1 / delta)
	root := epsilon / (math.Sqrt(l+epsilon) + math.Sqrt(l))
	return root * root
}

// rhoMax checks the limit in integers, and returns the one in doubles.
func rhoMax(in inputs) any {
	v := decode[rhoDelta](in)
	rho := papertest.Rho(v.Eps, v.Delta)
	limit := float64(accountant.RhoMax(integer(v.Eps, 12), integer(v.Delta, 18))) * pico
	if limit > rho*(1+1e-9) || limit < rho*(1-1e-9)-3*pico {
		in.t.Errorf("the limit is %.13f, where ρ = %.13f", limit, rho)
	}
	return rho
}

// laplaceRho returns the zCDP loss of ε-DP Laplace noise on a lattice in which
// one unit of sensitivity has delta points.
func laplaceRho(epsilon float64, delta int64) float64 {
	scale := new(big.Rat).SetInt64(delta)
	return upper(accountant.LaplaceRho(scale.Quo(scale, decimal(epsilon)), delta))
}

func expmechToZCDP(in inputs) any {
	epsilon := decode[struct{ Eps float64 }](in).Eps
	loss, err := accountant.Price(dp.BoundedRangeEvent{Epsilon: decimal(epsilon)}, dp.ZCDP)
	exact := epsilon * epsilon / 8
	if got := float64(loss.Pico()) * pico; err != nil || got > exact+pico || got < min(exact, epsilon*math.Tanh(epsilon/2))-pico {
		in.t.Errorf("priced at %v, %v", loss, err)
	}
	return exact
}

// filter replays debits of (ρ, δ) against the limit that a conversion gives.
func filter(in inputs, conversion func(epsilon, delta float64) float64) any {
	v := decode[struct {
		Eps       float64
		DeltaConv float64 `json:"delta_conv"`
		DeltaAcc  float64 `json:"delta_acc"`
		Debits    [][2]float64
	}](in)
	rho := conversion(v.Eps, v.DeltaConv)
	limit, err := dp.NewLoss(dp.ZCDP, int64(rho*dp.PicoPerUnit), integer(v.DeltaAcc, 18))
	if err != nil {
		in.t.Fatal(err)
	}
	spent, decisions := dp.Zero(dp.ZCDP), []any{}
	for _, debit := range v.Debits {
		loss, err := dp.NewLoss(dp.ZCDP, integer(debit[0], 12), integer(debit[1], 18))
		if err != nil {
			in.t.Fatal(err)
		}
		sum, err := spent.Plus(loss)
		admitted := err == nil && sum.Fits(limit)
		if admitted {
			spent = sum
		}
		decisions = append(decisions, admitted)
	}
	return []any{decisions, float64(spent.Pico()) * pico, float64(spent.Atto()) * 1e-18, rho}
}

// upper returns x as the nearest double.
func upper(x *big.Rat) float64 {
	f, _ := x.Float64()
	return f
}
