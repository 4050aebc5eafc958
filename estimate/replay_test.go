package estimate_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"dpproxy/estimate"
)

// TestReplayHolds has values computed of numbers with normal noise, and counts how often the interval has what they are without noise.
func TestReplayHolds(t *testing.T) {
	const draws, replicas, alpha = 2000, 199, 0.05
	truths := []float64{100, 40, 7, 300}
	for _, c := range []struct {
		name  string
		of    func([]float64) float64
		sigma float64
		least float64 // of draws, in per cent
	}{
		{"sum", func(x []float64) float64 { return x[0] + x[1] + x[2] + x[3] }, 5, 94},
		{"ratio", func(x []float64) float64 { return x[0] / x[3] }, 5, 94},
		{"clamped", func(x []float64) float64 { return math.Max(x[2], 0) }, 10, 94},
		{"square", func(x []float64) float64 { return x[2] * x[2] }, 3, 92},
		{"most, far ahead", func(x []float64) float64 { return max(x[0], x[1], x[2], x[3]) }, 5, 94},
	} {
		rng, held := rand.New(rand.NewPCG(7, 1)), 0
		noisy := func(of []float64) []float64 {
			out := make([]float64, len(of))
			for i, x := range of {
				out[i] = x + c.sigma*rng.NormFloat64()
			}
			return out
		}
		for range draws {
			released := noisy(truths)
			var all []float64
			for range replicas {
				all = append(all, c.of(noisy(released)))
			}
			r, ok := estimate.NewReplay(c.of(released), all, alpha)
			if !ok {
				t.Fatal("too few")
			}
			if truth := c.of(truths); r.Low <= truth && truth <= r.High {
				held++
			}
		}
		if per := 100 * float64(held) / draws; per < c.least || per > 99 {
			t.Errorf("%s: %.1f %% held", c.name, per)
		}
	}
}

// TestReplayOfOneEnd has a maximum of many equal groups, which noise raises: the upper end holds, and no lower one is stated.
func TestReplayOfOneEnd(t *testing.T) {
	const groups, sigma, draws, replicas = 100, 8, 200, 199
	rng := rand.New(rand.NewPCG(7, 2))
	noticed, held := 0, 0
	for range draws {
		released := make([]float64, groups)
		for i := range released {
			released[i] = 50 + sigma*rng.NormFloat64()
		}
		most := func(noise float64) float64 {
			m := math.Inf(-1)
			for _, x := range released {
				m = max(m, x+noise*rng.NormFloat64())
			}
			return m
		}
		value := most(0)
		var all []float64
		for range replicas {
			all = append(all, most(sigma))
		}
		r, _ := estimate.NewReplay(value, all, 0.05)
		if r.Up && math.IsInf(r.Low, -1) && r.By > 0 {
			noticed++
		}
		if r.High >= 50 {
			held++
		}
	}
	if noticed < 0.95*draws || held < 0.95*draws {
		t.Errorf("noticed %d, held %d of %d", noticed, held, draws)
	}
}

func TestReplayRanks(t *testing.T) {
	var all []float64
	for i := range 39 {
		all = append(all, float64(i-19)) // −19, ..., 19
	}
	r, ok := estimate.NewReplay(0, all, 0.05)
	if !ok || r.Low != -19 || r.High != 19 || r.Up || r.Down {
		t.Errorf("%+v %v", r, ok)
	}
	if _, ok := estimate.NewReplay(0, all[1:], 0.05); ok {
		t.Error("38 replicas are enough")
	}
	if r, _ := estimate.NewReplay(-14, all, 0.05); !r.Up || !math.IsInf(r.Low, -1) || r.High != 19 || r.By != 14 {
		t.Errorf("%+v", r)
	}
	if r, _ := estimate.NewReplay(14, all, 0.05); !r.Down || !math.IsInf(r.High, 1) || r.Low != -19 || r.By != 14 {
		t.Errorf("%+v", r)
	}
	if r, _ := estimate.NewReplay(-11, all, 0.05); r.Up { // 30 of 39 are above
		t.Errorf("%+v", r)
	}
}

// TestCentred has replicas that noise moves to neither side, and others that it moves; and guesses near the interval, or far from it.
func TestCentred(t *testing.T) {
	for _, c := range []struct {
		shift   float64
		guesses []float64
		want    bool
	}{
		{0, nil, true},
		{0, []float64{-60, 55}, true},
		{0, []float64{-90}, false},
		{0, []float64{90}, false},
		{20, nil, false},
		{-20, nil, false},
		{200, nil, false},
	} {
		var replicas []float64
		for i := -50; i <= 50; i++ {
			replicas = append(replicas, float64(i)+c.shift)
		}
		r, ok := estimate.NewReplay(0, replicas, 0.05)
		if got := r.Centred(c.guesses); got != c.want || !ok {
			t.Errorf("shifted by %v, with guesses %v: %v", c.shift, c.guesses, got)
		}
	}
}
