package estimate_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"dpproxy/estimate"
)

// precise is a variance at all of the price beside which rounding to integers is nothing.
const precise = 1e12

// sumOf returns the weighted sum of the mean variances of measurements that have parts of a price.
func (t table) sumOf(tb testing.TB, parts, alone, weights []float64) (sum float64) {
	tb.Helper()
	measured := make([]float64, len(parts))
	for i, p := range parts {
		measured[i] = alone[i] / max(p, 1e-12) * precise // no part is taken to be nothing
	}
	of, err := t.agreement(tb).Variances(measured)
	if err != nil {
		tb.Fatal(err)
	}
	for i, rows := range of {
		mean := 0.0
		for _, v := range rows {
			mean += v / precise / float64(len(rows))
		}
		sum += weights[i] * mean
	}
	return sum
}

// sizes returns the numbers of rows of all measurements, to a power.
func (t table) sizes(power float64) []float64 {
	out := []float64{math.Pow(float64(t.n), power)}
	for _, n := range t.counts {
		out = append(out, math.Pow(float64(n), power))
	}
	return out
}

func (t table) parts(tb testing.TB, alone, weights []float64) []float64 {
	tb.Helper()
	parts, ok, err := t.agreement(tb).Parts(estimate.GaussianLaw, alone, weights)
	if err != nil || !ok {
		tb.Fatalf("no parts: %v", err)
	}
	sum := 0.0
	for _, p := range parts {
		if !(p >= 0) {
			tb.Errorf("a part of %v", p)
		}
		sum += p
	}
	if math.Abs(sum-1) > 1e-9 {
		tb.Errorf("parts add up to %v", sum)
	}
	return parts
}

// With weights by the numbers of rows the sum is that of the variances of all numbers, whose least value is known in closed form for
// optimal residual planning [Xiao, He, Zhang and Kifer 2023]: parts for sets of keys reach it.
func TestPartsAreThoseOfResiduals(t *testing.T) {
	for _, c := range knownCubes {
		of := cubeOf(c.sizes...)
		weights, ones := of.sizes(1), of.sizes(0)
		equal := make([]float64, len(ones))
		numbers := 0.0
		for i := range equal {
			equal[i], numbers = 1/float64(len(equal)), numbers+weights[i]
		}
		for name, want := range map[string]float64{"equal": c.equal, "least": c.best} {
			parts := equal
			if name == "least" {
				parts = of.parts(t, ones, weights)
			}
			if got := math.Sqrt(of.sumOf(t, parts, ones, weights) / numbers); math.Abs(got-want) > 0.0006 {
				t.Errorf("%v, %s: an error of %.4f, want %.3f", c.sizes, name, got, want)
			}
		}
	}
}

// The parts are those of a minimum: the sum is homogeneous of degree −1, so that there each part that matters gains as much as the sum
// itself, and none gains more. It is convex, and has no other minimum.
func TestPartsAreLeast(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 30 {
		var sizes, sets []int
		for range 1 + rng.IntN(3) {
			sizes = append(sizes, 2+rng.IntN(6))
		}
		for set := range 1<<len(sizes) - 1 {
			if rng.IntN(4) > 0 {
				sets = append(sets, set)
			}
		}
		of := tableOf(sizes, sets...)
		alone, weights := of.sizes(0), of.sizes(rng.Float64())
		for i := range alone {
			alone[i], weights[i] = math.Exp(3*rng.NormFloat64()), weights[i]*math.Exp(rng.NormFloat64())
		}
		parts := of.parts(t, alone, weights)
		sum := of.sumOf(t, parts, alone, weights)
		for i, p := range parts {
			const step = 1e-4
			more := append([]float64(nil), parts...)
			more[i] += step
			gain := (sum - of.sumOf(t, more, alone, weights)) / step
			if gain > sum*1.02 || p > 0.05 && gain < sum*0.98 {
				t.Errorf("%v of %v: the part %.4f of measurement %d gains %.4f of the sum", sets, sizes, p, i, gain/sum)
			}
		}
	}
}

