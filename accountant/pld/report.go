package pld

import (
	"errors"
	"fmt"
	"math"
	"math/big"

	"dpproxy/dp"
)

// ErrEvent is wrapped by the errors for an event that is unknown or malformed.
var ErrEvent = errors.New("pld: an event without a privacy loss distribution")

const (
	// fineness is the variance that the grid may add to each loss, as a part of
	// the mean variance of all.
	fineness = 1e-6
	// roughCells is the number of cells by which variances are estimated.
	roughCells = 2000
	// rationalSlack is more than the relative error of an exact number, or of a
	// product of a few, in doubles.
	rationalSlack = 1e-15
	// maxLattice bounds sensitivities and boundaries of recycled noise, so that
	// their sums are exact doubles.
	maxLattice = 1 << 51
	// hopeless is a loss that counts as infinite for all outputs.
	hopeless = 1e6
	// mostSpread and leastRho keep clear of the ends of doubles.
	mostSpread = 1e200
	leastRho   = 1e-12
	// roughPrecision is the sum of 1/variance up to which refinements are taken
	// for continuous noise: each variance is then at least 64.
	roughPrecision = 1.0 / 64
)

// Report returns the least ε ≥ 0 at which the events together are (ε, δ)-DP, as
// an upper bound, had their parameters been fixed in advance. It is a report: no
// filter (the package comment says why), and no promise for one answer.
// It is +Inf where no ε will do.
//
// The time grows with the number of different events, about 20 ms each, and
// hardly with how often they occur.
func Report(events []dp.Event, delta float64) (epsilon float64, err error) {
	d, err := New(events)
	if err != nil {
		return 0, err
	}
	return d.Epsilon(delta)
}

// New returns the privacy loss of independent events. Its grid follows from the
// variance of their losses.
//
// Of Gaussian noise with variances of 2¹⁶ and more, and of refinements with a
// precision of at most 1/64, only Σ L0·LInf²/(variance − 2) counts, which is
// composed by its formula; other refinements count by their ρ, for which the δ of
// zCDP is taken [CKS 2020, Proposition 12]. The rounds of a refinement, and the
// levels of a reduction, must all be in the list: a reduction counts as Laplace
// noise at its cap where its first level is.
func New(events []dp.Event) (Distribution, error) {
	c := collection{sources: map[source]int64{}}
	for _, e := range events {
		if err := c.add(e); err != nil {
			return Distribution{}, err
		}
	}
	rest := []source{}
	if c.rho > 0 {
		rest = append(rest, concentrated{math.Max(c.rho, leastRho)})
	}
	if len(c.order)+len(rest) == 0 {
		return Distribution{failure: math.Min(1, c.failure), gaussian: c.gaussian}, nil
	}
	if c.gaussian.muSquared > 0 {
		rest = append(rest, c.gaussian)
	}
	for _, s := range rest {
		if err := c.count(s, 1); err != nil {
			return Distribution{}, err
		}
	}
	return c.discretise()
}

// A collection counts the pairs that events consist of.
type collection struct {
	sources  map[source]int64
	order    []source // the keys of sources, as they came
	gaussian gaussian
	rho      float64
	failure  float64
}

