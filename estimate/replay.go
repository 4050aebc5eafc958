package estimate

import (
	"math"
	"slices"
)

// A Replay is the error of a value that was computed of noisy numbers, by replicas of it: the same computation of the released numbers with
// fresh noise of the same law. It is no law but the observation of one: v* − v is distributed about as v − truth is.
//
// The interval is [min(v − h, q₋), max(v + h, q₊)], where h is the ⌈(1−α)(n+1)⌉-th smallest |v* − v| of n replicas v*, and q₋, q₊ are the
// α/2 and 1−α/2 quantiles of v*, by ranks of n+1. With h alone it would be too short where the value is clamped, with the quantiles alone
// where it is convex in the noise. In simulations it holds as often as it says but where noise moves values one way only, as it does a
// maximum of groups that are about equal; these are of one end.
type Replay struct {
	Low, High float64 // −Inf or +Inf if that end is not known
	// Up and Down say that noise has raised, or lowered, the value by about By: then the other end alone is known.
	Up, Down bool
	By       float64
	// Below and Above are the parts of the distances from the ends that are no noise.
	Below, Above float64
	// StdDev is half of the distance between the quantiles that are two standard deviations apart in a normal law.
	StdDev float64
	// Of are the replicas that have the value.
	Of int

	off float64 // how far their median is from the value
}

// The parts of the interval by which replicas, and outcomes for guesses, may be to one side of a value that noise moves to neither.
const (
	centred = 0.05
	nearby  = 0.2
)

// Centred reports whether noise moves the value to neither side: half of the replicas are about as far up as down, and no outcome for a
// guess is far outside of the interval.
func (r Replay) Centred(guesses []float64) bool {
	with := r.Including(guesses)
	width := r.High - r.Low
	return !r.Up && !r.Down && r.off <= centred*width && max(r.Low-with.Low, with.High-r.High) <= nearby*width
}

// FewestReplicas returns how many replicas an interval of a level needs, such that both quantiles are among them.
func FewestReplicas(alpha float64) int { return int(math.Ceil(2/alpha)) - 1 }

// oneSided is the part of the replicas beyond the value on one side that says that noise has moved it to that side.
const oneSided = 0.8

// oneDeviation is the probability that a normal number is more than one standard deviation below its mean.
const oneDeviation = 0.158655

// NewReplay returns the error at level α of a finite value with the finite replicas that it has. ok is false if they are too few.
func NewReplay(value float64, replicas []float64, alpha float64) (r Replay, ok bool) {
	n := len(replicas)
	if n < FewestReplicas(alpha) {
		return r, false
	}
	sorted, distances := slices.Sorted(slices.Values(replicas)), make([]float64, n)
	above, below := 0, 0
	for i, x := range sorted {
		distances[i] = math.Abs(x - value)
		switch {
		case x > value:
			above++
		case x < value:
			below++
		}
	}
	slices.Sort(distances)
	h := ranked(distances, 1-alpha)
	r = Replay{Low: min(value-h, ranked(sorted, alpha/2)), High: max(value+h, ranked(sorted, 1-alpha/2)), Of: n}
	r.StdDev = (ranked(sorted, 1-oneDeviation) - ranked(sorted, oneDeviation)) / 2
	by := math.Abs(ranked(sorted, 0.5) - value)
	r.off = by
	switch most := oneSided * float64(n); {
	case float64(above) > most:
		r.Up, r.Low, r.By = true, math.Inf(-1), by
	case float64(below) > most:
		r.Down, r.High, r.By = true, math.Inf(1), by
	}
	return r, true
}

// Including returns the error with the outcomes for guesses of the truth in the interval.
func (r Replay) Including(guesses []float64) Replay {
	for _, x := range guesses {
		r.Low, r.High = min(r.Low, x), max(r.High, x)
	}
	return r
}

// Moved returns the error of a value that something else than noise may have moved as well, as limits of contributions do: both ends go as
// much further as the value was moved to either side where that was tried.
func (r Replay) Moved(value float64, tried []float64) Replay {
	for _, x := range tried {
		r.Below, r.Above = max(r.Below, value-x), max(r.Above, x-value)
	}
	r.Low, r.High = r.Low-r.Below, r.High+r.Above
	return r
}

// ranked returns the ⌈p(n+1)⌉-th smallest of n sorted numbers.
func ranked(sorted []float64, p float64) float64 {
	i := int(math.Ceil(p*float64(len(sorted)+1)-1e-9)) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}
