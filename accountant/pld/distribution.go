package pld

import (
	"errors"
	"fmt"
	"math"
)

// ErrParameter is wrapped by the errors for arguments that make no sense.
var ErrParameter = errors.New("pld: invalid parameter")

const (
	// farLoss is the largest loss of one coordinate that is not counted as infinite.
	farLoss = 600
	// maxRepeats bounds the number of coordinates of a composition.
	maxRepeats = 1 << 40
	// leastStep is the finest grid. It is so coarse that the slack of a mass moves
	// little of it to another point.
	leastStep = 1e-9
	// maxCells bounds the points of the grid that one pair takes.
	maxCells = 1 << 22
)

// A Distribution is an upper bound of a privacy loss: its δ(ε) is at least that
// of the events it was made from, for every ε. It is immutable. The zero
// Distribution is that of releasing nothing.
type Distribution struct {
	step     float64
	parts    []part
	failure  float64  // the probability of an infinite loss that is no part's
	gaussian gaussian // composed by its formula; parts are empty then
}

// A part is the law of one pair's loss on the grid, and how often it occurs.
type part struct {
	first    int64     // mass[i] is that of the loss (first+i)·step
	mass     []float64 // under P
	infinite float64   // the mass of an infinite loss
	most     float64   // bounds the loss, if that can be done
	repeats  int64
}

// last returns the largest finite loss in steps.
func (p part) last() int64 { return p.first + int64(len(p.mass)) - 1 }

// FromPair returns the privacy loss of one coordinate with noise of the law pmf
// that changes by shift, on the grid of the multiples of step. pmf gives the
// probability of n and of −n for 0 ≤ n ≤ reach, to a relative 10⁻¹²; all
// others together have at most the probability tail, which counts as an infinite
// loss. pmf must not increase, or the pair would not cover smaller changes.
func FromPair(pmf func(n int64) float64, reach int64, tail float64, shift int64, step float64) (Distribution, error) {
	switch {
	case reach < 0 || shift < 1 || reach > maxCells || shift > maxCells:
		return Distribution{}, fmt.Errorf("%w: a reach of %d and a shift of %d", ErrParameter, reach, shift)
	case !(tail >= 0 && tail <= 1):
		return Distribution{}, fmt.Errorf("%w: a tail of %g", ErrParameter, tail)
	case !(step >= leastStep) || math.IsInf(step, 1):
		return Distribution{}, fmt.Errorf("%w: a step of %g", ErrParameter, step)
	}
	law := make([]float64, reach+1)
	total := tail
	for n := reach; n >= 0; n-- {
		law[n] = pmf(n)
		if !(law[n] >= 0) || n < reach && law[n] < law[n+1]*(1-lawSlack) {
			return Distribution{}, fmt.Errorf("%w: the law increases at %d", ErrParameter, n)
		}
		total += law[n] * float64(min(n, 1)+1)
	}
	if math.Abs(total-1) > lawSlack {
		return Distribution{}, fmt.Errorf("%w: the law and its tail sum to %g", ErrParameter, total)
	}
	return fromLaw(law, tail, shift, step)
}

// lawSlack is how far a law may be from one that sums to 1 and decreases.
const lawSlack = 1e-9

func fromLaw(law []float64, tail float64, shift int64, step float64) (Distribution, error) {
	reach := int64(len(law)) - 1
	low, high := 0.0, 0.0
	eachPair(reach, shift, func(p, q int64) {
		if law[p] > 0 && law[q] > 0 {
			x := math.Log(law[p] / law[q])
			low, high = math.Min(low, x), math.Max(high, x)
		}
	})
	b, err := newBuilder(step, low, high)
	if err != nil {
		return Distribution{}, err
	}
	b.infinite = tail
	for y := -reach; y < shift-reach; y++ { // Q is in its tail
		b.infinite += law[max(y, -y)]
	}
	eachPair(reach, shift, func(p, q int64) {
		b.atom(math.Log(law[p]/law[q])+2*floatSlack, law[p]*(1+floatSlack))
	})
	return Distribution{step: step, parts: []part{b.part(high)}}, nil
}

// eachPair visits |y| and |y−shift| of every y at which both are within reach.
func eachPair(reach, shift int64, visit func(p, q int64)) {
	for y := shift - reach; y <= reach; y++ {
		visit(max(y, -y), max(y-shift, shift-y))
	}
}

// Repeat returns the loss of n independent releases like d.
func (d Distribution) Repeat(n int64) (Distribution, error) {
	if n < 0 || n > maxRepeats {
		return Distribution{}, fmt.Errorf("%w: %d repetitions", ErrParameter, n)
	}
	if n == 0 {
		return Distribution{}, nil
	}
	repeated := Distribution{step: d.step, failure: unionOf(d.failure, n), gaussian: d.gaussian.times(n)}
	for _, p := range d.parts {
		if p.repeats > maxRepeats/n {
			return Distribution{}, fmt.Errorf("%w: more than %d repetitions", ErrParameter, int64(maxRepeats))
		}
		p.repeats *= n
		repeated.parts = append(repeated.parts, p)
	}
	return repeated, nil
}

