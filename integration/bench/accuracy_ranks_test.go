package bench_test

import (
	"crypto/rand"
	"encoding/binary"
	"math"
	"math/big"
	mathrand "math/rand/v2"
	"slices"
	"testing"

	"dpproxy/dp"
	"dpproxy/estimate"
	"dpproxy/mechanisms"
)

// bounded are the bounds of the values of whose percentiles TestAccuracyRanks asks.
const bounded = 1 << 16

// ranked are the values that percentiles are of: lognormal ones, or 91 of which each has a bucket of its own.
func ranked(n int, few bool) []int64 {
	r := mathrand.New(mathrand.NewPCG(1, uint64(n)))
	values := make([]int64, n)
	for i := range values {
		if values[i] = min(int64(170*math.Exp(1.4*r.NormFloat64())), bounded-1); few {
			values[i] = min(90, int64(90*r.Float64()))
		}
	}
	slices.Sort(values)
	return values
}

// TestAccuracyRanks prints how far percentiles are off, by rank, where a bucket is chosen and where they are read off a histogram, at
// equal price: with the mechanisms of both, of rows of which a person has so many at most.
func TestAccuracyRanks(t *testing.T) {
	if !*accuracy {
		return // a measurement, not a test: make accuracy runs it
	}
	const draws = 200
	for _, c := range []struct {
		rows, most int
		rho, q     float64
		few        bool
	}{
		{13_673, 20, .005, .5, false},
		{2000, 1, .005, .5, false},
		{2000, 1, .005, .95, false},
		{2000, 1, .0005, .5, false},
		{100_000, 20, .005, .95, false},
		{2000, 1, .0005, .95, false},
		{2000, 1, .0005, .5, true},
	} {
		values := ranked(c.rows, c.few)
		off := func(answer func() int64) (half, most float64) {
			errors := make([]float64, draws)
			for i := range errors {
				errors[i] = rankError(values, c.q, answer())
			}
			slices.Sort(errors)
			return 100 * errors[draws/2], 100 * errors[draws*95/100]
		}
		treeHalf, treeMost := off(readOff(t, values, c.most, c.rho, c.q, c.few))
		half, most := off(chooseOf(t, values, c.most, c.rho, c.q, c.few))
		t.Logf("%d rows, %d of a person, ρ=%v, percentile %v, few values: %t; histogram %.2g %% and %.2g %%, chosen %.2g %% and %.2g %%",
			c.rows, c.most, c.rho, c.q, c.few, treeHalf, treeMost, half, most)
	}
}

// rankError is the distance of an answer from the fraction q of the values, as a share of their number.
func rankError(values []int64, q float64, x int64) float64 {
	below, _ := slices.BinarySearch(values, x)
	upTo, _ := slices.BinarySearch(values, x+1)
	at := q * float64(len(values))
	return max(0, float64(below)-at, at-float64(upTo)) / float64(len(values))
}

// shapeOf returns the shape of so many buckets.
func shapeOf(t *testing.T, few bool, buckets, branching int) estimate.Shape {
	t.Helper()
	high := int64(bounded - 1)
	if few {
		high, buckets = 90, 91
	}
	shape, err := estimate.NewShape(0, high, buckets, branching)
	if err != nil {
		t.Fatal(err)
	}
	return shape
}

// levelOf counts values by the nodes of a level.
func levelOf(values []int64, s estimate.Shape, level int) []int64 {
	counts := make([]int64, s.Nodes(level))
	for _, x := range values {
		counts[s.Number(x)/s.Divisor(level)]++
	}
	return counts
}

// random draws bits for measurements.
type random struct{}

func (random) Uint64() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return binary.NativeEndian.Uint64(b[:])
}

// readOff reads percentiles off histograms, of which every level has an equal part of the price.
func readOff(t *testing.T, values []int64, most int, rho, q float64, few bool) func() int64 {
	t.Helper()
	shape := shapeOf(t, few, 4096, 16)
	part := int64(rho * dp.PicoPerUnit / float64(shape.Levels()))
	noise, err := mechanisms.GaussianFor(dp.Sensitivity{L0: 1, LInf: int64(most)}, part)
	if err != nil {
		t.Fatal(err)
	}
	noises := make([]estimate.Noise, shape.Levels())
	for l := range noises {
		noises[l] = noise
	}
	tree, err := estimate.NewTree(shape, noises, nil)
	if err != nil {
		t.Fatal(err)
	}
	return func() int64 {
		counts := make([][]*big.Int, shape.Levels())
		for l := range counts {
			for _, n := range levelOf(values, shape, l) {
				counts[l] = append(counts[l], mechanisms.Release(noise, random{}, mechanisms.Protect(big.NewInt(n))).Int())
			}
		}
		d, err := tree.Fit(counts, nil)
		if err != nil {
			t.Fatal(err)
		}
		x, _ := d.QuantileDisc(q)
		return x
	}
}

// chooseOf chooses the bucket of a percentile, and is its middle.
func chooseOf(t *testing.T, values []int64, most int, rho, q float64, few bool) func() int64 {
	t.Helper()
	shape := shapeOf(t, few, 1<<14, 1<<14)
	var weights []mechanisms.Private
	for _, n := range levelOf(values, shape, shape.Levels()-1) {
		weights = append(weights, mechanisms.Protect(big.NewInt(n)))
	}
	a := int64(math.Round(100 * q))
	of, err := mechanisms.NewQuantile(int64(most), a, 100, mechanisms.BoundedRangeFor(int64(rho*dp.PicoPerUnit)))
	if err != nil {
		t.Fatal(err)
	}
	return func() int64 {
		i, err := of.Choose(random{}, weights)
		if err != nil {
			t.Fatal(err)
		}
		first, last := shape.Bucket(i)
		return first + (last-first)/2
	}
}
