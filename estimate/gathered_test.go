package estimate_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"dpproxy/estimate"
)

// above counts the values above a threshold.
func above(values []float64, threshold float64) (n float64) {
	for _, x := range values {
		if x > threshold {
			n++
		}
	}
	return n
}

// TestGatheredHolds counts groups above a threshold at which all of them are, or that is in a continuum of them: the interval has the true
// number if it has the outcomes for guesses, all moved by what their mean may be off. With replicas alone it does not, nor with guesses
// that are moved without being gathered.
func TestGatheredHolds(t *testing.T) {
	const draws, replicas, sigma, alpha = 200, 99, 10.0, 0.05
	equal, sizes := make([]float64, 60), make([]float64, 30)
	for i := range equal {
		equal[i] = 1
	}
	for i := range sizes {
		sizes[i] = float64(i % 15)
	}
	for name, truth := range map[string][]float64{"equal": equal, "sizes": sizes} {
		rng := rand.New(rand.NewPCG(7, 3))
		sigmas := make([]float64, len(truth))
		for i := range sigmas {
			sigmas[i] = sigma
		}
		noisy := func(of []float64) []float64 {
			out := make([]float64, len(of))
			for i, x := range of {
				out[i] = x + sigma*rng.NormFloat64()
			}
			return out
		}
		outcomes := func(of [][]float64) (all []float64) {
			by := estimate.NormalQuantile(alpha) * sigma / math.Sqrt(float64(len(truth)))
			for _, guess := range of {
				for _, side := range []float64{-by, 0, by} {
					all = append(all, above(guess, -side))
				}
			}
			return all
		}
		held := map[string]int{}
		for range draws {
			released := noisy(truth)
			var all []float64
			for range replicas {
				all = append(all, above(noisy(released), 0))
			}
			r, _ := estimate.NewReplay(above(released, 0), all, alpha)
			for by, guesses := range map[string][][]float64{
				"replicas": nil, "moved": {released}, "gathered": append(estimate.Gathered(released, sigmas, alpha), released),
			} {
				of := r.Including(outcomes(guesses))
				if n := above(truth, 0); of.Low <= n && n <= of.High {
					held[by]++
				}
			}
		}
		if held["gathered"] < draws*93/100 || held["replicas"] > draws*3/5 || held["moved"] > draws*3/4 {
			t.Errorf("%s: %v of %d hold", name, held, draws)
		}
	}
}

// TestGatheredKeeps has values that are farther apart than noise explains, and one without noise: none of them moves, and sums stay.
func TestGatheredKeeps(t *testing.T) {
	far := []float64{0, 100, 200, 1000, 205}
	for _, guess := range estimate.Gathered(far, []float64{10, 10, 10, 10, 0}, 0.05) {
		for i, x := range guess {
			if math.Abs(x-far[i]) > 1 {
				t.Errorf("%v", guess)
			}
		}
	}
	near, sigmas, sum := []float64{0, 3, 9, 12, 14, 31, 90}, []float64{10, 10, 10, 10, 10, 10, 10}, 159.0
	guesses := estimate.Gathered(near, sigmas, 0.05)
	if len(guesses) < 2 {
		t.Errorf("%d guesses", len(guesses))
	}
	before := math.Inf(1)
	for _, guess := range guesses {
		total, apart := 0.0, guess[4]-guess[0]
		for _, x := range guess {
			total += x
		}
		if math.Abs(total-sum) > 1e-6 || apart >= before {
			t.Errorf("%v: the sum is %v, and they are %v apart, before %v", guess, total, apart, before)
		}
		before = apart
	}
	if guesses := estimate.Gathered([]float64{5}, []float64{3}, 0.05); guesses != nil {
		t.Errorf("a single value: %v", guesses)
	}
}
