package accountant_test

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"dpproxy/accountant/papertest"
	"dpproxy/dp"
	"dpproxy/internal/gausssum"
	"dpproxy/internal/stattest"
	"dpproxy/mechanisms"
)

// Noise, its tails, thresholds and selection.
func init() {
	register(map[string]func(inputs) any{
		"analytic_gaussian_sigma": func(in inputs) any {
			v := decode[map[string]float64](in)
			sigma, err := papertest.GaussianSigma(v["l2"], v["eps"], v["delta"])
			return orFail(in, sigma, err)
		},
		"analytic_gaussian_delta": func(in inputs) any {
			v := decode[map[string]float64](in)
			delta, err := mechanisms.GaussianDelta(v["sigma"], v["l2"], v["eps"])
			return orFail(in, delta, err)
		},
		"dlaplace_moments": numbers(func(in map[string]float64) []float64 {
			law := stattest.Laplace(in["scale"])
			variance, spread := moments(law)
			p := math.Exp(-1 / in["scale"])
			return []float64{law(0), variance, spread, math.Pow(p, 6) / (1 + p)}
		}),
		"dgauss_moments": numbers(func(in map[string]float64) []float64 {
			v := in["sigma2"]
			total := gausssum.Total(v, 0)
			variance, _ := moments(stattest.Gaussian(v))
			return []float64{total, 1 / total, variance, gausssum.Upper(v, 0, 3) / total}
		}),
		"dgauss_delta":               gaussianDelta,
		"ci_dgauss":                  ciGaussian,
		"ci_dlaplace":                ciLaplace,
		"ci_laplace":                 number(func(in map[string]float64) float64 { return in["b"] * math.Log(1/in["alpha"]) }),
		"partition_optimal_pi":       optimalKeep,
		"partition_dgauss_threshold": gaussianThreshold,
		"partition_gauss_threshold":  gaussianThresholdLimit,
		"partition_laplace_threshold": number(func(in map[string]float64) float64 {
			k := in["max_groups"]
			return 1 - k/in["eps"]*math.Log(2*eachDelta(in["delta"], k))
		}),
		"quantile_expmech": expmechQuantile,
	})
}

// orFail returns x, or fails with err.
func orFail[T any](in inputs, x T, err error) T {
	in.t.Helper()
	if err != nil {
		in.t.Fatal(err)
	}
	return x
}

// moments returns the variance of a symmetric law and the mean of its absolute.
func moments(law func(int64) float64) (variance, spread float64) {
	_, variance = stattest.Moments(func(n int64) float64 { return float64(n) }, law)
	spread, _ = stattest.Moments(func(n int64) float64 { return math.Abs(float64(n)) }, law)
	return variance, spread
}

// gaussianDelta compares the product with the theorem, which takes variances that
// are no integers, too.
func gaussianDelta(in inputs) any {
	v := decode[struct {
		Sigma2, Eps float64
		Delta       int64 `json:"delta_int"`
	}](in)
	d := float64(v.Delta)
	tail := func(from float64) float64 {
		return gausssum.Upper(v.Sigma2, 0, math.Floor(from)+1) / gausssum.Total(v.Sigma2, 0)
	}
	middle := v.Eps * v.Sigma2 / d
	theorem := tail(middle-d/2) - math.Exp(v.Eps)*tail(middle+d/2)
	if v.Sigma2 != math.Trunc(v.Sigma2) {
		return theorem
	}
	g, err := mechanisms.NewGaussian(dp.Sensitivity{L0: 1, LInf: v.Delta}, big.NewInt(int64(v.Sigma2)))
	if err != nil {
		in.t.Fatal(err)
	}
	if got := g.Delta(v.Eps); !near(got, theorem, 1e-9) {
		in.t.Errorf("the mechanism says %v, the theorem %v", got, theorem)
	}
	return g.Delta(v.Eps)
}

func ciGaussian(in inputs) any {
	v := decode[struct{ Sigma2, Alpha float64 }](in)
	g, err := mechanisms.NewGaussian(dp.Sensitivity{L0: 1, LInf: 1}, big.NewInt(int64(v.Sigma2)))
	if err != nil {
		in.t.Fatal(err)
	}
	c := g.Quantile(v.Alpha)
	return []any{c, gausssum.Between(v.Sigma2, 0, -c, c) / gausssum.Total(v.Sigma2, 0)}
}

