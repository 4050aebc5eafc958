package mechanisms_test

import (
	"math"
	"testing"

	"dpproxy/mechanisms"
)

// doubling is the baseline without noise reduction: each look is a Gaussian
// mechanism with c times the ρ of the last, and all earlier looks are thrown away.
func doubling(t testing.TB, c float64) strategy {
	levels, err := mechanisms.GeometricLevels(countFirst, countCap, c)
	if err != nil {
		t.Fatal(err)
	}
	var looks []mechanisms.Gaussian
	hold := int64(0)
	for _, level := range levels {
		looks = append(looks, must(mechanisms.GaussianFor(one, level)))
		hold += level
	}
	return strategy{hold: hold, answer: func(src mechanisms.Source, count int64) (o outcome) {
		exact := exactly(count)[0]
		for k, m := range looks {
			o.price += levels[k]
			o.looks++
			o.value = float64(mechanisms.Release(m, src, exact).Int().Int64())
			if o.met = mechanisms.MeetsRelative(deviations*m.StdDev(), relative, o.value); o.met {
				return o
			}
		}
		return o
	}}
}

// TestDoublingOverhead holds the baseline's price to c/(c−1) times its last look.
func TestDoublingOverhead(t *testing.T) {
	for c, want := range map[float64]float64{2: 2, 4: 4.0 / 3} {
		const first, last = 1 << 10, 1 << 50
		levels, err := mechanisms.GeometricLevels(first, last, c)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for _, level := range levels {
			sum += float64(level)
		}
		if got := sum / last; math.Abs(got/want-1) > 1e-9 {
			t.Errorf("ratio %v: %v times the last look, want %v", c, got, want)
		}
	}
}

func TestGeometricLevels(t *testing.T) {
	for _, c := range []float64{1.19, 1.5, 2, 4} {
		for _, ends := range [][2]int64{{1, 1}, {1, 2}, {1, 1000}, {2_000_000, 4_000_000_000}, {7, 1 << 53}} {
			levels, err := mechanisms.GeometricLevels(ends[0], ends[1], c)
			if err != nil {
				t.Fatal(err)
			}
			if levels[len(levels)-1] != ends[1] || levels[0] < ends[0] {
				t.Errorf("ratio %v from %v: %v", c, ends, levels)
			}
			for k := 1; k < len(levels); k++ {
				grown := float64(levels[k]) / float64(levels[k-1])
				uneven := grown > c*math.Sqrt(c)*1.02 || grown < math.Sqrt(c)*0.98
				if levels[k] <= levels[k-1] || levels[k-1] > 100 && uneven {
					t.Errorf("ratio %v from %v: %v after %v", c, ends, levels[k], levels[k-1])
				}
			}
		}
	}
}