func (c *collection) add(e dp.Event) error {
	switch e := e.(type) {
	case dp.LaplaceEvent:
		return c.addLaplace(e)
	case dp.GaussianEvent:
		return c.addGaussian(e)
	case dp.ImageEvent:
		return c.addImage(e)
	case dp.StaircaseEvent:
		epsilon, err := positive(e.Epsilon)
		if err != nil || !e.Sensitivity.Valid() {
			return fmt.Errorf("%w: staircase noise %v", ErrEvent, e)
		}
		return c.count(response{epsilon}, e.Sensitivity.L0)
	case dp.RecycledEvent:
		return c.addRecycled(e)
	case dp.PureEvent:
		epsilon, err := positive(e.Epsilon)
		if err != nil {
			return err
		}
		return c.count(response{epsilon}, 1)
	case dp.BoundedRangeEvent:
		epsilon, err := positive(e.Epsilon)
		if err != nil {
			return err
		}
		return c.count(ranged{epsilon}, 1)
	case dp.ApproximateEvent:
		delta, err := positive(e.Delta)
		if err != nil {
			return err
		}
		c.failure += delta
		return c.add(e.Of)
	case dp.RefinementEvent:
		return c.addRefinement(e)
	case dp.ReductionEvent:
		return c.addReduction(e)
	case dp.ComposedEvent:
		for _, part := range e {
			if err := c.add(part); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("%w: %T is unknown", ErrEvent, e)
}

// count adds n coordinates with the loss of s.
func (c *collection) count(s source, n int64) error {
	if n > maxRepeats-c.sources[s] {
		return fmt.Errorf("%w: more than %d coordinates", ErrEvent, int64(maxRepeats))
	}
	if c.sources[s] == 0 {
		c.order = append(c.order, s)
	}
	c.sources[s] += n
	return nil
}

// addNoise counts noise, if it is not so small that it hides nothing. Less noise
// than there is has the larger loss.
func (c *collection) addNoise(n noise, repeats int64) error {
	n.spread = math.Min(n.spread, mostSpread)
	if _, high := n.bounds(); !(high <= hopeless) {
		c.failure = 1
		return nil
	}
	return c.count(n, repeats)
}

func (c *collection) addLaplace(e dp.LaplaceEvent) error {
	scale, err := positive(e.Scale)
	if err != nil || !e.Sensitivity.Valid() {
		return fmt.Errorf("%w: Laplace noise %v", ErrEvent, e)
	}
	return c.addNoise(noise{laplace: true, spread: scale, shift: float64(e.Sensitivity.LInf)}, e.Sensitivity.L0)
}

func (c *collection) addGaussian(e dp.GaussianEvent) error {
	if e.Variance == nil || e.Variance.Sign() <= 0 || !e.Sensitivity.Valid() {
		return fmt.Errorf("%w: Gaussian noise without a sensitivity or a variance", ErrEvent)
	}
	variance, _ := new(big.Float).SetInt(e.Variance).Float64()
	shift := float64(e.Sensitivity.LInf)
	if variance < smoothVariance {
		return c.addNoise(noise{spread: variance, shift: shift}, e.Sensitivity.L0)
	}
	c.gaussian = c.gaussian.plus(smooth(variance, shift, float64(e.Sensitivity.L0)))
	return nil
}

// addImage counts Gaussian noise of a variance that can be taken for that of continuous noise, which hides a change of any
// direction as it hides one of a single coordinate, or else by its ρ.
func (c *collection) addImage(e dp.ImageEvent) error {
	if e.Coordinates < 1 || e.L2Squared == nil || e.L2Squared.Sign() <= 0 || e.Variance == nil || e.Variance.Sign() <= 0 {
		return fmt.Errorf("%w: an image without coordinates, a sensitivity or a variance", ErrEvent)
	}
	variance, _ := new(big.Float).SetInt(e.Variance).Float64()
	square, _ := new(big.Float).SetInt(e.L2Squared).Float64()
	square *= 1 + rationalSlack
	if variance < smoothVariance {
		c.rho += square / (2 * variance)
		return nil
	}
	c.gaussian = c.gaussian.plus(gaussian{square / (variance - smoothing), smoothError * float64(e.Coordinates)})
	return nil
}

func (c *collection) addRecycled(e dp.RecycledEvent) error {
	if e.Recycle == nil || e.Recycle.Sign() < 0 || e.Boundary < 0 || e.Boundary > maxLattice {
		return fmt.Errorf("%w: recycled noise with a boundary of %d", ErrEvent, e.Boundary)
	}
	recycle, _ := e.Recycle.Float64()
	if recycle >= 1 {
		return fmt.Errorf("%w: recycled noise that is always drawn anew", ErrEvent)
	}
	n := noise{boundary: float64(e.Boundary), recycle: recycle}
	var s dp.Sensitivity
	if kernel, ok := e.Kernel.(dp.LaplaceEvent); ok {
		scale, err := positive(kernel.Scale)
		if err != nil {
			return err
		}
		s, n.laplace, n.spread = kernel.Sensitivity, true, scale
	} else {
		kernel, ok := e.Kernel.(dp.GaussianEvent)
		if !ok || kernel.Variance == nil || kernel.Variance.Sign() <= 0 {
			return fmt.Errorf("%w: the kernel of recycled noise is %T", ErrEvent, e.Kernel)
		}
		s = kernel.Sensitivity
		n.spread, _ = new(big.Float).SetInt(kernel.Variance).Float64()
	}
	if !s.Valid() || s.LInf > maxLattice {
		return fmt.Errorf("%w: recycled noise for the sensitivity %+v", ErrEvent, s)
	}
	n.shift = float64(s.LInf)
	return c.addNoise(n, s.L0)
}

// addRefinement uses that no measurement has a variance v below 1/After, so that
// 1/(v−2) ≤ 1/v/(1 − 2·After).
func (c *collection) addRefinement(e dp.RefinementEvent) error {
	if !e.Sensitivity.Valid() || e.Before == nil || e.After == nil || e.Before.Sign() < 0 || e.Before.Cmp(e.After) > 0 {
		return fmt.Errorf("%w: a refinement without a sensitivity or precisions", ErrEvent)
	}
	more, _ := new(big.Rat).Sub(e.After, e.Before).Float64()
	after, _ := e.After.Float64()
	square := float64(e.Sensitivity.LInf) * float64(e.Sensitivity.LInf) * more * (1 + rationalSlack)
	if after > roughPrecision {
		c.rho += square / 2
		return nil
	}
	c.gaussian = c.gaussian.plus(gaussian{square / (1 - smoothing*after), smoothError * float64(e.Sensitivity.L0)})
	return nil
}

func (c *collection) addReduction(e dp.ReductionEvent) error {
	for _, ordered := range [][2]*big.Rat{{e.Before, e.After}, {e.After, e.Cap}} {
		if ordered[0] == nil || ordered[1] == nil || ordered[0].Cmp(ordered[1]) > 0 {
			return fmt.Errorf("%w: a reduction without rates", ErrEvent)
		}
	}
	if e.Before.Sign() < 0 || e.After.Sign() <= 0 || !e.Sensitivity.Valid() {
		return fmt.Errorf("%w: a reduction without rates or a sensitivity", ErrEvent)
	}
	if e.Before.Sign() > 0 {
		return nil
	}
	return c.addLaplace(dp.LaplaceEvent{Sensitivity: e.Sensitivity, Scale: new(big.Rat).Inv(e.Cap)})
}

// positive returns x as a double.
func positive(x *big.Rat) (float64, error) {
	if x == nil || x.Sign() <= 0 {
		return 0, fmt.Errorf("%w: a parameter is not above 0", ErrEvent)
	}
	f, _ := x.Float64()
	return math.Max(f, math.SmallestNonzeroFloat64), nil
}

// discretise brings all sources to one grid.
func (c *collection) discretise() (Distribution, error) {
	variance, repeats := 0.0, 0.0
	for _, s := range c.order {
		v, err := roughVariance(s)
		if err != nil {
			return Distribution{}, err
		}
		n := float64(c.sources[s])
		variance, repeats = variance+n*v, repeats+n
	}
	d := Distribution{failure: math.Min(1, c.failure)}
	d.step = math.Max(leastStep, math.Sqrt(6*fineness*variance/repeats))
	for _, s := range c.order {
		low, high := s.bounds()
		d.step = math.Max(d.step, (clip(high)-clip(low))/(maxCells/4))
	}
	for _, s := range c.order {
		p, err := discretise(s, d.step)
		if err != nil {
			return Distribution{}, err
		}
		p.repeats = c.sources[s]
		d.parts = append(d.parts, p)
	}
	return d, nil
}

// roughVariance estimates the variance of the loss of s.
func roughVariance(s source) (float64, error) {
	low, high := s.bounds()
	step := math.Max(leastStep, (clip(high)-clip(low))/roughCells)
	p, err := discretise(s, step)
	if err != nil {
		return 0, err
	}
	var total, mean, square float64
	for i, mass := range p.mass {
		x := float64(p.first+int64(i)) * step
		total, mean, square = total+mass, mean+mass*x, square+mass*x*x
	}
	if total == 0 {
		return step * step, nil
	}
	mean /= total
	return math.Max(square/total-mean*mean, step*step), nil
}