func ciLaplace(in inputs) any {
	v := decode[struct{ Scale, Alpha float64 }](in)
	l, err := mechanisms.NewLaplace(dp.Sensitivity{L0: 1, LInf: 1}, decimal(v.Scale))
	if err != nil {
		in.t.Fatal(err)
	}
	c, p := l.Quantile(v.Alpha), math.Exp(-1/v.Scale)
	return []any{c, 1 - 2*math.Pow(p, c+1)/(1+p)}
}

func optimalKeep(in inputs) any {
	v := decode[struct {
		Eps, Delta float64
		N          []int64
	}](in)
	var keep []any
	for _, n := range v.N {
		keep = append(keep, papertest.OptimalKeep(v.Eps, v.Delta, n))
	}
	return keep
}

// eachDelta returns 1 − (1−δ)^(1/k).
func eachDelta(delta, k float64) float64 { return -math.Expm1(math.Log1p(-delta) / k) }

func gaussianThreshold(in inputs) any {
	v := decode[struct {
		Sigma2    int64
		MaxGroups int64 `json:"max_groups"`
		Delta     float64
	}](in)
	s, err := mechanisms.NewGaussianSelection(v.MaxGroups, big.NewInt(v.Sigma2), integer(v.Delta, 18))
	if err != nil {
		in.t.Fatal(err)
	}
	variance := float64(v.Sigma2)
	return []any{s.Threshold(), gausssum.Upper(variance, 0, float64(s.Threshold()-1)) / gausssum.Total(variance, 0)}
}

// gaussianThresholdLimit computes the limit of a fine lattice, and compares the
// product on the lattice of whole units with it.
func gaussianThresholdLimit(in inputs) any {
	v := decode[struct {
		Sigma, Delta float64
		MaxGroups    int64 `json:"max_groups"`
	}](in)
	k := float64(v.MaxGroups)
	limit := 1 + v.Sigma*distuv.UnitNormal.Quantile(1-eachDelta(v.Delta, k))
	s, err := mechanisms.NewGaussianSelection(v.MaxGroups, big.NewInt(int64(math.Round(v.Sigma*v.Sigma))), integer(v.Delta, 18))
	if err != nil {
		in.t.Fatal(err)
	}
	if t := float64(s.Threshold()); math.Abs(t-limit) > 1.5+0.6/v.Sigma*limit {
		in.t.Errorf("the threshold is %v, its limit %v", t, limit)
	}
	return []any{limit, k / (2 * v.Sigma * v.Sigma)}
}

// expmechQuantile scales weights to integers, and scores so that q·n is one, too.
// An interval without width has no weight, and is not chosen.
func expmechQuantile(in inputs) any {
	v := decode[struct {
		Data                 []float64
		Lower, Upper, Q, Eps float64
	}](in)
	ends := slices.Concat([]float64{v.Lower}, v.Data, []float64{v.Upper})
	slices.Sort(ends)
	middle := new(big.Rat).Mul(decimal(v.Q), big.NewRat(int64(len(v.Data)), 1))
	scale := middle.Denom().Int64()
	var weights []uint64
	var scores []int64
	var wide []int
	for i := range len(ends) - 1 {
		distance := int64(i)*scale - middle.Num().Int64()
		if width := uint64(integer(ends[i+1], 12) - integer(ends[i], 12)); width > 0 {
			weights, scores, wide = append(weights, width), append(scores, -max(distance, -distance)), append(wide, i)
		}
	}
	e, err := mechanisms.NewExponential(scale, false, integer(v.Eps, 12))
	if err != nil {
		in.t.Fatal(err)
	}
	law, err := e.Law(weights, scores)
	if err != nil {
		in.t.Fatal(err)
	}
	all := make([]float64, len(ends)-1)
	for i, p := range law {
		all[wide[i]] = p
	}
	return list(all)
}

