package mechanisms_test

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"dpproxy/dp"
	"dpproxy/internal/stattest"
	"dpproxy/mechanisms"
)

// totals returns the mechanism for sequences of values that a unit changes by at most linf, at ρ = 1/2: its unit of error is linf.
func totals(t testing.TB, length int, linf int64) mechanisms.Totals {
	t.Helper()
	m, err := mechanisms.TotalsFor(dp.Sensitivity{L0: 1, LInf: linf}, length, dp.PicoPerUnit/2)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func protectedAll(values []int64) []mechanisms.Private {
	out := make([]mechanisms.Private, len(values))
	for i, v := range values {
		out[i] = mechanisms.Protect(big.NewInt(v))
	}
	return out
}

// TestTotalsSensitivity measures all neighbours of small sequences with the same noise: the difference is that of the measurements
// themselves. None is longer than the event says, some is as long, and no shorter sequence has another bound than its own column.
func TestTotalsSensitivity(t *testing.T) {
	const linf = 3
	seed := [32]byte{1}
	for length := 1; length <= 6; length++ {
		m := totals(t, length, linf)
		e := m.Event().(dp.ImageEvent)
		longest := new(big.Int)
		for n := 1; n <= length; n++ {
			values := []int64{7, -2, 0, 5, 1 << 40, 3}[:n]
			before := m.Measure(rand.NewChaCha8(seed), protectedAll(values))
			for at := range n {
				for by := int64(-linf); by <= linf; by++ {
					changed := slices.Clone(values)
					changed[at] += by
					square := new(big.Int)
					for i, y := range m.Measure(rand.NewChaCha8(seed), protectedAll(changed)) {
						d := y.Int()
						d.Sub(d, before[i].Int())
						square.Add(square, d.Mul(d, d))
					}
					if square.Cmp(longest) > 0 {
						longest = square
					}
				}
			}
		}
		if longest.Cmp(e.L2Squared) != 0 || e.Coordinates != int64(length) {
			t.Errorf("of %d values a unit moves measurements by √%v, and the event says √%v", length, longest, e.L2Squared)
		}
	}
}

// TestTotalsRefuse holds that nothing else than one changed value is accepted, nor more values than the sensitivity is of.
func TestTotalsRefuse(t *testing.T) {
	one := dp.Sensitivity{L0: 1, LInf: 1}
	for name, of := range map[string]struct {
		s    dp.Sensitivity
		n    int
		pico int64
	}{
		"two values":   {dp.Sensitivity{L0: 2, LInf: 1}, 5, 1},
		"no change":    {dp.Sensitivity{L0: 1}, 5, 1},
		"none":         {one, 0, 1},
		"too many":     {one, mechanisms.MaxTotals + 1, 1},
		"no price":     {one, 5, 0},
		"a huge value": {dp.Sensitivity{L0: 1, LInf: 1 << 50}, 5, 1},
	} {
		if _, err := mechanisms.TotalsFor(of.s, of.n, of.pico); !errors.Is(err, mechanisms.ErrParameter) {
			t.Errorf("%s: %v", name, err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a sequence was measured that is longer than its sensitivity")
		}
	}()
	totals(t, 3, 1).Measure(seeded(t), protectedAll(make([]int64, 4)))
}

// normalCells is the law of a normal number that is rounded to an integer.
func normalCells(sigma float64) func(int64) float64 {
	return func(n int64) float64 {
		cdf := func(x float64) float64 { return math.Erfc(-x/sigma/math.Sqrt2) / 2 }
		return cdf(float64(n)+0.5) - cdf(float64(n)-0.5)
	}
}

// TestTotalsHaveTheirLaw holds the first, a middle and the last total of exact values to their laws, and rejects errors that are wrong
// by 20 %, as well as that of the totals of values which have noise by themselves.
func TestTotalsHaveTheirLaw(t *testing.T) {
	const length, linf = 12, 40
	m := totals(t, length, linf)
	values, before, all := []int64{1 << 50, 0, -7, 3, 3, 3, 0, 0, 1, 900, -1 << 40, 5}, []int64{}, int64(0)
	for _, v := range values {
		all += v
		before = append(before, all)
	}
	_, sigmas := m.Deviations(length)
	exact := protectedAll(values)
	for _, at := range []int{0, 5, length - 1} {
		src := seeded(t)
		draw := func() int64 {
			total := new(big.Int)
			for _, v := range m.Values(m.Measure(src, exact))[:at+1] {
				total.Add(total, v)
			}
			return total.Int64() - before[at]
		}
		const draws = 3000
		if p, ok := stattest.Accept(draws, draw, normalCells(sigmas[at])); !ok {
			t.Errorf("total %d: rejected with p = %g", at, p)
		}
		samples := stattest.Draw(4*draws, draw)
		alone := linf * math.Sqrt(float64(at+1))
		for name, sigma := range map[string]float64{"20 % more": sigmas[at] * 1.2, "values by themselves": alone} {
			if p := stattest.Fit(samples, normalCells(sigma)); p >= stattest.Level {
				t.Errorf("total %d: the error of %s is accepted with p = %g", at, name, p)
			}
		}
	}
}

// TestReplicasOfTotals holds that replicas are what the same noise makes of measurements, and that deviations are those of sums of it.
func TestReplicasOfTotals(t *testing.T) {
	const length = 40
	m := totals(t, length, 1000)
	src := seeded(t)
	noise := m.Measure(src, protectedAll(make([]int64, length)))
	normal := make([]float64, length)
	for i, z := range noise {
		f, _ := new(big.Float).SetInt(z.Int()).Float64()
		normal[i] = f / m.StdDev()
	}
	replica := m.Replica(normal)
	for i, v := range m.Values(noise) {
		if v.Int64() != replica[i] {
			t.Errorf("value %d has noise %v, and its replica %d", i, v, replica[i])
		}
	}
	values, sums := m.Deviations(length)
	squares, all := make([]float64, length), make([]float64, length)
	for j := range length { // one measurement at a time
		unit, total := make([]float64, length), 0.0
		const large = 1e6
		unit[j] = large
		for i, v := range m.Replica(unit) {
			total += float64(v)
			squares[i], all[i] = squares[i]+float64(v)*float64(v)/large/large, all[i]+total*total/large/large
		}
	}
	for i := range length {
		if math.Abs(math.Sqrt(squares[i])/values[i]-1) > 1e-6 || math.Abs(math.Sqrt(all[i])/sums[i]-1) > 1e-6 {
			t.Errorf("value %d: %v and %v, stated %v and %v", i, math.Sqrt(squares[i]), math.Sqrt(all[i]), values[i], sums[i])
		}
	}
}

// TestErrorsOfTotals compares the largest error and the root of their mean square with the literature, in units of the error of one
// number at the same price, and the price with the one that was asked for.
func TestErrorsOfTotals(t *testing.T) {
	const linf = 1 << 20
	for _, of := range []struct {
		length       int
		most, square float64
	}{{30, 2.15, 1.99}, {365, 2.94, 2.78}} {
		values, sums := totals(t, of.length, linf).Deviations(of.length)
		square := 0.0
		for _, s := range sums {
			square += s * s / float64(of.length)
		}
		if most := slices.Max(sums) / linf; math.Abs(most-of.most) > 0.006 || math.Abs(math.Sqrt(square)/linf-of.square) > 0.006 {
			t.Errorf("%d: at most %.3f, and %.3f in the mean", of.length, most, math.Sqrt(square)/linf)
		}
		t.Logf("%d: first %.3f, middle %.3f, last %.3f; a value %.3f to %.3f", of.length, sums[0]/linf, sums[of.length/2]/linf,
			sums[of.length-1]/linf, values[0]/linf, values[of.length-1]/linf)
	}
}