// Parts for Laplace noise, whose variances fall with their squares, are better than equal ones, and better than those for Gaussian noise.
func TestPartsOfLaplaceNoise(t *testing.T) {
	for _, sizes := range [][]int{{4, 2}, {2, 2, 2, 2, 2}, {3, 5, 3}, {10, 12, 5}, {60, 10}, {600}, {3}} {
		of := cubeOf(sizes...)
		ones, weights := of.sizes(0), of.sizes(0.5)
		squared := func(parts []float64) float64 {
			var squares []float64
			for _, p := range parts {
				squares = append(squares, max(p*p, 1e-6))
			}
			return of.sumOf(t, squares, ones, weights)
		}
		equal := make([]float64, len(ones))
		for i := range equal {
			equal[i] = 1 / float64(len(equal))
		}
		parts, ok, err := of.agreement(t).Parts(estimate.LaplaceLaw, ones, weights)
		if err != nil || !ok {
			t.Fatalf("no parts: %v", err)
		}
		got, gaussian, before := squared(parts), squared(of.parts(t, ones, weights)), squared(equal)
		if got > 0.95*gaussian || gaussian > before {
			t.Errorf("%v: the sum is %.3f, with parts for Gaussian noise %.3f, with equal parts %.3f", sizes, got, gaussian, before)
		}
	}
}

// Where totals have different numbers of parts, the parts of the price are better than equal ones; where the margins are neither
// orthogonal nor a chain there are none.
func TestPartsOfOtherTables(t *testing.T) {
	uneven := table{40, [][]int{make([]int, 40), make([]int, 40)}, []int{6, 1}}
	for c := range uneven.n {
		uneven.rows[0][c] = int(math.Sqrt(float64(c)))
	}
	uneven.counts[0] = 7
	ones, weights := uneven.sizes(0), uneven.sizes(0.5)
	got := uneven.sumOf(t, uneven.parts(t, ones, weights), ones, weights)
	if equal := uneven.sumOf(t, []float64{1. / 3, 1. / 3, 1. / 3}, ones, weights); got > 0.9*equal {
		t.Errorf("the sum is %.4f, with equal parts %.4f", got, equal)
	}
	crossed := table{6, [][]int{{0, 0, 0, 1, 1, 1}, {0, 1, 1, 0, 0, 1}}, []int{2, 2}}
	if _, ok, err := crossed.agreement(t).Parts(estimate.GaussianLaw, []float64{1, 1, 1}, []float64{1, 1, 1}); ok || err != nil {
		t.Errorf("there are parts, %v", err)
	}
}

func TestPartsRefuse(t *testing.T) {
	a := cubeOf(2).agreement(t)
	for _, bad := range [][]float64{{1}, {1, 0}, {math.NaN(), 1}, {1, math.Inf(1)}} {
		if _, _, err := a.Parts(estimate.GaussianLaw, bad, []float64{1, 1}); err == nil {
			t.Errorf("accepted variances %v", bad)
		}
		if _, _, err := a.Parts(estimate.GaussianLaw, []float64{1, 1}, bad); err == nil {
			t.Errorf("accepted weights %v", bad)
		}
	}
}

// FuzzParts holds that parts are above zero and add up to one for any sizes, prices and weights.
func FuzzParts(f *testing.F) {
	f.Add(uint8(3), uint8(4), uint8(2), uint8(0xff), 1.0, 2.0)
	f.Add(uint8(1), uint8(1), uint8(1), uint8(1), 1e-30, 1e30)
	f.Fuzz(func(t *testing.T, x, y, z, sets uint8, alone, weight float64) {
		sizes := []int{1 + int(x%9), 1 + int(y%9), 1 + int(z%9)}
		var chosen []int
		for set := range 7 {
			if sets>>set&1 == 1 {
				chosen = append(chosen, set)
			}
		}
		of := tableOf(sizes, chosen...)
		all, ones := of.sizes(0), of.sizes(0.5)
		all[0], ones[len(ones)-1] = alone, weight
		for _, law := range []estimate.Law{estimate.GaussianLaw, estimate.LaplaceLaw} {
			parts, ok, err := of.agreement(t).Parts(law, all, ones)
			if err != nil || !ok {
				return
			}
			sum := 0.0
			for _, p := range parts {
				if !(p >= 0) {
					t.Fatalf("a part of %v", p)
				}
				sum += p
			}
			if !(math.Abs(sum-1) < 1e-6) {
				t.Fatalf("parts add up to %v", sum)
			}
		}
	})
}