// Chains.
func init() {
	register(map[string]func(inputs) any{
		"z_bonferroni": func(in inputs) any {
			v := decode[struct {
				Beta float64
				K    int
			}](in)
			return distuv.UnitNormal.Quantile(1 - v.Beta/(2*float64(v.K)))
		},
		"stop_rule_relative": func(in inputs) any {
			v := decode[struct {
				Z, R, Sigma float64
				Y           []float64
			}](in)
			var stop []any
			for _, y := range v.Y {
				stop = append(stop, mechanisms.MeetsRelative(v.Z*v.Sigma, v.R, y))
			}
			return stop
		},
		"groupby_topk_debit":          topK,
		"filter_brownian_stop":        brownianStop,
		"brownian_precision_schedule": brownianSchedule,
		"brownian_bridge_step": numbers(func(in map[string]float64) []float64 {
			return []float64{in["b1"] * in["t2"] / in["t1"], in["t2"] * (in["t1"] - in["t2"]) / in["t1"]}
		}),
		"doubling_overhead": func(in inputs) any {
			var overhead []any
			for _, c := range decode[map[string][]float64](in)["c_rho"] {
				overhead = append(overhead, c/(c-1))
			}
			return overhead
		},
		"lnr_stay_prob":   stayProbability,
		"lnr_pure_ledger": reductionLedger,
	})
}

// fine is how many lattice points one unit of sensitivity has where a chain is
// compared with its continuous limit.
const fine = 1_000_000

// variance returns the variance of a measurement that costs ρ on the fine lattice,
// rounded up.
func variance(rho *big.Rat) *big.Int {
	v := new(big.Rat).Quo(big.NewRat(fine*fine, 2), rho)
	return new(big.Int).Quo(new(big.Int).Add(v.Num(), new(big.Int).Sub(v.Denom(), big.NewInt(1))), v.Denom())
}

// zeros returns n exact values.
func zeros(n int) []mechanisms.Private {
	exact := make([]mechanisms.Private, n)
	for i := range exact {
		exact[i] = mechanisms.Protect(new(big.Int))
	}
	return exact
}

// spend measures a step of a chain and returns its exact price as a double.
func spend(in inputs, step *mechanisms.Step) float64 {
	in.t.Helper()
	e, ok := step.Event().(dp.RefinementEvent)
	if !ok {
		in.t.Fatalf("a step's event is %T", step.Event())
	}
	if _, err := step.Measure(mechanisms.NewSource()); err != nil {
		in.t.Fatal(err)
	}
	rho := new(big.Rat).Sub(e.After, e.Before)
	rho.Mul(rho, big.NewRat(e.Sensitivity.LInf*e.Sensitivity.LInf, 2))
	if exact, priced := upper(rho), float64(step.Price())*pico; priced < exact*(1-1e-12) || priced > exact+1.001*pico {
		in.t.Errorf("a step of ρ = %v is priced at %v", exact, priced)
	}
	return upper(rho)
}

// topK draws every group at its own variance, and then one of them again, as the
// expected key names it: after_refine_group_1_to_0_004.
func topK(in inputs) any {
	v := decode[struct {
		PerGroup []float64 `json:"per_group_rho"`
		K        int64
	}](in)
	chain, err := mechanisms.NewBrownian(dp.Sensitivity{L0: v.K, LInf: fine}, zeros(len(v.PerGroup)), dp.MaxPico)
	if err != nil {
		in.t.Fatal(err)
	}
	var draws []mechanisms.Draw
	for i, rho := range v.PerGroup {
		draws = append(draws, mechanisms.Draw{Coordinate: i, Variance: variance(decimal(rho))})
	}
	step, err := chain.Plan(draws)
	if err != nil {
		in.t.Fatal(err)
	}
	total := spend(in, step)
	got := map[string]any{"total": total}
	for key := range in.want.(map[string]any) {
		group, to, ok := strings.Cut(strings.TrimPrefix(key, "after_refine_group_"), "_to_")
		if !ok {
			continue
		}
		var i int
		if _, err := fmt.Sscan(group, &i); err != nil {
			in.t.Fatal(err)
		}
		level, ok := new(big.Rat).SetString(strings.ReplaceAll(to, "_", "."))
		if !ok {
			in.t.Fatalf("no level in %q", key)
		}
		more := new(big.Rat).Sub(level, decimal(v.PerGroup[i]))
		step, err := chain.Plan([]mechanisms.Draw{{Coordinate: i, Variance: variance(more)}})
		if err != nil {
			in.t.Fatal(err)
		}
		got[key] = total + spend(in, step)
	}
	return got
}