// Compose returns the loss of independent releases together. All that have a grid
// must have the same.
func Compose(ds ...Distribution) (Distribution, error) {
	var all Distribution
	for _, d := range ds {
		switch {
		case all.step == 0:
			all.step = d.step
		case d.step != 0 && d.step != all.step:
			return Distribution{}, fmt.Errorf("%w: grids with steps %g and %g", ErrParameter, all.step, d.step)
		}
		all.failure = math.Min(1, (all.failure+d.failure)*(1+floatSlack))
		all.gaussian = all.gaussian.plus(d.gaussian)
		all.parts = append(all.parts, d.parts...)
	}
	if all.gaussian.muSquared == 0 || len(all.parts) == 0 {
		return all, nil
	}
	g, err := discretise(all.gaussian, all.step)
	if err != nil {
		return Distribution{}, err
	}
	all.parts = append(all.parts, g)
	all.gaussian = gaussian{}
	return all, nil
}

// unionOf bounds the probability that one of n failures happens.
func unionOf(p float64, n int64) float64 { return math.Min(1, p*float64(n)*(1+floatSlack)) }

// infinite bounds the probability of an infinite loss.
func (d Distribution) infinite() float64 {
	sum := d.failure
	for _, p := range d.parts {
		sum += unionOf(p.infinite, p.repeats)
	}
	return math.Min(1, sum)
}

// most bounds the losses of all parts together, if that can be done.
func (d Distribution) most() float64 {
	sum := 0.0
	for _, p := range d.parts {
		sum += p.most * float64(p.repeats)
	}
	return sum * (1 + floatSlack)
}

// floatSlack is more than the relative error of a probability that was computed
// by a short formula in doubles, with exponents up to farLoss: 600·2⁻⁵³ and a few
// roundings. Probabilities under P are raised by it and those under Q lowered by
// twice as much, which raises the loss by three times as much.
const floatSlack = 1e-12

// A builder collects the split masses of one pair.
type builder struct {
	step     float64
	first    int64
	mass     []float64
	infinite float64
}

// newBuilder returns a builder for losses from low to high.
func newBuilder(step, low, high float64) (*builder, error) {
	low, high = clip(low), clip(high)
	cells := (high-low)/step + 6
	if !(cells < maxCells) {
		return nil, fmt.Errorf("%w: a step of %g for losses from %g to %g", ErrParameter, step, low, high)
	}
	return &builder{step: step, first: int64(math.Floor(low/step)) - 1, mass: make([]float64, int(cells))}, nil
}

// clip returns the loss within ±farLoss that is closest to x.
func clip(x float64) float64 { return math.Max(-farLoss, math.Min(farLoss, x)) }

// part returns the collected masses, of losses up to high unless they are infinite.
func (b *builder) part(high float64) part {
	from, to := 0, len(b.mass)
	for to > 1 && b.mass[to-1] == 0 {
		to--
	}
	for from < to-1 && b.mass[from] == 0 {
		from++
	}
	p := part{first: b.first + int64(from), mass: b.mass[from:to], infinite: math.Min(1, b.infinite), most: math.Inf(1), repeats: 1}
	if b.infinite == 0 {
		p.most = high*(1+floatSlack) + 3*floatSlack
	}
	return p
}

// add puts mass on the grid. Below the grid the loss is rounded up to its first
// point, above it to infinity.
func (b *builder) add(i int64, mass float64) {
	i = max(i-b.first, 0)
	if i >= int64(len(b.mass)) {
		b.infinite += mass
		return
	}
	b.mass[i] += mass
}

// atom splits the mass p of the loss x between its neighbours on the grid.
func (b *builder) atom(x, p float64) {
	switch {
	case p == 0:
		return
	case !(x <= farLoss):
		b.infinite += p
		return
	case x <= float64(b.first)*b.step:
		b.add(b.first, p)
		return
	}
	i := math.Floor(x / b.step)
	share := math.Expm1(i*b.step-x) / math.Expm1(-b.step)
	b.split(int64(i), int64(i)+1, share, p)
}

// cell splits masses p and q of outputs whose losses are all between the points i
// and i+1 of the grid. Rounding in doubt makes q too small; then the loss may
// exceed the upper point, and a higher one takes its place.
func (b *builder) cell(i int64, p, q float64) {
	switch {
	case p <= 0:
		return
	case q <= 0 || float64(i)*b.step > farLoss:
		b.infinite += p
		return
	}
	loss := math.Log(p) - math.Log(q)
	if loss > farLoss {
		b.infinite += p
		return
	}
	upper := max(i+1, int64(math.Ceil(loss/b.step)))
	low := float64(i) * b.step
	share := (1 - q/p*math.Exp(low)) / -math.Expm1(-float64(upper-i)*b.step)
	b.split(i, upper, share, p)
}

// split puts the share of p that belongs there on the upper point, the rest on
// the lower one.
func (b *builder) split(lower, upper int64, share, p float64) {
	share = math.Max(0, math.Min(1, share))
	b.add(lower, p*(1-share))
	b.add(upper, p*share)
}
