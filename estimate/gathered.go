package estimate

import (
	"math"
	"slices"
)

// Noise spreads values apart. Above a threshold near which many values are, or of the largest of values that are about equal, it makes
// other outcomes than the truth has, and replicas of noisy values make those again: they show the noise of the outcome, but not how far
// noise has moved it. So an interval also has the outcomes for values that may be the true ones: noisy ones gathered around those that are
// near.

// The kernel that gathers values is normal, with this part of the deviation of the noise; beyond reach deviations of its own it is 0, and
// values within a part of its own deviation count as one.
const (
	kernel = 0.8
	reach  = 4
	grain  = 0.125
)

// settled is the part of the deviation of the noise from which values move no further.
const settled = 0.01

// guessAt are how often values are gathered, of which each result is a guess of its own. It ends with the last of them at the latest.
var guessAt = []int{1, 2, 3, 5, 8, 13, 21}

// Gathered returns guesses of the true values behind noisy ones, each nearer together than the one before it, as long as noise of these
// standard deviations explains at level α how far they are from the noisy ones, and how much farther apart these are. It keeps their sum.
// Values without noise stay where they are.
func Gathered(noisy, sigmas []float64, alpha float64) (guesses [][]float64) {
	var values, deviations []float64
	for i, s := range sigmas {
		if s > 0 {
			values, deviations = append(values, noisy[i]), append(deviations, s)
		}
	}
	g := gathering{values, deviations, alpha}
	for _, of := range g.guesses() {
		all, next := slices.Clone(noisy), 0
		for i, s := range sigmas {
			if s > 0 {
				all[i], next = of[next], next+1
			}
		}
		guesses = append(guesses, all)
	}
	return guesses
}

// A gathering has values that all have noise.
type gathering struct {
	values, sigmas []float64
	alpha          float64
}

func (g gathering) guesses() (all [][]float64) {
	if len(g.values) < 2 {
		return nil
	}
	width := kernel * math.Sqrt(meanOf(squaresOf(g.sigmas)))
	at, last := slices.Clone(g.values), []float64(nil)
	for step := 1; step <= guessAt[len(guessAt)-1]; step++ {
		before := at
		at = nearer(before, width)
		guess := g.near(at)
		if !g.plausible(at, guess) {
			break
		}
		last = guess
		if slices.Contains(guessAt, step) {
			all, last = append(all, guess), nil
		}
		if apart(at, before) < settled*width {
			break
		}
	}
	if last != nil {
		all = append(all, last)
	}
	return all
}

// near returns values no farther from the noisy ones than noise may have moved any of them, and with their sum.
func (g gathering) near(at []float64) []float64 {
	most := NormalQuantile(g.alpha / float64(len(at)))
	guess, by := make([]float64, len(at)), 0.0
	for i, x := range g.values {
		guess[i] = x + min(max(at[i]-x, -most*g.sigmas[i]), most*g.sigmas[i])
		by += (x - guess[i]) / float64(len(at))
	}
	for i := range guess {
		guess[i] += by
	}
	return guess
}

// plausible reports whether noise explains how far a guess is from the noisy values, by the law of the sum of squares, and by how much the
// sum of squares around the mean is less than theirs.
func (g gathering) plausible(at, guess []float64) bool {
	z := NormalQuantile(g.alpha)
	variances := squaresOf(g.sigmas)
	off, variance, fourth, cross := 0.0, 0.0, 0.0, 0.0
	centre, spread := meanOf(at), 0.0
	middle := meanOf(g.values)
	for i, v := range variances {
		off += (g.values[i] - guess[i]) * (g.values[i] - guess[i])
		d := (at[i] - centre) * (at[i] - centre)
		spread += (g.values[i]-middle)*(g.values[i]-middle) - d
		variance, fourth, cross = variance+v, fourth+2*v*v, cross+4*v*d
	}
	return off <= variance+z*math.Sqrt(fourth) && spread <= variance+z*math.Sqrt(fourth+cross)
}

// nearer returns each value's mean with those that are near it.
func nearer(values []float64, width float64) []float64 {
	sorted := slices.Sorted(slices.Values(values))
	var at, weight []float64
	for i, x := range sorted {
		if n := len(at); n > 0 && x-sorted[i-int(weight[n-1])] < grain*width {
			weight[n-1]++
			at[n-1] += (x - at[n-1]) / weight[n-1]
			continue
		}
		at, weight = append(at, x), append(weight, 1)
	}
	out := make([]float64, len(values))
	for i, x := range values {
		first, _ := slices.BinarySearch(at, x-reach*width)
		sum, by := 0.0, 0.0
		for k := first; k < len(at) && at[k] <= x+reach*width; k++ {
			d := (at[k] - x) / width
			w := weight[k] * math.Exp(-d*d/2)
			sum, by = sum+w, by+w*(at[k]-x)
		}
		out[i] = x + by/sum
	}
	return out
}

func meanOf(values []float64) float64 {
	sum := 0.0
	for _, x := range values {
		sum += x
	}
	return sum / float64(len(values))
}

func squaresOf(values []float64) []float64 {
	all := make([]float64, len(values))
	for i, x := range values {
		all[i] = x * x
	}
	return all
}

// apart is the largest distance of values.
func apart(a, b []float64) (most float64) {
	for i := range a {
		most = max(most, math.Abs(a[i]-b[i]))
	}
	return most
}