// brownianStop takes the steps of a chain, and admits holds of its cap.
func brownianStop(in inputs) any {
	v := decode[struct {
		Levels    []float64 `json:"rho_levels"`
		Stop      int       `json:"stop_level"`
		Cap       int       `json:"cap_level"`
		Remaining float64
	}](in)
	chain, err := mechanisms.NewBrownian(dp.Sensitivity{L0: 1, LInf: fine}, zeros(1), dp.MaxPico)
	if err != nil {
		in.t.Fatal(err)
	}
	var debits []any
	total, atStop, before := 0.0, 0.0, new(big.Rat)
	for k, level := range v.Levels[:v.Cap] {
		step, err := chain.Plan([]mechanisms.Draw{{Variance: variance(new(big.Rat).Sub(decimal(level), before))}})
		if err != nil {
			in.t.Fatal(err)
		}
		debit := spend(in, step)
		before = decimal(level)
		debits = append(debits, debit)
		if total += debit; k+1 == v.Stop {
			atStop = total
		}
	}
	hold := total
	const rounding = 1e-15
	got := map[string]any{
		"debits_if_stop": debits[:v.Stop], "total_if_stop": atStop, "hold_released": hold - atStop,
		"debits_if_fail": debits, "total_if_fail": total,
		"admit_second_concurrent_same_cap": hold+hold <= v.Remaining+rounding,
		"admit_after_stop":                 atStop+hold <= v.Remaining+rounding,
	}
	for key := range in.want.(map[string]any) {
		if other, ok := strings.CutPrefix(key, "admit_second_if_remaining_"); ok {
			remaining, ok := new(big.Rat).SetString(strings.Replace(other, "_", ".", 1))
			if !ok {
				in.t.Fatalf("no amount in %q", key)
			}
			got[key] = atStop+hold <= upper(remaining)+rounding
		}
	}
	return got
}

// brownianSchedule turns the times of a Brownian motion into the variances of
// independent measurements, and their prices.
func brownianSchedule(in inputs) any {
	v := decode[struct {
		T  []float64
		L2 float64
	}](in)
	var variances, debits, totals []any
	before := 0.0
	for _, t := range v.T {
		precision := 1/t - before
		before = 1 / t
		variances = append(variances, 1/precision)
		debits = append(debits, v.L2*v.L2/2*precision)
		totals = append(totals, v.L2*v.L2/(2*t))
	}
	return []any{variances, debits, totals}
}

// stayProbability compares the closed form with the chance that the path's two
// levels are one, from their exact laws: P(V₁ = V₂) is not the chance to stay, but
// the law of V₁ follows from it.
func stayProbability(in inputs) any {
	v := decode[struct{ Eps1, Eps2 float64 }](in)
	if strings.Contains(in.name, "cont") {
		return v.Eps1 / v.Eps2 * v.Eps1 / v.Eps2
	}
	coarse, finer := math.Exp(-v.Eps1), math.Exp(-v.Eps2)
	ratio := (1 - coarse) / (1 - finer)
	stay := finer / coarse * ratio * ratio
	// The generating functions at 1/2 of both sides of the mixture must agree.
	pgf := func(p, z float64) float64 { return (1 - p) * (1 - p) / ((1 - p*z) * (1 - p/z)) }
	z := (1 + coarse) / 2
	if left, right := pgf(coarse, z), pgf(finer, z)*(stay+(1-stay)*pgf(coarse, z)); !near(left, right, 1e-12) {
		in.t.Errorf("the mixture has %v, the level %v", right, left)
	}
	return stay
}

// reductionLedger reveals the levels of a path and prices them.
func reductionLedger(in inputs) any {
	v := decode[struct {
		Levels []float64 `json:"eps_levels"`
		Stop   int
		Budget float64
	}](in)
	var picos []int64
	for _, e := range v.Levels {
		picos = append(picos, integer(e, 12))
	}
	r, err := mechanisms.LaplaceReductionFor(dp.Sensitivity{L0: 1, LInf: fine}, picos)
	if err != nil {
		in.t.Fatal(err)
	}
	path, err := r.Begin(mechanisms.NewSource(), zeros(1))
	if err != nil {
		in.t.Fatal(err)
	}
	total := 0.0
	for range v.Stop {
		level, err := path.Next()
		if err != nil {
			in.t.Fatal(err)
		}
		step := level.Event().(dp.ReductionEvent)
		rate := new(big.Rat).Sub(step.After, step.Before)
		total += upper(rate.Mul(rate, new(big.Rat).SetInt64(fine)))
		if _, err := level.Reveal(); err != nil {
			in.t.Fatal(err)
		}
	}
	return map[string]any{"total": total, "max_cap_of_next": v.Budget - total}
}
