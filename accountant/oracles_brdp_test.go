package accountant_test

import (
	"math"
	"math/big"

	"dpproxy/brdp"
	"dpproxy/brdp/papertest"
	"dpproxy/dp"
)

// Recycled noise.
func init() {
	register(map[string]func(inputs) any{
		"brdp_laplace_acceptance": numbers(func(in map[string]float64) []float64 {
			g := papertest.LaplaceLimit{
				Scale: 1 / in["eps_y"], Theta: in["theta_over_delta"], Recycle: -math.Expm1(in["eps_y"] - in["eps"]),
			}
			plain := papertest.LaplaceLimit{Scale: 1 / in["eps"], Theta: in["theta_over_delta"]}
			return []float64{g.Acceptance(), g.Recycle, plain.Acceptance()}
		}),
		"brdp_laplace_opt_eps_y": number(func(in map[string]float64) float64 {
			epsilon, given := in["eps"]
			if !given {
				epsilon = math.Inf(1)
			}
			return papertest.LaplaceShare(in["theta_over_delta"], 1, epsilon)
		}),
		"brdp_laplace_pure_eps": number(func(in map[string]float64) float64 {
			return papertest.LaplaceLimit{Scale: 1 / in["eps_y"], Theta: 1, Recycle: in["q"]}.Epsilon(1)
		}),
		"brdp_gauss_exact_delta": exactDelta,
		"brdp_gauss_safe_design": func(in inputs) any {
			v := decode[struct{ Sigma, Theta, L, Eps float64 }](in)
			g, delta, err := papertest.SafeGaussian(v.Sigma, v.Theta, v.L, v.Eps)
			if err != nil {
				in.t.Fatal(err)
			}
			return []any{g.Recycle, delta, g.Acceptance()}
		},
		"brdp_gauss_pdf": func(in inputs) any {
			v := decode[struct {
				Sigma, Theta, Q float64
				Y               []float64
			}](in)
			return density(papertest.GaussianLimit{Sigma: v.Sigma, Theta: v.Theta, Recycle: v.Q}, v.Y)
		},
		"brdp_laplace_pdf": func(in inputs) any {
			v := decode[struct {
				B, Theta, Q float64
				Y           []float64
			}](in)
			return density(papertest.LaplaceLimit{Scale: v.B, Theta: v.Theta, Recycle: v.Q}, v.Y)
		},
		"brdp_lattice":     latticeLaw,
		"brdp_lattice_rho": recycledRho,
	})
}

// A limit is recycled noise on the real line.
type limit interface {
	PDF(y float64) float64
	Outside() float64
	Acceptance() float64
}

// density returns the density at each y, then the mass outside of the boundary
// under the kernel, and the acceptance.
func density(l limit, ys []float64) any {
	var all []any
	for _, y := range ys {
		all = append(all, l.PDF(y))
	}
	return append(all, l.Outside(), l.Acceptance())
}

// exactDelta returns the true δ and the one that the paper states, which is
// another; on a fine lattice the product gives the true one.
func exactDelta(in inputs) any {
	v := decode[struct{ Sigma, Theta, Q, Eps, Shift float64 }](in)
	g := papertest.GaussianLimit{Sigma: v.Sigma, Theta: v.Theta, Recycle: v.Q}
	exact, stated := g.Delta(v.Eps, v.Shift), papertest.Delta(g, v.Eps, v.Shift)
	const unit = 1 << 12
	variance, _ := big.NewFloat(v.Sigma * v.Sigma * unit * unit).Int(nil)
	law, err := brdp.NewLaw(dp.RecycledEvent{
		Kernel:   dp.GaussianEvent{Sensitivity: dp.Sensitivity{L0: 1, LInf: int64(v.Shift * unit)}, Variance: variance},
		Boundary: int64(v.Theta * unit), Recycle: big.NewRat(int64(v.Q*(1<<52)), 1<<52),
	})
	if err != nil {
		in.t.Fatal(err)
	}
	if fine := law.Delta(v.Eps); exact > 1e-12 && !near(fine, exact, 1e-2) {
		in.t.Errorf("on a fine lattice δ = %v; exact %v, stated by the paper %v", fine, exact, stated)
	}
	return []any{exact, stated}
}

// recycledLaw reads the law of noise on a lattice.
func recycledLaw(in inputs) brdp.Law {
	v := decode[struct {
		Kernel    string
		Parameter float64 `json:"per_unit_eps_or_sigma2"`
		Theta     int64
		Q         float64
		Delta     int64 `json:"delta_int"`
	}](in)
	s := dp.Sensitivity{L0: 1, LInf: v.Delta}
	var kernel dp.Event = dp.LaplaceEvent{Sensitivity: s, Scale: new(big.Rat).Inv(decimal(v.Parameter))}
	if v.Kernel == "dgauss" {
		kernel = dp.GaussianEvent{Sensitivity: s, Variance: big.NewInt(int64(v.Parameter))}
	}
	law, err := brdp.NewLaw(dp.RecycledEvent{Kernel: kernel, Boundary: v.Theta, Recycle: decimal(v.Q)})
	if err != nil {
		in.t.Fatal(err)
	}
	return law
}

func latticeLaw(in inputs) any {
	v := decode[struct {
		Theta int64
		Eps   float64
	}](in)
	law := recycledLaw(in)
	all := []any{law.PMF(0), law.PMF(v.Theta), law.PMF(v.Theta + 1), law.Acceptance(), law.Delta(v.Eps)}
	if epsilon, pure := law.Epsilon(); pure {
		all = append(all, upper(epsilon))
	}
	return all
}

// recycledRho takes an expected value as the largest rate at some orders α: the
// price has to be at least that and, within the tolerance, at most the largest
// rate at many more orders. (At v = 16, θ = 3, q = 0.6, Δ = 1 the supremum is
// 0.117822, at α = 4.63, and a value of 0.117165 is in circulation.)
func recycledRho(in inputs) any {
	const tolerance = 2e-3
	law, want := recycledLaw(in), in.want.(float64)
	shift := decode[struct {
		Delta int64 `json:"delta_int"`
	}](in).Delta
	pair := logPair(law, shift)
	peak := want
	for a := 1e-6; a < 1e4; a *= 1.02 {
		peak = max(peak, renyi(pair, a)/(1+a))
	}
	rho := law.Rho()
	if rho < want*(1-1e-9) || rho > peak*(1+tolerance) {
		in.t.Errorf("ρ = %v, the largest rate is %v", rho, peak)
	}
	if rho > want*(1+tolerance) {
		in.t.Logf("the expected %v is below the supremum, %v", want, peak)
	}
	return want
}

// logPair returns the logarithms of a law and of itself moved by shift, where
// doubles hold both.
func logPair(law brdp.Law, shift int64) (pair [][2]float64) {
	reach := int64(min(law.Quantile(1e-270), 1e6)) + shift
	for n := -reach; n <= reach; n++ {
		if p, q := law.PMF(n), law.PMF(n-shift); p > 1e-290 && q > 1e-290 {
			pair = append(pair, [2]float64{math.Log(p), math.Log(q)})
		}
	}
	return pair
}

// renyi returns the Rényi divergence of order 1 + a of a pair, summed term by term
// in logarithms.
func renyi(pair [][2]float64, a float64) float64 {
	rate := func(pq [2]float64) float64 { return (1+a)*pq[0] - a*pq[1] }
	top, sum := math.Inf(-1), 0.0
	for _, pq := range pair {
		top = max(top, rate(pq))
	}
	for _, pq := range pair {
		sum += math.Exp(rate(pq) - top)
	}
	return (top + math.Log(sum)) / a
}
